"""What fitted classifiers answer, as scores of one column a label; rows of any kind."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, PredefinedSplit, RandomizedSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from grople.estimators._base import LabelClassifier

__all__ = [
    "EstimatorScores",
    "folds_of_rows",
    "label_form",
    "n_rows",
    "take_params",
    "take_rows",
]

Array = NDArray[Any]

#: A score that no decision function comes near: log-odds, margins and distances all differ in
#: scale, so that −1 may be far below the negatives of one and far above those of another.
FAR = 1e6
#: What stands for an infinite score.
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class EstimatorScores:
    """Scores of fitted classifiers, as blocks of one column a label.

    A probability p becomes the score 2p − 1.

    Parameters
    ----------
    models : list of classifiers
        One for all varying labels, one for each, or none where no label varies.
    active : ndarray of int
        The labels that vary.
    constants : ndarray of shape (L,)
        Scores of the labels that do not: beyond all others.
    method : {"decision_function", "predict_proba"}
        What to ask the classifiers for.
    """

    models: list[Any]
    active: NDArray[np.intp]
    constants: Array
    method: str

    @classmethod
    def of(cls, models: list[Any], active: Array, signs: Array, method: str) -> EstimatorScores:
        """Give labels that never (−1) or always (+1) occurred a score beyond those of the models.

        ``method`` may also be ``"auto"``, which prefers the decision function.
        """
        if method == "auto":
            found = models and hasattr(models[0], "decision_function")
            method = "decision_function" if found else "predict_proba"
        if models and not hasattr(models[0], method):
            name = type(models[0]).__name__
            raise ValueError(
                f"{name} has no {method}: a decision needs scores, from a decision_function or "
                "from predict_proba. Wrap it in CalibratedClassifierCV, or fit one label at a time "
                "(labels='one_by_one')"
            )
        return cls(models, active, signs if method == "predict_proba" else FAR * signs, method)

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return len(self.constants)

    def __call__(self, X: Any) -> Array:
        """Return the scores of rows."""
        scores = np.tile(self.constants, (n_rows(X), 1))
        if len(self.models) == 1:
            scores[:, self.active] = self._response(self.models[0], X, len(self.active))
        else:
            for label, model in zip(self.active, self.models, strict=True):
                scores[:, [label]] = self._response(model, X, 1)
        return scores

    def _response(self, model: Any, X: Any, n_columns: int) -> Array:
        """Return the scores of one classifier, a column for two classes."""
        found = getattr(model, self.method)(X)
        if self.method == "predict_proba":
            if isinstance(found, list):  # an array of two columns for each label
                found = np.column_stack([chance[:, 1] for chance in found])
            elif n_columns == 1 and found.shape[1] == 2:
                found = found[:, 1]
            found = 2.0 * found - 1.0
        scores = np.asarray(found, dtype=np.float64)
        scores = scores.reshape(len(scores), -1)
        name = f"{type(model).__name__}.{self.method}"
        if scores.shape[1] != n_columns:
            raise ValueError(
                f"{name} gives {scores.shape[1]} columns for {n_columns} labels: one score a "
                "label is needed (labels='one_by_one' fits a clone to each)"
            )
        if np.isnan(scores).any():
            raise ValueError(
                f"{name} gives NaN for some rows: its fit diverged, or rows lie far from all others"
            )
        return np.nan_to_num(scores, posinf=LARGEST, neginf=-LARGEST)


def label_form(estimator: Any) -> str:
    """Tell how a classifier takes a label matrix: ``"sparse"``, ``"dense"`` or ``"one_by_one"``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> label_form(LogisticRegression()), label_form(OneVsRestClassifier(LogisticRegression()))
    ('one_by_one', 'sparse')
    """
    if isinstance(estimator, Pipeline):
        return label_form(estimator.steps[-1][1])
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV):
        return label_form(estimator.estimator)
    if isinstance(estimator, OneVsRestClassifier | LabelClassifier):
        return "sparse"
    tags = get_tags(estimator)
    knows_labels = tags.classifier_tags is not None and tags.classifier_tags.multi_label
    return "dense" if knows_labels or tags.target_tags.multi_output else "one_by_one"


def n_rows(X: Any) -> int:
    """Return the number of rows of an array, table or list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows (an array of numbers) of an array, table or list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sp.issparse(X):
        return X.tocsr()[rows]
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows]


def folds_of_rows(cv: Any, rows: Any, n: int) -> Any:
    """Return folds that are given by numbers of n rows, in terms of those rows that are kept.

    Examples
    --------
    >>> folds = folds_of_rows([([0, 1], [2, 3]), ([2, 3], [0, 1])], [1, 3], n=4)
    >>> [held.tolist() for _, held in folds]
    [[1], [0]]
    """
    if isinstance(cv, PredefinedSplit):
        return PredefinedSplit(cv.test_fold[rows])
    if isinstance(cv, Integral) or cv is None or hasattr(cv, "split"):
        return cv
    place = np.full(n, -1)
    place[rows] = np.arange(len(rows))
    folds = [tuple(place[np.asarray(part)] for part in fold) for fold in cv]
    return [tuple(part[part >= 0] for part in fold) for fold in folds]


def take_params(params: dict[str, Any], rows: Any, n: int) -> dict[str, Any]:
    """Return parameters of fit for some rows: those with a value for each of the n rows are cut.

    Examples
    --------
    >>> take_params({"sample_weight": [1, 2, 3], "verbose": 1}, [0, 2], n=3)
    {'sample_weight': [1, 3], 'verbose': 1}
    """

    def is_cut(value: Any) -> bool:
        sized = hasattr(value, "shape") or isinstance(value, list | tuple)
        return sized and np.ndim(value) > 0 and n_rows(value) == n

    return {name: take_rows(v, rows) if is_cut(v) else v for name, v in params.items()}
