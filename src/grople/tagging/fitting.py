"""From examples to a tagger that can be stored: fit, add rows, remove rows, say how good it is."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from grople.baselines import STORABLE, Comparison, Report, compare_methods, make_method
from grople.datasets import Bundle, Reading, TextTable, aligned_features, label_matrix
from grople.decision import METRIC_RULES
from grople.errors import DataError
from grople.estimators import SEARCHED, GroPLE, GroPLECV
from grople.features import (
    Features,
    fit_text,
    plain_columns,
    with_interactions,
    without_interactions,
)
from grople.io import read_model, save_model

__all__ = [
    "DataFacts",
    "Tagger",
    "compare_on",
    "example_labels",
    "fit_tagger",
    "labelled_rows",
    "load_tagger",
    "named_labels",
    "tagger_quality",
    "told_as",
]

Array = NDArray[Any]
Examples = Bundle | TextTable

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
    def of(cls, X: Any, Y: Any, *, texts: bool, pairs: int = 0) -> DataFacts:
        """Count; of the features, so many are pairs."""
        counts = np.asarray(Y.sum(axis=0)).ravel()
        return cls(
            rows=int(Y.shape[0]),
            features=int(X.shape[1]),
            labels=int(Y.shape[1]),
            cardinality=float(Y.nnz / max(Y.shape[0], 1)),
            tail_labels=int((counts < TAIL).sum()),
            rows_without_labels=int((np.diff(Y.indptr) == 0).sum()),
            texts=texts,
            pairs=pairs,
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
        return self.features.texts

    @property
    def choices(self) -> dict[str, Any]:
        """What was chosen, automatically or by search."""
        return _choices(self.model)

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


def fit_tagger(
    examples: Examples,
    reading: Reading | None = None,
    *,
    method: str = "grople",
    metric: str | float = "example_f1",
    search: bool = False,
    normalize: bool = False,
    pairs: bool = False,
    text: dict[str, Any] | None = None,
    random_state: int = 0,
    report: Report = lambda step, done, total: None,
    **parameters: Any,
) -> tuple[Tagger, DataFacts]:
    """Fit a tagger.

    Parameters
    ----------
    examples : Bundle or TextTable
        What to learn from; texts become TF-IDF rows.
    reading : Reading, optional
        How files to come are read.
    method : str
        One of :data:`grople.baselines.STORABLE`.
    metric : str or float
        The decision, and what a search maximises.
    search : bool
        Whether GroPLE's settings are chosen by cross-validation.
    normalize : bool
        Whether rows are scaled to unit length (those of texts are).
    pairs : bool
        Whether to add interaction features (:class:`grople.features.InteractionFeatures`).
    text : dict, optional
        Settings of :func:`grople.features.fit_text`.
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
    >>> texts = ("a chess game", "a game of go", "a chess clock", "a wall clock")
    >>> table = TextTable(texts, (("game",), ("game",), ("game", "tool"), ("tool",)))
    >>> tagger, facts = fit_tagger(table, method="ridge", text={"min_df": 1})
    >>> facts.labels, tagger.features.names.tolist()
    (2, ['chess', 'clock', 'game', 'go', 'of', 'wall'])
    """
    if method not in STORABLE:
        raise ValueError(
            f"a model of {method!r} cannot be stored and updated: choose from {', '.join(STORABLE)}"
        )
    if search and method != "grople":
        raise ValueError(f"--search chooses the settings of GroPLE, not of {method!r}")
    report("features", 0, 2)
    features, X = _fit_features(examples, normalize, pairs, text or {})
    Y, names = example_labels(examples)
    model = make_method(
        "groplecv" if search else method, metric, random_state=random_state, **parameters
    )
    started = time.perf_counter()
    progress = told_as("searching" if search else "fitting", report)
    model.fit(X, named_labels(Y, names), progress=progress)
    seconds = time.perf_counter() - started
    n_pairs = len(features) - len(without_interactions(features))
    facts = DataFacts.of(X, Y, texts=isinstance(examples, TextTable), pairs=n_pairs)
    notes = {"data": asdict(facts), "fit_seconds": seconds, "text": text or {}}
    return Tagger(model, features, reading or Reading(), notes), facts


def tagger_quality(
    tagger: Tagger,
    examples: Examples,
    *,
    n_folds: int = 3,
    random_state: int = 0,
    report: Report = lambda step, done, total: None,
) -> Comparison:
    """Cross-validate a tagger's model, the constant prediction and plain ridge.

    Settings that a search chose are kept: they have seen the rows.
    """
    rule = tagger.model.decision
    single = without_interactions(tagger.features)
    methods = {
        "most frequent labels": make_method("constant", rule),
        "ridge": make_method("ridge", rule),
        type(tagger.model).__name__: _unsearched(tagger.model),
    }
    return compare_on(
        examples, methods, metric=rule, n_folds=n_folds, random_state=random_state,
        normalize=getattr(single, "unit_rows", False), pairs=single is not tagger.features,
        text=tagger.notes.get("text"), report=report,
    )  # fmt: skip


def compare_on(
    examples: Examples,
    methods: dict[str, Any],
    *,
    metric: str | float = "example_f1",
    n_folds: int = 3,
    random_state: int = 0,
    normalize: bool = False,
    pairs: bool = False,
    text: dict[str, Any] | None = None,
    report: Report = lambda step, done, total: None,
) -> Comparison:
    """Cross-validate methods on examples; words and pairs are learnt anew in every fold."""
    Y, _ = example_labels(examples)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return compare_methods(
            methods, Y, partial(_fold_rows, examples, normalize, pairs, text or {}),
            metric=metric if metric in METRIC_RULES else "example_f1",
            n_folds=n_folds, random_state=random_state, report=report,
        )  # fmt: skip


def labelled_rows(tagger: Tagger, examples: Examples) -> tuple[Any, Any, list[str]]:
    """Return examples as rows of a tagger's model, with their labels and the labels' names."""
    Y, names = example_labels(examples)
    if isinstance(examples, TextTable) != tagger.texts:
        found, wanted = ("texts", "numbers") if not tagger.texts else ("numbers", "texts")
        raise DataError(f"holds {found}, but the model learnt from {wanted}", file=examples.source)
    try:
        if isinstance(examples, TextTable):
            return tagger.features.transform(examples.texts), Y, names
        names_in = without_interactions(tagger.features).names.tolist()
        X = aligned_features(examples, names_in, len(names_in))
        return tagger.features.transform(X), Y, names
    except DataError as error:
        raise DataError(error.reason, file=examples.source, line=error.line) from error


def named_labels(Y: Any, names: Sequence[str]) -> Any:
    """Return a sparse label matrix whose columns have names, as those of a DataFrame do."""
    named = sp.csr_array(Y)
    named.columns = list(names)
    return named


def told_as(what: str, report: Report) -> Report:
    """Return a report of the steps of a model's fit, as parts of what is being done."""
    return lambda step, done, total: report(f"{what}: {step}", done, total)


