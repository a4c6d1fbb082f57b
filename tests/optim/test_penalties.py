"""Penalties against their definitions: subgradients, dual norms and the proximal problem itself."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from grople.optim import L1, GroupRows

GROUPS = np.array([1, 0, 2, 0, 1, 1])
FORBIDDEN = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1]], dtype=bool)
PENALTIES = {
    "l1": L1(0.7),
    "l1 without weight": L1(0.0),
    "rows in groups": GroupRows(0.7, GROUPS),
    "rows in one group": GroupRows(0.7, np.zeros(6, int)),
    "entries": GroupRows(0.7, np.arange(6)),
    "forbidden rows": GroupRows(0.7, GROUPS, FORBIDDEN),
}
every_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
# Entries that are zero, equal, tiny or large: where thresholds and divisions go wrong.
points = arrays(
    float,
    (4, 6),
    elements=st.one_of(st.sampled_from([0.0, -0.0, 0.7, -0.7]), st.floats(-3, 3, width=16)),
)


def blocks(penalty, W):
    """Yield the parts of W whose norms the penalty sums, and whether each is free."""
    if isinstance(penalty, L1):
        yield from ((W[i, j : j + 1], True) for i, j in np.ndindex(W.shape))
        return
    for i in range(len(W)):
        for k in range(penalty.groups.max() + 1):
            free = penalty.allowed is None or bool(penalty.allowed[i, k])
            yield W[i, penalty.groups == k], free


def free_part(penalty, W):
    """Return W with zeros where the penalty holds it at zero."""
    if isinstance(penalty, L1) or penalty.allowed is None:
        return W
    return W * penalty.allowed[:, penalty.groups]


@every_penalty
@settings(max_examples=25, deadline=None)
@given(W=points)
def test_value_is_the_weighted_sum_of_norms(penalty, W):
    expected = penalty.strength * sum(np.linalg.norm(part) for part, _ in blocks(penalty, W))
    assert penalty.value(W) == pytest.approx(expected, rel=1e-12)


@every_penalty
@settings(max_examples=40, deadline=None)
@given(W=points, step=st.sampled_from([1e-3, 0.5, 1.0, 10.0]))
def test_prox_meets_its_optimality_condition(penalty, W, step):
    # P solves the problem when (W − P)/step is a subgradient: the unit vector of each part of P
    # times the strength, or anything no longer than the strength where the part is zero.
    P = penalty.prox(W, step)
    slack = 1e-12 * (1 + np.abs(W).max()) / step
    for (part, free), (start, _) in zip(blocks(penalty, P), blocks(penalty, W), strict=True):
        length = np.linalg.norm(part)
        if not free:
            assert length == 0
        elif length == 0:
            assert np.linalg.norm(start) / step <= penalty.strength + slack
        else:
            subgradient = (start - part) / step
            np.testing.assert_allclose(subgradient, penalty.strength * part / length, atol=slack)


@every_penalty
@settings(max_examples=25, deadline=None)
@given(W=points, step=st.sampled_from([1e-2, 1.0, 5.0]), seed=st.integers(0, 100))
def test_no_other_point_is_better_than_the_prox(penalty, W, step, seed):
    # The problem is 1/step-strongly convex: moving by M away costs at least ‖M‖²/(2·step).
    def cost(P):
        return np.square(P - W).sum() / (2 * step) + penalty.value(P)

    P = penalty.prox(W, step)
    rng = np.random.default_rng(seed)
    for size in (1e-3, 0.1, 3.0):
        move = free_part(penalty, size * rng.standard_normal(W.shape))
        least = np.square(move).sum() / (2 * step)
        assert cost(P + move) - cost(P) >= least - 1e-12 * (1 + cost(P + move))


@every_penalty
@settings(max_examples=40, deadline=None)
@given(W=points, gradient=points)
def test_distance_is_that_to_the_subdifferential(penalty, W, gradient):
    W = free_part(penalty, W)
    expected = []
    for (part, free), (slope, _) in zip(blocks(penalty, W), blocks(penalty, gradient), strict=True):
        length = np.linalg.norm(part)
        if not free:
            nearest = -slope  # held at zero: every slope is a subgradient
        elif length > 0:
            nearest = penalty.strength * part / length
        else:  # the ball of radius strength
            nearest = -slope / max(np.linalg.norm(slope) / max(penalty.strength, 1e-300), 1.0)
            nearest = nearest if penalty.strength else 0 * slope
        expected.append(np.linalg.norm(-slope - nearest))
    found = penalty.distance(W, gradient)
    np.testing.assert_allclose(found.ravel(), expected, atol=1e-12)


@every_penalty
def test_distance_is_zero_at_minimisers_and_only_there(penalty):
    # f = ‖W − T‖²/2 has the gradient W − T, and f + penalty its minimum at prox(T, 1).
    rng = np.random.default_rng(3)
    T = rng.standard_normal((4, 6))
    best = penalty.prox(T, 1.0)
    assert np.all(penalty.distance(best, best - T) <= 1e-14)
    for size in (1e-6, 1e-2, 1.0):
        for _ in range(10):
            other = best + free_part(penalty, size * rng.standard_normal(T.shape))
            # Strong convexity: a point as far as ‖M‖ has a subgradient at least as long.
            distance = np.linalg.norm(penalty.distance(other, other - T))
            assert distance >= np.linalg.norm(other - best) * (1 - 1e-9)


@every_penalty
@settings(max_examples=25, deadline=None)
@given(W=points, seed=st.integers(0, 100))
def test_dual_norm_is_the_largest_product_with_the_unit_ball(penalty, W, seed):
    norm = dataclasses.replace(penalty, strength=1.0)
    dual = penalty.dual_norm(W)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        P = free_part(penalty, rng.standard_normal(W.shape))
        assert np.vdot(W, P) <= dual * norm.value(P) + 1e-12
    # Attained at the unit vector of the longest part that is free.
    lengths = [np.linalg.norm(part) if free else 0.0 for part, free in blocks(penalty, W)]
    assert dual == pytest.approx(max(lengths), rel=1e-12, abs=1e-300)


@every_penalty
def test_nothing_is_written_into_the_arguments(penalty):
    rng = np.random.default_rng(0)
    W, G = rng.standard_normal((2, 4, 6))
    W.flags.writeable = G.flags.writeable = False
    penalty.value(W), penalty.prox(W, 0.3), penalty.distance(W, G), penalty.dual_norm(W)


def test_strong_shrinkage_leaves_nothing():
    W = np.random.default_rng(0).standard_normal((4, 6))
    assert not L1(1e9).prox(W, 1.0).any()
    assert not GroupRows(1e9, GROUPS).prox(W, 1.0).any()


def test_no_rows():
    penalty, W = GroupRows(1.0, GROUPS), np.zeros((0, 6))
    assert penalty.value(W) == 0.0
    assert penalty.prox(W, 1.0).shape == (0, 6)
    assert penalty.dual_norm(W) == 0.0
