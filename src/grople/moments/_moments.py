"""Second moments as exact sums of whole numbers, and as the real matrices that models see."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments._exact import LARGEST_SUM, ExactSum
from grople.moments._grid import LEADING_BITS, Grid
from grople.moments._labels import DENSE_LABELS, LabelMoments

__all__ = ["MatrixMoments", "Moments"]

Array = NDArray[Any]

#: Values in a block of rows, at least and at most.
BLOCK_VALUES = (1 << 17, 1 << 19)
#: Time of one multiply-add in a sparse product relative to one in a dense product.
SPARSE_COST = 40.0
#: The largest weight that counts as a number of rows.
MOST_COPIES = 1 << 20
#: Names of the sums, with what they are products of.
SUMS = ("weight", "counts", "pairs", "feature_sum", "gram", "cross")


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
    def empty(cls, D: int, L: int) -> WholeSums:
        """Return the sums of no rows."""
        pairs = np.zeros((L, L)) if L <= DENSE_LABELS else sp.csr_array((L, L))
        arrays = np.zeros(1), np.zeros(L), pairs, np.zeros(D), np.zeros((D, D)), np.zeros((D, L))
        return cls(0, *(ExactSum(values) for values in arrays))

    def with_rows(self, rows: Any, B: Any, roots: Array | None) -> WholeSums:
        """Add rows on the grid, with labels as zeros and ones."""
        B = sp.csr_array(B, dtype=np.float64)
        if roots is None:
            roots = np.ones(rows.shape[0])
        else:
            B = sp.csr_array(B.multiply(roots[:, None]))
        found = self._with_rows(rows, B, roots)
        return replace(found, n_rows=self.n_rows + rows.shape[0])

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
        x, b = (np.asarray(sp.csr_array(part).todense()).ravel() for part in (row, b))
        products = (
            np.array([root**2]), root * b, _pairs_of(b, sp.issparse(self.pairs.low)), root * x,
            np.multiply.outer(x, x), np.multiply.outer(x, b),
        )  # fmt: skip
        sums = {
            name: getattr(self, name).plus_large(values)
            for name, values in zip(SUMS, products, strict=True)
        }
        return replace(self, **sums)

    def combined(self, other: WholeSums, sign: int) -> WholeSums:
        """Add (1) or subtract (−1) the sums of other rows."""
        sums = {
            name: getattr(self, name) + getattr(other, name) if sign > 0
            else getattr(self, name) - getattr(other, name)
            for name in SUMS
        }  # fmt: skip
        return WholeSums(self.n_rows + sign * other.n_rows, **sums)

    def padded(self, n_labels: int) -> WholeSums:
        """Add labels that no row has carried so far."""
        more = n_labels - self.counts.low.shape[0]
        if not more:
            return self

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
        squares = np.diagonal(self.gram.real()) if self.gram.low.size else np.zeros(0)
        if self.n_rows < 0:
            return f"only {-self.n_rows} fewer rows were added"
        if len(counts) and (counts.min() < 0 or counts.max() > n):
            wrong = int(np.flatnonzero((counts < 0) | (counts > n))[0])
            return f"label {wrong} would be left with a count of {counts[wrong]:g} of {n:g} rows"
        if len(squares) and squares.min() < 0:
            return f"feature {int(squares.argmin())} would be left with a negative sum of squares"
        pairs = self.pairs.real()
        if (pairs.data if sp.issparse(pairs) else pairs).min(initial=0) < 0:
            return "two labels would be left together on a negative number of rows"
        if not self.n_rows and any(_any(part) for name in SUMS
                                   for part in getattr(self, name).parts()):  # fmt: skip
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
        if not n_rows:
            return cls()
        weights = np.ones(n_rows) if weights is None else weights
        copies = np.ones(n_rows) if copies is None else copies
        whole = (weights == np.rint(weights)) & (weights <= MOST_COPIES)
        parts = []
        for some in (np.flatnonzero(whole), np.flatnonzero(~whole)):
            every = slice(None) if len(some) == n_rows else some  # spares a copy of all rows
            times, own = copies[every], None if whole[every].all() else weights[every]
            counted = times * weights[every] if own is None else times
            found = _repeated(X[every], B[every], own, counted, grid) if len(some) else None
            parts.append(found and replace(found, n_rows=int(times.sum())))
        return cls(*parts)

    def __add__(self, other: Moments) -> Self:
        return self._combined(other, 1)

    def __sub__(self, other: Moments) -> Self:
        return self._combined(other, -1)

    def _combined(self, other: Moments, sign: int) -> Self:
        parts = []
        for mine, theirs in ((self.plain, other.plain), (self.weighted, other.weighted)):
            if theirs is None:
                parts.append(mine)
                continue
            if mine is None and sign < 0:
                raise ValueError("cannot remove rows of a weight that no row was added with")
            both = theirs if mine is None else mine.combined(theirs, sign)
            complaint = both.complaint() if sign < 0 else None
            if complaint:
                raise ValueError(f"cannot remove these rows: {complaint}; they were not all added")
            parts.append(both if both.n_rows else None)
        return type(self)(*parts)

    def arrays(self) -> list[Any]:
        """Return all arrays of whole numbers."""
        return [
            part
            for sums in (self.plain, self.weighted)
            if sums is not None
            for name in SUMS
            for part in getattr(sums, name).parts()
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
        if len(columns) == self.n_labels:
            return self
        return replace(self, labels=self.labels.select(columns), xtb=self.xtb[:, columns])


def _repeated(X: Any, B: Any, weights: Array | None, copies: Array, grid: Grid) -> WholeSums:
    """Sum up rows that count several times, by the binary digits of their numbers."""
    copies = copies.astype(np.int64)
    if copies.max() == 1:
        return _blockwise(X, B, weights, grid)
    found = WholeSums.empty(X.shape[1], B.shape[1])
    for digit in reversed(range(int(copies.max()).bit_length())):
        found = found.combined(found, 1)
        some = np.flatnonzero((copies >> digit) & 1)
        if len(some):
            own = None if weights is None else weights[some]
            found = found.combined(_blockwise(X[some], B[some], own, grid), 1)
    return found


def _blockwise(X: Any, B: Any, weights: Array | None, grid: Grid) -> WholeSums:
    """Put rows on the grid a block at a time: X is never copied whole."""
    n_rows, D = X.shape
    size = n_rows if sp.issparse(X) and not grid.shifts.any() else max(1, BLOCK_VALUES[1] // D)
    found = WholeSums.empty(D, B.shape[1])
    for first in range(0, n_rows, size):
        rows = slice(first, first + size)
        whole, roots = grid.whole(X[rows], None if weights is None else weights[rows])
        found = found.with_rows(whole, B[rows], roots)
    return found


def _gram_with(gram: ExactSum, rows: Any) -> ExactSum:
    """Add XᵀX of rows in blocks so short that no sum of one leaves the exact numbers."""
    D, dense = rows.shape[1], _dense_is_faster(rows)
    per_row = D if dense else max(rows.nnz / rows.shape[0], 1.0)
    size = max(1, int(np.clip(D**2, *BLOCK_VALUES) / per_row))
    waiting = [slice(i, i + size) for i in range(0, rows.shape[0], size)][::-1]
    total: Any = None
    bound = 0.0
    while waiting:
        where = waiting.pop()
        block = rows[where]
        squares, n = _largest_squares(block), block.shape[0]
        if squares > LARGEST_SUM / 2 and n > 1:
            middle = where.start + n // 2
            waiting += [slice(middle, where.start + n), slice(where.start, middle)]
            continue
        if total is not None and bound + squares > LARGEST_SUM:
            gram, total, bound = gram + ExactSum(total), None, 0.0
        if dense and sp.issparse(block):
            block = block.toarray()
        product = _dense(block.T @ block)
        total = product if total is None else total + product
        bound += squares
    return gram if total is None else gram + ExactSum(total)


def _dense_is_faster(rows: Any) -> bool:
    if not sp.issparse(rows):
        return True
    per_row = np.diff(rows.indptr).astype(np.float64)
    return bool(SPARSE_COST * np.sum(per_row**2) > float(rows.shape[0]) * rows.shape[1] ** 2)


def _largest_in_rows(rows: Any) -> Array:
    if sp.issparse(rows):
        return np.asarray(abs(rows).max(axis=1).toarray()).ravel() if rows.shape[0] else np.zeros(0)
    return np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))


def _largest_squares(rows: Any) -> float:
    """Return a bound of every sum of products, by Cauchy and Schwarz."""
    if sp.issparse(rows):
        squares = np.bincount(rows.indices, np.square(rows.data), minlength=rows.shape[1])
    else:
        squares = np.einsum("ij,ij->j", rows, rows)
    return float(squares.max(initial=0.0))


def _pairs_of(b: Array, sparse: bool) -> Any:
    row = sp.csr_array(b[None])
    return sp.csr_array(row.T @ row) if sparse else np.multiply.outer(b, b)


def _any(values: Any) -> bool:
    return bool((values.data if sp.issparse(values) else values).any())


def _dense(matrix: Any) -> Array:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
