"""What all feature maps ask of names and of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["canonical_rows", "check_names"]


def check_names(names: NDArray[Any]) -> None:
    """Raise a ValueError unless the names of features are texts."""
    if names.ndim != 1 or not all(isinstance(name, str) for name in names.tolist()):
        raise ValueError("the names of features must be texts")


def canonical_rows(X: Any) -> Any:
    """Return rows as a csr_array of floats: columns in order, no zeros stored.

    Sums over such a row do not depend on how the row was given. The caller's array is not changed.
    """
    X = sp.csr_array(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if not X.has_canonical_format or not X.data.all():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X
