"""Moments as matrices: XᵀX and XᵀB, whatever the number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.arrays import Place, namespace, place_of, to_numpy
from grople.moments.abstract import Moments
from grople.moments.labels import LabelMoments

__all__ = ["ExplicitMoments"]

Array = NDArray[Any]

#: Values in a block of rows, at least and at most.
BLOCK_VALUES = (1 << 18, 1 << 22)
#: Time of one multiply-add in a sparse product relative to one in a dense product.
SPARSE_COST = 40.0


@dataclass(frozen=True)
class ExplicitMoments(Moments, form="explicit"):
    """Moments as matrices: XᵀX (D×D) and XᵀB (D×L). Their size does not depend on N."""

    xtx: Array
    xtb: Array

    @classmethod
    def _of_rows(
        cls, X: Any, B: Any, weights: Array | None, place: Place | None = None
    ) -> ExplicitMoments:
        place = place or place_of(X)
        B = sp.csr_array(B)
        D, L = X.shape[1], B.shape[1]
        if sp.issparse(X):
            X = sp.csr_array(X)
        dense = place is not None or not sp.issparse(X) or _cheaper_dense(X)
        labels = LabelMoments.from_labels(B, weights)
        xtx, xtb, feature_sum = (_put(np.zeros(n), place) for n in ((D, D), (D, L), D))
        for rows in _row_blocks(X, L, dense):
            block = _put(_dense(X[rows, :]) if dense else X[rows], place)
            marks = _put(B[rows], place)
            if weights is None:
                feature_sum += _column_sums(block)
            else:
                # √w on both sides keeps XᵀX a product of one matrix with itself.
                root = _put(np.sqrt(weights[rows]), place)
                block, marks = (_rows_times(root, part) for part in (block, marks))
                feature_sum += root @ block
            _add(xtx, block.T @ block)
            _add(xtb, block.T @ marks)
        xtx, xtb, feature_sum = (
            np.asarray(to_numpy(part), dtype=np.float64) for part in (xtx, xtb, feature_sum)
        )
        return cls(labels, feature_sum, xtx.diagonal().copy(), xtx, xtb)

    def gram(self, Z: Array) -> Array:
        """Return XᵀX Z."""
        return self.xtx @ Z

    def cross(self, W: Array) -> Array:
        """Return XᵀB W."""
        return self.xtb @ W

    def cross_transposed(self, Z: Array) -> Array:
        """Return BᵀX Z."""
        return self.xtb.T @ Z

    def cross_diagonal(self, Z: Array) -> Array:
        """Return the diagonal of BᵀX Z for a Z with a column a label."""
        return np.einsum("ij,ij->j", self.xtb, Z)

    def occurrences(self) -> Any:
        """Return XᵀB as a CSR array of shape (D, L)."""
        return sp.csr_array(self.xtb)

    def gram_matrix(self) -> Array:
        """Return XᵀX."""
        return self.xtx

    def in_matrices(self) -> Self:
        """Return itself."""
        return self

    def select_labels(self, columns: Array) -> Self:
        """Keep the given labels, in the given order."""
        return replace(self, labels=self.labels.select(columns), xtb=self.xtb[:, columns])

    def padded(self, n_labels: int) -> Self:
        """Add labels that no row has carried so far."""
        if n_labels == self.n_labels:
            return self
        xtb = np.pad(self.xtb, ((0, 0), (0, n_labels - self.n_labels)))
        return replace(self, labels=self.labels.padded(n_labels), xtb=xtb)

    def _plus(self, other: ExplicitMoments) -> Self:
        return self._combined(self.labels + other.labels, other, 1.0)

    def _minus(self, other: ExplicitMoments) -> Self:
        labels = self.labels - other.labels
        return self._combined(labels, other, -1.0 if labels.n else 0.0)

    def _combined(self, labels: LabelMoments, other: ExplicitMoments, sign: float) -> Self:
        if not sign:  # every row was removed: leave zeros, not rounding
            xtx, xtb = np.zeros_like(self.xtx), np.zeros_like(self.xtb)
            sums = np.zeros_like(self.feature_sum)
        else:
            xtx = self.xtx + other.xtx if sign > 0 else self.xtx - other.xtx
            xtb = self.xtb + other.xtb if sign > 0 else self.xtb - other.xtb
            sums = self.feature_sum + sign * other.feature_sum
        return type(self)(labels, sums, xtx.diagonal().copy(), xtx, xtb)


def _row_blocks(X: Any, n_labels: int, dense: bool) -> Iterator[slice]:
    """Yield blocks of rows that hold about as many values as the moments themselves."""
    n_rows, D = X.shape
    per_row = D if dense else X.nnz / max(n_rows, 1)
    values = np.clip(D * (D + n_labels), *BLOCK_VALUES)
    size = max(1, int(values / max(per_row, 1.0)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def _cheaper_dense(X: Any) -> bool:
    per_row = np.diff(X.indptr).astype(np.float64)
    return bool(SPARSE_COST * np.sum(per_row**2) > float(X.shape[0]) * X.shape[1] ** 2)


def _rows_times(weights: Array, matrix: Any) -> Any:
    return (
        sp.csr_array(matrix * weights[:, None])
        if sp.issparse(matrix)
        else matrix * weights[:, None]
    )


def _add(total: Array, product: Any) -> None:
    if sp.issparse(product) and 8 * product.nnz < total.size:
        product = product.tocoo()
        total[product.row, product.col] += product.data  # a product has no duplicate entries
    else:
        total += _dense(product)


def _put(matrix: Any, place: Place | None) -> Any:
    """Return a matrix in the widest type, at home or at a place."""
    if place is None:
        return matrix.astype(np.float64, copy=False)
    return place.array(matrix, place.floats(wide=True))


def _column_sums(matrix: Any) -> Any:
    return matrix.sum(axis=0) if sp.issparse(matrix) else namespace(matrix).sum(matrix, axis=0)


def _dense(matrix: Any) -> Array:
    return matrix.toarray() if sp.issparse(matrix) else matrix
