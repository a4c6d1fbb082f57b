"""Penalties, proximal solvers, spectra, linear systems and threads; knows nothing of labels."""

from grople.optim._blocks import TwoSidedQuadratic, block_proximal, blocks_of_rows
from grople.optim._parallel import (
    ThreadedProduct,
    by_columns,
    parallel_map,
    row_shares,
    single_threaded,
    worker_count,
)
from grople.optim._proximal import (
    L1,
    GroupRows,
    Quadratic,
    Solution,
    duality_gap,
    objective,
    optimality_gap,
    proximal_gradient,
)
from grople.optim._spectra import (
    Spectrum,
    block_lanczos,
    cross_approximation,
    largest_eigenvalue,
    top_eigenvectors,
)
from grople.optim._systems import (
    by_diagonal,
    conjugate_gradient,
    from_nearby,
    inverse_diagonal,
    lanczos_quadrature,
    leading_part,
    low_rank,
    orthonormal,
    solve_ridge_systems,
)

__all__ = [
    "GroupRows",
    "L1",
    "Quadratic",
    "Solution",
    "Spectrum",
    "ThreadedProduct",
    "TwoSidedQuadratic",
    "block_lanczos",
    "block_proximal",
    "blocks_of_rows",
    "by_columns",
    "by_diagonal",
    "conjugate_gradient",
    "cross_approximation",
    "duality_gap",
    "from_nearby",
    "inverse_diagonal",
    "lanczos_quadrature",
    "largest_eigenvalue",
    "leading_part",
    "low_rank",
    "objective",
    "optimality_gap",
    "orthonormal",
    "parallel_map",
    "proximal_gradient",
    "row_shares",
    "single_threaded",
    "solve_ridge_systems",
    "top_eigenvectors",
    "worker_count",
]
