"""Second moments as exact sums of whole numbers: they add and subtract without a trace."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments._exact import LARGEST_SUM, ExactSum, added
from grople.moments._grid import LEADING_BITS, Grid
from grople.moments._labels import DENSE_LABELS, LabelMoments
from grople.moments._real import MatrixMoments

__all__ = ["Moments", "WholeSums"]

Array = NDArray[Any]

#: Values in a block of rows, at least and at most.
BLOCK_VALUES = (1 << 17, 1 << 19)
#: Time of one multiply-add in a sparse product relative to one in a dense product.
SPARSE_COST = 40.0
#: The largest weight that counts as a number of rows.
MOST_COPIES = 1 << 20


@dataclass(frozen=True)
class WholeSums:
    """One Gram matrix of whole-number rows ``[x | b | r]``, by its parts; r is 1 or a root."""

    n_rows: int
    weight: ExactSum
    counts: ExactSum
    pairs: ExactSum
    feature_sum: ExactSum
    gram: ExactSum
    cross: ExactSum

    @classmethod
    def of(cls, X: Any, B: Any, weights: Array | None, copies: Array, grid: Grid) -> WholeSums:
        """Sum up rows that count several times, a block at a time: X is never copied whole."""
        (n_rows, D), L = X.shape, B.shape[1]
        height = n_rows if sp.issparse(X) and not grid.shifts.any() else BLOCK_VALUES[1] // D
        pairs = np.zeros((L, L)) if L <= DENSE_LABELS else sp.csr_array((L, L))
        arrays = np.zeros(1), np.zeros(L), pairs, np.zeros(D), np.zeros((D, D)), np.zeros((D, L))
        found = cls(0, *(ExactSum(values) for values in arrays))
        digits = int(copies.max()).bit_length()
        for digit in reversed(range(digits)):  # of the numbers of copies
            if digit < digits - 1:
                found = found + found
            some = np.flatnonzero((copies.astype(np.int64) >> digit) & 1)
            for first in range(0, len(some), max(1, height)):
                rows: Any = some[first : first + max(1, height)]
                if len(some) == n_rows:
                    rows = slice(first, first + len(rows))  # spares a copy
                whole, roots = grid.whole(X[rows], None if weights is None else weights[rows])
                marks = sp.csr_array(B[rows], dtype=np.float64)
                if roots is None:
                    roots = np.ones(whole.shape[0])
                else:
                    marks = sp.csr_array(marks.multiply(roots[:, None]))
                found = found._with_rows(whole, marks, roots)
        return replace(found, n_rows=int(copies.sum()))

    def _with_rows(self, rows: Any, B: Any, roots: Array) -> WholeSums:
        largest = np.maximum(_largest_in_rows(rows), roots)
        if not len(largest):
            return self
        if largest.max() >= 2.0**LEADING_BITS:
            usual, found = np.flatnonzero(largest < 2.0**LEADING_BITS), self
            for row in np.flatnonzero(largest >= 2.0**LEADING_BITS):
                found = found._with_large_row(rows[[row]], B[[row]], roots[row])
            return found._with_rows(rows[usual], B[usual], roots[usual])
        if len(roots) * float(largest.max() * roots.max()) > LARGEST_SUM:
            middle = len(roots) // 2
            found = self._with_rows(rows[:middle], B[:middle], roots[:middle])
            return found._with_rows(rows[middle:], B[middle:], roots[middle:])
        pairs = sp.csr_array(B.T @ B)
        return replace(
            self,
            weight=self.weight + ExactSum(np.array([roots @ roots])),
            counts=self.counts + ExactSum(roots @ B),
            pairs=self.pairs + ExactSum(pairs if sp.issparse(self.pairs.low) else pairs.toarray()),
            feature_sum=self.feature_sum + ExactSum(np.asarray(roots @ rows)),
            gram=_gram_with(self.gram, rows),
            cross=self.cross + ExactSum(_dense(rows.T @ B)),
        )

    def _with_large_row(self, row: Any, b: Any, root: float) -> WholeSums:
        pairs = sp.csr_array(b.T @ b)
        x, b = _dense(row).ravel(), b.toarray().ravel()
        products = {
            "weight": np.array([root**2]),
            "counts": root * b,
            "pairs": pairs if sp.issparse(self.pairs.low) else pairs.toarray(),
            "feature_sum": root * x,
            "gram": np.multiply.outer(x, x),
            "cross": np.multiply.outer(x, b),
        }
        sums = {name: total.plus_large(products[name]) for name, total in self.sums().items()}
        return WholeSums(self.n_rows, **sums)

    def sums(self) -> dict[str, ExactSum]:
        """Return the sums by their names."""
        return {field.name: getattr(self, field.name) for field in fields(self)[1:]}

    def __add__(self, other: WholeSums) -> WholeSums:
        sums = {name: total + getattr(other, name) for name, total in self.sums().items()}
        return WholeSums(self.n_rows + other.n_rows, **sums)

    def __sub__(self, other: WholeSums) -> WholeSums:
        sums = {name: total - getattr(other, name) for name, total in self.sums().items()}
        return WholeSums(self.n_rows - other.n_rows, **sums)

    def padded(self, n_labels: int) -> WholeSums:
        """Add labels that no row has carried so far."""
        more = n_labels - self.counts.low.shape[0]

        def square(values: Any) -> Any:
            if not sp.issparse(values) and n_labels <= DENSE_LABELS:
                return np.pad(values, (0, more))
            wide = sp.csr_array(values)
            wide.resize((n_labels, n_labels))
            return wide

        return replace(
            self,
            counts=self.counts.map(lambda values: np.pad(values, (0, more))),
            pairs=self.pairs.map(square),
            cross=self.cross.map(lambda values: np.pad(values, ((0, 0), (0, more)))),
        )

    def complaint(self) -> str | None:
        """Return what shows that these cannot be the sums of any rows, if anything does."""
        counts, n = self.counts.real(), float(self.weight.real()[0])
        squares, pairs = np.diagonal(self.gram.real()), self.pairs.real()
        impossible = np.flatnonzero((counts < 0) | (counts > n))
        if self.n_rows < 0:
            return f"only {-self.n_rows} fewer rows were added"
        if len(impossible):
            wrong = int(impossible[0])
            return f"label {wrong} would be left with a count of {counts[wrong]:g} of {n:g} rows"
        if squares.min(initial=0.0) < 0:
            return f"feature {int(squares.argmin())} would be left with a negative sum of squares"
        if (pairs.data if sp.issparse(pairs) else pairs).min(initial=0) < 0:
            return "two labels would be left together on a negative number of rows"
        parts = [part for total in self.sums().values() for part in total.parts()]
        if not self.n_rows and any(abs(part).max() > 0 for part in parts if min(part.shape)):
            return "all rows would be gone, but not their sums"
        return None


@dataclass(frozen=True)
class Moments:
    """Exact second moments of rows: they add and subtract without a trace.

    Attributes
    ----------
    plain, weighted : WholeSums or None
        Of the rows whose weights are whole numbers, which count as so many rows, and of the
        others; None where there are none.
    """

    plain: WholeSums | None = None
    weighted: WholeSums | None = None

    @classmethod
    def of(
        cls, X: Any, B: Any, weights: Array | None, grid: Grid, copies: Array | None = None
    ) -> Self:
        """Sum up rows.

        Parameters
        ----------
        X, B : array or sparse array of shape (n_rows, D) and (n_rows, L)
            Features, and labels as zeros and ones.
        weights : ndarray of shape (n_rows,), optional
            Positive weights.
        grid : Grid
            The grid of the features.
        copies : ndarray of shape (n_rows,), optional
            How often each row counts.
        """
        n_rows = X.shape[0]
        weights = np.ones(n_rows) if weights is None else weights
        copies = np.ones(n_rows) if copies is None else copies
        whole = (weights == np.rint(weights)) & (weights <= MOST_COPIES)
        parts: list[WholeSums | None] = []
        for counted, some in ((True, np.flatnonzero(whole)), (False, np.flatnonzero(~whole))):
            if not len(some):
                parts.append(None)
                continue
            rows = slice(None) if len(some) == n_rows else some  # spares a copy of all rows
            times = copies[rows] * weights[rows] if counted else copies[rows]
            found = WholeSums.of(X[rows], B[rows], None if counted else weights[rows], times, grid)
            parts.append(replace(found, n_rows=int(copies[rows].sum())))
        return cls(*parts)

    def __add__(self, other: Moments) -> Self:
        pairs = (self.plain, other.plain), (self.weighted, other.weighted)
        return type(self)(*(added(mine, theirs) for mine, theirs in pairs))

    def __sub__(self, other: Moments) -> Self:
        parts = []
        for mine, theirs in ((self.plain, other.plain), (self.weighted, other.weighted)):
            if theirs is None:
                parts.append(mine)
                continue
            if mine is None:
                raise ValueError("cannot remove rows of a weight that no row was added with")
            rest = mine - theirs
            complaint = rest.complaint()
            if complaint:
                raise ValueError(f"cannot remove these rows: {complaint}; they were not all added")
            parts.append(rest if rest.n_rows else None)
        return type(self)(*parts)

    def arrays(self) -> list[Any]:
        """Return all arrays of whole numbers."""
        there = [part for part in (self.plain, self.weighted) if part is not None]
        return [
            array for part in there for total in part.sums().values() for array in total.parts()
        ]

    def padded(self, n_labels: int) -> Self:
        """Add labels that no row has carried so far."""
        parts = (self.plain, self.weighted)
        return type(self)(*(None if part is None else part.padded(n_labels) for part in parts))

    @property
    def n_rows(self) -> int:
        """Rows, whatever their weights."""
        return sum(part.n_rows for part in (self.plain, self.weighted) if part is not None)

    def real(self, grid: Grid, n_labels: int) -> MatrixMoments:
        """Return the moments as real numbers."""
        D, L = grid.n_features, n_labels
        sums: dict[str, Any] = {}
        units = (1.0, 1.0), (grid.weight_scale, grid.root_unit)
        for part, (scale, root) in zip((self.plain, self.weighted), units, strict=True):
            if part is None:
                continue
            unit = grid.steps * scale
            scaled = {
                "n": part.weight.real()[0] * root**2,
                "counts": part.counts.real() * root**2,
                "pairs": part.pairs.real() * root**2,
                "sum": part.feature_sum.real() * (unit * root),
                "xtx": part.gram.real() * unit * unit[:, None],
                "xtb": part.cross.real() * (unit * root)[:, None],
            }
            sums = {k: sums[k] + v for k, v in scaled.items()} if sums else scaled
        if not sums:
            sums = {"n": 0.0, "counts": np.zeros(L), "pairs": np.zeros((L, L))}
            sums |= {"sum": np.zeros(D), "xtx": np.zeros((D, D)), "xtb": np.zeros((D, L))}
        labels = LabelMoments(float(sums["n"]), sums["counts"], sums["pairs"])
        return MatrixMoments(labels, sums["sum"], sums["xtx"], sums["xtb"], grid.shifts)


def _gram_with(gram: ExactSum, rows: Any) -> ExactSum:
    """Add XᵀX of rows in blocks so short that no sum of one leaves the exact numbers."""
    D, dense = rows.shape[1], not sp.issparse(rows)
    if not dense:
        per_row = np.diff(rows.indptr).astype(np.float64)
        dense = SPARSE_COST * np.sum(per_row**2) > float(rows.shape[0]) * D**2
    width = D if dense else max(rows.nnz / rows.shape[0], 1.0)
    size = max(1, int(np.clip(D**2, *BLOCK_VALUES) / width))
    waiting = [slice(i, i + size) for i in range(0, rows.shape[0], size)][::-1]
    total: Any = None
    bound = 0.0
    while waiting:
        where = waiting.pop()
        block = rows[where]
        # The largest sum of squares bounds every sum of products (Cauchy and Schwarz).
        if sp.issparse(block):
            of_columns = np.bincount(block.indices, np.square(block.data), minlength=D)
        else:
            of_columns = np.einsum("ij,ij->j", block, block)
        squares, n = float(of_columns.max(initial=0.0)), block.shape[0]
        if squares > LARGEST_SUM / 2 and n > 1:
            middle = where.start + n // 2
            waiting += [slice(middle, where.start + n), slice(where.start, middle)]
            continue
        if total is not None and bound + squares > LARGEST_SUM:
            gram, total, bound = gram + ExactSum(total), None, 0.0
        if dense:
            block = _dense(block)
        product = _dense(block.T @ block)
        total = product if total is None else total + product
        bound += squares
    return gram if total is None else gram + ExactSum(total)


def _largest_in_rows(rows: Any) -> Array:
    if sp.issparse(rows):
        return np.asarray(abs(rows).max(axis=1).toarray()).ravel() if rows.shape[0] else np.zeros(0)
    return np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))


def _dense(matrix: Any) -> Array:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
