"""What a model file may hold: two tables of classes, found by name here and nowhere else."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from grople.errors import ModelFileError

__all__ = ["ESTIMATORS", "RECORDS", "estimator_class", "is_in", "record_class"]

#: Estimators, with the packages they are in.
ESTIMATORS = {
    "GroPLE": "grople.estimators",
    "GroPLECV": "grople.estimators",
    "BSVM": "grople.baselines",
    "CPLST": "grople.baselines",
    "FaIE": "grople.baselines",
    "LEML": "grople.baselines",
    "LLSF": "grople.baselines",
    "MLSF": "grople.baselines",
    "PLST": "grople.baselines",
    "Ridge": "grople.baselines",
}
#: Frozen dataclasses of plain values, with the packages they are in.
RECORDS = {
    "ChainScores": "grople.baselines._chains",
    "CooccurrenceFeature": "grople.decision",
    "Copies": "grople.decision",
    "Decision": "grople.decision",
    "ExactSum": "grople.moments",
    "FeaturesWithInteractions": "grople.features",
    "FittedModel": "grople.solver",
    "Grid": "grople.moments",
    "InteractionTable": "grople.features",
    "LabelMoments": "grople.moments",
    "LinearScores": "grople.solver",
    "Moments": "grople.moments",
    "Networks": "grople.decision",
    "Outline": "grople.moments",
    "PlainFeatures": "grople.features",
    "Reranker": "grople.decision",
    "RowSummary": "grople.moments",
    "Rule": "grople.decision",
    "Sample": "grople.moments",
    "ScoreCounts": "grople.decision",
    "ScoreMoments": "grople.decision",
    "Solver": "grople.solver",
    "Targets": "grople.estimators",
    "TextFeatures": "grople.features",
    "WholeSums": "grople.moments._moments",
}


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
