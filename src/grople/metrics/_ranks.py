"""Measures of scores, from where the true labels stand in each row's ranking.

For a true label with score s in its row let ``above`` be the labels that score more than s,
``upto`` those that score at least s, and ``true_upto`` the true ones among the latter. A tie shares
the positions ``above .. upto - 1``: measures of the first k positions take the mean over the orders
of tied labels, so they depend neither on the order of the columns nor on that of a sort.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grople.metrics._inputs import (
    label_indicator,
    mean_of_defined,
    ratio,
    row_weights,
    score_blocks,
)

__all__ = ["Ranks", "ranks"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Ranks:
    """Positions of the true labels, one entry for each true label of each row.

    Made by :func:`ranks`. The measures are methods; ``zero_division`` (0.0, 1.0 or NaN) is the
    value of a row for which a measure is 0/0, where NaN leaves the row out of the mean.

    Attributes
    ----------
    indptr : ndarray of shape (n_rows + 1,)
        Row i owns the entries ``indptr[i] .. indptr[i + 1] - 1``.
    above, upto, true_upto : ndarray of shape (n_entries,)
        Labels that score more than the true label, at least as much, and the true ones of these.
    n_labels : int
        Labels a row ranks.
    weights : ndarray of shape (n_rows,) or None
        Row weights.
    """

    indptr: Array
    above: Array
    upto: Array
    true_upto: Array
    n_labels: int
    weights: NDArray[np.float64] | None = None

    @property
    def n_true(self) -> Array:
        """Number of true labels of each row."""
        return np.diff(self.indptr)

    def precision_at_k(self, k: int) -> float:
        """Return the share of true labels among the k best, averaged over rows.

        Ties at the k-th place count by their mean over all orders.
        """
        found = self._row_sums(self._gains(np.ones(self._depth(k)))) / k
        return mean_of_defined(found, self.weights)

    def ndcg_at_k(self, k: int | None = None, zero_division: float = 0.0) -> float:
        """Return the normalised discounted cumulative gain of the k best (of all, without k).

        A true label at place j earns ``1 / log2(j + 1)``; the sum is divided by the best possible
        one and averaged over rows. Ties count by their mean over all orders.
        """
        k = self.n_labels if k is None else self._depth(k)
        discounts = 1 / np.log2(np.arange(2, k + 2))
        best = np.append(0.0, np.cumsum(discounts))[np.minimum(self.n_true, k)]
        found = self._row_sums(self._gains(discounts))
        return mean_of_defined(ratio(found, best, zero_division), self.weights)

    def one_error(self) -> float:
        """Return the share of rows whose best-scored label is not true.

        A row without true labels is one. A tie for the best counts by its share of false labels.
        """
        return 1.0 - self.precision_at_k(1)

    def coverage(self) -> float:
        """Return how far down the ranking one must go to meet every true label, on average.

        Counted from one, as in scikit-learn's ``coverage_error`` (some authors count from zero),
        ties against the prediction; a row without true labels needs 0 places.
        """
        depth = np.zeros(len(self.n_true))
        labelled = self.n_true > 0
        if labelled.any():
            depth[labelled] = np.maximum.reduceat(self.upto, self.indptr[:-1][labelled])
        return mean_of_defined(depth, self.weights)

    def ranking_loss(self, zero_division: float = 0.0) -> float:
        """Return the share of (true, false) pairs of labels in the wrong order, averaged over rows.

        A tie is the wrong order; 0/0 is a row whose labels are all true or all false.
        """
        wrong = self._row_sums((self.upto - self.true_upto).astype(np.float64))
        pairs = self.n_true * (self.n_labels - self.n_true)
        return mean_of_defined(ratio(wrong, pairs, zero_division), self.weights)

    def label_ranking_average_precision(self, zero_division: float = 1.0) -> float:
        """Return the mean, over true labels and then rows, of the precision down to that label.

        Ties count against the prediction; a row without true labels is 1, as in scikit-learn.
        """
        precisions = self._row_sums(self.true_upto / self.upto)
        return mean_of_defined(ratio(precisions, self.n_true, zero_division), self.weights)

    def _depth(self, k: int) -> int:
        if not 1 <= index(k) <= self.n_labels:
            raise ValueError(f"k must lie between 1 and the {self.n_labels} labels, not {k}")
        return index(k)

    def _gains(self, position_values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each true label earns: the mean value of the positions its tie shares."""
        k = len(position_values)
        earned = np.append(0.0, np.cumsum(position_values))
        share = earned[np.minimum(self.upto, k)] - earned[np.minimum(self.above, k)]
        return share / (self.upto - self.above)

    def _row_sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = np.repeat(np.arange(len(self.n_true)), self.n_true)
        sums = np.bincount(rows, weights=values, minlength=len(self.n_true))
        return sums.astype(np.float64, copy=False)


