"""Products of a sparse matrix with dense ones, on as many threads as are allowed."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.threads import LEAST_WORK, allowed_threads, in_shares, in_threads

__all__ = ["ThreadedProduct", "ViewedRows"]

Array = NDArray[Any]

#: Columns multiplied at a time: what they become in the space of features stays in the cache.
CHUNK = 64


class ThreadedProduct:
    """A CSR matrix that multiplies dense ones in blocks of its rows, a thread each.

    SciPy's product runs on one thread and lets others run meanwhile; blocks of rows share
    nothing, so the result is the same to the last bit.
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self._parts: dict[int, list[Any]] = {1: [matrix]}

    def __matmul__(self, other: Array) -> Array:
        width = other.shape[1] if other.ndim == 2 else 1
        busy = self.matrix.nnz * width >= LEAST_WORK
        parts = self._cut(allowed_threads() if busy else 1)
        if len(parts) == 1:
            return np.asarray(self.matrix @ other)
        return np.concatenate(in_threads(lambda part: part @ other, parts, len(parts)))

    def _cut(self, n_parts: int) -> list[Any]:
        """Return blocks of rows with about the same number of entries."""
        if n_parts not in self._parts:
            wanted = np.linspace(0, self.matrix.nnz, n_parts + 1)[1:-1]
            cuts = np.searchsorted(self.matrix.indptr, wanted)
            edges = np.unique([0, *cuts, self.matrix.shape[0]])
            self._parts[n_parts] = [
                self.matrix[first:last] for first, last in itertools.pairwise(edges)
            ]
        return self._parts[n_parts]


class ViewedRows:
    """Centred, scaled and weighted rows ``X̃ = X_s − r mᵀ``, never formed.

    Features are kept in the order of how many rows have them: few of them make most of the
    entries, and side by side these stay in the cache.

    Parameters
    ----------
    rows : csr_array
        X_s: scaled features, rows times the roots of their weights.
    mean : ndarray of shape (D,)
        m, the scaled mean (zero where not centred).
    roots : ndarray of shape (N,)
        r, the roots of the weights.
    """

    def __init__(self, rows: Any, mean: Array, roots: Array) -> None:
        self.order = np.argsort(-np.bincount(rows.indices, minlength=rows.shape[1]), kind="stable")
        self.place = np.argsort(self.order)  # where each feature went
        self.transposed = rows.T.tocsr()[self.order]
        self.rows = self.transposed.T.tocsr()
        self.mean, self.roots = mean[self.order, None], roots[:, None]
        # What centring adds to XXᵀ lies in the span of r and Xm.
        self.span = np.hstack([self.roots, self.rows @ self.mean])
        square = float(np.vdot(mean, mean))
        self.within = np.array([[square, -1.0], [-1.0, 0.0]], dtype=rows.dtype)

    def lift(self, A: Array) -> Array:
        """Return X̃ᵀ A."""
        return self._in_chunks(self._lift, A, self.rows.shape[1])

    def images(self, Z: Array) -> Array:
        """Return X̃ Z."""
        return self._in_chunks(self._images, Z, self.rows.shape[0])

    def kernel(self, A: Array) -> Array:
        """Return X̃X̃ᵀ A; centring takes place in the space of rows, which is the smaller one."""
        return self._in_chunks(self._kernel, A, self.rows.shape[0])

    def kernel_matrix(self) -> Array:
        """Return X̃X̃ᵀ as a matrix, where rows are few."""
        matrix = (self.rows @ self.transposed).toarray()
        matrix += self.span @ self.within @ self.span.T
        return np.asarray(matrix)

    def _lift(self, A: Array) -> Array:
        lifted = self.transposed @ A - self.mean @ (self.roots.T @ A)
        return np.asarray(lifted[self.place])

    def _images(self, Z: Array) -> Array:
        Z = Z[self.order]
        return np.asarray(self.rows @ Z - self.roots @ (self.mean.T @ Z))

    def _kernel(self, A: Array) -> Array:
        product = np.asarray(self.rows @ (self.transposed @ A))
        product += self.span @ (self.within @ (self.span.T @ A))
        return product

    def _in_chunks(self, work: Any, values: Array, n_rows: int) -> Array:
        result = np.empty((n_rows, values.shape[1]), dtype=values.dtype)

        def one(columns: slice) -> None:
            result[:, columns] = work(np.ascontiguousarray(values[:, columns]))

        in_shares(one, values.shape[1], self.rows.nnz * values.shape[1], CHUNK)
        return result
