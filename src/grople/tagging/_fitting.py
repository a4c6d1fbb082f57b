"""From examples to a tagger that can be stored."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.baselines import STORABLE, Report, make_method
from grople.datasets import Reading
from grople.estimators import GroPLE, HierarchicalClassifier
from grople.features import Features, plain_columns, without_interactions
from grople.io import read_model, save_model
from grople.tagging._examples import Examples, Found
from grople.tagging._features import FeatureSettings, learn_features, record_kind

__all__ = [
    "TAIL",
    "DataFacts",
    "Tagger",
    "fit_tagger",
    "load_tagger",
    "named_labels",
    "no_report",
    "told_as",
]

#: A label on fewer rows than this is in the tail.
TAIL = 10


@dataclass(frozen=True)
class DataFacts:
    """What was found in the examples."""

    rows: int
    features: int
    labels: int
    cardinality: float
    tail_labels: int
    rows_without_labels: int
    texts: bool
    pairs: int = 0

    @classmethod
    def of(cls, examples: Examples, features: Features) -> DataFacts:
        """Count."""
        Y = examples.Y
        return cls(
            rows=int(Y.shape[0]),
            features=len(features),
            labels=int(Y.shape[1]),
            cardinality=float(Y.nnz / max(Y.shape[0], 1)),
            tail_labels=int((np.asarray(Y.sum(axis=0)).ravel() < TAIL).sum()),
            rows_without_labels=int((np.diff(Y.indptr) == 0).sum()),
            texts=examples.kind == "texts",
            pairs=len(features) - len(without_interactions(features)),
        )


@dataclass(frozen=True)
class Tagger:
    """A fitted model with all that is needed to tag records to come.

    Attributes
    ----------
    model : estimator
        The fitted model, which knows its labels by name.
    features : Features
        How records become rows.
    reading : Reading
        How files are read.
    notes : dict
        What was found and measured when it was fitted.
    """

    model: Any
    features: Features
    reading: Reading
    notes: dict[str, Any]

    @property
    def texts(self) -> bool:
        """Whether records are texts."""
        return record_kind(self.features) == "texts"

    @property
    def hierarchy(self) -> str | None:
        """What stands between the levels of the labels' names, if these are a hierarchy."""
        return self.notes.get("hierarchy")

    @property
    def classifier(self) -> Any:
        """What predicts: the model, or around it what gives closed label sets."""
        if self.hierarchy is None:
            return self.model
        return HierarchicalClassifier.around(self.model, self.hierarchy)

    def examples(self, found: Found | Examples) -> Examples:
        """Return what a file holds, with all labels that its labels imply."""
        examples = Examples.of(found)
        return examples if self.hierarchy is None else examples.closed(self.hierarchy)

    @property
    def choices(self) -> dict[str, Any]:
        """What was chosen, automatically or by search."""
        report = self.model.fitted_model_.report
        if not isinstance(self.model, GroPLE):
            return {"ridge": float(report["ridge"])} if "ridge" in report else {}
        found: dict[str, Any] = {
            "components": int(report["n_components"]),
            "groups": int(report["n_groups"]),
            "gamma": float(report["gamma"]),
            "alpha": float(getattr(self.model, "best_params_", {}).get("alpha", self.model.alpha)),
        }
        if self.model.margin:
            found["margin"] = float(self.model.margin)
        chosen = [entry["expert"] for entry in self.model.selection_ if entry["weight"]]
        return found | ({"experts": ", ".join(chosen)} if chosen != ["linear"] else {})

    def save(self, path: str | Path, *, with_rows: bool = True) -> None:
        """Write it to a model file, with what is needed to add or remove rows or without."""
        notes = self.notes | {"reading": self.reading.to_dict()}
        save_model(path, self.model, features=self.features, with_rows=with_rows, notes=notes)


