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


def solve_shifted(
    problem: MappingProblem, right: Array, shifts: Array, tol: float = ROUNDING
) -> Array:
    """Solve all systems: from products with the rows, a factor, or the spectrum.

    Parameters
    ----------
    problem : MappingProblem
        Whose Gram matrix it is.
    right : ndarray of shape (D, d)
        The right sides.
    shifts : ndarray of shape (d,)
        What is added to the diagonal for each.
    tol : float
        Residual, relative to the right side, that will do.
    """
    if not problem.explicit:
        nearby = by_diagonal(problem.view.gram_diagonal(), shifts)
        tol = max(tol, 1e-10)
        return conjugate_gradient(problem.view.gram, right, shifts, precondition=nearby, tol=tol)
    low, high = float(shifts.min()), float(shifts.max())
    if "gram_spectrum" not in problem.__dict__ and 0 < high <= NEARBY * low:
        assert problem.gram_matrix is not None
        try:
            middle = float(np.sqrt(low * high))
            return _solve_nearby(problem.gram_matrix, right, shifts, middle, tol)
        except np.linalg.LinAlgError:
            pass  # a shift lost in rounding: the spectrum finds the minimum-norm solution
    return problem.gram_spectrum.solve(right, shifts)


def _solve_nearby(matrix: Array, right: Array, shifts: Array, shift: float, tol: float) -> Array:
    """Factor the matrix at one shift, a tenth of the cost of a spectrum; step to the others.

    Preconditioned with that factor the systems have a condition of at most √NEARBY, so a dozen
    solutions with it reach rounding.
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
    factor a matrix, which then takes twice as long.
    """
    if not left.size or not right.size:
        return left @ right
    return np.asarray(scipy.linalg.get_blas_funcs("gemm", (left, right))(1.0, left, right))
