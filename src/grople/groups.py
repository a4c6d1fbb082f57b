"""Stage 1: partitions of the labels, from their counts alone.

Labels that tend to occur on the same rows belong together. The paper forms a graph with
heat-kernel weights between label columns, ``A_ij = exp(−‖Y_i − Y_j‖² / (σ_i σ_j))`` with σ_i the
distance to the seventh neighbour, and cuts it with spectral clustering; k-means, hierarchical
clustering, a number of groups found from the spectrum, and given partitions stand beside it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set, Sized
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.cluster.hierarchy
import scipy.linalg
import scipy.spatial.distance
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_random_state

from grople.label_graph import LabelGraph, cosine_graph, positive_scale, spectral_graph
from grople.moments import LabelMoments
from grople.optim import top_eigenvectors
from grople.published import published_groups

__all__ = [
    "GROUPINGS",
    "Groups",
    "cosine_affinity",
    "fit_groups",
    "given_partition",
    "group_stability",
    "spectral_affinity",
]

Array = NDArray[Any]
Grouping = Literal[
    "spectral", "cosine", "kmeans", "hierarchical", "single", "singletons", "published"
]

#: Names that ``grouping`` accepts (besides a partition of your own).
GROUPINGS = (
    "spectral",
    "cosine",
    "kmeans",
    "hierarchical",
    "single",
    "singletons",
    "published",
)

#: The neighbour whose distance is the local scale σ (Zelnik-Manor and Perona's choice).
SCALE_NEIGHBOUR = 7
#: The most groups that ``n_groups="auto"`` considers.
MAX_AUTO_GROUPS = 40
#: Labels up to which the graph is a dense matrix, and up to which any matrix of all pairs is made.
DENSE_LABELS, MOST_PAIRED = 1024, 16384
#: Leading dimensions in which the columns of more labels are clustered by k-means: by those of
#: K/ε dimensions the best clustering is found within a factor 1 + ε.
FEWEST_LEADING = 100


@dataclass(frozen=True)
class Groups:
    """A partition of the labels.

    Attributes
    ----------
    membership : ndarray of int of shape (L,)
        The group of each label, numbered from 0 in order of first appearance, none empty.
    """

    membership: NDArray[np.intp]

    @classmethod
    def of(cls, membership: Any) -> Groups:
        """Return a partition numbered by first appearance: equal partitions, equal arrays."""
        _, first, inverse = np.unique(
            np.asarray(membership), return_index=True, return_inverse=True
        )
        rank = np.empty(len(first), dtype=np.intp)
        rank[np.argsort(first)] = np.arange(len(first))
        return cls(rank[inverse.ravel()])

    @property
    def n_groups(self) -> int:
        """Number of groups (K)."""
        return int(self.membership.max(initial=-1)) + 1

    def members(self) -> list[NDArray[np.intp]]:
        """Return the labels of each group."""
        order = np.argsort(self.membership, kind="stable")
        ends = np.cumsum(np.bincount(self.membership, minlength=self.n_groups))
        return np.split(order, ends[:-1])


def fit_groups(
    labels: LabelMoments,
    grouping: Grouping | Sequence[Any] | Array = "spectral",
    n_groups: int | str = 10,
    random_state: Any = None,
) -> Groups:
    """Partition the labels.

    Parameters
    ----------
    labels : LabelMoments
        Counts of labels and pairs of labels.
    grouping : str or partition
        ``"spectral"`` (the paper's), ``"cosine"`` (spectral on cosines of label columns, which
        tells rare labels apart), ``"kmeans"``, ``"hierarchical"``, ``"single"`` (one group),
        ``"singletons"`` (one group a label), ``"published"`` (the reference behaviour behind the
        paper's tables), or a partition of your own: the group of each label, or a list of lists
        of label numbers that covers every label once.
    n_groups : int or "auto"
        K, clipped to the number of labels. ``"auto"`` takes the largest gap in the spectrum of
        the normalised affinity.
    random_state : int, RandomState or None
        Seed of k-means.

    Examples
    --------
    >>> import numpy as np
    >>> B = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]])
    >>> fit_groups(LabelMoments.from_labels(B), n_groups=2, random_state=0).membership
    array([0, 0, 1, 1])
    """
    L = labels.n_labels
    if isinstance(grouping, Sized) and not isinstance(grouping, str):
        return Groups.of(given_partition(grouping, L))
    if not isinstance(grouping, str) or grouping not in GROUPINGS:
        raise ValueError(f"grouping must be one of {', '.join(GROUPINGS)} or a partition")
    if grouping == "singletons":
        return Groups(np.arange(L))
    if grouping == "single" or L <= 1:
        return Groups(np.zeros(L, dtype=np.intp))
    if grouping in ("hierarchical", "published") and L > MOST_PAIRED:
        raise ValueError(
            f"grouping={grouping!r} compares all pairs of labels, which takes too much memory for "
            f"{L} of them: choose 'spectral', 'cosine', 'kmeans' or 'single'"
        )
    K = _groups_by_eigengap(labels) if n_groups == "auto" else min(int(n_groups), L)
    if grouping == "published":
        return Groups.of(_published(labels, K, random_state))
    if K == 1:
        return Groups(np.zeros(L, dtype=np.intp))
    if K == L:
        return Groups(np.arange(L))
    return Groups.of(_METHODS[grouping](labels, K, random_state))


def group_stability(
    labels: LabelMoments,
    grouping: Grouping = "spectral",
    n_groups: int | str = 10,
    seeds: Sequence[int] = range(10),
) -> float:
    """Return how alike the partitions of different seeds are (mean adjusted Rand index, at most 1).

    Examples
    --------
    >>> import numpy as np
    >>> B = np.kron(np.eye(3, dtype=int), np.ones((5, 4), dtype=int))
    >>> group_stability(LabelMoments.from_labels(B), n_groups=3)
    1.0
    """
    found = [fit_groups(labels, grouping, n_groups, seed).membership for seed in seeds]
    pairs = [(a, b) for i, a in enumerate(found) for b in found[i + 1 :]]
    return float(np.mean([adjusted_rand_score(a, b) for a, b in pairs])) if pairs else 1.0


def spectral_affinity(labels: LabelMoments) -> Array:
    """Return the normalised affinity ``D^{-1/2} A D^{-1/2}`` of the self-tuned label graph.

    Labels whose seven nearest neighbours are copies of them have no scale of their own; they get
    the smallest positive scale, so that copies attract each other and nothing divides by zero.
    """
    squared = labels.squared_distances()
    L = len(squared)
    neighbour = min(SCALE_NEIGHBOUR, L - 1)
    scale = np.sqrt(np.partition(squared, neighbour, axis=1)[:, neighbour])
    scale = positive_scale(scale)
    return _normalised(np.exp(-squared / np.multiply.outer(scale, scale)))


def cosine_affinity(labels: LabelMoments) -> Array:
    """Return the normalised affinity of the graph of cosines between columns of B.

    Two rare labels are close in Euclidean distance whatever they are on; their cosine is zero
    unless they share rows.
    """
    never = labels.counts <= 0
    length = np.sqrt(np.where(never, 1.0, labels.counts))
    cosine = labels.pairs() / np.multiply.outer(length, length)
    cosine[np.ix_(never, never)] = 1.0  # copies of each other
    return _normalised(cosine)


def _normalised(affinity: Array) -> Array:
    root = 1.0 / np.sqrt(affinity.sum(axis=1))
    return affinity * root[:, None] * root[None, :]


def _spectral_graph(labels: LabelMoments) -> Array | LabelGraph:
    if labels.n_labels <= DENSE_LABELS:
        return spectral_affinity(labels)
    return spectral_graph(labels, SCALE_NEIGHBOUR)


def _spectral(labels: LabelMoments, K: int, random_state: Any) -> Array:
    return _cut(_spectral_graph(labels), K, random_state)


def _cosine(labels: LabelMoments, K: int, random_state: Any) -> Array:
    dense = labels.n_labels <= DENSE_LABELS
    return _cut(cosine_affinity(labels) if dense else cosine_graph(labels), K, random_state)


def _leading(affinity: Array | LabelGraph, n_vectors: int) -> tuple[Array, Array]:
    """Return the leading eigenvalues (descending) and eigenvectors of a graph."""
    if isinstance(affinity, LabelGraph):
        return top_eigenvectors(affinity.__matmul__, affinity.n_labels, n_vectors)
    L = len(affinity)
    values, vectors = scipy.linalg.eigh(affinity, subset_by_index=[L - n_vectors, L - 1])
    return values[::-1], vectors[:, ::-1]


def _cut(affinity: Array | LabelGraph, K: int, random_state: Any) -> Array:
    """Cluster the nodes of a graph by the leading eigenvectors of its normalised affinity."""
    values, vectors = _leading(affinity, K)
    # Copies of a label differ only where the eigenvalue is zero, and there by chance.
    vectors = vectors[:, values > 1e-8]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return _kmeans(vectors / np.where(lengths > 0, lengths, 1.0), K, random_state)


def _published(labels: LabelMoments, K: int, random_state: Any) -> Array:
    return published_groups(labels.n, labels.counts, labels.pairs(), K, random_state=random_state)


def _kmeans_columns(labels: LabelMoments, K: int, random_state: Any) -> Array:
    # The rows of Q√Λ (YᵀY = QΛQᵀ) lie as far from each other as the label columns do.
    if labels.n_labels <= DENSE_LABELS:
        values, vectors = scipy.linalg.eigh(labels.signed_gram())
    else:
        leading = max(FEWEST_LEADING, 2 * K)
        values, vectors = top_eigenvectors(labels.signed_product, labels.n_labels, leading)
    keep = values > np.finfo(float).eps * max(float(values.max()), 1.0) * len(values)
    return _kmeans(vectors[:, keep] * np.sqrt(values[keep]), K, random_state)


def _hierarchical(labels: LabelMoments, K: int, random_state: Any) -> Array:
    distances = np.sqrt(labels.squared_distances())
    np.fill_diagonal(distances, 0.0)
    tree = scipy.cluster.hierarchy.linkage(
        scipy.spatial.distance.squareform(distances, checks=False), method="average"
    )
    return scipy.cluster.hierarchy.fcluster(tree, K, criterion="maxclust")


_METHODS = {
    "spectral": _spectral,
    "cosine": _cosine,
    "kmeans": _kmeans_columns,
    "hierarchical": _hierarchical,
}


def _kmeans(points: Array, K: int, random_state: Any) -> Array:
    # Copies of a label are one point; k-means cannot make more clusters than there are points.
    distinct, inverse = np.unique(points.round(10), axis=0, return_inverse=True)
    inverse = inverse.ravel()
    if len(distinct) <= K:
        return inverse
    weights = np.bincount(inverse)
    seed = check_random_state(random_state)
    model = KMeans(K, n_init=10, random_state=seed).fit(distinct, sample_weight=weights)
    return model.labels_[inverse]


def _groups_by_eigengap(labels: LabelMoments) -> int:
    # The first eigenvalue is 1 for any graph; a gap behind it says nothing of groups.
    values, _ = _leading(_spectral_graph(labels), min(MAX_AUTO_GROUPS + 1, labels.n_labels))
    values = values[1:]
    most = min(MAX_AUTO_GROUPS, len(values)) - 1
    return int(np.argmax(values[:most] - values[1 : most + 1])) + 2 if most > 0 else 1


def given_partition(grouping: Any, L: int) -> Array:
    """Return the group of each of L labels, from that or from a list of lists of label numbers."""
    nested = len(grouping) > 0 and all(
        isinstance(part, Sequence | Set | np.ndarray) and not isinstance(part, str)
        for part in grouping
    )
    if nested:
        place = {label: k for k, part in enumerate(grouping) for label in part}
        if len(place) < sum(map(len, grouping)) or place.keys() != set(range(L)):
            raise ValueError(f"grouping must name each label from 0 to {L - 1} exactly once")
        return np.array([place[label] for label in range(L)], dtype=np.intp)
    membership = np.asarray(grouping)
    if membership.shape != (L,):
        raise ValueError(f"grouping names the group of {len(membership)} labels, but Y has {L}")
    return membership
