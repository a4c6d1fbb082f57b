"""A 64-bit fingerprint of every row, from its content alone.

Equal rows have equal fingerprints however they arrive: dense or sparse, in one block or many,
float32 or float64. They seed decisions that must not depend on the order of the rows (which fold
a row belongs to, whether it is kept in a bounded sample) and tell whether a row was ever added.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["canonical", "match_rows", "mix", "row_fingerprints"]

Fingerprints = NDArray[np.uint64]

_BLOCK_VALUES = 1 << 20
#: Added before the last scramble, which leaves zero (a row of zeros) where it is.
_OFFSET = np.uint64(0x9E3779B97F4A7C15)


def row_fingerprints(
    X: Any, B: Any | None = None, weights: NDArray[Any] | None = None
) -> Fingerprints:
    """Return one fingerprint a row, of its features and, if given, labels and weight.

    A weight of one is no weight.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> X = np.array([[0.0, 1.5], [2.0, 0.0]])
    >>> bool((row_fingerprints(X) == row_fingerprints(sp.csr_array(X))).all())
    True
    """
    sums = _keyed_sums(X, key=1)
    if B is not None:
        sums = mix(sums) + _keyed_sums(B, key=2)
    if weights is not None:
        sums = sums + _scrambled(weights) - _scrambled(np.ones(1))
    return mix(sums + _OFFSET)


def mix(values: Fingerprints) -> Fingerprints:
    """Scramble 64-bit integers one to one (the finaliser of SplitMix64)."""
    values = values ^ (values >> np.uint64(30))
    values = values * np.uint64(0xBF58476D1CE4E5B9)
    values = values ^ (values >> np.uint64(27))
    values = values * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def match_rows(mine: Fingerprints, theirs: Fingerprints) -> NDArray[np.intp]:
    """Return the position in ``mine`` of every fingerprint in ``theirs``, each used once."""
    order = np.argsort(mine, kind="stable")
    wanted = np.sort(theirs)
    first = np.searchsorted(mine[order], wanted)
    # The k-th copy of a fingerprint takes the k-th row that carries it.
    copies = np.arange(len(wanted)) - np.searchsorted(wanted, wanted)
    position = first + copies
    found = position < len(mine)
    found[found] = mine[order[position[found]]] == wanted[found]
    if not found.all():
        raise ValueError(f"cannot remove {int((~found).sum())} rows that were never added")
    return order[position]


def canonical(X: Any) -> Any:
    """Return a CSR array without double entries; a copy if X has some, since X is not ours."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _keyed_sums(X: Any, key: int) -> Fingerprints:
    """Return Σ_j h(x_ij)·k_j modulo 2⁶⁴; h(0) = 0, so absent and zero entries agree."""
    n_rows, n_columns = X.shape
    # One key a column, the same however many columns follow: a label added later changes nothing.
    keys = mix((np.arange(1, n_columns + 1, dtype=np.uint64) << np.uint64(8)) + np.uint64(key))
    if sp.issparse(X):
        X = canonical(sp.csr_array(X))
        bits = sp.csr_array((_scrambled(X.data), X.indices, X.indptr), shape=X.shape)
        return bits @ keys
    X = np.asarray(X)
    sums = np.zeros(n_rows, dtype=np.uint64)
    size = max(1, _BLOCK_VALUES // max(n_columns, 1))
    for i in range(0, n_rows, size):
        sums[i : i + size] = _scrambled(X[i : i + size]) @ keys
    return sums


def _scrambled(values: Any) -> NDArray[np.uint64]:
    # + 0.0 turns −0.0 into 0.0; the bit pattern of 0.0 is zero and stays zero.
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return bits ^ (bits >> np.uint64(29))
