"""Are methods different? Friedman's test and Nemenyi's critical difference, from ranks or scores.

With N data sets, k methods and average ranks R_j, without a correction for ties:

    χ² = 12N / (k(k+1)) · (Σ R_j² − k(k+1)²/4),      F_F = (N−1)χ² / (N(k−1) − χ²),
    CD = q_α √(k(k+1) / 6N)

F_F is compared with the F distribution with k−1 and (k−1)(N−1) degrees of freedom; q_α is the
studentised range over √2. Two methods differ where their average ranks are more than CD apart.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as f_distribution
from scipy.stats import rankdata, studentized_range

__all__ = ["Friedman", "Nemenyi", "cliques", "friedman", "nemenyi", "rank_rows", "uneven_rows"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Friedman:
    """Friedman's test, whether all methods rank alike.

    Attributes
    ----------
    statistic : float
        F_F.
    critical : float
        What F_F must exceed.
    p_value : float
        Probability of such an F_F if all methods rank alike.
    chi_square : float
        χ², from which F_F is made.
    average_ranks : ndarray of shape (k,)
        R_j, 1 being the best.
    n_datasets, n_methods : int
        N and k.
    """

    statistic: float
    critical: float
    p_value: float
    chi_square: float
    average_ranks: Array
    n_datasets: int
    n_methods: int

    @property
    def rejected(self) -> bool:
        """Whether the methods differ."""
        return self.statistic > self.critical


@dataclass(frozen=True, eq=False)
class Nemenyi:
    """Nemenyi's test of all pairs of methods.

    Attributes
    ----------
    critical_difference : float
        CD.
    q : float
        q_α.
    average_ranks : ndarray of shape (k,)
        R_j, 1 being the best.
    p_values : ndarray of shape (k, k)
        Probability of a difference like that of each pair if they rank alike.
    """

    critical_difference: float
    q: float
    average_ranks: Array
    p_values: Array


def friedman(table: Any, *, ranks: bool | None = None, alpha: float = 0.05) -> Friedman:
    """Test whether methods rank alike over data sets.

    Parameters
    ----------
    table : array-like of shape (n_datasets, n_methods)
        Ranks (1 the best, ties share the average) or scores (larger is better).
    ranks : bool, optional
        Whether the table holds ranks. Left out, it does if all of its entries lie between 1 and
        the number of methods, which no measure between 0 and 1 does.
    alpha : float
        Level of the test.

    Returns
    -------
    Friedman

    Examples
    --------
    >>> scores = [[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.8, 0.6, 0.7], [0.5, 0.4, 0.3]]
    >>> test = friedman(scores)
    >>> test.average_ranks.tolist(), round(test.statistic, 3), round(test.critical, 3)
    ([1.0, 2.25, 2.75], 13.0, 5.143)
    """
    found = _at_least_two(rank_rows(table, ranks))
    n, k = found.shape
    average = found.mean(axis=0)
    chi_square = 12.0 * n / (k * (k + 1)) * (float(average @ average) - k * (k + 1) ** 2 / 4.0)
    rest = n * (k - 1) - chi_square
    # All data sets agree: the statistic has no bound.
    agreed = rest <= 1e-9 * n * k
    statistic = math.inf if agreed else (n - 1) * chi_square / rest
    freedom = k - 1, (k - 1) * (n - 1)
    return Friedman(
        statistic,
        float(f_distribution.ppf(1.0 - _level(alpha), *freedom)),
        float(f_distribution.sf(statistic, *freedom)),
        chi_square,
        average,
        n,
        k,
    )


def nemenyi(table: Any, *, ranks: bool | None = None, alpha: float = 0.05) -> Nemenyi:
    """Compare all pairs of methods over data sets.

    Parameters
    ----------
    table, ranks, alpha
        As in :func:`friedman`.

    Returns
    -------
    Nemenyi

    Examples
    --------
    >>> test = nemenyi([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.8, 0.6, 0.7], [0.5, 0.4, 0.3]])
    >>> round(test.critical_difference, 3), round(test.q, 3)
    (1.657, 2.344)
    """
    found = _at_least_two(rank_rows(table, ranks))
    n, k = found.shape
    average = found.mean(axis=0)
    error = math.sqrt(k * (k + 1) / (6.0 * n))
    q = float(studentized_range.ppf(1.0 - _level(alpha), k, np.inf)) / math.sqrt(2.0)
    apart = np.abs(np.subtract.outer(average, average)) / error
    p_values = np.asarray(studentized_range.sf(apart * math.sqrt(2.0), k, np.inf))
    return Nemenyi(q * error, q, average, np.clip(p_values, 0.0, 1.0))


def rank_rows(table: Any, ranks: bool | None = None) -> Array:
    """Return the ranks of the methods on each data set, 1 the best, ties sharing the average.

    Parameters
    ----------
    table, ranks
        As in :func:`friedman`. Ranks are returned as they are; a row of them that does not add up
        to k(k+1)/2 is pointed out by a warning.

    Examples
    --------
    >>> rank_rows([[0.9, 0.7, 0.7]]).tolist()
    [[1.0, 2.5, 2.5]]
    """
    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] < 2 or not len(values):
        raise ValueError(
            f"expected a table of data sets × methods, at least two methods; got {values.shape}"
        )
    if not np.isfinite(values).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise ValueError(
            f"row {row}, column {column} of the table is missing: leave out data sets that not "
            "every method was run on"
        )
    k = values.shape[1]
    if ranks is None:
        within = (values >= 1.0) & (values <= k)
        ranks = bool(within.all() and values.max() > 1.0)  # all 1.0 are perfect scores
    if not ranks:
        return np.asarray(rankdata(-values, axis=1))
    if np.any((values < 1.0) | (values > k)):
        raise ValueError(f"ranks of {k} methods lie between 1 and {k}")
    uneven = uneven_rows(values)
    if uneven:
        warnings.warn(
            f"the ranks of row {', '.join(map(str, uneven))} do not add up to {k * (k + 1) / 2:g}: "
            "one of them is misprinted, or ties do not share the average",
            UserWarning,
            stacklevel=3,
        )
    return values


def uneven_rows(ranks: Any) -> list[int]:
    """Return the rows whose ranks do not add up to k(k+1)/2.

    Examples
    --------
    >>> uneven_rows([[1, 2, 3], [1.5, 1.5, 2.5]])
    [1]
    """
    values = np.asarray(ranks, dtype=np.float64)
    k = values.shape[1]
    return [int(row) for row in np.flatnonzero(np.abs(values.sum(axis=1) - k * (k + 1) / 2) > 1e-6)]


def cliques(average_ranks: Any, critical_difference: float) -> list[tuple[int, ...]]:
    """Return the largest sets of methods that no pair of differs, each from best to worst.

    Examples
    --------
    >>> cliques([1.0, 1.5, 3.0], 1.6)
    [(0, 1), (1, 2)]
    """
    ranks = np.asarray(average_ranks, dtype=np.float64)
    order = np.argsort(ranks, kind="stable")
    sorted_ranks = ranks[order]
    found: list[tuple[int, ...]] = []
    reached = -1
    for first in range(len(order)):
        reach = sorted_ranks[first] + critical_difference
        last = int(np.searchsorted(sorted_ranks, reach, "right"))
        if last - 1 > max(reached, first):
            found.append(tuple(int(i) for i in order[first:last]))
        reached = max(reached, last - 1)
    return found


def _at_least_two(ranks: Array) -> Array:
    if len(ranks) < 2:
        raise ValueError("a test over data sets needs at least two of them")
    return ranks


def _level(alpha: float) -> float:
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha}")
    return alpha
