"""The plain ridge on moments, and the three intercepts that all baselines share."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge as PeerRidge

from grople.baselines import Ridge
from grople.baselines._design import Design, with_constant

from .forms import FORMS, moments_of, small_data

X, B = small_data(120, 20, 6, n_groups=2, seed=3)
Y = 2.0 * B - 1.0
#: Both sides solve well-conditioned systems of a few dozen unknowns: rounding, with some room.
EXACT = {"rtol": 1e-8, "atol": 1e-9}


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_scikit_learns_ridge(ridge, weighted):
    weights = (np.arange(len(X)) % 7 + 1.0) ** 2 / 16 if weighted else None
    peer = PeerRidge(alpha=ridge).fit(X, Y, weights)
    model = Ridge(ridge, decision="sign").fit(X, B, weights)
    np.testing.assert_allclose(model.decision_function(X), peer.predict(X), **EXACT)
    np.testing.assert_allclose(model.coef_, peer.coef_, **EXACT)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, **EXACT)


def test_a_singular_problem_has_the_solution_of_smallest_norm():
    twice = np.hstack([X, X])
    model = Ridge(0.0, decision="sign").fit(twice, B)
    peer = PeerRidge(alpha=1e-9, solver="svd").fit(twice, Y)
    # The peer's weight is not quite zero.
    np.testing.assert_allclose(model.decision_function(twice), peer.predict(twice), atol=1e-6)
    np.testing.assert_allclose(model.coef_[:, :20], model.coef_[:, 20:], atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_feature_in_the_moments_is_one_in_the_rows(form, weighted):
    weights = (np.arange(len(X)) % 7 + 1.0) ** 2 / 16 if weighted else None
    found = with_constant(moments_of(X, B, weights, form))
    expected = moments_of(np.column_stack([X, np.ones(len(X))]), B, weights, form)
    for centre in (True, False):
        for product in ("signed_cross", "gram_diagonal"):
            arguments = (np.eye(6), centre) if product == "signed_cross" else (centre,)
            np.testing.assert_allclose(
                getattr(found, product)(*arguments), getattr(expected, product)(*arguments), **EXACT
            )
    np.testing.assert_allclose(found.feature_sum, expected.feature_sum, **EXACT)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fit_intercept", [True, False, "penalised"])
def test_a_design_is_its_matrix(form, fit_intercept):
    design = Design(moments_of(X, B, form=form), fit_intercept)
    matrix = X - X.mean(axis=0) if fit_intercept is True else X
    if fit_intercept == "penalised":
        matrix = np.column_stack([matrix, np.ones(len(X))])
    labels = Y - Y.mean(axis=0)
    W = np.random.default_rng(0).normal(size=(6, 3))
    Z = np.random.default_rng(1).normal(size=(matrix.shape[1], 3))
    np.testing.assert_allclose(design.gram(Z), matrix.T @ matrix @ Z, **EXACT)
    np.testing.assert_allclose(design.cross(W), matrix.T @ labels @ W, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(design.sums, matrix.sum(axis=0), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(design.label_gram(), labels.T @ labels, **EXACT)
    scores = design.scores(Z, W.T, offset=np.arange(6.0))
    np.testing.assert_allclose(scores(X), matrix @ Z @ W.T + np.arange(6.0), rtol=1e-8, atol=1e-8)


def test_few_and_many_weights_are_solved_alike():
    """A Cholesky factor each, or one eigendecomposition for all."""
    right = np.random.default_rng(0).normal(size=(20, 4))
    few = [0.1, 10.0]
    many = [*few, *np.logspace(-3, 3, 20)]
    moments = moments_of(X, B)
    by_factor = list(Design(moments).solutions(right, few))
    by_spectrum = list(Design(moments).solutions(right, many))[:2]
    for (ridge, ours), (same, theirs) in zip(by_factor, by_spectrum, strict=True):
        assert ridge == same
        np.testing.assert_allclose(ours, theirs, **EXACT)


def test_large_systems_of_kept_rows_are_solved_to_four_digits(monkeypatch):
    design = Design(moments_of(X, B, form="rows"))
    right = design.cross(np.eye(6))
    ((_, exact),) = design.solutions(right, [1.0])
    monkeypatch.setattr("grople.baselines._design.LARGE_WORK", 0)
    ((_, narrow),) = design.solutions(right, [1.0])
    assert np.linalg.norm(narrow - exact) < 1e-3 * np.linalg.norm(exact)


def test_the_automatic_weight_follows_the_scale_of_the_features():
    weight = Ridge(decision="sign").fit(X, B).ridge_
    assert Ridge(decision="sign").fit(10.0 * X, B).ridge_ == pytest.approx(100.0 * weight)
    scores = Ridge(decision="sign").fit(10.0 * X, B).decision_function(10.0 * X)
    np.testing.assert_allclose(Ridge().fit(X, B).decision_function(X), scores, **EXACT)
