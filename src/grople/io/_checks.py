"""Does what a file held make a model? Sizes and types that must agree, and a first prediction."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.decision import LABEL_BINS, SHARED_BINS, Copies, Decision, check_rule
from grople.errors import ModelFileError
from grople.estimators import Targets
from grople.moments import ExactSum, Grid, LabelMoments, RowSummary, Sample
from grople.solver import FittedModel, LinearScores

__all__ = ["check_model"]

Array = NDArray[Any]

CONTAINERS = ("array", "csr_array", "csr_matrix", "frame")
KINDS = ("multilabel", "binary", "multiclass")
#: Shape and types of the arrays of each record; "csr" is a sparse array, "any" sparse or dense.
#: D features and L labels are those of the model, S and B the bins of scores; other letters are the
#: same within a record.
ARRAYS: dict[str, dict[str, str]] = {
    "ChainScores": {"links": "LL f8 csr", "position": "L i8"},
    "CooccurrenceFeature": {"weights": "DL f4 csr", "base": "L f8"},
    "Copies": {"keys": "n u8", "times": "n f8", "counts": "nL f8 csr"},
    "Decision": {
        "curve_scores": "k f8",
        "curve_probabilities": "k f8",
        "macro_thresholds": "t f8",
    },
    "FittedModel": {"groups": "L i8"},
    "Grid": {"steps": "D f8", "shifts": "D f8"},
    "LabelMoments": {"counts": "L f8", "cooccurrence": "LL f8 any"},
    "LinearScores": {"Z": "Dd f8 f4", "b": "d f8 f4", "V": "dL f8", "offset": "L f8"},
    "Networks": {
        "weights1": "mfh f4", "biases1": "mh f4", "weights2": "mhh f4", "biases2": "mh f4",
        "weights3": "mh f4", "biases3": "m f4",
    },
    "Outline": {"feature_mean": "D f8", "feature_spread": "D f8"},
    "Reranker": {
        "frequency": "L f8", "mean": "L f8", "spread": "L f8", "mean_positive": "L f8",
        "groups": "L i8", "conditional": "LL f4 csr",
    },
    "Sample": {
        "X": "nD f8 any", "B": "nL f8 csr", "weights": "n f8", "copies": "n f8",
        "feature_keys": "n u8", "keys": "n u8",
    },
    "ScoreCounts": {"shared": "2S f8", "by_label": "2LB f8"},
    "ScoreMoments": {
        "share": "L f8", "mean_with": "L f8", "mean_without": "L f8", "spread": "L f8",
    },
    "WholeSums": {
        "weight": "1 f8", "counts": "L f8", "pairs": "LL f8 any", "feature_sum": "D f8",
        "gram": "DD f8", "cross": "DL f8",
    },
}  # fmt: skip


def check_model(model: Any, targets: Any, fitted: Any, summary: Any) -> None:
    """Raise a ModelFileError unless the parts of a loaded estimator belong together.

    Parameters
    ----------
    model : estimator
        As loaded, without checks so far beyond those of each value.
    targets, fitted, summary
        What it learnt to predict, what it found, and what it knows of rows (None: nothing).
    """
    _check_targets(targets)
    n_features = getattr(model, "n_features_in_", None)
    if type(n_features) is not int or n_features < 1:
        raise ModelFileError("the number of features is missing")
    names = getattr(model, "feature_names_in_", None)
    if names is not None and np.shape(names) != (n_features,):
        raise ModelFileError("its feature names do not match its features")
    if not isinstance(fitted, FittedModel):
        raise ModelFileError("its fitted model is missing")
    if not isinstance(summary, RowSummary | None):
        raise ModelFileError("what it knows of rows is something else")
    sizes = {"D": n_features, "L": targets.n_columns, "S": SHARED_BINS, "B": LABEL_BINS}
    check_rule(model.decision)
    if model._needs_evidence and getattr(model, "_has_evidence", None) is not True:
        raise ModelFileError(f"it has no decision for {model.decision!r}")
    if getattr(model, "_context", "auto") not in (True, False, "auto"):
        raise ModelFileError("whether it was to have a re-ranker is something else")
    _check_record(fitted, sizes)
    if summary is not None:
        _check_record(summary, sizes)
    _check_prediction(model, n_features)


def _check_targets(targets: Any) -> None:
    if not isinstance(targets, Targets):
        raise ModelFileError("what it predicts is missing")
    known = targets.kind in KINDS and targets.container in CONTAINERS
    if not known or targets.classes.ndim != 1 or not len(targets.classes):
        raise ModelFileError("it predicts an unknown kind of target")
    if targets.kind == "binary" and len(targets.classes) > 2:
        raise ModelFileError("it has not one or two classes")


def _check_record(record: Any, sizes: dict[str, int]) -> None:
    """Check the arrays of a record, those of the records in it, and what its values must be."""
    name = type(record).__name__
    bound = dict(sizes)
    for field, wanted in ARRAYS.get(name, {}).items():
        value = getattr(record, field)
        parts = (value.low, value.high) if isinstance(value, ExactSum) else (value,)
        for part in parts:
            if part is not None and not _has_form(part, wanted, bound):
                raise ModelFileError(
                    f"the {field} of its {name} do not fit ({_form_of(part)}, expected {wanted} "
                    f"with {bound['D']} features and {bound['L']} labels)"
                )
    complaint = VALUES[name](record, sizes) if name in VALUES else None
    if complaint:
        raise ModelFileError(complaint)
    for inner in (getattr(record, part.name) for part in dataclasses.fields(record)):
        if dataclasses.is_dataclass(inner):
            _check_record(inner, sizes)


def _has_form(value: Any, wanted: str, bound: dict[str, int]) -> bool:
    """Tell whether an array has a shape and one of the types; letters seen first are bound."""
    letters, *types = wanted.split()
    sparse, dense = isinstance(value, sp.csr_array), isinstance(value, np.ndarray)
    if not ((sparse and types[-1] in ("csr", "any")) or (dense and types[-1] != "csr")):
        return False
    if len(value.shape) != len(letters) or value.dtype.str[1:] not in types:
        return False
    return all(
        (int(letter) if letter.isdigit() else bound.setdefault(letter, size)) == size
        for letter, size in zip(letters, value.shape, strict=True)
    )


def _form_of(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"{value.dtype} of shape {shape}"


def _about_fitted(fitted: FittedModel, sizes: dict[str, int]) -> str | None:
    if not isinstance(getattr(fitted.scorer, "linear", fitted.scorer), LinearScores):
        return "it holds no scores"
    return None


def _about_scores(scores: LinearScores, sizes: dict[str, int]) -> str | None:
    fits = scores.V is not None or scores.Z.shape[1] == sizes["L"]
    return None if fits else "its scores are not those of its labels"


def _about_chains(chains: Any, sizes: dict[str, int]) -> str | None:
    # Chains are followed place by place: one place too many would be followed as well.
    beyond = (chains.position < 0) | (chains.position >= sizes["L"])
    return "its chains have places beyond their labels" if beyond.any() else None


def _about_decision(decision: Decision, sizes: dict[str, int]) -> str | None:
    if not len(decision.curve_scores) or (np.diff(decision.curve_scores) < 0).any():
        return "the curve of its decision does not rise"
    if len(decision.macro_thresholds) not in (1, sizes["L"]):
        return "the thresholds of its decision are not those of its labels"
    reranker = decision.reranker
    if reranker is None:
        return None
    if not 1 <= reranker.n_candidates <= sizes["L"]:
        return "its re-ranker has not between one and all labels as candidates"
    return "the networks of its re-ranker are missing" if reranker.networks is None else None


def _about_copies(copies: Copies, sizes: dict[str, int]) -> str | None:
    ordered = len(copies.keys) and (copies.keys[1:] > copies.keys[:-1]).all()
    fine = ordered and 0 < copies.strength < np.inf and copies.times.min() > 0
    return None if fine else "what it knows of copies of rows is not in order"


def _about_summary(summary: RowSummary, sizes: dict[str, int]) -> str | None:
    if summary.n_labels != sizes["L"] or (summary.sums is None) != summary.grid.keeps_rows:
        return "what it knows of rows is not that of its labels and grid"
    if sp.issparse(summary.sample.X) != summary.grid.sparse:
        return "its rows are not those of its grid"
    return None


def _about_grid(grid: Grid, sizes: dict[str, int]) -> str | None:
    steps = np.append(grid.steps, grid.weight_scale)
    powers = np.isfinite(steps).all() and (steps > 0).all() and (np.frexp(steps)[0] == 0.5).all()
    if not powers:
        return "the steps of its grid are not powers of two"
    multiples = grid.shifts / grid.steps
    whole = np.isfinite(multiples).all() and (multiples == np.rint(multiples)).all()
    return None if whole else "the shifts of its grid are not multiples of its steps"


def _about_sample(sample: Sample, sizes: dict[str, int]) -> str | None:
    first, second = sample.feature_keys, sample.keys
    ordered = first[1:] > first[:-1]
    ordered |= (first[1:] == first[:-1]) & (second[1:] > second[:-1])
    if not ordered.all():
        return "its rows are not in the order of their keys"
    counted = (sample.copies >= 1).all() and (sample.copies == np.rint(sample.copies)).all()
    if not counted or not (sample.weights > 0).all() or not np.isfinite(sample.weights).all():
        return "its rows have impossible weights"
    last = sample.complete_to
    known = len(last) == 2 and all(type(key) is int and 0 <= key < 1 << 64 for key in last)
    if not known or (sample.capacity is not None and sample.capacity < 0):
        return "up to where its rows are complete is not known"
    return None if (sample.B.data == 1).all() else "the labels of its rows are not zeros and ones"


def _about_labels(labels: LabelMoments, sizes: dict[str, int]) -> str | None:
    fine = np.isfinite(labels.n) and labels.n >= 0
    return None if fine else "the number of its rows is impossible"


#: What the values of a record must be, beyond what its own class checks.
VALUES: dict[str, Callable[[Any, dict[str, int]], str | None]] = {
    "ChainScores": _about_chains,
    "Copies": _about_copies,
    "Decision": _about_decision,
    "FittedModel": _about_fitted,
    "Grid": _about_grid,
    "LabelMoments": _about_labels,
    "LinearScores": _about_scores,
    "RowSummary": _about_summary,
    "Sample": _about_sample,
}


def _check_prediction(model: Any, n_features: int) -> None:
    """Predict a row of zeros, which reads hardly anything of a model yet needs all its parts."""
    row = sp.csr_array((1, n_features), dtype=np.float64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about feature names, which the row has none of
            if model._targets.container != "frame":
                model.predict(row)
            model.predict_proba(row)
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"its parts do not make a model ({error})") from error
