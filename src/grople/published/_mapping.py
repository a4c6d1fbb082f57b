"""Stage 3 as published: an indefinite objective, stopped early."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

__all__ = [
    "PublishedMapping",
    "cosine_distance",
    "nudged_gram",
    "published_descent",
    "published_mapping",
]

_RIDGE = 0.01
_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class PublishedMapping:
    """The map Z (n_features × n_components) from features to latent dimensions.

    ``loss_path`` is the loss after each step (with the number of non-zeros in place of ``‖Z‖₁``).
    ``unbounded``: the objective has no minimum, ``λ_min(XᵀX) + α λ_min(R) < 0``, and Z is a point
    on the way down to −∞, where the loss first fell to zero or moved little.
    """

    Z: np.ndarray
    loss_path: np.ndarray
    n_iter: int
    unbounded: bool


def published_mapping(
    xtx: Any, xtu: Any, utu: Any, alpha: float, beta: float, max_iter: int = 500
) -> PublishedMapping:
    """Map features to the embedding by the published accelerated proximal gradient.

    Descends ``½‖XZ − U‖² + (α/2) tr(R ZᵀZ) + β‖Z‖₁`` (half the printed objective with 2β in it),
    ``R = 1 − cosine`` of U's columns, from the ridge solution ``(XᵀX + 0.01 I)^{-1} XᵀU``, in steps
    of 1/ℓ, ``ℓ = √(2(‖XᵀX‖₂² + ‖αR‖₂²))``. It stops when the loss
    ``‖XZ − U‖² + α tr(R ZᵀZ) + β·nnz(Z)`` moves by at most 1e-4 or is not positive.

    Parameters
    ----------
    xtx : array of shape (n_features, n_features)
        XᵀX.
    xtu : array of shape (n_features, n_components)
        XᵀU.
    utu : array of shape (n_components, n_components)
        UᵀU, its dead dimensions dropped (`drop_dead`) or, as published, `nudged_gram`.
    alpha, beta : float
        Weights of the correlation term and of sparsity (the paper's α and β).
    max_iter : int, default=500
        Most steps.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> U = X @ np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> fit = published_mapping(X.T @ X, X.T @ U, U.T @ U, alpha=0.0, beta=1e-6)
    >>> fit.Z.round(2) + 0.0, fit.unbounded
    (array([[1., 0.],
           [0., 1.]]), False)
    """
    xtx, xtu, utu = (np.asarray(moment, dtype=float) for moment in (xtx, xtu, utu))
    if alpha < 0 or beta < 0:
        raise ValueError(f"alpha and beta must not be negative, got {alpha} and {beta}")
    penalty = alpha * cosine_distance(utu)
    spectrum = scipy.linalg.eigvalsh(xtx)
    penalty_spectrum = np.linalg.eigvalsh(penalty)
    lipschitz = math.sqrt(2.0 * (spectrum[-1] ** 2 + np.abs(penalty_spectrum).max() ** 2))
    # A Gram matrix has no negative eigenvalues, only rounding errors that look like some.
    unbounded = bool(max(spectrum[0], 0.0) + penalty_spectrum[0] < 0.0)

    start = scipy.linalg.solve(xtx + _RIDGE * np.eye(len(xtx)), xtu, assume_a="pos")
    Z, losses = published_descent(
        xtx.__matmul__, xtu, penalty, beta, float(np.trace(utu)), lipschitz, start, max_iter
    )
    return PublishedMapping(Z, losses, len(losses), unbounded)


def published_descent(
    gram: Callable[[np.ndarray], np.ndarray],
    xtu: np.ndarray,
    penalty: np.ndarray,
    beta: float,
    constant: float,
    lipschitz: float,
    start: np.ndarray,
    max_iter: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the last point and the loss after each step of the published descent.

    The steps are taken in the precision of the arrays. In single precision they halt where they do
    in double but for a step or so, and a few scores near zero change their sign.

    Parameters
    ----------
    gram, xtu, constant : callable, ndarray, float
        ``Z ↦ XᵀXZ``, XᵀU and ``‖U‖²``.
    penalty : ndarray of shape (n_components, n_components)
        αR.
    beta : float
        Weight of sparsity.
    lipschitz : float
        ℓ, one over the step.
    start, max_iter : ndarray of shape (n_features, n_components), int
        Where to start, and the most steps.

    Examples
    --------
    >>> import numpy as np
    >>> Z, losses = published_descent(
    ...     lambda Z: 2.0 * Z, np.array([[4.0]]), np.zeros((1, 1)), beta=1.0, constant=8.0,
    ...     lipschitz=2.0, start=np.zeros((1, 1)), max_iter=10,
    ... )
    >>> Z, losses
    (array([[1.5]]), array([1.5, 1.5]))
    """
    # XᵀXZ + αZR is linear in Z, so its extrapolation is free: one product with each a step.
    Z, image = start, gram(start) + start @ penalty
    move, turn = np.zeros_like(Z), np.zeros_like(image)
    b_old, b = 1.0, 1.0
    losses: list[float] = []
    used = 0
    twice = 2.0 * xtu
    for step in range(max_iter):
        momentum = (b_old - 1.0) / b
        Z_old, image_old = Z, image
        Z = image_old + momentum * turn
        Z -= xtu
        Z /= -lipschitz
        Z += Z_old
        Z += momentum * move
        Z -= np.clip(Z, -beta / lipschitz, beta / lipschitz)  # the soft threshold
        image = gram(Z) + Z @ penalty
        move, turn = Z - Z_old, image - image_old
        b_old, b = b, (1.0 + math.sqrt(1.0 + 4.0 * b * b)) / 2.0
        used_old, used = used, int(np.count_nonzero(Z))
        loss = constant + float(np.vdot(Z, image - twice)) + beta * used
        losses.append(loss)
        # As a product with the step: the difference of two losses would need more digits than
        # single precision has.
        change = float(np.vdot(move, image + image_old - twice)) + beta * (used - used_old)
        if abs(change if step else loss) <= _TOLERANCE or loss <= 0.0:
            break
    return Z, np.array(losses)


def nudged_gram(n: float, sums: Any, utu: Any) -> np.ndarray:
    """Return the Gram matrix of U + ε, ε the machine epsilon: what the published cosines are of.

    It leaves the cosines of live dimensions as they are. A dead one (a zero column of U) becomes a
    constant column, with a cosine to the others, and stays in stage 3: its column of Z starts at
    zero and takes part in the correlation term, which brings the loss down to zero sooner. No label
    uses it otherwise. Where d > L (genbase, medical) the published numbers depend on this.

    Parameters
    ----------
    n : float
        Number of rows.
    sums : array of shape (n_components,)
        1ᵀU, the column sums: ``(1ᵀY) W``.
    utu : array of shape (n_components, n_components)
        UᵀU.

    Examples
    --------
    >>> import numpy as np
    >>> U = np.array([[1.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
    >>> cosine = 1 - cosine_distance(nudged_gram(3, U.sum(axis=0), U.T @ U))
    >>> bool(np.isclose(cosine[0, 1], 5 / (3 * np.sqrt(3))))
    True
    """
    epsilon = float(np.finfo(float).eps)
    sums = np.asarray(sums, dtype=float)
    return np.asarray(utu, dtype=float) + epsilon * (sums + sums[:, None] + n * epsilon)


def cosine_distance(gram: Any) -> np.ndarray:
    """Return ``1 − cosine`` between the columns whose Gram matrix this is.

    Examples
    --------
    >>> cosine_distance([[4.0, 2.0], [2.0, 4.0]])
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    gram = np.asarray(gram, dtype=float)
    squares = gram.diagonal()
    if not np.all(squares > 0.0):
        dead = np.flatnonzero(~(squares > 0.0))
        raise ValueError(
            f"{dead.size} of {squares.size} dimensions are zero (first: {dead[0]}) and have no "
            "cosine: drop them (drop_dead) or pass the nudged_gram"
        )
    lengths = np.sqrt(squares)
    distance = 1.0 - gram / np.outer(lengths, lengths)
    np.fill_diagonal(distance, 0.0)
    return distance
