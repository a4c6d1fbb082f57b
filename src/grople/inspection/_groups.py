"""Portraits of label groups: their names, labels and latent dimensions, the features behind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.inspection._weights import Weights, strongest

__all__ = ["Dimension", "GroupPortrait", "group_portraits", "row_lengths"]

Array = NDArray[Any]
Named = tuple[tuple[str, float], ...]

#: Latent dimensions shown of a group, and features shown of a group and of a dimension.
SHOWN_DIMENSIONS, SHOWN_FEATURES = 4, 8
#: Share of a group below which a dimension is not shown.
LEAST_SHARE = 0.01
#: Labels that name a group, and the share of its labels that a common prefix must have.
NAMING_LABELS, COMMON_SHARE = 2, 0.6
#: What parts a prefix from the rest of a label's name.
_PREFIX = re.compile(r"\A(.+?)(::|/|: )(?=.)")


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
    name : str
        The prefix that most of its labels share and its most characteristic labels.
    labels : ndarray of int
        Its labels, the most frequent first.
    features : tuple of (name, effect)
        What speaks for its labels more than for labels at large.
    dimensions : tuple of Dimension
        Those it uses most, none below a hundredth.
    n_dimensions : int
        How many it uses at all (rows of V^k that are not zero).
    """

    number: int
    name: str
    labels: Array
    features: Named
    dimensions: tuple[Dimension, ...]
    n_dimensions: int


def row_lengths(V: Array, membership: Array) -> Array:
    """Return the lengths of the rows of V^k, shape (d, K)."""
    K = int(membership.max()) + 1
    members = sp.csr_array(
        (np.ones(len(membership)), (np.arange(len(membership)), np.maximum(membership, 0))),
        shape=(len(membership), K),
    )
    # Labels without a group have no hyperplane, so that a place in group 0 adds nothing.
    return np.sqrt(np.asarray(V**2 @ members))


def group_portraits(
    membership: Array,
    frequencies: Array | None,
    weights: Weights | None,
    lengths: Array | None,
    label_names: Sequence[str],
    feature_names: Sequence[str],
) -> tuple[GroupPortrait, ...]:
    """Return the groups, the largest first; labels without one (−1) have no portrait."""
    found = []
    for k in range(int(membership.max(initial=-1)) + 1):
        labels = np.flatnonzero(membership == k)
        if frequencies is not None:
            labels = labels[np.argsort(-frequencies[labels], kind="stable")]
        dimensions: tuple[Dimension, ...] = ()
        features: Named = ()
        typical: Array = labels
        used = 0
        if weights is not None:
            top, effects = weights.distinctive_features(labels, SHOWN_FEATURES)
            pairs = zip(top, effects, strict=True)
            features = tuple((feature_names[int(j)], float(e)) for j, e in pairs if e > 0)
            typical = _most_typical(labels, frequencies, weights)
            if lengths is not None:
                dimensions = _dimensions(lengths[:, k], labels, weights, feature_names)
                used = int(np.count_nonzero(lengths[:, k]))
        name = group_name([label_names[int(i)] for i in typical])
        found.append(GroupPortrait(k, name, labels, features, dimensions, used))
    return tuple(sorted(found, key=lambda group: -len(group.labels)))


def group_name(names: Sequence[str]) -> str:
    """Return a name for a group of labels, the most typical of which come first.

    Examples
    --------
    >>> group_name(["game::arcade", "game::puzzle", "game::board", "use::gameplaying"])
    'game: arcade, puzzle, …'
    >>> group_name(["use::editing", "works-with::text", "devel::docs"])
    'use::editing, works-with::text, …'
    """
    matches = [_PREFIX.match(name) for name in names]
    prefixes = Counter(found.group() for found in matches if found)
    prefix, count = max(prefixes.items(), key=lambda item: item[1], default=("", 0))
    if len(names) < 2 or count < max(2, COMMON_SHARE * len(names)):
        return _listed(names)
    rest = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    return f"{prefix.rstrip(':/ ')}: {_listed(rest)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:NAMING_LABELS], *(["…"] if len(names) > NAMING_LABELS else [])])


def _most_typical(labels: Array, frequencies: Array | None, weights: Weights) -> Array:
    """Return labels by how much they are like the others of their group, times their frequency."""
    directions = weights.directions()[labels]
    likeness = np.maximum(directions @ directions.sum(axis=0), 0.0)
    if frequencies is not None:
        likeness *= np.log1p(frequencies[labels])
    return labels[np.argsort(-likeness, kind="stable")]


def _dimensions(
    lengths: Array, labels: Array, weights: Weights, names: Sequence[str]
) -> tuple[Dimension, ...]:
    assert weights.V is not None
    power = lengths**2
    total = float(power.sum())
    chosen = strongest(power[None], SHOWN_DIMENSIONS)[0]
    dimensions = []
    for i in chosen[power[chosen] > LEAST_SHARE * total]:
        ahead = 1.0 if weights.V[i, labels].sum() >= 0 else -1.0
        effects = ahead * weights.Z[:, i]
        top = strongest(np.abs(effects)[None], SHOWN_FEATURES)[0]
        features = tuple((names[j], float(effects[j])) for j in top)
        dimensions.append(Dimension(int(i), float(power[i]) / total, features))
    return tuple(dimensions)
