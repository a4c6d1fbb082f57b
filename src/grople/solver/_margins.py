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
from typing import Any

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
    # Dense rows are centred as such: products of rows far from zero would lose what they differ by.
    rows, shift = (X, mean) if sp.issparse(X) else (X - mean, np.zeros(n_features))
    kind = _Features if n_features <= n_rows else _Rows
    space = kind(rows, shift, w, gamma, (Z0, V, inverse))
    B = sp.csr_array(B)

    b0 = b0 + mean @ Z0  # of centred features
    C, b = np.zeros((space.size, V.shape[0])), b0
    before, b_before = C, b
    metric, momentum, change, n_iter = V @ V.T, 1.0, math.inf, 0
    while n_iter < max_iter and change > tol:
        n_iter += 1
        longer = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
        ahead = (momentum - 1.0) / longer
        at, b_at = C + ahead * (C - before), b + ahead * (b - b_before)
        slope, total = _slope(space, at, b_at @ V, B, weights)
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


class _Features:
    """Where features are fewer: the unknowns C are how far their weights move, zero at the start.

    Scores and slopes are those of labels, D×L, which is less work than points of all rows.
    """

    def __init__(
        self, X: Any, mean: Array, w: Array, gamma: float, maps: tuple[Array, Array, Array]
    ) -> None:
        self.X, self.mean = X, mean
        start, self.V, self.inverse = maps
        self.start = start @ self.V
        self.size = X.shape[1]
        weighted = X
        if (w != 1.0).any():
            weighted = X.multiply(w[:, None]).tocsr() if sp.issparse(X) else X * w[:, None]
        gram = X.T @ weighted
        gram = gram.toarray() if sp.issparse(gram) else gram
        before = float(gram.diagonal().max(initial=0.0))
        gram -= np.multiply.outer(w.sum() * mean, mean)
        self.factor = _factor(gram, gamma, before)

    def weights(self, C: Array) -> Array:
        """Return what the scores of rows are products with."""
        return np.asarray(self.start + C @ self.V)

    def scores(self, rows: slice, weights: Array) -> Array:
        """Return the scores of rows, less the intercept."""
        return np.asarray(self.X[rows] @ weights - self.mean @ weights)

    def pull(self, rows: slice, residuals: Array) -> Array:
        """Return what the weighted residuals of rows contribute to the slope."""
        found = self.X[rows].T @ residuals
        found -= np.multiply.outer(self.mean, residuals.sum(axis=0))
        return np.asarray(found)

    def joined(self, one: Array, other: Array) -> Array:
        """Return the contributions of two blocks of rows as one; the first may be overwritten."""
        one += other
        return one

    def slope(self, pulled: Array) -> Array:
        """Return the slope from the contributions of all rows."""
        return np.asarray(pulled @ self.inverse)

    def map(self, C: Array) -> Array:
        """Return how far the weights of the features have moved."""
        return C


class _Rows:
    """Where rows are fewer: weights move by sums over rows, and the unknowns are the terms.

    Rows count by the square roots of their weights, so that one matrix XXᵀ serves all. Features
    may be very many: nothing is as large as features times labels.
    """

    def __init__(
        self, X: Any, mean: Array, w: Array, gamma: float, maps: tuple[Array, Array, Array]
    ) -> None:
        self.X, self.mean = X, mean
        start, self.V, self.inverse = maps
        self.points = X @ start - mean @ start
        self.size = X.shape[0]
        self.roots = np.sqrt(w)[:, None]
        kernel = X @ X.T
        kernel = kernel.toarray() if sp.issparse(kernel) else kernel
        before = float(kernel.diagonal().max(initial=0.0)) * float(self.roots.max()) ** 2
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


def _slope(
    space: _Features | _Rows, C: Array, offset: Array, B: Any, row_weights: Array | None
) -> tuple[Array, Array]:
    """Return the slope of the unknowns, and the sum of the residuals of each label.

    Rows are gone through block by block, on the threads that are allowed: never N×L at once.
    """
    weights = space.weights(C)

    def block(rows: slice) -> tuple[Array, Array]:
        residuals = space.scores(rows, weights)
        residuals += offset
        marked = B[rows].nonzero()
        positive = np.maximum(1.0 - residuals[marked], 0.0)
        residuals += 1.0
        np.maximum(residuals, 0.0, out=residuals)
        np.negative(residuals, out=residuals)
        residuals[marked] = positive
        if row_weights is not None:
            residuals *= row_weights[rows, None]
        return space.pull(rows, residuals), residuals.sum(axis=0)

    def joined(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
        return space.joined(one[0], other[0]), one[1] + other[1]

    def share(rows: slice) -> tuple[Array, Array]:
        inside = row_blocks(rows.stop - rows.start, len(offset))
        blocks = (slice(rows.start + part.start, rows.start + part.stop) for part in inside)
        return functools.reduce(joined, map(block, blocks))

    shares = parallel_map(share, row_shares(B.shape[0], PARTS))
    pulled, total = functools.reduce(joined, shares)
    return space.slope(pulled), total
