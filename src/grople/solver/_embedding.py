"""Stage 2: the label matrix as points times group-sparse hyperplanes, from label counts alone.

    min_{U,V}  ‖Y − UV‖² + λ1 ‖U‖² + λ2 Σ_k Σ_i ‖V_i^k‖

with V^k the columns of group k. U is never formed: it is always ``Y W``, so that
``UᵀU = Wᵀ(YᵀY)W`` and ``UᵀY = Wᵀ(YᵀY)``. The default alternates exact U steps, exact balancing of
the scale between U and V, and certified V steps, from the leading eigenvectors of YᵀY.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from grople.moments import LabelMoments, RealMoments, RowMoments
from grople.optim import (
    GroupRows,
    Quadratic,
    by_diagonal,
    conjugate_gradient,
    proximal_gradient,
    solve_ridge_systems,
    top_eigenvectors,
)
from grople.solver._groups import Groups

__all__ = ["Embedding", "automatic_components", "embed_labels", "predictable_gram"]

#: Labels up to which a dimension for each costs little.
FEW_LABELS = 1000
#: Of more labels, the fewest and the most dimensions that are taken where they are needed, and how
#: many numbers the hyperplanes of all labels may have: every dimension is a system to solve.
AUTOMATIC, HYPERPLANES = (500, 1500), 4_500_000

Array = NDArray[Any]
Product = Callable[[Array], Array]

#: Labels up to which a dense YᵀY multiplies faster than its sparse and low-rank parts.
DENSE_GRAM = 1024
#: Certified residual of the eigenvectors that a factorisation of many labels starts from, relative
#: to their values: the alternation that follows ends at a like tolerance of its own.
START_TOL = 1e-3
#: Share of ‖Y‖² below which the objective is no measure of progress.
SCALE = 1e-3


@dataclass(frozen=True)
class Embedding:
    """Y ≈ U V with U = Y W, dead dimensions dropped.

    Attributes
    ----------
    V : ndarray of shape (d, L)
        Hyperplanes, group-sparse.
    W : ndarray of shape (L, d)
        Weights that make the points, U = Y W.
    objective_path : ndarray
        The objective after each outer iteration.
    gap : float
        Bound on what a better V could still save, relative to the objective (NaN: not computed).
    n_iter : int
        Outer iterations.
    converged : bool
        Whether the last iteration saved less than the tolerance and could not have saved more.
    """

    V: Array
    W: Array
    objective_path: Array
    gap: float
    n_iter: int
    converged: bool

    @property
    def n_components(self) -> int:
        """Number of live dimensions."""
        return len(self.V)

    def point_gram(self, labels: LabelMoments) -> Array:
        """Return UᵀU."""
        return self.W.T @ labels.signed_product(self.W)

    def point_mean(self, labels: LabelMoments) -> Array:
        """Return the mean of the points."""
        return labels.sums @ self.W / labels.n


def embed_labels(
    labels: LabelMoments,
    groups: Groups,
    *,
    n_components: int | str = "auto",
    group_components: int = 0,
    lambda_1: float = 1e-3,
    lambda_2: float = 1.0,
    predictable: Product | None = None,
    feature_weight: float = 0.0,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> Embedding:
    """Factorise the label matrix.

    Parameters
    ----------
    labels : LabelMoments
        Counts of labels and pairs of labels.
    groups : Groups
        The partition of stage 1.
    n_components : int or "auto"
        d, clipped to L; ``"auto"`` as in :func:`automatic_components`.
    group_components : int
        Further dimensions that each group has for itself.
    lambda_1, lambda_2 : float
        λ1 and λ2.
    predictable : callable, optional
        ``W ↦ YᵀHY W``, what the features can predict of the labels (:func:`predictable_gram`).
    feature_weight : float in [0, 1]
        How much of YᵀY is replaced by that.
    tol : float
        Stop when the best V for the points at hand saves at most this share of the objective.
    max_iter : int
        The most outer iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from grople.solver import Groups
    >>> B = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1]])
    >>> result = embed_labels(LabelMoments.of(B), Groups.of([0, 0, 1]), n_components=2)
    >>> U = (2 * B - 1) @ result.W
    >>> bool(np.all((U @ result.V > 0) == B))
    True
    """
    if labels.n_labels == 0:
        nothing = np.zeros((0, 0))
        return Embedding(nothing, nothing, np.zeros(1), 0.0, 0, True)
    product, total = _gram_product(labels, predictable, feature_weight), labels.total
    leading: tuple[Array, Array] | None = None
    if n_components == "auto":
        n_components, leading = _automatic(labels)
    d = int(n_components)
    if feature_weight:
        leading, total = None, float(np.trace(product(np.eye(labels.n_labels))))
    values, vectors = leading or top_eigenvectors(product, labels.n_labels, d, tol=START_TOL)
    V, penalty = _start(product, (values[:d], vectors[:, :d]), groups, group_components, lambda_2)
    return _alternate(product, total, V, penalty, lambda_1, tol, max_iter)


def automatic_components(
    labels: LabelMoments, share: float | None = None, most: int | None = None
) -> int:
    """Return how many dimensions hold the given share of the spread of the labels.

    By default all but a ten-thousandth, since what is left out is what tells rare labels apart;
    of more than 1,000 labels 98 %, with at most 1,500 dimensions, fewer as labels get more, and
    500 from 9,000 labels on.

    Examples
    --------
    >>> import numpy as np
    >>> B = np.repeat(np.eye(3, dtype=int), 2, axis=1)[[0, 0, 1, 1, 2]]  # three pairs of copies
    >>> automatic_components(LabelMoments.of(B))
    3
    """
    return _automatic(labels, share, most)[0] if labels.n_labels else 0


def _automatic(
    labels: LabelMoments, share: float | None = None, most: int | None = None
) -> tuple[int, tuple[Array, Array]]:
    """Return how many dimensions to take, and the leading eigenvectors of YᵀY that say so.

    The spread is that of the centred labels, ``YᵀY − ssᵀ/n`` with s the sums of Y's columns. In
    the span of the eigenvectors (which all but holds s, the most of YᵀY there is) it is a small
    matrix.
    """
    L = labels.n_labels
    few = L <= FEW_LABELS
    share = share or (0.9999 if few else 0.98)
    most = most or (L if few else int(np.clip(HYPERPLANES // L, *AUTOMATIC)))
    values, vectors = top_eigenvectors(labels.signed_product, L, most + 1, tol=START_TOL)
    along = vectors.T @ labels.sums
    centred = np.diag(values) - np.multiply.outer(along, along) / labels.n
    held = np.cumsum(np.maximum(np.linalg.eigvalsh(centred)[::-1], 0.0))
    spread = labels.total - float(np.square(labels.sums).sum()) / float(labels.n)
    # One more for the mean, which the factorisation holds as well.
    needed = int(np.searchsorted(held, share * spread)) + 2
    return min(needed, most, L), (values, vectors)


def predictable_gram(moments: RealMoments, gamma: float, *, centre: bool = True) -> Product:
    """Return ``W ↦ YᵀHY W`` with H the hat matrix of a ridge regression on the features.

    H projects on what the features (and, if centred, a constant) can predict of the labels; its
    product needs XᵀX and XᵀY alone.
    """
    labels = moments.labels
    cross = moments.signed_cross(np.eye(labels.n_labels), centre)
    shifts = np.full(cross.shape[1], gamma)
    if isinstance(moments, RowMoments):
        nearby = by_diagonal(moments.gram_diagonal(centre), shifts)
        solved = conjugate_gradient(
            lambda Z: moments.gram(Z, centre), cross, shifts, precondition=nearby, tol=1e-6
        )
    else:
        solved = solve_ridge_systems(moments.gram_matrix(centre), cross, shifts)
    gram = cross.T @ solved
    if centre and labels.n:
        gram += np.multiply.outer(labels.sums, labels.sums) / labels.n
    return lambda W: gram @ W


def _gram_product(labels: LabelMoments, predictable: Product | None, weight: float) -> Product:
    """Return ``W ↦ YᵀY W``, mixed with what features can predict of it."""
    if predictable is not None and weight:
        return lambda W: (1 - weight) * labels.signed_product(W) + weight * predictable(W)
    if labels.n_labels > DENSE_GRAM:
        return labels.signed_product
    return labels.signed_gram().__matmul__


def _start(
    product: Product, leading: tuple[Array, Array], groups: Groups, own: int, lambda_2: float
) -> tuple[Array, GroupRows]:
    """Return the leading eigenvectors as rows: shared ones, then each group's own ones."""
    values, vectors = leading
    L = len(vectors)
    shared = vectors[:, values > np.finfo(float).eps * L * max(float(values[0]), 0.0)].T
    K = groups.n_groups
    if own == 0:
        return shared, GroupRows(lambda_2, groups.membership)
    rows = [shared]
    allowed = [np.ones((len(shared), K), dtype=bool)]
    for k, members in enumerate(groups.members()):
        # What the shared dimensions leave of the group: (I − EEᵀ) YᵀY (I − EEᵀ), its block.
        selector = np.zeros((L, len(members)))
        selector[members, np.arange(len(members))] = 1.0
        selector -= shared.T @ (shared @ selector)
        residual = selector.T @ product(selector)
        values, vectors = scipy.linalg.eigh((residual + residual.T) / 2)
        keep = np.flatnonzero(values > 1e-10 * max(float(values[-1]), 1.0))[::-1][:own]
        block = np.zeros((len(keep), L))
        block[:, members] = vectors[:, keep].T
        rows.append(block)
        allowed.append(np.repeat(np.arange(K)[None] == k, len(keep), axis=0))
    return np.vstack(rows), GroupRows(lambda_2, groups.membership, np.vstack(allowed))


