"""Stage 3 as published: an indefinite objective, stopped early."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = [
    "PublishedMapping",
    "PublishedProblem",
    "cosine_distance",
    "nudged_gram",
    "published_mapping",
]

Array = NDArray[Any]

#: The ridge weight of the start, and the move of the loss that ends the descent.
START_RIDGE, TOLERANCE = 0.01, 1e-4
#: The most steps.
STEPS = 500
#: A sparse product does about a fifteenth as much a second as a dense one.
SPARSE_COST = 15


@dataclass(frozen=True, eq=False)
class PublishedMapping:
    """The map Z (n_features × n_components) from features to latent dimensions.

    ``loss_path`` is the loss after each step (with the number of non-zeros in place of ``‖Z‖₁``).
    ``unbounded``: the objective has no minimum, ``λ_min(XᵀX) + α λ_min(R) < 0``, and Z is a point
    on the way down to −∞, where the loss first fell to zero or moved little.
    """

    Z: Array
    loss_path: Array
    n_iter: int
    unbounded: bool


@dataclass(frozen=True, eq=False)
class PublishedProblem:
    """Stage 3 as published, for targets U of any origin; what settings share is computed once.

    Attributes
    ----------
    gram : callable
        ``Z ↦ XᵀXZ``.
    target : ndarray of shape (n_features, n_components)
        XᵀU.
    distance : ndarray of shape (n_components, n_components)
        ``R = 1 − cosine`` of U's columns.
    constant : float
        ``‖U‖²``.
    extremes : tuple of float
        The smallest (a bound from below) and the largest eigenvalue of XᵀX.
    """

    gram: Callable[[Array], Array]
    target: Array
    distance: Array
    constant: float
    extremes: tuple[float, float]

    @cached_property
    def distance_extremes(self) -> tuple[float, float]:
        """The smallest and largest eigenvalue of R."""
        values = np.linalg.eigvalsh(self.distance)
        return float(values[0]), float(values[-1])

    def unbounded(self, alpha: float) -> bool:
        """Tell whether the objective falls below every value."""
        return self.extremes[0] + alpha * self.distance_extremes[0] < 0.0

    def solve(
        self, alpha: float, beta: float, start: Array, max_iter: int = STEPS
    ) -> PublishedMapping:
        """Descend ``½‖XZ − U‖² + (α/2) tr(R ZᵀZ) + β‖Z‖₁`` until the loss moves little.

        That is half the printed objective with 2β in it, in accelerated steps of 1/ℓ,
        ``ℓ = √(2(‖XᵀX‖₂² + ‖αR‖₂²))``. It stops when the loss
        ``‖XZ − U‖² + α tr(R ZᵀZ) + β·nnz(Z)`` moves by at most 1e-4 or is not positive. The steps
        are taken in the precision of the start; in single precision they halt where they do in
        double but for a step or so, and a few scores near zero change their sign.

        Examples
        --------
        >>> problem = PublishedProblem(
        ...     lambda Z: 2.0 * Z, np.array([[4.0]]), np.zeros((1, 1)), 8.0, (2.0, np.sqrt(2.0))
        ... )
        >>> found = problem.solve(0.0, 1.0, np.zeros((1, 1)), max_iter=10)
        >>> found.Z, found.loss_path
        (array([[1.5]]), array([1.5, 1.5]))
        """
        steepest = alpha * max(map(abs, self.distance_extremes))
        lipschitz = math.sqrt(2.0 * (self.extremes[1] ** 2 + steepest**2))
        target = self.target.astype(start.dtype, copy=False)
        penalty = (alpha * self.distance).astype(start.dtype, copy=False)
        # XᵀXZ + αZR is linear in Z, so its extrapolation is free: one product with each a step.
        Z, image = start, self.gram(start) + start @ penalty
        move, turn = np.zeros_like(Z), np.zeros_like(image)
        b_old, b, used = 1.0, 1.0, 0
        losses: list[float] = []
        twice = 2.0 * target
        for step in range(max_iter):
            momentum = (b_old - 1.0) / b
            Z_old, image_old, used_old = Z, image, used
            Z = image_old + momentum * turn  # in place: these arrays are large
            Z -= target
            Z /= -lipschitz
            Z += Z_old
            Z += momentum * move
            Z -= np.clip(Z, -beta / lipschitz, beta / lipschitz)  # the soft threshold
            image = self.gram(Z) + Z @ penalty
            move, turn = Z - Z_old, image - image_old
            b_old, b = b, (1.0 + math.sqrt(1.0 + 4.0 * b * b)) / 2.0
            used = int(np.count_nonzero(Z))
            losses.append(self.constant + float(np.vdot(Z, image - twice)) + beta * used)
            # As a product with the step: the difference of two losses would need more digits than
            # single precision has.
            change = float(np.vdot(move, image + image_old - twice)) + beta * (used - used_old)
            if abs(change if step else losses[0]) <= TOLERANCE or losses[-1] <= 0.0:
                break
        return PublishedMapping(Z, np.array(losses), len(losses), self.unbounded(alpha))


def mapping_problem(xtx: Any, xtu: Any, utu: Any) -> PublishedProblem:
    """Return the problem of these moments; XᵀX is a matrix, its products those of the argument."""
    xtx, xtu, utu = (np.asarray(moment, dtype=float) for moment in (xtx, xtu, utu))
    values = scipy.linalg.eigvalsh(xtx)
    # A Gram matrix has no negative eigenvalues, only rounding errors that look like some.
    extremes = max(float(values[0]), 0.0), float(values[-1])
    narrow = cached_narrow(xtx)
    return PublishedProblem(narrow, xtu, cosine_distance(utu), float(np.trace(utu)), extremes)


def cached_narrow(matrix: Array) -> Callable[[Array], Array]:
    """Return products with a matrix, in single precision where the other factor is."""
    copies = {matrix.dtype: matrix}

    def product(Z: Array) -> Array:
        if Z.dtype not in copies:
            copies[Z.dtype] = matrix.astype(Z.dtype)
        return np.asarray(copies[Z.dtype] @ Z)

    return product


def sparse_products(X: Any, dtype: Any) -> Callable[[Array], Array] | None:
    """Return ``Z ↦ XᵀXZ`` by the rows where they are so sparse that this pays, else None."""
    if not sp.issparse(X) or 2 * SPARSE_COST * X.nnz >= X.shape[1] ** 2:
        return None
    rows = sp.csr_array(X, dtype=dtype)
    transposed = rows.T.tocsr()
    return lambda Z: np.asarray(transposed @ (rows @ Z))


def mapping_start(xtx: Array, xtu: Array) -> Array:
    """Return where the published descent starts, ``(XᵀX + 0.01 I)^{-1} XᵀU``."""
    shifted = xtx + START_RIDGE * np.eye(len(xtx))
    return np.asarray(scipy.linalg.solve(shifted, xtu, assume_a="pos"))


def published_mapping(
    xtx: Any, xtu: Any, utu: Any, alpha: float, beta: float, max_iter: int = STEPS
) -> PublishedMapping:
    """Map features to the embedding by the published accelerated proximal gradient.

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
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> U = X @ np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> fit = published_mapping(X.T @ X, X.T @ U, U.T @ U, alpha=0.0, beta=1e-6)
    >>> fit.Z.round(2) + 0.0, fit.unbounded
    (array([[1., 0.],
           [0., 1.]]), False)
    """
    start = mapping_start(np.asarray(xtx, dtype=float), np.asarray(xtu, dtype=float))
    return mapping_problem(xtx, xtu, utu).solve(alpha, beta, start, max_iter)


def nudged_gram(n: float, sums: Any, utu: Any) -> Array:
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
    >>> U = np.array([[1.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
    >>> cosine = 1 - cosine_distance(nudged_gram(3, U.sum(axis=0), U.T @ U))
    >>> bool(np.isclose(cosine[0, 1], 5 / (3 * np.sqrt(3))))
    True
    """
    epsilon = float(np.finfo(float).eps)
    sums = np.asarray(sums, dtype=float)
    return np.asarray(utu, dtype=float) + epsilon * (sums + sums[:, None] + n * epsilon)


def cosine_distance(gram: Any) -> Array:
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
