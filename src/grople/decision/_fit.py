"""Fit a decision to held-out scores: the curve, the re-ranker, the copies, the thresholds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from grople.decision._calibration import (
    LABEL_BINS,
    ScoreCounts,
    ScoreMoments,
    bin_centres,
    bin_edges,
    log_odds,
    monotone_curve,
    score_bins,
)
from grople.decision._copies import fit_copies
from grople.decision._decision import ROW_RULES, Decision
from grople.decision._evidence import Candidates, HeldOut
from grople.decision._expected import best_prefix
from grople.decision._fit_reranker import fit_reranker

__all__ = ["fit_decision"]

Array = NDArray[Any]

#: Positives at which a label's own best threshold weighs as much as the one that the probabilities
#: give it (macro-F1). Of a hundred positives the threshold that did best is mostly luck.
GUARD = 300.0
#: How many times as many rows as carry it a label may be given to (macro-F1). Where its scores tell
#: nothing, to give it to all rows has the largest F1 that can be expected: beyond this below 2/31,
#: and a wrong label on row after row.
MAX_PREDICTED_RATIO = 30.0
#: Rows that sets are compared with the sign of the scores on, and by how many standard errors the
#: sign must be better to be taken.
COMPARED_ROWS, CLEARLY = 2000, 3.0


def fit_decision(
    held_out: HeldOut | ScoreMoments | None,
    *,
    context: bool | str = "auto",
    seed: int = 0,
    run: Callable[..., Any] = map,
) -> Decision:
    """Fit one decision that answers every rule.

    Parameters
    ----------
    held_out : HeldOut, ScoreMoments or None
        What is known of the scores; moments of scores alone allow no re-ranker.
    context : bool or "auto"
        Whether a re-ranker corrects the probabilities, see :class:`Rule`.
    seed : int
        Seed of the re-ranker.
    run : callable
        A ``map`` over independent pieces of work.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from grople.decision._evidence import HeldOut, HeldOutBlock
    >>> scores = np.array([[1.0, -1.0], [0.5, -0.5], [-1.0, 1.0], [0.4, -0.2]])
    >>> B = sp.csr_array(np.array([[1, 0], [1, 0], [0, 1], [1, 0]]))
    >>> decision = fit_decision(HeldOut.from_blocks([HeldOutBlock(scores, B)], n_labels=2))
    >>> decision.labels(scores, rule="example_f1").toarray().tolist()
    [[1, 0], [1, 0], [0, 1], [1, 0]]
    """
    if held_out is None:
        # A regression on ±1 labels estimates 2p − 1.
        curve = np.array([-1.0, 1.0]), np.array([0.0, 1.0])
        return Decision(*curve, 0.0, np.zeros(1), 0.0, 1)
    if isinstance(held_out, ScoreMoments):
        counts = ScoreCounts.from_moments(held_out)
        curve = monotone_curve(counts.shared)
        return Decision(*curve, **_thresholds(curve, counts, reranked=False))
    counts, rows = held_out.counts, held_out.candidates
    curve = monotone_curve(counts.shared)
    probabilities = np.interp(rows.scores, *curve)
    found = None
    if context:
        forced = context is True
        found = fit_reranker(held_out, probabilities, forced=forced, seed=seed, run=run)
    reranker = None
    if found is not None:
        reranker, probabilities = found
        counts = _reranked_counts(curve, held_out, probabilities)
    return Decision(
        *curve,
        **_thresholds(curve, counts, reranked=reranker is not None),
        signed_rules=_signed_rules(held_out, curve, probabilities),
        reranker=reranker,
        copies=fit_copies(held_out, probabilities),
    )


def _reranked_counts(
    curve: tuple[Array, Array], held_out: HeldOut, probabilities: Array
) -> ScoreCounts:
    """Count the log-odds of all pairs: candidates as re-ranked, the others as calibrated."""
    rows = held_out.candidates
    by_label = held_out.counts.by_label
    n_labels = by_label.shape[1]
    counts, candidates = ScoreCounts.empty(n_labels), ScoreCounts.empty(n_labels)
    _count_candidates(counts, rows, score_bins(log_odds(probabilities)))
    # The other pairs are known by the bins of their scores: all pairs less the candidates.
    _count_candidates(candidates, rows, score_bins(rows.scores))
    others = np.maximum(by_label - candidates.by_label, 0.0)
    odds = log_odds(np.interp(bin_centres(LABEL_BINS), *curve))
    bins = np.tile(score_bins(odds), n_labels)
    labels = np.repeat(np.arange(n_labels), LABEL_BINS)
    for which in (0, 1):
        counts.add_bins(which, labels, bins, others[which].ravel())
    return counts


def _count_candidates(counts: ScoreCounts, rows: Candidates, bins: Array) -> None:
    weights = np.repeat(rows.weights, rows.labels.shape[1])
    hit = rows.truth.ravel()
    counts.add_bins(0, rows.labels.ravel(), bins.ravel(), weights)
    counts.add_bins(1, rows.labels.ravel()[hit], bins.ravel()[hit], weights[hit])


def _thresholds(
    curve: tuple[Array, Array], counts: ScoreCounts, *, reranked: bool
) -> dict[str, Any]:
    """Return what rules compare with: scores, or log-odds where these are re-ranked."""
    n_rows = counts.shared[0].sum() / counts.by_label.shape[1]
    likely = 0.0 if reranked else float(_crossing(curve, np.array([0.5]))[0])
    return {
        "micro_threshold": float(_best_thresholds(counts.shared[:, None])[0]),
        "macro_thresholds": _label_thresholds(curve, counts.by_label, reranked=reranked),
        "hamming_threshold": likely,
        "n_top": max(1, round(float(counts.shared[1].sum() / n_rows))),
    }


def _crossing(curve: tuple[Array, Array], probabilities: Array) -> Array:
    """Return the score above which the curve exceeds each level: −∞ everywhere, ∞ nowhere."""
    scores, levels = curve
    above = np.searchsorted(levels, probabilities, side="right")
    at = np.clip(above, 1, len(levels) - 1)
    rise = np.maximum(levels[at] - levels[at - 1], 1e-300)
    share = np.clip((probabilities - levels[at - 1]) / rise, 0.0, 1.0)
    found = scores[at - 1] + share * (scores[at] - scores[at - 1])
    return np.where(above == 0, -np.inf, np.where(above == len(levels), np.inf, found))


def _label_thresholds(curve: tuple[Array, Array], by_label: Array, *, reranked: bool) -> Array:
    """Return for each label a threshold for its F1; infinite where it has no positive.

    What maximises F1 is to give a label where its probability exceeds half the best F1. With
    probabilities from the shared curve, in proportion so that they add up to the label's number of
    positives, that is the threshold of a rare label; the more positives it has, the more the
    threshold counts that is best for them. It lets no more than :data:`MAX_PREDICTED_RATIO` times
    as many rows through as have the label.
    """
    total, positive = by_label
    own = positive.sum(axis=1)
    centres = bin_centres(LABEL_BINS)
    chance = expit(centres) if reranked else np.interp(centres, *curve)
    expected = chance * total
    proportion = own / np.maximum(expected.sum(axis=1), 1e-300)
    expected = np.minimum(expected * proportion[:, None], total)
    least = _f1_above(total, expected).max(axis=1) / 2.0 / np.maximum(proportion, 1e-300)
    likely = log_odds(least) if reranked else _crossing(curve, least)

    # Beyond the label's own scores there is nothing to tell thresholds apart by.
    seen, edges = total > 0, bin_edges(LABEL_BINS)
    lowest = edges[np.maximum(seen.argmax(axis=1), 1)]
    highest = edges[np.maximum(LABEL_BINS - 1 - seen[:, ::-1].argmax(axis=1), 1)]
    best, likely = (np.clip(part, lowest, highest) for part in (_best_thresholds(by_label), likely))
    trust = own / (own + GUARD)
    above = np.cumsum(total[:, ::-1], axis=1)[:, ::-1]
    few = above <= MAX_PREDICTED_RATIO * own[:, None]
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
    return np.where(f1.max(axis=1) > 0, bin_edges(f1.shape[1])[best], np.inf)


def _signed_rules(
    held_out: HeldOut, curve: tuple[Array, Array], probabilities: Array
) -> tuple[str, ...]:
    """Return the rules whose sets are clearly worse on held-out rows than the sign of the scores.

    Labels beyond the candidates count as given by neither.
    """
    rows = held_out.candidates
    some = slice(COMPARED_ROWS)
    truth, weights = rows.truth[some], rows.weights[some]
    have = truth.sum(axis=1) + rows.missed[some]
    order = np.argsort(-probabilities[some], axis=1, kind="stable")
    ranked = np.take_along_axis(probabilities[some], order, axis=1)
    hits = np.cumsum(np.take_along_axis(truth, order, axis=1), axis=1)
    signed = rows.scores[some] > 0.0
    of_sign = (signed & truth).sum(axis=1), signed.sum(axis=1)
    found = []
    for rule in ROW_RULES:
        sizes = best_prefix(ranked, ranked.sum(axis=1), rule)
        of_sets = np.take_along_axis(hits, sizes[:, None] - 1, axis=1)[:, 0], sizes
        gain = (_measure(rule, *of_sign, have) - _measure(rule, *of_sets, have)) * weights
        if gain.mean() > CLEARLY * gain.std() / np.sqrt(len(gain)):
            found.append(rule)
    return tuple(found)


def _measure(rule: str, hits: Array, given: Array, have: Array) -> Array:
    """Return the measure of each row; a row without labels, true and given, counts zero."""
    if rule == "accuracy":
        return np.asarray(hits / np.maximum(given + have - hits, 1))
    return np.asarray(2 * hits / np.maximum(given + have, 1))
