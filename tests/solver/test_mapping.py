"""Stage 3 against Kronecker systems, scikit-learn's Lasso and plain proximal steps, on rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Lasso

from grople.solver import Embedding, MappingProblem
from tests.moments.test_moments import summary_of

FORMS = ["matrices", "rows"]
CONVEX = ["laplacian", "psd", None]


def data(seed=0, n=60, n_features=12, n_labels=6):
    """Features on the grid, so that moments are those of the rows to rounding."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_features)) * rng.uniform(0.5, 3.0, n_features) + 1.0
    X = np.rint(X * 1024) / 1024
    scores = X @ rng.standard_normal((n_features, n_labels)) + 2 * rng.standard_normal(n_labels)
    return X, (scores > 0).astype(int)


def embedded(n_labels, d=4):
    """Points that are correlated, some of them positively: a relation that matters."""
    rng = np.random.default_rng(7)
    W = rng.standard_normal((n_labels, d)) + rng.standard_normal((n_labels, 1))
    return Embedding(np.linalg.pinv(W), W, np.zeros(1), 0.0, 1, True)


def problem(X, B, form="matrices", weights=None, d=4, **options):
    moments = summary_of(X, B, weights, form).moments
    return MappingProblem(moments, embedded(B.shape[1], d), **options)


def parts(X, B, embedding, intercept, weights=None):
    """Rows as the problem sees them (√w on both sides)."""
    w = np.ones(len(X)) if weights is None else weights
    U = (2.0 * B - 1) @ embedding.W
    if intercept:
        X, U = X - w @ X / w.sum(), U - w @ U / w.sum()
    return np.sqrt(w)[:, None] * X, np.sqrt(w)[:, None] * U


def cost(X, U, Z, R, alpha, beta, gamma):
    return (
        np.square(X @ Z - U).sum()
        + alpha * np.trace(R @ Z.T @ Z)
        + gamma * np.square(Z).sum()
        + beta * np.abs(Z).sum()
    )


def relation(U, form):
    """R from the points themselves."""
    C = np.corrcoef(U.T) if form else np.zeros((U.shape[1], U.shape[1]))
    if form == "laplacian":
        A = np.maximum(C, 0.0) - np.diag(np.diagonal(np.maximum(C, 0.0)))
        return np.diag(A.sum(axis=1)) - A
    if form == "psd":
        values, vectors = np.linalg.eigh(1.0 - C)
        return vectors @ np.diag(np.maximum(values, 0.0)) @ vectors.T
    return C


@pytest.mark.parametrize("form", CONVEX)
def test_relation_is_that_of_the_points(form):
    X, B = data()
    found = problem(X, B, correlation=form)
    U = (2.0 * B - 1) @ found.embedding.W
    np.testing.assert_allclose(found.relation, relation(U, form), atol=1e-9)
    assert form is None or np.linalg.norm(found.relation) > 0.5
    assert np.linalg.eigvalsh(found.relation)[0] >= -1e-12


# β = 0: a linear system


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("correlation", CONVEX)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("alpha", "gamma"), [(0.0, 0.5), (3.0, 0.5), (1e3, 1e-3), (0.3, 1e3)])
@pytest.mark.parametrize("wide", [False, True])
def test_without_beta_it_is_the_kronecker_system(
    form, correlation, intercept, weighted, alpha, gamma, wide
):
    X, B = data(n=20, n_features=25) if wide else data()
    weights = np.random.default_rng(1).choice([0.25, 1.0, 4.0], len(X)) if weighted else None
    found = problem(X, B, form, weights, correlation=correlation, fit_intercept=intercept)
    solved = found.solve(alpha, 0.0, gamma, tol=1e-6)
    Xc, Uc = parts(X, B, found.embedding, intercept, weights)
    D, d = Xc.shape[1], Uc.shape[1]
    R = found.relation if correlation else np.zeros((d, d))
    # vec(XᵀXZ + αZR + γZ) = (I⊗XᵀX + αRᵀ⊗I + γI) vec(Z), columns stacked.
    system = np.kron(np.eye(d), Xc.T @ Xc + gamma * np.eye(D)) + alpha * np.kron(R.T, np.eye(D))
    expected = np.linalg.solve(system, (Xc.T @ Uc).ravel(order="F")).reshape(D, d, order="F")
    if form == "matrices" or wide:
        scale = np.abs(expected).max()
        np.testing.assert_allclose(solved.Z, expected, rtol=1e-6, atol=1e-7 * scale)
    # Kept rows that are more than features are solved by iterations: certified, not to rounding.
    costs = [cost(Xc, Uc, Z, R, alpha, 0.0, gamma) for Z in (solved.Z, expected)]
    assert abs(costs[0] - costs[1]) <= (solved.gap + 1e-9) * np.square(Uc).sum()
    assert solved.gap <= (0.0 if form == "matrices" or wide else 1e-5)
    assert (solved.n_iter, solved.converged) == (0, True)
    assert solved.Z.flags.c_contiguous
    w = np.ones(len(X)) if weights is None else weights
    middle = w @ ((2 * B - 1) @ found.embedding.W - X @ solved.Z) / w.sum()
    np.testing.assert_allclose(solved.intercept, middle if intercept else 0 * middle, atol=1e-4)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("gamma", [1e-12, 1e-16, 1e-40])
