"""Measures of scores, one function each: shorthands for the methods of ``Ranks``.

Scores may be dense, sparse or a callable that returns a block of rows: see
:func:`grople.metrics.ranks`. For several measures of the same scores use that function, or
:func:`grople.metrics.evaluate`: they rank once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grople.metrics.inputs import label_indicator
from grople.metrics.positions import ranks

__all__ = [
    "precision_at_k",
    "ndcg_at_k",
    "propensity_scored_precision_at_k",
    "label_propensities",
    "one_error",
    "coverage",
    "ranking_loss",
    "label_ranking_average_precision",
]


def precision_at_k(
    y_true: Any, scores: Any, k: int, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the share of true labels among the k best, averaged over rows.

    Ties at the k-th place count by their mean over all orders.

    Parameters
    ----------
    y_true : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True labels, zeros and ones.
    scores : array-like, sparse matrix or callable
        Scores of the same shape, see :func:`grople.metrics.ranks`.
    k : int
        Places to look at, at most the number of labels.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> precision_at_k([[1, 0, 1]], [[0.9, 0.8, 0.1]], 2)
    0.5
    """
    return ranks(y_true, scores, sample_weight).precision_at_k(k)


def ndcg_at_k(
    y_true: Any,
    scores: Any,
    k: int | None = None,
    *,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the normalised discounted cumulative gain of the k best, averaged over rows.

    A true label at place j earns ``1 / log2(j + 1)``; the sum is divided by the best possible one.
    Ties count by their mean over all orders.

    Parameters
    ----------
    y_true : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True labels, zeros and ones.
    scores : array-like, sparse matrix or callable
        Scores of the same shape, see :func:`grople.metrics.ranks`.
    k : int, optional
        Places to look at; all by default.
    zero_division : {0.0, 1.0, numpy.nan}
        Value for a row without true labels; NaN leaves it out of the mean.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> round(ndcg_at_k([[1, 0, 1]], [[0.9, 0.8, 0.1]], 2), 3)
    0.613
    """
    return ranks(y_true, scores, sample_weight).ndcg_at_k(k, zero_division)


def propensity_scored_precision_at_k(
    y_true: Any,
    scores: Any,
    k: int,
    *,
    propensities: ArrayLike | None = None,
    a: float = 0.55,
    b: float = 1.5,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return precision at k where a label counts the more, the rarer it is (Jain et al. 2016).

    Each true label among the k best counts ``1 / propensity``. The sum over all rows is divided by
    the largest that any ranking could reach, as in the published tables of extreme classification.

    Parameters
    ----------
    y_true : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True labels, zeros and ones.
    scores : array-like, sparse matrix or callable
        Scores of the same shape, see :func:`grople.metrics.ranks`.
    k : int
        Places to look at, at most the number of labels.
    propensities : array-like of shape (n_labels,), optional
        From :func:`grople.metrics.label_propensities` of the training labels. Without them, those
        of `y_true` itself are taken.
    a, b : float
        Passed to :func:`grople.metrics.label_propensities` where `propensities` is None.
    zero_division : {0.0, 1.0, numpy.nan}
        Value where no row has a true label.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> Y, S = [[1, 0, 1]], [[0.9, 0.8, 0.1]]
    >>> round(propensity_scored_precision_at_k(Y, S, 1, propensities=[0.8, 0.5, 0.4]), 3)
    0.5
    """
    if propensities is None:
        propensities = label_propensities(y_true, a=a, b=b)
    ranked = ranks(y_true, scores, sample_weight)
    return ranked.propensity_scored_precision_at_k(k, np.asarray(propensities), zero_division)


def label_propensities(y_train: Any, *, a: float = 0.55, b: float = 1.5) -> NDArray[np.float64]:
    """Estimate how likely a label is to be noticed where it holds (Jain, Prabhu, Varma 2016).

    With N rows of which N_l carry label l, the propensity is
    ``1 / (1 + C exp(-a log(N_l + b)))``, ``C = (log N - 1)(b + 1)^a``. Below three rows C would be
    negative; it is then 0 and every propensity 1.

    Parameters
    ----------
    y_train : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        Labels of the training rows.
    a, b : float
        The authors' A and B: 0.55 and 1.5 unless the data are Wikipedia's (0.5, 0.4) or Amazon's
        (0.6, 2.6).

    Returns
    -------
    ndarray of shape (n_labels,)
        Propensities in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> rare_and_frequent = np.array([[1, 1]] + [[0, 1]] * 99)
    >>> label_propensities(rare_and_frequent).round(3)
    array([0.217, 0.68 ])
    """
    if b <= 0:
        raise ValueError(f"b must be positive, not {b}")
    y = label_indicator(y_train, "y_train")
    frequency = np.bincount(y.indices, minlength=y.shape[1])
    scale = max(np.log(y.shape[0]) - 1, 0.0) * (b + 1) ** a
    return 1 / (1 + scale * (frequency + b) ** -a)


def one_error(y_true: Any, scores: Any, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of rows whose best-scored label is not true.

    A row without true labels is always such a row. A tie for the best counts by its share of
    labels that are not true.

    Parameters
    ----------
    y_true : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True labels, zeros and ones.
    scores : array-like, sparse matrix or callable
        Scores of the same shape, see :func:`grople.metrics.ranks`.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> one_error([[1, 0, 1], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.5, 0.4, 0.3]])
    0.5
    """
    return ranks(y_true, scores, sample_weight).one_error()


def coverage(y_true: Any, scores: Any, *, sample_weight: ArrayLike | None = None) -> float:
    """Return how far down the ranking one must go to meet every true label, on average.

    Counted from one, as in scikit-learn's ``coverage_error`` (some authors count from zero), ties
    against the prediction; a row without true labels needs 0 places.

    Parameters
    ----------
    y_true : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True labels, zeros and ones.
    scores : array-like, sparse matrix or callable
        Scores of the same shape, see :func:`grople.metrics.ranks`.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> coverage([[1, 0, 1], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.5, 0.4, 0.3]])
    2.5
    """
    return ranks(y_true, scores, sample_weight).coverage()


def ranking_loss(
    y_true: Any,
    scores: Any,
    *,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the share of (true, not true) pairs of labels in the wrong order, averaged over rows.

    A tie is the wrong order.

    Parameters
    ----------
    y_true : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True labels, zeros and ones.
    scores : array-like, sparse matrix or callable
        Scores of the same shape, see :func:`grople.metrics.ranks`.
    zero_division : {0.0, 1.0, numpy.nan}
        Value for a row whose labels are all true or all not; NaN leaves it out of the mean.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> ranking_loss([[1, 0, 1], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.5, 0.4, 0.3]])
    0.5
    """
    return ranks(y_true, scores, sample_weight).ranking_loss(zero_division)


def label_ranking_average_precision(
    y_true: Any,
    scores: Any,
    *,
    zero_division: float = 1.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean, over true labels and then rows, of the precision down to that label.

    Ties count against the prediction.

    Parameters
    ----------
    y_true : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True labels, zeros and ones.
    scores : array-like, sparse matrix or callable
        Scores of the same shape, see :func:`grople.metrics.ranks`.
    zero_division : {1.0, 0.0, numpy.nan}
        Value for a row without true labels (1, as in scikit-learn); NaN leaves it out of the mean.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Examples
    --------
    >>> round(label_ranking_average_precision([[1, 0, 1]], [[0.9, 0.8, 0.1]]), 3)
    0.833
    """
    return ranks(y_true, scores, sample_weight).label_ranking_average_precision(zero_division)
