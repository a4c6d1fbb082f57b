"""What symmetric matrices are made of: eigenvectors, whole or leading ones, and thin factors."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from numpy.typing import NDArray

__all__ = [
    "Spectrum",
    "block_lanczos",
    "cross_approximation",
    "largest_eigenvalue",
    "top_eigenvectors",
]

Array = NDArray[Any]
Product = Callable[[Array], Array]

#: Size up to which a dense eigendecomposition is as fast as an iterative one, and exact.
DENSE_SIZE = 256
#: Vectors up to which one Krylov space of single vectors is cheap enough.
FEW_VECTORS = 32
#: Columns that are multiplied at a time.
WIDTH = 64
#: The most times that the basis is cut back to the wanted vectors.
RESTARTS = 50
#: Lengths, relative to the operator, below which columns have lost digits, and below which all.
CLEAN, ROUNDING = 1e-4, 1e-14
#: Rows on which a product of thin matrices is checked, and the most terms it may have.
CHECKED, MOST_TERMS = 256, 400


@dataclass(frozen=True)
class Spectrum:
    """The eigendecomposition ``A = Q diag(values) Qᵀ`` of a symmetric matrix, values ascending.

    Examples
    --------
    >>> import numpy as np
    >>> spectrum = Spectrum.of(np.array([[2.0, 0.0], [0.0, 4.0]]))
    >>> spectrum.solve(np.array([[3.0], [5.0]]), shifts=np.array([1.0])).ravel()
    array([1., 1.])
    """

    values: Array
    vectors: Array

    @classmethod
    def of(cls, matrix: Array, *, overwrite: bool = False) -> Spectrum:
        """Decompose a symmetric matrix (``overwrite`` lets it be destroyed, to save a copy)."""
        if not matrix.size:  # which older versions of SciPy refuse
            return cls(np.zeros(0), np.zeros((0, 0)))
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
        if not len(self.values):
            return right
        divisors = self.values[:, None] + shifts[None, :]
        # A singular matrix has eigenvalues of size eps·λmax·n instead of zero.
        sizes = np.abs(divisors)
        floor = float(np.finfo(divisors.dtype).eps) * len(self.values) * sizes.max(axis=0)
        sound = sizes > floor
        return np.where(sound, right / np.where(sound, divisors, 1.0), 0.0)


def largest_eigenvalue(product: Product, size: int) -> float:
    """Estimate the largest eigenvalue of a symmetric positive semi-definite operator.

    Lanczos from a fixed start, so that the answer is the same in every run. The solver that uses
    it corrects it where it proves too small.
    """
    if size <= DENSE_SIZE:
        return float(np.linalg.norm(product(np.eye(size)), 2)) if size else 0.0
    values, _ = _lanczos(product, size, 1, tol=1e-3)
    return float(values[0]) * (1 + 1e-3)


def top_eigenvectors(
    product: Product, size: int, n_vectors: int, *, tol: float = 1e-8
) -> tuple[Array, Array]:
    """Return the leading eigenvalues (descending) and eigenvectors of a symmetric operator.

    Signs are fixed (the largest entry of each vector is positive), so that equal operators
    give equal vectors. Small operators are decomposed whole, few vectors are found by Lanczos to
    rounding, many vectors of a large one by `block_lanczos` with ``tol``.
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
        values, vectors = block_lanczos(product, size, n_vectors, tol=tol)
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
    # Low-rank operators exhaust their Krylov space and go on from a random vector, which newer
    # versions of SciPy draw from a generator of their own.
    eigsh = scipy.sparse.linalg.eigsh
    seed = {"rng": np.random.default_rng(0)} if "rng" in inspect.signature(eigsh).parameters else {}
    return eigsh(operator, k=n_vectors, which="LA", v0=start, tol=tol, **seed)


