"""The main job on one data set, from rows to tags: what ``grople demo`` shows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from grople import metrics
from grople.baselines import PLST
from grople.datasets import Bundle
from grople.estimators import GroPLE
from grople.folds import MultilabelStratifiedKFold
from grople.inspection import Inspection, inspect_model

__all__ = ["MEASURES", "Comparison", "Example", "LabelGroup", "Showcase", "showcase"]

#: The four measures of the comparison.
MEASURES = ("accuracy", "example_f1", "macro_f1", "micro_f1")
#: The most labels that the constant prediction may have.
MOST_CONSTANT = 20


@dataclass(frozen=True)
class Comparison:
    """Cross-validated measures of one method: mean and standard deviation over the folds."""

    method: str
    means: dict[str, float]
    deviations: dict[str, float]
    fit_seconds: float


@dataclass(frozen=True)
class LabelGroup:
    """A group of labels, the most frequent first, with their rows."""

    labels: tuple[str, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Example:
    """A held-out row: what it carries and what was predicted, with probabilities."""

    name: str
    true: tuple[str, ...]
    predicted: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Showcase:
    """Everything the demonstration found."""

    comparison: tuple[Comparison, ...]
    groups: tuple[LabelGroup, ...]
    examples: tuple[Example, ...]
    inspection: Inspection

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON (of the inspection, the groups)."""
        return {
            name: [asdict(part) for part in getattr(self, name)]
            for name in ("comparison", "groups", "examples")
        }


def showcase(
    bundle: Bundle,
    *,
    n_folds: int = 3,
    n_examples: int = 4,
    random_state: int = 0,
    report: Callable[[str], None] = lambda step: None,
) -> Showcase:
    """Cross-validate GroPLE and two yardsticks, then look at its groups and its predictions.

    Parameters
    ----------
    bundle : Bundle
        The data.
    n_folds : int
        Folds of the comparison.
    n_examples : int
        Held-out rows to show.
    random_state : int
        Seed of the folds and the grouping.
    report : callable
        Called with the name of each step.
    """
    methods: dict[str, Any] = {
        "most frequent labels": MostFrequent(),
        "PLST": PLST(),
        "GroPLE": GroPLE(random_state=random_state),
    }
    folds = MultilabelStratifiedKFold(n_folds, random_state=random_state)
    splits = list(folds.split(bundle.X, bundle.Y))
    comparison = []
    for name, method in methods.items():
        values, seconds = [], []
        for f, (train, test) in enumerate(splits):
            report(f"{name}, fold {f + 1} of {n_folds}")
            started = time.perf_counter()
            model = clone(method).fit(bundle.X[train], bundle.Y[train])
            seconds.append(time.perf_counter() - started)
            truth, predicted = bundle.Y[test], model.predict(bundle.X[test])
            values.append([getattr(metrics, m)(truth, predicted) for m in MEASURES])
        comparison.append(
            Comparison(
                name,
                dict(zip(MEASURES, map(float, np.mean(values, axis=0)), strict=True)),
                dict(zip(MEASURES, map(float, np.std(values, axis=0)), strict=True)),
                float(np.mean(seconds)),
            )
        )
    # The last model of the loop is GroPLE's of the last fold: its test rows are unseen.
    seen = inspect_model(model, bundle.feature_names)
    return Showcase(
        tuple(comparison),
        _groups(model, bundle),
        _examples(model, bundle, splits[-1][1], n_examples),
        replace(seen, label_names=tuple(map(str, bundle.label_names))),
    )


class MostFrequent(ClassifierMixin, BaseEstimator):
    """The same labels for every row: those whose prediction has the largest example-F1 in training.

    What any model must beat.
    """

    def fit(self, X: Any, y: Any) -> MostFrequent:
        """Choose how many of the most frequent labels to predict."""
        Y = sp.csr_array(y)
        order = np.argsort(-np.asarray(Y.sum(axis=0)), kind="stable")
        sizes = np.diff(Y.indptr)
        hits = np.cumsum(Y[:, order[:MOST_CONSTANT]].toarray(), axis=1)
        k = np.arange(1, hits.shape[1] + 1)
        self.labels_ = order[: 1 + int(np.argmax((2 * hits / (k + sizes[:, None])).mean(axis=0)))]
        self.n_labels_ = Y.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        """Return those labels for every row."""
        row = np.zeros((1, self.n_labels_), dtype=np.int64)
        row[0, self.labels_] = 1
        return sp.csr_array(np.repeat(row, X.shape[0], axis=0))


def _groups(model: GroPLE, bundle: Bundle) -> tuple[LabelGroup, ...]:
    counts = np.asarray(bundle.Y.sum(axis=0)).ravel()
    groups, membership = [], model.label_groups_
    for group in range(int(membership.max()) + 1):
        members = np.flatnonzero(membership == group)
        members = members[np.argsort(-counts[members], kind="stable")]
        names = tuple(bundle.label_names[int(i)] for i in members)
        groups.append(LabelGroup(names, tuple(int(counts[i]) for i in members)))
    return tuple(sorted(groups, key=lambda group: -len(group.labels)))


def _examples(model: GroPLE, bundle: Bundle, rows: Any, n_examples: int) -> tuple[Example, ...]:
    chosen = rows[:: max(1, len(rows) // n_examples)][:n_examples]
    X = bundle.X[chosen]
    predicted, chances = model.predict(X), model.predict_proba(X)
    examples = []
    for i, row in enumerate(chosen):
        labels = predicted[[i]].indices
        labels = labels[np.argsort(-chances[i, labels], kind="stable")]
        name = bundle.row_names[int(row)] if bundle.row_names else f"row {row}"
        examples.append(
            Example(
                str(name),
                tuple(bundle.label_names[j] for j in bundle.Y[[row]].indices),
                tuple((bundle.label_names[j], float(chances[i, j])) for j in labels),
            )
        )
    return tuple(examples)
