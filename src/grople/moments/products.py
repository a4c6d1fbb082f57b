"""Products of a sparse matrix with dense ones, on as many threads as are allowed."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_info

__all__ = ["ThreadedProduct", "allowed_threads"]

Array = NDArray[Any]

#: Multiplications from which on a second thread pays.
LEAST_WORK = 1 << 21


def allowed_threads() -> int:
    """Return how many threads linear algebra may use here (as ``threadpoolctl`` limits it)."""
    found = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return max(found, default=1)


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
        with ThreadPoolExecutor(len(parts)) as pool:
            return np.concatenate(list(pool.map(lambda part: part @ other, parts)))

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