# -- inside ----------------------------------------------------------------------------------


def _fit_features(
    examples: Examples,
    normalize: bool,
    pairs: bool,
    text: dict[str, Any],
    part: Array | None = None,
) -> tuple[Features, Any]:
    """Return how examples become rows, learnt from a part of them, and the rows of that part."""
    features: Features
    try:
        if isinstance(examples, TextTable):
            texts = examples.texts if part is None else [examples.texts[i] for i in part]
            features, X = fit_text(texts, **text)
        else:
            features = plain_columns(examples.feature_names, unit_rows=normalize)
            X = features.transform(examples.X if part is None else examples.X[part])
        return with_interactions(features, X) if pairs else (features, X)
    except DataError as error:
        raise DataError(error.reason, file=examples.source) from error


def example_labels(examples: Examples) -> tuple[Any, list[str]]:
    """Return the labels of examples as a sparse matrix, and their names."""
    if isinstance(examples, TextTable):
        Y, names = label_matrix(examples.tags)
        if not names:
            raise DataError("no row has a label: nothing to learn from", file=examples.source)
        return Y, names
    return examples.Y, list(map(str, examples.label_names))


def _fold_rows(
    examples: Examples,
    normalize: bool,
    pairs: bool,
    text: dict[str, Any],
    train: Array,
    test: Array,
) -> tuple[Any, Any]:
    """Return the rows of training and test examples; what is learnt, is learnt from the former."""
    features, X = _fit_features(examples, normalize, pairs, text, train)
    if isinstance(examples, TextTable):
        return X, features.transform([examples.texts[i] for i in test])
    return X, features.transform(examples.X[test])


def _unsearched(model: Any) -> Any:
    """Return the same model, not fitted, with what a search chose."""
    if not isinstance(model, GroPLECV):
        return clone(model)
    names = GroPLE().get_params(deep=False)
    settings = {name: getattr(model, name) for name in names if name not in SEARCHED}
    return GroPLE(**settings, **model.best_params_)


def _choices(model: Any) -> dict[str, Any]:
    report = model.fitted_model_.report
    if not isinstance(model, GroPLE):
        return {"ridge": float(report["ridge"])} if "ridge" in report else {}
    found = {
        "components": int(report["n_components"]),
        "groups": int(report["n_groups"]),
        "gamma": float(report["gamma"]),
        "alpha": float(getattr(model, "best_params_", {}).get("alpha", model.alpha)),
    }
    return found | ({"margin": float(model.margin)} if model.margin else {})
