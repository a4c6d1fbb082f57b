"""Sweeps over blocks against scikit-learn's coordinate descent and against the plain solver."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from grople.optim import (
    L1,
    TwoSidedQuadratic,
    block_proximal,
    blocks_of_rows,
    optimality_gap,
    proximal_gradient,
)


def problem(alpha=0.0, gamma=0.0, seed=0, n=80, rows=300, columns=5, correlated=1.0):
    """A two-sided quadratic with more rows than a block holds, and the A, B it came from."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, rows)) + correlated * rng.standard_normal((n, 1))
    B = A[:, :4] @ rng.standard_normal((4, columns)) + 0.1 * rng.standard_normal((n, columns))
    C = rng.standard_normal((columns, columns))
    G = A.T @ A
    quadratic = TwoSidedQuadratic(
        G, C @ C.T, A.T @ B, float(np.square(B).sum()), alpha, gamma, blocks_of_rows(G)
    )
    return A, B, quadratic


def cost(quadratic, beta, W):
    smooth = quadratic.smooth()
    value = np.vdot(W, smooth.product(W)) - 2 * np.vdot(quadratic.linear, W) + quadratic.constant
    return value + beta * np.abs(W).sum()


@pytest.mark.parametrize("beta", [5.0, 100.0])
def test_equals_lasso(beta):
    A, B, quadratic = problem()
    start = np.zeros_like(quadratic.linear)
    scale = quadratic.constant
    solution = block_proximal(quadratic, L1(beta), start, tol=1e-9, max_iter=5000, scale=scale)
    # Lasso divides the squares by 2n, so its weight is ours over 2n; no intercept here.
    lasso = Lasso(alpha=beta / (2 * len(A)), fit_intercept=False, tol=1e-12, max_iter=200_000)
    best = cost(quadratic, beta, lasso.fit(A, B).coef_.T)
    assert solution.converged
    assert cost(quadratic, beta, solution.point) <= best + 1e-8 * scale
    assert not start.any(), "the start was changed"


@pytest.mark.parametrize("alpha", [0.5, 300.0])
def test_agrees_with_steps_over_all_rows(alpha):
    _, _, quadratic = problem(alpha, gamma=2.0)
    start = np.zeros_like(quadratic.linear)
    scale = quadratic.constant
    smooth = quadratic.smooth()
    plain = proximal_gradient(smooth, L1(8.0), start, tol=1e-10, max_iter=50_000, scale=scale)
    blocks = block_proximal(quadratic, L1(8.0), start, tol=1e-10, max_iter=5000, scale=scale)
    assert plain.converged
    assert blocks.converged
    assert blocks.objective_path[-1] == pytest.approx(plain.objective_path[-1], abs=1e-9 * scale)
    # Strong convexity 2γ = 4: a gap of 1e-10·scale bounds how far apart the minimisers may lie.
    assert np.square(blocks.point - plain.point).sum() <= 2e-10 * scale


def test_the_certificate_holds():
    _, _, quadratic = problem(1.0, gamma=1.0)
    start, penalty = np.zeros_like(quadratic.linear), L1(20.0)
    scale = quadratic.constant
    best = block_proximal(quadratic, penalty, start, tol=1e-12, max_iter=5000, scale=scale)
    for sweeps in (0, 1, 2, 5):
        early = block_proximal(quadratic, penalty, start, tol=0.0, max_iter=sweeps, scale=scale)
        above = cost(quadratic, 20.0, early.point) - cost(quadratic, 20.0, best.point)
        assert above <= early.gap + 1e-9 * scale
        assert not early.converged
        assert early.n_iter == sweeps
    smooth = quadratic.smooth()
    fresh = optimality_gap(smooth, penalty, best.point, smooth.product(best.point))
    assert best.gap == pytest.approx(fresh, abs=1e-12 * scale), "certified on a stale product"


def test_the_objective_never_rises():
    _, _, quadratic = problem(10.0, gamma=0.1, correlated=5.0)
    start = np.random.default_rng(1).standard_normal(quadratic.linear.shape)
    solution = block_proximal(
        quadratic, L1(3.0), start, tol=1e-10, max_iter=300, scale=quadratic.constant
    )
    # Rounding of the running product, relative to the largest value on the way.
    assert (np.diff(solution.objective_path) <= 1e-10 * solution.objective_path[0]).all()


def test_rows_without_curvature_stay():
    G = np.zeros((3, 3))
    G[0, 0] = 2.0
    F = np.array([[4.0], [0.0], [0.0]])
    quadratic = TwoSidedQuadratic(G, np.zeros((1, 1)), F, 8.0, 0.0, 0.0, blocks_of_rows(G))
    solution = block_proximal(quadratic, L1(4.0), np.zeros((3, 1)), scale=8.0)
    np.testing.assert_allclose(solution.point, [[1.0], [0.0], [0.0]])
