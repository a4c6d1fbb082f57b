"""Ridge regressions on kept rows: ``Z = X̃ᵀA`` with ``(X̃X̃ᵀ + shift_j) a_j = u_j``.

Where rows are sparse and features many, the space of rows is the smaller one and its matrix needs
few products: a preconditioner takes care of its largest eigenvalues. In it a row is also left out
by arithmetic, without learning anything again.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments import RowMoments
from grople.optim import (
    by_columns,
    conjugate_gradient,
    inverse_diagonal,
    leading_part,
    low_rank,
    orthonormal,
    solve_ridge_systems,
)

__all__ = ["RowSpace", "preconditioner_rank"]

Array = NDArray[Any]

#: Unknowns of a system for each eigenvector in its preconditioner, and the bounds of the latter.
UNKNOWNS, RANKS = 100, (200, 500)
#: Rows up to which the matrix of all pairs of them is formed, if they are no more than the
#: features: a singular matrix plus a small shift would lose digits.
FEW_ROWS = 1000
#: Random vectors on which the leverages of rows are estimated.
PROBES = 64
#: Rows whose leverages are computed at a time.
BLOCK = 1024
#: The least share of a residual that a row may leave: nothing is learnt from that row alone.
LEAST_LEFT = 1e-3
#: Condition of a system up to which rounding in single precision stays below a residual of one.
NARROW_CONDITION = 2e6


def preconditioner_rank(size: int) -> int:
    """Return how many eigenvectors to take care of in a system with so many unknowns.

    Examples
    --------
    >>> preconditioner_rank(1000), preconditioner_rank(24_000), preconditioner_rank(200_000)
    (100, 240, 500)
    """
    return min(int(np.clip(size // UNKNOWNS, *RANKS)), max(size // 10, 1))


class RowSpace:
    """Distinct rows, centred and times the roots of their weights, and systems in their space.

    Single precision is enough for what iterations reach, and halves time and memory.

    Parameters
    ----------
    moments : RowMoments
        The rows.
    centre : bool
        Whether they are centred.
    whole : tuple of RowSpace and ndarray of bool, optional
        The space of more rows, and which of them are here: what leads there nearly leads here.

    Attributes
    ----------
    few : bool
        Whether the matrix of all pairs of rows is formed.
    roots : ndarray of shape (n_rows,)
        √w of each row.
    unit : float
        A power of two near the largest value: squares of X̃ in it fit single precision.
    mean : ndarray of shape (D,)
        The mean of the features in that unit, zero where they are not centred.
    """

    def __init__(
        self,
        moments: RowMoments,
        centre: bool = True,
        whole: tuple[RowSpace, Array] | None = None,
    ) -> None:
        self.moments, self.centre, self.whole = moments, centre, whole
        self.n_rows = int(moments.X.shape[0])
        self.few = self.n_rows <= min(FEW_ROWS, moments.n_features)
        self.roots = np.sqrt(moments.weights)
        largest = float(np.abs(moments.X.data).max(initial=0.0))
        self.unit = float(2.0 ** np.frexp(largest)[1]) if largest else 1.0
        if whole is not None:
            self.unit = whole[0].unit
        self.mean = moments.mean / self.unit if centre else np.zeros(moments.n_features)
        self._rows: dict[Any, CentredRows] = {}

    def rows(self, dtype: Any) -> CentredRows:
        """Return X̃ in units of :attr:`unit`, ready to multiply arrays of a precision."""
        if dtype not in self._rows:
            rows = sp.csr_array(self.moments.X * (1.0 / self.unit), dtype=dtype)
            roots = self.roots.astype(dtype)
            rows.data *= np.repeat(roots, np.diff(rows.indptr))
            self._rows[dtype] = CentredRows(rows, self.mean.astype(dtype), roots)
        return self._rows[dtype]

    @cached_property
    def leading(self) -> tuple[Array, Array]:
        """The largest eigenvalues of X̃X̃ᵀ, in squared units, with their vectors, about right."""
        if self.whole is not None:
            space, here = self.whole
            values, vectors = space.leading
            return values * (self.n_rows / space.n_rows), orthonormal(vectors[here])
        rank = preconditioner_rank(self.n_rows)
        return leading_part(self.rows(np.float32).kernel, self.n_rows, rank, np.float32)

    def points(self, W: Array) -> Array:
        """Return the (centred) points U = YW of the rows, times the roots of their weights."""
        points = np.asarray(self.moments.shares @ W)
        points *= 2.0
        points -= W.sum(axis=0)
        if self.centre:
            points -= self.moments.labels.sums @ W / self.moments.n
        points *= self.roots[:, None]
        return points

    def solve(
        self, W: Array, shifts: Array, tol: float, start: Array | None = None
    ) -> tuple[Array, float]:
        """Return the map to the points YW, a shift for each of their dimensions, and its gap.

        With the residual r of these systems the objective is above its minimum by
        ``rᵀX̃ (X̃ᵀX̃ + shift)⁻¹ X̃ᵀr ≤ ‖r‖²``, so a residual of √tol certifies tol. Where shifts
        are so small that single precision would lose it, double precision says how far it came.

        Parameters
        ----------
        W : ndarray of shape (L, d)
            What makes the points of labels.
        shifts : ndarray of shape (d,)
            Positive weights.
        tol : float
            Certified accuracy relative to ‖U‖²; few rows are solved to rounding.
        start : ndarray of shape (D, d), optional
            A map near the solution.
        """
        points, shifts = self.points(W), shifts / self.unit**2
        if self.few:
            rows = self.rows(np.float64)
            A = solve_ridge_systems(rows.kernel_matrix().T, points, shifts, ratio=np.inf)
            return rows.lift(A) / self.unit, 0.0
        tol = float(np.clip(tol, 1e-9, 1.0))
        values, vectors = self.leading
        narrow = values.max(initial=0.0) <= NARROW_CONDITION * np.sqrt(tol) * shifts.min()
        dtype = np.float32 if narrow else np.float64
        leading, rows = (values, vectors.astype(dtype, copy=False)), self.rows(dtype)
        size = float(np.vdot(points, points))
        points = points.astype(dtype, copy=False)
        first: Array | None = None
        if start is not None:
            # At the solution shift_j·a_j is what the map leaves of u_j; near it, nearly so.
            images = rows.images((start * self.unit).astype(dtype))
            first = (points - images) / shifts.astype(dtype)
        gaps: dict[int, float] = {}

        def one(some: slice) -> Array:
            A = conjugate_gradient(
                rows.kernel, np.ascontiguousarray(points[:, some]), shifts[some],
                start=None if first is None else np.ascontiguousarray(first[:, some]),
                precondition=low_rank(*leading, shifts[some]),
                tol=float(np.sqrt(tol)), max_iter=200 if narrow else 1000,
            )  # fmt: skip
            if not narrow:
                left = points[:, some] - rows.kernel(A) - A * shifts[some]
                gaps[some.start] = float(np.vdot(left, left))
            return rows.lift(A)

        # Columns are systems of their own: a few at a time stay in the cache.
        Z = by_columns(one, points, self.moments.n_features, rows.rows.nnz)
        reached = sum(gaps[first] for first in sorted(gaps)) / size if size else 0.0
        return Z / Z.dtype.type(self.unit), tol if narrow else reached

    def part(self, moments: RowMoments, here: Array) -> RowSpace:
        """Return the space of some of the rows."""
        return RowSpace(moments, self.centre, (self, here))

    def leave_one_out(self, W: Array, Z: Array, shifts: Array) -> Array:
        """Return where each row would be placed by a map learnt without it and its copies.

        Without row i its residual is ``rᵢ / (1 − hᵢ)``, where
        ``1 − hᵢ = shift · [(X̃X̃ᵀ + shift)⁻¹]ᵢᵢ − wᵢ/n`` (the last for an intercept). The diagonal
        is estimated on random vectors, at the middle of the shifts: a few per cent of a residual,
        at no bias. From there the odds of ``shift · [·]ᵢᵢ``, which for one eigenvalue λ are
        ``shift / λ``, are taken to grow in proportion to the shift.

        Parameters
        ----------
        W : ndarray of shape (L, d)
            What makes the points of labels.
        Z : ndarray of shape (D, d)
            The map learnt from all rows.
        shifts : ndarray of shape (d,)
            The ridge weights of that map, not far from each other.
        """
        rows, shifts = self.rows(np.float32), shifts / self.unit**2
        images = rows.images((Z * self.unit).astype(np.float32))
        points, found = self.points(W), images.astype(np.float64)
        middle = float(np.exp(np.mean(np.log(shifts))))
        diagonal = inverse_diagonal(rows.kernel, *self.leading, middle, PROBES)
        # ‖x̃‖² of each row. Whatever the other rows are: no more than without this one, no less
        # than with it alone.
        own = np.asarray(rows.rows.power(2).sum(axis=1), dtype=np.float64).ravel()
        along, square = rows.span[:, 1].astype(np.float64), float(self.mean @ self.mean)
        own = np.maximum(own - 2.0 * self.roots * along + self.roots**2 * square, 0.0)
        stays = middle * np.clip(diagonal, 1.0 / (own + middle), 1.0 / middle)
        intercept = self.moments.weights / self.moments.n if self.centre else 0.0 * stays
        found -= points
        ratio, step = (shifts / middle, BLOCK) if np.ptp(shifts) else (np.ones(1), self.n_rows)
        for first in range(0, self.n_rows, step):  # in place: as large as all scores
            some = slice(first, first + step)
            left = ratio * stays[some, None] / (1.0 + (ratio - 1.0) * stays[some, None])
            found[some] /= np.maximum(left - intercept[some, None], LEAST_LEFT)
        found += points
        found /= self.roots[:, None]
        return np.asarray(found)


class CentredRows:
    """Centred and weighted sparse rows ``X̃ = √w (x − m)``, never formed.

    Features are kept in the order of how many rows have them: few of them make most of the
    entries, and side by side these stay in the cache.

    Parameters
    ----------
    rows : csr_array
        Rows times the roots of their weights.
    mean : ndarray of shape (D,)
        m, zero where not centred.
    roots : ndarray of shape (N,)
        √w.
    """

    def __init__(self, rows: Any, mean: Array, roots: Array) -> None:
        self.order = np.argsort(-np.bincount(rows.indices, minlength=rows.shape[1]), kind="stable")
        self.place = np.argsort(self.order)  # where each feature went
        self.transposed = rows.T.tocsr()[self.order]
        self.rows = self.transposed.T.tocsr()
        self.mean, self.roots = mean[self.order, None], roots[:, None]
        # What centring adds to X̃X̃ᵀ lies in the span of the roots and Xm.
        self.span = np.hstack([self.roots, self.rows @ self.mean])
        square = float(np.vdot(mean, mean))
        self.within = np.array([[square, -1.0], [-1.0, 0.0]], dtype=rows.dtype)

    def lift(self, A: Array) -> Array:
        """Return X̃ᵀ A."""

        def one(some: slice) -> Array:
            part = np.ascontiguousarray(A[:, some])
            lifted = self.transposed @ part - self.mean @ (self.roots.T @ part)
            return np.asarray(lifted[self.place])

        return by_columns(one, A, self.rows.shape[1], self.rows.nnz)

    def images(self, Z: Array) -> Array:
        """Return X̃ Z."""

        def one(some: slice) -> Array:
            part = np.ascontiguousarray(Z[:, some])[self.order]
            return np.asarray(self.rows @ part - self.roots @ (self.mean.T @ part))

        return by_columns(one, Z, self.rows.shape[0], self.rows.nnz)

    def kernel(self, A: Array) -> Array:
        """Return X̃X̃ᵀ A; centring takes place in the space of rows, which is the smaller one."""

        def one(some: slice) -> Array:
            part = np.ascontiguousarray(A[:, some])
            product = np.asarray(self.rows @ (self.transposed @ part))
            product += self.span @ (self.within @ (self.span.T @ part))
            return product

        return by_columns(one, A, self.rows.shape[0], self.rows.nnz)

    def kernel_matrix(self) -> Array:
        """Return X̃X̃ᵀ as a matrix, where rows are few."""
        matrix = (self.rows @ self.transposed).toarray()
        matrix += self.span @ self.within @ self.span.T
        return np.asarray(matrix)
