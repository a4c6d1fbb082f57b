"""Penalties, and accelerated proximal gradient for quadratics, stopped by a certificate.

A penalty is ``s·Ω(W)``, Ω a norm. ``prox(W, step)`` is the P with the least
``‖P − W‖² / (2·step) + s·Ω(P)``. The distance says, part by part, how far ``−gradient`` is from the
subdifferential at W: W minimises ``f + s·Ω`` where it is zero for the gradient of f. A duality gap
needs the norm dual to Ω.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "GroupRows",
    "L1",
    "Quadratic",
    "Solution",
    "duality_gap",
    "objective",
    "optimality_gap",
    "proximal_gradient",
]

Array = NDArray[Any]


@dataclass(frozen=True)
class L1:
    """``strength · Σ |w|``.

    Examples
    --------
    >>> import numpy as np
    >>> L1(1.0).prox(np.array([[3.0, -0.5]]), step=1.0)
    array([[ 2., -0.]])
    """

    strength: float

    def value(self, W: Array) -> float:
        """Return the penalty of W."""
        return float(self.strength * np.abs(W).sum())

    def prox(self, W: Array, step: Any) -> Array:
        """Shrink every entry by ``strength·step`` (one step, or one a column)."""
        shrunk = np.abs(W)
        shrunk -= self.strength * step
        np.maximum(shrunk, 0.0, out=shrunk)
        return np.copysign(shrunk, W, out=shrunk)

    def distance(self, W: Array, gradient: Array) -> Array:
        """Return the distance to optimality of each entry."""
        at_zero = np.maximum(np.abs(gradient) - self.strength, 0.0)
        elsewhere = np.abs(gradient + self.strength * np.sign(W))
        return np.where(W == 0, at_zero, elsewhere)

    def dual_norm(self, W: Array) -> float:
        """Return the largest absolute entry."""
        return float(np.abs(W).max(initial=0.0))


@dataclass(frozen=True)
class GroupRows:
    """``strength · Σ_k Σ_i ‖W_i^k‖₂``, W_i^k the part of row i in the columns of group k.

    Parameters
    ----------
    strength : float
        The weight, λ2.
    groups : ndarray of shape (n_columns,)
        The group of each column, numbered from 0.
    allowed : ndarray of bool of shape (n_rows, n_groups), optional
        Rows that a group may use; elsewhere W is held at zero.

    Examples
    --------
    >>> import numpy as np
    >>> penalty = GroupRows(1.0, np.array([0, 0, 1]))
    >>> penalty.value(np.array([[3.0, 4.0, -2.0]]))
    7.0
    >>> penalty.prox(np.array([[3.0, 4.0, -0.5]]), step=1.0)
    array([[ 2.4,  3.2, -0. ]])
    """

    strength: float
    groups: NDArray[np.intp]
    allowed: NDArray[np.bool_] | None = None

    def select(self, rows: NDArray[np.bool_]) -> GroupRows:
        """Return the penalty of some of the rows."""
        if self.allowed is None:
            return self
        return replace(self, allowed=self.allowed[rows])

    @cached_property
    def _order(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Columns in the order of their groups, and where each group starts."""
        order = np.argsort(self.groups, kind="stable")
        return order, np.flatnonzero(np.diff(self.groups[order], prepend=-1))

    def norms(self, W: Array) -> Array:
        """Return ``‖W_i^k‖`` as an array of rows × groups."""
        order, starts = self._order
        squares = W[:, order]
        np.square(squares, out=squares)
        return np.sqrt(np.add.reduceat(squares, starts, axis=1))

    def value(self, W: Array) -> float:
        """Return the penalty of W."""
        return float(self.strength * self.norms(W).sum())

    def prox(self, W: Array, step: float) -> Array:
        """Shorten every row of every group by ``strength·step``."""
        norms = self.norms(W)
        everything = np.full_like(norms, np.inf)
        share = np.divide(self.strength * step, norms, out=everything, where=norms > 0)
        factor = np.maximum(1.0 - share, 0.0)
        if self.allowed is not None:
            factor *= self.allowed
        return factor[:, self.groups] * W

    def distance(self, W: Array, gradient: Array) -> Array:
        """Return the distance to optimality of each row of each group."""
        norms = self.norms(W)
        inverse = np.divide(self.strength, norms, out=np.zeros_like(norms), where=norms > 0)
        elsewhere = self.norms(gradient + inverse[:, self.groups] * W)
        at_zero = np.maximum(self.norms(gradient) - self.strength, 0.0)
        distance = np.where(norms > 0, elsewhere, at_zero)
        return distance if self.allowed is None else distance * self.allowed

    def dual_norm(self, W: Array) -> float:
        """Return the length of the longest row of a group."""
        norms = self.norms(W)
        if self.allowed is not None:
            norms = norms * self.allowed
        return float(norms.max(initial=0.0))


Penalty = L1 | GroupRows


@dataclass(frozen=True)
class Quadratic:
    """The smooth part ``⟨W, HW⟩ − 2⟨F, W⟩ + c``, a sum of squares ``‖A W − B‖²``.

    Parameters
    ----------
    product : callable
        ``W ↦ H W`` with H symmetric and positive semi-definite.
    linear : ndarray
        F, half the negative gradient at zero.
    constant : float
        c, the value at zero (``‖B‖²``).
    curvature : float
        An estimate of the largest eigenvalue of H; the solver raises it where it is too small.
    convexity : float
        A lower bound of the smallest eigenvalue of H (a ridge term, say).
    """

    product: Callable[[Array], Array]
    linear: Array
    constant: float
    curvature: float
    convexity: float = 0.0


