"""As many threads as are allowed: what NumPy and SciPy do on one, lets others run meanwhile."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

__all__ = ["LEAST_WORK", "allowed_threads", "in_shares"]

Result = TypeVar("Result")

#: Multiplications from which on a second thread pays.
LEAST_WORK = 1 << 21
#: Looks for the loaded libraries once: that takes milliseconds, asking them takes none.
_libraries = functools.cache(ThreadpoolController)


def allowed_threads() -> int:
    """Return how many threads linear algebra may use here (as ``threadpoolctl`` limits it)."""
    found = [pool["num_threads"] for pool in _libraries().info() if pool["user_api"] == "blas"]
    return max(found, default=1)


def in_shares(work: Callable[[slice], Result], n_rows: int, size: int) -> list[Result]:
    """Do work on rows in as many shares as threads are allowed; return the results in order.

    Parameters
    ----------
    work : callable
        What to do with a slice of rows.
    n_rows : int
        Number of rows.
    size : int
        Values that the work goes through: little work is not shared.

    Examples
    --------
    >>> in_shares(lambda rows: rows.stop - rows.start, 10, size=10)
    [10]
    """
    threads = min(allowed_threads(), n_rows) if size >= LEAST_WORK else 1
    edges = np.linspace(0, n_rows, max(threads, 1) + 1).astype(int).tolist()
    shares = [slice(first, last) for first, last in itertools.pairwise(edges)]
    if len(shares) == 1:
        return [work(shares[0])]
    with ThreadPoolExecutor(len(shares)) as pool:
        return list(pool.map(work, shares))
