"""Is one method better than another, beyond chance? Over folds, over data sets, over rows.

- Folds of one data set share most of their training rows, so that their differences vary less than
  those on fresh data would. The corrected resampled t-test (Nadeau and Bengio, 2003) widens the
  variance of their mean from s²/k to (1/k + n_test/n_train) s².
- Over data sets: Wilcoxon's signed ranks of the mean differences, and Holm's correction where one
  method is compared with several.
- Over rows: the bootstrap, test rows drawn again with replacement, for the measures that are made
  of counts of each row.
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

__all__ = [
    "LEVEL",
    "Interval",
    "RowCounts",
    "bootstrap",
    "corrected_t",
    "differ",
    "holm",
    "row_weights",
    "signed_ranks",
]

Array = NDArray[np.float64]

#: Level of the tests; intervals hold the rest.
LEVEL = 0.05
#: Share of the rows that a fold tests.
TEST_SHARE = 0.2
#: Times that rows are drawn again.
SAMPLES = 1000


@dataclass(frozen=True)
class Interval:
    """A mean difference, its 95 % interval and the probability of such a one by chance."""

    difference: float
    low: float
    high: float
    p_value: float

    @property
    def side(self) -> int:
        """1 where the interval lies above zero, −1 below, 0 where it holds zero."""
        return int(self.low > 0.0) - int(self.high < 0.0)

    def __str__(self) -> str:
        return f"{self.difference:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def corrected_t(
    first: ArrayLike, second: ArrayLike = 0.0, *, test_share: float = TEST_SHARE
) -> Interval:
    """Compare two methods over the folds of a data set.

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
    """
    gaps = np.atleast_1d(np.asarray(first, dtype=float) - np.asarray(second, dtype=float))
    mean, k = float(gaps.mean()), len(gaps)
    if k < 2:
        return Interval(mean, -math.inf, math.inf, 1.0)
    error = math.sqrt((1.0 / k + test_share / (1.0 - test_share)) * float(gaps.var(ddof=1)))
    if error <= 1e-12 * max(abs(mean), 1e-3):  # all folds alike
        return Interval(mean, mean, mean, 1.0 if abs(mean) < 1e-12 else 0.0)
    reach = error * float(scipy.stats.t.ppf(1.0 - LEVEL / 2.0, k - 1))
    p_value = 2.0 * float(scipy.stats.t.sf(abs(mean) / error, k - 1))
    return Interval(mean, mean - reach, mean + reach, p_value)


def signed_ranks(differences: ArrayLike) -> float:
    """Return the p-value of Wilcoxon's test that differences over data sets centre on zero.

    Examples
    --------
    >>> round(signed_ranks([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), 4), signed_ranks([0.0, 0.0])
    (0.0312, 1.0)
    """
    gaps = np.asarray(differences, dtype=float).round(12)  # equal but for rounding is equal
    if not np.any(gaps):
        return 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few data sets: the p-value says so itself
        return float(scipy.stats.wilcoxon(gaps, zero_method="zsplit").pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values of several tests of one family, after Holm's correction.

    Examples
    --------
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    adjusted, reached = [0.0] * len(order), 0.0
    for place, index in enumerate(order):
        reached = max(reached, min(1.0, (len(order) - place) * float(p_values[index])))
        adjusted[index] = reached
    return adjusted


def differ(mean: float, std: float, other_mean: float, other_std: float, n_folds: int = 5) -> bool:
    """Tell whether two means over folds differ by Welch's t-test, where only these are known.

    Parameters
    ----------
    mean, std, other_mean, other_std : float
        Means and population standard deviations.
    n_folds : int
        Of both.

    Examples
    --------
    >>> differ(0.50, 0.01, 0.55, 0.01), differ(0.50, 0.05, 0.55, 0.05)
    (True, False)
    """
    if n_folds < 2:
        return False
    spread = math.sqrt(n_folds / (n_folds - 1.0))
    if std + other_std == 0.0:
        return abs(mean - other_mean) > 1e-12
    test = scipy.stats.ttest_ind_from_stats(
        mean, std * spread, n_folds, other_mean, other_std * spread, n_folds, equal_var=False
    )
    return bool(test.pvalue < LEVEL)


@dataclass(frozen=True, eq=False)
class RowCounts:
    """True labels, labels given and those of them that are right, for each test row.

    Examples
    --------
    >>> counts = RowCounts(np.array([2, 1]), np.array([1, 1]), np.array([1, 0]))
    >>> counts.measures("accuracy", np.ones((1, 2))), counts.measures("micro_f1", np.ones((1, 2)))
    (array([0.25]), array([0.4]))
    """

    true: Any
    given: Any
    hits: Any

    def measures(self, metric: str, weights: Any) -> Array:
        """Return a measure for each row of weights of the test rows, 0/0 being 0."""
        true, given, hits = (
            np.asarray(each, dtype=weights.dtype) for each in (self.true, self.given, self.hits)
        )
        if metric == "micro_f1":
            return np.asarray(2.0 * (weights @ hits) / np.maximum(weights @ (true + given), 1.0))
        whole = true + given - hits if metric == "accuracy" else (true + given) / 2.0
        share = np.divide(hits, whole, out=np.zeros_like(hits), where=whole > 0)
        return np.asarray(weights @ share / weights.sum(axis=1))


def row_weights(n_rows: int, samples: int = SAMPLES, seed: int = 0) -> Any:
    """Return how often each row is drawn in each sample (Poisson: no two rows depend)."""
    drawn = np.random.default_rng(seed).poisson(1.0, (samples, n_rows))
    return drawn.astype(np.float32)


def bootstrap(first: ArrayLike, second: ArrayLike, difference: float) -> Interval:
    """Return the interval of a difference, from a measure of two methods in the same samples.

    Examples
    --------
    >>> samples = np.linspace(0.0, 1.0, 101)
    >>> bootstrap(samples + 0.5, np.ones(101), 0.0).side
    0
    """
    gaps = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    low, high = np.quantile(gaps, [LEVEL / 2.0, 1.0 - LEVEL / 2.0])
    p_value = 2.0 * min(np.mean(gaps <= 0.0), np.mean(gaps >= 0.0))
    return Interval(difference, float(low), float(high), min(1.0, float(p_value)))
