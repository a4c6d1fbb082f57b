"""Counts of held-out scores, and the monotone curve from scores to probabilities."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import ndtr, xlogy

__all__ = [
    "LABEL_BINS",
    "SHARED_BINS",
    "ScoreCounts",
    "ScoreMoments",
    "bin_centres",
    "bin_edges",
    "log_losses",
    "log_odds",
    "monotone_curve",
    "score_bins",
]

Array = NDArray[Any]

#: Bins of the score, for the shared curve and for the threshold of each label.
SHARED_BINS, LABEL_BINS = 4096, 256
#: Scores put into bins at a time: what is made of them on the way stays in the cache.
CHUNK = 1 << 14
#: Probabilities are kept this far from 0 and 1 in log-odds.
LEAST = 1e-6


@dataclass(frozen=True)
class ScoreMoments:
    """Mean score of the rows with and without each label, and the spread around those means.

    They follow from the moments of the training rows, so a calibration that needs only them
    needs no rows; being those of training rows, they are too good where D exceeds N.

    Attributes
    ----------
    share, mean_with, mean_without, spread : ndarray of shape (L,)
        Share of the rows with the label, mean scores with and without it, variance around them.
    n : float
        Number of rows.
    """

    share: Array
    mean_with: Array
    mean_without: Array
    spread: Array
    n: float


@dataclass(frozen=True)
class ScoreCounts:
    """How many pairs fall into each bin of the score, and how many of them are positive.

    Bins are uniform in ``s / (1 + |s|)``, so that any score has one.

    Attributes
    ----------
    shared : ndarray of shape (2, SHARED_BINS)
        All pairs, and positive pairs.
    by_label : ndarray of shape (2, L, LABEL_BINS)
        The same for each label.
    """

    shared: Array
    by_label: Array

    @classmethod
    def empty(cls, n_labels: int) -> ScoreCounts:
        """Return counts of nothing, to be added to."""
        return cls(np.zeros((2, SHARED_BINS)), np.zeros((2, n_labels, LABEL_BINS)))

    @classmethod
    def from_moments(cls, moments: ScoreMoments) -> ScoreCounts:
        """Count what normal scores with these means and spreads would give."""
        counts = cls.empty(len(moments.share))
        edges = bin_edges(SHARED_BINS)[1:-1]
        width = np.sqrt(moments.spread)
        for label, share in enumerate(moments.share):
            with_it, without = (
                moments.n * part * np.diff(ndtr((edges - mean) / width[label]), prepend=0, append=1)
                for mean, part in (
                    (moments.mean_with[label], share),
                    (moments.mean_without[label], 1.0 - share),
                )
            )
            both = np.stack([with_it + without, with_it])
            counts.shared[:] += both
            counts.by_label[:, label] = both.reshape(2, LABEL_BINS, -1).sum(axis=2)
        return counts

    def times(self, factor: float) -> ScoreCounts:
        """Return the counts of so many times as many rows."""
        return ScoreCounts(factor * self.shared, factor * self.by_label)

    def add(self, scores: Array, marks: Any, weights: Array | None) -> None:
        """Count one more block of scores, with its labels as a CSR array."""
        row, column = sp.csr_array(marks).nonzero()
        positive_weights = None if weights is None else weights[row]
        self.add_bins(1, column, score_bins(scores[row, column]), positive_weights)
        n_rows, n_labels = scores.shape
        width = max(1, CHUNK // max(n_rows, 1))
        for first in range(0, n_labels, width):
            some = slice(first, min(first + width, n_labels))
            bins = score_bins(scores[:, some]).ravel()
            labels = np.tile(np.arange(some.stop - first), n_rows)
            each = None if weights is None else np.repeat(weights, some.stop - first)
            self.shared[0] += np.bincount(bins, each, SHARED_BINS)
            fine = bins // (SHARED_BINS // LABEL_BINS) + labels * LABEL_BINS
            counted = np.bincount(fine, each, (some.stop - first) * LABEL_BINS)
            self.by_label[0, some] += counted.reshape(-1, LABEL_BINS)

    def add_bins(self, which: int, labels: Array, bins: Array, weights: Array | None) -> None:
        """Count pairs by their bins: all of them (``which`` = 0) or the positive ones (1)."""
        n_labels = self.by_label.shape[1]
        self.shared[which] += np.bincount(bins, weights, SHARED_BINS)
        fine = bins // (SHARED_BINS // LABEL_BINS) + labels.astype(np.intp) * LABEL_BINS
        counted = np.bincount(fine, weights, n_labels * LABEL_BINS)
        self.by_label[which] += counted.reshape(n_labels, -1)


def score_bins(scores: Array) -> Array:
    """Return the bin of each score."""
    squashed = scores / (1.0 + np.abs(scores))
    bins = np.minimum(((squashed + 1.0) * (SHARED_BINS / 2)).astype(np.intp), SHARED_BINS - 1)
    # A score is in the bin whose lower edge it exceeds, exactly: votes and constant scores lie on
    # edges, and are decided by comparison with them.
    edges = bin_edges(SHARED_BINS)
    bins -= scores <= edges[bins]
    bins += scores > edges[bins + 1]
    return np.asarray(bins)


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
    return np.asarray(squashed / (1.0 - np.abs(squashed)))


def monotone_curve(shared: Array) -> tuple[Array, Array]:
    """Return the knots of the isotonic curve through counts of scores."""
    total, positive = shared
    seen = total > 0
    if not seen.any():
        return np.array([-1.0, 1.0]), np.array([0.0, 1.0])
    centres = bin_centres(SHARED_BINS)[seen]
    # Half a count: no finite number of rows shows that a thing cannot happen.
    least = 0.5 / (1.0 + float(total.sum()))
    levels = isotonic_regression(positive[seen] / total[seen], weights=total[seen]).x
    levels = np.clip(levels, least, 1.0 - least)
    # Inside a level there is nothing to know: its two ends are knots.
    inside = np.zeros(len(levels), dtype=bool)
    inside[1:-1] = (levels[1:-1] == levels[:-2]) & (levels[1:-1] == levels[2:])
    return centres[~inside], levels[~inside]


def log_odds(probabilities: Any) -> Array:
    """Return ln(p / (1 − p)), finite."""
    p = np.clip(probabilities, LEAST, 1.0 - LEAST)
    return np.asarray(np.log(p) - np.log1p(-p))


def log_losses(probabilities: Array, truth: Array) -> Array:
    """Return the log loss of each probability."""
    return np.asarray(-(xlogy(truth, probabilities) + xlogy(1.0 - truth, 1.0 - probabilities)))
