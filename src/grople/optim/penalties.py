"""Penalties: each is its value, its proximal operator, its dual norm and its optimality distance.

For a penalty ``s·Ω(W)`` with Ω a norm, a point W minimises ``f + s·Ω`` exactly when the
negative gradient of f lies in the subdifferential of ``s·Ω`` at W; ``distance`` measures how
far off it is, entry by entry, and ``dual_norm`` is what a duality gap needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["L1", "GroupRows", "Penalty"]

Array = NDArray[Any]


class Penalty(Protocol):
    """What the solver asks of a penalty ``strength · Ω(W)``."""

    @property
    def strength(self) -> float:
        """The weight of the norm."""

    def value(self, W: Array) -> float:
        """Return ``strength · Ω(W)``."""

    def prox(self, W: Array, step: Any) -> Array:
        """Return the minimiser over P of ``‖P − W‖² / (2·step) + strength·Ω(P)``."""

    def distance(self, W: Array, gradient: Array) -> Array:
        """Return how far each entry of ``−gradient`` is from the subdifferential at W."""

    def dual_norm(self, W: Array) -> float:
        """Return the norm dual to Ω."""


@dataclass(frozen=True)
class L1:
    """The sum of absolute values, ``strength · Σ|w|``.

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
        """Shrink every entry towards zero by ``strength·step`` (a step, or one a column)."""
        shrunk = np.abs(W)
        shrunk -= self.strength * step
        np.maximum(shrunk, 0.0, out=shrunk)
        return np.copysign(shrunk, W, out=shrunk)

    def distance(self, W: Array, gradient: Array) -> Array:
        """Return the distance of the negative gradient to the subdifferential, by entry."""
        at_zero = np.maximum(np.abs(gradient) - self.strength, 0.0)
        elsewhere = np.abs(gradient + self.strength * np.sign(W))
        return np.where(W == 0, at_zero, elsewhere)

    def dual_norm(self, W: Array) -> float:
        """Return the largest absolute entry."""
        return float(np.abs(W).max(initial=0.0))


@dataclass(frozen=True)
class GroupRows:
    """Row norms inside groups of columns, ``strength · Σ_k Σ_i ‖W_i^k‖₂``.

    Parameters
    ----------
    strength : float
        The weight λ2.
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

    @cached_property
    def _order(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        order = np.argsort(self.groups, kind="stable")
        starts = np.flatnonzero(np.diff(self.groups[order], prepend=-1))
        return order, starts

    def norms(self, W: Array) -> Array:
        """Return ‖W_i^k‖ as a rows × groups array."""
        order, starts = self._order
        squares = W[:, order]
        np.square(squares, out=squares)
        return np.sqrt(np.add.reduceat(squares, starts, axis=1))

    def value(self, W: Array) -> float:
        """Return the penalty of W."""
        return float(self.strength * self.norms(W).sum())

    def prox(self, W: Array, step: float) -> Array:
        """Shrink every row of every group towards zero by ``strength·step`` in length."""
        norms = self.norms(W)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(norms > 0, 1.0 - self.strength * step / norms, 0.0)
        np.maximum(factor, 0.0, out=factor)
        if self.allowed is not None:
            factor *= self.allowed
        return factor[:, self.groups] * W

    def distance(self, W: Array, gradient: Array) -> Array:
        """Return the distance of the negative gradient to the subdifferential, by row and group."""
        norms = self.norms(W)
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = np.where(norms > 0, self.strength / norms, 0.0)
        elsewhere = self.norms(gradient + inverse[:, self.groups] * W)
        at_zero = np.maximum(self.norms(gradient) - self.strength, 0.0)
        distance = np.where(norms > 0, elsewhere, at_zero)
        return distance if self.allowed is None else distance * self.allowed

    def dual_norm(self, W: Array) -> float:
        """Return the largest row norm inside a group."""
        norms = self.norms(W)
        if self.allowed is not None:
            norms = norms * self.allowed
        return float(norms.max(initial=0.0))
