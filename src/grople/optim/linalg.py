"""Linear algebra shared by the stages: spectra, shifted solves, leading eigenvectors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from numpy.typing import NDArray

from grople.arrays import is_foreign, namespace
from grople.optim.eigenvectors import block_lanczos

__all__ = [
    "Spectrum",
    "by_diagonal",
    "conjugate_gradient",
    "from_nearby",
    "inverse_diagonal",
    "lanczos_quadrature",
    "largest_eigenvalue",
    "leading_part",
    "low_rank",
    "top_eigenvectors",
]

Array = NDArray[Any]
Product = Callable[[Array], Array]

# Below this size a dense eigendecomposition is as fast as an iterative one, and exact.
DENSE_SIZE = 256
#: Accuracy of solutions whose mean over random vectors blurs more than that.
PROBE_TOL = 1e-3
# Up to so many vectors one Krylov space of single vectors is cheap enough.
FEW_VECTORS = 32


@dataclass(frozen=True)
class Spectrum:
    """The eigendecomposition ``A = Q diag(values) Qᵀ`` of a symmetric matrix, values ascending.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[2.0, 0.0], [0.0, 4.0]])
    >>> spectrum = Spectrum.of(A)
    >>> spectrum.solve(np.array([[3.0], [5.0]]), shifts=np.array([1.0])).ravel()
    array([1., 1.])
    """

    values: Array
    vectors: Array

    @classmethod
    def of(cls, matrix: Array, *, overwrite: bool = False) -> Spectrum:
        """Decompose a symmetric matrix (``overwrite`` lets it be destroyed, to save a copy)."""
        if is_foreign(matrix):
            return cls(*namespace(matrix).linalg.eigh(matrix))
        values, vectors = scipy.linalg.eigh(
            matrix, overwrite_a=overwrite, driver="evr", check_finite=False
        )
        return cls(values, vectors)

    def solve(self, right: Array, shifts: Array) -> Array:
        """Solve ``(A + shift_j I) z_j = right_j`` for every column j at once.

        Directions whose shifted eigenvalue is zero to rounding get the minimum-norm solution.
        """
        return self.vectors @ self.solve_rotated(self.vectors.T @ right, shifts)

    def solve_rotated(self, right: Array, shifts: Array) -> Array:
        """Solve the same in the basis of the eigenvectors, where A is diagonal."""
        xp = namespace(right)
        divisors = self.values[:, None] + shifts[None, :]
        n_values = self.values.shape[0]
        if not n_values:
            return right
        # A singular matrix has eigenvalues of size eps·λmax·n instead of zero.
        sizes = xp.abs(divisors)
        floor = float(xp.finfo(divisors.dtype).eps) * n_values * xp.max(sizes, axis=0)
        sound = sizes > floor
        return xp.where(sound, right / xp.where(sound, divisors, 1.0), 0.0)


def largest_eigenvalue(product: Product, size: int) -> float:
    """Estimate the largest eigenvalue of a symmetric positive semi-definite operator.

    Lanczos from a fixed start, so that the answer is the same in every run. The estimate is
    from below; the solver that uses it corrects it where it proves too small.
    """
    if size <= DENSE_SIZE:
        return float(np.linalg.norm(product(np.eye(size)), 2)) if size else 0.0
    values, _ = _lanczos(product, size, 1, tol=1e-3)
    return float(values[0]) * (1 + 1e-3)


def top_eigenvectors(
    product: Product,
    size: int,
    n_vectors: int,
    *,
    tol: float = 1e-8,
    start: Array | None = None,
) -> tuple[Array, Array]:
    """Return the leading eigenvalues (descending) and eigenvectors of a symmetric operator.

    Signs are fixed (the largest entry of each vector is positive), so that equal operators
    give equal vectors. Small operators are decomposed whole, few vectors found by Lanczos to
    rounding; many vectors of a large one by blocks (:func:`block_lanczos`), each to a certified
    residual of ``tol`` times its value, from a ``start`` if there is one.
    """
    n_vectors = min(n_vectors, size)
    if size <= max(DENSE_SIZE, 6 * n_vectors):
        matrix = product(np.eye(size))
        values, vectors = scipy.linalg.eigh(
            (matrix + matrix.T) / 2, subset_by_index=[size - n_vectors, size - 1]
        )
    elif n_vectors <= FEW_VECTORS:
        values, vectors = _lanczos(product, size, n_vectors, tol=0.0)
    else:
        values, vectors = block_lanczos(product, size, n_vectors, tol=tol, start=start)
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], vectors[:, order]
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return values, vectors * np.where(peaks < 0, -1.0, 1.0)


def _lanczos(product: Product, size: int, n_vectors: int, tol: float) -> tuple[Array, Array]:
    """Return the leading eigenvalues and eigenvectors, the same in every run."""
    start = np.random.default_rng(0).standard_normal(size)
    if not product(start[:, None]).any():  # the zero operator, which ARPACK refuses
        return np.zeros(n_vectors), np.eye(size, n_vectors)
    operator = scipy.sparse.linalg.LinearOperator(
        (size, size), matvec=lambda v: product(np.reshape(v, (-1, 1))).ravel(), dtype=float
    )
    return scipy.sparse.linalg.eigsh(
        operator, k=n_vectors, which="LA", v0=start, tol=tol, **_seed()
    )


def _seed() -> dict[str, Any]:
    # Low-rank operators exhaust their Krylov space and go on from a random vector, which newer
    # versions of SciPy draw from a generator of their own.
    seeded = "rng" in inspect.signature(scipy.sparse.linalg.eigsh).parameters
    return {"rng": np.random.default_rng(0)} if seeded else {}


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

    Each column runs its own recurrence, all share one product an iteration. ``precondition``
    maps residuals to approximate solutions (:func:`by_diagonal`, or a factor of a nearby matrix).
    Columns stop when their residual is ``tol`` times their right side.
    """
    precondition = precondition or (lambda residual: residual)
    shifts = shifts.astype(right.dtype)
    # All arrays are in the order of the right side, which is that of what multiplies them.
    Z = np.zeros_like(right) if start is None else start.copy(order="K")
    residual = right - (product(Z) + Z * shifts) if start is not None else right.copy(order="K")
    target = tol * np.linalg.norm(right, axis=0)
    scaled = precondition(residual)
    direction = scaled.copy(order="K")
    energy = np.einsum("ij,ij->j", residual, scaled)
    del scaled  # arrays of this size are not held longer than they are needed
    for _ in range(max_iter):
        if np.all(np.linalg.norm(residual, axis=0) <= target):
            break
        image = direction * shifts
        image += product(direction)
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
        energy = energy_next
    return Z


