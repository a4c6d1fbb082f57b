"""The solver against scikit-learn's coordinate descent, and its certificate against the truth."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.linear_model import Lasso, MultiTaskLasso

from grople.optim import L1, GroupRows, Quadratic, optimality_gap, proximal_gradient


def regression(seed=0, n=60, d=20, t=6, correlated=0.0):
    """A, B of ‖A W − B‖²; ``correlated`` makes the columns of A nearly alike."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) + correlated * rng.standard_normal((n, 1))
    truth = rng.standard_normal((d, t)) * (rng.random((d, 1)) < 0.4)
    return A, A @ truth + rng.standard_normal((n, t))


def quadratic(A, B, ridge=0.0, curvature=None):
    H = A.T @ A + ridge * np.eye(A.shape[1])
    values = np.linalg.eigvalsh(H)
    return Quadratic(
        product=lambda W: H @ W,
        linear=A.T @ B,
        constant=float(np.square(B).sum()),
        curvature=values[-1] if curvature is None else curvature,
        convexity=max(values[0], 0.0),
    )


def cost(A, B, penalty, W, ridge=0.0):
    return np.square(A @ W - B).sum() + ridge * np.square(W).sum() + penalty.value(W)


def start_of(A, B):
    return np.zeros((A.shape[1], B.shape[1]))


@pytest.mark.parametrize("beta", [0.5, 20.0, 200.0])
@pytest.mark.parametrize("correlated", [0.0, 3.0])
def test_equals_lasso(beta, correlated):
    A, B = regression(correlated=correlated)
    solution = proximal_gradient(
        quadratic(A, B), L1(beta), start_of(A, B), tol=1e-9, max_iter=20000
    )
    # Lasso divides the squares by 2n, so its weight is ours over 2n; no intercept here.
    lasso = Lasso(alpha=beta / (2 * len(A)), fit_intercept=False, tol=1e-12, max_iter=100000)
    best = cost(A, B, L1(beta), lasso.fit(A, B).coef_.T)
    assert solution.converged
    assert cost(A, B, L1(beta), solution.point) == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("strength", [1.0, 50.0])
def test_equals_multi_task_lasso(strength):
    A, B = regression(1)
    penalty = GroupRows(strength, np.zeros(B.shape[1], int))
    solution = proximal_gradient(quadratic(A, B), penalty, start_of(A, B), tol=1e-9, max_iter=20000)
    lasso = MultiTaskLasso(
        alpha=strength / (2 * len(A)), fit_intercept=False, tol=1e-12, max_iter=100000
    )
    best = cost(A, B, penalty, lasso.fit(A, B).coef_.T)
    assert cost(A, B, penalty, solution.point) == pytest.approx(best, rel=1e-8)


def test_groups_of_columns_are_problems_of_their_own():
    A, B = regression(2)
    groups = np.array([0, 1, 0, 2, 1, 0])
    solution = proximal_gradient(
        quadratic(A, B), GroupRows(30.0, groups), start_of(A, B), tol=1e-10, max_iter=20000
    )
    for k in range(3):
        part = MultiTaskLasso(alpha=30.0 / (2 * len(A)), fit_intercept=False, tol=1e-12)
        expected = part.fit(A, B[:, groups == k]).coef_.T
        np.testing.assert_allclose(solution.point[:, groups == k], expected, atol=1e-4)


def test_forbidden_rows_stay_zero_and_the_rest_is_optimal():
    A, B = regression(3)
    groups = np.array([0, 0, 1, 1, 1, 1])
    allowed = np.ones((A.shape[1], 2), dtype=bool)
    allowed[:8, 0] = allowed[15:, 1] = False
    penalty = GroupRows(10.0, groups, allowed)
    solution = proximal_gradient(quadratic(A, B), penalty, start_of(A, B), tol=1e-10, max_iter=9999)
    for k in range(2):
        free = allowed[:, k]
        part = MultiTaskLasso(alpha=10.0 / (2 * len(A)), fit_intercept=False, tol=1e-12)
        expected = part.fit(A[:, free], B[:, groups == k]).coef_.T
        np.testing.assert_allclose(solution.point[free][:, groups == k], expected, atol=1e-4)
        assert not solution.point[~free][:, groups == k].any()


PENALTIES = {
    "l1": L1(10.0),
    "groups": GroupRows(10.0, np.array([0, 0, 1, 1, 2, 2])),
    "forbidden": GroupRows(
        10.0, np.array([0, 0, 1, 1, 2, 2]), np.random.default_rng(5).random((20, 3)) < 0.7
    ),
}


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
@pytest.mark.parametrize(("ridge", "n"), [(0.0, 60), (0.0, 10), (2.0, 10), (2.0, 60)])
def test_gap_bounds_the_distance_to_the_minimum(penalty, ridge, n):
    A, B = regression(4, n=n, correlated=1.0)
    smooth = quadratic(A, B, ridge)
    exact = proximal_gradient(smooth, penalty, start_of(A, B), tol=1e-13, max_iter=50000)
    least = cost(A, B, penalty, exact.point, ridge)
    rounding = 1e-12 * smooth.constant
    gaps = []
    for tol in 10.0 ** -np.arange(0, 9):
        solution = proximal_gradient(smooth, penalty, start_of(A, B), tol=tol, max_iter=20000)
        above = cost(A, B, penalty, solution.point, ridge) - least
        assert -rounding <= above <= solution.gap + rounding
        assert solution.converged
        assert solution.gap <= tol * solution.objective_path[-1]
        gaps.append(solution.gap)
    assert gaps[-1] < 1e-6 * gaps[0]


