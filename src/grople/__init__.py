"""GroPLE: multi-label learning by group-preserving label embedding."""

from grople.errors import DataError, ModelFileError

__version__ = "0.1.0"

__all__ = ["DataError", "ModelFileError", "__version__"]
