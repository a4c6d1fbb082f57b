"""How good a tagger is: cross-validated next to others, and on rows that it has not seen."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from grople.baselines import Comparison, Report, compare_methods, make_method
from grople.datasets import spread_labels
from grople.decision import METRIC_RULES, LabelHierarchy
from grople.estimators import SEARCHED, GroPLE, GroPLECV, HierarchicalClassifier
from grople.metrics import evaluate
from grople.tagging._examples import Examples, Found
from grople.tagging._features import FeatureSettings, learn_features, rows_of
from grople.tagging._fitting import Tagger, check_closable, no_report

__all__ = ["Evaluation", "check_folds", "compare_on", "evaluate_tagger", "tagger_quality"]


def check_folds(n_rows: int, n_folds: int) -> None:
    """Raise a ValueError where rows cannot be cut into so many folds."""
    if n_rows < n_folds:
        raise ValueError(f"{n_rows} rows cannot be cut into {n_folds} folds: ask for fewer")


def tagger_quality(
    tagger: Tagger,
    found: Found | Examples,
    *,
    n_folds: int = 3,
    random_state: int = 0,
    report: Report = no_report,
) -> Comparison:
    """Cross-validate a tagger's model, the constant prediction and plain ridge.

    Settings that a search chose are kept: they have seen the rows.
    """
    rule = tagger.model.decision
    methods = {
        "most frequent labels": make_method("constant", rule),
        "ridge": make_method("ridge", rule),
        type(tagger.model).__name__: _unsearched(tagger.model),
    }
    return compare_on(
        found, methods, metric=rule, n_folds=n_folds, random_state=random_state,
        features=FeatureSettings(**tagger.notes["features"]), hierarchy=tagger.hierarchy,
        report=report,
    )  # fmt: skip


def compare_on(
    found: Found | Examples,
    methods: dict[str, Any],
    *,
    metric: str | float = "example_f1",
    n_folds: int = 3,
    random_state: int = 0,
    features: FeatureSettings | None = None,
    hierarchy: str | None = None,
    report: Report = no_report,
) -> Comparison:
    """Cross-validate methods on examples; features are learnt anew in every fold.

    With the separator of a hierarchy of label names all methods give closed label sets.
    """
    examples, settings = Examples.of(found), features or FeatureSettings()
    check_folds(examples.Y.shape[0], n_folds)
    if hierarchy is not None:
        check_closable(metric)
        examples = examples.closed(hierarchy)
        above = LabelHierarchy.of_names(examples.label_names, hierarchy).ancestors
        parents = {label: every[1:] for label, every in enumerate(above)}
        methods = {
            name: HierarchicalClassifier(method, parents)
            if hasattr(method, "predict_proba")
            else method
            for name, method in methods.items()
        }

    def rows_of_fold(train: Any, test: Any) -> tuple[Any, Any]:
        learnt, X = learn_features(examples.take(train), settings)
        return X, learnt.transform(examples.take(test).content)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return compare_methods(
            methods, examples.Y, rows_of_fold,
            metric=metric if metric in METRIC_RULES else "example_f1",
            n_folds=n_folds, random_state=random_state, report=report,
        )  # fmt: skip


def _unsearched(model: Any) -> Any:
    """Return the same model, not fitted, with what a search chose."""
    if not isinstance(model, GroPLECV):
        return clone(model)
    names = GroPLE().get_params(deep=False)
    settings = {name: getattr(model, name) for name in names if name not in SEARCHED}
    return GroPLE(**settings, **model.best_params_)


@dataclass(frozen=True)
class Evaluation:
    """Measures on labelled rows; 0/0 counts 0.

    Attributes
    ----------
    rows, labels : int
        Rows evaluated, and labels that the model knows.
    unknown_labels : tuple of str
        Labels of the rows that the model does not know: they count as missed.
    decision : str
        The rule that gave the labels.
    measures : dict
        Every measure of :func:`grople.metrics.evaluate`.
    predicted_labels : float
        Labels given to a row, on average.
    true_labels : float
        Labels a row has, on average.
    """

    rows: int
    labels: int
    unknown_labels: tuple[str, ...]
    decision: str
    measures: dict[str, float]
    predicted_labels: float
    true_labels: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def evaluate_tagger(tagger: Tagger, found: Found | Examples) -> Evaluation:
    """Evaluate a tagger on labelled examples, in blocks.

    Parameters
    ----------
    tagger : Tagger
        What to evaluate.
    found : Bundle, TextTable, MixedTable or Examples
        Rows with their labels.
    """
    model = tagger.classifier
    if model._targets.kind != "multilabel":
        raise ValueError("the model gives one class a row, not labels: measure it in Python")
    known = [str(label) for label in model.classes_]
    examples = tagger.examples(found)
    X = rows_of(tagger.features, examples)
    truth = spread_labels(examples.Y, examples.label_names, known)
    width = truth.shape[1]
    predicted = sp.csr_array(model.predict(X))
    predicted.resize(truth.shape)  # labels that the model does not know are given to no row

    def scores(start: int, stop: int) -> Any:
        # A label that the model does not know is below all that it does.
        known_scores = model.decision_function(X[start:stop])
        unknown = ((0, 0), (0, width - len(known)))
        return np.pad(known_scores, unknown, constant_values=known_scores.min(initial=0.0) - 1.0)

    measures = evaluate(truth, predicted, scores)
    rows = max(int(X.shape[0]), 1)
    return Evaluation(
        rows=int(X.shape[0]),
        labels=len(known),
        unknown_labels=tuple(sorted(set(examples.label_names) - set(known))),
        decision=str(model.decision),
        measures={name: float(value) for name, value in measures.items()},
        predicted_labels=float(predicted.nnz / rows),
        true_labels=float(truth.nnz / rows),
    )
