"""Ridge regressions on kept rows: ``Z = X̃ᵀA`` with ``(X̃X̃ᵀ + shift_j) a_j = u_j``.

Where rows are sparse and features many, the space of rows is the smaller one and its matrix needs
few products: a preconditioner takes care of its largest eigenvalues. In it a row is also left out
by arithmetic, without learning anything again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments._products import CentredRows, in_chunks
from grople.moments._rows import RowMoments
from grople.optim import (
    Spectrum,
    conjugate_gradient,
    from_nearby,
    inverse_diagonal,
    leading_part,
    low_rank,
    orthonormal,
)

__all__ = ["FEW_ROWS", "RowSpace", "preconditioner_rank"]

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
#: Residual of systems with few rows.
ROUNDING = 1e-12


def preconditioner_rank(size: int) -> int:
    """Return how many eigenvectors to take care of in a system with so many unknowns.

    Examples
    --------
    >>> preconditioner_rank(1000), preconditioner_rank(24_000), preconditioner_rank(200_000)
    (100, 240, 500)
    """
    return min(int(np.clip(size // UNKNOWNS, *RANKS)), max(size // 10, 1))


@dataclass(frozen=True)
class RowSpace:
    """Distinct rows, centred and times the roots of their weights, and systems in their space.

    Single precision is enough for what iterations reach, and halves time and memory.

    Attributes
    ----------
    moments : RowMoments
        The rows.
    centre : bool
        Whether they are centred.
    whole : tuple of RowSpace and ndarray of bool, optional
        The space of more rows, and which of them are here: what leads there nearly leads here.
    """

    moments: RowMoments
    centre: bool = True
    whole: tuple[RowSpace, Array] | None = None

    @property
    def n_rows(self) -> int:
        """Number of distinct rows."""
        return int(self.moments.X.shape[0])

    @property
    def few(self) -> bool:
        """Whether the matrix of all pairs of rows is formed."""
        return self.n_rows <= min(FEW_ROWS, self.moments.n_features)

    @cached_property
    def roots(self) -> Array:
        """√w of each row."""
        return np.sqrt(self.moments.weights)

    @cached_property
    def unit(self) -> float:
        """A power of two near the largest value: squares of X̃ in it fit single precision."""
        if self.whole is not None:
            return self.whole[0].unit
        largest = float(np.abs(self.moments.X.data).max(initial=0.0))
        return float(2.0 ** np.frexp(largest)[1]) if largest else 1.0

    @cached_property
    def mean(self) -> Array:
        """The mean of the features in that unit, zero where they are not centred."""
        mean = self.moments.mean / self.unit
        return mean if self.centre else np.zeros_like(mean)

    def rows(self, dtype: Any) -> CentredRows:
        """Return X̃ in units of :attr:`unit`, ready to multiply arrays of a precision."""
        if dtype not in self._rows:
            rows = sp.csr_array(self.moments.X * (1.0 / self.unit), dtype=dtype)
            rows.data *= np.repeat(self.roots.astype(dtype), np.diff(rows.indptr))
            self._rows[dtype] = CentredRows(rows, self.mean.astype(dtype), self.roots.astype(dtype))
        return self._rows[dtype]

    @cached_property
    def _rows(self) -> dict[Any, CentredRows]:
        return {}

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
            return self._solve_by_factor(points, shifts) / self.unit, 0.0
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
        Z = in_chunks(one, points, self.moments.n_features, rows.rows.nnz)
        reached = sum(gaps[first] for first in sorted(gaps)) / size if size else 0.0
        return Z / Z.dtype.type(self.unit), tol if narrow else reached

    def _solve_by_factor(self, points: Array, shifts: Array) -> Array:
        rows = self.rows(np.dtype(np.float64))
        matrix = rows.kernel_matrix()
        middle = float(np.sqrt(max(shifts.min(), 0.0)) * np.sqrt(shifts.max()))
        shifted = np.asfortranarray(matrix + middle * np.eye(len(matrix)))
        try:
            factor = scipy.linalg.cho_factor(shifted, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:  # shifts lost in rounding
            return rows.lift(Spectrum.of(matrix, overwrite=True).solve(points, shifts))

        def solve(right: Array) -> Array:
            return scipy.linalg.cho_solve(factor, right, check_finite=False)

        if np.ptp(shifts) == 0:
            return rows.lift(solve(points))
        return rows.lift(from_nearby(solve, np.asfortranarray(points), shifts - middle,
                                     tol=ROUNDING))  # fmt: skip

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
        # Whatever the other rows are: no more than without this one, no less than with it alone.
        alone = 1.0 / (self._squares() + middle)
        stays = middle * np.clip(diagonal, alone, 1.0 / middle)
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

    def _squares(self) -> Array:
        """Return ‖x̃‖² of each row."""
        rows = self.rows(np.float32)
        own = np.asarray(rows.rows.power(2).sum(axis=1), dtype=np.float64).ravel()
        along, root = rows.span[:, 1].astype(np.float64), self.roots
        square = float(self.mean @ self.mean)
        return np.maximum(own - 2.0 * root * along + root**2 * square, 0.0)
