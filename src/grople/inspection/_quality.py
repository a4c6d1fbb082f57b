"""Quality and reliability, read off the counts of held-out scores that a decision is fitted on.

They count by label and bin of the score: enough for any measure of a ranking by one label, and for
comparing probabilities with what happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.decision import Decision, ScoreCounts
from grople.decision._calibration import bin_centres
from grople.metrics import ReliabilityCurve

__all__ = [
    "GivenLabels",
    "LabelQuality",
    "expected_and_true",
    "frequency_thirds",
    "given_labels",
    "label_quality",
    "reliability",
]

Array = NDArray[Any]

#: Intervals of the probability in a reliability curve.
INTERVALS = 10


@dataclass(frozen=True)
class LabelQuality:
    """How well each label's scores put its rows first (NaN where no row, or every row, has it).

    Attributes
    ----------
    positives : ndarray of shape (L,)
        Scored rows that carry the label.
    average_precision : ndarray of shape (L,)
        Area under precision against recall.
    auc : ndarray of shape (L,)
        Chance that a row with the label scores higher than one without.
    """

    positives: Array
    average_precision: Array
    auc: Array


@dataclass(frozen=True)
class GivenLabels:
    """Labels given to rows: how many, how many of them right, and how many the rows carry."""

    given: float
    right: float
    carried: float

    @property
    def precision(self) -> float:
        """Share of the labels given that is right."""
        return self.right / self.given if self.given else 0.0

    @property
    def recall(self) -> float:
        """Share of the labels carried that is given."""
        return self.right / self.carried if self.carried else 0.0


def label_quality(counts: ScoreCounts) -> LabelQuality:
    """Return how well each label is ranked; scores in one bin count as ties.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.9], [0.1], [0.5], [-0.5]])
    >>> truth = np.array([[1], [1], [0], [0]])
    >>> counts = ScoreCounts.empty(n_labels=1)
    >>> counts.add(scores, truth, None)
    >>> quality = label_quality(counts)
    >>> quality.auc.tolist(), quality.average_precision.round(3).tolist()
    ([0.75], [0.833])
    """
    total, positive = (part[:, ::-1] for part in counts.by_label)  # highest scores first
    found, seen = np.cumsum(positive, axis=1), np.cumsum(total, axis=1)
    wanted, rows = found[:, -1:], seen[:, -1:]
    others = rows - wanted
    negative = total - positive
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(seen > 0, found / seen, 0.0)
        average = np.where(wanted > 0, positive / wanted * precision, np.nan).sum(axis=1)
        # A negative is beaten by the positives above it and half of those it ties with.
        beaten = negative * (found - 0.5 * positive)
        defined = (wanted > 0) & (others > 0)
        auc = np.where(defined, beaten / (wanted * others), np.nan).sum(axis=1)
    return LabelQuality(wanted[:, 0], average, auc)


def given_labels(counts: ScoreCounts) -> GivenLabels:
    """Return what giving every label above one score leads to: the score with the largest micro-F1.

    Examples
    --------
    >>> import numpy as np
    >>> counts = ScoreCounts.empty(n_labels=1)
    >>> counts.add(np.array([[0.9], [0.5], [0.1]]), np.array([[1], [0], [0]]), None)
    >>> given_labels(counts)
    GivenLabels(given=1.0, right=1.0, carried=1.0)
    """
    given, right = np.cumsum(counts.shared[:, ::-1], axis=1)
    carried = right[-1]
    best = int(np.argmax(right / np.maximum(given + carried, 1e-300)))
    return GivenLabels(float(given[best]), float(right[best]), float(carried))


def reliability(counts: ScoreCounts, decision: Decision) -> dict[str, ReliabilityCurve]:
    """Compare probabilities with what happened: for all labels, and for frequent to rare ones.

    One curve turns the scores of all labels into probabilities, so over all labels they are right
    by construction; whether they are for rare labels too is the question. What a re-ranker makes of
    them comes after and is not in the counts.

    Returns
    -------
    dict of str to ReliabilityCurve
        "all labels"; then "frequent labels", "middle labels" and "rare labels", thirds of the
        labels by frequency, where there are enough labels.
    """
    if not counts.shared[1].any():
        return {}
    total, positive = counts.by_label
    curve = decision.curve_scores, decision.curve_probabilities
    finest = np.interp(bin_centres(counts.shared.shape[1]), *curve)
    curves = {"all labels": _reliability(counts.shared, finest)}
    chances = np.interp(bin_centres(total.shape[1]), *curve)
    if len(positive) >= 6:
        for name, labels in frequency_thirds(positive.sum(axis=1)).items():
            curves[f"{name} labels"] = _reliability(counts.by_label[:, labels].sum(axis=1), chances)
    return curves


def expected_and_true(curve: ReliabilityCurve) -> tuple[float, float]:
    """Return how many pairs were to be expected by their probabilities, and how many were true."""
    return float(curve.predicted @ curve.pairs), float(curve.observed @ curve.pairs)


def frequency_thirds(positives: Array) -> dict[str, Array]:
    """Return the labels of each third by frequency."""
    thirds = np.array_split(np.argsort(-positives, kind="stable"), 3)
    return dict(zip(("frequent", "middle", "rare"), thirds, strict=True))


def _reliability(counts: Array, chances: Array) -> ReliabilityCurve:
    """Return what counts of all and of true pairs say of the probability in each bin."""
    pairs, true = counts
    interval = np.minimum((chances * INTERVALS).astype(np.intp), INTERVALS - 1)
    size, hits, mass = (
        np.bincount(interval, weights, INTERVALS) for weights in (pairs, true, pairs * chances)
    )
    filled = size > 0
    return ReliabilityCurve(mass[filled] / size[filled], hits[filled] / size[filled], size[filled])
