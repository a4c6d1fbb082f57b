"""Decisions over scores in any namespace: counting them, and taking labels, where they lie.

A search decides on thousands of blocks of scores that never leave the device; only counts come
home, where decisions are fitted, and the few numbers of a fitted decision go back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.arrays import beside, counted, looked_up, namespace, whole
from grople.decision.calibration import log_odds
from grople.decision.counts import LABEL_BINS, SHARED_BINS, ScoreCounts, score_bins
from grople.decision.expected import best_prefix
from grople.decision.model import Decision
from grople.decision.rules import as_rule

__all__ = ["count_settings", "interpolated", "mark"]


def count_settings(scores: Any, truth: Any, weights: Any, rule: Any) -> list[ScoreCounts]:
    """Count the scores of each of many settings.

    Parameters
    ----------
    scores : array of shape (n_rows, n_settings, L)
        Scores.
    truth : array of shape (n_rows, L)
        The true labels as zeros and ones, of the type of the scores.
    weights : array of shape (n_rows,) or None
        Weights of the rows, likewise.
    rule : str or Rule
        The rule to be fitted; counts of each label are left at zero where it needs none.
    """
    xp = namespace(scores)
    _, n_settings, n_labels = scores.shape
    bins = score_bins(scores)
    own = beside(bins, np.arange(n_settings)[None, :, None])
    each = None if weights is None else weights[:, None, None] + 0.0 * scores
    hits = truth[:, None, :] + 0.0 * scores if each is None else truth[:, None, :] * each

    def tables(places: Any, width: int) -> NDArray[Any]:
        flat, length = xp.reshape(places, (-1,)), n_settings * width
        found = [
            counted(flat, None if part is None else xp.reshape(part, (-1,)), length)
            for part in (each, hits)
        ]
        return np.stack(found, axis=-1).astype(np.float64).reshape(n_settings, width, 2)

    shared = tables(bins + SHARED_BINS * own, SHARED_BINS)
    by_label = np.zeros((n_settings, n_labels * LABEL_BINS, 2))
    if _looks_at_labels(rule):
        label = beside(bins, np.arange(n_labels)[None, None, :])
        fine = bins // (SHARED_BINS // LABEL_BINS) + LABEL_BINS * label
        by_label = tables(fine + n_labels * LABEL_BINS * own, n_labels * LABEL_BINS)
    return [
        ScoreCounts(
            np.ascontiguousarray(shared[s].T),
            np.ascontiguousarray(by_label[s].T).reshape(2, n_labels, LABEL_BINS),
        )
        for s in range(n_settings)
    ]


def _looks_at_labels(rule: Any) -> bool:
    spelt = as_rule(rule)
    return spelt.name in ("macro_f1", "proportional") or spelt.share != "all"


def mark(decision: Decision, scores: Any) -> Any:
    """Return the labels of rows as a dense array of bool: those of :meth:`Decision.labels`.

    Parameters
    ----------
    decision : Decision
        A decision without a second look at candidates.
    scores : array of shape (n_rows, L)
        Scores, in any namespace.
    """
    if decision.decoder is not None:
        raise ValueError("a second look at candidates takes place at home: use Decision.labels")
    xp = namespace(scores)
    finite = bool(np.all(np.isfinite(decision.thresholds)))
    if decision.rule not in ("accuracy", "example_f1", "top_k") or not finite:
        values = scores
        if not decision.by_score and not decision.is_given:
            values = log_odds(_calibrated(decision, scores))
        return values > beside(scores, np.asarray(decision.thresholds, dtype=np.float64))
    chances = _calibrated(decision, scores)
    ranked = scores if decision.by_score else chances
    order = xp.argsort(-ranked, axis=1, stable=True)
    rank = xp.argsort(order, axis=1)
    if decision.rule == "top_k":
        return rank < decision.n_top
    best = xp.take_along_axis(chances, order, axis=1)
    sizes = best_prefix(best, xp.sum(chances, axis=1), str(decision.rule))
    return rank < sizes[:, None]


def _calibrated(decision: Decision, scores: Any) -> Any:
    chances = interpolated(scores, decision.curve_scores, decision.curve_probabilities)
    if decision.bend_slope is None or decision.bend_intercept is None:
        return chances
    a, b = (beside(scores, part) for part in (decision.bend_intercept, decision.bend_slope))
    return 1.0 / (1.0 + namespace(scores).exp(-(a + b * log_odds(chances))))


def interpolated(x: Any, knots: NDArray[Any], values: NDArray[Any]) -> Any:
    """Return what :func:`numpy.interp` returns, in any namespace.

    Examples
    --------
    >>> interpolated(np.array([-1.0, 0.25, 9.0]), np.array([0.0, 1.0]), np.array([2.0, 4.0]))
    array([2. , 2.5, 4. ])
    """
    xp = namespace(x)
    if len(knots) == 1:
        return xp.full_like(x, float(values[0]))
    at, slopes = beside(x, knots), beside(x, np.diff(values) / np.diff(knots))
    x = xp.minimum(xp.maximum(x, at[0]), at[-1])
    left = xp.searchsorted(at, xp.reshape(x, (-1,)), side="right") - 1
    left = xp.minimum(whole(xp.reshape(left, x.shape)), len(knots) - 2)
    return looked_up(beside(x, values), left) + (x - looked_up(at, left)) * looked_up(slopes, left)
