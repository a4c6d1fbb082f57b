"""Stage 3 against Kronecker systems, scikit-learn's Lasso and plain proximal steps, on rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Lasso
from sklearn.preprocessing import StandardScaler

from grople import shifted as module
from grople.embedding import Embedding
from grople.mapping import MappingProblem, fit_mapping
from grople.moments import Moments
from grople.optim import conjugate_gradient
from grople.relation import correlation_matrix

FORMS = ["explicit", "implicit"]
CONVEX = ["laplacian", "psd", None]


def data(seed=0, n=60, n_features=12, n_labels=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_features)) * rng.uniform(0.5, 3.0, n_features) + 1.0
    scores = X @ rng.standard_normal((n_features, n_labels)) + 2 * rng.standard_normal(n_labels)
    return X, (scores > 0).astype(int)


def embedded(moments, d=4):
    """Points that are correlated, some of them positively: a relation that matters."""
    rng = np.random.default_rng(7)
    W = rng.standard_normal((moments.n_labels, d)) + rng.standard_normal((moments.n_labels, 1))
    return Embedding(np.linalg.pinv(W), W, np.zeros(1), 0.0, 1, True)


def problem(X, B, form="explicit", weights=None, d=4, **options):
    moments = Moments.from_data(X, B, weights, form=form)
    return MappingProblem(moments, embedded(moments, d), **options)


def parts(X, B, embedding, intercept, weights=None):
    """Rows as the problem sees them (√w on both sides), and its R."""
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


# The relation


@pytest.mark.parametrize("form", CONVEX)
def test_relation_is_that_of_the_points(form):
    X, B = data()
    found = problem(X, B, correlation=form)
    U = (2.0 * B - 1) @ found.embedding.W
    np.testing.assert_allclose(found.relation, relation(U, form), atol=1e-9)
    assert form is None or np.linalg.norm(found.relation) > 0.5


@pytest.mark.parametrize("form", ["laplacian", "psd"])
@pytest.mark.parametrize("seed", range(5))
def test_convex_relations_have_no_negative_eigenvalue(form, seed):
    U = np.random.default_rng(seed).standard_normal((20, 8)) @ np.random.default_rng(
        seed + 50
    ).standard_normal((8, 8))
    R = correlation_matrix(U.T @ U, form)
    np.testing.assert_allclose(R, R.T, atol=1e-12)
    assert np.linalg.eigvalsh(R)[0] >= -1e-12
    # Their trace says how unlike correlated dimensions are: nothing for equal maps.
    if form == "laplacian":
        Z = np.ones((3, 8))
        assert np.trace(R @ Z.T @ Z) == pytest.approx(0.0, abs=1e-9)


def test_the_published_relation_is_not_convex():
    U = np.random.default_rng(0).standard_normal((50, 5))
    C = np.corrcoef(U.T)
    assert np.linalg.eigvalsh(1.0 - C)[0] < -0.1


def test_points_without_spread_are_correlated_with_none():
    gram = np.array([[1.0, 0.0, 0.5], [0.0, 0.0, 0.0], [0.5, 0.0, 1.0]])
    expected = [[0.5, 0.0, -0.5], [0.0, 0.0, 0.0], [-0.5, 0.0, 0.5]]
    np.testing.assert_allclose(correlation_matrix(gram, "laplacian"), expected)
    values, vectors = np.linalg.eigh(np.array([[0, 1, 0.5], [1, 0, 1], [0.5, 1, 0]]))
    expected = (vectors * np.maximum(values, 0)) @ vectors.T
    np.testing.assert_allclose(correlation_matrix(gram, "psd"), expected, atol=1e-12)
    assert not correlation_matrix(gram, None).any()


def test_unknown_relation():
    X, B = data()
    with pytest.raises(ValueError, match="correlation must be one of"):
        problem(X, B, correlation="pearson")


# β = 0: a linear system


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("correlation", CONVEX)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("alpha", "gamma"), [(0.0, 0.5), (3.0, 0.5), (1e3, 1e-3), (0.3, 1e3)])
def test_without_beta_it_is_the_kronecker_system(
    form, correlation, intercept, weighted, alpha, gamma
):
    X, B = data()
    weights = np.random.default_rng(1).random(len(X)) + 0.1 if weighted else None
    found = problem(X, B, form, weights, correlation=correlation, fit_intercept=intercept)
    solved = found.solve(alpha, 0.0, gamma)
    Xc, Uc = parts(X, B, found.embedding, intercept, weights)
    D, d = Xc.shape[1], Uc.shape[1]
    R = found.relation if correlation else np.zeros((d, d))
    # vec(XᵀXZ + αZR + γZ) = (I⊗XᵀX + αRᵀ⊗I + γI) vec(Z), columns stacked.
    system = np.kron(np.eye(d), Xc.T @ Xc + gamma * np.eye(D)) + alpha * np.kron(R.T, np.eye(D))
    expected = np.linalg.solve(system, (Xc.T @ Uc).ravel(order="F")).reshape(D, d, order="F")
    scale = np.abs(expected).max()
    np.testing.assert_allclose(solved.Z, expected, rtol=1e-6, atol=1e-8 * scale)
    assert (solved.gap, solved.n_iter, solved.converged) == (0.0, 0, True)


@pytest.mark.parametrize("correlation", ["laplacian", "psd"])
@pytest.mark.parametrize("ratio", [1.5, 90.0, 1e4])
def test_nearby_shifts_and_the_spectrum_agree(correlation, ratio, monkeypatch):
    X, B = data()
    gamma = 0.5
    found = problem(X, B, correlation=correlation)
    alpha = gamma * (ratio - 1) / found.relation_spectrum.values[-1]
    nearby = found.solve(alpha, 0.0, gamma)
    assert ("gram_spectrum" in found.__dict__) == (ratio > module.NEARBY)
    monkeypatch.setattr(module, "NEARBY", 0.0)
    fresh = problem(X, B, correlation=correlation)
    exact = fresh.solve(alpha, 0.0, gamma)
    assert "gram_spectrum" in fresh.__dict__
    np.testing.assert_allclose(nearby.Z, exact.Z, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_few_rows_are_solved_in_their_own_space(scale, weighted, intercept, monkeypatch):
    X, B = data(n=40, n_features=90)
    weights = np.random.default_rng(1).random(40) + 0.1 if weighted else None
    settings = {"scale": scale, "fit_intercept": intercept}
    found = problem(X, B, "implicit", weights, **settings).solve(0.5, 0.0, 0.3)
    calls = []

    def counted(*args, **kwargs):
        calls.append(args)
        return conjugate_gradient(*args, **kwargs)

    monkeypatch.setattr(module, "conjugate_gradient", counted)
    again = problem(X, B, "implicit", weights, **settings).solve(0.5, 0.0, 0.3)
    np.testing.assert_array_equal(again.Z, found.Z)
    assert not calls
    monkeypatch.setattr(module, "FEW_ROWS", 0)
    by_products = problem(X, B, "implicit", weights, **settings).solve(0.5, 0.0, 0.3)
    assert calls
    # Products end at a residual of 1e-10 of right sides of some hundreds, over a shift of 0.3.
    np.testing.assert_allclose(found.Z, by_products.Z, atol=1e-6)
    np.testing.assert_allclose(found.intercept, by_products.intercept, atol=1e-6)


def test_more_rows_than_features_lose_no_digits():
    X, B = data(n=300, n_features=8)
    X = 1e5 * np.abs(X)
    found = problem(X, B, "implicit").solve(0.1, 0.0, 1.0)
    exact = problem(X, B).solve(0.1, 0.0, 1.0)
    # Products end at a residual of 1e-10; a singular matrix of rows would leave 1e-2.
    scale = np.abs(X @ exact.Z).max()
    np.testing.assert_allclose(X @ found.Z, X @ exact.Z, atol=1e-6 * scale)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_maps_lie_by_rows(form, alpha):
    X, B = data(n=10, n_features=30)
    assert problem(X, B, form).solve(alpha, 0.0, 1.0).Z.flags.c_contiguous


def test_more_features_than_rows():
    X, B = data(n=10, n_features=30)
    for form in FORMS:
        found = problem(X, B, form)
        solved = found.solve(0.5, 0.0, 1.0)
        Xc, Uc = parts(X, B, found.embedding, True)
        gradient = Xc.T @ (Xc @ solved.Z - Uc) + 0.5 * solved.Z @ found.relation + solved.Z
        np.testing.assert_allclose(gradient, 0.0, atol=1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_without_any_ridge_the_fit_is_least_squares(form):
    X, B = data(n=10, n_features=30)
    found = problem(X, B, form)
    solved = found.solve(0.0, 0.0, 0.0)
    Xc, Uc = parts(X, B, found.embedding, True)
    np.testing.assert_allclose(Xc @ solved.Z, Uc, atol=1e-5 * np.abs(Uc).max())


def test_without_any_ridge_the_shortest_map_is_taken():
    X, B = data(n=10, n_features=30)
    found = problem(X, B)
    Xc, Uc = parts(X, B, found.embedding, True)
    expected = np.linalg.pinv(Xc, rcond=1e-10) @ Uc
    np.testing.assert_allclose(found.solve(0.0, 0.0, 0.0).Z, expected, atol=1e-7)


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


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_gap_bounds_the_distance_to_the_minimum(tol):
    X, B = data(n=10, n_features=30)
    found = problem(X, B)
    exact = found.solve(1.0, 2.0, 0.1, tol=1e-12, max_iter=100_000)
    solved = found.solve(1.0, 2.0, 0.1, tol=tol)
    Xc, Uc = parts(X, B, found.embedding, True)
    costs = [cost(Xc, Uc, m.Z, found.relation, 1.0, 2.0, 0.1) for m in (solved, exact)]
    size = np.square(Uc).sum()
    assert solved.converged
    assert solved.gap <= tol
    assert -1e-9 <= (costs[0] - costs[1]) / size <= solved.gap + 1e-9


def test_it_says_when_it_stopped_early():
    X, B = data(n=10, n_features=30)
    solved = problem(X, B).solve(1.0, 2.0, 0.0, tol=1e-12, max_iter=3)
    assert not solved.converged
    assert solved.n_iter == 3
    assert solved.gap > 1e-12


def test_a_large_beta_leaves_the_intercept():
    X, B = data()
    found = problem(X, B)
    solved = found.solve(0.1, 1e9, 1.0)
    assert not solved.Z.any()
    U = (2.0 * B - 1) @ found.embedding.W
    np.testing.assert_allclose(solved.intercept, U.mean(axis=0), atol=1e-9)


def test_beta_goes_over_into_zero():
    X, B = data()
    found = problem(X, B)
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
        start = warm.viewed
        before = start.copy()
    assert warm_steps < cold_steps
    found.solve(0.5, 1.0, 0.1, start=start)
    np.testing.assert_array_equal(start, before)


# Forms, scale and intercept


@pytest.mark.parametrize("beta", [0.0, 5.0])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_both_forms_give_the_same_map(beta, scale, intercept):
    X, B = data()
    X[np.abs(X) < 0.8] = 0.0
    solved = [
        problem(held, B, form, scale=scale, fit_intercept=intercept).solve(
            2.0, beta, 0.5, tol=1e-12, max_iter=20_000
        )
        for held, form in [(X, "explicit"), (sp.csr_array(X), "explicit"), (X, "implicit")]
    ]
    for other in solved[1:]:
        np.testing.assert_allclose(other.Z, solved[0].Z, atol=1e-6)
        np.testing.assert_allclose(other.intercept, solved[0].intercept, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("beta", [0.0, 5.0])
def test_scaling_is_fitting_on_standardised_features(form, beta):
    X, B = data()
    X[:, 3] = 7.0  # a constant is left as it is
    standardised = StandardScaler().fit_transform(X)
    scaled = problem(X, B, form, scale=True).solve(1.0, beta, 0.5, tol=1e-10, max_iter=9999)
    plain = problem(standardised, B, form).solve(1.0, beta, 0.5, tol=1e-10, max_iter=9999)
    np.testing.assert_allclose(
        X @ scaled.Z + scaled.intercept, standardised @ plain.Z + plain.intercept, atol=1e-5
    )
    np.testing.assert_allclose(scaled.viewed, plain.Z, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("beta", [0.0, 5.0])
def test_the_intercept_carries_no_penalty(form, beta):
    X, B = data()
    shift = np.random.default_rng(2).uniform(-20, 20, X.shape[1])
    here = problem(X, B, form).solve(1.0, beta, 10.0, tol=1e-10, max_iter=9999)
    there = problem(X + shift, B, form).solve(1.0, beta, 10.0, tol=1e-10, max_iter=9999)
    np.testing.assert_allclose(
        X @ here.Z + here.intercept, (X + shift) @ there.Z + there.intercept, atol=1e-5
    )
    none = problem(X, B, form, fit_intercept=False).solve(1.0, beta, 10.0)
    assert not none.intercept.any()


@pytest.mark.parametrize("correlation", CONVEX)
def test_one_call_equals_the_problem(correlation):
    X, B = data()
    moments = Moments.from_data(X, B)
    embedding = embedded(moments)
    options = {"correlation": correlation, "fit_intercept": False, "scale": True}
    once = fit_mapping(moments, embedding, alpha=0.5, beta=1.0, gamma=0.3, **options)
    again = MappingProblem(moments, embedding, **options).solve(0.5, 1.0, 0.3)
    np.testing.assert_array_equal(once.Z, again.Z)


@pytest.mark.parametrize("beta", [0.0, 1.0])
@pytest.mark.parametrize("form", FORMS)
def test_no_dimensions_left(beta, form):
    X, B = data()
    moments = Moments.from_data(X, B, form=form)
    nothing = Embedding(np.zeros((0, 6)), np.zeros((6, 0)), np.zeros(1), 0.0, 1, True)
    solved = MappingProblem(moments, nothing).solve(1.0, beta, 1.0)
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


# The published form


def test_published_form_warns_where_it_is_unbounded():
    X, B = data(n=10, n_features=30)
    with pytest.warns(UserWarning, match="unbounded below"):
        problem(X, B, correlation="published", fit_intercept=False).solve(10.0, 0.1, 0.0)


def test_published_form_is_silent_where_it_is_convex():
    X, B = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem(X, B, correlation="published", fit_intercept=False).solve(1e-6, 0.1, 0.0)


def test_published_form_needs_the_matrix():
    X, B = data()
    with pytest.raises(ValueError, match="needs explicit moments"):
        problem(X, B, "implicit", correlation="published").solve(1.0, 1.0, 0.0)
