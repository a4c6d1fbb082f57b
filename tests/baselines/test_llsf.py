"""LLSF against plain proximal loops on the rows, and against scikit-learn's Lasso."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from grople.baselines import LLSF, Ridge

from .forms import FORMS, fitted, small_data

X, B = small_data(100, 15, 6, n_groups=2, seed=4)


def shrunk(W, threshold):
    return np.sign(W) * np.maximum(np.abs(W) - threshold, 0.0)


def laplacian(labels):
    """The Laplacian of the positive correlations of the label columns."""
    affinity = np.maximum(np.corrcoef(labels.T), 0.0)
    np.fill_diagonal(affinity, 0.0)
    return np.diag(affinity.sum(axis=1)) - affinity


def objective(W, b, R, alpha, beta, gamma):
    """The objective at the top of the module, in 0/1 labels."""
    error = np.square(X @ W + b - B).sum() / 2
    return (
        error
        + (alpha * np.trace(R @ W.T @ W) + gamma * np.square(W).sum()) / 2
        + (beta * np.abs(W).sum())
    )


@pytest.mark.parametrize(
    ("alpha", "beta", "gamma"), [(0.0, 0.5, 1.0), (2.0, 0.3, 0.1), (5.0, 2.0, 1.0), (1.0, 0.0, 2.0)]
)
def test_it_minimises_its_objective(alpha, beta, gamma):
    """A plain proximal loop on centred rows, run until nothing moves."""
    R = laplacian(B)
    features, labels = X - X.mean(axis=0), B - B.mean(axis=0)
    step = 1.0 / (np.linalg.norm(features, 2) ** 2 + alpha * np.linalg.norm(R, 2) + gamma)
    W = np.zeros((15, 6))
    for _ in range(5_000):
        gradient = features.T @ (features @ W - labels) + alpha * W @ R + gamma * W
        W = shrunk(W - step * gradient, step * beta)
    model = LLSF(alpha, beta, gamma, tol=1e-9, max_iter=20_000, decision="sign").fit(X, B)
    b = B.mean(axis=0) - X.mean(axis=0) @ W
    ours = objective(model.coef_.T / 2, (model.intercept_ + 1) / 2, R, alpha, beta, gamma)
    least = objective(W, b, R, alpha, beta, gamma)
    # Stopped at a certified 1e-9 of the targets' size.
    assert ours == pytest.approx(least, rel=1e-7)
    np.testing.assert_allclose(model.decision_function(X), 2 * (X @ W + b) - 1, atol=2e-3)


def test_without_correlation_and_squares_it_is_the_lasso():
    beta = 2.0
    peer = Lasso(alpha=beta / len(X), tol=1e-10, max_iter=100_000).fit(X, B)
    model = LLSF(0.0, beta, 0.0, tol=1e-9, max_iter=50_000, decision="sign").fit(X, B)
    np.testing.assert_allclose(model.coef_ / 2, peer.coef_, atol=2e-4)
    np.testing.assert_array_equal(np.abs(model.coef_) > 1e-6, np.abs(peer.coef_) > 1e-6)


def test_without_correlation_and_sparsity_it_is_a_ridge_regression():
    ours = LLSF(0.0, 0.0, 3.0, decision="sign").fit(X, B).decision_function(X)
    theirs = Ridge(3.0, decision="sign").fit(X, B).decision_function(X)
    np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)
    assert LLSF(0.0).fit(X, B).gamma_ == Ridge().fit(X, B).ridge_


def test_beta_selects_features_for_each_label():
    kept = [
        np.count_nonzero(LLSF(0.0, beta, 1.0, decision="sign").fit(X, B).coef_)
        for beta in (0.0, 1.0, 5.0, 1e4)
    ]
    assert kept[0] == 90
    assert kept[0] > kept[1] > kept[2] > kept[3] == 0


def published_on_rows(alpha, beta, gamma, max_iter=100):
    """The published scheme, written with the rows themselves."""
    lengths = np.linalg.norm(B, axis=0)
    R = 1.0 - (B.T @ B) / np.outer(lengths, lengths)
    lipschitz = np.sqrt(2 * (np.linalg.norm(X.T @ X, 2) ** 2 + np.linalg.norm(alpha * R, 2) ** 2))
    W = before = np.linalg.solve(X.T @ X + gamma * np.eye(X.shape[1]), X.T @ B)
    b = b_before = 1.0
    loss_before, steps = 0.0, 0
    for _ in range(max_iter):
        point = W + (b_before - 1) / b * (W - before)
        gradient = X.T @ (X @ point - B) + alpha * point @ R
        before, W = W, shrunk(point - gradient / lipschitz, beta / lipschitz)
        b_before, b = b, (1 + np.sqrt(1 + 4 * b**2)) / 2
        loss = np.square(X @ W - B).sum() + alpha * np.trace(R @ W.T @ W)
        loss += beta * np.count_nonzero(W)
        steps += 1
        if abs(loss_before - loss) <= 1e-4 or loss <= 0:
            break
        loss_before = loss
    return W, steps


@pytest.mark.parametrize(
    ("alpha", "beta", "gamma"),
    [(1e-4, 0.1, 0.1), (0.01, 1.0, 0.01), (10.0, 1e-4, 0.01), (1e3, 10.0, 0.1)],
)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:The published correlation term")
def test_the_published_scheme_needs_moments_only(alpha, beta, gamma, form):
    W, steps = published_on_rows(alpha, beta, gamma)
    model = LLSF(alpha, beta, gamma, correlation="published", fit_intercept=False, decision="sign")
    fitted(model, X, B, form)
    assert model.n_iter_ == steps
    # Kept rows estimate the largest eigenvalue, hence the step, to 1e-3 only if D > 256.
    np.testing.assert_allclose(model.coef_.T, 2 * W, rtol=1e-6, atol=1e-7)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, 2 * (X @ W) - 1, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(scores > 0, X @ W > 0.5)


def test_the_published_objective_is_said_to_have_no_minimum():
    model = LLSF(1e4, 1.0, 0.1, correlation="published", fit_intercept=False, decision="sign")
    with pytest.warns(UserWarning, match="unbounded below"):
        model.fit(X, B)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(alpha=0.0).fit(X, B)


@pytest.mark.filterwarnings("ignore:The published correlation term")
def test_the_published_scheme_with_an_intercept_centres_both_sides():
    settings = {"correlation": "published", "decision": "sign"}
    model = LLSF(0.01, 0.1, 0.1, fit_intercept=True, **settings).fit(X, B)
    shifted = LLSF(0.01, 0.1, 0.1, fit_intercept=True, **settings).fit(X + 3.0, B)
    np.testing.assert_allclose(
        model.decision_function(X), shifted.decision_function(X + 3.0), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(model.decision_function(X).mean(axis=0), 2 * B.mean(axis=0) - 1)


@pytest.mark.parametrize("correlation", ["laplacian", "psd", None])
def test_both_forms_of_the_moments_give_the_same_scores(correlation):
    model = LLSF(1.0, 0.2, 1.0, correlation=correlation, tol=1e-8, max_iter=10_000)
    scores = [fitted(model, X, B, form).decision_function(X) for form in FORMS]
    # Both stop at a certified 1e-8 of the targets' size, which leaves 1e-4 in single scores.
    np.testing.assert_allclose(*scores, atol=1e-3)


def test_an_unfinished_solution_is_announced():
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        LLSF(0.0, 1.0, 0.0, max_iter=1, tol=1e-12, decision="sign").fit(X, B)


def test_published_settings_are_found_by_name():
    model = LLSF.published("rcv1subset1")
    assert (model.alpha, model.beta, model.gamma) == (1e4, 10.0, 0.1)
    assert (model.correlation, model.fit_intercept) == ("published", False)
