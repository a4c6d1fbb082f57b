"""One threshold for every competitor, tuned out of fold; numpy and scipy only.

Scores are a dense array (rows × labels) or a sparse matrix of candidates, whose other labels are
never predicted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["Candidates", "best_thresholds", "candidates", "labels_above", "stacked"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Candidates:
    """The best labels of each row, from the best down; −1 and −∞ where a row has fewer."""

    labels: Array
    scores: Array

    def hits(self, truth: Any) -> Array:
        """Return which candidates are true labels of their rows."""
        truth = sp.csr_matrix(truth)
        n, width = truth.shape
        rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(truth.indptr))
        keys = rows * width + truth.indices
        found = np.arange(n, dtype=np.int64)[:, None] * width + self.labels
        return np.isin(found, keys) & (self.labels >= 0)


def candidates(scores: Any, k: int) -> Candidates:
    """Return the k best labels of each row."""
    return _from_sparse(scores, k) if sp.issparse(scores) else _from_dense(scores, k)


def stacked(parts: list[tuple[Array, Candidates]]) -> Candidates:
    """Return the candidates of all rows, given those of parts of them with the rows' numbers."""
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))
    labels = np.concatenate([part.labels for _, part in parts])[order]
    return Candidates(labels, np.concatenate([part.scores for _, part in parts])[order])


def best_thresholds(found: Candidates, truth: Any) -> dict[str, tuple[float, float]]:
    """Return, for example-F1 and for micro-F1, the best threshold and the measure it reaches.

    All thresholds are tried: from the highest score down each candidate adds what its row gains.
    """
    hits = found.hits(truth)
    true = np.diff(sp.csr_matrix(truth).indptr)
    k = found.labels.shape[1]
    row_f1 = 2.0 * np.cumsum(hits, axis=1) / (np.arange(1, k + 1) + true[:, None])
    gain = np.diff(row_f1, axis=1, prepend=0.0)
    there = found.labels >= 0
    scores, gain, hits = found.scores[there], gain[there], hits[there]
    order = np.argsort(-scores, kind="stable")
    scores = scores[order]
    reached = {
        "example_f1": np.cumsum(gain[order]) / len(true),
        "micro_f1": 2.0 * np.cumsum(hits[order]) / (np.arange(1, len(scores) + 1) + true.sum()),
    }
    ends = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)  # equal scores go together
    result = {}
    for name, values in reached.items():
        best = ends[np.argmax(values[ends])]
        below = scores[best + 1] if best + 1 < len(scores) else scores[best]
        result[name] = (float((scores[best] + below) / 2.0), float(values[best]))
    return result


def labels_above(scores: Any, threshold: float) -> Any:
    """Return the label sets of rows: the scores at or above a threshold."""
    if not sp.issparse(scores):
        return sp.csr_matrix(np.asarray(scores) >= threshold)
    found = sp.csr_matrix(scores)
    return sp.csr_matrix((found.data >= threshold, found.indices, found.indptr), found.shape)


def _from_dense(scores: Any, k: int) -> Candidates:
    scores = np.asarray(scores)
    k = min(k, scores.shape[1])
    labels = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    values = np.take_along_axis(scores, labels, axis=1).astype(np.float64)
    order = np.argsort(-values, axis=1, kind="stable")
    labels = np.take_along_axis(labels, order, axis=1).astype(np.int64)
    values = np.take_along_axis(values, order, axis=1)
    return Candidates(np.where(np.isfinite(values), labels, -1), values)


def _from_sparse(scores: Any, k: int) -> Candidates:
    scores = sp.csr_matrix(scores)
    n = scores.shape[0]
    rows = np.repeat(np.arange(n), np.diff(scores.indptr))
    order = np.lexsort((-scores.data, rows))
    place = np.arange(len(rows)) - scores.indptr[rows]
    kept = place < k
    labels = np.full((n, k), -1, dtype=np.int64)
    values = np.full((n, k), -np.inf)
    labels[rows[kept], place[kept]] = scores.indices[order][kept]
    values[rows[kept], place[kept]] = scores.data[order][kept]
    return Candidates(labels, values)
