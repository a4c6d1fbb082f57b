"""Which labels are seen together, from counts of pairs of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.inspection._weights import BLOCK, strongest
from grople.moments import LabelMoments

__all__ = ["labels_seen_together"]

Array = NDArray[Any]


def labels_seen_together(labels: LabelMoments, n_top: int) -> tuple[Array, Array]:
    """Return the labels most correlated with each, and the share of its rows that carry them."""
    n, L = max(float(labels.n), 1e-300), labels.n_labels
    share = labels.counts / n
    spread = np.sqrt(np.maximum(share * (1 - share), 0.0))
    numbers, shares = [], []
    height = max(1, BLOCK // max(L, 1))
    for start in range(0, L, height):
        rows = np.arange(start, min(start + height, L))
        pairs = labels.cooccurrence[rows]
        both = (pairs.toarray() if sp.issparse(pairs) else pairs) / n
        size = np.multiply.outer(spread[rows], spread)
        excess = both - np.multiply.outer(share[rows], share)
        correlation = np.divide(excess, size, out=np.full_like(excess, -1.0), where=size > 0)
        correlation[np.arange(len(rows)), rows] = -np.inf
        found = strongest(correlation, min(n_top, L - 1))
        of_rows = np.divide(
            both, share[rows, None], out=np.zeros_like(both), where=share[rows, None] > 0
        )
        values = np.take_along_axis(of_rows, found, axis=1)
        order = strongest(values, values.shape[1])
        numbers.append(np.take_along_axis(found, order, axis=1))
        shares.append(np.take_along_axis(values, order, axis=1))
    return np.concatenate(numbers), np.concatenate(shares)
