"""Whether probabilities can be believed: what was predicted against what happened.

Pairs of a row and a label are put into bins by their probability, about as many in each. Equal
probabilities share a bin, that of their middle place, so that no order of rows or columns changes a
result: a curve fitted by isotonic regression gives thousands of pairs the same probability.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grople.metrics._inputs import label_indicator, row_weights, score_blocks

__all__ = ["ReliabilityCurve", "reliability_curve"]

Array = NDArray[Any]

#: Far above rounding and far below the width of a pair, in units of a bin.
EDGE = 1e-9


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Bins of probability, in ascending order; empty ones are left out.

    Attributes
    ----------
    predicted, observed : ndarray of shape (n_bins,)
        Mean probability of the pairs in a bin, and the share of them that are true.
    pairs : ndarray of shape (n_bins,)
        Pairs in the bin, or their weight.
    """

    predicted: Array
    observed: Array
    pairs: Array

    @property
    def error(self) -> float:
        """Mean distance of the two, each bin by its pairs: the expected calibration error."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.pairs))


def reliability_curve(
    y_true: Any,
    probabilities: Any | Callable[[int, int], Any],
    *,
    top: int | None = None,
    n_bins: int = 15,
    sample_weight: ArrayLike | None = None,
) -> ReliabilityCurve:
    """Compare probabilities with what happened, in bins of about as many pairs each.

    Most pairs of a row and a label are plainly false, and count as much as the others: with many
    labels look at the most probable ones of each row, by ``top``.

    Parameters
    ----------
    y_true : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True labels, zeros and ones.
    probabilities : array-like or callable
        Of the same shape, between 0 and 1. A callable ``probabilities(start, stop)`` returns those
        rows, so that no more than a block of them need ever exist:
        ``lambda i, j: clf.predict_proba(X[i:j])``.
    top : int, optional
        Look only at so many of the most probable labels of each row (all, where there are fewer).
        Labels that tie for the last place share it.
    n_bins : int
        Bins; there are fewer where many pairs have the same probability.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> curve = reliability_curve([[1, 0], [0, 0]], [[0.9, 0.1], [0.8, 0.1]], n_bins=2)
    >>> curve.predicted.round(2), curve.observed, round(curve.error, 3)
    (array([0.1 , 0.85]), array([0. , 0.5]), 0.225)
    """
    true = label_indicator(y_true, "y_true")
    weights = row_weights(sample_weight, true.shape[0])
    if index(n_bins) < 1:
        raise ValueError(f"n_bins must be 1 or more, not {n_bins}")
    if top is not None and index(top) < 1:
        raise ValueError(f"top must be 1 or more, not {top}")
    tallies = []
    for start, chances in score_blocks(probabilities, true.shape, "probabilities"):
        if chances.min() < 0 or chances.max() > 1:
            wrong = chances[(chances < 0) | (chances > 1)][0]
            raise ValueError(f"probabilities must lie between 0 and 1; one is {wrong}")
        rows = slice(start, start + len(chances))
        share = _places(chances, top)
        if weights is not None:
            share = share * weights[rows, None]
        hits = np.where(true[rows].toarray(), share, 0.0)
        tallies.append(_sums_by_value(*(part[share > 0] for part in (chances, share, hits))))
    values, pairs, hits = _sums_by_value(*map(np.concatenate, zip(*tallies, strict=True)))
    middle = np.cumsum(pairs) - pairs / 2
    # A middle place on the edge of a bin stays there, however the shares of ties were summed.
    bins = np.minimum((middle * n_bins / pairs.sum() + EDGE).astype(np.intp), n_bins - 1)
    mass, size, found = (np.bincount(bins, part, n_bins) for part in (values * pairs, pairs, hits))
    filled = size > 0
    size = size[filled]
    return ReliabilityCurve(mass[filled] / size, found[filled] / size, size)


def _places(chances: Array, top: int | None) -> Array:
    """Return for each label whether it is among the most probable of its row (a tie: in part)."""
    if top is None or top >= chances.shape[1]:
        return np.ones(chances.shape)
    last = -np.partition(-chances, top - 1, axis=1)[:, top - 1 : top]
    above, tied = chances > last, chances == last
    left = top - above.sum(axis=1, keepdims=True)
    return above + tied * (left / tied.sum(axis=1, keepdims=True))


def _sums_by_value(values: Array, pairs: Array, hits: Array) -> tuple[Array, Array, Array]:
    """Return the distinct values with their pairs and true pairs."""
    distinct, which = np.unique(values, return_inverse=True)
    size = len(distinct)
    return distinct, np.bincount(which, pairs, size), np.bincount(which, hits, size)
