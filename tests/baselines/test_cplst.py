"""CPLST against its N×N definition."""

from __future__ import annotations

import numpy as np
import pytest

from grople.baselines import CPLST, PLST, Ridge

from .forms import FORMS, fitted, small_data

X, B = small_data(80, 30, 8, n_groups=3, seed=1)
Y = 2.0 * B - 1.0
MEAN = Y.mean(axis=0)
#: Both sides solve well-conditioned systems of a few dozen unknowns: rounding, with some room.
EXACT = {"rtol": 1e-8, "atol": 1e-9}


def hat(features, ridge):
    """H, N×N."""
    inner = features.T @ features + ridge * np.eye(features.shape[1])
    return features @ np.linalg.solve(inner, features.T)


def axes(H, d):
    centred = Y - MEAN
    return np.linalg.eigh(centred.T @ H @ centred)[1][:, ::-1][:, :d]


def project(features, ridge, E):
    """Scores of the training rows: the ridge regression of YcE, decoded."""
    return hat(features, ridge) @ (Y - MEAN) @ E @ E.T + MEAN


@pytest.mark.parametrize("d", [1, 3, 8])
@pytest.mark.parametrize("ridge", [0.1, 5.0])
def test_scores_follow_the_definition(d, ridge):
    centred = X - X.mean(axis=0)
    expected = project(centred, ridge, axes(hat(centred, ridge), d))
    model = CPLST(d, ridge, decision="sign").fit(X, B)
    np.testing.assert_allclose(model.decision_function(X), expected, **EXACT)


@pytest.mark.parametrize("d", [2, 5])
def test_as_published_the_hat_matrix_has_no_intercept_but_the_regression_has(d):
    constant = np.column_stack([np.ones(len(X)), X])
    expected = project(constant, 2.0, axes(hat(X, 2.0), d))
    model = CPLST(d, 2.0, fit_intercept="penalised", decision="sign").fit(X, B)
    np.testing.assert_allclose(model.decision_function(X), expected, **EXACT)


@pytest.mark.parametrize("fit_intercept", [True, False, "penalised"])
def test_both_forms_of_the_moments_give_the_same_scores(fit_intercept):
    model = CPLST(3, 2.0, fit_intercept=fit_intercept, decision="sign")
    scores = [fitted(model, X, B, form).decision_function(X) for form in FORMS]
    # Conjugate gradients stop at a relative residual of 1e-10.
    np.testing.assert_allclose(*scores, rtol=1e-6, atol=1e-7)


def test_its_axes_minimise_the_errors_of_code_and_regression_together():
    features, labels = X - X.mean(axis=0), Y - MEAN

    def errors(E):
        Z = np.linalg.solve(features.T @ features + np.eye(30), features.T @ labels @ E)
        lost = np.square(labels - labels @ E @ E.T).sum()
        return lost + np.square(features @ Z - labels @ E).sum() + np.square(Z).sum()

    rng = np.random.default_rng(0)
    for d in (1, 2, 4):
        best = errors(CPLST(d, 1.0).fit(X, B).components_.T)
        assert best < errors(PLST(d, 1.0).fit(X, B).components_.T)
        for _ in range(20):
            assert best < errors(np.linalg.qr(rng.normal(size=(8, d)))[0])


def test_with_all_dimensions_it_is_a_ridge_regression():
    scores = CPLST(8, 3.0).fit(X, B).decision_function(X)
    np.testing.assert_allclose(scores, Ridge(3.0).fit(X, B).decision_function(X), **EXACT)


def test_the_approximation_is_the_projection_on_the_axes():
    centred = X - X.mean(axis=0)
    E = axes(hat(centred, 1.0), 3)
    model = CPLST(3, 1.0).fit(X, B)
    np.testing.assert_allclose(model.approximate(X, B), (Y - MEAN) @ E @ E.T + MEAN, **EXACT)
    assert model.get_feature_names_out().tolist() == ["cplst0", "cplst1", "cplst2"]
