"""From scores to probabilities: one monotone curve, and how labels or groups bend it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import expit, xlogy

from grople.arrays import namespace
from grople.decision.counts import LABEL_BINS, SHARED_BINS, ScoreCounts, bin_centres

__all__ = ["bend", "log_odds", "monotone_curve", "sigmoid_curve"]

Array = NDArray[Any]
Curve = tuple[Array, Array]

#: Positives at which a label's own evidence weighs as much as the shared curve.
SHRINKAGE = 10.0
#: The flattest a label may bend the curve; it never turns it round.
FLATTEST = 0.05
#: Probabilities are kept this far from 0 and 1 in log-odds.
LEAST = 1e-6


def log_odds(chances: Any) -> Any:
    """Return ln(p / (1 − p)), finite, in any namespace."""
    xp = namespace(chances)
    p = xp.clip(chances, LEAST, 1.0 - LEAST)
    return xp.log(p) - xp.log1p(-p)


def monotone_curve(shared: Array) -> Curve:
    """Return the knots of the isotonic curve through counts of scores."""
    total, positive = shared
    seen = total > 0
    if not seen.any():
        return np.array([-1.0, 1.0]), np.array([0.0, 1.0])
    centres = bin_centres(SHARED_BINS)[seen]
    # Half a count: no finite number of rows shows that a thing cannot happen.
    least = 0.5 / (1.0 + float(total.sum()))
    levels = isotonic_regression(positive[seen] / total[seen], weights=total[seen]).x
    levels = np.clip(levels, least, 1.0 - least)
    # Inside a level there is nothing to know: its two ends are knots.
    inside = np.zeros(len(levels), dtype=bool)
    inside[1:-1] = (levels[1:-1] == levels[:-2]) & (levels[1:-1] == levels[2:])
    return centres[~inside], levels[~inside]


def sigmoid_curve(shared: Array) -> Curve:
    """Return knots on the logistic curve ``1 / (1 + exp(−a − b s))`` that fits counts best."""
    total, positive = shared
    seen = total > 0
    if not seen.any():
        return np.array([-1.0, 1.0]), np.array([0.0, 1.0])
    centres = bin_centres(SHARED_BINS)[seen]
    a, b = _logistic(centres[None], total[None, seen], positive[None, seen], ridge=1e-6)
    least = 0.5 / (1.0 + float(total.sum()))
    chances = np.clip(expit(a[0] + max(b[0], 0.0) * centres), least, 1.0 - least)
    return centres, chances


def bend(counts: ScoreCounts, curve: Curve, share: str, groups: Array | None) -> tuple[Array, ...]:
    """Return for each label the intercept and slope that bend the curve in log-odds.

    ``logit p' = a + b logit p``, fitted by maximum likelihood with a Gaussian prior around
    (0, 1) that weighs as much as SHRINKAGE positives, so that a rare label keeps the shared curve.
    """
    total, positive = counts.by_label
    n_labels = total.shape[0]
    if share == "group":
        member = np.zeros(n_labels, dtype=np.intp) if groups is None else np.asarray(groups) + 1
        total, positive = (_sum_by(part, member) for part in (total, positive))
    at = log_odds(np.interp(bin_centres(LABEL_BINS), *curve))
    # A prior that weighs SHRINKAGE positives: their information about the intercept.
    a, slope = _logistic(np.broadcast_to(at, total.shape), total, positive, SHRINKAGE, slope=1.0)
    b = np.maximum(slope, FLATTEST)
    return (a[member], b[member]) if share == "group" else (a, b)


def _sum_by(part: Array, member: Array) -> Array:
    summed = np.zeros((int(member.max(initial=0)) + 1, part.shape[1]))
    np.add.at(summed, member, part)
    return summed


def _logistic(
    x: Array, total: Array, positive: Array, ridge: float, slope: float = 0.0
) -> tuple[Array, Array]:
    """Fit ``logit p = a + b x`` to counts, many fits at a time (a row each), by Newton's method.

    The penalty is ``ridge/2 · (a² + (b − slope)²)``. Steps are halved until the objective falls.
    """
    a, b = np.zeros(len(x)), np.full(len(x), slope)

    def loss(a: Array, b: Array) -> Array:
        z = a[:, None] + b[:, None] * x
        fit = total * np.logaddexp(0.0, z) - positive * z
        return fit.sum(axis=1) + 0.5 * ridge * (a**2 + (b - slope) ** 2)

    now = loss(a, b)
    for _ in range(50):
        p = expit(a[:, None] + b[:, None] * x)
        residual, weight = total * p - positive, total * p * (1 - p)
        ga = residual.sum(axis=1) + ridge * a
        gb = (residual * x).sum(axis=1) + ridge * (b - slope)
        haa = weight.sum(axis=1) + ridge
        hab = (weight * x).sum(axis=1)
        hbb = (weight * x * x).sum(axis=1) + ridge
        determinant = np.maximum(haa * hbb - hab**2, 1e-300)
        da, db = (hbb * ga - hab * gb) / determinant, (haa * gb - hab * ga) / determinant
        step = np.ones(len(x))
        for _ in range(20):
            new = loss(a - step * da, b - step * db)
            worse = ~(new <= now + 1e-12 * np.abs(now))
            if not worse.any():
                break
            step = np.where(worse, step / 2, step)
        else:
            step = np.where(worse, 0.0, step)
            new = np.where(worse, now, new)
        a, b = a - step * da, b - step * db
        if (now - new <= 1e-9 * (1.0 + np.abs(now))).all():
            break
        now = new
    return a, b


def entropy_loss(chances: Array, truth: Array, weights: Array | None = None) -> float:
    """Return the mean log loss of probabilities."""
    return float(np.average(log_losses(chances, truth), weights=weights))


def log_losses(chances: Array, truth: Array) -> Array:
    """Return the log loss of each probability."""
    return np.asarray(-(xlogy(truth, chances) + xlogy(1.0 - truth, 1.0 - chances)))
