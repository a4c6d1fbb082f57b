"""Stage 1 as published: spectral clustering of the labels with unsquared distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

__all__ = ["label_affinity", "published_groups", "spectral_points"]

_NEIGHBOUR = 7
_SMALLEST_SCALE = 0.004


def published_groups(
    n: float,
    counts: Any,
    cooccurrence: Any,
    n_groups: int = 10,
    random_state: Any = None,
) -> np.ndarray:
    """Return the group of each label, numbered 0, 1, … without gaps.

    The K leading singular vectors of ``D^{-1/2} A D^{-1/2}``, A from `label_affinity`, their rows
    scaled to unit length, are clustered by k-means.

    Parameters
    ----------
    n : float
        Number of rows (the affinity does not depend on it).
    counts : array of shape (n_labels,)
        Rows that carry each label.
    cooccurrence : array of shape (n_labels, n_labels)
        BᵀB: rows that carry both labels.
    n_groups : int, default=10
        The paper's K; at most the number of distinct labels is used.
    random_state : int, RandomState or None
        Seeds k-means.

    Examples
    --------
    Two pairs of labels that always come together:

    >>> import numpy as np
    >>> B = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 10, axis=0)
    >>> groups = published_groups(20, B.sum(axis=0), B.T @ B, n_groups=2, random_state=0)
    >>> bool(groups[0] == groups[1] != groups[2] == groups[3])
    True
    """
    counts = np.asarray(counts, dtype=float)
    affinity = label_affinity(counts, cooccurrence)
    # Beyond the distinct labels eigenvectors are arbitrary, and would tear equal labels apart.
    n_groups = min(n_groups, len(np.unique(affinity, axis=0)))
    points = spectral_points(affinity, n_groups)
    model = KMeans(n_groups, n_init=10, random_state=check_random_state(random_state))
    found: np.ndarray = np.unique(model.fit_predict(points), return_inverse=True)[1]
    return found


def label_affinity(counts: Any, cooccurrence: Any) -> np.ndarray:
    """Return the published affinity between labels.

    ``A_ij = exp(−D_ij / max(√(σ_i σ_j), 0.004))`` with D the Euclidean distance between columns of
    Y = 2B − 1, *not* squared, and σ_i the distance of label i to its 7th neighbour (the farthest
    one where there are fewer than eight labels).

    Examples
    --------
    >>> label_affinity([2, 2, 1], [[2, 2, 0], [2, 2, 0], [0, 0, 1]]).round(3)
    array([[1.   , 1.   , 0.368],
           [1.   , 1.   , 0.368],
           [0.368, 0.368, 1.   ]])
    """
    s = np.asarray(counts, dtype=float)
    common = np.asarray(cooccurrence, dtype=float)
    squared = 4.0 * (s + s[:, None] - 2.0 * common)
    np.fill_diagonal(squared, 0.0)
    distance = np.sqrt(np.maximum(squared, 0.0))
    neighbour = min(_NEIGHBOUR, s.size - 1)
    # A label is its own neighbour number 0.
    sigma = np.partition(distance, neighbour, axis=1)[:, neighbour]
    return np.exp(-distance / np.maximum(np.sqrt(np.outer(sigma, sigma)), _SMALLEST_SCALE))


def spectral_points(affinity: np.ndarray, n_points: int) -> np.ndarray:
    """Return a point of unit length for each label, from the leading singular vectors."""
    scale = 1.0 / np.sqrt(affinity.sum(axis=1))
    values, vectors = scipy.linalg.eigh(affinity * scale * scale[:, None])
    points = vectors[:, np.argsort(-np.abs(values), kind="stable")[:n_points]]
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(lengths > 0.0, lengths, 1.0)