@pytest.mark.parametrize("penalty", [*PENALTIES.values(), L1(0.0)], ids=[*PENALTIES, "none"])
@pytest.mark.parametrize("n", [10, 60])
def test_gap_bounds_it_at_any_point(penalty, n):
    A, B = regression(6, n=n)
    smooth = quadratic(A, B, 0.5)
    exact = proximal_gradient(smooth, penalty, start_of(A, B), tol=1e-13, max_iter=50000)
    least = cost(A, B, penalty, exact.point, 0.5)
    rng = np.random.default_rng(7)
    for bound in (smooth, dataclasses.replace(smooth, convexity=0.0)):
        for size in (1e-4, 1e-2, 1.0, 100.0):
            W = penalty.prox(exact.point + size * rng.standard_normal(exact.point.shape), 1e-3)
            gap = optimality_gap(bound, penalty, W, bound.product(W))
            assert cost(A, B, penalty, W, 0.5) - least <= gap * (1 + 1e-9) + 1e-9


def test_gap_is_nothing_at_the_minimum():
    smooth = Quadratic(lambda W: 2.0 * W, np.array([[4.0, 0.5]]), constant=9.0, curvature=2.0)
    W = np.array([[1.0, 0.0]])  # 2·2w − 8 + 4 = 0 and |−1| ≤ 4
    assert optimality_gap(smooth, L1(4.0), W, smooth.product(W)) == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("factor", [1e-12, 1e-3, 0.5, 20.0])
def test_a_wrong_curvature_is_corrected(factor):
    A, B = regression(8, correlated=1.0)
    true = np.linalg.eigvalsh(A.T @ A)[-1]
    wanted = proximal_gradient(quadratic(A, B), L1(5.0), start_of(A, B), tol=1e-9, max_iter=9999)
    smooth = quadratic(A, B, curvature=factor * true)
    solution = proximal_gradient(smooth, L1(5.0), start_of(A, B), tol=1e-9, max_iter=99999)
    assert solution.converged
    assert solution.objective_path[-1] == pytest.approx(wanted.objective_path[-1], rel=1e-8)


def test_an_unknown_curvature_is_found():
    A, B = regression(8)
    smooth = quadratic(A, B, curvature=0.0)
    solution = proximal_gradient(smooth, L1(5.0), start_of(A, B), tol=1e-6, max_iter=9999)
    assert solution.converged


def test_path_is_the_objective_of_each_step():
    A, B = regression(9)
    path = proximal_gradient(
        quadratic(A, B), L1(5.0), start_of(A, B), tol=0.0, max_iter=7
    ).objective_path
    assert len(path) == 8
    for steps in range(8):
        short = proximal_gradient(quadratic(A, B), L1(5.0), start_of(A, B), tol=0.0, max_iter=steps)
        assert not short.converged
        assert short.n_iter == steps
        assert path[steps] == pytest.approx(cost(A, B, L1(5.0), short.point), rel=1e-12)
    assert path[-1] < path[0]


def test_starting_at_the_solution_takes_no_step():
    A, B = regression(10)
    first = proximal_gradient(quadratic(A, B), L1(5.0), start_of(A, B), tol=1e-8, max_iter=9999)
    again = proximal_gradient(quadratic(A, B), L1(5.0), first.point, tol=1e-8)
    assert again.n_iter == 0
    assert again.converged
    np.testing.assert_array_equal(again.point, first.point)


def test_scale_says_what_the_tolerance_is_a_share_of():
    A, B = regression(11)
    loose = proximal_gradient(quadratic(A, B), L1(5.0), start_of(A, B), tol=1e-4, scale=1e4)
    tight = proximal_gradient(quadratic(A, B), L1(5.0), start_of(A, B), tol=1e-4, scale=1e-2)
    assert loose.gap <= 1.0
    assert tight.gap <= 1e-6
    assert loose.n_iter < tight.n_iter


def test_start_is_left_alone():
    A, B = regression(12)
    start = np.ones((20, 6))
    start.flags.writeable = False
    proximal_gradient(quadratic(A, B), L1(5.0), start)
    assert np.all(start == 1.0)


@pytest.mark.parametrize("restarts", [None, "never"], ids=["plain steps", "momentum"])
def test_momentum_with_restarts_is_faster_than(restarts):
    A, B = regression(13, n=120, d=100, t=2)
    smooth, penalty = quadratic(A, B), L1(1.0)
    fast = proximal_gradient(smooth, penalty, start_of(A, B), tol=1e-10, max_iter=99999)
    W = before = start_of(A, B)
    momentum = 1.0
    for _ in range(2 * fast.n_iter):
        after = (1 + np.sqrt(1 + 4 * momentum**2)) / 2 if restarts else 1.0
        P = W + (momentum - 1) / after * (W - before)
        step = P - (smooth.product(P) - smooth.linear) / smooth.curvature
        before, W, momentum = W, penalty.prox(step, 0.5 / smooth.curvature), after
    assert fast.converged
    assert optimality_gap(smooth, penalty, W, smooth.product(W)) > fast.gap
