"""The plain ridge on moments, and the three intercepts that all baselines share."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge as PeerRidge

from grople import Moments
from grople.baselines import Ridge
from grople.baselines.design import Design, with_constant
from grople.datasets import make_grouped_multilabel

DATA = make_grouped_multilabel(120, 20, 6, n_groups=2, random_state=3)
X, B = DATA.X.toarray(), DATA.Y.toarray()
Y = 2.0 * B - 1.0
#: Both sides solve well-conditioned systems of a few dozen unknowns: rounding, with some room.
EXACT = {"rtol": 1e-8, "atol": 1e-9}


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_scikit_learns_ridge(ridge, weighted):
    weights = np.linspace(0.1, 2.0, len(X)) if weighted else None
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


@pytest.mark.parametrize("form", ["explicit", "implicit"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_feature_in_the_moments_is_one_in_the_rows(form, weighted):
    rows = sp.csr_array(X)
    weights = np.linspace(0.1, 2.0, len(X)) if weighted else None
    ours = with_constant(Moments.from_data(rows, B, weights, form=form))
    wide = sp.hstack([rows, np.ones((len(X), 1))], format="csr")
    expected = Moments.from_data(wide, B, weights, form=form)
    every = np.eye(21)
    np.testing.assert_allclose(ours.gram(every), expected.gram(every), **EXACT)
    np.testing.assert_allclose(ours.cross(np.eye(6)), expected.cross(np.eye(6)), **EXACT)
    np.testing.assert_allclose(ours.feature_sum, expected.feature_sum, **EXACT)
    np.testing.assert_allclose(ours.feature_squares, expected.feature_squares, **EXACT)


@pytest.mark.parametrize("form", ["explicit", "implicit"])
@pytest.mark.parametrize("fit_intercept", [True, False, "penalised"])
@pytest.mark.parametrize("scale", [False, True])
def test_a_design_is_its_matrix(form, fit_intercept, scale):
    design = Design(Moments.from_data(sp.csr_array(X), B, form=form), fit_intercept, scale)
    matrix = X - X.mean(axis=0) if fit_intercept is True else X
    if scale:
        matrix = matrix / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
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
    moments = Moments.from_data(X, B)
    by_factor = list(Design(moments).solutions(right, few))
    by_spectrum = list(Design(moments).solutions(right, many))[:2]
    for (ridge, ours), (same, theirs) in zip(by_factor, by_spectrum, strict=True):
        assert ridge == same
        np.testing.assert_allclose(ours, theirs, **EXACT)


def test_the_automatic_weight_follows_the_scale_of_the_features():
    weight = Ridge(decision="sign").fit(X, B).ridge_
    assert Ridge(decision="sign").fit(10.0 * X, B).ridge_ == pytest.approx(100.0 * weight)
    scores = Ridge(decision="sign").fit(10.0 * X, B).decision_function(10.0 * X)
    np.testing.assert_allclose(Ridge().fit(X, B).decision_function(X), scores, **EXACT)
