"""A batch of proximal problems has the solutions of its problems, certified one by one."""

from __future__ import annotations

import numpy as np
import pytest

from grople.arrays import to_numpy
from grople.optim import (
    L1,
    BatchedProblem,
    Spectrum,
    TwoSidedQuadratic,
    Weights,
    batched_proximal,
    block_proximal,
    blocks_of_rows,
)
from grople.optim.proximal import optimality_gap
from tests.places import place, places

SETTINGS = [
    (alpha, beta, gamma)
    for alpha in (0.0, 1.0, 100.0)
    for beta in (0.0, 1.0, 30.0, 1e5)
    for gamma in (0.5, 20.0)
]


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 15)) * rng.uniform(0.1, 5.0, 15)
    X[:, 3] = 0.0  # a constant feature
    U = X @ rng.normal(size=(15, 4)) + rng.normal(size=(80, 4))
    A = np.abs(np.corrcoef(U.T)) - np.eye(4)
    relation = np.diag(A.sum(axis=1)) - A
    return X.T @ X, relation, X.T @ U, float((U**2).sum())


def problem_at(where, parts, dtype=np.float64, settings=SETTINGS):
    gram, relation, linear, constant = parts
    moved = (part.astype(dtype) for part in (gram, relation, linear))
    if where is not None:
        moved = (where.array(part) for part in moved)
    return BatchedProblem(*moved, constant, Weights.of(settings))


def solved(problem, tol, max_iter=3000):
    spectra = Spectrum.of(problem.gram), Spectrum.of(problem.relation)
    start = problem.ridge_solutions(*spectra)
    return batched_proximal(problem, start, tol=tol, max_iter=max_iter, scale=problem.constant)


@pytest.mark.parametrize("library", ["numpy", *places()])
def test_every_problem_is_solved(parts, library):
    where = None if library == "numpy" else place(library)
    problem = problem_at(where, parts)
    found = solved(problem, tol=1e-10)
    assert found.converged.all()
    points = to_numpy(found.points)
    gram, relation, linear, constant = parts
    for s, (alpha, beta, gamma) in enumerate(SETTINGS):
        one = TwoSidedQuadratic(
            gram, relation, linear, constant, alpha, gamma, blocks_of_rows(gram)
        )
        smooth, W = one.smooth(), points[:, s]
        # The certificate of the other solver agrees with the one stopped on.
        gap = optimality_gap(smooth, L1(beta), W, smooth.product(W))
        assert gap == pytest.approx(found.gaps[s], rel=1e-6, abs=1e-9 * constant)
        best = block_proximal(one, L1(beta), np.zeros_like(W), tol=1e-12, scale=constant)
        # γ-strong convexity: a gap of g leaves √(g/γ) of the minimiser open, in either.
        slack = 2 * np.sqrt(1e-10 * constant / gamma)
        np.testing.assert_allclose(W, best.point, atol=slack)


def test_a_large_penalty_leaves_nothing_and_none_leaves_the_closed_form(parts):
    problem = problem_at(None, parts)
    found = solved(problem, tol=1e-10)
    gram, relation, linear, _ = parts
    for s, (alpha, beta, gamma) in enumerate(SETTINGS):
        W = found.points[:, s]
        if beta == 1e5:
            assert not W.any()
        if beta == 0:
            assert found.n_iter[s] == 0
            np.testing.assert_allclose(
                gram @ W + alpha * W @ relation + gamma * W, linear, atol=1e-8
            )


def test_single_precision_keeps_four_digits(parts):
    where = place("torch")
    wide, narrow = (
        solved(problem_at(where, parts, dtype), tol=1e-4) for dtype in (np.float64, np.float32)
    )
    assert narrow.converged.all()
    difference = to_numpy(wide.points) - to_numpy(narrow.points)
    assert np.abs(difference).max() < 1e-4 * np.abs(to_numpy(wide.points)).max()


def test_one_problem_is_a_batch_of_one(parts):
    whole = solved(problem_at(None, parts), tol=1e-8)
    for s in (3, 11):
        one = solved(problem_at(None, parts, settings=SETTINGS[s : s + 1]), tol=1e-8)
        np.testing.assert_allclose(one.points[:, 0], whole.points[:, s], atol=1e-12)
        assert one.n_iter[0] == whole.n_iter[s]


def test_steps_run_out(parts):
    problem = problem_at(None, parts)
    start = np.ones((15, len(SETTINGS), 4))
    found = batched_proximal(problem, start, tol=1e-12, max_iter=10, scale=problem.constant)
    assert not found.converged.all()
    assert (found.n_iter == 10).any()
    assert (found.gaps[~found.converged] > 1e-12 * problem.constant).all()