def ranks(
    y_true: Any,
    scores: Any | Callable[[int, int], Any],
    sample_weight: ArrayLike | None = None,
) -> Ranks:
    """Rank the labels of every row and note where the true ones stand.

    Parameters
    ----------
    y_true : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True labels, zeros and ones.
    scores : array-like or callable
        The larger, the more likely. A callable ``scores(start, stop)`` returns those rows, so that
        no more than a block of scores need ever exist:
        ``lambda i, j: clf.decision_function(X[i:j])``.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Returns
    -------
    Ranks
        Its methods are the measures.

    Examples
    --------
    >>> r = ranks([[0, 1, 0], [1, 0, 1]], [[0.2, 0.7, 0.1], [0.3, 0.3, 0.9]])
    >>> r.one_error(), r.coverage(), r.label_ranking_average_precision()
    (0.0, 2.0, 0.9166666666666666)
    >>> r.precision_at_k(1), r.ranking_loss(), round(r.ndcg_at_k(2), 3)
    (1.0, 0.25, 0.903)
    """
    true = label_indicator(y_true, "y_true")
    weights = row_weights(sample_weight, true.shape[0])
    indptr = true.indptr.astype(np.int64)
    found = [np.empty((3, 0), np.int64)]
    for start, block in score_blocks(scores, true.shape):
        begin, end = indptr[start], indptr[start + len(block)]
        own_indptr = indptr[start : start + len(block) + 1] - begin
        rows = np.repeat(np.arange(len(block)), np.diff(own_indptr))
        own = block[rows, true.indices[begin:end]]
        ordered = np.sort(block, axis=1)
        found.append(
            np.stack(
                [
                    true.shape[1] - _count_in_sorted_rows(ordered, rows, own, np.less_equal),
                    true.shape[1] - _count_in_sorted_rows(ordered, rows, own, np.less),
                    _true_upto(rows, own, own_indptr),
                ]
            )
        )
    above, upto, true_upto = np.concatenate(found, axis=1)
    return Ranks(indptr, above, upto, true_upto, true.shape[1], weights)


def _count_in_sorted_rows(
    ordered: Array, rows: Array, values: Array, compare: Any
) -> NDArray[np.int64]:
    """Count the cells c of each value's row with ``compare(c, value)``, by bisection."""
    width = ordered.shape[1]
    count = np.zeros(len(rows), np.int64)
    for bit in reversed(range(width.bit_length())):
        probe = count + (1 << bit)
        inside = np.minimum(probe, width)
        count = np.where(
            (probe == inside) & compare(ordered[rows, inside - 1], values), probe, count
        )
    return count


def _true_upto(rows: Array, scores: Array, indptr: Array) -> NDArray[np.int64]:
    """Return how many of a row's entries score at least as much as each; rows are ascending."""
    order = np.lexsort((-scores, rows))
    rows, scores = rows[order], scores[order]
    closes = np.ones(len(order), bool)  # the last of each tie
    closes[:-1] = (rows[1:] != rows[:-1]) | (scores[1:] != scores[:-1])
    ends = np.flatnonzero(closes) + 1
    found = np.empty(len(order), np.int64)
    found[order] = np.repeat(ends, np.diff(ends, prepend=0)) - indptr[rows]
    return found