def from_nearby(
    solve: Product, right: Array, offsets: Array, *, tol: float = 1e-10, max_iter: int = 1000
) -> Array:
    """Solve ``(M + offset_j I) z_j = right_j`` for all columns j together, from ``M⁻¹`` alone.

    Conjugate gradients with M for a preconditioner. Products with M, which they ask for as well,
    follow from each other: where a direction is ``M⁻¹residual`` plus a multiple of the last one,
    its product is the residual plus that multiple of the last product. So an iteration takes one
    solution with M and nothing else of its size. Columns stop as in :func:`conjugate_gradient`.

    Parameters
    ----------
    solve : callable
        Returns ``M⁻¹`` times an array; M is symmetric and positive definite.
    right : ndarray of shape (n, d)
        The right sides.
    offsets : ndarray of shape (d,)
        What is added to M for each; the sum must be positive definite, too.
    tol : float
        Residual, relative to the right side.
    max_iter : int
        The most iterations.

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
    residual = Z * -offsets
    target = tol * np.linalg.norm(right, axis=0)
    scaled = solve(residual)
    direction, product = scaled.copy(order="K"), residual.copy(order="K")
    energy = np.einsum("ij,ij->j", residual, scaled)
    for _ in range(max_iter):
        if np.all(np.linalg.norm(residual, axis=0) <= target):
            break
        image = direction * offsets
        image += product
        bent = np.einsum("ij,ij->j", direction, image)
        length = np.divide(energy, bent, out=np.zeros_like(energy), where=bent > 0)
        Z += direction * length
        image *= length
        residual -= image
        scaled = solve(residual)
        energy_next = np.einsum("ij,ij->j", residual, scaled)
        ratio = np.divide(energy_next, energy, out=np.zeros_like(energy), where=energy > 0)
        for values, new in ((direction, scaled), (product, residual)):
            values *= ratio
            values += new
        energy = energy_next
    return Z


def by_diagonal(diagonal: Array, shifts: Array) -> Product:
    """Return the preconditioner that divides by the diagonal of each shifted matrix."""
    divisor = diagonal[:, None] + shifts[None, :]
    divisor = np.where(divisor > 0, divisor, 1.0)
    return lambda residual: residual / divisor


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


def low_rank(values: Array, vectors: Array, shifts: Array) -> Product:
    """Return the preconditioner that takes care of the largest eigenvalues of a matrix.

    Along their vectors the shifted matrix is inverted; elsewhere it is taken for a multiple of the
    identity, which what remains of a quickly falling spectrum nearly is.
    """
    rest = values[0] + shifts
    factor = (rest / (values[:, None] + shifts) - 1.0).astype(vectors.dtype)
    return lambda residual: residual + vectors @ (factor * (vectors.T @ residual))


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
    diagonal, beside = [], []
    for _ in range(steps):
        image = product(current) - before * off
        along = np.einsum("ij,ij->j", current, image)
        image -= current * along
        off = np.linalg.norm(image, axis=0)
        # A vector whose Krylov space is exhausted goes on as zero, and adds nothing.
        off = np.where(off > 1e-6 * (1e-30 + np.abs(along)), off, 0.0)
        diagonal.append(along)
        beside.append(off)
        inverse = np.divide(1.0, off, out=np.zeros_like(off), where=off > 0)
        before, current = current, image * inverse
    main, side = np.array(diagonal).T, np.array(beside).T[:, :-1]
    matrices = np.zeros((len(main), steps, steps))
    at = np.arange(steps)
    matrices[:, at, at] = main
    matrices[:, at[:-1], at[1:]] = matrices[:, at[1:], at[:-1]] = side
    nodes, turns = np.linalg.eigh(matrices)
    return np.maximum(nodes, 0.0), turns[:, 0, :] ** 2 * lengths[:, None] ** 2
