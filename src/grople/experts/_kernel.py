"""The kernel expert: similarities to landmarks, mapped to the latent space.

With the similarities K of rows to landmarks and P of landmarks to each other, the map is that of
kernel ridge regression restricted to the landmarks,

    min_A  ‖K A + 1bᵀ − U‖²  +  γ tr(Aᵀ P A)

and γ is the step of a fixed grid with the smallest error on a fifth of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from grople.experts._rows import each_row, is_mostly_zero
from grople.moments import Sample, canonical_rows
from grople.optim import parallel_map

__all__ = ["KernelScores", "Landmarks", "fit_kernel"]

Array = NDArray[Any]

#: Landmarks whose distances to all others set the width.
WIDTH_ROWS = 500
#: Dense columns are cut off so many spreads from their median.
FARTHEST = 5.0
#: Spreads of a normal distribution between its quartiles.
QUARTILES = 1.349
#: Steps of γ, a half decade each, relative to the number of rows: where the search starts, and
#: its ends.
START, LOWEST, HIGHEST = -7, -14, 2
#: Added to the diagonal of P: landmarks may be nearly alike.
JITTER = 1e-8
#: Rows compared at a time.
BLOCK_ROWS = 1024


@dataclass(frozen=True)
class Landmarks:
    """Rows that others are compared with.

    Attributes
    ----------
    rows : ndarray or csr_array of shape (m, D)
        The landmarks: standardised if dense, of unit length if mostly zero.
    middle, spread : ndarray of shape (D,), optional
        Median and robust spread of dense columns.
    width : float
        The distance at which similarity has fallen to 1/e.
    """

    rows: Any
    middle: Array | None
    spread: Array | None
    width: float

    @classmethod
    def of(cls, X: Any, keys: NDArray[np.uint64], most: int) -> Self:
        """Take the rows with the smallest keys, and the width from distances between them."""
        first = np.unique(keys, return_index=True)[1][:most]
        middle = spread = None
        if not is_mostly_zero(X):
            X = X.toarray() if sp.issparse(X) else X
            low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
            spread = np.where(high > low, (high - low) / QUARTILES, X.std(axis=0))
            spread[spread == 0.0] = 1.0
        bare = cls(X[:0], middle, spread, 1.0)
        unscaled = cls(bare.prepared(X[first]), middle, spread, 1.0)
        distances = unscaled.distances(unscaled.rows[:WIDTH_ROWS])
        apart = distances[distances > JITTER]
        width = float(np.median(apart)) if len(apart) else 1.0
        return cls(unscaled.rows, middle, spread, width)

    def prepared(self, X: Any) -> Any:
        """Return rows as they are compared."""
        if self.middle is None:
            X = canonical_rows(X)
            norms = np.sqrt(np.asarray(X.power(2).sum(axis=1)).ravel())
            norms[norms == 0.0] = 1.0
            return sp.csr_array(sp.diags_array(1.0 / norms) @ X)
        X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
        return np.clip((X - self.middle) / self.spread, -FARTHEST, FARTHEST)

    @cached_property
    def _columns(self) -> Any:
        return sp.csr_array(self.rows.T)

    def distances(self, prepared: Any) -> Array:
        """Return ‖x − z‖₁ to each landmark of dense rows, ‖x − z‖² of sparse ones."""
        if self.middle is None:
            return np.maximum(2.0 - 2.0 * (prepared @ self._columns).toarray(), 0.0)
        return np.asarray(cdist(prepared, self.rows, "cityblock"))

    def similarities(self, prepared: Any) -> Array:
        """Return the similarity of rows to each landmark, from 0 to 1."""
        return np.exp(self.distances(prepared) / -self.width)

    def __call__(self, X: Any) -> Array:
        """Return the similarity of rows of features to each landmark."""
        return self.similarities(self.prepared(X))


@dataclass(frozen=True)
class KernelScores:
    """Scores ``(k(x) A + b) V + offset``, one a label, from similarities k(x) to landmarks.

    Attributes
    ----------
    landmarks : Landmarks
        What rows are compared with.
    A : ndarray of shape (m, d)
        From similarities to points of the latent space.
    b : ndarray of shape (d,)
        Its intercept.
    V : ndarray of shape (d, L)
        From points to labels, the same as that of the linear expert.
    """

    landmarks: Landmarks
    A: Array
    b: Array
    V: Array

    def __call__(self, X: Any) -> Array:
        """Return the scores of a block of rows."""
        return np.asarray((each_row(self.landmarks, X) @ self.A + self.b) @ self.V)


def fit_kernel(
    sample: Sample, points: Array, V: Array, folds: Array, most: int
) -> tuple[KernelScores, Array]:
    """Fit the map, and place each row by one that has not seen its fold.

    Parameters
    ----------
    sample : Sample
        Rows in the order of their keys.
    points : ndarray of shape (n, d)
        Where they belong in the latent space (U).
    V : ndarray of shape (d, L)
        From points to labels.
    folds : ndarray of int of shape (n,)
        The fold of each row; each has rows.
    most : int
        Landmarks, at most.

    Returns
    -------
    scores : KernelScores
        Learnt from all rows.
    held_out : ndarray of shape (n, d)
        The points of rows by maps without their fold.
    """
    landmarks, weights = Landmarks.of(sample.X, sample.feature_keys, most), sample.totals
    m, total = landmarks.rows.shape[0], float(weights.sum())
    K = np.ones((len(sample), m + 1))  # the last column carries the intercept
    for first in range(0, len(sample), BLOCK_ROWS):
        some = slice(first, first + BLOCK_ROWS)
        K[some, :m] = landmarks(sample.X[some])
    penalty = np.zeros((m + 1, m + 1))
    penalty[:m, :m] = landmarks.similarities(landmarks.rows)
    penalty[np.arange(m), np.arange(m)] += JITTER

    def products(fold: int) -> tuple[Array, Array]:
        held, root = folds == fold, np.sqrt(weights[folds == fold])[:, None]
        rows = K[held] * root
        return rows.T @ rows, rows.T @ (points[held] * root)

    names = np.unique(folds)
    parts = dict(zip(names, parallel_map(products, names), strict=True))
    gram, cross = (sum(part[i] for part in parts.values()) for i in (0, 1))

    def learn(step: int, fold: int | None = None) -> Array:
        gone = parts[fold] if fold is not None else (0.0, 0.0)
        left = gram - gone[0] + total * 10.0 ** (step / 2) * penalty
        return np.asarray(scipy.linalg.solve(left, cross - gone[1], assume_a="pos"))

    held, plane = folds == names[0], V @ V.T

    def error(step: int) -> float:
        left = K[held] @ learn(step, names[0]) - points[held]
        return float(weights[held] @ np.einsum("ij,ij->i", left @ plane, left))

    step = lowest_step(error)
    held_out = np.empty(points.shape, dtype=np.float32)
    for fold, A in zip(names, parallel_map(lambda f: learn(step, f), names), strict=True):
        held_out[folds == fold] = K[folds == fold] @ A
    A = learn(step)
    return KernelScores(landmarks, A[:m], A[m], V), held_out


def lowest_step(error: Callable[[int], float]) -> int:
    """Walk downhill from the first step, and return where the error is lowest.

    Examples
    --------
    >>> lowest_step(lambda step: abs(step + 10))
    -10
    """
    best, lowest = START, error(START)
    for direction in (-1, 1):
        step = START + direction
        while LOWEST <= step <= HIGHEST and (found := error(step)) < lowest:
            best, lowest = step, found
            step += direction
        if best != START:
            break
    return best