def _alternate(
    product: Product,
    total: float,
    V: Array,
    penalty: GroupRows,
    lambda_1: float,
    tol: float,
    max_iter: int,
) -> Embedding:
    """Alternate exact points, exact scales and certified hyperplanes from a start of these."""
    path: list[float] = []
    for _ in range(max(max_iter, 1)):
        # U = Y Vᵀ(VVᵀ + λ1 I)⁻¹, as W with the products that follow from it. A hair of ridge
        # keeps λ1 = 0 solvable.
        inner = V @ V.T
        inner[np.diag_indices_from(inner)] += max(lambda_1, 1e-12 * float(np.trace(inner)))
        W = scipy.linalg.solve(inner, V, assume_a="pos", check_finite=False).T
        UY = product(W).T
        UU = UY @ W
        if lambda_1 and penalty.strength:
            c = _balance(V, UU, penalty, lambda_1)
            V, W = V / c[:, None], W * c
            UU, UY = UU * np.multiply.outer(c, c), UY * c[:, None]
        before = _objective(total, V, UU, UY, penalty, lambda_1)
        # With as many dimensions as labels the objective is next to nothing of ‖Y‖², and shares
        # of it would be chased for ever.
        scale = max(before, SCALE * total)
        values = np.linalg.eigvalsh(UU) if len(UU) else np.zeros(1)
        smooth = Quadratic(
            UU.__matmul__, UY, total, float(values[-1]), convexity=max(float(values[0]), 0.0)
        )
        # All groups at once: their rows share UᵀU.
        solution = proximal_gradient(smooth, penalty, V, tol=0.1 * tol, max_iter=100, scale=scale)
        alive = np.abs(solution.point).max(axis=1, initial=0.0) > 0
        V, W, penalty = solution.point[alive], W[:, alive], penalty.select(alive)
        objective = _objective(total, V, UU[np.ix_(alive, alive)], UY[alive], penalty, lambda_1)
        path.append(objective)
        converged = before - objective + solution.gap <= tol * scale
        if converged:
            break
    gap = solution.gap / max(objective, np.finfo(float).tiny)
    return Embedding(V, W, np.asarray(path), gap, len(path), bool(converged))


def _balance(V: Array, UU: Array, penalty: GroupRows, lambda_1: float) -> Array:
    """Return the scale c_i between u_i and v_i that minimises both penalties: exact, per row."""
    lengths = penalty.norms(V).sum(axis=1)
    energy = np.diagonal(UU)
    alive = (lengths > 0) & (energy > 0)
    c = np.ones(len(V))
    c[alive] = np.cbrt(penalty.strength * lengths[alive] / (2 * lambda_1 * energy[alive]))
    return c


def _objective(
    total: float, V: Array, UU: Array, UY: Array, penalty: GroupRows, lambda_1: float
) -> float:
    fit = total - 2.0 * np.vdot(UY, V) + np.vdot(V, UU @ V)
    return float(fit) + lambda_1 * float(np.trace(UU)) + penalty.value(V)
