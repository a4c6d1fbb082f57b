"""How many (row, label) pairs fall into each bin of the score, and how many are positive."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtr

from grople.arrays import beside, is_foreign, looked_up, namespace, whole
from grople.linear import ScoreMoments

__all__ = ["LABEL_BINS", "SHARED_BINS", "ScoreCounts", "bin_centres", "bin_edges", "score_bins"]

Array = NDArray[Any]

#: Bins of the score, for the shared curve and for the threshold of each label.
SHARED_BINS, LABEL_BINS = 4096, 256
#: Scores put into bins at a time: what is made of them on the way stays in the cache.
CHUNK = 1 << 14


@dataclass(frozen=True)
class ScoreCounts:
    """How many pairs fall into each bin of the score, and how many of them are positive.

    Bins are uniform in ``s / (1 + |s|)``, so that any score has one. ``shared`` counts are over
    all pairs, shape (2, SHARED_BINS): all pairs, positive pairs; ``by_label`` has a further axis
    for the labels, shape (2, L, LABEL_BINS).
    """

    shared: Array
    by_label: Array

    @classmethod
    def empty(cls, n_labels: int) -> ScoreCounts:
        """Return counts of nothing."""
        return cls(np.zeros((2, SHARED_BINS)), np.zeros((2, n_labels, LABEL_BINS)))

    @classmethod
    def from_scores(
        cls, blocks: Iterable[tuple[Array, Any, Array | None]], n_labels: int
    ) -> ScoreCounts:
        """Count blocks of (scores, label matrix, weights)."""
        counts = cls.empty(n_labels)
        for scores, marks, weights in blocks:
            counts.add(scores, marks, weights)
        return counts

    def times(self, factor: float) -> ScoreCounts:
        """Return the counts of so many times as many rows."""
        return ScoreCounts(factor * self.shared, factor * self.by_label)

    def add(self, scores: Array, marks: Any, weights: Array | None) -> None:
        """Count one more block."""
        row, column = sp.csr_array(marks).nonzero()
        have = None if weights is None else weights[row]
        self.add_bins(1, column, score_bins(scores[row, column]), have)
        n_rows, n_labels = scores.shape
        width = max(1, CHUNK // max(n_rows, 1))
        for first in range(0, n_labels, width):
            some = slice(first, min(first + width, n_labels))
            bins = score_bins(scores[:, some]).ravel()
            each = None if weights is None else np.repeat(weights, some.stop - first)
            self.shared[0] += np.bincount(bins, each, SHARED_BINS)
            bins //= SHARED_BINS // LABEL_BINS
            bins += np.tile(np.arange(some.stop - first) * LABEL_BINS, n_rows)
            counted = np.bincount(bins, each, (some.stop - first) * LABEL_BINS)
            self.by_label[0, some] += counted.reshape(-1, LABEL_BINS)

    def add_bins(self, which: int, labels: Array, bins: Array, weights: Array | None) -> None:
        """Count pairs by their bins: all of them (``which`` = 0) or the positive ones (1)."""
        n_labels = self.by_label.shape[1]
        self.shared[which] += np.bincount(bins, weights, SHARED_BINS)
        fine = bins // (SHARED_BINS // LABEL_BINS) + labels.astype(np.intp) * LABEL_BINS
        counted = np.bincount(fine, weights, n_labels * LABEL_BINS)
        self.by_label[which] += counted.reshape(n_labels, -1)

    @classmethod
    def from_moments(cls, moments: ScoreMoments, n: float) -> ScoreCounts:
        """Count what normal scores with these means and spreads would give."""
        counts = cls.empty(len(moments.share))
        edges = bin_edges(SHARED_BINS)[1:-1]
        step = SHARED_BINS // LABEL_BINS
        width = np.sqrt(moments.spread)
        for label in range(len(moments.share)):
            with_it, without = (
                np.diff(ndtr((edges - mean) / width[label]), prepend=0.0, append=1.0) * n * share
                for mean, share in (
                    (moments.mean_with[label], moments.share[label]),
                    (moments.mean_without[label], 1.0 - moments.share[label]),
                )
            )
            both = np.stack([with_it + without, with_it])
            counts.shared[:] += both
            counts.by_label[:, label] = both.reshape(2, LABEL_BINS, step).sum(axis=2)
        return counts


def score_bins(scores: Any) -> Any:
    """Return the bin of each score, in the namespace of the scores."""
    xp = namespace(scores)
    squashed = scores / (1.0 + xp.abs(scores))
    bins = xp.minimum(whole((squashed + 1.0) * (SHARED_BINS / 2)), SHARED_BINS - 1)
    # A score is in the bin whose lower edge it exceeds, exactly: votes and constant scores lie on
    # edges, and are decided by comparison with them.
    edges = bin_edges(SHARED_BINS)
    if is_foreign(scores):
        edges = beside(scores, edges)
    bins = bins - whole(scores <= looked_up(edges, bins))
    return bins + whole(scores > looked_up(edges, bins + 1))


@functools.cache
def bin_edges(n_bins: int) -> Array:
    """Return the edges of the bins, from −∞ to ∞."""
    squashed = np.linspace(-1.0, 1.0, n_bins + 1)[1:-1]
    inner = squashed / (1.0 - np.abs(squashed))
    edges = np.concatenate([[-np.inf], inner, [np.inf]])
    edges.flags.writeable = False  # shared by all callers
    return edges


def bin_centres(n_bins: int) -> Array:
    """Return the middle of each bin."""
    squashed = (np.arange(n_bins) + 0.5) * (2.0 / n_bins) - 1.0
    return squashed / (1.0 - np.abs(squashed))
