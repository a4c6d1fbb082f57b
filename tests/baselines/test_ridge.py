"""The plain ridge on moments, and a penalised intercept."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge as PeerRidge

from grople.baselines import Ridge

from .forms import FORMS, fitted, small_data

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
def test_a_penalised_intercept_is_a_constant_feature(form, weighted):
    weights = (np.arange(len(X)) % 7 + 1.0) ** 2 / 16 if weighted else None
    model = fitted(Ridge(2.0, fit_intercept="penalised", decision="sign"), X, B, form, weights)
    w = np.ones(len(X)) if weights is None else weights
    wide = np.column_stack([X, np.ones(len(X))])
    mean = np.average(Y, axis=0, weights=w)
    inner = wide.T @ (w[:, None] * wide) + 2.0 * np.eye(21)
    Z = np.linalg.solve(inner, wide.T @ (w[:, None] * (Y - mean)))
    np.testing.assert_allclose(model.decision_function(X), wide @ Z + mean, rtol=1e-7, atol=1e-8)


def test_large_systems_of_kept_rows_are_solved_to_four_digits(monkeypatch):
    exact = fitted(Ridge(1.0, decision="sign"), X, B, "rows").coef_
    monkeypatch.setattr("grople.baselines._design.LARGE_WORK", 0)
    narrow = fitted(Ridge(1.0, decision="sign"), X, B, "rows").coef_
    assert 0 < np.linalg.norm(narrow - exact) < 1e-3 * np.linalg.norm(exact)


def test_the_automatic_weight_follows_the_scale_of_the_features():
    weight = Ridge(decision="sign").fit(X, B).ridge_
    assert Ridge(decision="sign").fit(10.0 * X, B).ridge_ == pytest.approx(100.0 * weight)
    scores = Ridge(decision="sign").fit(10.0 * X, B).decision_function(10.0 * X)
    np.testing.assert_allclose(Ridge().fit(X, B).decision_function(X), scores, **EXACT)
