"""What a model file may hold: one table of classes, found by name here and nowhere else."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from grople.errors import ModelFileError

__all__ = [
    "ATTRIBUTES",
    "ESTIMATORS",
    "RECORDS",
    "ROW_ATTRIBUTES",
    "ROW_RECORDS",
    "estimator_class",
    "is_in",
    "record_class",
]

#: Estimators, with the modules they live in.
ESTIMATORS = {
    "GroPLE": "grople.estimator",
    "GroPLECV": "grople.search",
    "BSVM": "grople.baselines",
    "CPLST": "grople.baselines",
    "FaIE": "grople.baselines",
    "LEML": "grople.baselines",
    "LLSF": "grople.baselines",
    "MLSF": "grople.baselines",
    "PLST": "grople.baselines",
    "Ridge": "grople.baselines",
}
#: Frozen dataclasses of plain values, with the modules they live in.
RECORDS = {
    "Affinity": "grople.affinity",
    "BSVMModel": "grople.baselines.bsvm",
    "Candidates": "grople.decision",
    "ChainScores": "grople.baselines.chains",
    "ContextDecoder": "grople.decision",
    "Decision": "grople.decision",
    "DetachedMoments": "grople.modelfile.detached",
    "Embedding": "grople.embedding",
    "EmbeddingModel": "grople.baselines.linear_embedding",
    "Evidence": "grople.decision",
    "ExplicitMoments": "grople.moments",
    "GroPLEModel": "grople.stages",
    "Groups": "grople.groups",
    "ImplicitMoments": "grople.moments",
    "LEMLModel": "grople.baselines.leml",
    "LLSFModel": "grople.baselines.llsf",
    "LabelMoments": "grople.moments",
    "LinearScores": "grople.linear",
    "MLSFModel": "grople.baselines.mlsf",
    "Mapping": "grople.mapping",
    "PairTable": "grople.pairs",
    "PairedFeatures": "grople.features",
    "PlainFeatures": "grople.features",
    "Reservoir": "grople.reservoir",
    "Rule": "grople.decision",
    "ScoreCounts": "grople.decision",
    "Targets": "grople.targets",
    "TextFeatures": "grople.features",
}
#: Attributes of a fitted estimator that are kept as they are.
ATTRIBUTES = (
    "n_features_in_",
    "feature_names_in_",
    "moments_",
    "_reservoir",
    "_fingerprints",
    "_counted",
    "fitted_",
    "best_params_",
    "best_index_",
    "best_score_",
    "cv_results_",
)
#: Attributes and dataclasses that hold rows, or something of every row.
ROW_ATTRIBUTES = ("_reservoir", "_fingerprints")
ROW_RECORDS = ("Candidates", "Reservoir")


def is_in(table: dict[str, str], value: Any) -> bool:
    """Tell whether a value is exactly of a class of a table: neither a subclass nor a namesake."""
    name = type(value).__name__
    return name in table and _found(name, table) is type(value)


def estimator_class(name: Any) -> type:
    """Return an estimator class by its name in a file."""
    return _found(name, ESTIMATORS)


def record_class(name: Any) -> type:
    """Return a dataclass by its name in a file."""
    return _found(name, RECORDS)


def _found(name: Any, table: dict[str, str]) -> type:
    if not isinstance(name, str) or name not in table:
        raise ModelFileError(f"it holds a {name!r}, which this version of grople does not know")
    return getattr(import_module(table[name]), name)
