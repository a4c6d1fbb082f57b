"""The methods that can be made by name: one table for commands, study, benchmarks and tests."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin

from grople import metrics
from grople.baselines._bsvm import BSVM
from grople.baselines._cplst import CPLST
from grople.baselines._faie import FaIE
from grople.baselines._leml import LEML
from grople.baselines._llsf import LLSF
from grople.baselines._mlsf import MLSF
from grople.baselines._others import other_classifier
from grople.baselines._plst import PLST
from grople.baselines._ridge import Ridge
from grople.decision import METRIC_RULES
from grople.estimators import GroPLE, GroPLECV

__all__ = ["METHODS", "STORABLE", "ConstantLabels", "Method", "make_method", "method_names"]

#: The most labels that the constant prediction may have.
MOST_CONSTANT = 20


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


class Method(NamedTuple):
    """A method: what a person calls it, how it is made, whether it learns from a summary."""

    title: str
    make: Callable[..., Any]
    from_summary: bool = False


def _of_class(cls: Any, **fixed: Any) -> Callable[..., Any]:
    """Return a maker that gives an estimator the seed and the jobs, if it has such parameters."""

    def make(decision: Any, random_state: int, n_jobs: int | None, **parameters: Any) -> Any:
        model = cls(decision=decision, **(fixed | parameters))
        shared = {"random_state": random_state, "n_jobs": n_jobs}
        return model.set_params(**{k: v for k, v in shared.items() if hasattr(model, k)})

    return make


def _other(name: str) -> Callable[..., Any]:
    def make(decision: Any, random_state: int, n_jobs: int | None, **parameters: Any) -> Any:
        shared: dict[str, Any] = {"n_jobs": n_jobs, "random_state": random_state}
        return other_classifier(name, decision, **shared, **parameters)

    return make


def _constant(decision: Any, random_state: int, n_jobs: int | None) -> Any:
    return ConstantLabels(decision if decision in METRIC_RULES else "example_f1")


def _searched(decision: Any, random_state: int, n_jobs: int | None, **parameters: Any) -> Any:
    scoring = {"scoring": decision} if decision in METRIC_RULES else {}
    return GroPLECV(decision=decision, random_state=random_state, **(scoring | parameters))


#: Every method that the command line, the study and the benchmarks know by a name.
METHODS: dict[str, Method] = {
    "grople": Method("GroPLE", _of_class(GroPLE), True),
    "groplecv": Method("GroPLECV", _searched, True),
    "groplemargin": Method("GroPLE, margin .3", _of_class(GroPLE, margin=0.3), True),
    "bsvm": Method("BSVM", _of_class(BSVM)),
    "llsf": Method("LLSF", _of_class(LLSF), True),
    "plst": Method("PLST", _of_class(PLST), True),
    "cplst": Method("CPLST", _of_class(CPLST), True),
    "faie": Method("FaIE", _of_class(FaIE), True),
    "leml": Method("LEML", _of_class(LEML), True),
    "mlsf": Method("MLSF", _of_class(MLSF)),
    "ridge": Method("ridge", _of_class(Ridge), True),
    "linearsvc": Method("one-vs-rest LinearSVC", _other("linear_svc")),
    "logistic": Method("one-vs-rest logistic", _other("logistic")),
    "extratrees": Method("extra trees", _other("extra_trees")),
    "constant": Method("most frequent labels", _constant),
}
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
        Parameters of the estimator to set otherwise.

    Examples
    --------
    >>> make_method("plst", "micro_f1").decision
    'micro_f1'
    """
    return METHODS[name].make(decision, random_state, n_jobs, **parameters)
