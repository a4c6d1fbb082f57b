"""Graphs over many labels, without a matrix of all pairs.

Labels that share no row are as far apart as their frequencies say, so what a graph holds of such
pairs is a smooth function of two numbers a label, of low rank. Only pairs that share rows differ
from it, and those are few. The affinity is thus a sparse matrix plus a product of thin ones: the
same graph as for few labels, in memory that grows with the pairs that occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments._labels import LabelMoments
from grople.optim import cross_approximation

__all__ = ["LabelGraph", "cosine_graph", "spectral_graph"]

Array = NDArray[Any]


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


def spectral_graph(labels: LabelMoments, neighbour: int) -> LabelGraph:
    """Return the normalised self-tuned graph, ``exp(−‖Y_i − Y_j‖² / (σ_i σ_j))``.

    ``neighbour`` is the one whose distance is the scale σ of a label.
    """
    s = labels.counts.astype(np.float64)
    pairs = sp.coo_array(labels.cooccurrence)
    i, j = pairs.coords
    apart = s[i] + s[j]
    squared = np.maximum(4.0 * (apart - 2.0 * pairs.data), 0.0)
    scale = positive_scale(_neighbour_distance(s, i, j, squared, neighbour))
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


def positive_scale(scale: Array) -> Array:
    """Give labels whose nearest neighbours are copies of them the smallest positive scale."""
    positive = scale[scale > 0]
    return np.maximum(scale, positive.min() if positive.size else 1.0)


def _neighbour_distance(s: Array, i: Array, j: Array, squared: Array, neighbour: int) -> Array:
    """Return the distance of each label to its ``neighbour``-th nearest one.

    Labels that share no row are ``4(s_i + s_j)`` apart, so the nearest are among those that share
    rows and the rarest ones.
    """
    L = len(s)
    rarest = np.argsort(s, kind="stable")[: neighbour + 2]
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
    return np.asarray(np.sqrt(squared[order][first + min(neighbour, L - 1)]))
