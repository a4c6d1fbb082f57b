"""As many threads as are allowed: what NumPy and SciPy do on one, lets others run meanwhile."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

__all__ = ["LEAST_WORK", "allowed_threads", "in_shares", "in_threads"]

Part = TypeVar("Part")
Result = TypeVar("Result")

#: Multiplications from which on a second thread pays.
LEAST_WORK = 1 << 21
#: Looks for the loaded libraries once: that takes milliseconds, asking them takes none.
_libraries = functools.cache(ThreadpoolController)


def allowed_threads() -> int:
    """Return how many threads linear algebra may use here (as ``threadpoolctl`` limits it)."""
    found = [pool["num_threads"] for pool in _libraries().info() if pool["user_api"] == "blas"]
    return max(found, default=1)


def in_threads(work: Callable[[Part], Result], parts: Iterable[Part], threads: int) -> list[Result]:
    """Do work on parts in threads and return the results in order.

    Linear algebra runs on one thread in each: with more they get in each other's way.

    Examples
    --------
    >>> in_threads(abs, [-1, 2], threads=2)
    [1, 2]
    """
    with (
        _libraries().limit(limits=1, user_api="blas"),
        ThreadPoolExecutor(threads) as pool,
    ):
        return list(pool.map(work, parts))


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
