"""Threads over independent items; linear algebra on one thread, so that results never change.

Products of real numbers round differently on another number of BLAS threads. One thread each and
several items at once is also faster on matrices of some hundred rows.
"""

from __future__ import annotations

import functools
import itertools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, TypeVar

import joblib
import numpy as np
import threadpoolctl
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

__all__ = [
    "ThreadedProduct",
    "by_columns",
    "parallel_map",
    "row_shares",
    "single_threaded",
    "worker_count",
]

Array = NDArray[Any]
Item = TypeVar("Item")
Result = TypeVar("Result")

#: Columns multiplied at a time: what they become on the way stays in the cache.
CHUNK = 64
#: Multiplications from which on a second thread pays.
LEAST_WORK = 1 << 21
#: Parts that a sparse matrix is cut into, whatever the number of threads.
PARTS = 8

_this_thread = threading.local()


def worker_count() -> int:
    """Return how many threads pay: one for each CPU this process may use.

    ``joblib.parallel_config(n_jobs=...)`` overrides the number of CPUs (negative numbers count
    from all of them). Inside a thread of `parallel_map` or a job of joblib the answer is 1.

    Examples
    --------
    >>> import joblib
    >>> with joblib.parallel_config(n_jobs=3):
    ...     worker_count()
    3
    """
    if getattr(_this_thread, "works", False):
        return 1
    # Without hints, or joblib answers for another backend than the one that was configured.
    backend, n_jobs = get_active_backend(prefer=None, require=None)
    if n_jobs is None:
        return 1 if backend.nesting_level else max(joblib.cpu_count(), 1)
    return max(n_jobs if n_jobs > 0 else joblib.cpu_count() + 1 + n_jobs, 1)


def parallel_map(
    function: Callable[[Item], Result], items: Iterable[Item], *, n_threads: int | None = None
) -> list[Result]:
    """Return the function of each item, in order, computed on `worker_count` threads.

    Results are the same on any number of threads; a `parallel_map` inside another one is a loop.

    Parameters
    ----------
    function : callable
        What to do with an item. An exception it raises is raised here.
    items : iterable
        What to work on.
    n_threads : int, optional
        The number of threads instead of `worker_count`.

    Examples
    --------
    >>> parallel_map(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    items = list(items)
    if n_threads is None or getattr(_this_thread, "works", False):
        n_threads = worker_count()
    if min(n_threads, len(items)) <= 1:
        with single_threaded():
            return [function(item) for item in items]
    # Settings such as np.errstate live in a context, which a new thread starts without.
    contexts = [copy_context() for _ in items]
    n_threads = min(n_threads, len(items))
    with single_threaded(), ThreadPoolExecutor(n_threads, initializer=_become_worker) as pool:
        return list(pool.map(lambda own, item: own.run(function, item), contexts, items))


def by_columns(work: Callable[[slice], Array], like: Array, n_rows: int, per_column: int) -> Array:
    """Return what ``work`` makes of a few columns at a time, of as many as ``like`` has.

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


def row_shares(n: int, n_shares: int, at_most: int | None = None) -> list[slice]:
    """Cut n rows into slices of nearly equal length, a multiple of ``n_shares`` of them.

    Parameters
    ----------
    n, n_shares : int
        How many rows there are and how many threads share them; no slice is empty unless n is 0.
    at_most : int, optional
        The most rows in a slice. By default each thread has one slice.

    Examples
    --------
    >>> row_shares(10, 2)
    [slice(0, 5, None), slice(5, 10, None)]
    >>> [rows.stop - rows.start for rows in row_shares(10, 1, at_most=4)]
    [3, 3, 4]
    """
    n_slices = max(min(n_shares, n), 1)
    if at_most is not None:
        n_slices *= max(-(-n // (at_most * n_slices)), 1)
    edges = [n * share // n_slices for share in range(n_slices + 1)]
    return [slice(first, last) for first, last in itertools.pairwise(edges)]


# One thread for linear algebra


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread; may be nested, and entered from several threads.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> with single_threaded():
    ...     {library["num_threads"] for library in threadpool_info()}
    {1}
    """
    own = _thread_pools(len(sys.modules))[1]
    with _shared_pools, own.limit(limits=1):
        yield


def _become_worker() -> None:
    _this_thread.works = True
    _thread_pools(len(sys.modules))[1].limit(limits=1)  # for as long as the thread lives


@functools.lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> tuple[Any, Any]:
    """Return the pools that threads share, and those each has of its own (OpenMP).

    They are looked for again when more modules have been imported.
    """
    found = threadpoolctl.ThreadpoolController()
    own = found.select(user_api="openmp", threading_layer="openmp")
    own_paths = [library.filepath for library in own.lib_controllers]
    paths = [library.filepath for library in found.lib_controllers]
    return found.select(filepath=[path for path in paths if path not in own_paths]), own


class _SharedPools:
    """Limit the pools that all threads share to one thread while anyone asks for it.

    The first to come sets the limit, the last to go restores what was there before, in whatever
    order they go.
    """

    def __init__(self) -> None:
        self._lock, self._holders = threading.Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._holders:
                self._control_openblas()
                self._limit = _thread_pools(len(sys.modules))[0].limit(limits=1)
            self._holders += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._holders -= 1
            if not self._holders:
                self._control_openblas()
                self._limit.restore_original_limits()
                self._control_openblas()

    def _control_openblas(self) -> None:
        # threadpoolctl 3.8 obeys the first thread that sets a limit and ignores the others.
        clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
        if clear is not None:
            clear(force=True)


_shared_pools = _SharedPools()
