"""Penalties ``s·Ω(W)``, Ω a norm: value, proximal operator, distance to optimality, dual norm.

``prox(W, step)`` is the P with the least ``‖P − W‖² / (2·step) + s·Ω(P)``. The distance says, part
by part, how far ``−gradient`` is from the subdifferential at W: W minimises ``f + s·Ω`` where it is
zero for the gradient of f. A duality gap needs the norm dual to Ω.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["L1", "GroupRows"]

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
