"""As many threads as are allowed: what NumPy and SciPy do on one, lets others run meanwhile.

Threads of linear algebra pay for large matrices only. NumPy and SciPy bring libraries of their own,
whose threads go on waiting for work for a while after each product and take the cores from each
other: on matrices of some hundred rows all threads take longer than one.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

__all__ = ["LEAST_WORK", "allowed_threads", "in_shares", "in_threads", "one_each"]

Part = TypeVar("Part")
Result = TypeVar("Result")

#: Multiplications from which on a second thread pays.
LEAST_WORK = 1 << 21
#: Looks for the loaded libraries once: that takes milliseconds, asking them takes none.
_libraries = functools.cache(ThreadpoolController)
#: Whether this is one of several threads that share some work.
_sharing: ContextVar[bool] = ContextVar("sharing", default=False)


class _OneThread:
    """Holds linear algebra to one thread as long as anyone asks for it.

    The limit is the process's: the first to come notes what was allowed, the last to go restores
    it, whatever the order in between.
    """

    def __init__(self) -> None:
        self._lock, self._holders = threading.Lock(), 0
        self._limit: Any = None
        self.before: int | None = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._holders:
                self.before = _linear_algebra()
                self._limit = _libraries().limit(limits=1, user_api="blas")
            self._holders += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._holders -= 1
            if not self._holders:
                self._limit.restore_original_limits()
                self.before = self._limit = None


_one_thread = _OneThread()


def _linear_algebra() -> int:
    found = [pool["num_threads"] for pool in _libraries().info() if pool["user_api"] == "blas"]
    return max(found, default=1)


def allowed_threads() -> int:
    """Return how many threads may be used here (as ``threadpoolctl`` limits linear algebra)."""
    if _sharing.get():
        return 1
    return _one_thread.before or _linear_algebra()


@contextmanager
def one_each(small: bool = True) -> Iterator[None]:
    """Hold linear algebra to one thread where matrices are small; other work may use them all.

    Examples
    --------
    >>> allowed = allowed_threads()
    >>> with one_each():
    ...     allowed_threads() == allowed
    True
    """
    with _one_thread if small else nullcontext():
        yield


def in_threads(work: Callable[[Part], Result], parts: Iterable[Part], threads: int) -> list[Result]:
    """Do work on parts in threads and return the results in order.

    Linear algebra runs on one thread in each: with more they get in each other's way.

    Examples
    --------
    >>> in_threads(abs, [-1, 2], threads=2)
    [1, 2]
    """

    def shared(part: Part) -> Result:
        token = _sharing.set(True)
        try:
            return work(part)
        finally:
            _sharing.reset(token)

    with _one_thread, ThreadPoolExecutor(threads) as pool:
        return list(pool.map(shared, parts))


def in_shares(
    work: Callable[[slice], Result], count: int, size: int, at_most: int | None = None
) -> list[Result]:
    """Do work on rows (or columns) in shares on the threads that are allowed; results in order.

    Parameters
    ----------
    work : callable
        What to do with a slice of them.
    count : int
        How many there are.
    size : int
        Values that the work goes through: little work is not spread over threads.
    at_most : int, optional
        The most of them in a share. By default each thread has one share.

    Examples
    --------
    >>> in_shares(lambda rows: rows.stop - rows.start, 10, size=10)
    [10]
    >>> in_shares(lambda rows: rows.stop - rows.start, 10, size=10, at_most=4)
    [3, 3, 4]
    """
    threads = max(1, min(allowed_threads(), count) if size >= LEAST_WORK else 1)
    rounds = 1 if at_most is None else -(-count // (at_most * threads))
    edges = np.linspace(0, count, max(rounds, 1) * threads + 1).astype(int).tolist()
    shares = [slice(first, last) for first, last in itertools.pairwise(edges)]
    return [work(each) for each in shares] if threads == 1 else in_threads(work, shares, threads)
