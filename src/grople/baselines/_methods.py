"""The methods that can be made by name: one table for commands, study, benchmarks and tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC

from grople import metrics
from grople.baselines._bsvm import BSVM
from grople.baselines._cplst import CPLST
from grople.baselines._faie import FaIE
from grople.baselines._label_trees import LabelTrees
from grople.baselines._leml import LEML
from grople.baselines._llsf import LLSF
from grople.baselines._mlsf import MLSF
from grople.baselines._plst import PLST
from grople.baselines._ridge import Ridge
from grople.decision import METRIC_RULES
from grople.estimators import GroPLE, GroPLECV, MultilabelDecisionClassifier

__all__ = [
    "METHODS",
    "PAPER_METHODS",
    "STORABLE",
    "ConstantLabels",
    "Method",
    "make_method",
    "method_names",
]

#: The most labels that the constant prediction may have.
MOST_CONSTANT = 20
#: The weights of the paper's grids, and its dimensions as shares of the labels.
POWERS = tuple(10.0**k for k in range(-4, 5))
SHARES = tuple(k / 10 for k in range(1, 9))
SIZES_AND_WEIGHTS = {"n_components": SHARES, "ridge": POWERS}


class ConstantLabels(ClassifierMixin, BaseEstimator):
    """The same labels for every row, the most frequent ones: what any model must beat.

    Parameters
    ----------
    measure : {"accuracy", "example_f1", "macro_f1", "micro_f1"}
        As many labels as make this as large as possible in training.

    Examples
    --------
    >>> Y = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1]])
    >>> ConstantLabels().fit(Y, Y).predict(np.zeros((1, 3))).toarray().tolist()
    [[1, 1, 0]]
    """

    def __init__(self, measure: str = "example_f1") -> None:
        self.measure = measure

    def fit(self, X: Any, y: Any) -> ConstantLabels:
        """Choose how many of the most frequent labels to predict."""
        Y = sp.csr_array(y)
        order = np.argsort(-np.asarray(Y.sum(axis=0)).ravel(), kind="stable")[:MOST_CONSTANT]
        value = getattr(metrics, self.measure)
        self.n_labels_ = Y.shape[1]
        values = []
        for size in range(1, len(order) + 1):
            self.labels_ = np.sort(order[:size])
            values.append(value(Y, self.predict(Y), zero_division=0.0))
        self.labels_ = np.sort(order[: 1 + int(np.argmax(values))])
        return self

    def predict(self, X: Any) -> Any:
        """Return those labels for every row."""
        n, k = X.shape[0], len(self.labels_)
        return sp.csr_array(
            (np.ones(n * k, np.int64), np.tile(self.labels_, n), np.arange(0, n * k + 1, k)),
            shape=(n, self.n_labels_),
        )


@dataclass(frozen=True)
class Method:
    """A method that can be made by name.

    Attributes
    ----------
    title : str
        What a person calls it.
    make : callable
        The estimator, from decision, seed, jobs and parameters; see :func:`make_method`.
    from_summary : bool
        Whether it learns from a summary of rows, so that it can be stored, and rows added and
        removed.
    published : callable, optional
        ``published(data_set, **parameters)``, the estimator behind the paper's table; None for
        methods that are not in the paper.
    grid : mapping
        What the paper searched: values of each parameter.
    """

    title: str
    make: Callable[..., Any]
    from_summary: bool = False
    published: Callable[..., Any] | None = None
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)


def _of_class(cls: Any, **fixed: Any) -> Callable[..., Any]:
    """Return a maker that gives an estimator the seed and the jobs, if it has such parameters."""

    def make(decision: Any, random_state: int, n_jobs: int | None, **parameters: Any) -> Any:
        model = cls(decision=decision, **(fixed | parameters))
        shared = {"random_state": random_state, "n_jobs": n_jobs}
        return model.set_params(**{k: v for k, v in shared.items() if hasattr(model, k)})

    return make


def _of_paper(cls: Any, grid: Mapping[str, Sequence[Any]], from_summary: bool = True) -> Method:
    return Method(cls.__name__, _of_class(cls), from_summary, cls.published, grid)


def _decided(build: Callable[[int, int | None], Any]) -> Callable[..., Any]:
    """Return a maker of one of scikit-learn's classifiers with the shared decisions."""

    def make(decision: Any, random_state: int, n_jobs: int | None, **parameters: Any) -> Any:
        estimator = build(random_state, n_jobs)
        model = MultilabelDecisionClassifier(estimator, decision, labels="sparse")
        return model.set_params(**parameters)

    return make


def _on_unit_rows(model: Any, n_jobs: int | None) -> Any:
    return make_pipeline(Normalizer(), OneVsRestClassifier(model, n_jobs=n_jobs))


