"""Proximal steps over blocks of rows, for quadratics whose matrix is known.

A step over all rows must be as short as the largest eigenvalue of the whole matrix asks. That of a
block is smaller, and each block sees what the blocks before it have done: sweeps over blocks need
several times less work.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.optim._proximal import L1, Quadratic, Solution, objective, optimality_gap

__all__ = ["TwoSidedQuadratic", "block_proximal", "blocks_of_rows"]

Array = NDArray[Any]

#: Rows of a block: large enough for matrix products, small enough for a small eigenvalue.
BLOCK_ROWS = 128
#: Accelerated steps inside a block at each visit.
STEPS = 8


def blocks_of_rows(gram: Array) -> list[tuple[slice, float]]:
    """Cut a matrix into blocks of rows, each with the largest eigenvalue of its diagonal part."""
    starts = range(0, len(gram), BLOCK_ROWS)
    blocks = [slice(first, min(first + BLOCK_ROWS, len(gram))) for first in starts]
    return [(rows, float(np.linalg.eigvalsh(gram[rows, rows])[-1])) for rows in blocks]


@dataclass(frozen=True)
class TwoSidedQuadratic:
    """The smooth part ``tr WᵀGW + α tr WRWᵀ + γ‖W‖² − 2⟨F, W⟩ + c`` with G and R as matrices.

    Parameters
    ----------
    gram, relation : ndarray
        G (rows × rows) and R (columns × columns), symmetric and positive semi-definite.
    linear : ndarray
        F, half the negative gradient at zero.
    constant : float
        c, the value at zero.
    alpha, gamma : float
        Weights of R and of the squares.
    blocks : list of (slice, float)
        `blocks_of_rows` of G.
    """

    gram: Array
    relation: Array
    linear: Array
    constant: float
    alpha: float
    gamma: float
    blocks: list[tuple[slice, float]]

    @cached_property
    def _right(self) -> Array:
        """What multiplies W from the right: αR + γ."""
        identity = np.eye(len(self.relation), dtype=self.relation.dtype)
        return self.alpha * self.relation + self.gamma * identity

    @cached_property
    def column_curvature(self) -> Array:
        """A diagonal that dominates αR + γ, so that each column has a step of its own."""
        return self.gamma + self.alpha * np.abs(self.relation).sum(axis=0)

    def image(self, W: Array, GW: Array) -> Array:
        """Return HW from W and GW."""
        image = W @ self._right if self.alpha else self.gamma * W
        image += GW
        return image

    def smooth(self) -> Quadratic:
        """Return the same quadratic as products with H."""
        return Quadratic(
            lambda W: self.image(W, self.gram @ W),
            self.linear,
            constant=self.constant,
            curvature=1.0,
            convexity=self.gamma,
        )


def block_proximal(
    quadratic: TwoSidedQuadratic,
    penalty: L1,
    start: Array,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    scale: float,
) -> Solution:
    """Minimise ``quadratic + penalty`` from ``start``.

    Sweeps over blocks of rows, a few accelerated steps in each; the product GW is kept up to
    date from the rows that changed, so rows that stay at zero cost nothing. It stops when
    `optimality_gap` falls to ``tol·scale``; ``n_iter`` counts sweeps.

    Examples
    --------
    >>> import numpy as np
    >>> from grople.optim import L1
    >>> G = 2.0 * np.eye(1)
    >>> quadratic = TwoSidedQuadratic(
    ...     G, np.zeros((1, 1)), np.array([[4.0]]), 8.0, 0.0, 0.0, blocks_of_rows(G)
    ... )
    >>> block_proximal(quadratic, L1(4.0), np.zeros((1, 1)), scale=8.0).point
    array([[1.]])
    """
    smooth = quadratic.smooth()
    W = start.copy()
    GW = quadratic.gram @ W
    path: list[float] = []
    fresh = True
    while True:
        HW = quadratic.image(W, GW)
        gap = optimality_gap(smooth, penalty, W, HW)
        converged = gap <= tol * scale
        if converged and not fresh:
            # The running product carries the rounding of every update: certify a fresh one.
            GW, fresh = quadratic.gram @ W, True
            continue
        path.append(objective(smooth, penalty, W, HW))
        if converged or len(path) > max_iter:
            return Solution(W, np.asarray(path), gap, len(path) - 1, bool(converged))
        for rows, curvature in quadratic.blocks:
            change = _block_change(quadratic, penalty, W, GW, rows, curvature)
            moved = np.flatnonzero(change.any(axis=1))
            if not len(moved):
                continue
            W[rows] += change
            if len(moved) < len(change):
                # Rows of a symmetric matrix lie together in memory, its columns do not.
                GW += quadratic.gram[rows.start + moved].T @ change[moved]
            else:
                GW += quadratic.gram[rows].T @ change
        fresh = False


def _block_change(
    quadratic: TwoSidedQuadratic, penalty: L1, W: Array, GW: Array, rows: slice, curvature: float
) -> Array:
    """Return how a block of rows changes in a few accelerated steps."""
    here, gram = W[rows], quadratic.gram[rows, rows]
    downhill = quadratic.linear[rows] - quadratic.image(here, GW[rows])
    # Constant features have no curvature, and nothing to fit either: any step leaves them.
    bend = np.maximum(curvature + quadratic.column_curvature, 1e-300)
    step, point, momentum = 0.5 / bend, here, 1.0
    ahead, slope = here, downhill
    for count in range(STEPS):
        new = penalty.prox(ahead + slope / bend, step)
        if count == 0 and np.array_equal(new, here):
            break
        if np.vdot(ahead - new, new - point) > 0:
            momentum = 1.0  # the momentum points uphill: restart it
        momentum_next = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = new + (momentum - 1.0) / momentum_next * (new - point)
        point, momentum = new, momentum_next
        if count + 1 < STEPS:
            moved = ahead - here
            slope = downhill - quadratic.image(moved, gram @ moved)
    return np.asarray(point - here)
