"""Margins: the map of stage 3 moved so that scores beyond ±1 do not count.

    min_{Z,b}  Σ_i w_i Σ_l max(0, 1 − y_il f_il)² + γ ‖(Z − Z₀)V‖²,    f_i = (x_i Z + b) V

Z₀ is the map that stage 3 learnt from moments. Its squares draw every score to ±1, those beyond
it too, and most pairs of a row and a label lie beyond it at no harm. Here they do not count: a
squared hinge loss for all labels at once, in the latent space that the groups share. It needs
rows, and a sample of them will do: what the sample does not tell stays as the moments have it.

Each step is stage 3 again. With the residuals r_il = y_il max(0, 1 − y_il f_il) of the scores so
far, squares majorise the loss, and with V⁺ the pseudo-inverse of V

    Z ← Z + (XᵀX + γ I)⁻¹ (Xᵀ r V⁺ − γ (Z − Z₀))

minimises them: one factor serves all labels and all steps. Momentum with restarts does the rest.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from grople.optim import parallel_map, row_shares
from grople.solver._model import row_blocks

__all__ = ["MOST_ROWS", "Margins", "fit_margins"]

Array = NDArray[Any]

#: Parts that sums over rows are made of, whatever the number of threads.
PARTS = 4
#: Rows that are looked at, at most, where features are more: their products fit one factor.
MOST_ROWS = 5_000


@dataclass(frozen=True)
class Margins:
    """A map with wider margins: ``u = x Z + intercept``.

    Attributes
    ----------
    Z : ndarray of shape (D, d)
        The map.
    intercept : ndarray of shape (d,)
        Its intercept.
    n_iter : int
        Steps taken.
    change : float
        Length of the last step, relative to the way from the start.
    """

    Z: Array
    intercept: Array
    n_iter: int
    change: float


def fit_margins(
    X: Any,
    B: Any,
    start: tuple[Array, Array],
    V: Array,
    *,
    gamma: float,
    weights: Array | None = None,
    elsewhere: float = 0.0,
    fit_intercept: bool = True,
    tol: float = 1e-2,
    max_iter: int = 50,
) -> Margins:
    """Move a map to where its margins are wider.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_rows, D)
        Features. One system as large as the rows or the features, whichever are fewer, is solved.
    B : sparse array of shape (n_rows, L)
        Labels as zeros and ones.
    start : tuple of ndarray of shape (D, d) and (d,)
        Z₀ and its intercept.
    V : ndarray of shape (d, L)
        The hyperplanes of the labels.
    gamma : float
        Weight of ‖(Z − Z₀)V‖², above zero.
    weights : ndarray of shape (n_rows,), optional
        Positive weights of the rows.
    elsewhere : float
        Total weight of the rows that the start was learnt from and that are not here: they hold
        the intercept, which has no other penalty, where it is.
    fit_intercept : bool
        Whether the intercept moves too, at no penalty.
    tol : float
        Stop when a step is shorter than this share of the way from Z₀.
    max_iter : int
        The most steps.

    Examples
    --------
    >>> X = np.array([[-3.0], [-1.0], [1.0], [30.0]])  # one far out, which squares run after
    >>> B = sp.csr_array([[0], [0], [1], [1]])
    >>> start = np.zeros((1, 1)), np.zeros(1)
    >>> found = fit_margins(X, B, start, np.eye(1), gamma=1e-3, tol=1e-6, max_iter=500)
    >>> (X @ found.Z + found.intercept).ravel().round(1).tolist()
    [-3.0, -1.0, 1.0, 30.0]
    """
    n_rows, n_features = X.shape
    w = np.ones(n_rows) if weights is None else weights.astype(np.float64)
    total_weight = w.sum() + elsewhere
    X = sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    mean = w @ X / w.sum() if fit_intercept else np.zeros(n_features)
    Z0, b0 = (part.astype(np.float64, copy=False) for part in start)
    inverse = np.linalg.pinv(V)
    kind = _Features if n_features <= n_rows else _Rows
    # Dense rows are centred as such: products of rows far from zero would lose what they differ by.
    rows, shift = (X, mean) if sp.issparse(X) else (X - mean, np.zeros(n_features))
    space: _Space = kind(rows, shift, weights, gamma, (Z0, V, inverse))
    residuals = _Residuals(space, sp.csr_array(B), weights)

    b0 = b0 + mean @ Z0  # of centred features
    C, b = np.zeros((space.size, V.shape[0])), b0
    before, b_before = C, b
    metric, momentum, change, n_iter = V @ V.T, 1.0, math.inf, 0
    while n_iter < max_iter and change > tol:
        n_iter += 1
        longer = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
        ahead = (momentum - 1.0) / longer
        at, b_at = C + ahead * (C - before), b + ahead * (b - b_before)
        slope, total = residuals(at, b_at @ V)
        slope -= gamma * at
        before, b_before = C, b
        C = at + cho_solve(space.factor, slope, check_finite=False)
        if fit_intercept:
            b = b_at + (total @ inverse - elsewhere * (b_at - b0)) / total_weight
        moved = C - before
        change = _length(moved, metric) / max(_length(C, metric), np.finfo(float).tiny)
        # Where momentum leads uphill it starts anew.
        momentum = longer if np.vdot(slope @ metric, moved) >= 0 else 1.0
    Z = Z0 + space.map(C)
    return Margins(Z, b - mean @ Z, n_iter, change)


def _length(C: Array, metric: Array) -> float:
    return math.sqrt(max(float(np.vdot(C @ metric, C)), 0.0))


def _factor(matrix: Array, gamma: float, before: float) -> Any:
    """Factor a centred matrix plus γ on its diagonal.

    Rounding takes off as much as a share of its largest entry before it was centred; what is added
    for that majorises the loss too, in shorter steps.
    """
    size = len(matrix)
    matrix.flat[:: size + 1] += max(gamma, 4 * size * np.finfo(float).eps * before)
    return cho_factor(matrix, overwrite_a=True, check_finite=False)


def _largest(matrix: Array) -> float:
    return float(np.max(np.abs(matrix.diagonal()), initial=0.0))


class _Space(Protocol):
    """Unknowns C, zero at the start, that scores are linear in."""

    size: int
    factor: Any

    def weights(self, C: Array) -> Array:
        """Return what the scores of rows are products with, for unknowns C."""

    def scores(self, rows: slice, weights: Array) -> Array:
        """Return the scores of rows, less the intercept."""

    def pull(self, rows: slice, residuals: Array) -> Array:
        """Return what the weighted residuals of rows contribute to the slope."""

    def joined(self, one: Array, other: Array) -> Array:
        """Return the contributions of two blocks of rows as one; the first may be overwritten."""

    def slope(self, pulled: Array) -> Array:
        """Return the slope from the contributions of all rows."""

    def map(self, C: Array) -> Array:
        """Return how far the weights of the features have moved."""


class _Features:
    """Where features are fewer: the unknowns are how far their weights move.

    Scores and slopes are those of labels, D×L, which is less work than points of all rows.
    """

    def __init__(
        self, X: Any, mean: Array, weights: Array | None, gamma: float, maps: tuple[Array, ...]
    ) -> None:
        self.X, self.mean = X, mean
        start, self.V, self.inverse = maps
        self.start = start @ self.V
        self.size = X.shape[1]
        gram = X.T @ (X if weights is None else _weighted(X, weights))
        gram = gram.toarray() if sp.issparse(gram) else gram
        before, total = _largest(gram), X.shape[0] if weights is None else weights.sum()
        gram -= np.multiply.outer(total * mean, mean)
        self.factor = _factor(gram, gamma, before)

    def weights(self, C: Array) -> Array:
        return np.asarray(self.start + C @ self.V)

    def scores(self, rows: slice, weights: Array) -> Array:
        return np.asarray(self.X[rows] @ weights - self.mean @ weights)

    def pull(self, rows: slice, residuals: Array) -> Array:
        found = self.X[rows].T @ residuals
        found -= np.multiply.outer(self.mean, residuals.sum(axis=0))
        return np.asarray(found)

    def joined(self, one: Array, other: Array) -> Array:
        one += other
        return one

    def slope(self, pulled: Array) -> Array:
        return np.asarray(pulled @ self.inverse)

    def map(self, C: Array) -> Array:
        return C


class _Rows:
    """Where rows are fewer: weights move by sums over rows, and the unknowns are the terms.

    Rows count by the square roots of their weights, so that one matrix XXᵀ serves all. Features
    may be very many: nothing is as large as features times labels.
    """

    def __init__(
        self, X: Any, mean: Array, weights: Array | None, gamma: float, maps: tuple[Array, ...]
    ) -> None:
        self.X, self.mean = X, mean
        start, self.V, self.inverse = maps
        self.points = X @ start - mean @ start
        self.size = X.shape[0]
        self.roots = np.sqrt(np.ones(self.size) if weights is None else weights)[:, None]
        kernel = X @ X.T
        kernel = kernel.toarray() if sp.issparse(kernel) else kernel
        before = _largest(kernel) * float(self.roots.max()) ** 2
        across = X @ mean
        kernel -= np.add.outer(across, across - mean @ mean)
        kernel *= self.roots
        kernel *= self.roots.T
        self.kernel = kernel
        self.factor = _factor(kernel.copy(), gamma, before)

    def weights(self, C: Array) -> Array:
        return C

    def scores(self, rows: slice, weights: Array) -> Array:
        moved = self.kernel[rows] @ weights / self.roots[rows]
        return np.asarray((moved + self.points[rows]) @ self.V)

    def pull(self, rows: slice, residuals: Array) -> Array:
        return np.asarray(residuals @ self.inverse / self.roots[rows])

    def joined(self, one: Array, other: Array) -> Array:
        return np.concatenate([one, other])

    def slope(self, pulled: Array) -> Array:
        return pulled

    def map(self, C: Array) -> Array:
        terms = self.roots * C
        return np.asarray(self.X.T @ terms - np.multiply.outer(self.mean, terms.sum(axis=0)))


def _weighted(X: Any, weights: Array) -> Any:
    return X.multiply(weights[:, None]).tocsr() if sp.issparse(X) else X * weights[:, None]


class _Residuals:
    """Residuals of all rows, block by block on the threads that are allowed: never N×L at once."""

    def __init__(self, space: _Space, B: Any, weights: Array | None) -> None:
        self.space, self.B, self.weights = space, B, weights

    def __call__(self, C: Array, offset: Array) -> tuple[Array, Array]:
        """Return the slope of the unknowns, and the sum of the residuals of each label."""
        weights = self.space.weights(C)

        def block(rows: slice) -> tuple[Array, Array]:
            residuals = self._of_block(rows, weights, offset)
            return self.space.pull(rows, residuals), residuals.sum(axis=0)

        def share(rows: slice) -> tuple[Array, Array]:
            inside = row_blocks(rows.stop - rows.start, len(offset))
            blocks = (slice(rows.start + part.start, rows.start + part.stop) for part in inside)
            return functools.reduce(self._joined, map(block, blocks))

        found = parallel_map(share, row_shares(self.B.shape[0], PARTS))
        pulled, total = functools.reduce(self._joined, found)
        return self.space.slope(pulled), total

    def _joined(self, one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
        return self.space.joined(one[0], other[0]), one[1] + other[1]

    def _of_block(self, rows: slice, weights: Array, offset: Array) -> Array:
        residuals = self.space.scores(rows, weights)
        residuals += offset
        marked = self.B[rows].nonzero()
        positive = np.maximum(1.0 - residuals[marked], 0.0)
        residuals += 1.0
        np.maximum(residuals, 0.0, out=residuals)
        np.negative(residuals, out=residuals)
        residuals[marked] = positive
        if self.weights is not None:
            residuals *= self.weights[rows, None]
        return residuals
