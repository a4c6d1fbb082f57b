"""Fit a decision on out-of-fold evidence: the curve, the second look, the thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from grople.decision.calibration import bend, log_odds, monotone_curve, sigmoid_curve
from grople.decision.context import fit_context
from grople.decision.counts import (
    LABEL_BINS,
    SHARED_BINS,
    ScoreCounts,
    bin_centres,
    bin_edges,
    score_bins,
)
from grople.decision.evidence import Candidates, Evidence
from grople.decision.model import Decision
from grople.decision.rules import Rule, as_rule, check_rule

__all__ = ["fit_decision"]

Array = NDArray[Any]

#: Positives at which a label's own best threshold weighs as much as the one that the probabilities
#: give it (macro-F1). Of a hundred positives the threshold that did best is mostly luck.
GUARD = 300.0
#: How many times as many rows as carry it a label may be given to (macro-F1). Where its scores tell
#: nothing, to give it to all rows has the largest F1 that can be expected: beyond this below 2/31,
#: and a wrong label on row after row.
MOST_GIVEN = 30.0
#: Thresholds tried for the best one out-of-fold.
TRIED = 200


def fit_decision(rule: Any, evidence: Evidence | ScoreCounts | None) -> Decision:
    """Fit a rule and its probabilities to out-of-fold scores.

    Parameters
    ----------
    rule : str, float or Rule
        The rule.
    evidence : Evidence, ScoreCounts or None
        What is known of the scores; counts alone allow no second look at rows.

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
    given = check_rule(rule)
    name = given.name if isinstance(given, Rule) else given
    spelt = as_rule(given)
    if isinstance(evidence, ScoreCounts):
        evidence = Evidence(evidence)
    if evidence is None:
        # A regression on ±1 labels estimates 2p − 1.
        curve = np.array([-1.0, 1.0]), np.array([0.0, 1.0])
        return Decision(name, *curve, name if isinstance(name, float) else 0.0, n_top=spelt.k or 1)
    # Rules that differ in nothing else share the curve and the second look.
    key = f"{spelt.calibration} {spelt.share} {spelt.context}"
    if key not in evidence.calibrated:
        evidence.calibrated[key] = _calibrate(spelt, evidence)
    decision, decoded = evidence.calibrated[key]
    decision = _changed(decision, rule=name)
    return _changed(decision, **_thresholds(decision, spelt, name, decoded or evidence))


def _calibrate(rule: Rule, evidence: Evidence) -> tuple[Decision, Evidence | None]:
    """Return probabilities without a rule yet, and the evidence in the decoder's terms."""
    curve = (monotone_curve if rule.calibration == "isotonic" else sigmoid_curve)(
        evidence.counts.shared
    )
    decision = Decision(rule.name, *curve)
    if rule.share != "all":
        a, b = bend(evidence.counts, curve, rule.share, evidence.groups)
        decision = _changed(decision, bend_intercept=a, bend_slope=b)
    if rule.context and evidence.candidates is not None:
        return _second_look(decision, evidence, forced=rule.context is True)
    return decision, None


def _second_look(
    decision: Decision, evidence: Evidence, forced: bool
) -> tuple[Decision, Evidence | None]:
    """Add a decoder where it pays; the evidence is then of its log-odds, on rows unseen by it."""
    rows = evidence.candidates
    assert rows is not None
    found = fit_context(evidence, _candidate_chances(decision, rows), forced=forced)
    if found is None:
        return decision, None
    decoder, unseen = found
    decision = _changed(decision, decoder=decoder, n_candidates=rows.labels.shape[1])
    return decision, Evidence(_decoded_counts(decision, evidence, unseen), rows, decoded=unseen)


def _candidate_chances(decision: Decision, rows: Candidates) -> Array:
    chances = np.interp(rows.scores, decision.curve_scores, decision.curve_probabilities)
    if decision.bend_slope is not None and decision.bend_intercept is not None:
        a, b = decision.bend_intercept[rows.labels], decision.bend_slope[rows.labels]
        chances = expit(a + b * log_odds(chances))
    return np.asarray(chances)


