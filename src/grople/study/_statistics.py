"""Do methods differ? Over data sets, over the folds of one, over its test rows.

With N data sets, k methods and average ranks R_j, without a correction for ties:

    χ² = 12N / (k(k+1)) · (Σ R_j² − k(k+1)²/4),      F_F = (N−1)χ² / (N(k−1) − χ²),
    CD = q_α √(k(k+1) / 6N)

F_F is compared with the F distribution with k−1 and (k−1)(N−1) degrees of freedom; q_α is the
studentised range over √2. Two methods differ where their average ranks are more than CD apart.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

#: Level of the tests; intervals hold the rest.
LEVEL = 0.05
#: Fewer folds, or data sets, and no hypothesis is tested.
MIN_FOLDS, MIN_DATASETS = 3, 5
#: Share of the rows that a fold tests.
TEST_SHARE = 0.2
#: Times that rows are drawn again, and draws held at a time.
SAMPLES, BATCH = 1000, 50


@dataclass(frozen=True, eq=False)
class Friedman:
    """Whether all methods rank alike: F_F, what it must exceed, its p-value, χ² and mean ranks."""

    statistic: float
    critical: float
    p_value: float
    chi_square: float
    average_ranks: Array

    @property
    def rejected(self) -> bool:
        """Whether the methods differ."""
        return self.statistic > self.critical


@dataclass(frozen=True, eq=False)
class Nemenyi:
    """All pairs of methods: CD, q_α, the mean ranks, and the p-value of each pair."""

    critical_difference: float
    q: float
    average_ranks: Array
    p_values: Array


@dataclass(frozen=True)
class Interval:
    """A mean difference with its 95 % interval and p-value; NaN where nothing was tested."""

    difference: float
    low: float = math.nan
    high: float = math.nan
    p_value: float = math.nan

    @property
    def side(self) -> int:
        """1 where the interval lies above zero, −1 below, 0 where it holds zero or is not known."""
        return int(self.low > 0.0) - int(self.high < 0.0)

    def __str__(self) -> str:
        if math.isnan(self.low):
            return f"{self.difference:+.3f}"
        return f"{self.difference:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def rank_scores(scores: ArrayLike) -> Array:
    """Return the ranks of methods on each data set, 1 the best, ties sharing the average.

    Examples
    --------
    >>> rank_scores([[0.9, 0.7, 0.7]]).tolist()
    [[1.0, 2.5, 2.5]]
    """
    return np.asarray(scipy.stats.rankdata(-np.asarray(scores, dtype=float), axis=1))


def uneven_rows(ranks: ArrayLike) -> list[int]:
    """Return the rows whose ranks do not add up to k(k+1)/2.

    Examples
    --------
    >>> uneven_rows([[1, 2, 3], [1.5, 1.5, 2.5]])
    [1]
    """
    values = _checked(ranks)
    k = values.shape[1]
    return np.flatnonzero(np.abs(values.sum(axis=1) - k * (k + 1) / 2) > 1e-6).tolist()


def friedman(ranks: ArrayLike) -> Friedman:
    """Test whether methods rank alike over data sets.

    Parameters
    ----------
    ranks : array-like of shape (n_datasets, n_methods)
        Ranks, 1 the best, ties sharing the average; :func:`rank_scores` makes them of scores.

    Returns
    -------
    Friedman

    Examples
    --------
    >>> scores = [[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.8, 0.6, 0.7], [0.5, 0.4, 0.3]]
    >>> test = friedman(rank_scores(scores))
    >>> test.average_ranks.tolist(), round(test.statistic, 3), round(test.critical, 3)
    ([1.0, 2.25, 2.75], 13.0, 5.143)
    """
    values = _checked(ranks)
    n, k = values.shape
    average = values.mean(axis=0)
    chi_square = 12.0 * n / (k * (k + 1)) * (float(average @ average) - k * (k + 1) ** 2 / 4.0)
    rest = n * (k - 1) - chi_square
    # Where all data sets agree the statistic has no bound.
    statistic = math.inf if rest <= 1e-9 * n * k else (n - 1) * chi_square / rest
    under = scipy.stats.f(k - 1, (k - 1) * (n - 1))
    critical, p_value = float(under.ppf(1.0 - LEVEL)), float(under.sf(statistic))
    return Friedman(statistic, critical, p_value, chi_square, average)


def nemenyi(ranks: ArrayLike) -> Nemenyi:
    """Compare all pairs of methods over data sets.

    Examples
    --------
    >>> ranks = rank_scores([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.8, 0.6, 0.7], [0.5, 0.4, 0.3]])
    >>> test = nemenyi(ranks)
    >>> round(test.critical_difference, 3), round(test.q, 3)
    (1.657, 2.344)
    """
    values = _checked(ranks)
    n, k = values.shape
    average = values.mean(axis=0)
    error = math.sqrt(k * (k + 1) / (6.0 * n))
    under = scipy.stats.studentized_range(k, np.inf)
    q = float(under.ppf(1.0 - LEVEL)) / math.sqrt(2.0)
    apart = np.abs(np.subtract.outer(average, average)) / error
    p_values = np.clip(under.sf(apart * math.sqrt(2.0)), 0.0, 1.0)
    return Nemenyi(q * error, q, average, p_values)


def corrected_t(
    first: ArrayLike, second: ArrayLike = 0.0, *, test_share: float = TEST_SHARE
) -> Interval:
    """Compare two methods over the folds of a data set.

    Folds share most of their training rows, so that their differences vary less than those on
    fresh data would: the corrected resampled t-test (Nadeau and Bengio, 2003) widens the variance
    of their mean from s²/k to (1/k + n_test/n_train) s². Fewer than three folds test nothing.

    Parameters
    ----------
    first, second : array-like of shape (n_folds,)
        A measure on each fold.
    test_share : float
        Share of the rows that a fold tests.

    Examples
    --------
    >>> found = corrected_t([0.52, 0.55, 0.51, 0.54, 0.53], [0.50, 0.52, 0.50, 0.51, 0.51])
    >>> str(found), round(found.p_value, 3), found.side
    ('+0.022 [+0.006, +0.038]', 0.017, 1)
    >>> str(corrected_t([0.52, 0.55], [0.50, 0.52]))
    '+0.025'
    """
    gaps = np.atleast_1d(np.asarray(first, dtype=float) - np.asarray(second, dtype=float))
    mean, k = float(gaps.mean()), len(gaps)
    if k < MIN_FOLDS:
        return Interval(mean)
    error = math.sqrt((1.0 / k + test_share / (1.0 - test_share)) * float(gaps.var(ddof=1)))
    if error <= 1e-12 * max(abs(mean), 1e-3):  # all folds alike: no spread to test against
        return Interval(mean, mean, mean)
    reach = error * float(scipy.stats.t.ppf(1.0 - LEVEL / 2.0, k - 1))
    p_value = 2.0 * float(scipy.stats.t.sf(abs(mean) / error, k - 1))
    return Interval(mean, mean - reach, mean + reach, p_value)


def signed_ranks(differences: ArrayLike) -> float:
    """Return the p-value of Wilcoxon's test that differences over data sets centre on zero.

    NaN where there are fewer than five.

    Examples
    --------
    >>> round(signed_ranks([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), 4), signed_ranks([0.0] * 5)
    (0.0312, 1.0)
    """
    gaps = np.asarray(differences, dtype=float).round(12)  # equal but for rounding is equal
    if len(gaps) < MIN_DATASETS:
        return math.nan
    if not np.any(gaps):
        return 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ties: the p-value is then approximate
        return float(scipy.stats.wilcoxon(gaps, zero_method="zsplit").pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values of several tests of one family, after Holm's correction.

    Examples
    --------
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(factors * np.asarray(p_values, float)[order])
    return np.minimum(adjusted, 1.0).tolist()


@dataclass(frozen=True, eq=False)
class RowRatio:
    """A measure as a ratio of sums over rows: what each row adds above and below.

    Examples
    --------
    >>> RowRatio.of("accuracy", [2, 1], [1, 1], [1, 0]).value
    0.25
    >>> RowRatio.of("micro_f1", [2, 1], [1, 1], [1, 0]).value
    0.4
    """

    above: Array
    below: Array

    @classmethod
    def of(cls, metric: str, true: ArrayLike, given: ArrayLike, hits: ArrayLike) -> RowRatio:
        """Return a measure from the labels that each row has, is given, and both."""
        true, given, hits = (np.asarray(each, dtype=float) for each in (true, given, hits))
        if metric == "micro_f1":
            return cls(2.0 * hits, true + given)
        whole = true + given - hits if metric == "accuracy" else (true + given) / 2.0
        share = np.divide(hits, whole, out=np.zeros_like(hits), where=whole > 0)
        return cls(share, np.ones_like(share))

    @property
    def value(self) -> float:
        """The measure, 0/0 being 0."""
        return float(self.above.sum() / max(self.below.sum(), 1.0))


def paired_bootstrap(first: RowRatio, second: RowRatio, seed: int = 0) -> Interval:
    """Compare two methods on the same test rows, drawn again with replacement.

    The p-value counts the observed rows as one draw more, so that it is never zero.

    Examples
    --------
    >>> rows = np.arange(100.0)
    >>> found = paired_bootstrap(RowRatio(rows + 1, rows * 0 + 1), RowRatio(rows, rows * 0 + 1))
    >>> found.side, 0 < found.p_value < 0.01
    (1, True)
    """

    def difference(a: Any, b: Any, c: Any, d: Any, axis: int = -1) -> Any:
        lower = (np.maximum(part.sum(axis=axis), 1.0) for part in (b, d))
        return a.sum(axis=axis) / next(lower) - c.sum(axis=axis) / next(lower)

    rows = first.above, first.below, second.above, second.below
    found = scipy.stats.bootstrap(
        rows, difference, paired=True, vectorized=True, n_resamples=SAMPLES, batch=BATCH,
        method="percentile", random_state=np.random.default_rng(seed),
    )  # fmt: skip
    drawn = found.bootstrap_distribution
    fewer = min(np.sum(drawn <= 0.0), np.sum(drawn >= 0.0))
    p_value = min(1.0, 2.0 * (1 + int(fewer)) / (SAMPLES + 1))
    interval = found.confidence_interval
    return Interval(float(difference(*rows)), float(interval.low), float(interval.high), p_value)


def _checked(ranks: ArrayLike) -> Array:
    """Return ranks as an array, or say what is wrong with them."""
    values = np.asarray(ranks, dtype=float)
    if values.ndim != 2 or len(values) < 2 or values.shape[1] < 2:
        raise ValueError(
            f"expected ranks of at least two methods on two data sets; got shape {values.shape}"
        )
    if not np.isfinite(values).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise ValueError(
            f"row {row}, column {column} of the table is missing: leave out data sets that not "
            "every method was run on"
        )
    if values.min() < 1.0 or values.max() > values.shape[1]:
        raise ValueError(f"ranks of {values.shape[1]} methods lie between 1 and {values.shape[1]}")
    return values
