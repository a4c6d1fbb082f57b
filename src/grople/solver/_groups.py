"""Stage 1: partitions of the labels, from their counts alone.

Labels that tend to occur on the same rows belong together. The paper forms a graph with
heat-kernel weights between label columns, ``A_ij = exp(−‖Y_i − Y_j‖² / (σ_i σ_j))`` with σ_i the
distance to the seventh neighbour, and cuts it with spectral clustering; k-means, hierarchical
clustering, a number of groups found from the spectrum, and given partitions are alternatives.
"""

from __future__ import annotations

from collections.abc import Sequence, Set, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.cluster.hierarchy
import scipy.linalg
import scipy.spatial.distance
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from grople.moments import LabelMoments
from grople.optim import top_eigenvectors
from grople.solver._label_graph import (
    Affinity,
    cosine_affinity,
    cosine_graph,
    leading_vectors,
    spectral_affinity,
    spectral_graph,
)

__all__ = ["GROUPINGS", "Groups", "given_partition", "group_labels"]

Array = NDArray[Any]

#: Names that ``grouping`` accepts, besides a partition.
GROUPINGS = ("spectral", "cosine", "kmeans", "hierarchical", "single", "singletons")

#: The most groups that ``n_groups="auto"`` considers.
MAX_AUTO_GROUPS = 40
#: Labels up to which the graph is a dense matrix, and up to which any matrix of all pairs is made.
DENSE_GRAPH, MOST_PAIRED = 1024, 16384
#: Eigenvalues of a graph, relative to the largest, that rounding may leave of zero.
SMALLEST_VALUE = 1e-8
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


def group_labels(
    labels: LabelMoments, grouping: Any = "spectral", n_groups: int | str = 10, seed: int = 0
) -> Groups:
    """Partition the labels.

    Parameters
    ----------
    labels : LabelMoments
        Counts of labels and pairs of labels.
    grouping : str or partition
        ``"spectral"`` (the paper's), ``"cosine"`` (spectral on cosines of label columns, which
        tells rare labels apart), ``"kmeans"``, ``"hierarchical"``, ``"single"`` (one group),
        ``"singletons"`` (one group a label), or a partition: the group of each label, or a list of
        lists of label numbers that covers every label once.
    n_groups : int or "auto"
        K, clipped to the number of labels. ``"auto"`` takes the largest gap in the spectrum of
        the normalised affinity.
    seed : int
        Seed of k-means; the other groupings need none.

    Examples
    --------
    >>> import numpy as np
    >>> B = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]])
    >>> group_labels(LabelMoments.of(B), n_groups=2).membership
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
    if grouping == "hierarchical" and L > MOST_PAIRED:
        raise ValueError(
            f"grouping='hierarchical' compares all pairs of labels, which takes too much memory "
            f"for {L} of them: choose 'spectral', 'cosine', 'kmeans' or 'single'"
        )
    affinity = spectral_affinity if L <= DENSE_GRAPH else spectral_graph
    if n_groups == "auto":
        # The first eigenvalue is 1 for any graph; a gap behind it says nothing of groups.
        values = leading_vectors(affinity(labels), min(MAX_AUTO_GROUPS + 1, L))[0][1:]
        gaps = -np.diff(values[:MAX_AUTO_GROUPS])
        K = int(np.argmax(gaps)) + 2 if len(gaps) else 1
    else:
        K = min(int(n_groups), L)
    if K in (1, L):
        return Groups(np.zeros(L, dtype=np.intp) if K == 1 else np.arange(L))
    if grouping == "kmeans":
        return Groups.of(_kmeans(labels, K, seed))
    if grouping == "hierarchical":
        distances = np.sqrt(labels.squared_distances())
        np.fill_diagonal(distances, 0.0)
        condensed = scipy.spatial.distance.squareform(distances, checks=False)
        tree = scipy.cluster.hierarchy.linkage(condensed, method="average")
        return Groups.of(scipy.cluster.hierarchy.fcluster(tree, K, criterion="maxclust"))
    if grouping == "cosine":
        affinity = cosine_affinity if L <= DENSE_GRAPH else cosine_graph
    return Groups.of(_cut(affinity(labels), K))


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


def _cut(affinity: Affinity, K: int) -> Array:
    """Assign nodes to clusters by the leading eigenvectors of a graph: column-pivoted QR.

    The K most independent rows stand for the clusters; every node goes to the one that its row
    has most of (Damle, Minden and Ying, 2019). It needs neither a seed nor iterations.
    """
    values, vectors = leading_vectors(affinity, K)
    # Beyond the rank vectors are arbitrary, and would tear labels apart that are copies.
    K = max(1, int((values > SMALLEST_VALUE * values[0]).sum()))
    vectors = vectors[:, :K]
    _, _, pivots = scipy.linalg.qr(vectors.T, mode="economic", pivoting=True)
    left, _, right = scipy.linalg.svd(vectors[pivots[:K]].T)
    return np.asarray(np.abs(vectors @ (left @ right)).round(10).argmax(axis=1))


def _kmeans(labels: LabelMoments, K: int, seed: int) -> Array:
    # The rows of Q√Λ (YᵀY = QΛQᵀ) lie as far from each other as the label columns do.
    if labels.n_labels <= DENSE_GRAPH:
        values, vectors = scipy.linalg.eigh(labels.signed_gram())
    else:
        leading = max(FEWEST_LEADING, 2 * K)
        values, vectors = top_eigenvectors(labels.signed_product, labels.n_labels, leading)
    keep = values > np.finfo(float).eps * max(float(values.max()), 1.0) * len(values)
    points = (vectors[:, keep] * np.sqrt(values[keep])).round(10)
    # Copies of a label are one point; k-means cannot make more clusters than there are points.
    distinct, inverse = np.unique(points, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    if len(distinct) <= K:
        return inverse
    weights = np.bincount(inverse)
    model = KMeans(K, n_init=10, random_state=seed).fit(distinct, sample_weight=weights)
    return model.labels_[inverse]