def _decoded_counts(decision: Decision, evidence: Evidence, unseen: Array) -> ScoreCounts:
    """Count the log-odds of all pairs: candidates as decoded, the others as calibrated."""
    rows = evidence.candidates
    assert rows is not None
    n_labels = evidence.counts.by_label.shape[1]
    counts = ScoreCounts.empty(n_labels)
    labels = rows.labels.ravel()
    odds = score_bins(log_odds(unseen)).ravel()
    weights = None if rows.weights is None else np.repeat(rows.weights, rows.labels.shape[1])
    hit = rows.truth.ravel()
    hit_weights = None if weights is None else weights[hit]
    counts.add_bins(0, labels, odds, weights)
    counts.add_bins(1, labels[hit], odds[hit], hit_weights)
    # The other pairs are known by the bins of their scores: all pairs less the candidates.
    outside = ScoreCounts.empty(n_labels)
    bins = score_bins(rows.scores).ravel()
    outside.add_bins(0, labels, bins, weights)
    outside.add_bins(1, labels[hit], bins[hit], hit_weights)
    _add_calibrated(counts, decision, evidence.counts.by_label - outside.by_label)
    return counts


def _add_calibrated(counts: ScoreCounts, decision: Decision, by_label: Array) -> None:
    """Count pairs given by bins of their scores at their calibrated log-odds."""
    n_labels = by_label.shape[1]
    curve = decision.curve_scores, decision.curve_probabilities
    odds = np.broadcast_to(log_odds(np.interp(bin_centres(LABEL_BINS), *curve)), by_label.shape[1:])
    if decision.bend_slope is not None and decision.bend_intercept is not None:
        odds = decision.bend_intercept[:, None] + decision.bend_slope[:, None] * odds
    bins = score_bins(np.ascontiguousarray(odds)).ravel()
    labels = np.repeat(np.arange(n_labels), LABEL_BINS)
    for which in (0, 1):
        counts.add_bins(which, labels, bins, np.maximum(by_label[which], 0.0).ravel())


def _thresholds(decision: Decision, rule: Rule, name: Any, evidence: Evidence) -> dict[str, Any]:
    """Return what the rule compares with: scores, or log-odds where they differ from scores."""
    counts = evidence.counts
    if isinstance(name, float):
        return {"thresholds": name}
    if name == "sign":
        return {"thresholds": 0.0}
    if not counts.shared[1].any():
        return {"thresholds": np.inf}  # of labels that no row had, none is the likeliest set
    if decision.bend_slope is not None and decision.decoder is None:
        bent = ScoreCounts.empty(counts.by_label.shape[1])
        _add_calibrated(bent, decision, counts.by_label)
        counts = bent
    if name == "micro_f1":
        return {"thresholds": float(_best_thresholds(counts.shared[:, None])[0])}
    if name == "macro_f1":
        return {"thresholds": _label_thresholds(decision, counts.by_label)}
    if name in ("hamming", "subset"):
        return {"thresholds": _where_likely(decision)}
    if name == "cardinality":
        wanted = counts.shared[1].sum()
        return {"thresholds": float(_quantiles(counts.shared[0][None], np.array([wanted]))[0])}
    if name == "proportional":
        return {"thresholds": _quantiles(counts.by_label[0], counts.by_label[1].sum(axis=1))}
    if name == "top_k":
        rows = counts.shared[0].sum() / counts.by_label.shape[1]
        return {"n_top": rule.k or max(1, round(float(counts.shared[1].sum() / rows)))}
    if name == "threshold":
        return {"thresholds": _tuned(decision, rule, evidence, counts)}
    return {}


def _where_likely(decision: Decision) -> float:
    """Return the threshold above which a label is likelier than not."""
    if not decision.by_score:
        return 0.0  # in log-odds
    curve = decision.curve_scores, decision.curve_probabilities
    return float(_crossing(curve, np.array([0.5]))[0])


def _crossing(curve: tuple[Array, Array], chances: Array) -> Array:
    """Return the score above which the curve exceeds each chance: −∞ everywhere, ∞ nowhere."""
    scores, levels = curve
    above = np.searchsorted(levels, chances, side="right")
    at = np.clip(above, 1, len(levels) - 1)
    rise = np.maximum(levels[at] - levels[at - 1], 1e-300)
    share = np.clip((chances - levels[at - 1]) / rise, 0.0, 1.0)
    found = scores[at - 1] + share * (scores[at] - scores[at - 1])
    return np.where(above == 0, -np.inf, np.where(above == len(levels), np.inf, found))


