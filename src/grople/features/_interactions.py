"""Which features occur together in training rows, and the features that these pairs make.

A row with n features has n(n − 1)/2 pairs, so only those among its rarest features count, which
say most; that bounds the pairs of a row, and the time they take, however long it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.features._checks import canonical_rows

__all__ = ["InteractionTable", "find_interactions", "interaction_names"]

Array = NDArray[Any]

#: Pairs, or entries of rows, held at a time.
BLOCK_SIZE = 1 << 22


@dataclass(frozen=True)
class InteractionTable:
    """The pairs of features found by :class:`~grople.features.InteractionFeatures`.

    Attributes
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        The features a < b of each pair, in order.
    rows_with : ndarray of shape (D,)
        Training rows that have each feature.
    n_rarest, min_rows : int
        Features of a row that form pairs, and training rows that a pair has at least.
    weight : float
        Length of a row's interaction features in proportion to that of the row.
    """

    pairs: Array
    rows_with: Array
    n_rarest: int
    min_rows: int
    weight: float

    def __post_init__(self) -> None:
        whole = all(np.issubdtype(part.dtype, np.integer) for part in (self.pairs, self.rows_with))
        if not whole or self.rows_with.ndim != 1 or self.pairs.shape != (len(self.pairs), 2):
            raise ValueError("pairs are two features each, and features have counts of rows")
        if self.n_rarest < 2 or self.min_rows < 1 or self.rows_with.min(initial=0) < 0:
            raise ValueError("pairs need two features of a row, and rows are counted from zero")
        if not 0 <= self.weight < np.inf:
            raise ValueError(f"the weight of pairs must be finite and not negative: {self.weight}")
        first, second = self.pairs.T
        within = (first >= 0) & (first < second) & (second < len(self.rows_with))
        if not within.all() or (np.diff(self._codes) <= 0).any():
            raise ValueError("pairs are of two features that there are, each pair once, in order")

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def _codes(self) -> Array:
        """Each pair as one number, increasing."""
        first, second = self.pairs.astype(np.int64).T
        return first * len(self.rows_with) + second

    def append_to(self, X: Any) -> Any:
        """Return rows with their interaction features after them.

        Parameters
        ----------
        X : array or sparse array of shape (n_rows, D)
            Amounts: none is negative.

        Returns
        -------
        csr_array of shape (n_rows, D + n_pairs)
        """
        X = canonical_rows(X)
        # The last code is that of no pair, so that every search ends at some code.
        codes = np.append(self._codes, np.iinfo(np.int64).max)
        blocks = [self._interactions(rows, codes) for rows in _row_blocks(X, self.n_rarest)]
        return sp.hstack([X, sp.vstack(blocks)], format="csr")

    def _interactions(self, X: Any, codes: Array) -> Any:
        """Return the interaction features of a block of rows alone."""
        rarest = _rarest_features(X, self.rows_with, self.n_rarest, self.min_rows)
        row, first, second = _pairs_in_rows(rarest)
        code = rarest.indices[first].astype(np.int64) * X.shape[1] + rarest.indices[second]
        column = np.searchsorted(codes, code)
        known = np.flatnonzero(codes[column] == code)
        row, column = row[known], column[known]
        root = np.sqrt(rarest.data)
        value = root[first[known]] * root[second[known]]
        length = np.sqrt(np.bincount(row, value.astype(np.float64) ** 2, minlength=X.shape[0]))
        wanted = self.weight * np.sqrt(np.asarray(X.power(2).sum(axis=1), dtype=np.float64))
        factor = wanted / np.where(length > 0, length, 1.0)
        ends = np.append(0, np.cumsum(np.bincount(row, minlength=X.shape[0])))
        values = (value * factor[row]).astype(X.dtype)
        return sp.csr_array((values, column, ends), shape=(X.shape[0], len(self)))


def find_interactions(
    X: Any, n_rarest: int, min_rows: int, weight: float, max_pairs: int | str
) -> InteractionTable:
    """Find the pairs of features that occur in rows."""
    X = canonical_rows(X)
    rows_with = np.bincount(X.indices, minlength=X.shape[1])
    has = sp.vstack(
        [
            _rarest_features(rows, rows_with, n_rarest, min_rows).astype(bool)
            for rows in _row_blocks(X, n_rarest)
        ]
    ).astype(np.int64)
    together = sp.triu(has.T @ has, k=1).tocsr()  # rows that have both features
    together.sort_indices()
    together = together.tocoo()
    seen = together.data
    kept = np.flatnonzero(seen >= min_rows)
    if max_pairs != "all" and len(kept) > int(max_pairs):
        # Of equally frequent ones the first.
        kept = np.sort(kept[np.argsort(-seen[kept], kind="stable")[: int(max_pairs)]])
    pairs = np.stack(together.coords, axis=1)[kept].astype(np.int64)
    return InteractionTable(pairs, rows_with, int(n_rarest), int(min_rows), float(weight))


def interaction_names(names: Array, table: InteractionTable) -> Array:
    """Return the names of features, then those of their pairs, ``"a & b"``."""
    both = [f"{names[a]} & {names[b]}" for a, b in table.pairs]
    return np.concatenate([names, np.array(both, dtype=object)])


def _row_blocks(X: Any, n_rarest: int) -> Iterator[Any]:
    longest = int(np.diff(X.indptr).max(initial=1))
    step = max(1, 2 * BLOCK_SIZE // max(n_rarest**2, longest))
    # At least one block, if only an empty one.
    for first in range(0, max(X.shape[0], 1), step):
        yield X[first : first + step]


def _rarest_features(X: Any, rows_with: Array, n_rarest: int, min_rows: int) -> Any:
    """Return rows with only those of their features that form pairs.

    A feature that fewer than ``min_rows`` rows have is in no pair that ``min_rows`` have. Of
    equally rare features of a row the first are kept.
    """
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    common = np.flatnonzero(rows_with[X.indices] >= min_rows)
    order = common[np.lexsort((rows_with[X.indices[common]], row[common]))]
    rank = np.arange(len(order)) - np.searchsorted(row[order], row[order])
    kept = np.sort(order[rank < n_rarest])
    return sp.csr_array((X.data[kept], (row[kept], X.indices[kept])), shape=X.shape)


def _pairs_in_rows(X: Any) -> tuple[Array, Array, Array]:
    """Return the row and the two entries of each pair of entries of one row."""
    entries = np.arange(X.nnz)
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    # Each entry with each that comes after it in its row.
    n_after = X.indptr[row + 1] - entries - 1
    first = np.repeat(entries, n_after)
    n_before = np.repeat(np.cumsum(n_after) - n_after, n_after)
    second = first + 1 + np.arange(len(first)) - n_before
    return row[first], first, second
