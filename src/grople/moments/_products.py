"""Products of sparse matrices with dense ones, on several threads, the same to the last bit."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.optim._parallel import parallel_map

__all__ = ["CHUNK", "CentredRows", "ThreadedProduct", "in_chunks"]

Array = NDArray[Any]

#: Columns multiplied at a time: what they become in the space of features stays in the cache.
CHUNK = 64
#: Multiplications from which on a second thread pays.
LEAST_WORK = 1 << 21
#: Parts that a sparse matrix is cut into, whatever the number of threads.
PARTS = 8


class ThreadedProduct:
    """A CSR matrix that multiplies dense ones in blocks of its rows, which share nothing."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self._parts: list[Any] = []

    def __matmul__(self, other: Array) -> Array:
        width = other.shape[1] if other.ndim == 2 else 1
        if self.matrix.nnz * width < LEAST_WORK:
            return np.asarray(self.matrix @ other)
        if not self._parts:
            wanted = np.linspace(0, self.matrix.nnz, PARTS + 1)[1:-1]
            edges = np.unique([0, *np.searchsorted(self.matrix.indptr, wanted),
                               self.matrix.shape[0]])  # fmt: skip
            self._parts = [self.matrix[i:j] for i, j in itertools.pairwise(edges)]
        return np.concatenate(parallel_map(lambda part: part @ other, self._parts))


class CentredRows:
    """Centred and weighted sparse rows ``X̃ = √w (x − m)``, never formed.

    Features are kept in the order of how many rows have them: few of them make most of the
    entries, and side by side these stay in the cache.

    Parameters
    ----------
    rows : csr_array
        Rows times the roots of their weights.
    mean : ndarray of shape (D,)
        m, zero where not centred.
    roots : ndarray of shape (N,)
        √w.
    """

    def __init__(self, rows: Any, mean: Array, roots: Array) -> None:
        self.order = np.argsort(-np.bincount(rows.indices, minlength=rows.shape[1]), kind="stable")
        self.place = np.argsort(self.order)  # where each feature went
        self.transposed = rows.T.tocsr()[self.order]
        self.rows = self.transposed.T.tocsr()
        self.mean, self.roots = mean[self.order, None], roots[:, None]
        # What centring adds to X̃X̃ᵀ lies in the span of the roots and Xm.
        self.span = np.hstack([self.roots, self.rows @ self.mean])
        square = float(np.vdot(mean, mean))
        self.within = np.array([[square, -1.0], [-1.0, 0.0]], dtype=rows.dtype)

    def lift(self, A: Array) -> Array:
        """Return X̃ᵀ A."""
        return self._by_columns(self._lift, A, self.rows.shape[1])

    def images(self, Z: Array) -> Array:
        """Return X̃ Z."""
        return self._by_columns(self._images, Z, self.rows.shape[0])

    def kernel(self, A: Array) -> Array:
        """Return X̃X̃ᵀ A; centring takes place in the space of rows, which is the smaller one."""
        return self._by_columns(self._kernel, A, self.rows.shape[0])

    def kernel_matrix(self) -> Array:
        """Return X̃X̃ᵀ as a matrix, where rows are few."""
        matrix = (self.rows @ self.transposed).toarray()
        matrix += self.span @ self.within @ self.span.T
        return np.asarray(matrix)

    def _by_columns(self, work: Callable[[Array], Array], values: Array, n_rows: int) -> Array:
        def one(some: slice) -> Array:
            return work(np.ascontiguousarray(values[:, some]))

        return in_chunks(one, values, n_rows, self.rows.nnz)

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


def in_chunks(work: Callable[[slice], Array], like: Array, n_rows: int, per_column: int) -> Array:
    """Return what work makes of a few columns at a time, of as many as another array has.

    On several threads, if the multiplications per column are many; the cut is always the same.
    """
    n_columns = like.shape[1]
    result = np.empty((n_rows, n_columns), dtype=like.dtype)

    def one(first: int) -> None:
        some = slice(first, min(first + CHUNK, n_columns))
        result[:, some] = work(some)

    busy = per_column * n_columns >= LEAST_WORK
    parallel_map(one, range(0, n_columns, CHUNK), n_threads=None if busy else 1)
    return result
