"""Measures of predicted label sets, one function each: shorthands for the methods of ``Counts``.

0/0 counts 0 by default, as in scikit-learn (which also warns) and in the published tables of the
method. For several measures of one prediction use :func:`grople.metrics.evaluate` or
:func:`grople.metrics.counts`, which count once.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from grople.metrics.counting import counts

__all__ = [
    "accuracy",
    "example_precision",
    "example_recall",
    "example_f1",
    "macro_precision",
    "macro_recall",
    "macro_f1",
    "micro_precision",
    "micro_recall",
    "micro_f1",
    "hamming_loss",
    "subset_accuracy",
]


def accuracy(
    y_true: Any,
    y_pred: Any,
    *,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean Jaccard index of the rows: ``tp / (true + pred - tp)``.

    Parameters
    ----------
    y_true, y_pred : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True and predicted labels, zeros and ones.
    zero_division : {0.0, 1.0, numpy.nan}
        Value for a row without true and predicted labels; NaN leaves it out of the mean.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> accuracy([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])
    0.5
    """
    return counts(y_true, y_pred, sample_weight).accuracy(zero_division)


def example_precision(
    y_true: Any,
    y_pred: Any,
    *,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over rows of ``tp / pred``.

    Parameters
    ----------
    y_true, y_pred : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True and predicted labels, zeros and ones.
    zero_division : {0.0, 1.0, numpy.nan}
        Value for a row without predicted labels; NaN leaves it out of the mean.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> example_precision([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])
    0.75
    """
    return counts(y_true, y_pred, sample_weight).example_precision(zero_division)


def example_recall(
    y_true: Any,
    y_pred: Any,
    *,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over rows of ``tp / true``.

    Parameters
    ----------
    y_true, y_pred : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True and predicted labels, zeros and ones.
    zero_division : {0.0, 1.0, numpy.nan}
        Value for a row without true labels; NaN leaves it out of the mean.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> example_recall([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])
    0.75
    """
    return counts(y_true, y_pred, sample_weight).example_recall(zero_division)


def example_f1(
    y_true: Any,
    y_pred: Any,
    *,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over rows of ``2 tp / (true + pred)``.

    Parameters
    ----------
    y_true, y_pred : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True and predicted labels, zeros and ones.
    zero_division : {0.0, 1.0, numpy.nan}
        Value for a row without true and predicted labels; NaN leaves it out of the mean.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> round(example_f1([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]]), 3)
    0.667
    """
    return counts(y_true, y_pred, sample_weight).example_f1(zero_division)


def macro_precision(
    y_true: Any,
    y_pred: Any,
    *,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over labels of ``tp / pred``.

    Parameters
    ----------
    y_true, y_pred : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True and predicted labels, zeros and ones.
    zero_division : {0.0, 1.0, numpy.nan}
        Value for a label that is never predicted; NaN leaves it out of the mean.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> round(macro_precision([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]]), 3)
    0.667
    """
    return counts(y_true, y_pred, sample_weight).macro_precision(zero_division)


def macro_recall(
    y_true: Any,
    y_pred: Any,
    *,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over labels of ``tp / true``.

    Parameters
    ----------
    y_true, y_pred : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True and predicted labels, zeros and ones.
    zero_division : {0.0, 1.0, numpy.nan}
        Value for a label that never occurs; NaN leaves it out of the mean.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> macro_recall([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])
    0.5
    """
    return counts(y_true, y_pred, sample_weight).macro_recall(zero_division)


def macro_f1(
    y_true: Any,
    y_pred: Any,
    *,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over labels of ``2 tp / (true + pred)``.

    Parameters
    ----------
    y_true, y_pred : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True and predicted labels, zeros and ones.
    zero_division : {0.0, 1.0, numpy.nan}
        Value for a label that neither occurs nor is predicted; NaN leaves it out of the mean.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> round(macro_f1([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]]), 3)
    0.556
    """
    return counts(y_true, y_pred, sample_weight).macro_f1(zero_division)


def micro_precision(
    y_true: Any,
    y_pred: Any,
    *,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return ``tp / pred`` of all rows and labels pooled.

    Parameters
    ----------
    y_true, y_pred : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True and predicted labels, zeros and ones.
    zero_division : {0.0, 1.0, numpy.nan}
        Value where nothing is predicted.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> round(micro_precision([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]]), 3)
    0.667
    """
    return counts(y_true, y_pred, sample_weight).micro_precision(zero_division)


def micro_recall(
    y_true: Any,
    y_pred: Any,
    *,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return ``tp / true`` of all rows and labels pooled.

    Parameters
    ----------
    y_true, y_pred : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True and predicted labels, zeros and ones.
    zero_division : {0.0, 1.0, numpy.nan}
        Value where no label occurs.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> round(micro_recall([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]]), 3)
    0.667
    """
    return counts(y_true, y_pred, sample_weight).micro_recall(zero_division)


def micro_f1(
    y_true: Any,
    y_pred: Any,
    *,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return ``2 tp / (true + pred)`` of all rows and labels pooled.

    Parameters
    ----------
    y_true, y_pred : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True and predicted labels, zeros and ones.
    zero_division : {0.0, 1.0, numpy.nan}
        Value where no label occurs or is predicted.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> round(micro_f1([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]]), 3)
    0.667
    """
    return counts(y_true, y_pred, sample_weight).micro_f1(zero_division)


def hamming_loss(y_true: Any, y_pred: Any, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of wrong cells of the label matrix.

    Parameters
    ----------
    y_true, y_pred : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True and predicted labels, zeros and ones.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> round(hamming_loss([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]]), 3)
    0.333
    """
    return counts(y_true, y_pred, sample_weight).hamming_loss()


def subset_accuracy(y_true: Any, y_pred: Any, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of rows whose label set is predicted exactly.

    Parameters
    ----------
    y_true, y_pred : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True and predicted labels, zeros and ones.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> subset_accuracy([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])
    0.0
    """
    return counts(y_true, y_pred, sample_weight).subset_accuracy()
