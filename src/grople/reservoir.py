"""A bounded sample of rows that does not depend on the order in which they came.

Every row has a key made from its features (:mod:`grople.fingerprints`); the rows with the smallest
keys stay. Two streams of the same rows therefore keep the same sample, however they were cut into
blocks, and with fewer rows than the capacity all of them stay. The key also gives each row its
fold, so that copies of a row are never on both sides of a split.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.fingerprints import match_rows, mix, row_fingerprints

__all__ = ["Reservoir", "fold_of"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Reservoir:
    """Rows kept to fit decisions on.

    Examples
    --------
    >>> import numpy as np
    >>> X, B = np.arange(12.0).reshape(6, 2), np.eye(6)
    >>> whole = Reservoir.of(X, B, None, capacity=3)
    >>> parts = Reservoir.of(X[:2], B[:2], None, capacity=3).added(X[2:], B[2:], None)
    >>> sorted(whole.X[:, 0]) == sorted(parts.X[:, 0])
    True
    """

    X: Any
    B: Any
    weights: Array | None
    keys: NDArray[np.uint64]
    capacity: int

    @classmethod
    def of(cls, X: Any, B: Any, weights: Array | None, *, capacity: int) -> Self:
        """Sample at most ``capacity`` rows from one block."""
        block = cls(X, sp.csr_array(B), weights, row_fingerprints(X), capacity)
        return block.kept()

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def total(self) -> float:
        """The weight of the rows."""
        return float(len(self) if self.weights is None else self.weights.sum())

    def added(self, X: Any, B: Any, weights: Array | None) -> Self:
        """Return the sample after more rows."""
        block = type(self)(X, sp.csr_array(B), weights, row_fingerprints(X), self.capacity)
        if len(self) == self.capacity > 0:
            # Most rows of a long stream have no chance: they are not copied.
            block = block.only(np.flatnonzero(block.keys <= self.keys.max()))
        return self + block.kept()

    def __add__(self, other: Reservoir) -> Self:
        """Return the sample of the rows of both."""
        width = max(part.B.shape[1] for part in (self, other))
        marks = []
        for part in (self, other):
            wide = part.B
            if wide.shape[1] < width:
                wide = wide.copy()
                wide.resize((wide.shape[0], width))
            marks.append(wide)
        if sp.issparse(self.X) or sp.issparse(other.X):
            rows = sp.vstack([sp.csr_array(self.X), sp.csr_array(other.X)], format="csr")
        else:
            rows = np.concatenate([self.X, other.X])
        weights = None
        if self.weights is not None or other.weights is not None:
            weights = np.concatenate(
                [np.ones(len(r)) if r.weights is None else r.weights for r in (self, other)]
            )
        keys = np.concatenate([self.keys, other.keys])
        both = type(self)(rows, sp.vstack(marks, format="csr"), weights, keys, self.capacity)
        return both.kept()

    def removed(self, X: Any, B: Any, weights: Array | None) -> Self:
        """Return the sample without these rows, as far as it holds them."""
        mine = row_fingerprints(self.X, self.B, self.weights)
        theirs = row_fingerprints(X, sp.csr_array(B), weights)
        values, held = np.unique(mine, return_counts=True)
        wanted, copies = np.unique(theirs, return_counts=True)
        _, at, in_wanted = np.intersect1d(values, wanted, return_indices=True)
        removable = np.repeat(values[at], np.minimum(held[at], copies[in_wanted]))
        keep = np.ones(len(mine), dtype=bool)
        keep[match_rows(mine, removable)] = False
        return self.only(np.flatnonzero(keep))

    def folds(self, n_folds: int) -> NDArray[np.intp]:
        """Return the fold of each row."""
        return fold_of(self.keys, n_folds)

    def first(self, most: int) -> Self:
        """Return a smaller sample: which rows are in it does not depend on their order either."""
        return type(self)(self.X, self.B, self.weights, self.keys, most).kept()

    def kept(self) -> Self:
        """Return the rows that there is room for."""
        return self.only(self._smallest())

    def only(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return type(self)(self.X[rows], self.B[rows], weights, self.keys[rows], self.capacity)

    def _smallest(self) -> NDArray[np.intp]:
        """Return the rows with the smallest keys, as many as there is room for."""
        if len(self) <= self.capacity:
            return np.arange(len(self))
        last = np.partition(self.keys, self.capacity - 1)[self.capacity - 1]
        sure, tied = np.flatnonzero(self.keys < last), np.flatnonzero(self.keys == last)
        room = self.capacity - len(sure)
        if len(tied) > room:
            # Rows with the same features: labels and weights decide, not the order of arrival.
            copies = self.only(tied)
            order = np.argsort(row_fingerprints(copies.X, copies.B, copies.weights), kind="stable")
            tied = tied[order[:room]]
        return np.sort(np.concatenate([sure, tied]))


def fold_of(keys: NDArray[np.uint64], n_folds: int) -> NDArray[np.intp]:
    """Return the fold of each row, from its key."""
    # Scrambled once more: the smallest keys share their leading bits.
    return (mix(keys) % np.uint64(n_folds)).astype(np.intp)
