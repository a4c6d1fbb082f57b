"""The two forms of the moments: matrices, or the sparse rows themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.arrays import Place, namespace, place_of, to_numpy
from grople.fingerprints import canonical, match_rows, row_fingerprints
from grople.moments.labels import ROUNDING, LabelMoments
from grople.moments.products import ThreadedProduct
from grople.moments.view import FeatureView

__all__ = ["ExplicitMoments", "ImplicitMoments", "Moments"]

Array = NDArray[Any]

#: Bytes that the explicit matrices may take before the implicit form is chosen.
MEMORY_BUDGET = 2 * 2**30
#: Values in a block of rows, at least and at most.
BLOCK_VALUES = (1 << 18, 1 << 22)
#: Time of one multiply-add in a sparse product relative to one in a dense product.
SPARSE_COST = 40.0


@dataclass(frozen=True)
class Moments(ABC):
    """Moments of features and labels: add them, subtract them, learn from them.

    Build them with :meth:`from_data`.

    Attributes
    ----------
    labels : LabelMoments
        n, Bᵀ1 and BᵀB.
    feature_sum : ndarray of shape (D,)
        Σx.
    feature_squares : ndarray of shape (D,)
        Σx², the diagonal of XᵀX.

    Examples
    --------
    >>> import numpy as np
    >>> X, B = np.arange(8.0).reshape(4, 2), np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    >>> whole = Moments.from_data(X, B)
    >>> parts = Moments.from_data(X[:1], B[:1]) + Moments.from_data(X[1:], B[1:])
    >>> np.array_equal(whole.gram(np.eye(2)), parts.gram(np.eye(2)))
    True
    """

    labels: LabelMoments
    feature_sum: Array
    feature_squares: Array

    form = "abstract"

    @staticmethod
    def from_data(
        X: Any,
        B: Any,
        sample_weight: Array | None = None,
        *,
        form: str = "auto",
        memory_budget: int = MEMORY_BUDGET,
        place: Place | None = None,
    ) -> Moments:
        """Compute the moments of rows.

        Parameters
        ----------
        X : array or sparse array of shape (n_rows, D)
            Features, any real dtype; products are accumulated in float64, X is never copied whole.
        B : array or sparse array of shape (n_rows, L)
            Labels, zeros and ones.
        sample_weight : ndarray of shape (n_rows,), optional
            Non-negative weights.
        form : {"auto", "explicit", "implicit"}
            ``auto`` takes the implicit form for sparse X whose matrices would exceed the budget.
        memory_budget : int
            Bytes that the explicit matrices may take.
        place : Place, optional
            Where to multiply the matrices of the explicit form; where X lies unless given.
        """
        if X.shape[0] != B.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows but the labels have {B.shape[0]}")
        if form == "auto":
            n_bytes = 8 * X.shape[1] * (X.shape[1] + B.shape[1])
            form = "implicit" if sp.issparse(X) and n_bytes > memory_budget else "explicit"
        if form == "implicit":
            return ImplicitMoments._of_rows(to_numpy(X), B, sample_weight)
        if form == "explicit":
            return ExplicitMoments._of_rows(X, B, sample_weight, place or place_of(X))
        raise ValueError(f"form must be 'auto', 'explicit' or 'implicit', not {form!r}")

    @property
    def n(self) -> int | float:
        """Rows, or their total weight."""
        return self.labels.n

    @property
    def n_features(self) -> int:
        """Number of features (D)."""
        return len(self.feature_sum)

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return self.labels.n_labels

    @abstractmethod
    def gram(self, Z: Array) -> Array:
        """Return XᵀX Z."""

    @abstractmethod
    def cross(self, W: Array) -> Array:
        """Return XᵀB W."""

    @abstractmethod
    def cross_transposed(self, Z: Array) -> Array:
        """Return BᵀX Z."""

    @abstractmethod
    def cross_diagonal(self, Z: Array) -> Array:
        """Return the diagonal of BᵀX Z for a Z with a column a label."""

    @abstractmethod
    def occurrences(self) -> Any:
        """Return XᵀB as a CSR array of shape (D, L)."""

    @abstractmethod
    def gram_matrix(self) -> Array | None:
        """Return XᵀX, or None where it is not to be formed."""

    @abstractmethod
    def select_labels(self, columns: Array) -> Self:
        """Keep the given labels, in the given order."""

    @abstractmethod
    def padded(self, n_labels: int) -> Self:
        """Add labels that no row has carried so far."""

    @abstractmethod
    def _plus(self, other: Any) -> Self: ...

    @abstractmethod
    def _minus(self, other: Any) -> Self: ...

    def signed_cross(self, W: Array) -> Array:
        """Return XᵀY W = 2XᵀB W − Σx (1ᵀW)."""
        return 2.0 * self.cross(W) - np.multiply.outer(self.feature_sum, W.sum(axis=0))

    def view(self, *, centre: bool = False, scale: bool = False) -> FeatureView:
        """Return the moments of centred and scaled features, without forming them."""
        return FeatureView(self, centre, scale)

    def __add__(self, other: Moments) -> Self:
        self._check_alike(other)
        return self._plus(other)

    def __sub__(self, other: Moments) -> Self:
        self._check_alike(other)
        squares = self.feature_squares - other.feature_squares
        # Not relative to each feature: of one whose rows all went before, rounding may be left.
        if np.any(squares < -ROUNDING * self.feature_squares.max(initial=0.0)):
            feature = int(np.argmin(squares))
            raise ValueError(
                f"cannot remove these rows: feature {feature} would be left with a negative sum "
                "of squares; they were not all added before"
            )
        return self._minus(other)

    def _check_alike(self, other: Moments) -> None:
        if self.form != other.form:
            raise ValueError(f"cannot combine {self.form} with {other.form} moments")
        mine, theirs = (self.n_features, self.n_labels), (other.n_features, other.n_labels)
        if mine != theirs:
            raise ValueError(f"cannot combine moments of shapes (D, L) = {mine} and {theirs}")


@dataclass(frozen=True)
class ExplicitMoments(Moments):
    """Moments as matrices: XᵀX (D×D) and XᵀB (D×L). Their size does not depend on N."""

    xtx: Array
    xtb: Array

    form = "explicit"

    @classmethod
    def _of_rows(
        cls, X: Any, B: Any, weights: Array | None, place: Place | None = None
    ) -> ExplicitMoments:
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


@dataclass(frozen=True)
class ImplicitMoments(Moments):
    """Moments as the sparse rows themselves: products with X instead of a D×D matrix.

    Adding keeps the rows, subtracting removes them (matched by content), so both are exact; a
    product costs O(nnz) for each column.
    """

    rows: Any
    marks: Any
    weights: Array | None

    form = "implicit"

    @classmethod
    def _of_rows(cls, X: Any, B: Any, weights: Array | None) -> ImplicitMoments:
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


def _ones_or(weights: Array | None, rows: Any) -> Array:
    return np.ones(rows.shape[0]) if weights is None else weights
