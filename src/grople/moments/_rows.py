"""Rows that are kept: distinct ones in the order of their keys, however they came."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments._keys import Keys, canonical_rows, fold_of, row_key_pairs

__all__ = ["Sample"]

Array = NDArray[Any]

#: The key beyond all keys: nothing was left out.
LAST = np.iinfo(np.uint64).max
#: A sample keeps this many times the rows that are asked for, so that some can be forgotten.
RESERVE = 2


@dataclass(frozen=True)
class Sample:
    """The distinct rows with the smallest keys, how often each came, up to where it is complete.

    Rows are distinct in features, labels and weight, and lie in the order of the key of their
    features, then of their own key.

    Attributes
    ----------
    X, B : array or csr_array of shape (n, D) and (n, L)
        Features and labels.
    weights : ndarray of shape (n,)
        The weight of one such row.
    copies : ndarray of shape (n,)
        How many there are.
    feature_keys, keys : ndarray of uint64
        The key of the features, and that of everything.
    capacity : int or None
        Distinct rows that may be asked for; twice as many are kept. None: all.
    complete_to : tuple of int
        Keys up to which every row is here.

    Examples
    --------
    >>> import numpy as np
    >>> X, B = np.arange(12.0).reshape(6, 2), np.eye(6)
    >>> whole = Sample.of(X, B, None, capacity=2)
    >>> parts = [Sample.of(X[i], B[i], None, capacity=2) for i in (slice(0, 2), slice(2, 6))]
    >>> np.array_equal(whole.X, (parts[1] + parts[0]).X)
    True
    """

    X: Any
    B: Any
    weights: Array
    copies: Array
    feature_keys: Keys
    keys: Keys
    capacity: int | None
    complete_to: tuple[int, int] = (LAST, LAST)

    @classmethod
    def of(cls, X: Any, B: Any, weights: Array | None, capacity: int | None) -> Self:
        """Sample the rows of one block."""
        X = canonical_rows(X) if sp.issparse(X) else np.asarray(X)
        B = canonical_rows(sp.csr_array(B, dtype=np.float64))
        ones = np.ones(X.shape[0])
        of_features, of_rows = row_key_pairs(X, B, weights)
        weights = ones if weights is None else weights.astype(np.float64)
        found = cls(X, B, weights, ones, of_features, of_rows, capacity)._merged()
        X = found.X.astype(np.float64, copy=found.X is X)  # never the caller's own
        return replace(found, X=X if sp.issparse(X) else np.ascontiguousarray(X))

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def complete(self) -> bool:
        """Whether these are all rows there are."""
        return self.complete_to == (LAST, LAST)

    @property
    def sufficient(self) -> bool:
        """Whether the first rows are those of a fresh sample: all, or as many as are asked for."""
        return self.complete or self.capacity is None or len(self) >= self.capacity

    @property
    def totals(self) -> Array:
        """The weight that each distinct row stands for."""
        return self.copies * self.weights

    def first(self) -> Self:
        """Return the rows that are asked for, without the reserve."""
        if self.capacity is None or len(self) <= self.capacity:
            return self
        return self.take(slice(0, self.capacity))

    def take(self, rows: Any) -> Self:
        """Return some of the rows."""
        return replace(
            self, X=self.X[rows], B=self.B[rows], weights=self.weights[rows],
            copies=self.copies[rows], feature_keys=self.feature_keys[rows], keys=self.keys[rows],
        )  # fmt: skip

    def folds(self, n_folds: int) -> NDArray[np.intp]:
        """Return the fold of each row, the same for rows with the same features."""
        return fold_of(self.feature_keys, n_folds)

    def __add__(self, other: Sample) -> Self:
        return self._joined(other, 1, min(self.complete_to, other.complete_to))

    def __sub__(self, other: Sample) -> Self:
        """Return the sample without some rows; those beyond where it is complete are not here."""
        return self._joined(other, -1, self.complete_to)

    def padded(self, n_labels: int) -> Self:
        """Add labels that no row has carried so far."""
        B = self.B
        if B.shape[1] == n_labels:
            return self
        B = sp.csr_array((B.data, B.indices, B.indptr), shape=(B.shape[0], n_labels))
        return replace(self, B=B)

    def _joined(self, other: Sample, sign: int, complete_to: tuple[int, int]) -> Self:
        width = max(self.B.shape[1], other.B.shape[1])
        both = self.padded(width), other.padded(width)
        X = [part.X for part in both]
        if any(map(sp.issparse, X)):
            X = [sp.vstack([sp.csr_array(part) for part in X], format="csr")]
        return replace(
            self,
            X=X[0] if len(X) == 1 else np.concatenate(X),
            B=sp.vstack([part.B for part in both], format="csr"),
            weights=np.concatenate([part.weights for part in both]),
            copies=np.concatenate([self.copies, sign * other.copies]),
            feature_keys=np.concatenate([part.feature_keys for part in both]),
            keys=np.concatenate([part.keys for part in both]),
            complete_to=complete_to,
        )._merged()

    def _merged(self) -> Self:
        """Put rows in order, count equal ones once, and leave out what there is no room for."""
        known, complete_to = self, self.complete_to
        if not self.complete:
            last, second = (np.uint64(key) for key in complete_to)
            within = self.feature_keys < last
            within |= (self.feature_keys == last) & (self.keys <= second)
            known = self.take(np.flatnonzero(within))
        order = np.lexsort((known.keys, known.feature_keys))
        keys = known.keys[order]
        new = np.ones(len(keys), dtype=bool)
        new[1:] = keys[1:] != keys[:-1]
        starts = np.flatnonzero(new)
        copies = np.add.reduceat(known.copies[order], starts) if len(starts) else known.copies
        if (copies < 0).any():
            raise ValueError(
                f"cannot remove {int(-copies[copies < 0].sum())} rows that were never added "
                "(with these labels and weights)"
            )
        kept = np.flatnonzero(copies)
        if self.capacity is not None and len(kept) > RESERVE * self.capacity:
            kept = kept[: RESERVE * self.capacity]
            last_row = order[starts[kept[-1]]] if len(kept) else None
            complete_to = (0, 0) if last_row is None else (
                int(known.feature_keys[last_row]), int(known.keys[last_row])
            )  # fmt: skip
        rows = order[starts[kept]] if len(starts) else order
        if len(rows) != len(known) or not np.array_equal(rows, np.arange(len(rows))):
            known = known.take(rows)
        return replace(known, copies=copies[kept], complete_to=complete_to)
