"""FaIE against its N×N definition."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from grople import summarise
from grople.baselines import PLST, FaIE

from .forms import FORMS, fitted, small_data

X, B = small_data(80, 30, 8, n_groups=3, seed=2)
Y = 2.0 * B - 1.0
#: Both sides solve well-conditioned systems of a few dozen unknowns: rounding, with some room.
EXACT = {"rtol": 1e-8, "atol": 1e-9}
SETTINGS = [(1, 0.1, 1.0), (3, 1.0, 20.0), (8, 5.0, 0.5), (5, 0.5, 0.0)]


def hat(features, ridge):
    """H, N×N."""
    inner = features.T @ features + ridge * np.eye(features.shape[1])
    return features @ np.linalg.solve(inner, features.T)


def code(labels, features, d, ridge, alpha):
    """The leading eigenvectors of the N×N matrix."""
    matrix = labels @ labels.T + alpha * hat(features, ridge)
    return np.linalg.eigh((matrix + matrix.T) / 2)[1][:, ::-1][:, :d]


@pytest.mark.parametrize(("d", "ridge", "alpha"), SETTINGS)
def test_scores_follow_the_definition_with_everything_centred(d, ridge, alpha):
    mean = Y.mean(axis=0)
    features, labels = X - X.mean(axis=0), Y - mean
    U = code(labels, features, d, ridge, alpha)
    expected = hat(features, ridge) @ U @ U.T @ labels + mean
    model = FaIE(d, ridge, alpha, decision="sign").fit(X, B)
    np.testing.assert_allclose(model.decision_function(X), expected, **EXACT)
    np.testing.assert_allclose(model.approximate(X, B), U @ U.T @ labels + mean, **EXACT)


@pytest.mark.parametrize(("d", "ridge", "alpha"), SETTINGS)
def test_scores_follow_the_definition_as_published(d, ridge, alpha):
    U = code(Y, X, d, ridge, alpha)
    constant = np.column_stack([np.ones(len(X)), X])
    expected = hat(constant, ridge) @ U @ U.T @ Y
    model = FaIE(d, ridge, alpha, fit_intercept="penalised", decision="sign").fit(X, B)
    np.testing.assert_allclose(model.decision_function(X), expected, **EXACT)
    np.testing.assert_allclose(model.approximate(X, B), U @ U.T @ Y, **EXACT)


def test_scores_follow_the_definition_without_an_intercept():
    U = code(Y, X, 4, 1.0, 2.0)
    model = FaIE(4, 1.0, 2.0, fit_intercept=False, decision="sign").fit(X, B)
    np.testing.assert_allclose(model.decision_function(X), hat(X, 1.0) @ U @ U.T @ Y, **EXACT)


@pytest.mark.parametrize("fit_intercept", [True, False, "penalised"])
def test_an_approximation_is_that_of_the_model_as_it_is_now(fit_intercept):
    model = FaIE(4, 1.0, 2.0, fit_intercept=fit_intercept, decision="sign")
    model.fit(X[:50], B[:50]).approximate(X, B)  # its code must not outlive it
    model.partial_fit(X[50:], B[50:])
    fresh = FaIE(4, 1.0, 2.0, fit_intercept=fit_intercept, decision="sign").fit(X, B)
    np.testing.assert_allclose(model.approximate(X, B), fresh.approximate(X, B), **EXACT)
    blocks = [model.approximate(X[rows], B[rows]) for rows in (slice(30), slice(30, None))]
    np.testing.assert_allclose(np.vstack(blocks), fresh.approximate(X, B), **EXACT)


@pytest.mark.parametrize("fit_intercept", [True, False, "penalised"])
@pytest.mark.parametrize(("d", "ridge", "alpha"), SETTINGS)
def test_both_forms_of_the_moments_give_the_same_scores(d, ridge, alpha, fit_intercept):
    model = FaIE(d, ridge, alpha, fit_intercept=fit_intercept, decision="sign")
    scores = [fitted(model, X, B, form).decision_function(X) for form in FORMS]
    # Directions of the code that carry little converge to the square root of the tolerance.
    np.testing.assert_allclose(*scores, rtol=1e-5, atol=1e-6)


def test_without_regard_for_the_features_it_is_plst():
    scores = FaIE(4, 2.0, alpha=0.0).fit(X, B).decision_function(X)
    np.testing.assert_allclose(scores, PLST(4, 2.0).fit(X, B).decision_function(X), **EXACT)


def test_memory_does_not_depend_on_the_rows():
    """An N×N matrix of these rows would take 20 GB."""
    rng = np.random.default_rng(0)
    n = 50_000
    summary = summarise(rng.normal(size=(n, 10)), rng.random((n, 6)) < 0.3, max_kept_rows=0)
    tracemalloc.start()
    FaIE(3, 1.0, decision="sign").fit_summary(summary)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6
