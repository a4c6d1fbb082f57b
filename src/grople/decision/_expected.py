"""Expected measures of the most probable labels of a row, and how many of them to give."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_prefix", "expected_measures"]

Array = NDArray[Any]

#: Rows × labels that integrals are taken of at a time: as much as a cache holds.
CELLS = 1 << 14
#: Of more labels than this, those that the row could not be given, and that are less probable than
#: the second number, are known by three sums: to 4e-8 each.
FEW, IMPROBABLE = 64, 0.02
#: Relative difference below which two expected measures are the same but for rounding.
SAME = float(np.finfo(np.float64).eps) ** 0.6


def best_prefix(probabilities: Array, expected: Array, rule: str) -> Array:
    """Return how many of the most probable labels of each row to take.

    A row's answer does not depend on the rows around it.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, T)
        Probabilities in descending order.
    expected : ndarray of shape (n_rows,)
        Expected number of labels of each row, Σp over all labels.
    rule : {"accuracy", "example_f1"}
        The measure whose expectation is largest, see :func:`expected_measures`.
    """
    sizes = np.zeros(len(probabilities), dtype=np.intp)
    widths = _widths(probabilities, expected, rule)
    nodes = _node_counts(probabilities, expected)
    for width, n_nodes in np.unique(np.stack([widths, nodes], axis=1), axis=0):
        same = np.flatnonzero((widths == width) & (nodes == n_nodes))
        step = max(1, CELLS // int(width))
        for start in range(0, len(same), step):
            at = same[start : start + step]
            head, rest = probabilities[at, :width], probabilities[at, width:]
            beyond = [expected[at] - probabilities[at].sum(axis=1)]
            if width < probabilities.shape[1]:
                beyond = [beyond[0] + rest.sum(axis=1)]
                beyond += [(rest**i).sum(axis=1) / i for i in (2, 3)]
            value = _expected(head, beyond, rule, int(n_nodes))
            # The first of values that are equal but for rounding: no label is added for nothing.
            enough = value.max(axis=1, keepdims=True) * (1.0 - SAME)
            sizes[at] = (value >= enough).argmax(axis=1) + 1
    return sizes


def expected_measures(probabilities: Array, expected: Array, rule: str) -> Array:
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
    probabilities : ndarray of shape (n_rows, T)
        Probabilities in descending order.
    expected : ndarray of shape (n_rows,)
        Σp over all labels; those beyond the T are too improbable to be two at a time.
    rule : {"accuracy", "example_f1"}
        Jaccard's measure or F1; a row without labels counts 0.

    Examples
    --------
    >>> p = np.array([[0.6, 0.5]])
    >>> expected_measures(p, p.sum(axis=1), "accuracy").round(3)  # .6(1 − .5/2) and .3 + .5/2
    array([[0.45, 0.55]])
    """
    value = np.zeros_like(probabilities)
    nodes = _node_counts(probabilities, expected)
    for n_nodes in np.unique(nodes):
        at = np.flatnonzero(nodes == n_nodes)
        beyond = expected[at] - probabilities[at].sum(axis=1)
        value[at] = _expected(probabilities[at], [beyond], rule, int(n_nodes))
    return value


def _expected(p: Array, beyond: list[Array], rule: str, n_nodes: int) -> Array:
    """Return expected measures, labels beyond the first known by Σp, Σp²/2, … of each row.

    These are the series of −Σ ln(1 − p + p t) in 1 − t.
    """
    sizes = np.arange(1.0, p.shape[1] + 1.0)
    rest = [np.maximum(each, 0.0)[:, None] for each in beyond]
    value = np.zeros_like(p)
    for t, weight in _gauss(n_nodes):
        factors = 1.0 - (1.0 - t) * p
        others = np.exp(-sum((1.0 - t) ** i * each for i, each in enumerate(rest, 1)))
        if rule == "accuracy":
            value += (weight * t ** (sizes - 1.0)) * (others * _products_after(factors))
        else:
            every = others * np.prod(factors, axis=1, keepdims=True)
            value += (weight * t**sizes) * (every * np.cumsum(p / factors, axis=1))
    return value * np.cumsum(p, axis=1) if rule == "accuracy" else 2.0 * value


def _widths(p: Array, expected: Array, rule: str) -> Array:
    """Return how many labels of each row could be given to it, or are more than improbable.

    By Jensen's inequality the expected measure lies between two that are quickly known: a prefix
    whose upper bound is below the best lower one is none to consider. Widths are powers of two,
    so that many rows share one.
    """
    n_labels = p.shape[1]
    if n_labels <= FEW:
        return np.full(len(p), n_labels)
    gained, sizes = np.cumsum(p, axis=1), np.arange(1.0, n_labels + 1.0)
    if rule == "accuracy":
        low, high = gained / (sizes + expected[:, None] - gained), gained / sizes
    else:
        low, high = gained / (sizes + 1.0 + expected[:, None]), gained / (sizes + gained)
    needed = (high >= low.max(axis=1, keepdims=True)) | (p > IMPROBABLE)
    last = n_labels - needed[:, ::-1].argmax(axis=1)
    doublings = np.ceil(np.log2(np.maximum(last / FEW, 1.0)))
    return np.minimum(FEW * 2 ** doublings.astype(np.intp), n_labels)


def _products_after(factors: Array) -> Array:
    """Return the product of all later factors of a row, 1 behind the last."""
    after = np.ones_like(factors)
    np.cumprod(factors[:, :0:-1], axis=1, out=after[:, -2::-1])
    return after


def _node_counts(p: Array, expected: Array) -> Array:
    """Return how many nodes from 0 to 1 the integral of each row takes.

    With n labels the integrand is about 1/n wide, at t = 1, where n nodes lie 1/n² apart: their
    number grows with √n.
    """
    most = np.maximum(expected, float(p.shape[1]))
    return 8 * np.ceil(1.0 + np.sqrt(most) / 4.0).astype(np.intp)


@functools.cache
def _gauss(n_nodes: int) -> list[tuple[float, float]]:
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return [((1.0 + t) / 2.0, weight / 2.0) for t, weight in zip(nodes, weights, strict=True)]
