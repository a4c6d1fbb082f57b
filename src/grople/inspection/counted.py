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

__all__ = ["LabelQuality", "Reliability", "label_quality", "reliability"]

Array = NDArray[Any]

#: Intervals of the probability in a reliability curve.
INTERVALS = 10
#: Pairs of a row and a label below which an interval says nothing.
FEWEST_PAIRS = 20


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
class Reliability:
    """Probabilities and what happened, for a set of labels.

    Attributes
    ----------
    name : str
        Which labels.
    predicted, observed : ndarray
        Mean probability of the pairs in an interval, and the share of them that were true.
    pairs : ndarray
        Pairs of a row and a label in the interval.
    expected, happened : float
        True pairs by the probabilities, and in fact.
    """

    name: str
    predicted: Array
    observed: Array
    pairs: Array
    expected: float
    happened: float


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


def reliability(counts: ScoreCounts, decision: Decision) -> tuple[Reliability, ...]:
    """Compare probabilities with what happened: for all labels, and for frequent to rare ones.

    One curve turns the scores of all labels into probabilities, so over all labels they are right
    by construction; whether they are for rare labels too is the question. What a re-ranker makes of
    them comes after and is not in the counts.

    Returns
    -------
    tuple of Reliability
        All labels; then thirds of the labels by frequency, where there are enough labels.
    """
    if not counts.shared[1].any():
        return ()
    total, positive = counts.by_label
    curve = decision.curve_scores, decision.curve_probabilities
    finest = np.interp(bin_centres(counts.shared.shape[1]), *curve)
    curves = [_reliability("all labels", counts.shared, finest)]
    chances = np.interp(bin_centres(total.shape[1]), *curve)
    positives = positive.sum(axis=1)
    if len(positives) >= 6:
        thirds = np.array_split(np.argsort(-positives, kind="stable"), 3)
        for name, part in zip(("frequent", "middle", "rare"), thirds, strict=True):
            low, high = positives[part].min(), positives[part].max()
            rows = f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
            title = f"{name} labels ({rows} rows)"
            curves.append(_reliability(title, counts.by_label[:, part].sum(axis=1), chances))
    return tuple(curves)


def _reliability(name: str, counts: Array, chances: Array) -> Reliability:
    """Return what counts of all and of true pairs say of the probability in each bin."""
    pairs, true = counts
    interval = np.minimum((chances * INTERVALS).astype(np.intp), INTERVALS - 1)
    size, hits, mass = (
        np.bincount(interval, weights, INTERVALS) for weights in (pairs, true, pairs * chances)
    )
    enough = size >= FEWEST_PAIRS
    return Reliability(
        name,
        mass[enough] / size[enough],
        hits[enough] / size[enough],
        size[enough],
        float(mass.sum()),
        float(hits.sum()),
    )
