"""What a model file may hold: two tables of classes, found by name here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.errors import ModelFileError

__all__ = ["ESTIMATORS", "RECORDS", "Sizes", "is_stored_as", "stored_class"]

#: The numbers of features (D) and labels (L) of a model, and of bins of scores (S and B).
Sizes = dict[str, int]


@dataclass(frozen=True)
class Record:
    """A frozen dataclass that may be stored.

    Attributes
    ----------
    package : str
        The package it is in.
    complaint : callable
        What is wrong with the values of one, beyond what its own class checks; None if nothing.
    arrays : dict of str to str
        Shape and types of its arrays; "csr" is a sparse array, "any" sparse or dense. Letters other
        than those of :data:`Sizes` are the same within a record.
    """

    package: str
    complaint: Callable[[Any, Sizes], str | None] = lambda record, sizes: None
    arrays: dict[str, str] = field(default_factory=dict)


def _record(package: str, complaint: Any = None, /, **arrays: str) -> Record:
    return Record(f"grople.{package}", complaint or Record.complaint, arrays)


def _chains_complaint(chains: Any, sizes: Sizes) -> str | None:
    # Chains are followed place by place: one place too many would be followed as well.
    beyond = (chains.position < 0) | (chains.position >= sizes["L"])
    return "its chains have places beyond their labels" if beyond.any() else None


def _copies_complaint(copies: Any, sizes: Sizes) -> str | None:
    ordered = len(copies.keys) and (copies.keys[1:] > copies.keys[:-1]).all()
    fine = ordered and 0 < copies.strength < np.inf and copies.times.min() > 0
    return None if fine else "what it knows of copies of rows is not in order"


def _decision_complaint(decision: Any, sizes: Sizes) -> str | None:
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


def _forest_complaint(forest: Any, sizes: Sizes) -> str | None:
    # Nodes are followed from one to the next: each must lie behind the one before, or be a leaf.
    nodes, n_nodes = np.arange(len(forest.left)), len(forest.left)
    for side in (forest.left, forest.right):
        if not ((side >= nodes) & (side < n_nodes)).all():
            return "its trees have nodes that lead nowhere"
    if not ((forest.left == nodes) == (forest.right == nodes)).all():
        return "its trees have nodes with one branch"
    for at, most in ((forest.roots, n_nodes), (forest.feature, len(forest.columns)),
                     (forest.columns, sizes["D"])):  # fmt: skip
        if len(at) and (at.min() < 0 or at.max() >= most):
            return "its trees look at what is not there"
    return None if len(forest.roots) else "its forest has no trees"


def _landmarks_complaint(landmarks: Any, sizes: Sizes) -> str | None:
    dense = not sp.issparse(landmarks.rows)
    if dense != (landmarks.middle is not None) or dense != (landmarks.spread is not None):
        return "its landmarks are not those of its columns"
    if not 0.0 < landmarks.width < np.inf or (dense and not (landmarks.spread > 0.0).all()):
        return "its landmarks have no distance"
    return None


def _expert_complaint(expert: Any, sizes: Sizes) -> str | None:
    if not len(expert.curve_scores) or (np.diff(expert.curve_scores) < 0).any():
        return "the curve of one of its experts does not rise"
    if getattr(expert.scores, "n_labels", sizes["L"]) != sizes["L"] or not callable(expert.scores):
        return "one of its experts holds no scores of its labels"
    return None if 0.0 <= expert.weight < np.inf else "one of its experts has an impossible weight"


def _stack_complaint(stack: Any, sizes: Sizes) -> str | None:
    named = isinstance(stack.experts, tuple) and stack.experts
    fine = named and all(type(expert).__name__ == "Expert" for expert in stack.experts)
    return None if fine else "it joins what is no expert"


def _fitted_complaint(fitted: Any, sizes: Sizes) -> str | None:
    return None if callable(fitted.scorer) else "it holds no scores"


def _grid_complaint(grid: Any, sizes: Sizes) -> str | None:
    steps = np.append(grid.steps, grid.weight_scale)
    powers = np.isfinite(steps).all() and (steps > 0).all() and (np.frexp(steps)[0] == 0.5).all()
    if not powers:
        return "the steps of its grid are not powers of two"
    multiples = grid.shifts / grid.steps
    whole = np.isfinite(multiples).all() and (multiples == np.rint(multiples)).all()
    return None if whole else "the shifts of its grid are not multiples of its steps"


def _labels_complaint(labels: Any, sizes: Sizes) -> str | None:
    fine = np.isfinite(labels.n) and labels.n >= 0
    return None if fine else "the number of its rows is impossible"


def _linear_complaint(scores: Any, sizes: Sizes) -> str | None:
    fits = scores.V is not None or scores.Z.shape[1] == sizes["L"]
    return None if fits else "its scores are not those of its labels"


def _sample_complaint(sample: Any, sizes: Sizes) -> str | None:
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


def _summary_complaint(summary: Any, sizes: Sizes) -> str | None:
    if summary.n_labels != sizes["L"] or (summary.sums is None) != summary.grid.keeps_rows:
        return "what it knows of rows is not that of its labels and grid"
    if sp.issparse(summary.sample.X) != summary.grid.sparse:
        return "its rows are not those of its grid"
    return None


#: Frozen dataclasses of plain values, by name: package, what may be wrong, shapes and types.
RECORDS: dict[str, Record] = {
    "BlockFeatures": _record("features"),
    "CategoryColumn": _record("features"),
    "ChainScores": _record(
        "baselines._chains", _chains_complaint, links="LL f8 csr", position="L i8"
    ),
    "CooccurrenceFeature": _record("decision", weights="DL f4 csr", base="L f8"),
    "Copies": _record("decision", _copies_complaint, keys="n u8", times="n f8", counts="nL f8 csr"),
    "Decision": _record(
        "decision", _decision_complaint,
        curve_scores="k f8", curve_probabilities="k f8", macro_thresholds="t f8",
    ),
    "ExactSum": _record("moments"),
    "Expert": _record(
        "experts", _expert_complaint, curve_scores="k f8", curve_probabilities="k f8"
    ),
    "FeatureBlock": _record("features"),
    "FeaturesWithInteractions": _record("features"),
    "FittedModel": _record("solver", _fitted_complaint, groups="L i8"),
    "ForestScores": _record(
        "experts", _forest_complaint, columns="k i8", roots="t i8", left="n i8", right="n i8",
        feature="n i8", threshold="n f8", shares="nL f4 csr",
    ),
    "Grid": _record("moments", _grid_complaint, steps="D f8", shifts="D f8"),
    "InteractionTable": _record("features"),
    "KernelScores": _record("experts", A="md f8", b="d f8", V="dL f8"),
    "LabelMoments": _record("moments", _labels_complaint, counts="L f8", cooccurrence="LL f8 any"),
    "Landmarks": _record(
        "experts", _landmarks_complaint, rows="mD f8 any", middle="D f8", spread="D f8"
    ),
    "LinearScores": _record(
        "solver", _linear_complaint, Z="fd f8 f4", b="d f8 f4", V="dL f8", offset="L f8"
    ),
    "Moments": _record("moments"),
    "NumberColumn": _record("features"),
    "Networks": _record(
        "decision", weights1="mfh f4", biases1="mh f4", weights2="mhh f4", biases2="mh f4",
        weights3="mh f4", biases3="m f4",
    ),
    "Outline": _record("moments", feature_mean="D f8", feature_spread="D f8"),
    "PlainFeatures": _record("features"),
    "Reranker": _record(
        "decision", frequency="L f8", mean="L f8", spread="L f8", mean_positive="L f8",
        groups="L i8", conditional="LL f4 csr",
    ),
    "RowSummary": _record("moments", _summary_complaint),
    "Rule": _record("decision"),
    "Sample": _record(
        "moments", _sample_complaint, X="nD f8 any", B="nL f8 csr", weights="n f8", copies="n f8",
        feature_keys="n u8", keys="n u8",
    ),
    "ScoreCounts": _record("decision", shared="2S f8", by_label="2LB f8"),
    "ScoreMoments": _record(
        "decision", share="L f8", mean_with="L f8", mean_without="L f8", spread="L f8"
    ),
    "Solver": _record("solver"),
    "Stack": _record("experts", _stack_complaint, base="L f8", constant="L b1"),
    "TableColumns": _record("features"),
    "Targets": _record("estimators"),
    "TextFeatures": _record("features"),
    "WholeSums": _record(
        "moments", weight="1 f8", counts="L f8", pairs="LL f8 any", feature_sum="D f8",
        gram="DD f8", cross="DL f8",
    ),
}  # fmt: skip
#: Estimators.
ESTIMATORS: dict[str, Record] = {
    **dict.fromkeys(("GroPLE", "GroPLECV"), _record("estimators")),
    **dict.fromkeys(
        ("BSVM", "CPLST", "FaIE", "LEML", "LLSF", "MLSF", "PLST", "Ridge"), _record("baselines")
    ),
}


def is_stored_as(table: Mapping[str, Any], value: Any) -> bool:
    """Tell whether a value is exactly of a class of a table: no subclass and no namesake."""
    name = type(value).__name__
    return name in table and stored_class(table, name) is type(value)


def stored_class(table: Mapping[str, Any], name: Any) -> type:
    """Return a class of a table by its name in a file."""
    if not isinstance(name, str) or name not in table:
        raise ModelFileError(f"it holds a {name!r}, which this version of grople does not know")
    return getattr(import_module(table[name].package), name)
