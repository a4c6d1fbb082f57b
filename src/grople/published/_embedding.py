"""Stage 2 as published: alternating steps from a random start, in Gram form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.utils import check_random_state

__all__ = ["PublishedEmbedding", "drop_dead", "published_embedding"]

_RIDGE = 0.01
_INNER_STEPS = 100
_INNER_TOLERANCE = 0.001
_OUTER_TOLERANCE = 0.5
_SAMPLE = 20_000


@dataclass(frozen=True, eq=False)
class PublishedEmbedding:
    """Y ≈ U V with U = Y W.

    ``V`` (n_components × n_labels) are the hyperplanes, whose rows may be zero (`drop_dead`); ``W``
    is ``Vᵀ(VVᵀ + λ1 I)^{-1}``; ``objective_path`` the printed objective after each outer iteration.
    """

    V: np.ndarray
    W: np.ndarray
    objective_path: np.ndarray
    n_iter: int


def published_embedding(
    n: float,
    signed_gram: Any,
    groups: Any,
    *,
    counts: Any,
    n_components: int = 100,
    lambda_1: float = 1e-3,
    lambda_2: float = 1.0,
    random_state: Any = None,
    max_iter: int = 500,
    tol: float = _OUTER_TOLERANCE,
) -> PublishedEmbedding:
    """Embed the labels by the published alternation, from moments of the labels.

    Meant to minimise ``Σ_k ‖Y^k − U V^k‖² + λ1 ‖U‖² + λ2 Σ_k ‖V^k‖_{2,1}``. Each outer iteration
    restarts ``V^k`` from ``(UᵀU + 0.01 I)^{-1} UᵀY^k``, takes at most 100 accelerated steps
    ``V ← prox_{λ2/ℓ}(V − (UᵀU V − UᵀY)/ℓ)``, ``ℓ = √2 ‖UᵀU‖₂`` (half the gradient, so 2λ2 in
    effect), until the group's printed objective moves by at most 0.001 between two steps, and then
    sets ``U = Y Vᵀ(VVᵀ + λ1 I)^{-1}``. It stops when the objective moves by at most 0.5.

    Parameters
    ----------
    n : float
        Number of rows.
    signed_gram : array of shape (n_labels, n_labels)
        YᵀY, Y = 2B − 1.
    groups : array of int, shape (n_labels,)
        The group of each label.
    counts : array of shape (n_labels,)
        Rows that carry each label, which the random start needs.
    n_components : int, default=100
        The paper's d. It is not clipped to the number of labels: superfluous dimensions die.
    lambda_1, lambda_2 : float, default=1e-3, 1.0
        The paper's λ1 and λ2.
    random_state : int, RandomState or None
        Seeds the random start (`random_start`).
    max_iter : int, default=500
        Most outer iterations.
    tol : float, default=0.5
        Stop when the objective moves by at most this; negative: never before ``max_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> B = np.repeat(np.eye(4, dtype=int), 25, axis=0)
    >>> Y = 2 * B - 1
    >>> groups, counts = [0, 0, 1, 1], B.sum(axis=0)
    >>> fit = published_embedding(
    ...     100, Y.T @ Y, groups, counts=counts, n_components=6, random_state=0
    ... )
    >>> bool(np.array_equal(np.sign(Y @ fit.W @ fit.V), Y))
    True
    """
    gram = np.asarray(signed_gram, dtype=float)
    sums = 2.0 * np.asarray(counts, dtype=float) - n
    utu, uty = random_start(n, sums, gram, n_components, random_state)
    return alternate(utu, uty, n, gram, np.asarray(groups), lambda_1, lambda_2, max_iter, tol)


def drop_dead(V: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return V and W without the latent dimensions that no label uses (zero rows of V).

    Examples
    --------
    >>> import numpy as np
    >>> V, W = drop_dead(np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[3.0, 0.0], [4.0, 0.0]]))
    >>> V.tolist(), W.tolist()
    ([[1.0, 2.0]], [[3.0], [4.0]])
    """
    alive = np.any(V != 0.0, axis=1)
    return V[alive], W[:, alive]


