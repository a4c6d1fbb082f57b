"""The moments as models see them: counts of labels, and real products with the features.

Features are known by matrices, or by the distinct rows themselves where these are sparse and
features many; stages ask both for the same products.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments._keys import Keys
from grople.moments._labels import LabelMoments
from grople.moments._rows import Sample
from grople.optim import ThreadedProduct

__all__ = ["MatrixMoments", "RealMoments", "RowMoments"]

Array = NDArray[Any]


@dataclass(frozen=True)
class MatrixMoments:
    """Moments as matrices, of features less their shifts.

    Attributes
    ----------
    labels : LabelMoments
        n, Bᵀ1 and BᵀB.
    shifted_sum, xtx, xtb : ndarray of shape (D,), (D, D) and (D, L)
        Σ(x − s), (X − s)ᵀ(X − s) and (X − s)ᵀB.
    shifts : ndarray of shape (D,)
        s.
    """

    labels: LabelMoments
    shifted_sum: Array
    xtx: Array
    xtb: Array
    shifts: Array

    keeps_rows = False

    @property
    def n(self) -> float:
        """Rows, or their total weight."""
        return self.labels.n

    @property
    def n_features(self) -> int:
        """Number of features (D)."""
        return len(self.shifts)

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return self.labels.n_labels

    @cached_property
    def mean(self) -> Array:
        """The mean of the features."""
        return self.shifts + self.shifted_sum / self.n if self.n else self.shifts

    @property
    def feature_sum(self) -> Array:
        """Σx."""
        return self.shifted_sum + self.n * self.shifts

    def gram_matrix(self, centre: bool = True) -> Array:
        """Return a fresh copy of XᵀX, of centred features unless said otherwise."""
        s, t = self.shifted_sum, self.shifts
        if centre:
            mean = s / self.n if self.n else s
            return self.xtx - np.multiply.outer(self.n * mean, mean)
        if not t.any():
            return self.xtx.copy()
        across = np.multiply.outer(s, t)
        return np.asarray(self.xtx + across + across.T + np.multiply.outer(self.n * t, t))

    def gram_diagonal(self, centre: bool = True) -> Array:
        """Return the diagonal of :meth:`gram_matrix`."""
        squares, s = np.diagonal(self.xtx), self.shifted_sum
        if centre:
            return np.maximum(squares - s * (s / self.n if self.n else s), 0.0)
        return squares + self.shifts * (2.0 * s + self.n * self.shifts)

    def signed_cross(self, W: Array, centre: bool = True) -> Array:
        """Return XᵀY W, of centred features (and points) unless said otherwise."""
        totals = W.sum(axis=0)
        product = 2.0 * (self.xtb @ W) - np.multiply.outer(self.shifted_sum, totals)
        sums = self.labels.sums @ W
        if centre:
            mean = self.shifted_sum / self.n if self.n else self.shifted_sum
            return product - np.multiply.outer(mean, sums)
        return product + np.multiply.outer(self.shifts, sums)

    def image_moments(self, Z: Array) -> tuple[Array, Array]:
        """Return ZᵀXᵀXZ of centred features, and BᵀXZ."""
        sums = self.shifted_sum @ Z
        gram = Z.T @ (self.xtx @ Z) - np.multiply.outer(sums, sums / max(self.n, 1.0))
        label_sums = self.xtb.T @ Z + np.multiply.outer(self.labels.counts, self.shifts @ Z)
        return gram, label_sums

    def occurrences(self) -> Any:
        """Return XᵀB as a CSR array of shape (D, L)."""
        return sp.csr_array(self.xtb + np.multiply.outer(self.shifts, self.labels.counts))

    def select_labels(self, columns: Array) -> Self:
        """Keep the given labels, in the given order."""
        labels = self.labels.select(columns)
        if labels is self.labels:
            return self
        return replace(self, labels=labels, xtb=self.xtb[:, columns])


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

    def _both(self, dtype: Any) -> tuple[ThreadedProduct, ThreadedProduct]:
        """Return X and XᵀW, ready to multiply arrays of a precision in that precision."""
        narrow = np.float32 if dtype == np.float32 else np.float64
        known = self.__dict__.setdefault("_products", {})
        if narrow not in known:
            weighted = sp.csr_array(self.X * self.weights[:, None])
            pair = self.X.astype(narrow, copy=False), weighted.T.tocsr().astype(narrow)
            known[narrow] = ThreadedProduct(pair[0]), ThreadedProduct(pair[1])
        return known[narrow]

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
        labels = self.labels.select(columns)
        if labels is self.labels:
            return self
        return replace(self, labels=labels, shares=sp.csr_array(self.shares[:, columns]))


#: What a model is solved from: matrices or rows.
RealMoments = MatrixMoments | RowMoments