def test_few_rows_with_hardly_any_ridge(form, gamma):
    X, B = data(n=30, n_features=60)
    found = problem(X, B, form)
    Xc, Uc = parts(X, B, found.embedding, True)
    for alpha in (0.0, gamma):
        solved = found.solve(alpha, 0.0, gamma)
        np.testing.assert_allclose(Xc @ solved.Z, Uc, atol=1e-5)


def test_kept_rows_say_how_far_they_came_however_small_the_ridge():
    X, B = data(n=1500, n_features=300)
    for gamma in (1e-3, 1e-6, 1e-9):
        found = problem(X, B, "rows")
        solved = found.solve(0.0, 0.0, gamma)
        exact = problem(X, B).solve(0.0, 0.0, gamma)
        Xc, Uc = parts(X, B, found.embedding, True)
        costs = [cost(Xc, Uc, m.Z, found.relation, 0.0, 0.0, gamma) for m in (solved, exact)]
        assert (costs[0] - costs[1]) / np.square(Uc).sum() <= 1.1 * solved.gap + 1e-6
        assert solved.converged == (solved.gap <= 1e-3)


@pytest.mark.parametrize("form", FORMS)
def test_without_any_ridge_the_shortest_least_squares_map_is_taken(form):
    X, B = data(n=10, n_features=30)
    found = problem(X, B, form)
    Xc, Uc = parts(X, B, found.embedding, True)
    solved = found.solve(0.0, 0.0, 0.0)
    expected = np.linalg.pinv(Xc, rcond=1e-10) @ Uc
    np.testing.assert_allclose(solved.Z, expected, atol=1e-6)


