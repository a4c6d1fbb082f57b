"""Moments as the sparse rows themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.arrays import Place, to_numpy
from grople.fingerprints import canonical, match_rows, row_fingerprints
from grople.moments.abstract import MEMORY_BUDGET, Moments, matrix_bytes
from grople.moments.explicit import ExplicitMoments
from grople.moments.labels import LabelMoments
from grople.moments.products import ThreadedProduct

__all__ = ["ImplicitMoments", "better_in_rows"]

Array = NDArray[Any]

#: Features from which on a matrix of all pairs takes longer than products with sparse rows, as
#: long as these have less than such a share of its entries (then they take less memory, too).
MANY_FEATURES, SMALL_SHARE = 1000, 0.2


def better_in_rows(X: Any) -> bool:
    """Return whether sparse rows are better kept than the products of all pairs of features.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> better_in_rows(sp.random_array((500, 2000), density=0.01, format="csr"))
    True
    >>> better_in_rows(sp.random_array((500, 200), density=0.01, format="csr"))
    False
    """
    D = X.shape[1]
    return bool(sp.issparse(X) and D > MANY_FEATURES and X.nnz < SMALL_SHARE * D * D)


@dataclass(frozen=True)
class ImplicitMoments(Moments, form="implicit"):
    """Moments as the sparse rows themselves: products with X instead of a D×D matrix.

    Adding keeps the rows, subtracting removes them (matched by content), so both are exact; a
    product costs O(nnz) for each column.
    """

    rows: Any
    marks: Any
    weights: Array | None

    @classmethod
    def _of_rows(
        cls, X: Any, B: Any, weights: Array | None, place: Place | None = None
    ) -> ImplicitMoments:
        X = to_numpy(X)
        X = canonical(sp.csr_array(X)).astype(np.float64, copy=False)
        B = sp.csr_array(B).astype(np.float64)
        squares = X.power(2)
        ones = np.ones(X.shape[0]) if weights is None else weights
        labels = LabelMoments.from_labels(B, weights)
        return cls(labels, X.T @ ones, squares.T @ ones, X, B, weights)

    def __getstate__(self) -> dict[str, Any]:
        # What is only there to multiply faster is made again where it is needed.
        return {name: value for name, value in self.__dict__.items() if name != "_products"}

    @cached_property
    def _products(self) -> dict[Any, tuple[ThreadedProduct, ThreadedProduct]]:
        return {}

    def _both(self, dtype: Any) -> tuple[ThreadedProduct, ThreadedProduct]:
        """Return X and XᵀW, ready to multiply arrays of a precision in that precision."""
        narrow = np.float32 if dtype == np.float32 else np.float64
        if narrow not in self._products:
            weighted = (
                self.rows
                if self.weights is None
                else sp.csr_array(self.rows * self.weights[:, None])
            )
            pair = self.rows.astype(narrow, copy=False), weighted.T.tocsr().astype(narrow)
            self._products[narrow] = ThreadedProduct(pair[0]), ThreadedProduct(pair[1])
        return self._products[narrow]

    def images(self, Z: Array) -> Array:
        """Return X Z."""
        return self._both(Z.dtype)[0] @ Z

    def pull(self, A: Array) -> Array:
        """Return XᵀW A, W the weights of the rows."""
        return self._both(A.dtype)[1] @ A

    def gram(self, Z: Array) -> Array:
        """Return XᵀX Z by two products with the rows."""
        return self.pull(self.images(Z))

    def cross(self, W: Array) -> Array:
        """Return XᵀB W."""
        return self.pull(self.marks @ W)

    def cross_transposed(self, Z: Array) -> Array:
        """Return BᵀX Z."""
        images = self.images(Z)
        if self.weights is not None:
            images *= self.weights[:, None]
        return self.marks.T @ images

    def cross_diagonal(self, Z: Array) -> Array:
        """Return the diagonal of BᵀX Z for a Z with a column a label."""
        return np.asarray(self.occurrences().multiply(Z).sum(axis=0))

    def occurrences(self) -> Any:
        """Return XᵀB as a CSR array of shape (D, L)."""
        return sp.csr_array(self._both(np.float64)[1].matrix @ self.marks)

    def gram_matrix(self) -> None:
        """Return None: the matrix is not to be formed."""
        return None

    def in_matrices(self) -> ExplicitMoments:
        """Return the explicit form."""
        return ExplicitMoments._of_rows(self.rows, self.marks, self.weights)

    @property
    def bounded(self) -> bool:
        """Whether the explicit form would fit."""
        return matrix_bytes(self.n_features, self.n_labels) <= MEMORY_BUDGET

    @property
    def outgrown(self) -> bool:
        """Whether matrices would take less time and memory than the rows that are kept."""
        return self.bounded and not better_in_rows(self.rows)

    def select_labels(self, columns: Array) -> Self:
        """Keep the given labels, in the given order."""
        marks = sp.csr_array(self.marks[:, columns])
        return replace(self, labels=self.labels.select(columns), marks=marks)

    def padded(self, n_labels: int) -> Self:
        """Add labels that no row has carried so far."""
        if n_labels == self.n_labels:
            return self
        marks = self.marks.copy()
        marks.resize((marks.shape[0], n_labels))
        return replace(self, labels=self.labels.padded(n_labels), marks=marks)

    def _plus(self, other: ImplicitMoments) -> Self:
        weights = None
        if self.weights is not None or other.weights is not None:
            weights = np.concatenate([_ones_or(m.weights, m.rows) for m in (self, other)])
        return type(self)(
            self.labels + other.labels,
            self.feature_sum + other.feature_sum,
            self.feature_squares + other.feature_squares,
            sp.vstack([self.rows, other.rows], format="csr"),
            sp.vstack([self.marks, other.marks], format="csr"),
            weights,
        )

    def _minus(self, other: ImplicitMoments) -> Self:
        mine = row_fingerprints(self.rows, self.marks, self.weights)
        theirs = row_fingerprints(other.rows, other.marks, other.weights)
        keep = np.ones(len(mine), dtype=bool)
        keep[match_rows(mine, theirs)] = False
        weights = None if self.weights is None else self.weights[keep]
        return type(self)._of_rows(self.rows[keep], self.marks[keep], weights)  # type: ignore[return-value]


def _ones_or(weights: Array | None, rows: Any) -> Array:
    return np.ones(rows.shape[0]) if weights is None else weights