def block_lanczos(
    product: Product, size: int, n_vectors: int, *, tol: float = 1e-8
) -> tuple[Array, Array]:
    """Return many leading eigenvalues (descending) and eigenvectors of a symmetric operator.

    A Krylov space of blocks, cut back to the leading vectors when it is full; but for products
    with the operator all work is products of dense matrices. Each pair found is certified by its
    residual, ``‖Av − θv‖ ≤ tol·|θ|``: it is exact for an operator so close to A. (No Krylov space
    can be certain of the multiplicity of an eigenvalue; a random block sees as many as it has
    columns.)

    Parameters
    ----------
    product : callable
        ``W ↦ A W`` for W of shape (size, any number).
    size, n_vectors : int
        Size of the operator, and the vectors wanted: at most a sixth as many, so that the basis
        leaves directions to continue in.
    tol : float
        Residual allowed, relative to each eigenvalue (to rounding of the largest for those that
        are zero).

    Examples
    --------
    >>> import numpy as np
    >>> scale = 1.0 / np.arange(1, 1001)[:, None]
    >>> values, vectors = block_lanczos(lambda W: scale * W, 1000, 100)
    >>> bool(np.allclose(values, scale[:100, 0]))
    True
    """
    rng = np.random.default_rng(0)
    width = min(WIDTH, max(n_vectors, 1))
    block = np.linalg.qr(rng.standard_normal((size, width)))[0]
    most = min(size - width, 2 * n_vectors + 4 * width)
    Q, H = np.empty((size, most), order="F"), np.zeros((most, most))  # A Q ≈ Q H
    have = restarts = 0
    while True:
        had, have = have, have + width
        Q[:, had:have] = block
        known, image = Q[:, :have], np.array(product(block), dtype=np.float64)
        H[:have, had:have] = along = _orthogonalise(known, image)
        H[had:have, :have] = along.T
        block, left = _next_block(known, image, float(np.abs(along).max(initial=0.0)), rng)
        if have + width <= most:  # the basis is filled first
            continue
        values, turn = np.linalg.eigh(H[:have, :have])
        values, turn = values[::-1], turn[:, ::-1]
        residuals = np.linalg.norm(left @ turn[had:have, :n_vectors], axis=0)
        least = np.finfo(float).eps * size * np.abs(values).max(initial=0.0)
        certified = np.all(residuals <= np.maximum(tol * np.abs(values[:n_vectors]), least))
        if certified or restarts == RESTARTS:
            break
        restarts += 1
        have = min(n_vectors + width, have, most - width)
        Q[:, :have] = known @ turn[:, :have]
        H[:] = 0.0
        H[np.arange(have), np.arange(have)] = values[:have]
    if not certified:
        warnings.warn(
            f"eigenvectors are known to a residual of {residuals.max():.1e} only",
            RuntimeWarning,
            stacklevel=3,
        )
    return values[:n_vectors], known @ turn[:, :n_vectors]


def _orthogonalise(known: Array, image: Array) -> Array:
    """Make a block orthogonal to a basis, in place; return its part along the basis."""
    along = known.T @ image
    image -= known @ along
    again = known.T @ image  # once more, for what rounding left
    image -= known @ again
    return np.asarray(along + again)


def _next_block(
    known: Array, image: Array, scale: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return an orthonormal block that spans what is left of an image, and the image in it."""
    block, left = np.linalg.qr(image)
    lengths = np.abs(np.diagonal(left))
    scale = max(scale, float(lengths.max(initial=0.0)))
    if lengths.min(initial=scale) <= CLEAN * scale:
        # Next to large columns the small ones are known to few digits, and no longer orthogonal
        # to the basis; of those that are nothing but rounding anything new will do.
        lost = lengths <= ROUNDING * scale
        block[:, lost] = rng.standard_normal((len(block), int(lost.sum())))
        _orthogonalise(known, block)
        block = np.linalg.qr(block)[0]
    return block, left


def cross_approximation(
    rows_of: Callable[[Array], Array], size: int, *, tol: float = 1e-9
) -> tuple[Array, Array]:
    """Return U and W with ``U W`` near a symmetric matrix that is known by its rows.

    Adaptive cross approximation: each term takes a row and a column of what is left, which cross
    at its largest entry. When a term is small, rows drawn at random are compared with the
    approximation, and it goes on from the worst of them; it ends when all are within ``tol`` of
    the largest entry.

    Parameters
    ----------
    rows_of : callable
        Returns the given rows of the matrix, shape (n_rows, size).
    size : int
        Rows of the matrix.
    tol : float
        Error of an entry allowed, relative to the largest entry.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 1000)
    >>> U, W = cross_approximation(lambda i: np.exp(-np.multiply.outer(x[i], x)), len(x))
    >>> len(W) < 12, bool(np.abs(U @ W - np.exp(-np.multiply.outer(x, x))).max() < 1e-9)
    (True, True)
    """
    checked = np.random.default_rng(0).permutation(size)[:CHECKED]
    exact = rows_of(checked)
    largest = float(np.abs(exact).max(initial=0.0))
    U, W = np.zeros((size, 0)), np.zeros((0, size))
    row = -1  # none: look for the worst of the checked ones
    while len(W) < min(MOST_TERMS, size):
        if row < 0:
            left = np.abs(exact - U[checked] @ W)
            if not left.max(initial=0.0) > tol * largest:
                break
            row = int(checked[left.max(axis=1).argmax()])
        across = rows_of(np.array([row]))[0] - U[row] @ W
        column = int(np.abs(across).argmax())
        if not abs(across[column]) > 0.1 * tol * largest:
            row = -1
            continue
        down = rows_of(np.array([column]))[0] - U @ W[:, column]
        U = np.column_stack([U, down / across[column]])
        W = np.vstack([W, across])
        # The next row is where this column was far off, but no row is taken twice.
        down[row] = 0.0
        row = int(np.abs(down).argmax())
        if not abs(down[row]) > tol * largest:
            row = -1
    return U, W
