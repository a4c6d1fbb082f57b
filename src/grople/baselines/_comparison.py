"""Cross-validated quality of several methods: the same folds, the same decision rule."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone

from grople import metrics
from grople.folds import MultilabelStratifiedKFold

__all__ = [
    "MEASURES",
    "Comparison",
    "MethodQuality",
    "Report",
    "compare_methods",
    "measure_method",
]

Array = NDArray[Any]
#: Called with what is being done, how many steps are done and how many there are.
Report = Callable[[str, int, int], None]
#: Features of training and test rows, learnt from the training rows alone.
Representation = Callable[[Array, Array], tuple[Any, Any]]

#: The measures of a comparison.
MEASURES = ("accuracy", "example_f1", "macro_f1", "micro_f1")


@dataclass(frozen=True)
class MethodQuality:
    """One method: a value of every measure for each fold, and seconds to fit."""

    method: str
    values: dict[str, tuple[float, ...]]
    fit_seconds: tuple[float, ...]
    rank: float

    def mean(self, measure: str) -> float:
        """Return the mean over the folds."""
        return float(np.mean(self.values[measure]))

    def spread(self, measure: str) -> float:
        """Return the standard deviation over the folds."""
        return float(np.std(self.values[measure]))


@dataclass(frozen=True)
class Comparison:
    """Several methods on the same folds."""

    methods: tuple[MethodQuality, ...]
    metric: str
    n_folds: int

    def best(self, measure: str) -> float:
        """Return the largest mean of a measure."""
        return max(method.mean(measure) for method in self.methods)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        methods = [
            asdict(method)
            | {
                "mean": {m: method.mean(m) for m in method.values},
                "deviation": {m: method.spread(m) for m in method.values},
                "mean_fit_seconds": float(np.mean(method.fit_seconds)),
            }
            for method in self.methods
        ]
        return {"metric": self.metric, "folds": self.n_folds, "methods": methods}


def measure_method(
    model: Any, X: Any, Y: Any, X_test: Any, Y_test: Any, measures: Sequence[str] = MEASURES
) -> tuple[dict[str, float], float]:
    """Fit a clone of a model, and measure what it predicts; 0/0 counts 0.

    Returns
    -------
    measures : dict of str to float
        The value of each measure.
    seconds : float
        How long the fit took.

    Examples
    --------
    >>> from grople.baselines import ConstantLabels
    >>> Y = np.array([[1, 0], [1, 1]])
    >>> measure_method(ConstantLabels(), Y, Y, Y, Y, ["accuracy"])[0]
    {'accuracy': 0.75}
    """
    started = time.perf_counter()
    fitted = clone(model).fit(X, Y)
    seconds = time.perf_counter() - started
    predicted = fitted.predict(X_test)
    return {m: getattr(metrics, m)(Y_test, predicted, zero_division=0.0) for m in measures}, seconds


def compare_methods(
    methods: Mapping[str, Any],
    Y: Any,
    representation: Representation,
    *,
    metric: str = "example_f1",
    measures: Sequence[str] = MEASURES,
    n_folds: int = 3,
    random_state: int = 0,
    report: Report = lambda step, done, total: None,
) -> Comparison:
    """Cross-validate methods on the same folds.

    Parameters
    ----------
    methods : mapping of str to estimator
        What to compare, not fitted.
    Y : csr_array of shape (n_rows, n_labels)
        Labels.
    representation : callable
        ``representation(train, test)`` returns the features of those rows; what it learns, it
        learns from the training rows, once a fold for all methods.
    metric : str
        The measure that ranks the methods, example-F1 if it is not among the measures.
    measures : sequence of str
        Functions of :mod:`grople.metrics`.
    n_folds : int
        Folds, stratified by label.
    random_state : int
        Seed of the folds.
    report : callable
        Called with every step.

    Returns
    -------
    Comparison
        0/0 counts 0 in every measure.

    Examples
    --------
    >>> from grople.datasets import make_grouped_multilabel
    >>> from grople.baselines import make_method
    >>> data = make_grouped_multilabel(200, 20, 8, random_state=0)
    >>> rows = lambda train, test: (data.X[train], data.X[test])
    >>> methods = {name: make_method(name) for name in ("constant", "ridge")}
    >>> [round(m.rank) for m in compare_methods(methods, data.Y, rows).methods]
    [2, 1]
    """
    if Y.shape[0] < n_folds:
        raise ValueError(f"{Y.shape[0]} rows cannot be cut into {n_folds} folds: ask for fewer")
    folds = MultilabelStratifiedKFold(n_folds, random_state=random_state)
    values: dict[str, list[dict[str, float]]] = {name: [] for name in methods}
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    total = n_folds * len(methods)
    for fold, (train, test) in enumerate(folds.split(Y, Y)):
        report(f"fold {fold + 1} of {n_folds}: features", fold * len(methods), total)
        X_train, X_test = representation(train, test)
        for number, (name, method) in enumerate(methods.items()):
            report(f"fold {fold + 1} of {n_folds}: {name}", fold * len(methods) + number, total)
            found, spent = measure_method(method, X_train, Y[train], X_test, Y[test], measures)
            values[name].append(found)
            seconds[name].append(spent)
    report("compared", total, total)
    ranking = metric if metric in measures else "example_f1"
    by_fold = np.array([[fold[ranking] for fold in values[name]] for name in methods])
    ranks = rankdata(-by_fold, axis=0).mean(axis=1)
    return Comparison(
        tuple(
            MethodQuality(
                name,
                {m: tuple(float(fold[m]) for fold in values[name]) for m in measures},
                tuple(seconds[name]),
                float(rank),
            )
            for name, rank in zip(methods, ranks, strict=True)
        ),
        ranking,
        n_folds,
    )
