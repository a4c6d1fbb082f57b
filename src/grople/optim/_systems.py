"""Systems ``(A + shift_j I) z_j = right_j``, many columns at once: by a factor, or by products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from grople.optim._spectra import Spectrum

__all__ = [
    "by_diagonal",
    "conjugate_gradient",
    "from_nearby",
    "inverse_diagonal",
    "lanczos_quadrature",
    "leading_part",
    "low_rank",
    "orthonormal",
    "solve_ridge_systems",
]

Array = NDArray[Any]
Product = Callable[[Array], Array]

#: Ratio of shifts up to which one Cholesky factor serves them all: systems that are preconditioned
#: with it have a condition of at most its root.
NEARBY = 100.0
#: Accuracy of solutions whose mean over random vectors blurs more than that.
PROBE_TOL = 1e-3


def solve_ridge_systems(
    matrix: Array,
    right: Array,
    shifts: Array,
    spectrum: Callable[[], Spectrum] | None = None,
    *,
    tol: float = 1e-12,
    ratio: float = NEARBY,
) -> Array:
    """Solve ``(A + shift_j I) z_j = right_j`` for all columns j, by one decomposition of A.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        A, symmetric and positive semi-definite.
    right : ndarray of shape (n, d)
        The right sides.
    shifts : ndarray of shape (d,)
        Ridge weights.
    spectrum : callable, optional
        Returns the eigendecomposition of A, which is asked for where there is no Cholesky factor
        or shifts are far from each other; by default it is computed.
    tol : float
        Relative residual where shifts differ.
    ratio : float
        Ratio of shifts up to which one factor serves them all.

    Examples
    --------
    >>> import numpy as np
    >>> A, right = np.diag([3.0, 1.0]), np.ones((2, 2))
    >>> solve_ridge_systems(A, right, np.array([1.0, 2.0])).round(3)
    array([[0.25 , 0.2  ],
           [0.5  , 0.333]])
    """
    if not len(shifts):
        return right
    low, high = float(shifts.min()), float(shifts.max())
    middle = low if low == high else float(np.sqrt(low) * np.sqrt(high))
    if 0 < high <= ratio * low:
        shifted = matrix.T.copy(order="F")
        shifted[np.diag_indices_from(shifted)] += middle
        try:
            factor = scipy.linalg.cho_factor(shifted, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            pass  # a shift lost in rounding
        else:

            def solve(values: Array) -> Array:
                return np.asarray(scipy.linalg.cho_solve(factor, values, check_finite=False))

            if low == high:
                return solve(right)
            return from_nearby(solve, np.asfortranarray(right), shifts - middle, tol=tol)
    found = Spectrum.of(matrix) if spectrum is None else spectrum()
    return found.solve(right, shifts)  # of a singular matrix the minimum-norm solution


def conjugate_gradient(
    product: Product,
    right: Array,
    shifts: Array,
    *,
    start: Array | None = None,
    precondition: Product | None = None,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> Array:
    """Solve ``(A + shift_j I) z_j = right_j`` for all columns j together, from products with A.

    Each column has a recurrence of its own, all share one product an iteration. ``precondition``
    maps residuals to approximate solutions (`by_diagonal`, `low_rank`). It stops when the residual
    of every column is at most ``tol`` times its right side.
    """
    shifts = shifts.astype(right.dtype)
    # All arrays are in the order of the right side, which is that of what multiplies them.
    if start is None:
        Z, residual = np.zeros_like(right), right.copy(order="K")
    else:
        Z = start.copy(order="K")
        residual = right - (product(Z) + Z * shifts)
    target = tol * np.linalg.norm(right, axis=0)
    precondition = precondition or (lambda residual: residual)
    return _iterate(product, shifts, precondition, Z, residual, target, max_iter)


def from_nearby(
    solve: Product, right: Array, offsets: Array, *, tol: float = 1e-10, max_iter: int = 1000
) -> Array:
    """Solve ``(M + offset_j I) z_j = right_j`` for all columns j together, from ``M⁻¹`` alone.

    Conjugate gradients with M for a preconditioner: an iteration takes one solution with M.

    Parameters
    ----------
    solve : callable
        Returns ``M⁻¹`` times an array; M is symmetric and positive definite.
    right : ndarray of shape (n, d)
        The right sides.
    offsets : ndarray of shape (d,)
        What is added to M for each; the sum must be positive definite, too.
    tol, max_iter : float, int
        As in `conjugate_gradient`.

    Examples
    --------
    >>> import numpy as np
    >>> M, right = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0, 4.0], [1.0, 0.0]])
    >>> inverse = np.linalg.inv(M)
    >>> from_nearby(inverse.__matmul__, right, np.array([0.0, 1.0])).round(3)
    array([[ 0.333,  1.5  ],
           [ 0.333, -0.5  ]])
    """
    Z = solve(right)
    target = tol * np.linalg.norm(right, axis=0)
    return _iterate(None, offsets, solve, Z, Z * -offsets, target, max_iter)


def _iterate(
    product: Product | None,
    shifts: Array,
    precondition: Product,
    Z: Array,
    residual: Array,
    target: Array,
    max_iter: int,
) -> Array:
    """Improve Z, in place, until the residuals of all columns are as small as the target.

    Without a product the preconditioner is ``A⁻¹``, and products follow from each other: where a
    direction is ``A⁻¹residual`` plus a multiple of the last one, its product is the residual plus
    that multiple of the last product.
    """
    scaled = precondition(residual)
    direction = scaled.copy(order="K")
    known = residual.copy(order="K") if product is None else None
    energy = np.einsum("ij,ij->j", residual, scaled)
    del scaled  # arrays of this size are not held longer than they are needed
    for _ in range(max_iter):
        if np.all(np.linalg.norm(residual, axis=0) <= target):
            break
        image = direction * shifts
        image += known if product is None else product(direction)
        bent = np.einsum("ij,ij->j", direction, image)
        length = np.divide(energy, bent, out=np.zeros_like(energy), where=bent > 0)
        Z += direction * length
        image *= length
        residual -= image
        del image
        scaled = precondition(residual)
        energy_next = np.einsum("ij,ij->j", residual, scaled)
        ratio = np.divide(energy_next, energy, out=np.zeros_like(energy), where=energy > 0)
        direction *= ratio
        direction += scaled
        del scaled
        if known is not None:
            known *= ratio
            known += residual
        energy = energy_next
    return Z


def by_diagonal(diagonal: Array, shifts: Array) -> Product:
    """Return the preconditioner that divides by the diagonal of each shifted matrix."""
    divisor = diagonal[:, None] + shifts[None, :]
    divisor = np.where(divisor > 0, divisor, 1.0)
    return lambda residual: residual / divisor


def low_rank(values: Array, vectors: Array, shifts: Array) -> Product:
    """Return the preconditioner that takes care of the largest eigenvalues of a matrix.

    Along their vectors (`leading_part`) the shifted matrix is inverted; elsewhere it is taken for
    a multiple of the identity, which what remains of a quickly falling spectrum nearly is.
    """
    rest = values[0] + shifts
    factor = (rest / (values[:, None] + shifts) - 1.0).astype(vectors.dtype)
    return lambda residual: residual + vectors @ (factor * (vectors.T @ residual))


def leading_part(product: Product, size: int, rank: int, dtype: Any) -> tuple[Array, Array]:
    """Return the largest eigenvalues of a matrix, ascending, and their vectors, about right.

    Three products with a random block: accurate enough for a preconditioner.
    """
    block = np.random.default_rng(0).standard_normal((size, rank)).astype(dtype)
    for _ in range(2):
        block = orthonormal(product(block))
    values, turn = np.linalg.eigh(block.T @ product(block))
    return np.maximum(values, 0.0), block @ turn


def orthonormal(block: Array) -> Array:
    """Return the orthonormal columns nearest to those of a block, in a fraction of QR's time.

    Where columns depend on each other the result is shorter than one in that direction, not longer.

    Examples
    --------
    >>> import numpy as np
    >>> bool(np.allclose(orthonormal(np.array([[1.0, 0.1], [0.1, 1.0]])), np.eye(2)))
    True
    """
    values, turn = np.linalg.eigh((block.T @ block).astype(np.float64))
    # What is below that is rounding.
    floor = 100 * np.finfo(block.dtype).eps * values[-1]
    root = (turn / np.sqrt(np.maximum(values, max(floor, np.finfo(block.dtype).tiny)))) @ turn.T
    return np.asarray(block @ root.astype(block.dtype))


def inverse_diagonal(
    product: Product, values: Array, vectors: Array, shift: float, n_probes: int
) -> Array:
    """Estimate the diagonal of ``(A + shift)⁻¹`` from products with A alone.

    Along the leading eigenvectors it is known. What remains is estimated on random signs z, whose
    mean of ``z ∘ (A + shift)⁻¹z`` is the diagonal; without the leading part it varies little.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.diag([3.0, 1.0, 0.0])
    >>> values, vectors = leading_part(A.__matmul__, 3, 1, np.float64)
    >>> inverse_diagonal(A.__matmul__, values, vectors, 1.0, 4).round(3)
    array([0.25, 0.5 , 1.  ])
    """
    size, dtype = len(vectors), vectors.dtype
    signs = np.random.default_rng(0).choice(np.array([-1, 1], dtype=dtype), (size, n_probes))
    shifts = np.full(n_probes, shift)
    nearby = low_rank(values, vectors, shifts)
    solved = conjugate_gradient(
        product, signs, shifts, precondition=nearby, tol=PROBE_TOL, max_iter=200
    )
    rest = float(values[0] + shift)
    known = (1.0 + vectors**2 @ (rest / (values + shift) - 1.0)) / rest
    guessed = np.einsum("ij,ij->i", signs, solved - nearby(signs) / dtype.type(rest)) / n_probes
    return np.asarray(known + guessed, dtype=np.float64)


def lanczos_quadrature(product: Product, vectors: Array, steps: int) -> tuple[Array, Array]:
    """Return nodes and weights with which ``vᵀ f(A) v ≈ Σ weight · f(node)``, for each column v.

    Gauss quadrature from ``steps`` products with A (symmetric, positive semi-definite): exact for
    polynomials f of degree ``2·steps − 1``, so one run serves a whole grid of smooth f.

    Examples
    --------
    >>> import numpy as np
    >>> A, v = np.diag([1.0, 2.0, 5.0]), np.ones((3, 1))
    >>> nodes, weights = lanczos_quadrature(A.__matmul__, v, steps=3)
    >>> float(np.round((weights / (nodes + 1.0)).sum(), 6)), round(1 / 2 + 1 / 3 + 1 / 6, 6)
    (1.0, 1.0)
    """
    lengths = np.linalg.norm(vectors, axis=0)
    current = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    before, off = np.zeros_like(current), np.zeros(current.shape[1])
    # A is tridiagonal in the basis of each vector: its diagonal, and what is next to it.
    tridiagonal = np.zeros((current.shape[1], steps, steps))
    for step in range(steps):
        image = product(current) - before * off
        along = np.einsum("ij,ij->j", current, image)
        image -= current * along
        off = np.linalg.norm(image, axis=0)
        # A vector whose Krylov space is exhausted goes on as zero, and adds nothing.
        off = np.where(off > 1e-6 * (1e-30 + np.abs(along)), off, 0.0)
        tridiagonal[:, step, step] = along
        if step + 1 < steps:
            tridiagonal[:, step, step + 1] = tridiagonal[:, step + 1, step] = off
        inverse = np.divide(1.0, off, out=np.zeros_like(off), where=off > 0)
        before, current = current, image * inverse
    nodes, turns = np.linalg.eigh(tridiagonal)
    return np.maximum(nodes, 0.0), turns[:, 0, :] ** 2 * lengths[:, None] ** 2
