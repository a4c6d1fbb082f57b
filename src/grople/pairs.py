"""Pairs of features as features: what occurs together says more than each by itself.

Scores are linear in the features: a word adds the same whatever it stands beside. With one more
feature for each pair that occurs together, they can tell "java" beside "island" from "java" beside
"compiler". A row with n features has n(n − 1)/2 pairs, so only those among its rarest features
count, which say most; that bounds the pairs of a row, and the time they take, however long it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from grople.parameters import Number, Parameter, Whole, check_parameters

__all__ = ["FeaturePairs", "PairTable", "find_pairs"]

Array = NDArray[Any]

#: Pairs held at a time.
BLOCK_PAIRS = 1 << 22

PARAMETERS: dict[str, Parameter] = {
    "n_rarest": Whole(2),
    "min_rows": Whole(1),
    "weight": Number(),
    "max_pairs": Whole(1, words=("all",)),
}


class FeaturePairs(TransformerMixin, BaseEstimator):
    """Put features for pairs of features beside the features, for sparse rows of amounts.

    A pair of features a, b has the value √(x_a·x_b) in a row with both. The pairs of a row are
    scaled together, to ``weight`` times the length of the row.

    Parameters
    ----------
    n_rarest : int, default=20
        Of each row, so many features form pairs: those that the fewest training rows have.
    min_rows : int, default=2
        Pairs that fewer training rows have are left out.
    weight : float, default=0.6
        Length of a row's pairs in proportion to that of the row.
    max_pairs : int or "all", default=50000
        Of more pairs, those that the most training rows have are kept.

    Attributes
    ----------
    pairs_ : ndarray of shape (n_pairs, 2)
        The features of each pair, in the order of the columns after the features.
    rows_with_ : ndarray of shape (n_features,)
        Training rows that have each feature.
    n_features_in_ : int
        Features of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from grople.pairs import FeaturePairs
    >>> words = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1.0]])
    >>> pairs = FeaturePairs().fit(words)
    >>> pairs.get_feature_names_out(["java", "island", "sea", "salt"]).tolist()[4:]
    ['java & island', 'island & sea']
    >>> pairs.transform(words).toarray()[:, 4:].round(2)
    array([[0.85, 0.  ],
           [0.73, 0.73],
           [0.  , 1.04]])
    """

    def __init__(
        self,
        n_rarest: int = 20,
        *,
        min_rows: int = 2,
        weight: float = 0.6,
        max_pairs: int | str = 50_000,
    ) -> None:
        self.n_rarest = n_rarest
        self.min_rows = min_rows
        self.weight = weight
        self.max_pairs = max_pairs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any = None) -> FeaturePairs:
        """Find the pairs that occur.

        Parameters
        ----------
        X : array or sparse array of shape (n_rows, n_features)
            Amounts: none is negative.
        y : ignored

        Returns
        -------
        FeaturePairs
        """
        check_parameters("FeaturePairs", PARAMETERS, self.get_params())
        table = find_pairs(self._checked(X, reset=True), **self.get_params())
        self.rows_with_, self.pairs_ = table.rows_with, table.pairs
        return self

    def transform(self, X: Any) -> Any:
        """Return the features with the pairs beside them.

        Parameters
        ----------
        X : array or sparse array of shape (n_rows, n_features)
            Amounts: none is negative.

        Returns
        -------
        csr_array of shape (n_rows, n_features + n_pairs)
        """
        check_is_fitted(self)
        table = PairTable(
            self.pairs_, self.rows_with_, self.n_rarest, self.min_rows, float(self.weight)
        )
        return table.beside(self._checked(X, reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features, then of the pairs, ``"a & b"``.

        Parameters
        ----------
        input_features : sequence of str, optional
            The names of the features; those of the table that was fitted, or x0, x1, …
        """
        check_is_fitted(self)
        if input_features is None:
            input_features = getattr(
                self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)]
            )
        names = np.asarray(input_features, dtype=object)
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to the number of features, "
                f"{self.n_features_in_}; got {len(names)}"
            )
        return names_beside(names, self.pairs_)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_non_negative=True,
        )
        return sp.csr_array(X)


