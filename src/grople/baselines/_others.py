"""Classifiers of scikit-learn that one would pick instead, under the same decision rules.

A comparison is fair when every method has the same chance at its thresholds, so each of these is
wrapped in :class:`~grople.estimators.MultilabelDecisionClassifier`. Linear ones see rows of unit
length, as is usual for text; trees do not care.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC

from grople.baselines._label_trees import LabelTrees
from grople.estimators import MultilabelDecisionClassifier

__all__ = ["OTHER_CLASSIFIERS", "other_classifier"]


def _linear_svc(n_jobs: int | None, random_state: Any) -> Any:
    svm = LinearSVC(C=0.1, random_state=random_state)
    return make_pipeline(Normalizer(), OneVsRestClassifier(svm, n_jobs=n_jobs))


def _logistic(n_jobs: int | None, random_state: Any) -> Any:
    regression = LogisticRegression(C=3.0, solver="liblinear", random_state=random_state)
    return make_pipeline(Normalizer(), OneVsRestClassifier(regression, n_jobs=n_jobs))


def _extra_trees(n_jobs: int | None, random_state: Any) -> Any:
    # A thousandth of the rows in a leaf bounds the leaves of a tree, whatever the number of rows.
    return LabelTrees(100, min_samples_leaf=1e-3, n_jobs=n_jobs, random_state=random_state)


_MAKERS: dict[str, Callable[[int | None, Any], Any]] = {
    "linear_svc": _linear_svc,
    "logistic": _logistic,
    "extra_trees": _extra_trees,
}
#: Names that :func:`other_classifier` knows.
OTHER_CLASSIFIERS = tuple(_MAKERS)


def other_classifier(
    name: str,
    decision: Any = "example_f1",
    *,
    n_jobs: int | None = None,
    random_state: Any = None,
    **parameters: Any,
) -> MultilabelDecisionClassifier:
    """Return a classifier of scikit-learn with the shared decisions, not yet fitted.

    Parameters
    ----------
    name : {"linear_svc", "logistic", "extra_trees"}
        One-vs-rest ``LinearSVC`` (C = 0.1) or ``LogisticRegression`` (C = 3) on rows of unit
        length, or 100 extra-trees (:class:`LabelTrees`) with a
        thousandth of the rows in a leaf.
    decision : "sign", float, name or Rule
        How scores become labels.
    n_jobs : int, optional
        Labels or trees learnt at a time.
    random_state : int, RandomState or None
        Seed.
    **parameters
        Parameters of the result to set otherwise, as in ``set_params``, for instance
        ``estimator__onevsrestclassifier__estimator__C=1.0`` or ``cv=10``.

    Examples
    --------
    >>> from grople.baselines import other_classifier
    >>> from grople.datasets import make_grouped_multilabel
    >>> from grople.metrics import example_f1
    >>> data = make_grouped_multilabel(600, random_state=0)
    >>> model = other_classifier("linear_svc", random_state=0).fit(data.X[:400], data.Y[:400])
    >>> example_f1(data.Y[400:], model.predict(data.X[400:])) > 0.6
    True
    """
    if name not in _MAKERS:
        raise ValueError(
            f"no classifier is called {name!r}; there is {', '.join(OTHER_CLASSIFIERS)}"
        )
    estimator = _MAKERS[name](n_jobs, random_state)
    model = MultilabelDecisionClassifier(estimator, decision, labels="sparse")
    return model.set_params(**parameters)
