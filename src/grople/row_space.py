"""Large ridge regressions in the space of rows: ``Z = X̃ᵀA`` with ``(X̃X̃ᵀ + shift_j) a_j = u_j``.

Where rows are sparse and features many, that space is the smaller one and its matrix needs few
products: a preconditioner takes care of its largest eigenvalues. In it a row is also left out by
arithmetic, without learning anything again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.moments import FeatureView
from grople.moments.products import CHUNK
from grople.optim import conjugate_gradient, inverse_diagonal, leading_part, low_rank, orthonormal
from grople.threads import in_shares

__all__ = ["RowSpace", "preconditioner_rank", "turn_rows"]

Array = NDArray[Any]

#: Unknowns of a system for each eigenvector in its preconditioner, and the bounds of the latter.
UNKNOWNS, RANKS = 100, (200, 500)
#: Random vectors on which the leverages of rows are estimated.
PROBES = 64
#: Rows whose leverages are computed at a time.
BLOCK = 1024
#: The least share of a residual that a row may leave: nothing is learnt from that row alone.
LEAST = 1e-3


def preconditioner_rank(size: int) -> int:
    """Return how many eigenvectors to take care of in a system with so many unknowns.

    In larger ones more eigenvalues lie above the ridge weight, and each product takes longer.

    Examples
    --------
    >>> preconditioner_rank(1000), preconditioner_rank(24_000), preconditioner_rank(200_000)
    (100, 240, 500)
    """
    return min(int(np.clip(size // UNKNOWNS, *RANKS)), size // 10)


@dataclass(frozen=True)
class RowSpace:
    """The rows of a view and the products with them, in single precision.

    That is enough for what iterations reach here, and halves time and memory. Maps come in single
    precision, too.

    Attributes
    ----------
    view : FeatureView
        The rows.
    whole : tuple of RowSpace and ndarray of bool, optional
        The space of more rows, and which of them are here: what leads there nearly leads here.
    """

    view: FeatureView
    whole: tuple[RowSpace, Array] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.view.moments.rows.shape[0])  # type: ignore[attr-defined]

    @cached_property
    def leading(self) -> tuple[Array, Array]:
        """The largest eigenvalues of X̃X̃ᵀ with their vectors, about right."""
        if self.whole is not None:
            space, here = self.whole
            values, vectors = space.leading
            return values * (self.n_rows / space.n_rows), orthonormal(vectors[here])
        rank = preconditioner_rank(self.n_rows)
        return leading_part(self.view.kernel, self.n_rows, rank, np.float32)

    def solve(self, points: Array, shifts: Array, tol: float, start: Array | None) -> Array:
        """Return the map to points, a shift for each of their dimensions.

        With the residual r of these systems the objective is above its minimum by
        ``rᵀX̃ (X̃ᵀX̃ + shift)⁻¹ X̃ᵀr ≤ ‖r‖²``, so a residual of √tol certifies tol.

        Parameters
        ----------
        points : ndarray of shape (N, d)
            Where the rows are to be placed.
        shifts : ndarray of shape (d,)
            Positive weights.
        tol : float
            Certified accuracy relative to ‖U‖².
        start : ndarray of shape (D, d), optional
            A map near the solution.
        """
        leading = self.leading  # known before threads ask for it
        found = np.empty((self.view.moments.n_features, points.shape[1]), dtype=np.float32)

        def one(columns: slice) -> None:
            here, weights = points[:, columns].astype(np.float32), shifts[columns]
            first = None
            if start is not None:
                # At the solution shift_j·a_j is what the map leaves of u_j; near it, nearly so.
                left = here - self.view.images(start[:, columns].astype(np.float32))
                first = left / weights.astype(np.float32)
            A = conjugate_gradient(
                self.view.kernel,
                here,
                weights,
                start=first,
                precondition=low_rank(*leading, weights),
                tol=float(np.sqrt(np.clip(tol, 1e-9, 1.0))),
                max_iter=200,
            )
            found[:, columns] = self.view.lift(A)

        # Columns are systems of their own: a few at a time stay in the cache, a thread each.
        in_shares(one, points.shape[1], self.view.moments.rows.nnz * points.shape[1], CHUNK)  # type: ignore[attr-defined]
        return found

    def part(self, view: FeatureView, here: Array) -> RowSpace:
        """Return the space of some of the rows, seen by a view of theirs."""
        return RowSpace(view, (self, here))

    def left_out(self, points: Array, placed: Array, shifts: Array, centred: bool) -> Array:
        """Return where each row would be placed by a map learnt without it.

        Without row i its residual is ``rᵢ / (1 − hᵢ)``, where
        ``1 − hᵢ = shift · [(X̃X̃ᵀ + shift)⁻¹]ᵢᵢ − 1/N`` (the last for an intercept). The diagonal is
        estimated on random vectors, at the middle of the shifts: a few per cent of a residual, at
        no bias. From there the odds of ``shift · [·]ᵢᵢ``, which for one eigenvalue λ are
        ``shift / λ``, are taken to grow in proportion to the shift.

        Parameters
        ----------
        points : ndarray of shape (N, d)
            Where the rows were to be placed.
        placed : ndarray of shape (N, d)
            Where the map learnt from all rows places them.
        shifts : ndarray of shape (d,)
            The ridge weights of that map, not far from each other.
        centred : bool
            Whether the view is centred.
        """
        middle = float(np.exp(np.mean(np.log(shifts))))
        diagonal = inverse_diagonal(self.view.kernel, *self.leading, middle, PROBES)
        # Whatever the other rows are: no more than without this one, no less than with it alone.
        alone = 1.0 / (self.view.row_squares() + middle)
        stays = middle * np.clip(diagonal, alone, 1.0 / middle)
        # In place: these are as large as all scores.
        found = placed.astype(points.dtype)
        found -= points
        ratio, step = (shifts / middle, BLOCK) if np.ptp(shifts) else (np.ones(1), self.n_rows)
        for first in range(0, self.n_rows, step):
            rows = stays[first : first + step, None]
            left = ratio * rows / (1.0 + (ratio - 1.0) * rows) - (1.0 / self.n_rows) * centred
            found[first : first + step] /= np.maximum(left, LEAST)
        found += points
        return np.asarray(found)


def turn_rows(values: Array, turn: Array) -> None:
    """Multiply rows by a square matrix, in place: they are as large as all scores."""
    for first in range(0, len(values), BLOCK):
        values[first : first + BLOCK] = values[first : first + BLOCK] @ turn