def random_start(
    n: float, sums: np.ndarray, gram: np.ndarray, n_components: int, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw UᵀU and UᵀY of the random start, without an array of n rows.

    The published start is an n×d matrix U of uniform random numbers, its rows scaled to unit
    length. These are independent with a mean m and a covariance S, hence ``U = 1mᵀ + Γ S^{1/2}``
    with Γ of zero mean and unit covariance. Let the r columns of Q be an orthonormal basis of the
    columns of ``[1 Y]``, and ``T = Qᵀ[1 Y]``, a root of a Gram matrix made of moments. By the
    central limit theorem ``QᵀΓ`` is standard normal, which gives ``QᵀU = (Qᵀ1)mᵀ + (QᵀΓ)S^{1/2}``.
    The rest of Γ is seen through its Gram matrix only, a Wishart matrix with n − r degrees of
    freedom: ``UᵀY = (QᵀU)ᵀ(QᵀY)`` and ``UᵀU = (QᵀU)ᵀ(QᵀU) + S^{1/2} Wishart S^{1/2}``. Both belong
    to one U: ``[U Y]ᵀ[U Y]`` is positive semi-definite, as it must be.
    """
    rng = check_random_state(random_state)
    d = n_components
    mean, root = _unit_row_moments(rng, d)

    # T, in the rotated rows that are the eigenvectors' coordinates.
    bordered = np.block([[np.full((1, 1), n), sums[None, :]], [sums[:, None], gram]])
    values, vectors = scipy.linalg.eigh(bordered)
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    T = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    rank = len(T)

    rows = np.outer(T[:, 0], mean) + rng.standard_normal((rank, d)) @ root
    utu = rows.T @ rows + root @ _wishart(rng, n - rank, d) @ root
    return utu, rows.T @ T[:, 1:]


def _unit_row_moments(rng: np.random.RandomState, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and root of the covariance of a uniform random vector of unit length.

    The coordinates are exchangeable, so the covariance has two eigenvalues: one along (1, …, 1),
    the other everywhere else. Both follow from the coordinate sum t, whose mean and variance are
    estimated from a sample, and from ``‖u‖ = 1``.
    """
    sample = rng.uniform(size=(_SAMPLE, d))
    t = sample.sum(axis=1) / np.linalg.norm(sample, axis=1)
    along = float(t.var()) / d
    across = (1.0 - float(np.mean(t * t)) / d) / max(d - 1, 1)
    ones = np.full((d, d), 1.0 / d)
    root = math.sqrt(along) * ones + math.sqrt(max(across, 0.0)) * (np.eye(d) - ones)
    return np.full(d, t.mean() / d), root


def _wishart(rng: np.random.RandomState, dof: float, d: int) -> np.ndarray:
    """Draw a d×d Wishart matrix with unit scale (Bartlett), singular where dof < d."""
    if dof < d:
        normal = rng.standard_normal((max(round(dof), 0), d))
        return normal.T @ normal
    factor = np.tril(rng.standard_normal((d, d)), -1)
    factor[np.diag_indices(d)] = np.sqrt(rng.chisquare(dof - np.arange(d)))
    return factor @ factor.T


def alternate(
    utu: np.ndarray,
    uty: np.ndarray,
    n: float,
    gram: np.ndarray,
    groups: np.ndarray,
    lambda_1: float,
    lambda_2: float,
    max_iter: int,
    tol: float = _OUTER_TOLERANCE,
) -> PublishedEmbedding:
    """Alternate V and U steps from the moments of a start U."""
    # Labels in the order of their groups, so that a group is a slice.
    order = np.argsort(groups, kind="stable")
    sizes = np.unique(groups, return_counts=True)[1]
    gram, uty = gram[np.ix_(order, order)], uty[:, order]
    ridge = lambda_1 * np.eye(len(utu))
    objectives: list[float] = []
    for _ in range(max_iter):
        V, penalty = hyperplanes(utu, uty, sizes, lambda_2)
        W = scipy.linalg.solve(V @ V.T + ridge, V, assume_a="pos").T
        uty = W.T @ gram
        utu = uty @ W
        error = n * len(order) + float(np.vdot(V, utu @ V - 2.0 * uty))
        objectives.append(error + lambda_1 * float(np.trace(utu)) + lambda_2 * penalty)
        if len(objectives) > 1 and abs(objectives[-2] - objectives[-1]) <= tol:
            break
    back = np.argsort(order)
    return PublishedEmbedding(V[:, back], W[back], np.array(objectives), len(objectives))


def hyperplanes(
    utu: np.ndarray, uty: np.ndarray, sizes: np.ndarray, lambda_2: float
) -> tuple[np.ndarray, float]:
    """Return V and ``Σ_k ‖V^k‖_{2,1}`` after the V step of one outer iteration.

    All groups step together; each keeps the V at which its own objective stopped moving. Columns
    come in the order of their groups, `sizes` long each.
    """
    d = len(utu)
    V = scipy.linalg.solve(utu + _RIDGE * np.eye(d), uty, assume_a="pos")
    largest = scipy.linalg.eigvalsh(utu, subset_by_index=(d - 1, d - 1))[0]
    lipschitz = math.sqrt(2.0) * float(largest)
    if lipschitz <= 0.0:  # U = 0 fits nothing, and V = 0 it is
        return V, 0.0
    threshold = lambda_2 / lipschitz

    result, penalties = np.empty_like(V), np.empty(len(sizes))
    columns = np.arange(V.shape[1])  # of the groups that still move
    active = np.arange(len(sizes))
    # UᵀUV is linear in V, so its extrapolation is free: one product a step.
    product = utu @ V
    V_old, product_old = V, product
    b_old, b = 1.0, 1.0
    loss_old = np.full(len(sizes), np.inf)
    for step in range(_INNER_STEPS):
        momentum = (b_old - 1.0) / b
        point = V + momentum * (V - V_old)
        point -= (product + momentum * (product - product_old) - uty) / lipschitz
        V_old, product_old = V, product
        starts = np.cumsum(sizes[active]) - sizes[active]
        norms = np.sqrt(np.add.reduceat(point * point, starts, axis=1))
        shrunk = np.maximum(norms - threshold, 0.0)
        factors = np.divide(shrunk, norms, out=np.zeros_like(norms), where=norms > 0.0)
        V = point * np.repeat(factors, sizes[active], axis=1)
        product = utu @ V
        b_old, b = b, (1.0 + math.sqrt(1.0 + 4.0 * b * b)) / 2.0

        # Without ‖Y^k‖², which does not move.
        errors = np.einsum("ij,ij->j", V, product - 2.0 * uty)
        penalty = shrunk.sum(axis=0)
        loss = np.add.reduceat(errors, starts) + lambda_2 * penalty
        moving = np.abs(loss_old - loss) > _INNER_TOLERANCE
        if step == _INNER_STEPS - 1:
            moving[:] = False
        loss_old = loss
        if moving.all():
            continue
        stay = np.repeat(moving, sizes[active])
        result[:, columns[~stay]] = V[:, ~stay]
        penalties[active[~moving]] = penalty[~moving]
        if not moving.any():
            break
        active, columns, loss_old = active[moving], columns[stay], loss_old[moving]
        V, V_old, uty = V[:, stay], V_old[:, stay], uty[:, stay]
        product, product_old = product[:, stay], product_old[:, stay]
    return result, float(penalties.sum())
