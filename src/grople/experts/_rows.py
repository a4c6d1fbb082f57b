"""What the experts share: how rows are looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["each_row", "is_mostly_zero"]

Array = NDArray[Any]

#: Share of values that are not zero up to which rows are compared by what they have in common.
SPARSE_FILL = 1 / 3


def is_mostly_zero(X: Any) -> bool:
    """Return whether rows are like texts, whatever they are stored as."""
    filled = X.count_nonzero() if sp.issparse(X) else np.count_nonzero(X)
    return bool(filled <= SPARSE_FILL * X.shape[0] * X.shape[1])


def each_row(function: Callable[[Any], Array], X: Any) -> Array:
    """Return a function of each row of a block whose last rows may be padding, all zero.

    Blocks have one shape for the sake of products; what is computed row by row need not be
    computed for the padding again and again.
    """
    n = X.shape[0]
    filled = np.flatnonzero(np.diff(X.indptr) if sp.issparse(X) else X.any(axis=1))
    last = min(int(filled[-1]) + 2 if len(filled) else 1, n)
    found = function(X[:last])
    return np.concatenate([found, np.broadcast_to(found[-1], (n - last, *found.shape[1:]))])
