"""What decisions are fitted on: out-of-fold scores, as counts and as candidates of rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.affinity import Affinity
from grople.decision.counts import ScoreCounts

__all__ = ["Candidates", "Evidence", "ScoredBlock", "n_candidates", "top_labels"]

Array = NDArray[Any]
#: A block of scores with the true labels and weights of its rows, and, where there is one, a
#: second opinion: their affinities.
ScoredBlock = tuple[Array, Any, Array | None] | tuple[Array, Any, Array | None, Array | None]

#: Candidates of a row: at least, at most, and for each label that a row has on average.
LEAST_CANDIDATES, MOST_CANDIDATES, PER_LABEL = 30, 60, 3


def n_candidates(n_labels: int, cardinality: float) -> int:
    """Return how many labels of a row to look at twice."""
    wanted = int(np.clip(PER_LABEL * cardinality, LEAST_CANDIDATES, MOST_CANDIDATES))
    return min(n_labels, wanted)


def top_labels(scores: Array, most: int) -> tuple[Array, Array]:
    """Return the labels with the highest scores of each row, in descending order, and the scores.

    Examples
    --------
    >>> import numpy as np
    >>> top_labels(np.array([[0.1, 0.9, 0.5]]), 2)
    (array([[1, 2]]), array([[0.9, 0.5]]))
    """
    # In single precision: scores that differ by rounding alone tie, here as in any other program,
    # and of labels that tie the first comes first. Beyond its range all are alike.
    largest = np.finfo(np.float32).max
    keys = -np.clip(scores, -largest, largest).astype(np.float32)
    n_labels = scores.shape[1]
    if most >= n_labels:
        labels = np.argsort(keys, axis=1, kind="stable")
        return labels, np.take_along_axis(scores, labels, axis=1)
    labels = np.argpartition(keys, most - 1, axis=1)[:, :most]
    last = np.take_along_axis(keys, labels, axis=1).max(axis=1, keepdims=True)
    labels.sort(axis=1)
    inner = np.argsort(np.take_along_axis(keys, labels, axis=1), axis=1, kind="stable")
    labels = np.take_along_axis(labels, inner, axis=1)
    crowded = np.flatnonzero((keys <= last).sum(axis=1) > most)
    if len(crowded):  # more tie with the last candidate than there is room for
        labels[crowded] = np.argsort(keys[crowded], axis=1, kind="stable")[:, :most]
    return labels, np.take_along_axis(scores, labels, axis=1)


@dataclass(frozen=True)
class Candidates:
    """The likeliest labels of rows by out-of-fold scores.

    Attributes
    ----------
    labels, scores, truth : ndarray of shape (n_rows, T)
        The candidates in descending order of score, and whether the row has them.
    missed : ndarray of shape (n_rows,)
        True labels that are not among the candidates.
    weights : ndarray of shape (n_rows,), optional
        Weights of the rows.
    affinities : ndarray of shape (n_rows, T), optional
        A second opinion on the candidates (:mod:`grople.affinity`).
    """

    labels: Array
    scores: Array
    truth: Array
    missed: Array
    weights: Array | None
    affinities: Array | None = None

    @classmethod
    def of(
        cls,
        scores: Array,
        marks: Any,
        weights: Array | None,
        most: int,
        affinities: Array | None = None,
    ) -> Candidates:
        """Take the candidates of one block."""
        labels, top = top_labels(scores, most)
        marks = sp.csr_array(marks)
        truth = np.zeros(scores.shape, dtype=bool)
        truth[marks.nonzero()] = True
        found = np.take_along_axis(truth, labels, axis=1)
        missed = truth.sum(axis=1) - found.sum(axis=1)
        if affinities is not None:
            affinities = np.take_along_axis(affinities, labels, axis=1)
        return cls(labels.astype(np.int32), top, found, missed, weights, affinities)

    @classmethod
    def joined(cls, parts: list[Candidates]) -> Candidates:
        """Put blocks together, in an order that does not depend on theirs."""
        labels, scores, truth, missed = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("labels", "scores", "truth", "missed")
        )
        weights = None
        if any(part.weights is not None for part in parts):
            weights = np.concatenate(
                [np.ones(len(p.scores)) if p.weights is None else p.weights for p in parts]
            )
        affinities = None
        if all(part.affinities is not None for part in parts):
            affinities = np.concatenate([part.affinities for part in parts])
        whole = cls(labels, scores, truth, missed, weights, affinities)
        return whole.take(np.argsort(whole.scores[:, 0], kind="stable"))

    def take(self, rows: Array) -> Candidates:
        """Return some of the rows."""
        optional = (
            None if part is None else part[rows] for part in (self.weights, self.affinities)
        )
        return Candidates(
            self.labels[rows], self.scores[rows], self.truth[rows], self.missed[rows], *optional
        )

    def folds(self, n_folds: int, seed: int = 0) -> Array:
        """Return a fold for each row, the same for copies of a row."""
        # Copies have the same scores; single precision does not see how they were rounded.
        _, which = np.unique(self.scores.astype(np.float32), axis=0, return_inverse=True)
        which = which.ravel()
        return (np.random.default_rng(seed).permutation(which.max() + 1) % n_folds)[which]

    def true_labels(self, rows: Array, n_labels: int) -> Any:
        """Return the true ones among the candidates of some rows, as a label matrix."""
        at, column = np.nonzero(self.truth[rows])
        marks = np.ones(len(at)), (at, self.labels[rows][at, column])
        return sp.csr_array(marks, shape=(len(rows), n_labels))

    def __len__(self) -> int:
        return len(self.scores)


@dataclass(frozen=True)
class Evidence:
    """Out-of-fold scores, summed up.

    Attributes
    ----------
    counts : ScoreCounts
        Counts of all scores.
    candidates : Candidates, optional
        The likeliest labels of each row, where there were rows.
    pairs : sparse array of shape (L, L), optional
        How often labels occur together (BᵀB) on these rows.
    groups : ndarray of shape (L,), optional
        The group of each label (−1: none).
    affinity : Affinity, optional
        The second opinion of a model of all rows, to be asked about new ones.
    decoded : ndarray of shape (n_rows, T), optional
        Probabilities of the candidates after a second look by networks that have not seen the row.
    """

    counts: ScoreCounts
    candidates: Candidates | None = None
    pairs: Any = None
    groups: Array | None = None
    affinity: Affinity | None = None
    decoded: Array | None = None
    #: What fits of several rules share.
    calibrated: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_blocks(
        cls,
        blocks: Iterable[ScoredBlock],
        n_labels: int,
        cardinality: float,
        groups: Array | None = None,
        affinity: Affinity | None = None,
    ) -> Evidence | None:
        """Sum up blocks of (scores, label matrix, weights); None where there are none.

        With an ``affinity``, blocks end with the out-of-fold affinities. Weights stand for numbers
        of rows; where they are less than one on average (shares, say), for proportions.
        """
        counts = ScoreCounts.empty(n_labels)
        most = n_candidates(n_labels, cardinality)
        parts: list[Candidates] = []
        pairs = sp.csr_array((n_labels, n_labels))
        for scores, marks, weights, *affinities in blocks:
            counts.add(scores, marks, weights)
            parts.append(Candidates.of(scores, marks, weights, most, *affinities))
            B = sp.csr_array(marks).astype(np.float64)
            pairs = pairs + B.T @ (B if weights is None else B.multiply(weights[:, None]).tocsr())
        if not parts or not counts.shared[0].any():
            return None
        rows = Candidates.joined(parts)
        if rows.weights is not None and 0.0 < rows.weights.mean() < 1.0:
            times = 1.0 / float(rows.weights.mean())
            counts, rows = counts.times(times), replace(rows, weights=times * rows.weights)
            pairs = times * pairs
        return cls(counts, rows, sp.csr_array(pairs), groups, affinity)