@dataclass(frozen=True)
class Solution:
    """A point, the objective after each iteration, and the certificate the solver stopped on.

    ``gap`` bounds how far the objective is above its minimum (infinite where no bound is known).
    """

    point: Array
    objective_path: Array
    gap: float
    n_iter: int
    converged: bool


def proximal_gradient(
    smooth: Quadratic,
    penalty: Penalty,
    start: Array,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    scale: float | None = None,
) -> Solution:
    """Minimise ``smooth + penalty`` from ``start``.

    Nesterov's momentum with gradient restart; one product with H an iteration, since HP at the
    extrapolated point P is the same combination of products already known. It stops when
    `optimality_gap` falls to ``tol`` times ``scale`` (by default the objective).

    Examples
    --------
    >>> import numpy as np
    >>> from grople.optim import L1
    >>> smooth = Quadratic(lambda W: 2.0 * W, np.array([[4.0]]), constant=8.0, curvature=2.0)
    >>> solution = proximal_gradient(smooth, L1(4.0), np.zeros((1, 1)))
    >>> solution.point, solution.converged
    (array([[1.]]), True)
    """
    W, HW = start, smooth.product(start)
    W_before, HW_before = W, HW
    # Any positive number is a start, as long as the first step does not overflow.
    curvature = max(
        smooth.curvature, 1e-100 * float(np.abs(smooth.linear).max(initial=0.0)), 1e-300
    )
    momentum = 1.0
    gap = optimality_gap(smooth, penalty, W, HW)
    path = [objective(smooth, penalty, W, HW)]
    while not (converged := gap <= tol * (abs(path[-1]) if scale is None else scale)):
        if len(path) > max_iter:
            break
        momentum_next = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        weight = (momentum - 1.0) / momentum_next
        P = W + weight * (W - W_before)
        HP = HW + weight * (HW - HW_before)
        while True:
            new = penalty.prox(P - (HP - smooth.linear) / curvature, 0.5 / curvature)
            H_new = smooth.product(new)
            step = new - P
            bent, length = np.vdot(step, H_new - HP), np.vdot(step, step)
            if not bent > curvature * length * (1 + 1e-9) + np.finfo(float).tiny:
                break
            # The curvature was underestimated along this step: the descent lemma fails.
            curvature = 1.1 * float(bent / length)
        if np.vdot(step, new - W) < 0:
            momentum_next = 1.0  # the momentum points uphill: restart it
        W_before, HW_before, W, HW = W, HW, new, H_new
        momentum = momentum_next
        gap = optimality_gap(smooth, penalty, W, HW)
        path.append(objective(smooth, penalty, W, HW))
    return Solution(W, np.asarray(path), gap, len(path) - 1, bool(converged))


def objective(smooth: Quadratic, penalty: Penalty, W: Array, HW: Array) -> float:
    """Return ``smooth + penalty`` at W, given the product HW."""
    fit = np.vdot(W, HW) - 2.0 * np.vdot(smooth.linear, W) + smooth.constant
    return float(fit) + penalty.value(W)


def optimality_gap(smooth: Quadratic, penalty: Penalty, W: Array, HW: Array) -> float:
    """Return an upper bound on how far the objective at W is above the minimum.

    The smaller of two bounds: that of strong convexity μ, ``dist² / (4μ)`` with dist the distance
    of the negative gradient to the subdifferential, and the `duality_gap`.
    """
    residual_gradient = smooth.linear - HW  # Aᵀr, r = B − AW
    bounds = [np.inf]
    if smooth.convexity > 0 or penalty.strength == 0:
        distance = float(np.square(penalty.distance(W, -2.0 * residual_gradient)).sum())
        if distance == 0.0:
            return 0.0
        if smooth.convexity > 0:
            bounds.append(distance / (4.0 * smooth.convexity))
    if penalty.strength > 0:
        fitted, linear = float(np.vdot(W, HW)), float(np.vdot(smooth.linear, W))
        largest = penalty.dual_norm(residual_gradient)
        value = penalty.value(W)
        bounds.append(
            float(duality_gap(smooth.constant, fitted, linear, value, penalty.strength, largest))
        )
    return max(min(bounds), 0.0)


def duality_gap(
    constant: Any, fitted: Any, linear: Any, value: Any, strength: Any, largest: Any
) -> Any:
    """Return the objective less the best dual value found, for one problem or an array of them.

    Every θ = τ r with ``2·Ω*(Aᵀθ) ≤ strength`` is feasible, and gives the dual value
    ``‖B‖² − ‖B − θ‖²``; all of it follows from products that are known.

    Parameters
    ----------
    constant, fitted, linear : float or ndarray
        c, ⟨W, HW⟩ and ⟨F, W⟩.
    value, strength, largest : float or ndarray
        The penalty at W, its strength, and the dual norm of Aᵀr.
    """
    residual = np.maximum(constant - 2.0 * linear + fitted, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = np.where(largest > 0, strength / (2.0 * np.asarray(largest)), np.inf)
        best = np.where(residual > 0, (constant - linear) / residual, 0.0)
    scale = np.clip(best, -limit, limit)
    off = (1 - scale) ** 2 * constant
    off += 2 * scale * (1 - scale) * linear + scale**2 * fitted  # ‖B − θ‖²
    return residual + value - (constant - off)
