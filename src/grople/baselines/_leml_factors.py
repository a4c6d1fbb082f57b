"""The factors of LEML from moments, where all labels are observed.

    min_{W,H}  ½‖Y − X̃ W H‖² + (λ/2)(‖W‖² + ‖H‖²)

Both steps of the alternation are exact. H = (WᵀX̃ᵀX̃W + λI)^{-1}WᵀX̃ᵀY; and for each eigenvector p of
HHᵀ, σ its eigenvalue, (X̃ᵀX̃ + (λ/σ)I) Wp = X̃ᵀYHᵀp/σ. The product WH leaves the scale between W and H
open: balancing it after each round, WᵀW = HHᵀ, is what the penalty wants and saves most of the
rounds. Y is centred where X̃ is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from grople.baselines._cplst import predictable_axes
from grople.baselines._design import Design
from grople.baselines._label_embedding import Size, embedding_size
from grople.baselines._linear import Path, varying_path
from grople.moments import RealMoments
from grople.optim import Spectrum

__all__ = [
    "Factors",
    "balanced",
    "factorise",
    "factorise_as_published",
    "leml_path",
    "trace_weight",
]

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


def factorise(
    design: Design,
    size: int,
    ridge: float,
    *,
    start: Factors | None = None,
    tol: float = 1e-5,
    max_iter: int = 100,
) -> Factors:
    """Alternate exact steps and balancing, from the predictable axes of the labels.

    Parameters
    ----------
    design : Design
        Features and labels.
    size : int
        d.
    ridge : float
        λ.
    start : Factors, optional
        Start from these instead.
    tol : float
        Stop when a round saves at most this share of the objective.
    max_iter : int
        The most rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from grople.moments import summarise
    >>> X, B = np.eye(4), np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    >>> factors = factorise(Design(summarise(X, B).moments), size=2, ridge=0.1)
    >>> bool(np.allclose(factors.W.T @ factors.W, factors.H @ factors.H.T))
    True
    """
    seen, cross = _seen(design)
    constant = _squared_labels(design)
    if start is not None:
        W, H = design.gram_spectrum.vectors.T @ start.W if seen is not design else start.W, start.H
    else:
        # The minimum has at most as many dimensions as there are features.
        P = seen.solve(cross, np.full(cross.shape[1], ridge))
        H = predictable_axes(cross, P, min(size, len(cross))).T
        W = P @ H.T
    path: list[float] = []
    for _ in range(max_iter):
        W = _map_step(seen, cross, W, H, ridge)
        H, saved = _label_step(seen, cross, W, ridge)
        W, H = balanced(W, H)
        path.append((constant - saved + ridge * _squares(W, H)) / 2.0)
        if len(path) > 1 and path[-2] - path[-1] <= tol * path[-1]:
            break
    # The sign of a dimension is open: the largest entry of H is positive.
    signs = np.sign(np.take_along_axis(H, np.abs(H).argmax(axis=1)[:, None], axis=1))
    return Factors(_turned_back(design, seen, W * signs.T), H * signs, np.asarray(path))


def factorise_as_published(
    design: Design, size: int, ridge: float, random_state: Any = None
) -> Factors:
    """Alternate ten rounds from a normal random H, without balancing."""
    seen, cross = _seen(design)
    constant = _squared_labels(design)
    H = check_random_state(random_state).standard_normal((size, cross.shape[1]))
    W = np.zeros((len(cross), size))
    path: list[float] = []
    for _ in range(PUBLISHED_ROUNDS):
        W = _map_step(seen, cross, W, H, ridge)
        H, saved = _label_step(seen, cross, W, ridge)
        path.append((constant - saved + ridge * _squares(W, H)) / 2.0)
    return Factors(_turned_back(design, seen, W), H, np.asarray(path))


def _seen(design: Design) -> tuple[Design | _Diagonal, Array]:
    """Return what a round needs of the features, and X̃ᵀY.

    Matrices are turned to where X̃ᵀX̃ is diagonal, and W back at the end.
    """
    if design.gram_matrix is None:
        return design, design.label_cross
    return _Diagonal(design.gram_spectrum), design.rotated_cross


def _turned_back(design: Design, seen: Design | _Diagonal, W: Array) -> Array:
    return W if seen is design else np.asarray(design.gram_spectrum.vectors @ W)


@dataclass(frozen=True)
class _Diagonal:
    """What a round needs of a design, in the basis of the eigenvectors of X̃ᵀX̃."""

    spectrum: Spectrum

    def gram(self, W: Array) -> Array:
        return self.spectrum.values[:, None] * W

    def solve(self, right: Array, shifts: Array, **_: Any) -> Array:
        return self.spectrum.solve_rotated(right, shifts)


def balanced(W: Array, H: Array) -> tuple[Array, Array]:
    """Return factors of the same product WH with the smallest ‖W‖² + ‖H‖².

    Examples
    --------
    >>> import numpy as np
    >>> W, H = balanced(np.array([[8.0]]), np.array([[2.0]]))
    >>> bool(np.allclose(W * H, 16.0)), bool(np.allclose(W**2, H**2))
    (True, True)
    """
    left, small_left = np.linalg.qr(W)
    right, small_right = np.linalg.qr(H.T)
    u, s, v = np.linalg.svd(small_left @ small_right.T, full_matrices=False)
    root = np.sqrt(s)
    return (left @ u) * root, root[:, None] * (v @ right.T)


def trace_weight(design: Design) -> float:
    """Return the λ that pulls as hard as the best ridge weight does, at the ridge solution.

    Over all factors of Z = WH the penalty is λ times the sum of the singular values s of Z. The
    ridge penalty (γ/2)‖Z‖² with γ from generalised cross-validation has the gradient γZ, so along Z
    both pull alike where λ Σs = γ Σs².
    """
    every = np.eye(design.moments.n_labels)
    gamma = design.best_ridge(every)
    ((_, Z),) = design.solutions(design.cross(every), [gamma])
    values = np.sqrt(np.maximum(np.linalg.eigvalsh(Z.T @ Z), 0.0))
    total = float(values.sum())
    return gamma * float(np.square(values).sum()) / total if total > 0 else gamma


def _map_step(design: Design | _Diagonal, cross: Array, W: Array, H: Array, ridge: float) -> Array:
    values, vectors = np.linalg.eigh(H @ H.T)
    alive = values > NEGLIGIBLE * max(float(values[-1]), np.finfo(float).tiny)
    values, vectors = values[alive], vectors[:, alive]
    right = cross @ (H.T @ vectors) / values
    return design.solve(right, ridge / values, start=W @ vectors, max_iter=STEPS) @ vectors.T


def _label_step(
    design: Design | _Diagonal, cross: Array, W: Array, ridge: float
) -> tuple[Array, float]:
    """Return the best H, and by how much WH reduces ‖Y‖²."""
    inner, right = W.T @ design.gram(W), W.T @ cross
    shifted = inner.copy()
    # A hair of ridge keeps λ = 0 solvable.
    shifted[np.diag_indices_from(shifted)] += max(ridge, 1e-12 * float(np.trace(inner)), 1e-300)
    H = scipy.linalg.solve(shifted, right, assume_a="pos", check_finite=False)
    return H, float(np.vdot(H, 2.0 * right - inner @ H))


def _squares(W: Array, H: Array) -> float:
    return float(np.vdot(W, W) + np.vdot(H, H))


def _squared_labels(design: Design) -> float:
    """Return ‖Y‖², centred where the features are."""
    labels = design.moments.labels
    return labels.total - float(design.shared_means @ labels.sums)


def leml_path(
    moments: RealMoments,
    sizes: Sequence[Size],
    ridges: Sequence[float],
    *,
    fit_intercept: bool | str = True,
    tol: float = 1e-5,
    max_iter: int = 100,
) -> Path:
    """Yield settings of :class:`LEML` with their scores, to the tolerance; see :func:`plst_path`.

    XᵀX is decomposed once, and each weight starts from the solution for the one before it; the
    weights are best given in ascending order, since a large weight leaves few dimensions.
    """

    def solve(varying: RealMoments) -> Path:
        design = Design(varying, fit_intercept)
        for size in sizes:
            factors = None
            for ridge in ridges:
                factors = factorise(
                    design, embedding_size(size, varying.labels), ridge,
                    start=factors, tol=tol, max_iter=max_iter,
                )  # fmt: skip
                scores = design.scores(factors.W, factors.H, design.shared_means)
                yield {"n_components": size, "ridge": ridge}, scores

    return varying_path(moments, solve)
