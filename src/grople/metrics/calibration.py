"""Whether probabilities can be believed: what was predicted beside what happened.

Pairs of a row and a label are put into bins by their probability, about as many in each. Equal
probabilities share a bin, that of their middle place, so that no order of rows or columns changes a
result: a curve fitted by isotonic regression gives thousands of pairs the same probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import index
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from grople.metrics.inputs import label_indicator, row_weights
from grople.metrics.positions import score_blocks

__all__ = [
    "ReliabilityCurve",
    "expected_calibration_error",
    "reliability_curve",
    "top_label_calibration_error",
]

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

    Parameters
    ----------
    y_true : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True labels, zeros and ones.
    probabilities : array-like, sparse matrix or callable
        Of the same shape, between 0 and 1; what a sparse matrix does not store is 0. A callable
        ``probabilities(start, stop)`` returns those rows, so that no more than a block of them need
        ever exist: ``lambda i, j: clf.predict_proba(X[i:j])``.
    top : int, optional
        Look only at so many of the likeliest labels of each row (all, where there are fewer).
        Labels that tie for the last place share it.
    n_bins : int
        Bins; there are fewer where many pairs have the same probability.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Returns
    -------
    ReliabilityCurve
        Predicted and observed, bin by bin.

    Examples
    --------
    >>> curve = reliability_curve([[1, 0], [0, 0]], [[0.9, 0.1], [0.8, 0.1]], n_bins=2)
    >>> curve.predicted.round(2), curve.observed
    (array([0.1 , 0.85]), array([0. , 0.5]))
    """
    true = label_indicator(y_true, "y_true")
    weights = row_weights(sample_weight, true.shape[0])
    if index(n_bins) < 1:
        raise ValueError(f"n_bins must be 1 or more, not {n_bins}")
    if top is not None and index(top) < 1:
        raise ValueError(f"top must be 1 or more, not {top}")
    blocks = _tallies(true, probabilities, top, weights)
    values, pairs, hits = _tally(*(np.concatenate(part) for part in zip(*blocks, strict=True)))
    total = pairs.sum()
    middle = np.cumsum(pairs) - pairs / 2
    # A middle place on the edge of a bin stays there, however the shares of ties were summed.
    bins = np.minimum((middle * n_bins / total + EDGE).astype(np.intp), n_bins - 1)
    mass, size, found = (np.bincount(bins, part, n_bins) for part in (values * pairs, pairs, hits))
    filled = size > 0
    size = size[filled]
    return ReliabilityCurve(mass[filled] / size, found[filled] / size, size)


def expected_calibration_error(
    y_true: Any,
    probabilities: Any | Callable[[int, int], Any],
    *,
    n_bins: int = 15,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return how far probabilities are from what happened, on average over all pairs.

    Most pairs of a row and a label are plainly not true, and count here as much as the others: with
    many labels look at :func:`top_label_calibration_error` too.

    Parameters
    ----------
    y_true : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True labels, zeros and ones.
    probabilities : array-like, sparse matrix or callable
        Probabilities, see :func:`grople.metrics.reliability_curve`.
    n_bins : int
        Bins, about as many pairs in each.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> round(expected_calibration_error([[1, 0], [1, 0]], [[0.8, 0.1], [0.9, 0.1]]), 3)
    0.125
    """
    curve = reliability_curve(y_true, probabilities, n_bins=n_bins, sample_weight=sample_weight)
    return curve.error


def top_label_calibration_error(
    y_true: Any,
    probabilities: Any | Callable[[int, int], Any],
    *,
    top: int = 5,
    n_bins: int = 15,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the expected calibration error over the likeliest labels of each row.

    Parameters
    ----------
    y_true : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True labels, zeros and ones.
    probabilities : array-like, sparse matrix or callable
        Probabilities, see :func:`grople.metrics.reliability_curve`.
    top : int
        Labels of a row to look at (all, where there are fewer). Labels that tie for the last place
        share it.
    n_bins : int
        Bins, about as many pairs in each.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> Y, P = [[1, 0, 0], [1, 0, 0]], [[0.8, 0.1, 0.0], [0.9, 0.1, 0.0]]
    >>> round(top_label_calibration_error(Y, P, top=1), 3)
    0.15
    """
    curve = reliability_curve(
        y_true, probabilities, top=top, n_bins=n_bins, sample_weight=sample_weight
    )
    return curve.error


def _tallies(
    true: Any, probabilities: Any, top: int | None, weights: Array | None
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield the distinct probabilities of blocks of rows, with their pairs and true pairs."""
    n_rows, n_labels = true.shape
    if sp.issparse(probabilities):  # read in blocks, of which each is made dense
        stored = sp.csr_array(probabilities)
        if stored.shape != true.shape:
            raise ValueError(f"y_true has shape {true.shape} but probabilities have {stored.shape}")
        probabilities = partial(_cut, stored)
    for start, block in score_blocks(probabilities, n_rows, n_labels, "probabilities"):
        chances = block.toarray() if sp.issparse(block) else block
        if chances.min() < 0 or chances.max() > 1:
            wrong = chances[(chances < 0) | (chances > 1)][0]
            raise ValueError(f"probabilities must lie between 0 and 1; one is {wrong}")
        rows = slice(start, start + len(chances))
        share = _places(chances, top)
        if weights is not None:
            share = share * weights[rows, None]
        marks = true[rows]
        hits = np.zeros(chances.shape)
        hits[marks.nonzero()] = 1.0
        counts = share > 0
        share = share[counts]
        yield _tally(chances[counts], share, share * hits[counts])


def _cut(matrix: Any, start: int, stop: int) -> Any:
    return matrix[start:stop]


def _places(chances: Array, top: int | None) -> Array:
    """Return for each label whether it is among the likeliest of its row (a tie: in part)."""
    if top is None or top >= chances.shape[1]:
        return np.ones(chances.shape)
    last = -np.partition(-chances, top - 1, axis=1)[:, top - 1 : top]
    above, tied = chances > last, chances == last
    left = top - above.sum(axis=1, keepdims=True)
    return above + tied * (left / tied.sum(axis=1, keepdims=True))


def _tally(values: Array, pairs: Array, hits: Array) -> tuple[Array, Array, Array]:
    """Sum pairs and true pairs over equal values."""
    distinct, which = np.unique(values, return_inverse=True)
    summed = [np.bincount(which.ravel(), part, len(distinct)) for part in (pairs, hits)]
    return distinct, summed[0], summed[1]