def load_tagger(path: str | Path, *, with_rows: bool = False) -> Tagger:
    """Read a tagger from a model file; one that Python code saved takes rows of numbers.

    Parameters
    ----------
    path : path
        The file.
    with_rows : bool
        Whether to read what is needed to add or remove rows.
    """
    saved = read_model(path, with_rows=with_rows)
    notes = saved.header["notes"] if isinstance(saved.header["notes"], dict) else {}
    features = saved.features
    if features is None:
        names = getattr(saved.model, "feature_names_in_", None)
        count = int(saved.model.n_features_in_)
        features = plain_columns([f"feature{i}" for i in range(count)] if names is None else names)
    reading = notes.get("reading")
    how = Reading.from_dict(reading) if isinstance(reading, dict) else Reading()
    return Tagger(saved.model, features, how, notes)


def no_report(step: str, done: int, total: int) -> None:
    """Tell nobody."""


def fit_tagger(
    found: Found | Examples,
    reading: Reading | None = None,
    *,
    method: str = "grople",
    metric: str | float = "example_f1",
    search: bool = False,
    features: FeatureSettings | None = None,
    hierarchy: str | None = None,
    random_state: int = 0,
    report: Report = no_report,
    **parameters: Any,
) -> tuple[Tagger, DataFacts]:
    """Fit a tagger.

    Parameters
    ----------
    found : Bundle, TextTable, MixedTable or Examples
        What to learn from.
    reading : Reading, optional
        How files to come are read.
    method : str
        One of :data:`grople.baselines.STORABLE`.
    metric : str or float
        The decision, and what a search maximises.
    search : bool
        Whether GroPLE's settings are chosen by cross-validation.
    features : FeatureSettings, optional
        How records become features.
    hierarchy : str, optional
        What stands between the levels of the labels' names: labels are learnt and given together
        with those above them (:class:`~grople.estimators.HierarchicalClassifier`).
    random_state : int
        Seed.
    report : callable
        Told about every step.
    **parameters
        Parameters of the estimator.

    Returns
    -------
    tagger : Tagger
        The fitted tagger.
    facts : DataFacts
        What was found in the examples.

    Examples
    --------
    >>> from grople.datasets import TextTable
    >>> texts = ("a chess game", "a game of go", "a chess clock", "a wall clock")
    >>> table = TextTable(texts, (("game",), ("game",), ("game", "tool"), ("tool",)))
    >>> settings = FeatureSettings(ngrams=1, characters=False, min_df=1)
    >>> tagger, facts = fit_tagger(table, method="ridge", features=settings)
    >>> facts.labels, tagger.features.names.tolist()
    (2, ['chess', 'clock', 'game', 'go', 'of', 'wall'])
    """
    if method not in STORABLE:
        raise ValueError(
            f"a model of {method!r} cannot be stored and updated: choose from {', '.join(STORABLE)}"
        )
    if search and method != "grople":
        raise ValueError(f"a search chooses the settings of GroPLE, not of {method!r}")
    model = make_method(
        "groplecv" if search else method, metric, random_state=random_state, **parameters
    )
    settings = features or FeatureSettings()
    examples = Examples.of(found)
    if hierarchy is not None:
        check_closable(metric)
        examples = examples.closed(hierarchy)
    report("features", 0, 2)
    learnt, X = learn_features(examples, settings)
    started = time.perf_counter()
    progress = told_as("searching" if search else "fitting", report)
    model.fit(X, named_labels(examples.Y, examples.label_names), progress=progress)
    seconds = time.perf_counter() - started
    facts = DataFacts.of(examples, learnt)
    notes = {"data": asdict(facts), "fit_seconds": seconds, "features": asdict(settings)}
    if hierarchy is not None:
        notes["hierarchy"] = hierarchy
    return Tagger(model, learnt, reading or Reading(), notes), facts


def check_closable(metric: str | float) -> None:
    """Raise a ValueError where closed label sets cannot be chosen for a measure."""
    if metric not in ("accuracy", "example_f1"):
        raise ValueError(f"a hierarchy goes with the metric example_f1 or accuracy, not {metric}")


def named_labels(Y: Any, names: Sequence[str]) -> Any:
    """Return a sparse label matrix whose columns have names, as those of a DataFrame do."""
    named = sp.csr_array(Y)
    named.columns = list(names)
    return named


def told_as(what: str, report: Report) -> Report:
    """Return a report of the steps of a model's fit, as parts of what is being done."""
    return lambda step, done, total: report(f"{what}: {step}", done, total)
