"""Expected measures of the likeliest labels of a row, and how many of them to give."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.arrays import beside, cumulated, is_foreign, namespace, whole

__all__ = ["best_prefix", "expected_measures"]

Array = NDArray[Any]

#: Nodes × rows × labels that integrals are taken of at a time: here, where a cache holds them, and
#: on a device, which wants much work at once.
CELLS, FOREIGN_CELLS = 1 << 15, 1 << 24
#: Of more labels than this, those that no row could be given, and that are less probable than
#: this in every row, are known by three sums: to 4e-8 each.
FEW, IMPROBABLE = 64, 0.02


def best_prefix(chances: Any, expected: Any, rule: str) -> Any:
    """Return how many of the most probable labels of each row to take.

    Parameters
    ----------
    chances : array of shape (n_rows, T)
        Probabilities in descending order, in any namespace.
    expected : array of shape (n_rows,)
        Expected number of labels of each row, Σp over all labels.
    rule : {"accuracy", "example_f1"}
        The measure whose expectation is largest, see :func:`expected_measures`.
    """
    xp = namespace(chances)
    most = _most_labels(chances, expected)
    beyond = [expected - xp.sum(chances, axis=1)]
    if chances.shape[1] > FEW and not is_foreign(chances):  # a device would wait for the cut
        first = _considered(chances, expected, rule)
        rest = chances[:, first:]
        beyond = [beyond[0] + rest.sum(axis=1), *((rest**i).sum(axis=1) / i for i in (2, 3))]
        chances = chances[:, :first]
    value = _expected(chances, beyond, rule, most)
    # The first of values that are equal but for rounding: no label is added that gains nothing.
    enough = xp.max(value, axis=1) * (1.0 - float(xp.finfo(value.dtype).eps) ** 0.6)
    return xp.argmax(whole(value >= enough[:, None]), axis=1) + 1


def expected_measures(chances: Any, expected: Any, rule: str) -> Any:
    """Return the expected measure of the first 1, 2, … labels of each row.

    Labels are independent given the row. Of k labels given, A are right, and C of the others are
    true. Then 1/(k + C) = ∫ t^(k+C−1) dt from 0 to 1 turns a mean of ratios into an integral over
    means of powers, which are products g(t) = Π (1 − p + p t) over labels:

        E[A / (k + C)]        =  Σ_given p · ∫ t^(k−1) g_others(t) dt
        E[2A / (k + A + C)]   =  2 ∫ t^k g_all(t) · Σ_given p / (1 − p + p t) dt

    Gauss's rule takes the integral of the polynomial. Both grow with the probability of a given
    label, so that no other k labels are better.

    Parameters
    ----------
    chances : array of shape (n_rows, T)
        Probabilities in descending order, in any namespace.
    expected : array of shape (n_rows,)
        Σp over all labels; those beyond the T are too improbable to be two at a time.
    rule : {"accuracy", "example_f1"}
        Jaccard's measure or F1; a row without labels counts 0.

    Examples
    --------
    >>> p = np.array([[0.6, 0.5]])
    >>> expected_measures(p, p.sum(axis=1), "accuracy").round(3)  # .6(1 − .5/2) and .3 + .5/2
    array([[0.45, 0.55]])
    """
    beyond = [expected - namespace(chances).sum(chances, axis=1)]
    return _expected(chances, beyond, rule, _most_labels(chances, expected))


def _most_labels(chances: Any, expected: Any) -> float:
    """Return how many labels a row may have, or be given."""
    likely = float(namespace(expected).max(expected)) if expected.shape[0] else 0.0
    return max(likely, float(chances.shape[1]))


def _expected(chances: Any, beyond: Any, rule: str, most: float) -> Any:
    """Return expected measures, labels beyond the first known by Σp, Σp²/2, … of each row.

    These are the series of −Σ ln(1 − p + p t) in 1 − t.
    """
    xp = namespace(chances)
    sizes = beside(chances, np.arange(1.0, chances.shape[1] + 1.0))
    rest = [xp.maximum(each, xp.zeros_like(each))[:, None] for each in beyond]
    value = xp.zeros_like(chances)
    nodes = _nodes(most)
    cells = FOREIGN_CELLS if is_foreign(chances) else CELLS
    step = max(1, cells // max(1, math.prod(chances.shape)))
    for start in range(0, nodes.shape[1], step):
        t, weight = (beside(chances, each) for each in nodes[:, start : start + step, None, None])
        factors = 1.0 - (1.0 - t) * chances
        others = xp.exp(-sum((1.0 - t) ** i * each for i, each in enumerate(rest, 1)))
        if rule == "accuracy":
            parts = (weight * t ** (sizes - 1.0)) * (others * _products_after(factors))
        else:
            every = others * xp.prod(factors, axis=-1, keepdims=True)
            parts = (weight * t**sizes) * (every * cumulated(chances / factors))
        value += xp.sum(parts, axis=0)
    return value * cumulated(chances) if rule == "accuracy" else 2.0 * value


def _considered(chances: Array, expected: Array, rule: str) -> int:
    """Return how many labels could be given to a row of these, or are more than improbable.

    By Jensen's inequality the expected measure lies between two that are quickly known: a prefix
    whose upper bound is below the best lower one is none to consider.
    """
    gained, sizes = np.cumsum(chances, axis=1), np.arange(1.0, chances.shape[1] + 1.0)
    if rule == "accuracy":
        low, high = gained / (sizes + expected[:, None] - gained), gained / sizes
    else:
        low, high = gained / (sizes + 1.0 + expected[:, None]), gained / (sizes + gained)
    possible = high >= low.max(axis=1, keepdims=True)
    needed = np.flatnonzero((possible | (chances > IMPROBABLE)).any(axis=0))
    return int(needed[-1]) + 1 if len(needed) else chances.shape[1]


def _products_after(factors: Any) -> Any:
    """Return the product of all later factors of a row, 1 behind the last."""
    logs = cumulated(namespace(factors).log(factors))
    return namespace(factors).exp(logs[..., -1:] - logs)


def _nodes(most: float) -> Array:
    """Return nodes (and below them weights) from 0 to 1 for rows with up to so many labels.

    With n labels the integrand is about 1/n wide, at t = 1, where n nodes lie 1/n² apart: their
    number grows with √n.
    """
    return _gauss(8 * math.ceil(1.0 + math.sqrt(most) / 4.0))


@functools.cache
def _gauss(n_nodes: int) -> Array:
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return np.stack([(nodes + 1.0) / 2.0, weights / 2.0])
