"""A 64-bit key for every row, from its content alone.

Equal rows have equal keys however they arrive: dense or sparse, in one block or many, in single
or double precision. Keys decide what must not depend on the order of rows: the fold of a row,
whether it is kept in a sample, and which row is meant when one is removed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["Keys", "canonical_rows", "fold_of", "mix", "row_key_pairs", "row_keys"]

Keys = NDArray[np.uint64]

_BLOCK_VALUES = 1 << 20
#: Added before the last scramble, which leaves zero (a row of zeros) where it is.
_OFFSET = np.uint64(0x9E3779B97F4A7C15)


def row_keys(X: Any, B: Any | None = None, weights: NDArray[Any] | None = None) -> Keys:
    """Return one key a row, of its features and, if given, labels and weight.

    A weight of one is no weight.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> X = np.array([[0.0, 1.5], [2.0, 0.0]])
    >>> bool((row_keys(X) == row_keys(sp.csr_array(X))).all())
    True
    """
    return row_key_pairs(X, B, weights)[1]


def row_key_pairs(X: Any, B: Any | None, weights: NDArray[Any] | None) -> tuple[Keys, Keys]:
    """Return the key of each row's features, and that of all that is known of it."""
    sums = _keyed_sums(X, key=1)
    of_features = mix(sums + _OFFSET)
    if B is not None:
        sums = mix(sums) + _keyed_sums(B, key=2)
    if weights is not None:
        sums = sums + _scrambled(weights) - _scrambled(np.ones(1))
    return of_features, mix(sums + _OFFSET)


def fold_of(keys: Keys, n_folds: int, draw: int = 0) -> NDArray[np.intp]:
    """Return the fold of each row, from its key; other draws give other folds."""
    # Scrambled once more: the smallest keys share their leading bits.
    salt = np.array(draw, dtype=np.uint64) * _OFFSET
    return (mix(keys + salt) % np.uint64(n_folds)).astype(np.intp)


def mix(values: Keys) -> Keys:
    """Scramble 64-bit integers one to one (the finaliser of SplitMix64)."""
    values = values ^ (values >> np.uint64(30))
    values = values * np.uint64(0xBF58476D1CE4E5B9)
    values = values ^ (values >> np.uint64(27))
    values = values * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def canonical_rows(X: Any) -> Any:
    """Return a CSR array with sorted indices and no double entries; X itself if it is one."""
    X = sp.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _keyed_sums(X: Any, key: int) -> Keys:
    """Return Σ_j h(x_ij)·k_j modulo 2⁶⁴; h(0) = 0, so absent and zero entries agree."""
    n_rows, n_columns = X.shape
    # One key a column, the same however many columns follow: a label added later changes nothing.
    keys = mix((np.arange(1, n_columns + 1, dtype=np.uint64) << np.uint64(8)) + np.uint64(key))
    if sp.issparse(X):
        X = canonical_rows(X)
        bits = sp.csr_array((_scrambled(X.data), X.indices, X.indptr), shape=X.shape)
        return np.asarray(bits @ keys)
    X = np.asarray(X)
    sums = np.zeros(n_rows, dtype=np.uint64)
    size = max(1, _BLOCK_VALUES // max(n_columns, 1))
    for i in range(0, n_rows, size):
        sums[i : i + size] = _scrambled(X[i : i + size]) @ keys
    return sums


def _scrambled(values: Any) -> Keys:
    # + 0.0 turns −0.0 into 0.0; the bit pattern of 0.0 is zero and stays zero.
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return bits ^ (bits >> np.uint64(29))
