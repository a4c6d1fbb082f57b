"""Solvers that know nothing of labels, features or scikit-learn."""

from grople.optim.batched import BatchedProblem, BatchedSolution, Weights, batched_proximal
from grople.optim.blocks import RowBlocks, TwoSidedQuadratic, block_proximal, blocks_of_rows
from grople.optim.cross import cross_approximation
from grople.optim.linalg import (
    Spectrum,
    by_diagonal,
    conjugate_gradient,
    from_nearby,
    inverse_diagonal,
    lanczos_quadrature,
    largest_eigenvalue,
    leading_part,
    low_rank,
    orthonormal,
    top_eigenvectors,
)
from grople.optim.penalties import L1, GroupRows, Penalty
from grople.optim.proximal import Quadratic, Solution, objective, proximal_gradient

__all__ = [
    "BatchedProblem",
    "BatchedSolution",
    "GroupRows",
    "L1",
    "Penalty",
    "Quadratic",
    "RowBlocks",
    "Solution",
    "Spectrum",
    "TwoSidedQuadratic",
    "Weights",
    "batched_proximal",
    "block_proximal",
    "blocks_of_rows",
    "by_diagonal",
    "conjugate_gradient",
    "cross_approximation",
    "from_nearby",
    "inverse_diagonal",
    "lanczos_quadrature",
    "largest_eigenvalue",
    "leading_part",
    "low_rank",
    "objective",
    "orthonormal",
    "proximal_gradient",
    "top_eigenvectors",
]
