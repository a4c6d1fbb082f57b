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

from grople.moments._labels import LabelMoments
from grople.moments._rows import RowMoments
from grople.moments._summary import RealMoments
from grople.optim import (
    GroupRows,
    Quadratic,
    Solution,
    Spectrum,
    by_diagonal,
    conjugate_gradient,
    proximal_gradient,
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
    product = _mixed(labels, predictable, feature_weight)
    leading: tuple[Array, Array] | None = None
    if n_components == "auto":
        n_components, leading = _automatic(labels)
    d = int(n_components)
    if leading is None or feature_weight:
        leading = _leading(product, labels, d)
    values, vectors = leading
    leading = values[:d], vectors[:, :d]
    V, penalty = _start(product, leading, groups, group_components, lambda_2)
    return _alternate(product, _trace(labels, product, feature_weight), V, penalty,
                      lambda_1, tol, max_iter)  # fmt: skip


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
    if not labels.n_labels:
        return 0
    return _automatic(labels, share, most)[0]


def _most_components(n_labels: int) -> int:
    """Return how many dimensions many labels may have: the more labels, the fewer.

    Examples
    --------
    >>> [_most_components(n) for n in (2000, 3000, 4500, 30_000)]
    [1500, 1500, 1000, 500]
    """
    fewest, most = AUTOMATIC
    return int(np.clip(HYPERPLANES // n_labels, fewest, most))


def _automatic(
    labels: LabelMoments, share: float | None = None, most: int | None = None
) -> tuple[int, tuple[Array, Array]]:
    """Return how many dimensions to take, and the leading eigenvectors of YᵀY that say so."""
    few = labels.n_labels <= FEW_LABELS
    share = share or (0.9999 if few else 0.98)
    most = most or (labels.n_labels if few else _most_components(labels.n_labels))
    leading = _leading(labels.signed_product, labels, most + 1)
    return _enough(labels, *leading, share, most), leading


def _leading(product: Product, labels: LabelMoments, n_vectors: int) -> tuple[Array, Array]:
    L = labels.n_labels
    return top_eigenvectors(product, L, min(n_vectors, L), tol=START_TOL)


def _enough(labels: LabelMoments, values: Array, vectors: Array, share: float, most: int) -> int:
    """Return how many dimensions hold a share of the spread, from eigenvectors of YᵀY.

    The spread is that of the centred labels, ``YᵀY − ssᵀ/n`` with s the sums of Y's columns. In
    the span of the eigenvectors (which all but holds s, the most of YᵀY there is) it is a small
    matrix.
    """
    along = vectors.T @ labels.sums
    centred = np.diag(values) - np.multiply.outer(along, along) / labels.n
    held = np.cumsum(np.maximum(np.linalg.eigvalsh(centred)[::-1], 0.0))
    spread = labels.total - float(np.square(labels.sums).sum()) / float(labels.n)
    # One more for the mean, which the factorisation holds as well.
    needed = int(np.searchsorted(held, share * spread)) + 2
    return min(needed, most, labels.n_labels)


def predictable_gram(moments: RealMoments, gamma: float, *, centre: bool = True) -> Product:
    """Return ``W ↦ YᵀHY W`` with H the hat matrix of a ridge regression on the features.

    H projects on what the features (and, if centred, a constant) can predict of the labels; its
    product needs XᵀX and XᵀY alone.
    """
    labels = moments.labels
    cross = moments.signed_cross(np.eye(labels.n_labels), centre)
    gram = cross.T @ _solve_ridge(moments, cross, gamma, centre)
    if centre and labels.n:
        gram += np.multiply.outer(labels.sums, labels.sums) / labels.n
    return lambda W: gram @ W


def _solve_ridge(moments: RealMoments, right: Array, gamma: float, centre: bool) -> Array:
    shifts = np.full(right.shape[1], gamma)
    if isinstance(moments, RowMoments):
        nearby = by_diagonal(moments.gram_diagonal(centre), shifts)
        return conjugate_gradient(
            lambda Z: moments.gram(Z, centre), right, shifts, precondition=nearby, tol=1e-6
        )
    matrix = moments.gram_matrix(centre)
    shifted = matrix.copy()
    shifted[np.diag_indices_from(shifted)] += gamma
    try:
        factor = scipy.linalg.cho_factor(shifted, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:  # no ridge to speak of: the minimum-norm solution
        return Spectrum.of(matrix, overwrite=True).solve(right, shifts)
    return scipy.linalg.cho_solve(factor, right, check_finite=False)


def _mixed(labels: LabelMoments, predictable: Product | None, weight: float) -> Product:
    if predictable is None or weight == 0:
        if labels.n_labels > DENSE_GRAM:
            return labels.signed_product
        gram = labels.signed_gram()
        return lambda W: gram @ W
    return lambda W: (1 - weight) * labels.signed_product(W) + weight * predictable(W)


def _trace(labels: LabelMoments, product: Product, feature_weight: float) -> float:
    if feature_weight == 0:
        return labels.total
    return float(np.trace(product(np.eye(labels.n_labels))))


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
    path: list[float] = []
    for _ in range(max(max_iter, 1)):
        W, UU, UY = _point_step(product, V, lambda_1)
        V, W, UU, UY = _balance(V, W, UU, UY, penalty, lambda_1)
        before = _objective(total, V, UU, UY, penalty, lambda_1)
        # With as many dimensions as labels the objective is next to nothing of ‖Y‖², and shares
        # of it would be chased for ever.
        scale = max(before, SCALE * total)
        solution = _hyperplane_step(V, UU, UY, total, penalty, 0.1 * tol, scale)
        alive = np.abs(solution.point).max(axis=1, initial=0.0) > 0
        V, W, penalty = solution.point[alive], W[:, alive], _for_rows(penalty, alive)
        objective = _objective(total, V, UU[np.ix_(alive, alive)], UY[alive], penalty, lambda_1)
        path.append(objective)
        converged = before - objective + solution.gap <= tol * scale
        if converged:
            break
    gap = solution.gap / max(objective, np.finfo(float).tiny)
    return Embedding(V, W, np.asarray(path), gap, len(path), bool(converged))


def _point_step(product: Product, V: Array, lambda_1: float) -> tuple[Array, Array, Array]:
    """U = Y Vᵀ(VVᵀ + λ1 I)^{-1}, as W with the products UᵀU and UᵀY that the V step needs."""
    inner = V @ V.T
    # A hair of ridge keeps λ1 = 0 solvable.
    inner[np.diag_indices_from(inner)] += max(lambda_1, 1e-12 * float(np.trace(inner)))
    W = scipy.linalg.solve(inner, V, assume_a="pos", check_finite=False).T
    UY = product(W).T
    return W, UY @ W, UY


def _balance(
    V: Array, W: Array, UU: Array, UY: Array, penalty: GroupRows, lambda_1: float
) -> tuple[Array, Array, Array, Array]:
    """Choose the scale c_i between u_i and v_i that minimises both penalties: exact, per row."""
    if lambda_1 == 0 or penalty.strength == 0:
        return V, W, UU, UY
    lengths = penalty.norms(V).sum(axis=1)
    energy = np.diagonal(UU)
    alive = (lengths > 0) & (energy > 0)
    c = np.ones(len(V))
    c[alive] = np.cbrt(penalty.strength * lengths[alive] / (2 * lambda_1 * energy[alive]))
    return V / c[:, None], W * c, UU * np.multiply.outer(c, c), UY * c[:, None]


def _hyperplane_step(
    V: Array,
    UU: Array,
    UY: Array,
    total: float,
    penalty: GroupRows,
    tol: float,
    scale: float,
) -> Solution:
    """Minimise over V, all groups at once: their rows share UᵀU."""
    values = np.linalg.eigvalsh(UU) if len(UU) else np.zeros(1)
    smooth = Quadratic(
        product=lambda M: UU @ M,
        linear=UY,
        constant=total,
        curvature=float(values[-1]),
        convexity=max(float(values[0]), 0.0),
    )
    return proximal_gradient(smooth, penalty, V, tol=tol, max_iter=100, scale=scale)


def _objective(
    total: float, V: Array, UU: Array, UY: Array, penalty: GroupRows, lambda_1: float
) -> float:
    fit = total - 2.0 * np.vdot(UY, V) + np.vdot(V, UU @ V)
    return float(fit) + lambda_1 * float(np.trace(UU)) + penalty.value(V)


def _for_rows(penalty: GroupRows, rows: NDArray[np.bool_]) -> GroupRows:
    if penalty.allowed is None:
        return penalty
    return GroupRows(penalty.strength, penalty.groups, penalty.allowed[rows])
