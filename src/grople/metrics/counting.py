"""Measures of predicted label sets, all from one pass of sparse counts.

For an example or a label let ``tp`` be the labels (examples) both true and predicted, ``true`` the
true ones and ``pred`` the predicted ones. Every measure here is a ratio of those three. Example
measures average the ratio over rows, macro measures over labels, micro measures pool the counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grople.metrics.inputs import (
    check_zero_division,
    label_indicator,
    mean_of_defined,
    row_weights,
)

__all__ = ["Counts", "counts"]


@dataclass(frozen=True, eq=False)
class Counts:
    """True positives, true and predicted labels of every row and of every label.

    Made by :func:`counts`; the counts of two sets of rows add up to those of their union.

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
            weights = np.concatenate([self._weights(), other._weights()])
        return Counts(
            np.concatenate([self.row_tp, other.row_tp]),
            np.concatenate([self.row_true, other.row_true]),
            np.concatenate([self.row_pred, other.row_pred]),
            self.label_tp + other.label_tp,
            self.label_true + other.label_true,
            self.label_pred + other.label_pred,
            weights,
        )

    def _weights(self) -> NDArray[np.float64]:
        return np.ones(len(self.row_tp)) if self.weights is None else self.weights

    def accuracy(self, zero_division: float = 0.0) -> float:
        """See :func:`grople.metrics.accuracy`."""
        union = self.row_true + self.row_pred - self.row_tp
        return self._over_rows(self.row_tp, union, zero_division)

    def example_precision(self, zero_division: float = 0.0) -> float:
        """See :func:`grople.metrics.example_precision`."""
        return self._over_rows(self.row_tp, self.row_pred, zero_division)

    def example_recall(self, zero_division: float = 0.0) -> float:
        """See :func:`grople.metrics.example_recall`."""
        return self._over_rows(self.row_tp, self.row_true, zero_division)

    def example_f1(self, zero_division: float = 0.0) -> float:
        """See :func:`grople.metrics.example_f1`."""
        return self._over_rows(2 * self.row_tp, self.row_true + self.row_pred, zero_division)

    def macro_precision(self, zero_division: float = 0.0) -> float:
        """See :func:`grople.metrics.macro_precision`."""
        return mean_of_defined(_ratio(self.label_tp, self.label_pred, zero_division))

    def macro_recall(self, zero_division: float = 0.0) -> float:
        """See :func:`grople.metrics.macro_recall`."""
        return mean_of_defined(_ratio(self.label_tp, self.label_true, zero_division))

    def macro_f1(self, zero_division: float = 0.0) -> float:
        """See :func:`grople.metrics.macro_f1`."""
        return mean_of_defined(
            _ratio(2 * self.label_tp, self.label_true + self.label_pred, zero_division)
        )

    def micro_precision(self, zero_division: float = 0.0) -> float:
        """See :func:`grople.metrics.micro_precision`."""
        return float(_ratio(self.label_tp.sum(), self.label_pred.sum(), zero_division))

    def micro_recall(self, zero_division: float = 0.0) -> float:
        """See :func:`grople.metrics.micro_recall`."""
        return float(_ratio(self.label_tp.sum(), self.label_true.sum(), zero_division))

    def micro_f1(self, zero_division: float = 0.0) -> float:
        """See :func:`grople.metrics.micro_f1`."""
        both = self.label_true.sum() + self.label_pred.sum()
        return float(_ratio(2 * self.label_tp.sum(), both, zero_division))

    def hamming_loss(self) -> float:
        """See :func:`grople.metrics.hamming_loss`."""
        wrong = self.row_true + self.row_pred - 2 * self.row_tp
        return mean_of_defined(wrong / len(self.label_tp), self.weights)

    def subset_accuracy(self) -> float:
        """See :func:`grople.metrics.subset_accuracy`."""
        exact = (self.row_tp == self.row_true) & (self.row_tp == self.row_pred)
        return mean_of_defined(exact.astype(np.float64), self.weights)

    def _over_rows(self, part: NDArray[Any], whole: NDArray[Any], zero_division: float) -> float:
        return mean_of_defined(_ratio(part, whole, zero_division), self.weights)


def _ratio(part: Any, whole: Any, zero_division: float) -> NDArray[np.float64]:
    result = np.full(np.shape(whole), check_zero_division(zero_division))
    return np.divide(part, whole, out=result, where=np.asarray(whole) > 0)


def counts(y_true: Any, y_pred: Any, sample_weight: ArrayLike | None = None) -> Counts:
    """Count what every measure of label sets is made of, in O(non-zeros).

    Use it where several measures, or the same measure under several conventions, are wanted of one
    prediction; the functions of :mod:`grople.metrics` are shorthands for its methods.

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
    >>> c.accuracy(), c.subset_accuracy()
    (0.5, 0.0)
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
