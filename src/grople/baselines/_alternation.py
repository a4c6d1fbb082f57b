"""LEML: low-rank empirical risk minimisation for multi-label learning (Yu et al., 2014).

    min_{W,H}  ½‖Y − X̃ W H‖² + (λ/2)(‖W‖² + ‖H‖²)          scores  x̃ W H

Y is ±1, W is D×d and H is d×L. Both steps of the alternation are exact:

    (X̃ᵀX̃ + (λ/σ)I) W p = X̃ᵀY Hᵀp / σ     for each eigenvector p of HHᵀ, σ its eigenvalue
    (WᵀX̃ᵀX̃W + λI) H    = WᵀX̃ᵀY

The product WH leaves the scale between W and H open: balancing it after each round, WᵀW = HHᵀ, is
what the penalty wants and saves most of the rounds. With a free intercept X and Y are centred, and
ȳ is added to the scores. Where labels are missing the sum runs over the observed entries, and each
round fills in the missing ones with the scores before it, which never raises that sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from grople.baselines._cplst import predictable_axes
from grople.baselines._design import Design
from grople.baselines._missing_labels import ObservedRows

__all__ = ["Factors", "factorise", "factorise_as_published", "factorise_observed"]

Array = NDArray[Any]

#: Rounds of the published scheme.
PUBLISHED_ROUNDS = 10
#: Steps of conjugate gradients a round, where rows are kept.
STEPS = 20
#: Directions of H with less than this share of the largest are rounding.
NEGLIGIBLE = 1e-14


@dataclass(frozen=True)
class Factors:
    """W and H, and how the objective fell, round by round."""

    W: Array
    H: Array
    objective_path: Array


@dataclass(frozen=True)
class Alternation:
    """The two steps of LEML, in the basis of the eigenvectors of X̃ᵀX̃ where that is a matrix.

    Attributes
    ----------
    gram : callable
        ``W ↦ X̃ᵀX̃W``.
    solve : callable
        ``(right, shifts, start) ↦ (X̃ᵀX̃ + shift_j I)^{-1} right_j``.
    basis : ndarray or None
        The eigenvectors; None where rows are kept and W stays as it is.
    ridge : float
        λ.
    """

    gram: Callable[[Array], Array]
    solve: Callable[[Array, Array, Array], Array]
    basis: Array | None
    ridge: float

    @classmethod
    def of(cls, design: Design, ridge: float) -> Alternation:
        """Return the steps for a design."""
        if design.gram_matrix is None:
            return cls(
                design.gram,
                lambda right, shifts, start: design.solve_each(
                    right, shifts, start=start, max_iter=STEPS
                ),
                None,
                ridge,
            )
        spectrum = design.gram_spectrum
        return cls(
            lambda W: spectrum.values[:, None] * W,
            lambda right, shifts, start: spectrum.solve_rotated(right, shifts),
            spectrum.vectors,
            ridge,
        )

    def turned(self, W: Array) -> Array:
        """Return rows of features in the basis."""
        return W if self.basis is None else np.asarray(self.basis.T @ W)

    def back(self, W: Array) -> Array:
        """Return rows of the basis as rows of features."""
        return W if self.basis is None else np.asarray(self.basis @ W)

    def map_step(self, cross: Array, W: Array, H: Array) -> Array:
        """Return the best W for H and X̃ᵀY."""
        values, P = np.linalg.eigh(H @ H.T)
        alive = values > NEGLIGIBLE * max(float(values[-1]), np.finfo(float).tiny)
        values, P = values[alive], P[:, alive]
        right = cross @ (H.T @ P) / values
        return self.solve(right, self.ridge / values, W @ P) @ P.T

    def label_step(self, cross: Array, W: Array) -> tuple[Array, float]:
        """Return the best H for W and X̃ᵀY, and by how much WH reduces ‖Y‖²."""
        inner, right = W.T @ self.gram(W), W.T @ cross
        shifted = inner.copy()
        # A hair of ridge keeps λ = 0 solvable.
        hair = max(1e-12 * float(np.trace(inner)), 1e-300)
        shifted[np.diag_indices_from(shifted)] += max(self.ridge, hair)
        H = scipy.linalg.solve(shifted, right, assume_a="pos", check_finite=False)
        return H, float(np.vdot(H, 2.0 * right - inner @ H))

    def penalty(self, W: Array, H: Array) -> float:
        """Return λ(‖W‖² + ‖H‖²)."""
        return self.ridge * float(np.vdot(W, W) + np.vdot(H, H))


def balanced(W: Array, H: Array) -> tuple[Array, Array]:
    """Return factors of the same product WH with the smallest ‖W‖² + ‖H‖²."""
    left, small_left = np.linalg.qr(W)
    right, small_right = np.linalg.qr(H.T)
    u, s, v = np.linalg.svd(small_left @ small_right.T, full_matrices=False)
    root = np.sqrt(s)
    return (left @ u) * root, root[:, None] * (v @ right.T)


def factorise(
    design: Design, size: int, ridge: float, *, tol: float = 1e-5, max_iter: int = 100
) -> Factors:
    """Alternate and balance from the predictable axes of the labels, until a round saves little.

    That is, at most the share ``tol`` of the objective.
    """
    steps = Alternation.of(design, ridge)
    cross = steps.turned(design.label_cross)
    P = steps.solve(cross, np.full(cross.shape[1], ridge), np.zeros_like(cross))
    # The minimum has at most as many dimensions as there are features.
    H = predictable_axes(cross, P, min(size, len(cross))).T
    return _alternate(steps, design, P @ H.T, H, True, tol, max_iter)


def factorise_as_published(design: Design, size: int, ridge: float, seed: int = 0) -> Factors:
    """Alternate ten rounds from a normal random H, without balancing."""
    steps = Alternation.of(design, ridge)
    H = check_random_state(seed).standard_normal((size, design.moments.n_labels))
    W = np.zeros((len(design.label_cross), size))
    return _alternate(steps, design, W, H, False, -1.0, PUBLISHED_ROUNDS)


def _alternate(
    steps: Alternation, design: Design, W: Array, H: Array, balance: bool, tol: float, max_iter: int
) -> Factors:
    cross, squares = steps.turned(design.label_cross), float(np.trace(design.shared_gram))
    path = [np.inf]
    for _ in range(max_iter):
        W = steps.map_step(cross, W, H)
        H, saved = steps.label_step(cross, W)
        if balance:
            W, H = balanced(W, H)
        path.append((squares - saved + steps.penalty(W, H)) / 2.0)
        if path[-2] - path[-1] <= tol * path[-1]:
            break
    # The sign of a dimension is open: the largest entry of H is positive.
    signs = np.sign(np.take_along_axis(H, np.abs(H).argmax(axis=1)[:, None], axis=1))
    return Factors(steps.back(W * signs.T), H * signs, np.asarray(path[1:]))


def factorise_observed(
    design: Design, rows: ObservedRows, start: Factors, ridge: float, *, tol: float, max_iter: int
) -> tuple[Factors, Array]:
    """Alternate on the observed entries alone; return the factors and what all rows score.

    With the missing labels filled in by the scores WH + c so far, the objective lies above that of
    the observed entries and touches it at W, H and c: a round on the completed labels lowers both.
    """
    steps = Alternation.of(design, ridge)
    W, H, c = steps.turned(start.W), start.H, design.shared_means
    path: list[float] = []
    while True:
        squares, pulled, total = rows.pull(design, steps.back(W), H, c)
        path.append((squares + steps.penalty(W, H)) / 2.0)
        settled = len(path) > 1 and path[-2] - path[-1] <= tol * path[-1]
        if settled or len(path) > max_iter:
            return Factors(steps.back(W), H, np.asarray(path)), c
        cross = steps.gram(W) @ H + steps.turned(pulled)  # X̃ᵀ times the completed labels
        if design.centred:
            c = c + total / design.moments.n
        W = steps.map_step(cross, W, H)
        H, _ = steps.label_step(cross, W)
        W, H = balanced(W, H)
