"""Centred and scaled features, as maps of their moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments.products import ViewedRows

if TYPE_CHECKING:
    from grople.moments.abstract import Moments

__all__ = ["FeatureView"]

Array = NDArray[Any]

#: Variance, relative to the mean square, below which a feature is taken for constant: a
#: difference of sums is known to about 1e-15 of them.
SMALLEST_VARIANCE = 1e-12


@dataclass(frozen=True)
class FeatureView:
    """Moments of centred and scaled features ``S(x − μ)``, as stage 3 sees them.

    An intercept without penalty is centring; standardisation is scaling. Neither touches a row.
    """

    moments: Moments
    centre: bool
    standardise: bool

    @cached_property
    def mean(self) -> Array:
        """μ, zero unless centred."""
        if not self.centre or not self.moments.n:
            return np.zeros(self.moments.n_features)
        return self.moments.feature_sum / self.moments.n

    @cached_property
    def scale(self) -> Array:
        """Diagonal of S: one over the standard deviation, one for constant features."""
        ones = np.ones(self.moments.n_features)
        if not self.standardise or not self.moments.n:
            return ones
        n = self.moments.n
        mean_square = self.moments.feature_squares / n
        variance = mean_square - (self.moments.feature_sum / n) ** 2
        varies = variance > SMALLEST_VARIANCE * mean_square
        return np.divide(1.0, np.sqrt(variance, where=varies, out=ones), where=varies, out=ones)

    def gram(self, Z: Array) -> Array:
        """Return S(XᵀX − nμμᵀ)S Z."""
        return self._scaled(self._centred_gram(self._scaled(Z)))

    def gram_matrix(self) -> Array | None:
        """Return a fresh copy of S(XᵀX − nμμᵀ)S, or None in the implicit form."""
        matrix = self.moments.gram_matrix()
        if matrix is None:
            return None
        matrix = matrix.copy()
        if self.centre:
            matrix -= np.multiply.outer(self.moments.n * self.mean, self.mean)
        if self.standardise:
            matrix *= self.scale
            matrix *= self.scale[:, None]
        return matrix

    def gram_diagonal(self) -> Array:
        """Return the diagonal of the Gram matrix."""
        centred = self.moments.feature_squares - self.moments.n * self.mean**2
        return np.maximum(centred, 0.0) * self.scale**2

    def target(self, W: Array) -> Array:
        """Return S(X − 1μᵀ)ᵀ U for the points U = YW."""
        product = self.moments.signed_cross(W)
        if self.centre:
            product -= np.multiply.outer(self.mean, self.moments.labels.sums @ W)
        return self._scaled(product)

    # What follows needs the rows themselves, which the implicit form keeps. Rows count by the
    # square roots of their weights, so that X̃ᵀX̃ is the Gram matrix above.

    @cached_property
    def _roots(self) -> Array:
        weights = self.moments.weights  # type: ignore[attr-defined]
        n_rows = self.moments.rows.shape[0]  # type: ignore[attr-defined]
        return np.ones(n_rows) if weights is None else np.sqrt(weights)

    @cached_property
    def _viewed(self) -> dict[Any, ViewedRows]:
        return {}

    def viewed(self, dtype: Any) -> ViewedRows:
        """Return X̃, ready to multiply arrays of a precision in that precision."""
        if dtype not in self._viewed:
            rows = sp.csr_array(self.moments.rows, dtype=dtype, copy=True)  # type: ignore[attr-defined]
            rows.data *= self.scale.astype(dtype)[rows.indices]
            rows.data *= np.repeat(self._roots.astype(dtype), np.diff(rows.indptr))
            mean = (self.mean * self.scale).astype(dtype)
            self._viewed[dtype] = ViewedRows(rows, mean, self._roots.astype(dtype))
        return self._viewed[dtype]

    def points(self, W: Array) -> Array:
        """Return the (centred) points U = YW of the rows, a row each."""
        points = np.asarray(self.moments.marks @ W)  # type: ignore[attr-defined]
        points *= 2.0
        points -= W.sum(axis=0)
        if self.centre:
            points -= self.moments.labels.sums @ W / self.moments.n
        if self.moments.weights is not None:  # type: ignore[attr-defined]
            points *= self._roots[:, None]
        return points

    def row_squares(self) -> Array:
        """Return ‖x̃‖² of each row."""
        viewed = self.viewed(np.float32)
        own = np.asarray(viewed.rows.power(2).sum(axis=1), dtype=np.float64).ravel()
        mean, root = viewed.span[:, 1].astype(np.float64), self._roots
        square = float((self.mean * self.scale) @ (self.mean * self.scale))
        return np.maximum(own - 2.0 * root * mean + root**2 * square, 0.0)

    def kernel(self, A: Array) -> Array:
        """Return X̃X̃ᵀ A, X̃ the viewed rows."""
        return self.viewed(A.dtype).kernel(A)

    def kernel_matrix(self) -> Array:
        """Return X̃X̃ᵀ as a matrix, where rows are few."""
        return self.viewed(np.dtype(np.float64)).kernel_matrix()

    def images(self, Z: Array) -> Array:
        """Return X̃ Z."""
        return self.viewed(Z.dtype).images(Z)

    def lift(self, A: Array) -> Array:
        """Return X̃ᵀ A."""
        return self.viewed(A.dtype).lift(A)

    def in_raw_units(self, Z: Array) -> Array:
        """Return the map for raw features that equals Z for viewed ones."""
        return self._scaled(Z)

    def _centred_gram(self, Z: Array) -> Array:
        product = self.moments.gram(Z)
        if self.centre:
            mean = self.mean.astype(Z.dtype)
            product -= np.multiply.outer(Z.dtype.type(self.moments.n) * mean, mean @ Z)
        return product

    def _scaled(self, Z: Array) -> Array:
        return Z * self.scale.astype(Z.dtype)[:, None] if self.standardise else Z
