"""What a search holds against its models: the measure on held-out rows, decided without them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople import metrics
from grople.arrays import Place, beside, namespace, taken, to_numpy, whole
from grople.decision import ScoreCounts, fit_decision, needs_counts
from grople.decision.anywhere import count_settings, mark
from grople.fingerprints import row_fingerprints
from grople.grid import MappingGrid
from grople.linear import LinearScores
from grople.reservoir import fold_of
from grople.targets import Targets

__all__ = ["Judge"]

Array = NDArray[Any]

#: Scores of held-out rows kept at a time; of larger folds a sample of rows is scored.
MOST_SCORES = 1 << 25


class Judge:
    """Scores models on the held-out rows of one fold, deciding without sight of what it scores.

    Parameters
    ----------
    X, B, weights : arrays
        The held-out rows, their labels and weights (or None).
    targets : Targets
        What the labels are.
    rule : str, float or Rule
        The decision; where it is fitted, on one half of the rows for the other, both ways.
    scoring : str
        The measure.
    """

    def __init__(
        self, X: Any, B: Any, weights: Array | None, targets: Targets, rule: Any, scoring: str
    ) -> None:
        keys = row_fingerprints(to_numpy(X))
        most = max(1, MOST_SCORES // max(B.shape[1], 1))
        if len(keys) > most:
            chosen = np.sort(np.argsort(keys)[:most])
            X, B, keys = taken(X, chosen), B[chosen], keys[chosen]
            weights = None if weights is None else weights[chosen]
        self.X, self.B = X, sp.csr_array(B)
        self.weights = weights
        self.halves = fold_of(keys, 2)
        self.targets, self.rule, self.scoring = targets, rule, scoring

    def score(self, model: LinearScores) -> float:
        """Return the measure of one model."""
        return self._measured(model(to_numpy(self.X)))

    def score_grid(self, grid: MappingGrid, labels: LinearScores, place: Place) -> Array:
        """Return the measure of every setting of a grid.

        Parameters
        ----------
        grid : MappingGrid
            The maps, on a device.
        labels : LinearScores
            Leads from points to scores.
        place : Place
            Where the maps are.
        """
        rows = place.array(self.X, grid.Z.dtype)
        parts = grid.scores(rows, labels)
        if self.targets.kind != "multilabel":
            return np.array(
                [
                    self._measured(to_numpy(scores[:, s, :]))
                    for _, scores in parts
                    for s in range(scores.shape[1])
                ]
            )
        return np.concatenate([self._measured_settings(scores) for _, scores in parts])

    def _measured(self, scores: Array) -> float:
        if self.targets.kind != "multilabel":
            truth = self.B.toarray()
            hit = (
                (scores[:, 0] > 0) == truth[:, 0]
                if self.targets.kind == "binary"
                else scores.argmax(axis=1) == truth.argmax(axis=1)
            )
            return float(np.average(hit, weights=self.weights))
        if not needs_counts(self.rule):
            predicted = fit_decision(self.rule, None).labels(scores)
        else:
            predicted = self._decided(scores)
        measure = getattr(metrics, self.scoring)
        return float(measure(self.B, predicted, zero_division=0.0, sample_weight=self.weights))

    def _decided(self, scores: Array) -> Any:
        parts, rows = [], []
        for fit, use in self._both_ways():
            weights = None if self.weights is None else self.weights[fit]
            block = (scores[fit], self.B[fit], weights)
            counts = ScoreCounts.from_scores([block], scores.shape[1]) if len(fit) else None
            parts.append(fit_decision(self.rule, counts).labels(scores[use]))
            rows.append(use)
        return sp.vstack(parts, format="csr")[np.argsort(np.concatenate(rows))]

    def _both_ways(self) -> Iterator[tuple[Array, Array]]:
        """Yield the rows to fit a decision on and those to use it on."""
        for half in (0, 1):
            fit, use = np.flatnonzero(self.halves != half), np.flatnonzero(self.halves == half)
            if len(use):
                yield fit, use

    def _measured_settings(self, scores: Any) -> Array:
        """Return the measure of each setting; scores of shape (n_rows, n_settings, L), anywhere."""
        xp = namespace(scores)
        n_rows, n_settings = scores.shape[:2]
        truth = beside(scores, self.B.toarray())
        weights = None if self.weights is None else beside(scores, self.weights)
        every = np.arange(n_rows)
        ways = list(self._both_ways()) if needs_counts(self.rule) else [(every[:0], every)]
        chosen = []
        for fit, use in ways:
            counts: list[ScoreCounts] | list[None] = [None] * n_settings
            if len(fit):
                some, known, weigh = (_rows(values, fit) for values in (scores, truth, weights))
                counts = count_settings(some, known, weigh, self.rule)
            used = _rows(scores, use)
            chosen.append(
                [mark(fit_decision(self.rule, c), used[:, s, :]) for s, c in enumerate(counts)]
            )
        order = np.concatenate([use for _, use in ways])
        marks = xp.stack([xp.concat(list(parts)) for parts in zip(*chosen, strict=True)], axis=1)
        return self._measures(marks, _rows(truth, order) > 0, _rows(weights, order), order)

    def _measures(self, marks: Any, truth: Any, weights: Any, order: Array) -> Array:
        """Return the measure of each setting from its label sets, rows in the given order."""
        xp = namespace(marks)
        n_rows, n_settings, n_labels = marks.shape
        sets = [whole(part) for part in (marks & truth[:, None, :], truth[:, None, :], marks)]
        by_row = [to_numpy(xp.sum(part, axis=2)) for part in sets]
        if weights is not None:
            sets = [xp.astype(part, weights.dtype) * weights[:, None, None] for part in sets]
        by_label = [to_numpy(xp.sum(part, axis=0)) for part in sets]
        rows = [np.broadcast_to(part, (n_rows, n_settings)) for part in by_row]
        labels = [np.broadcast_to(part, (n_settings, n_labels)) for part in by_label]
        own = None if self.weights is None else self.weights[order]
        measures = []
        for s in range(n_settings):
            tp, true, pred = (part[:, s] for part in rows)
            label_tp, label_true, label_pred = (part[s] for part in labels)
            counts = metrics.Counts(tp, true, pred, label_tp, label_true, label_pred, own)
            measures.append(getattr(counts, self.scoring)(0.0))
        return np.array(measures)


def _rows(values: Any, which: Array) -> Any:
    return None if values is None else taken(values, which)
