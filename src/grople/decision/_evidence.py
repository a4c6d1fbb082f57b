"""What decisions are fitted on: held-out scores, as counts and as the candidates of each row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.decision._calibration import ScoreCounts
from grople.decision._cooccurrence import CooccurrenceFeature
from grople.moments._keys import row_keys

__all__ = ["Candidates", "HeldOut", "HeldOutBlock", "n_candidates", "top_labels"]

Array = NDArray[Any]

#: Candidates of a row: at least, at most, and for each label that a row has on average.
LEAST_CANDIDATES, MOST_CANDIDATES, PER_LABEL = 30, 60, 3


class HeldOutBlock(NamedTuple):
    """Rows scored by a model that has not seen them.

    Attributes
    ----------
    scores : ndarray of shape (n, L)
        Their scores.
    labels : csr_array of shape (n, L)
        Their true labels as zeros and ones.
    weights : ndarray of shape (n,), optional
        How many rows each stands for.
    keys : ndarray of uint64 of shape (n,), optional
        Content keys of their features, the same for copies of a row; without them, rows with the
        same scores are taken for copies.
    cooccurrence : ndarray of shape (n, L), optional
        Values of the co-occurrence feature of a model that has not seen them.
    rows : ndarray of int of shape (n,), optional
        Which rows of the sample they are.
    """

    scores: Array
    labels: Any
    weights: Array | None = None
    keys: NDArray[np.uint64] | None = None
    cooccurrence: Array | None = None
    rows: Array | None = None


@dataclass(frozen=True)
class Candidates:
    """The labels of rows with the highest held-out scores.

    Attributes
    ----------
    labels, scores, truth : ndarray of shape (n_rows, T)
        The candidates in descending order of score, and whether the row has them.
    missed : ndarray of shape (n_rows,)
        True labels that are not among the candidates.
    weights : ndarray of shape (n_rows,)
        How many rows each stands for.
    keys : ndarray of uint64 of shape (n_rows,)
        Content keys of the rows.
    cooccurrence : ndarray of shape (n_rows, T), optional
        Values of the co-occurrence feature.
    """

    labels: Array
    scores: Array
    truth: Array
    missed: Array
    weights: Array
    keys: NDArray[np.uint64]
    cooccurrence: Array | None = None

    def __len__(self) -> int:
        return len(self.scores)


@dataclass(frozen=True)
class HeldOut:
    """Held-out scores of rows, summed up.

    Attributes
    ----------
    counts : ScoreCounts
        Counts of all scores.
    candidates : Candidates
        The candidates of each row.
    labels : csr_array of shape (n_rows, L)
        The true labels.
    pairs : csr_array of shape (L, L)
        How often labels occur together (BᵀB) on these rows.
    groups : ndarray of shape (L,), optional
        The group of each label (−1: none).
    cooccurrence : CooccurrenceFeature, optional
        The feature of a model of all rows, for new ones; there only if every block has its values.
    keyed : bool
        Whether the keys of rows are those of their features.
    """

    counts: ScoreCounts
    candidates: Candidates
    labels: Any
    pairs: Any
    groups: Array | None = None
    cooccurrence: CooccurrenceFeature | None = None
    keyed: bool = True

    @classmethod
    def from_blocks(
        cls,
        blocks: Iterable[HeldOutBlock],
        n_labels: int,
        groups: Array | None = None,
        cooccurrence: CooccurrenceFeature | None = None,
    ) -> HeldOut | None:
        """Sum up blocks of rows in the order in which they come; None where there are none.

        Weights stand for numbers of rows; where they are less than one on average (shares, say),
        for proportions.

        Examples
        --------
        >>> import numpy as np, scipy.sparse as sp
        >>> block = HeldOutBlock(np.array([[0.1, 0.9]]), sp.csr_array(np.array([[0, 1]])))
        >>> HeldOut.from_blocks([block], n_labels=2).candidates.labels.tolist()
        [[1, 0]]
        """
        counts = ScoreCounts.empty(n_labels)
        parts: list[Candidates] = []
        labels: list[Any] = []
        keyed = True
        for block in blocks:
            if block.scores.shape[0] == 0:
                continue
            keyed = keyed and block.keys is not None
            counts.add(block.scores, block.labels, block.weights)
            parts.append(_block_candidates(block, min(n_labels, MOST_CANDIDATES)))
            labels.append(_zeros_and_ones(block.labels))
        if not parts or not counts.shared[0].any():
            return None
        rows, marks = _joined(parts), sp.vstack(labels, format="csr")
        if 0.0 < rows.weights.mean() < 1.0:
            times = 1.0 / float(rows.weights.mean())
            counts = counts.times(times)
            rows = replace(rows, weights=times * rows.weights)
        cardinality = float(rows.weights @ marks.sum(axis=1) / rows.weights.sum())
        rows = _cut(rows, marks, n_candidates(n_labels, cardinality))
        pairs = sp.csr_array(marks.T @ sp.csr_array(marks * rows.weights[:, None]))
        # The inputs of the re-ranker are settled here, once for all rows and for prediction.
        feature = None if rows.cooccurrence is None else cooccurrence
        if feature is None:
            rows = replace(rows, cooccurrence=None)
        return cls(counts, rows, marks, pairs, groups, feature, keyed)


def n_candidates(n_labels: int, cardinality: float) -> int:
    """Return how many labels of a row the re-ranker looks at."""
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
    # Scores that differ by rounding alone tie, here as in any other program, and of labels that
    # tie the first comes first.
    keys = -_single(scores)
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


def _single(scores: Array) -> Array:
    """Return scores in single precision, which does not see how they were rounded.

    Beyond its range all are alike.
    """
    largest = np.finfo(np.float32).max
    return np.clip(scores, -largest, largest).astype(np.float32)


def _zeros_and_ones(labels: Any) -> Any:
    """Return a label matrix in double precision, without entries that are zero."""
    marks = sp.csr_array(labels, dtype=np.float64, copy=True)
    marks.sum_duplicates()
    marks.eliminate_zeros()
    return marks


def _block_candidates(block: HeldOutBlock, most: int) -> Candidates:
    n_rows = block.scores.shape[0]
    labels, top = top_labels(block.scores, most)
    truth = np.zeros(block.scores.shape, dtype=bool)
    truth[sp.csr_array(block.labels).nonzero()] = True
    keys = block.keys
    if keys is None:
        keys = row_keys(_single(block.scores))
    cooccurrence = block.cooccurrence
    if cooccurrence is not None:
        cooccurrence = np.take_along_axis(cooccurrence, labels, axis=1)
    return Candidates(
        labels.astype(np.int32),
        np.asarray(top, dtype=np.float64),
        np.take_along_axis(truth, labels, axis=1),
        np.zeros(n_rows, dtype=np.intp),
        np.ones(n_rows) if block.weights is None else np.asarray(block.weights, dtype=np.float64),
        np.asarray(keys, dtype=np.uint64),
        cooccurrence,
    )


def _joined(parts: list[Candidates]) -> Candidates:
    """Return the rows of all parts, with the co-occurrence feature only where all have it."""

    def column(name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in parts])

    every = all(part.cooccurrence is not None for part in parts)
    return Candidates(
        column("labels"),
        column("scores"),
        column("truth"),
        column("missed"),
        column("weights"),
        column("keys"),
        column("cooccurrence") if every else None,
    )


def _cut(rows: Candidates, marks: Any, most: int) -> Candidates:
    """Return the first candidates of rows, and how many true labels are beyond them."""

    def first(values: Array) -> Array:
        return np.ascontiguousarray(values[:, :most])

    truth = first(rows.truth)
    return replace(
        rows,
        labels=first(rows.labels),
        scores=first(rows.scores),
        truth=truth,
        missed=np.diff(marks.indptr) - truth.sum(axis=1),
        cooccurrence=None if rows.cooccurrence is None else first(rows.cooccurrence),
    )
