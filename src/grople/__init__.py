"""GroPLE: multi-label learning by group-preserving label embedding."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grople.errors import DataError, ModelFileError

if TYPE_CHECKING:
    from grople.estimators import GroPLE, GroPLECV
    from grople.io import load_model, save_model
    from grople.moments import RowSummary, summarise
    from grople.solver import Solver

__version__ = "0.2.0.dev0"

__all__ = [
    "DataError",
    "GroPLE",
    "GroPLECV",
    "ModelFileError",
    "RowSummary",
    "Solver",
    "load_model",
    "save_model",
    "summarise",
    "__version__",
]

# Imported when first used: a command that reads no data need not wait for scikit-learn.
_HOMES = {
    "GroPLE": "grople.estimators",
    "GroPLECV": "grople.estimators",
    "RowSummary": "grople.moments",
    "Solver": "grople.solver",
    "load_model": "grople.io",
    "save_model": "grople.io",
    "summarise": "grople.moments",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'grople' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