def _linear_svc(random_state: int, n_jobs: int | None) -> Any:
    return _on_unit_rows(LinearSVC(C=0.1, random_state=random_state), n_jobs)


def _logistic(random_state: int, n_jobs: int | None) -> Any:
    regression = LogisticRegression(C=3.0, solver="liblinear", random_state=random_state)
    return _on_unit_rows(regression, n_jobs)


def _extra_trees(random_state: int, n_jobs: int | None) -> Any:
    # A thousandth of the rows in a leaf bounds the leaves of a tree, whatever the number of rows.
    return LabelTrees(100, min_samples_leaf=1e-3, n_jobs=n_jobs, random_state=random_state)


def _constant(decision: Any, random_state: int, n_jobs: int | None) -> Any:
    return ConstantLabels(decision if decision in METRIC_RULES else "example_f1")


def _searched(decision: Any, random_state: int, n_jobs: int | None, **parameters: Any) -> Any:
    scoring = {"scoring": decision} if decision in METRIC_RULES else {}
    return GroPLECV(decision=decision, random_state=random_state, **(scoring | parameters))


#: Every method that the command line, the study and the benchmarks know by a name.
METHODS: dict[str, Method] = {
    "grople": _of_paper(GroPLE, {"alpha": POWERS, "beta": POWERS}),
    "groplecv": Method("GroPLECV", _searched, True),
    "groplemargin": Method("GroPLE, margin .3", _of_class(GroPLE, margin=0.3), True),
    "bsvm": _of_paper(BSVM, {"C": (1.0,)}, from_summary=False),
    "llsf": _of_paper(LLSF, {"alpha": POWERS, "beta": POWERS, "gamma": (0.1,)}),
    "plst": _of_paper(PLST, SIZES_AND_WEIGHTS),
    "cplst": _of_paper(CPLST, SIZES_AND_WEIGHTS),
    "faie": _of_paper(FaIE, SIZES_AND_WEIGHTS | {"alpha": POWERS}),
    "leml": _of_paper(LEML, SIZES_AND_WEIGHTS),
    "mlsf": _of_paper(MLSF, {"gamma": POWERS}, from_summary=False),
    "ridge": Method("ridge", _of_class(Ridge), True),
    "linearsvc": Method("one-vs-rest LinearSVC", _decided(_linear_svc)),
    "logistic": Method("one-vs-rest logistic", _decided(_logistic)),
    "extratrees": Method("extra trees", _decided(_extra_trees)),
    "constant": Method("most frequent labels", _constant),
}
#: The methods of the paper's comparison.
PAPER_METHODS = tuple(name for name, method in METHODS.items() if method.published is not None)
#: Methods that learn from a summary of rows: they can be stored, and rows added and removed.
STORABLE = tuple(name for name, method in METHODS.items() if method.from_summary)


def method_names(text: str) -> list[str]:
    """Return the methods in a list separated by commas, whatever their case.

    Examples
    --------
    >>> method_names("GroPLE, linear_svc")
    ['grople', 'linearsvc']
    """
    names = []
    for word in filter(None, (word.strip() for word in text.split(","))):
        name = word.lower().replace("_", "").replace("-", "")
        if name not in METHODS:
            close = get_close_matches(name, METHODS, 1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise ValueError(f"there is no method {word!r}; {hint}There are {', '.join(METHODS)}")
        if name not in names:
            names.append(name)
    if not names:
        raise ValueError(f"no method named; there are {', '.join(METHODS)}")
    return names


def make_method(
    name: str,
    decision: str | float = "example_f1",
    *,
    random_state: int = 0,
    n_jobs: int | None = None,
    **parameters: Any,
) -> Any:
    """Return an estimator by name, not yet fitted.

    scikit-learn's classifiers are wrapped in
    :class:`~grople.estimators.MultilabelDecisionClassifier`: one-vs-rest ``LinearSVC`` (C = 0.1)
    and ``LogisticRegression`` (C = 3) on rows of unit length, and 100 extra-trees
    (:class:`LabelTrees`) with a thousandth of the rows in a leaf.

    Parameters
    ----------
    name : str
        A key of :data:`METHODS`.
    decision : str or float
        How scores become labels.
    random_state : int
        Seed.
    n_jobs : int, optional
        Labels learnt at a time by methods that learn them one by one.
    **parameters
        Parameters of the estimator to set otherwise, as in ``set_params``, for instance
        ``estimator__onevsrestclassifier__estimator__C=1.0``.

    Examples
    --------
    >>> make_method("plst", "micro_f1").decision
    'micro_f1'
    """
    return METHODS[name].make(decision, random_state, n_jobs, **parameters)
