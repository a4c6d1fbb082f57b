"""One call for all measures."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from grople.metrics._counts import counts
from grople.metrics._ranks import ranks

__all__ = ["evaluate"]

SET_MEASURES = (
    "accuracy",
    "example_f1",
    "macro_f1",
    "micro_f1",
    "example_precision",
    "example_recall",
    "macro_precision",
    "macro_recall",
    "micro_precision",
    "micro_recall",
)
#: Places of the measures at k; those beyond the number of labels are left out.
PLACES = (1, 3, 5)


def evaluate(
    y_true: Any,
    y_pred: Any = None,
    scores: Any = None,
    *,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> dict[str, float]:
    """Compute every measure that the given predictions allow, counting and ranking once.

    Parameters
    ----------
    y_true : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True labels, zeros and ones.
    y_pred : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels), optional
        Predicted labels: gives the measures of label sets.
    scores : array-like or callable, optional
        Scores, see :func:`grople.metrics.ranks`: gives the measures of rankings.
    zero_division : {0.0, 1.0, numpy.nan}
        Value of 0/0 in the measures of label sets; the measures of rankings follow scikit-learn's
        conventions, which are the defaults of their methods.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Returns
    -------
    dict of str to float
        Measures by the name of their method; those at k end in ``_at_1``, ``_at_3`` and so on.

    Examples
    --------
    >>> Y, S = [[1, 0, 1], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.2, 0.4, 0.3]]
    >>> result = evaluate(Y, [[1, 1, 0], [0, 1, 0]], S)
    >>> {name: round(result[name], 3) for name in ("accuracy", "micro_f1", "precision_at_1")}
    {'accuracy': 0.667, 'micro_f1': 0.667, 'precision_at_1': 1.0}
    """
    if y_pred is None and scores is None:
        raise ValueError("nothing to evaluate: pass y_pred, scores or both")
    result: dict[str, float] = {}
    if y_pred is not None:
        counted = counts(y_true, y_pred, sample_weight)
        result |= {name: getattr(counted, name)(zero_division) for name in SET_MEASURES}
        result["hamming_loss"] = counted.hamming_loss()
        result["subset_accuracy"] = counted.subset_accuracy()
    if scores is not None:
        ranked = ranks(y_true, scores, sample_weight)
        for k in (k for k in PLACES if k <= ranked.n_labels):
            result[f"precision_at_{k}"] = ranked.precision_at_k(k)
            result[f"ndcg_at_{k}"] = ranked.ndcg_at_k(k)
        for name in ("one_error", "coverage", "ranking_loss", "label_ranking_average_precision"):
            result[name] = getattr(ranked, name)()
    return result
