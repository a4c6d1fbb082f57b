"""Portraits of label groups: their labels, their latent dimensions, the features behind both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.inspection.weights import Weights, strongest

__all__ = ["Dimension", "GroupPortrait", "group_portraits", "row_lengths"]

Array = NDArray[Any]
Named = tuple[tuple[str, float], ...]

#: Latent dimensions shown of a group, and features shown of a group and of a dimension.
SHOWN_DIMENSIONS, SHOWN_FEATURES = 4, 8


@dataclass(frozen=True)
class Dimension:
    """A latent dimension as one group uses it.

    Attributes
    ----------
    number : int
        Its row of V.
    share : float
        Its share of the squared length of V^k.
    features : tuple of (name, effect)
        What moves rows along it, oriented so that the group's labels lie ahead.
    """

    number: int
    share: float
    features: Named


@dataclass(frozen=True)
class GroupPortrait:
    """A group of labels.

    Attributes
    ----------
    number : int
        Its number, as in ``label_groups_``.
    labels : ndarray of int
        Its labels, the most frequent first.
    features : tuple of (name, effect)
        What speaks for its labels more than for labels at large.
    dimensions : tuple of Dimension
        Those it uses most.
    n_dimensions : int
        How many it uses at all (rows of V^k that are not zero).
    """

    number: int
    labels: Array
    features: Named
    dimensions: tuple[Dimension, ...]
    n_dimensions: int


def row_lengths(V: Array, membership: Array) -> Array:
    """Return the lengths of the rows of V^k, shape (d, K)."""
    K = int(membership.max()) + 1
    marks = sp.csr_array(
        (np.ones(len(membership)), (np.arange(len(membership)), np.maximum(membership, 0))),
        shape=(len(membership), K),
    )
    # Labels without a group have no hyperplane, so that a place in group 0 adds nothing.
    return np.sqrt(np.asarray(V**2 @ marks))


def group_portraits(
    membership: Array,
    frequencies: Array | None,
    weights: Weights,
    lengths: Array | None,
    names: tuple[str, ...],
) -> tuple[GroupPortrait, ...]:
    """Return the groups, the largest first; labels without one (−1) have no portrait."""
    found = []
    for k in range(int(membership.max(initial=-1)) + 1):
        labels = np.flatnonzero(membership == k)
        if frequencies is not None:
            labels = labels[np.argsort(-frequencies[labels], kind="stable")]
        dimensions: tuple[Dimension, ...] = ()
        used = 0
        if lengths is not None:
            dimensions = _dimensions(lengths[:, k], labels, weights, names)
            used = int(np.count_nonzero(lengths[:, k]))
        top, effects = weights.distinctive_features(labels, SHOWN_FEATURES)
        features = tuple((names[j], float(e)) for j, e in zip(top, effects, strict=True) if e > 0)
        found.append(GroupPortrait(k, labels, features, dimensions, used))
    return tuple(sorted(found, key=lambda group: -len(group.labels)))


def _dimensions(
    lengths: Array, labels: Array, weights: Weights, names: tuple[str, ...]
) -> tuple[Dimension, ...]:
    assert weights.V is not None
    power = lengths**2
    total = float(power.sum())
    chosen = strongest(power[None], SHOWN_DIMENSIONS)[0]
    dimensions = []
    for i in chosen[power[chosen] > 0]:
        ahead = 1.0 if weights.V[i, labels].sum() >= 0 else -1.0
        effects = ahead * weights.Z[:, i]
        top = strongest(np.abs(effects)[None], SHOWN_FEATURES)[0]
        features = tuple((names[j], float(effects[j])) for j in top)
        dimensions.append(Dimension(int(i), float(power[i]) / total, features))
    return tuple(dimensions)