# β > 0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("beta", [0.5, 20.0])
def test_with_beta_alone_it_is_lasso(form, intercept, beta):
    X, B = data()
    found = problem(X, B, form, fit_intercept=intercept)
    solved = found.solve(0.0, beta, 0.0, tol=1e-9, max_iter=20_000)
    assert solved.converged
    U = (2.0 * B - 1) @ found.embedding.W
    # Lasso divides the squares by 2n.
    lasso = Lasso(
        alpha=beta / (2 * len(X)), fit_intercept=intercept, tol=1e-12, max_iter=100_000
    ).fit(X, U)
    ours, theirs = (
        np.square(X @ Z + b - U).sum() + beta * np.abs(Z).sum()
        for Z, b in ((solved.Z, solved.intercept), (lasso.coef_.T, lasso.intercept_))
    )
    assert ours == pytest.approx(theirs, rel=1e-6)
    np.testing.assert_allclose(solved.intercept, lasso.intercept_, atol=1e-3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("correlation", CONVEX)
def test_with_every_term_it_is_a_long_plain_descent(form, correlation):
    X, B = data()
    alpha, beta, gamma = 2.0, 10.0, 0.5
    found = problem(X, B, form, correlation=correlation)
    solved = found.solve(alpha, beta, gamma, tol=1e-9, max_iter=20_000)
    Xc, Uc = parts(X, B, found.embedding, True)
    R = relation((2.0 * B - 1) @ found.embedding.W, correlation)
    H = Xc.T @ Xc + gamma * np.eye(12)
    step = 1.0 / (np.linalg.norm(H, 2) + alpha * np.linalg.norm(R, 2))
    Z = np.zeros_like(solved.Z)
    for _ in range(4000):
        Z = Z - step * (H @ Z + alpha * Z @ R - Xc.T @ Uc)
        Z = np.sign(Z) * np.maximum(np.abs(Z) - step * beta / 2, 0.0)
    best = cost(Xc, Uc, Z, R, alpha, beta, gamma)
    assert cost(Xc, Uc, solved.Z, R, alpha, beta, gamma) == pytest.approx(best, rel=1e-6)
    np.testing.assert_array_equal(solved.Z == 0, Z == 0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_gap_bounds_the_distance_to_the_minimum(tol, form):
    X, B = data(n=10, n_features=30)
    found = problem(X, B, form)
    exact = found.solve(1.0, 2.0, 0.1, tol=1e-12, max_iter=100_000)
    solved = found.solve(1.0, 2.0, 0.1, tol=tol)
    Xc, Uc = parts(X, B, found.embedding, True)
    costs = [cost(Xc, Uc, m.Z, found.relation, 1.0, 2.0, 0.1) for m in (solved, exact)]
    assert solved.converged
    assert solved.gap <= tol
    assert -1e-9 <= (costs[0] - costs[1]) / np.square(Uc).sum() <= solved.gap + 1e-9


def test_it_says_when_it_stopped_early():
    solved = problem(*data(n=10, n_features=30)).solve(1.0, 2.0, 0.0, tol=1e-12, max_iter=3)
    assert not solved.converged
    assert solved.n_iter == 3
    assert solved.gap > 1e-12


def test_a_large_beta_leaves_the_intercept_and_a_small_one_nothing_else():
    X, B = data()
    found = problem(X, B)
    solved = found.solve(0.1, 1e9, 1.0)
    assert not solved.Z.any()
    U = (2.0 * B - 1) @ found.embedding.W
    np.testing.assert_allclose(solved.intercept, U.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(
        found.solve(1.0, 1e-9, 0.5, tol=1e-12).Z, found.solve(1.0, 0.0, 0.5).Z, atol=1e-6
    )


@pytest.mark.parametrize("form", FORMS)
def test_warm_starts_reach_the_same_objective_in_fewer_steps(form):
    X, B = data(n=15, n_features=40)
    found = problem(X, B, form)
    Xc, Uc = parts(X, B, found.embedding, True)
    start, warm_steps, cold_steps = None, 0, 0
    for beta in np.geomspace(30.0, 3.0, 8):
        warm = found.solve(0.5, beta, 0.1, start=start, tol=1e-7, max_iter=50_000)
        cold = found.solve(0.5, beta, 0.1, tol=1e-7, max_iter=50_000)
        ours, theirs = (cost(Xc, Uc, m.Z, found.relation, 0.5, beta, 0.1) for m in (warm, cold))
        assert ours == pytest.approx(theirs, abs=2e-7 * np.square(Uc).sum())
        if start is not None:
            warm_steps, cold_steps = warm_steps + warm.n_iter, cold_steps + cold.n_iter
        start = warm.Z
        before = start.copy()
    assert warm_steps < cold_steps
    found.solve(0.5, 1.0, 0.1, start=start)
    np.testing.assert_array_equal(start, before)


# Intercept and odd features


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("beta", [0.0, 5.0])
def test_the_intercept_carries_no_penalty(form, beta):
    X, B = data()
    shift = np.random.default_rng(2).integers(-20, 20, X.shape[1])
    here = problem(X, B, form).solve(1.0, beta, 10.0, tol=1e-10, max_iter=9999)
    there = problem(X + shift, B, form).solve(1.0, beta, 10.0, tol=1e-10, max_iter=9999)
    np.testing.assert_allclose(
        X @ here.Z + here.intercept, (X + shift) @ there.Z + there.intercept, atol=2e-3
    )
    assert not problem(X, B, form, fit_intercept=False).solve(1.0, beta, 10.0).intercept.any()


@pytest.mark.parametrize("beta", [0.0, 1.0])
@pytest.mark.parametrize("form", FORMS)
def test_no_dimensions_left(beta, form):
    X, B = data()
    nothing = Embedding(np.zeros((0, 6)), np.zeros((6, 0)), np.zeros(1), 0.0, 1, True)
    solved = MappingProblem(summary_of(X, B, form=form).moments, nothing).solve(1.0, beta, 1.0)
    assert solved.Z.shape == (12, 0)
    assert solved.intercept.shape == (0,)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("beta", [0.0, 0.1])
@pytest.mark.parametrize("width", [5, 300])
def test_constant_features(form, beta, width):
    _, B = data()
    X = np.full((len(B), width), 0.1)
    solved = problem(X, B, form).solve(0.1, beta, 1.0)
    np.testing.assert_allclose(solved.Z, 0.0, atol=1e-9)
    solved = problem(0 * X, B, form, fit_intercept=False).solve(0.1, beta, 0.0)
    np.testing.assert_array_equal(solved.Z, 0.0)


def test_sparse_and_dense_rows_give_the_same_matrices():
    X, B = data()
    X[np.abs(X) < 0.8] = 0.0
    dense, sparse = (problem(held, B).solve(2.0, 5.0, 0.5, tol=1e-9) for held in (
        X, sp.csr_array(X)))  # fmt: skip
    np.testing.assert_allclose(dense.Z, sparse.Z, atol=1e-9)
