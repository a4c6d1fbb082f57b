"""GroPLE: multi-label learning by group-preserving label embedding."""

from grople.errors import DataError, ModelFileError
from grople.estimator import GroPLE
from grople.moments import Moments

__version__ = "0.1.0"

__all__ = ["DataError", "GroPLE", "ModelFileError", "Moments", "__version__"]