@dataclass(frozen=True)
class PairTable:
    """The pairs that were found in training rows, ready to be put beside others.

    Attributes
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        The features a < b of each pair, in order.
    rows_with : ndarray of shape (D,)
        Training rows that have each feature.
    n_rarest, min_rows : int
        Features of a row that form pairs, and training rows that a pair has at least.
    weight : float
        Length of a row's pairs in proportion to that of the row.
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
        fine = self.n_rarest >= 2 and self.min_rows >= 1 and 0 <= self.weight < np.inf
        if not fine or self.rows_with.min(initial=0) < 0:
            raise ValueError(
                "pairs are those of some rarest features, in some rows, of some weight"
            )
        first, second = self.pairs.T
        within = (first >= 0) & (first < second) & (second < len(self.rows_with))
        if not within.all() or (np.diff(self._codes) <= 0).any():
            raise ValueError("pairs are of two features that there are, each pair once, in order")

    @property
    def _codes(self) -> Array:
        first, second = self.pairs.astype(np.int64).T
        return first * len(self.rows_with) + second

    def beside(self, X: Any) -> Any:
        """Return rows with their pairs beside them, a csr_array.

        Parameters
        ----------
        X : csr_array of shape (n_rows, D)
            Amounts: none is negative.
        """
        X, known = _in_order(X), self._codes
        parts = [
            _beside(rows, known, pairs, self.weight)
            for rows, pairs in _blocks(X, self.rows_with, self.n_rarest, self.min_rows)
        ]
        empty = sp.csr_array((0, len(known)), dtype=X.dtype)
        return sp.hstack([X, sp.vstack([empty, *parts])], format="csr")


def find_pairs(
    X: Any, n_rarest: int, min_rows: int, weight: float, max_pairs: int | str
) -> PairTable:
    """Find the pairs that occur in rows; the parameters are those of :class:`FeaturePairs`.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> rows = sp.csr_array([[1.0, 1, 0], [1, 1, 1], [0, 1, 1], [1, 1, 0]])
    >>> find_pairs(rows, 20, 2, 0.6, "all").pairs.tolist()
    [[0, 1], [1, 2]]
    >>> find_pairs(rows, 20, 2, 0.6, 1).pairs.tolist()
    [[0, 1]]
    """
    X = _in_order(X)
    rows_with = np.bincount(X.indices, minlength=X.shape[1])
    known, seen = np.empty(0, np.int64), np.empty(0, np.int64)
    waiting: list[Array] = []
    for _, pairs in _blocks(X, rows_with, n_rarest, min_rows):
        waiting.append(pairs.code)
        # As much work as there is waiting: all in all the sorting of all pairs, twice.
        if sum(map(len, waiting)) > max(BLOCK_PAIRS, len(known)):
            known, seen = _counted(known, seen, waiting)
            waiting = []
    known, seen = _counted(known, seen, waiting)
    known, seen = known[seen >= min_rows], seen[seen >= min_rows]
    if max_pairs != "all" and len(known) > int(max_pairs):
        # Of equally frequent ones the first.
        known = np.sort(known[np.argsort(-seen, kind="stable")[: int(max_pairs)]])
    both = np.stack([known // X.shape[1], known % X.shape[1]], axis=1)
    return PairTable(both, rows_with, int(n_rarest), int(min_rows), float(weight))


def names_beside(names: Array, pairs: Array) -> Array:
    """Return names of features, then of pairs of them, ``"a & b"``."""
    both = [f"{names[a]} & {names[b]}" for a, b in pairs]
    return np.concatenate([names, np.array(both, dtype=object)])


def _in_order(X: Any) -> Any:
    """Return rows without stored zeros, columns in order; the caller's stay as they are."""
    X = sp.csr_array(X)
    if X.dtype.kind != "f":
        X = X.astype(np.float64)  # the values of pairs are roots
    if not X.has_canonical_format or not X.data.all():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def _blocks(
    X: Any, rows_with: Array, n_rarest: int, min_rows: int
) -> Iterator[tuple[Any, RowPairs]]:
    """Yield blocks of rows, and the pairs in them."""
    longest = int(np.diff(X.indptr).max(initial=1))
    step = max(1, 2 * BLOCK_PAIRS // max(n_rarest**2, longest))
    for first in range(0, X.shape[0], step):
        rows = X[first : first + step]
        yield rows, row_pairs(rows, rows_with, n_rarest, min_rows)


@dataclass(frozen=True)
class RowPairs:
    """The pairs in some rows: of each the row, its two features as one number, and its value."""

    row: Array
    code: Array
    value: Array


def row_pairs(X: Any, rows_with: Array, n_rarest: int, min_rows: int) -> RowPairs:
    """Return the pairs among the rarest features of each row.

    Parameters
    ----------
    X : csr_array of shape (n_rows, D)
        Positive values, columns in order.
    rows_with : ndarray of shape (D,)
        Training rows that have each feature.
    n_rarest, min_rows : int
        Features of a row that form pairs, and training rows that a feature must have for it.

    Returns
    -------
    RowPairs
        In the order of rows and codes; features a < b have the code a·D + b.
    """
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    # A feature that fewer rows have is in no pair that min_rows have.
    common = np.flatnonzero(rows_with[X.indices] >= min_rows)
    order = common[np.lexsort((rows_with[X.indices[common]], row[common]))]
    kept = np.sort(order[_places(row[order]) < n_rarest])
    row, column, root = row[kept], X.indices[kept].astype(np.int64), np.sqrt(X.data[kept])
    # Each feature of a row with each that comes after it in the row.
    later = np.bincount(row, minlength=X.shape[0])[row] - _places(row) - 1
    left = np.repeat(np.arange(len(row)), later)
    right = left + 1 + np.arange(len(left)) - np.repeat(np.cumsum(later) - later, later)
    return RowPairs(row[left], column[left] * X.shape[1] + column[right], root[left] * root[right])


def _places(row: Array) -> Array:
    """Return the place of each entry among those of its row, where rows come in order."""
    return np.arange(len(row)) - np.searchsorted(row, row)


def _beside(X: Any, known: Array, pairs: RowPairs, weight: float) -> Any:
    """Return the known pairs of rows as a matrix, ``weight`` times as long as the rows."""
    place = np.searchsorted(known, pairs.code)
    found = np.zeros(len(place), dtype=bool)
    found[place < len(known)] = known[place[place < len(known)]] == pairs.code[place < len(known)]
    row, column, value = pairs.row[found], place[found], pairs.value[found]
    length = np.sqrt(np.bincount(row, value.astype(np.float64) ** 2, minlength=X.shape[0]))
    wanted = weight * np.sqrt(np.asarray(X.power(2).sum(axis=1), dtype=np.float64))
    factor = wanted / np.where(length > 0, length, 1.0)
    ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=X.shape[0]))])
    values = (value * factor[row]).astype(X.dtype)
    return sp.csr_array((values, column, ends), shape=(X.shape[0], len(known)))


def _counted(known: Array, seen: Array, waiting: list[Array]) -> tuple[Array, Array]:
    """Add pairs to those that were counted."""
    new, times = np.unique(np.concatenate([np.empty(0, np.int64), *waiting]), return_counts=True)
    both, place = np.unique(np.concatenate([known, new]), return_inverse=True)
    return both, np.bincount(place, np.concatenate([seen, times]), len(both)).astype(np.int64)