def _tuned(decision: Decision, rule: Rule, evidence: Evidence, counts: ScoreCounts) -> float:
    """Return the one threshold with the best measure of rows, out-of-fold."""
    rows = evidence.candidates
    if rows is None or _crowded(rows, counts.by_label.shape[1]):
        return float(_best_thresholds(counts.shared[:, None])[0])
    values = rows.scores
    if not decision.by_score:
        decoded = evidence.decoded
        values = log_odds(_candidate_chances(decision, rows) if decoded is None else decoded)
    have = rows.truth.sum(axis=1) + rows.missed
    best, chosen = -1.0, np.inf
    # Quantiles of the positives' values: where a threshold can change something that counts.
    for at in np.unique(np.quantile(values[rows.truth], np.linspace(0, 1, TRIED))) - 1e-12:
        given = values > at
        hits, size = (given & rows.truth).sum(axis=1), given.sum(axis=1)
        both = size + have
        ratio = (
            2 * hits / np.maximum(both, 1)
            if rule.metric == "example_f1"
            else hits / np.maximum(both - hits, 1)
        )
        value = float(np.average(ratio, weights=rows.weights))
        if value > best:
            best, chosen = value, float(at)
    return chosen


def _crowded(rows: Candidates, n_labels: int) -> bool:
    """Tell whether rows have so many labels that the candidates do not tell where they end."""
    n_candidates = rows.labels.shape[1]
    have = np.mean(rows.truth.sum(axis=1) + rows.missed)
    return bool(n_candidates < n_labels and 2.0 * have > n_candidates)


def _label_thresholds(decision: Decision, by_label: Array) -> Array:
    """Return for each label a threshold for its F1; infinite where it has no positive.

    What maximises F1 is to give a label where its probability exceeds half the best F1. With
    probabilities from the shared curve, in proportion so that they add up to the label's number of
    positives, that is the threshold of a rare label; the more positives it has, the more the
    threshold counts that is best for them. It lets no more than :data:`MOST_GIVEN` times as many
    rows through as have the label.
    """
    total, positive = by_label
    own = positive.sum(axis=1)
    centres = bin_centres(LABEL_BINS)
    curve = decision.curve_scores, decision.curve_probabilities
    chance = np.interp(centres, *curve) if decision.by_score else expit(centres)
    expected = chance * total
    proportion = own / np.maximum(expected.sum(axis=1), 1e-300)
    expected = np.minimum(expected * proportion[:, None], total)
    least = _f1_above(total, expected).max(axis=1) / 2.0 / np.maximum(proportion, 1e-300)
    likely = _crossing(curve, least) if decision.by_score else log_odds(least)

    # Beyond the label's own scores there is nothing to tell thresholds apart by.
    seen, edges = total > 0, bin_edges(LABEL_BINS)
    lowest = edges[np.maximum(seen.argmax(axis=1), 1)]
    highest = edges[np.maximum(LABEL_BINS - 1 - seen[:, ::-1].argmax(axis=1), 1)]
    best, likely = (np.clip(part, lowest, highest) for part in (_best_thresholds(by_label), likely))
    trust = own / (own + GUARD)
    few = np.cumsum(total[:, ::-1], axis=1)[:, ::-1] <= MOST_GIVEN * own[:, None]
    few[:, -1] = True
    found = np.maximum(trust * best + (1.0 - trust) * likely, edges[few.argmax(axis=1)])
    return np.where(own > 0, found, np.inf)


def _f1_above(total: Array, positive: Array) -> Array:
    """Return for each row of counts the F1 of a threshold below each bin."""
    total, positive = (np.cumsum(part[:, ::-1], axis=1)[:, ::-1] for part in (total, positive))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.nan_to_num(2 * positive / (total + positive[:, :1])))


def _best_thresholds(counts: Array) -> Array:
    """Return for each row of counts the score threshold with the largest F1."""
    f1 = _f1_above(*counts)
    # Of equal values the highest threshold: fewer labels for the same measure.
    best = f1.shape[1] - 1 - f1[:, ::-1].argmax(axis=1)
    edges = bin_edges(f1.shape[1])
    thresholds = edges[best]
    return np.where(f1.max(axis=1) > 0, thresholds, np.inf)


def _quantiles(total: Array, wanted: Array) -> Array:
    """Return for each row of counts the threshold that comes nearest to so many pairs above it."""
    above = np.cumsum(total[:, ::-1], axis=1)[:, ::-1]
    above = np.concatenate([above, np.zeros((len(above), 1))], axis=1)
    best = above.shape[1] - 1 - np.abs(above - wanted[:, None])[:, ::-1].argmin(axis=1)
    edges = bin_edges(SHARED_BINS if total.shape[1] == SHARED_BINS else LABEL_BINS)
    return edges[best]


def _changed(decision: Decision, **fields: Any) -> Decision:
    return Decision(**(decision.__dict__ | fields))
