"""From scores to probabilities to labels, tuned to the measure that counts.

A decision is fitted on counts of scores: how many (row, label) pairs fall into each bin of the
score, and how many of them carry the label. The counts come from out-of-fold scores of rows, or,
where no rows are kept, from the means and spreads that the moments imply. One monotone curve turns
scores into probabilities; the rules then maximise the chosen measure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.isotonic import IsotonicRegression

from grople.linear import ScoreMoments

__all__ = ["Decision", "ScoreCounts", "best_prefix", "check_rule", "fit_decision", "needs_counts"]

Array = NDArray[Any]
Rule = str | float

#: Rules that maximise a measure, by the measure's name.
METRIC_RULES = ("accuracy", "example_f1", "macro_f1", "micro_f1")
#: Bins of the score, for the shared curve and for the threshold of each label.
SHARED_BINS, LABEL_BINS = 4096, 256
#: Positives at which a label's own counts weigh as much as the shared curve (macro-F1).
GUARD = 10.0
#: Labels of a row considered by a rule that ranks them (all of them up to this many).
MOST_LABELS = 512


def check_rule(rule: Rule) -> Rule:
    """Return a rule that exists, or say which do."""
    if isinstance(rule, str) and rule in ("sign", *METRIC_RULES):
        return rule
    is_number = isinstance(rule, int | float | np.number) and not isinstance(rule, bool)
    if is_number and np.isfinite(rule):
        return float(rule)
    raise ValueError(
        f"decision must be 'sign', a number, or one of {', '.join(METRIC_RULES)}; got {rule!r}"
    )


def needs_counts(rule: Rule) -> bool:
    """Tell whether a rule is fitted, rather than given."""
    return rule in METRIC_RULES


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
    def from_scores(
        cls, blocks: Iterable[tuple[Array, Any, Array | None]], n_labels: int
    ) -> ScoreCounts:
        """Count blocks of (scores, label matrix, weights)."""
        shared = np.zeros((2, SHARED_BINS))
        by_label = np.zeros((2, n_labels, LABEL_BINS))
        ratio = SHARED_BINS // LABEL_BINS
        columns = np.arange(n_labels) * LABEL_BINS
        for scores, marks, weights in blocks:
            bins = _bins(scores)
            row, column = sp.csr_array(marks).nonzero()
            hit = bins[row, column]
            fine = (bins // ratio) + columns
            weight = None if weights is None else np.repeat(weights, n_labels)
            hit_weight = None if weights is None else weights[row]
            shared[0] += np.bincount(bins.ravel(), weight, SHARED_BINS)
            shared[1] += np.bincount(hit, hit_weight, SHARED_BINS)
            size = n_labels * LABEL_BINS
            by_label[0] += np.bincount(fine.ravel(), weight, size).reshape(n_labels, -1)
            by_label[1] += np.bincount(hit // ratio + columns[column], hit_weight, size).reshape(
                n_labels, -1
            )
        return cls(shared, by_label)

    @classmethod
    def from_moments(cls, moments: ScoreMoments, n: float) -> ScoreCounts:
        """Count what normal scores with these means and spreads would give."""
        shared = np.zeros((2, SHARED_BINS))
        by_label = np.zeros((2, len(moments.share), LABEL_BINS))
        edges = _edges(SHARED_BINS)[1:-1]
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
            counts = np.stack([with_it + without, with_it])
            shared += counts
            by_label[:, label] = counts.reshape(2, LABEL_BINS, step).sum(axis=2)
        return cls(shared, by_label)


@dataclass(frozen=True)
class Decision:
    """A fitted decision: plain arrays, no rows.

    Attributes
    ----------
    rule : str or float
        What turns scores into labels.
    curve_scores, curve_probabilities : ndarray
        Knots of the monotone curve from scores to probabilities.
    thresholds : float or ndarray of shape (L,)
        Scores above which a label is given (rules by threshold); infinite if none ever was.
    """

    rule: Rule
    curve_scores: Array
    curve_probabilities: Array
    thresholds: Any = 0.0

    def probabilities(self, scores: Array) -> Array:
        """Return the probability of each label."""
        flat = np.interp(scores.ravel(), self.curve_scores, self.curve_probabilities)
        return flat.reshape(scores.shape)

    def labels(self, scores: Array) -> Any:
        """Return the labels of a block of rows as a CSR array of ones."""
        if self.rule in ("accuracy", "example_f1") and np.isfinite(self.thresholds):
            return self._best_sets(scores)
        return sp.csr_array((scores > self.thresholds).astype(np.int64))

    def _best_sets(self, scores: Array) -> Any:
        n_labels = scores.shape[1]
        most = min(n_labels, MOST_LABELS)
        if most < n_labels:
            order = np.argpartition(-scores, most - 1, axis=1)[:, :most]
            inner = np.argsort(-np.take_along_axis(scores, order, axis=1), axis=1, kind="stable")
            order = np.take_along_axis(order, inner, axis=1)
        else:
            order = np.argsort(-scores, axis=1, kind="stable")
        # The curve is monotone, so the order of scores is an order of probabilities.
        chances = self.probabilities(np.take_along_axis(scores, order, axis=1))
        expected = (
            chances.sum(axis=1) if most == n_labels else self.probabilities(scores).sum(axis=1)
        )
        sizes = best_prefix(chances, expected, str(self.rule))
        chosen = order[np.arange(most) < sizes[:, None]]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        marks = sp.csr_array((np.ones(len(chosen), np.int64), chosen, indptr), scores.shape)
        marks.sort_indices()
        return marks


def fit_decision(rule: Rule, counts: ScoreCounts | None) -> Decision:
    """Fit a rule and its probabilities to counts of scores.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[1.0, -1.0], [0.5, -0.5], [-1.0, 1.0], [0.4, -0.2]])
    >>> B = np.array([[1, 0], [1, 0], [0, 1], [1, 0]])
    >>> counts = ScoreCounts.from_scores([(scores, B, None)], n_labels=2)
    >>> decision = fit_decision("example_f1", counts)
    >>> decision.labels(scores).toarray().tolist()
    [[1, 0], [1, 0], [0, 1], [1, 0]]
    """
    rule = check_rule(rule)
    if counts is None:
        # A regression on ±1 labels estimates 2p − 1.
        curve = np.array([-1.0, 1.0]), np.array([0.0, 1.0])
    else:
        curve = _monotone_curve(counts.shared)
    thresholds: Any = 0.0
    if isinstance(rule, float):
        thresholds = rule
    elif needs_counts(rule) and counts is not None and not counts.shared[1].any():
        thresholds = np.inf  # of labels that no row had, none is the likeliest set
    elif rule == "micro_f1" and counts is not None:
        thresholds = float(_best_thresholds(counts.shared[:, None])[0])
    elif rule == "macro_f1" and counts is not None:
        thresholds = _best_thresholds(_guarded(counts, *curve))
    return Decision(rule, *curve, thresholds)


def best_prefix(chances: Array, expected: Array, rule: str) -> NDArray[np.intp]:
    """Return how many of the most probable labels of each row to take.

    Parameters
    ----------
    chances : ndarray of shape (n_rows, T)
        Probabilities in descending order.
    expected : ndarray of shape (n_rows,)
        Expected number of labels of each row, Σp over all labels.
    rule : {"accuracy", "example_f1"}
        ``Σ_top p / (k + Σp − Σ_top p)`` or ``2Σ_top p / (k + Σp)``, ratios of expectations.
    """
    gained = np.cumsum(chances, axis=1)
    sizes = np.arange(1, chances.shape[1] + 1)
    if rule == "accuracy":
        value = gained / (sizes + expected[:, None] - gained)
    else:
        value = 2 * gained / (sizes + expected[:, None])
    # The first of equal values: no label is added that gains nothing.
    return value.argmax(axis=1) + 1


def _monotone_curve(shared: Array) -> tuple[Array, Array]:
    total, positive = shared
    seen = total > 0
    if not seen.any():
        return np.array([-1.0, 1.0]), np.array([0.0, 1.0])
    centres = _centres(SHARED_BINS)[seen]
    # Half a count: no finite number of rows shows that a thing cannot happen.
    least = 0.5 / (1.0 + float(total.sum()))
    model = IsotonicRegression(y_min=least, y_max=1.0 - least, out_of_bounds="clip")
    model.fit(centres, positive[seen] / total[seen], sample_weight=total[seen])
    return model.X_thresholds_, model.y_thresholds_


def _guarded(counts: ScoreCounts, curve_scores: Array, curve_probabilities: Array) -> Array:
    """Blend each label's positives with what the shared curve expects of them.

    A label with few positives cannot tell a good threshold from luck; the curve can. A label
    without any is not expected.
    """
    total, positive = counts.by_label
    own = positive.sum(axis=1, keepdims=True)
    trust = own / (own + GUARD)
    chance = np.interp(_centres(LABEL_BINS), curve_scores, curve_probabilities)
    blend = trust * positive + (1 - trust) * chance * total
    return np.stack([total, np.where(own > 0, blend, 0.0)])


def _best_thresholds(counts: Array) -> Array:
    """Return for each row of counts the score threshold with the largest F1."""
    total, positive = (np.cumsum(part[:, ::-1], axis=1)[:, ::-1] for part in counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        f1 = np.nan_to_num(2 * positive / (total + positive[:, :1]))
    # Of equal values the highest threshold: fewer labels for the same measure.
    best = f1.shape[1] - 1 - f1[:, ::-1].argmax(axis=1)
    edges = _edges(f1.shape[1])
    thresholds = edges[best]
    return np.where(f1.max(axis=1) > 0, thresholds, np.inf)


def _bins(scores: Array) -> NDArray[np.intp]:
    squashed = scores / (1.0 + np.abs(scores))
    bins = ((squashed + 1.0) * (SHARED_BINS / 2)).astype(np.intp)
    np.minimum(bins, SHARED_BINS - 1, out=bins)
    # A score is in the bin whose lower edge it exceeds, exactly: votes and constant scores lie on
    # edges, and are decided by comparison with them.
    edges = _edges(SHARED_BINS)
    bins -= scores <= edges[bins]
    bins += scores > edges[bins + 1]
    return bins


def _edges(n_bins: int) -> Array:
    squashed = np.linspace(-1.0, 1.0, n_bins + 1)[1:-1]
    inner = squashed / (1.0 - np.abs(squashed))
    return np.concatenate([[-np.inf], inner, [np.inf]])


def _centres(n_bins: int) -> Array:
    squashed = (np.arange(n_bins) + 0.5) * (2.0 / n_bins) - 1.0
    return squashed / (1.0 - np.abs(squashed))


def __getattr__(name: str) -> Any:
    # The meta-estimator stands to the right of this room, but people look for it here.
    if name == "MultilabelDecisionClassifier":
        from grople.meta import MultilabelDecisionClassifier

        return MultilabelDecisionClassifier
    raise AttributeError(f"module 'grople.decision' has no attribute {name!r}")
