"""Graphs between labels: how near the columns of the label matrix are to each other.

Many labels have no matrix of all pairs. Labels that share no row are as far apart as their
frequencies say, so what a graph holds of such pairs is a smooth function of two numbers a label,
of low rank. Only pairs that share rows differ from it, and those are few: the graph is a sparse
matrix plus a product of thin ones, in memory that grows with the pairs that occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments import LabelMoments
from grople.optim import cross_approximation, top_eigenvectors

__all__ = [
    "Affinity",
    "LabelGraph",
    "cosine_affinity",
    "cosine_graph",
    "leading_vectors",
    "spectral_affinity",
    "spectral_graph",
]

Array = NDArray[Any]

#: The neighbour whose distance is the local scale σ (Zelnik-Manor and Perona's choice).
SCALE_NEIGHBOUR = 7


def spectral_affinity(labels: LabelMoments) -> Array:
    """Return the normalised affinity ``D^{-1/2} A D^{-1/2}`` of the self-tuned label graph.

    Labels whose seven nearest neighbours are copies of them have no scale of their own; they get
    the smallest positive scale, so that copies attract each other and nothing divides by zero.
    """
    squared = labels.squared_distances()
    neighbour = min(SCALE_NEIGHBOUR, len(squared) - 1)
    scale = _positive_scale(np.sqrt(np.partition(squared, neighbour, axis=1)[:, neighbour]))
    affinity = np.exp(-squared / np.multiply.outer(scale, scale))
    root = 1.0 / np.sqrt(affinity.sum(axis=1))
    return affinity * root[:, None] * root[None, :]


def cosine_affinity(labels: LabelMoments) -> Array:
    """Return the normalised affinity of cosines between columns of B.

    Two rare labels are close in Euclidean distance whatever they are on; their cosine is zero
    unless they share rows.
    """
    never = labels.counts <= 0
    length = np.sqrt(np.where(never, 1.0, labels.counts))
    cosine = labels.pairs() / np.multiply.outer(length, length)
    cosine[np.ix_(never, never)] = 1.0  # copies of each other
    root = 1.0 / np.sqrt(cosine.sum(axis=1))
    return cosine * root[:, None] * root[None, :]


@dataclass(frozen=True)
class LabelGraph:
    """A symmetric affinity between labels, ``sparse + (U W + WᵀUᵀ) / 2``.

    Attributes
    ----------
    sparse : csr_array of shape (L, L)
        What pairs that share rows have beyond the rest.
    U, W : ndarray of shapes (L, r) and (r, L)
        What all pairs have.
    """

    sparse: Any
    U: Array
    W: Array

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return int(self.sparse.shape[0])

    def __matmul__(self, other: Array) -> Array:
        everywhere = self.U @ (self.W @ other) + self.W.T @ (self.U.T @ other)
        return np.asarray(self.sparse @ other + 0.5 * everywhere)

    def normalised(self) -> LabelGraph:
        """Return ``D^{-1/2} A D^{-1/2}`` with D the sums of the rows."""
        root = 1.0 / np.sqrt(self @ np.ones(self.n_labels))
        sparse = sp.csr_array(self.sparse.multiply(root[:, None]).multiply(root))
        return LabelGraph(sparse, self.U * root[:, None], self.W * root)


def spectral_graph(labels: LabelMoments) -> LabelGraph:
    """Return the same as :func:`spectral_affinity`, without a matrix of all pairs."""
    s = labels.counts.astype(np.float64)
    pairs = sp.coo_array(labels.cooccurrence)
    i, j = pairs.coords
    apart = s[i] + s[j]
    squared = np.maximum(4.0 * (apart - 2.0 * pairs.data), 0.0)
    scale = _positive_scale(_neighbour_distance(s, i, j, squared))
    width = scale[i] * scale[j]
    beyond = np.exp(-squared / width) - np.exp(-4.0 * apart / width)
    sparse = sp.csr_array((beyond, (i, j)), shape=pairs.shape)

    def rows_of(rows: Array) -> Array:
        exponent = s[rows, None] + s
        exponent *= -4.0
        exponent /= scale[rows, None] * scale
        return np.exp(exponent, out=exponent)

    return LabelGraph(sparse, *cross_approximation(rows_of, len(s))).normalised()


def cosine_graph(labels: LabelMoments) -> LabelGraph:
    """Return the normalised graph of cosines between columns of B."""
    never = labels.counts <= 0
    root = 1.0 / np.sqrt(np.where(never, 1.0, labels.counts))
    pairs = sp.csr_array(labels.cooccurrence).astype(np.float64)
    sparse = sp.csr_array(pairs.multiply(root[:, None]).multiply(root))
    copies = never[None].astype(np.float64)  # labels without rows are copies of each other
    return LabelGraph(sparse, copies.T, copies).normalised()


def _positive_scale(scale: Array) -> Array:
    """Give labels whose nearest neighbours are copies of them the smallest positive scale."""
    positive = scale[scale > 0]
    return np.maximum(scale, positive.min() if positive.size else 1.0)


def _neighbour_distance(s: Array, i: Array, j: Array, squared: Array) -> Array:
    """Return the distance of each label to the neighbour that sets its scale.

    Labels that share no row are ``4(s_i + s_j)`` apart, so the nearest are among those that share
    rows and the rarest ones.
    """
    L = len(s)
    rarest = np.argsort(s, kind="stable")[: SCALE_NEIGHBOUR + 2]
    row, column = np.repeat(np.arange(L), len(rarest)), np.tile(rarest, L)
    seen = np.isin(row * L + column, i.astype(np.int64) * L + j)
    further = (row != column) & ~seen
    row, column = row[further], column[further]
    own = np.setdiff1d(np.arange(L), i[i == j])  # labels without rows are no pair with themselves
    row = np.concatenate([i, row, own])
    squared = np.concatenate([squared, 4.0 * (s[row[len(i) : len(row) - len(own)]] + s[column]),
                              np.zeros(len(own))])  # fmt: skip
    order = np.lexsort((squared, row))
    first = np.searchsorted(row[order], np.arange(L))
    return np.asarray(np.sqrt(squared[order][first + min(SCALE_NEIGHBOUR, L - 1)]))


Affinity = Array | LabelGraph


def leading_vectors(affinity: Affinity, n_vectors: int) -> tuple[Array, Array]:
    """Return the leading eigenvalues (descending) and eigenvectors of a graph."""
    if isinstance(affinity, LabelGraph):
        return top_eigenvectors(affinity.__matmul__, affinity.n_labels, n_vectors)
    L = len(affinity)
    values, vectors = scipy.linalg.eigh(affinity, subset_by_index=[L - n_vectors, L - 1])
    return values[::-1], vectors[:, ::-1]
