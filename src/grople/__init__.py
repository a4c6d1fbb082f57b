"""GroPLE: multi-label learning by group-preserving label embedding."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grople.errors import DataError, ModelFileError

if TYPE_CHECKING:
    from grople.estimator import GroPLE
    from grople.modelfile import load_model
    from grople.moments import Moments
    from grople.search import GroPLECV

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "GroPLE",
    "GroPLECV",
    "ModelFileError",
    "Moments",
    "load_model",
    "__version__",
]

# Imported when first used: a command that reads no data need not wait for scikit-learn.
_HOMES = {
    "GroPLE": "grople.estimator",
    "GroPLECV": "grople.search",
    "Moments": "grople.moments",
    "load_model": "grople.modelfile",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'grople' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
