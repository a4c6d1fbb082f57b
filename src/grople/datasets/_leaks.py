"""Features that give a label away: equal to it, or to its opposite, in every row."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments import mix

__all__ = ["find_leaks"]

BLOCK_ELEMENTS = 1 << 20


def find_leaks(X: Any, Y: Any) -> list[tuple[int, int]]:
    """Return the pairs (feature, label) in which the feature tells the label of every row.

    Such a feature takes two values, one of them zero, and is non-zero in exactly the rows with the
    label, or in exactly the rows without it. Labels of no row and of all rows do not count.

    Parameters
    ----------
    X : csr_array or ndarray of shape (n_rows, n_features)
        Features.
    Y : csr_array of shape (n_rows, n_labels)
        Labels.

    Returns
    -------
    list of (int, int)
        Columns of X and of Y, in order.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 5.0, 0.0], [0.0, 6.0, 1.0], [2.0, 0.0, 0.0]])
    >>> Y = np.array([[1, 1], [0, 1], [1, 0]])
    >>> find_leaks(X, Y)
    [(0, 0), (2, 0)]
    """
    n_rows = X.shape[0]
    # The sum of one random-looking number a row (modulo 2⁶⁴) stands for a set of rows; that of the
    # rows left over is the sum of all less it.
    keys = mix(np.arange(1, n_rows + 1, dtype=np.uint64))
    labels, label_sizes = _row_sets(Y, keys)
    opposites = keys.sum(dtype=np.uint64) - labels
    known: dict[int, list[int]] = defaultdict(list)
    for label in np.flatnonzero((label_sizes > 0) & (label_sizes < n_rows)).tolist():
        known[int(labels[label])].append(label)
        known[int(opposites[label])].append(label)
    features, sizes = _row_sets(X, keys)
    marked = np.isin(features, np.array(list(known), dtype=np.uint64))
    suspects = np.flatnonzero(marked & (sizes > 0))
    columns = sp.csc_array(X[:, suspects])
    columns.eliminate_zeros()
    return [
        (feature, label)
        for position, feature in enumerate(suspects.tolist())
        if np.ptp(columns.data[slice(*columns.indptr[position : position + 2])]) == 0
        for label in known[int(features[feature])]
    ]


def _row_sets(
    matrix: Any, keys: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return, for the set of non-zero rows of each column, its number and its size."""
    numbers = np.zeros(matrix.shape[1], dtype=np.uint64)
    sizes = np.zeros(matrix.shape[1], dtype=np.int64)
    step = matrix.shape[0] if sp.issparse(matrix) else BLOCK_ELEMENTS // max(matrix.shape[1], 1)
    for start in range(0, matrix.shape[0], max(step, 1)):
        block = sp.csr_array(matrix[start : start + max(step, 1)])
        filled = (block.data != 0).astype(np.uint64)
        pattern = sp.csr_array((filled, block.indices, block.indptr), shape=block.shape)
        numbers += pattern.T @ keys[start : start + block.shape[0]]
        sizes += np.bincount(block.indices[filled > 0], minlength=matrix.shape[1])
    return numbers, sizes
