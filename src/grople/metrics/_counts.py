"""Measures of predicted label sets, all from one pass over sparse counts.

For a row or a label let ``tp`` be the labels (rows) both true and predicted, ``true`` the true ones
and ``pred`` the predicted ones. Every measure here is a ratio of those three. Example measures
average the ratio over rows, macro measures over labels, micro measures pool the counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grople.metrics._inputs import label_indicator, mean_of_defined, ratio, row_weights

__all__ = ["Counts", "accuracy", "counts", "example_f1", "macro_f1", "micro_f1"]


@dataclass(frozen=True, eq=False)
class Counts:
    """True positives, true and predicted labels of every row and of every label.

    Made by :func:`counts`; the counts of two blocks of rows add up to those of both. The measures
    are methods; ``zero_division`` (0.0, 1.0 or NaN) is the value of 0/0, where NaN leaves the row
    or label out of the mean.

    Attributes
    ----------
    row_tp, row_true, row_pred : ndarray of shape (n_rows,)
        Counts over the labels of a row.
    label_tp, label_true, label_pred : ndarray of shape (n_labels,)
        Counts over the rows, each row counted with its weight.
    weights : ndarray of shape (n_rows,) or None
        Row weights.

    Examples
    --------
    >>> first, second = counts([[1, 0]], [[1, 1]]), counts([[0, 1]], [[0, 1]])
    >>> (first + second).accuracy()
    0.75
    """

    row_tp: NDArray[Any]
    row_true: NDArray[Any]
    row_pred: NDArray[Any]
    label_tp: NDArray[Any]
    label_true: NDArray[Any]
    label_pred: NDArray[Any]
    weights: NDArray[np.float64] | None = None

    def __add__(self, other: Counts) -> Counts:
        if len(self.label_tp) != len(other.label_tp):
            raise ValueError(
                f"counts over {len(self.label_tp)} and {len(other.label_tp)} labels do not add"
            )
        weights = None
        if self.weights is not None or other.weights is not None:
            each = (
                np.ones(len(part.row_tp)) if part.weights is None else part.weights
                for part in (self, other)
            )
            weights = np.concatenate(list(each))
        return Counts(
            np.concatenate([self.row_tp, other.row_tp]),
            np.concatenate([self.row_true, other.row_true]),
            np.concatenate([self.row_pred, other.row_pred]),
            self.label_tp + other.label_tp,
            self.label_true + other.label_true,
            self.label_pred + other.label_pred,
            weights,
        )

    def accuracy(self, zero_division: float = 0.0) -> float:
        """Return the mean Jaccard index of the rows, ``tp / (true + pred - tp)``."""
        union = self.row_true + self.row_pred - self.row_tp
        return mean_of_defined(ratio(self.row_tp, union, zero_division), self.weights)

    def example_precision(self, zero_division: float = 0.0) -> float:
        """Return the mean over rows of ``tp / pred``."""
        return mean_of_defined(ratio(self.row_tp, self.row_pred, zero_division), self.weights)

    def example_recall(self, zero_division: float = 0.0) -> float:
        """Return the mean over rows of ``tp / true``."""
        return mean_of_defined(ratio(self.row_tp, self.row_true, zero_division), self.weights)

    def example_f1(self, zero_division: float = 0.0) -> float:
        """Return the mean over rows of ``2 tp / (true + pred)``."""
        both = self.row_true + self.row_pred
        return mean_of_defined(ratio(2 * self.row_tp, both, zero_division), self.weights)

    def macro_precision(self, zero_division: float = 0.0) -> float:
        """Return the mean over labels of ``tp / pred``."""
        return mean_of_defined(ratio(self.label_tp, self.label_pred, zero_division))

    def macro_recall(self, zero_division: float = 0.0) -> float:
        """Return the mean over labels of ``tp / true``."""
        return mean_of_defined(ratio(self.label_tp, self.label_true, zero_division))

    def macro_f1(self, zero_division: float = 0.0) -> float:
        """Return the mean over labels of ``2 tp / (true + pred)``."""
        both = self.label_true + self.label_pred
        return mean_of_defined(ratio(2 * self.label_tp, both, zero_division))

    def micro_precision(self, zero_division: float = 0.0) -> float:
        """Return ``tp / pred`` of all rows and labels pooled."""
        return float(ratio(self.label_tp.sum(), self.label_pred.sum(), zero_division))

    def micro_recall(self, zero_division: float = 0.0) -> float:
        """Return ``tp / true`` of all rows and labels pooled."""
        return float(ratio(self.label_tp.sum(), self.label_true.sum(), zero_division))

    def micro_f1(self, zero_division: float = 0.0) -> float:
        """Return ``2 tp / (true + pred)`` of all rows and labels pooled."""
        both = self.label_true.sum() + self.label_pred.sum()
        return float(ratio(2 * self.label_tp.sum(), both, zero_division))

    def hamming_loss(self) -> float:
        """Return the share of wrong cells of the label matrix."""
        wrong = self.row_true + self.row_pred - 2 * self.row_tp
        return mean_of_defined(wrong / len(self.label_tp), self.weights)

    def subset_accuracy(self) -> float:
        """Return the share of rows whose label set is predicted exactly."""
        exact = (self.row_tp == self.row_true) & (self.row_tp == self.row_pred)
        return mean_of_defined(exact.astype(np.float64), self.weights)


def counts(y_true: Any, y_pred: Any, sample_weight: ArrayLike | None = None) -> Counts:
    """Count what every measure of label sets is made of, in O(non-zeros).

    Parameters
    ----------
    y_true, y_pred : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True and predicted labels, zeros and ones of any dtype. To judge some labels only, pass
        those columns of both.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Returns
    -------
    Counts
        Its methods are the measures.

    Examples
    --------
    >>> c = counts([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])
    >>> c.row_tp, c.label_true
    (array([1, 1]), array([1, 2, 0]))
    >>> c.accuracy(), c.subset_accuracy(), round(c.hamming_loss(), 3)
    (0.5, 0.0, 0.333)
    """
    true, pred = label_indicator(y_true, "y_true"), label_indicator(y_pred, "y_pred")
    if true.shape != pred.shape:
        raise ValueError(f"y_true has shape {true.shape} but y_pred has {pred.shape}")
    weights = row_weights(sample_weight, true.shape[0])
    (row_tp, label_tp), (row_true, label_true), (row_pred, label_pred) = (
        _margins(matrix, weights) for matrix in (true.multiply(pred).tocsr(), true, pred)
    )
    return Counts(row_tp, row_true, row_pred, label_tp, label_true, label_pred, weights)


def _margins(matrix: Any, weights: NDArray[np.float64] | None) -> tuple[Any, Any]:
    """Return how many ones each row and (weighted) each column has."""
    by_row = np.diff(matrix.indptr).astype(np.int64)
    spread = None if weights is None else np.repeat(weights, by_row)
    return by_row, np.bincount(matrix.indices, weights=spread, minlength=matrix.shape[1])


# The four measures of the paper as functions. 0/0 counts 0 by default, as in scikit-learn (which
# also warns) and in the published tables.


def accuracy(
    y_true: Any, y_pred: Any, *, zero_division: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean Jaccard index of the rows, as :class:`Counts` does (parameters there).

    Examples
    --------
    >>> accuracy([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])
    0.5
    """
    return counts(y_true, y_pred, sample_weight).accuracy(zero_division)


def example_f1(
    y_true: Any, y_pred: Any, *, zero_division: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean F1 of the rows, as :class:`Counts` does (parameters there).

    Examples
    --------
    >>> round(example_f1([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]]), 3)
    0.667
    """
    return counts(y_true, y_pred, sample_weight).example_f1(zero_division)


def macro_f1(
    y_true: Any, y_pred: Any, *, zero_division: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean F1 of the labels, as :class:`Counts` does (parameters there).

    Examples
    --------
    >>> round(macro_f1([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]]), 3)
    0.556
    """
    return counts(y_true, y_pred, sample_weight).macro_f1(zero_division)


def micro_f1(
    y_true: Any, y_pred: Any, *, zero_division: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the F1 of all rows and labels pooled, as :class:`Counts` does (parameters there).

    Examples
    --------
    >>> round(micro_f1([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]]), 3)
    0.667
    """
    return counts(y_true, y_pred, sample_weight).micro_f1(zero_division)
