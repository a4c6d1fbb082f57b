"""The closed form of stage 3: systems ``(XᵀX + shift_j) z_j = right_j`` that differ by a shift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from grople.optim import by_diagonal, conjugate_gradient, from_nearby

if TYPE_CHECKING:
    from grople.mapping import MappingProblem

__all__ = ["ENOUGH", "ROUNDING", "multiplied", "solve_shifted"]

Array = NDArray[Any]

#: Residuals: what rounding leaves, and what will do to score rows that were left out.
ROUNDING, ENOUGH = 1e-12, 1e-6
#: Ratio of shifts up to which one Cholesky factor serves them all.
NEARBY = 100.0
#: Rows up to which, of rows that are kept, the matrix of all pairs of them is formed, if they are
#: no more than the features: a singular matrix plus a small shift would lose digits.
FEW_ROWS = 1000


def solve_shifted(
    problem: MappingProblem, turn: Array | None, shifts: Array, tol: float = ROUNDING
) -> Array:
    """Solve all systems: from a factor, the spectrum, or products with the rows.

    Where few rows are kept, in their space: ``z_j = X̃ᵀ(X̃X̃ᵀ + shift_j)⁻¹ u_j`` is the same.

    Parameters
    ----------
    problem : MappingProblem
        Whose Gram matrix and right sides, XᵀU, these are.
    turn : ndarray of shape (d, d), optional
        What the dimensions are turned by; the solution is turned, too.
    shifts : ndarray of shape (d,)
        What is added to the diagonal for each.
    tol : float
        Residual, relative to the right side, that will do.
    """
    low, high = float(shifts.min()), float(shifts.max())
    nearby = "gram_spectrum" not in problem.__dict__ and 0 < high <= NEARBY * low
    middle = float(np.sqrt(max(low, 0.0) * high))
    most = min(FEW_ROWS, problem.moments.n_features)
    few = not problem.explicit and problem.moments.rows.shape[0] <= most  # type: ignore[attr-defined]
    try:
        if nearby and few:
            W = problem.embedding.W if turn is None else problem.embedding.W @ turn
            points = problem.view.points(W)
            matrix = problem.view.kernel_matrix()
            return problem.view.lift(_solve_nearby(matrix, points, shifts, middle, tol))
        right = problem.target if turn is None else multiplied(problem.target, turn)
        if nearby and problem.gram_matrix is not None:
            return _solve_nearby(problem.gram_matrix, right, shifts, middle, tol)
    except np.linalg.LinAlgError:  # a shift lost in rounding
        right = problem.target if turn is None else multiplied(problem.target, turn)
    if problem.explicit:  # the spectrum finds the minimum-norm solution
        return problem.gram_spectrum.solve(right, shifts)
    diagonal = by_diagonal(problem.view.gram_diagonal(), shifts)
    gram, tol = problem.view.gram, max(tol, 1e-10)
    return conjugate_gradient(gram, right, shifts, precondition=diagonal, tol=tol)


def _solve_nearby(matrix: Array, right: Array, shifts: Array, shift: float, tol: float) -> Array:
    """Factor the matrix at one shift, a tenth of the cost of a spectrum; step to the others.

    Preconditioned with that factor the systems have a condition of at most √NEARBY, so a few
    dozen solutions with it reach rounding.
    """
    shifted = matrix.T.copy(order="F")  # symmetric: in the order of LAPACK it is not copied again
    shifted[np.diag_indices_from(shifted)] += shift
    factor = scipy.linalg.cho_factor(shifted, overwrite_a=True, check_finite=False)

    def solve(residual: Array) -> Array:
        return scipy.linalg.cho_solve(factor, residual, check_finite=False)

    if np.ptp(shifts) == 0:
        return solve(right)
    return from_nearby(solve, np.asfortranarray(right), shifts - shift, tol=tol)


def multiplied(left: Array, right: Array) -> Array:
    """Return a product by SciPy's BLAS, from where factors and solutions come, too.

    On all cores NumPy's threads would still wait for more work for a while where SciPy's are to
    factor a matrix, which then takes longer.
    """
    if not left.size or not right.size:
        return left @ right
    return np.asarray(scipy.linalg.get_blas_funcs("gemm", (left, right))(1.0, left, right))
