"""Does what a file held make a model? Sizes and types that must agree, and a first prediction."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.decision import LABEL_BINS, SHARED_BINS, check_rule
from grople.errors import ModelFileError
from grople.estimators import Targets
from grople.io._storable import RECORDS, Sizes
from grople.moments import ExactSum, RowSummary
from grople.solver import FittedModel

__all__ = ["check_model"]

CONTAINERS = ("array", "csr_array", "csr_matrix", "frame", "list", "tuple", "set")
KINDS = ("multilabel", "binary", "multiclass")


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
    check_rule(model.decision)
    if model._needs_evidence and getattr(model, "_has_evidence", None) is not True:
        raise ModelFileError(f"it has no decision for {model.decision!r}")
    if getattr(model, "_context", "auto") not in (True, False, "auto"):
        raise ModelFileError("whether it was to have a re-ranker is something else")
    sizes = {"D": n_features, "L": targets.n_columns, "S": SHARED_BINS, "B": LABEL_BINS}
    _check_records(fitted, sizes)
    _check_records(summary, sizes)
    _check_prediction(model, n_features)


def _check_targets(targets: Any) -> None:
    if not isinstance(targets, Targets):
        raise ModelFileError("what it predicts is missing")
    known = targets.kind in KINDS and targets.container in CONTAINERS
    if not known or targets.classes.ndim != 1 or not len(targets.classes):
        raise ModelFileError("it predicts an unknown kind of target")
    if targets.kind == "binary" and len(targets.classes) > 2:
        raise ModelFileError("it has not one or two classes")


def _check_records(value: Any, sizes: Sizes) -> None:
    """Check the arrays and values of a record and of those in it."""
    if isinstance(value, tuple):
        for item in value:
            _check_records(item, sizes)
    if not dataclasses.is_dataclass(value):
        return
    name = type(value).__name__
    bound = dict(sizes)
    for field, wanted in RECORDS[name].arrays.items():
        held = getattr(value, field)
        for part in (held.low, held.high) if isinstance(held, ExactSum) else (held,):
            if part is not None and not _has_form(part, wanted, bound):
                raise ModelFileError(
                    f"the {field} of its {name} do not fit ({_form_of(part)}, expected {wanted} "
                    f"with {bound['D']} features and {bound['L']} labels)"
                )
    complaint = RECORDS[name].complaint(value, sizes)
    if complaint:
        raise ModelFileError(complaint)
    for inner in dataclasses.fields(value):
        _check_records(getattr(value, inner.name), sizes)


def _has_form(value: Any, wanted: str, bound: Sizes) -> bool:
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


def _check_prediction(model: Any, n_features: int) -> None:
    """Predict a row of zeros, which reads hardly anything of a model yet needs all its parts."""
    row = sp.csr_array((1, n_features), dtype=np.float64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about feature names, which the row has none of
            plain = model._for_prediction()
            plain.predict(row)
            plain.predict_proba(row)
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"its parts do not make a model ({error})") from error
