"""Rows that are kept: distinct ones in the order of their keys, however they came."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments._keys import Keys, canonical_rows, fold_of, row_key_pairs
from grople.moments._labels import LabelMoments
from grople.moments._products import ThreadedProduct

__all__ = ["RowMoments", "Sample", "stacked"]

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
        parts = {
            name: getattr(self, name)[rows]
            for name in ("X", "B", "weights", "copies", "feature_keys", "keys")
        }
        return replace(self, **parts)

    def folds(self, n_folds: int) -> NDArray[np.intp]:
        """Return the fold of each row, the same for rows with the same features."""
        return fold_of(self.feature_keys, n_folds)

    def __add__(self, other: Sample) -> Self:
        both = self._joined(other, 1)
        return both._merged()

    def __sub__(self, other: Sample) -> Self:
        """Return the sample without some rows; those beyond where it is complete are not here."""
        return self._joined(other._up_to(self.complete_to), -1)._merged()

    def padded(self, n_labels: int) -> Self:
        """Add labels that no row has carried so far."""
        return replace(self, B=_widened(self.B, n_labels))

    def _joined(self, other: Sample, sign: int) -> Self:
        complete_to = min(self.complete_to, other.complete_to) if sign > 0 else self.complete_to
        width = max(self.B.shape[1], other.B.shape[1])

        def both(name: str) -> Any:
            return np.concatenate([getattr(self, name), getattr(other, name)])

        return replace(
            self,
            X=stacked(self.X, other.X),
            B=stacked(_widened(self.B, width), _widened(other.B, width)),
            weights=both("weights"),
            copies=np.concatenate([self.copies, sign * other.copies]),
            feature_keys=both("feature_keys"),
            keys=both("keys"),
            complete_to=complete_to,
        )

    def _up_to(self, last: tuple[int, int]) -> Self:
        """Return the rows whose keys are not beyond a pair of keys."""
        if last == (LAST, LAST):
            return self
        first, second = (np.uint64(key) for key in last)
        known = self.feature_keys < first
        known |= (self.feature_keys == first) & (self.keys <= second)
        return self.take(np.flatnonzero(known))

    def _merged(self) -> Self:
        """Put rows in order, count equal ones once, and leave out what there is no room for."""
        known = self._up_to(self.complete_to)
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
        complete_to = self.complete_to
        if self.capacity is not None and len(kept) > RESERVE * self.capacity:
            kept = kept[: RESERVE * self.capacity]
            last = order[starts[kept[-1]]] if len(kept) else None
            complete_to = (0, 0) if last is None else (
                int(known.feature_keys[last]), int(known.keys[last])
            )  # fmt: skip
        rows = order[starts[kept]] if len(starts) else order
        if len(rows) == len(known) and np.array_equal(rows, np.arange(len(rows))):
            found = known
        else:
            found = known.take(rows)
        return replace(found, copies=copies[kept], complete_to=complete_to)


@dataclass(frozen=True)
class RowMoments:
    """Moments in the form of distinct sparse rows: products with them instead of a D×D matrix.

    Copies of a row are one row that weighs as much, with the mean of their labels.

    Attributes
    ----------
    labels : LabelMoments
        n, Bᵀ1 and BᵀB.
    X : csr_array of shape (n, D)
        Rows with different features, in the order of their keys.
    shares : csr_array of shape (n, L)
        The share of each row's copies that carry each label.
    weights : ndarray of shape (n,)
        What each row weighs.
    feature_keys : ndarray of uint64
        The keys of the rows.
    """

    labels: LabelMoments
    X: Any
    shares: Any
    weights: Array
    feature_keys: Keys

    keeps_rows = True

    @classmethod
    def of(cls, sample: Sample) -> Self:
        """Gather the rows of a complete sample."""
        totals = sample.totals
        labels = LabelMoments.of(sample.B, None if (totals == 1).all() else totals)
        new = np.ones(len(sample), dtype=bool)
        new[1:] = sample.feature_keys[1:] != sample.feature_keys[:-1]
        keys = sample.feature_keys[new]
        if new.all():
            return cls(labels, sample.X, sample.B, totals, keys)
        which = np.cumsum(new) - 1
        weights = np.bincount(which, totals)
        ones = (totals / weights[which], (which, np.arange(len(which))))
        shares = sp.csr_array(ones, shape=(len(weights), len(which))) @ sample.B
        return cls(labels, sample.X[new], sp.csr_array(shares), weights, keys)

    @property
    def n(self) -> float:
        """Rows, or their total weight."""
        return self.labels.n

    @property
    def n_features(self) -> int:
        """Number of features (D)."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return self.labels.n_labels

    @cached_property
    def feature_sum(self) -> Array:
        """Σx."""
        return np.asarray(self.X.T @ self.weights)

    @cached_property
    def mean(self) -> Array:
        """The mean of the features."""
        return self.feature_sum / self.n if self.n else self.feature_sum

    @cached_property
    def _products(self) -> dict[Any, tuple[ThreadedProduct, ThreadedProduct]]:
        return {}

    def _both(self, dtype: Any) -> tuple[ThreadedProduct, ThreadedProduct]:
        """Return X and XᵀW, ready to multiply arrays of a precision in that precision."""
        narrow = np.float32 if dtype == np.float32 else np.float64
        if narrow not in self._products:
            weighted = sp.csr_array(self.X * self.weights[:, None])
            pair = self.X.astype(narrow, copy=False), weighted.T.tocsr().astype(narrow)
            self._products[narrow] = ThreadedProduct(pair[0]), ThreadedProduct(pair[1])
        return self._products[narrow]

    def __getstate__(self) -> dict[str, Any]:
        # What is only there to multiply faster is made again where it is needed.
        return {name: value for name, value in self.__dict__.items() if name != "_products"}

    def gram(self, Z: Array, centre: bool = True) -> Array:
        """Return XᵀX Z, of centred features unless said otherwise."""
        rows, pull = self._both(Z.dtype)
        product = pull @ (rows @ Z)
        if centre:
            mean = self.mean.astype(Z.dtype)
            product -= np.multiply.outer(Z.dtype.type(self.n) * mean, mean @ Z)
        return np.asarray(product)

    def gram_diagonal(self, centre: bool = True) -> Array:
        """Return the diagonal of XᵀX."""
        squares = np.asarray(self.X.power(2).T @ self.weights)
        return np.maximum(squares - self.n * self.mean**2, 0.0) if centre else squares

    def signed_cross(self, W: Array, centre: bool = True) -> Array:
        """Return XᵀY W, of centred features (and points) unless said otherwise."""
        points = 2.0 * (self.shares @ W) - W.sum(axis=0)
        product = self._both(W.dtype)[1] @ np.asarray(points)
        return product - np.multiply.outer(self.mean, self.labels.sums @ W) if centre else product

    def image_moments(self, Z: Array) -> tuple[Array, Array]:
        """Return ZᵀXᵀXZ of centred features, and BᵀXZ."""
        images = np.asarray(self._both(Z.dtype)[0] @ Z, dtype=np.float64)
        label_sums = self.shares.T @ (images * self.weights[:, None])
        images -= self.mean @ Z
        images *= np.sqrt(self.weights)[:, None]
        return images.T @ images, np.asarray(label_sums)

    def occurrences(self) -> Any:
        """Return XᵀB as a CSR array of shape (D, L)."""
        return sp.csr_array(self._both(np.float64)[1].matrix @ self.shares)

    def select_labels(self, columns: Array) -> Self:
        """Keep the given labels, in the given order."""
        if len(columns) == self.n_labels:
            return self
        labels = self.labels.select(columns)
        return replace(self, labels=labels, shares=sp.csr_array(self.shares[:, columns]))


def stacked(one: Any, other: Any) -> Any:
    """Return the rows of two blocks, sparse if either is."""
    if sp.issparse(one) or sp.issparse(other):
        return sp.vstack([sp.csr_array(one), sp.csr_array(other)], format="csr")
    return np.concatenate([one, other])


def _widened(B: Any, width: int) -> Any:
    if B.shape[1] == width:
        return B
    return sp.csr_array((B.data, B.indices, B.indptr), shape=(B.shape[0], width))
