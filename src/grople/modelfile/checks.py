"""Does what a file held make a model? Sizes that must agree, and a first prediction."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.decision import Decision, Evidence, check_rule
from grople.errors import ModelFileError
from grople.linear import LinearScores
from grople.targets import Targets

__all__ = ["check_model"]

CONTAINERS = ("array", "csr_array", "csr_matrix", "frame")


def check_model(model: Any, targets: Any, solution: Any) -> None:
    """Raise a ModelFileError unless the parts of a loaded estimator belong together.

    Parameters
    ----------
    model : estimator
        As loaded, without checks so far beyond those of each value.
    targets, solution
        What it learnt to predict, and what it found.
    """
    _check_targets(targets)
    n_features = getattr(model, "n_features_in_", None)
    if type(n_features) is not int:
        raise ModelFileError("the number of features is missing")
    names = getattr(model, "feature_names_in_", None)
    if names is not None and np.shape(names) != (n_features,):
        raise ModelFileError("its feature names do not match its features")
    scores = getattr(solution.model, "scores", None)
    _check_scores(scores, n_features, targets.n_columns)
    moments = getattr(model, "moments_", None)
    if moments is not None:
        sizes = (moments.n_features, moments.n_labels)
        if sizes != (n_features, targets.n_columns):
            raise ModelFileError("its moments are not those of its features and labels")
    if targets.kind == "multilabel":
        _check_decisions(solution, check_rule(model.decision))
    _check_prediction(model, n_features)


def _check_targets(targets: Any) -> None:
    if not isinstance(targets, Targets):
        raise ModelFileError("what it predicts is missing")
    known = targets.kind in ("multilabel", "binary", "multiclass")
    if not known or targets.container not in CONTAINERS or targets.classes.ndim != 1:
        raise ModelFileError("it predicts an unknown kind of target")
    if targets.kind == "binary" and len(targets.classes) not in (1, 2):
        raise ModelFileError("it has not one or two classes")


def _check_scores(scores: Any, n_features: int, n_labels: int) -> None:
    # Chains have linear scores inside; the room of their class need not be opened to see that.
    linear = getattr(scores, "linear", scores)
    if not isinstance(linear, LinearScores):
        raise ModelFileError("it holds no scores")
    size = linear.b.size if linear.V is not None else n_labels
    expected = {
        "Z": (n_features, size),
        "b": (size,),
        "V": (size, n_labels),
        "offset": (n_labels,),
    }
    for name, shape in expected.items():
        values = getattr(linear, name)
        if values is None:
            continue
        known = (np.float64, np.float32) if name == "Z" else (np.float64,)
        if values.shape != shape or values.dtype not in known:
            raise ModelFileError(
                f"its scores do not fit: {name} is {values.dtype} of shape {values.shape}, "
                f"expected float64 of shape {shape}"
            )
    if linear is not scores:
        links, position = scores.links, scores.position
        places = position.shape == (n_labels,) and position.dtype.kind == "i"
        # Chains are followed place by place: one place too many would be followed as well.
        if not places or np.any((position < 0) | (position >= n_labels)):
            raise ModelFileError("its chains have places beyond their labels")
        if not sp.issparse(links) or links.shape != (n_labels, n_labels):
            raise ModelFileError("the links of its chains do not fit its labels")


def _check_decisions(solution: Any, rule: Any) -> None:
    """Refuse a model that would have to be learnt again before it could decide."""
    evidence, decisions = solution.evidence, solution.decisions
    if evidence is not None and not isinstance(evidence, Evidence):
        raise ModelFileError("what its decisions were fitted on is missing")
    fine = isinstance(decisions, dict) and rule in decisions
    if not fine or not all(isinstance(decision, Decision) for decision in decisions.values()):
        raise ModelFileError(f"it has no decision for {rule!r}")


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
