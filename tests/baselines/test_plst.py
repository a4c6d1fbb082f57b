"""PLST against a dense singular value decomposition and scikit-learn's ridge regression."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import Ridge as PeerRidge

from grople.baselines import PLST

from .forms import FORMS, fitted, small_data

X, B = small_data(150, 25, 9, n_groups=3, seed=0)
Y = 2.0 * B - 1.0
MEAN = Y.mean(axis=0)
#: Both sides solve well-conditioned systems of a few dozen unknowns: rounding, with some room.
EXACT = {"rtol": 1e-8, "atol": 1e-9}


def axes(d):
    """The leading right singular vectors of the centred labels."""
    return np.linalg.svd(Y - MEAN, full_matrices=False)[2][:d].T


@pytest.mark.parametrize("d", [1, 4, 9])
@pytest.mark.parametrize("ridge", [0.01, 3.0])
def test_scores_are_those_of_a_dense_decomposition_and_a_ridge_regression(d, ridge):
    E = axes(d)
    peer = PeerRidge(alpha=ridge).fit(X, (Y - MEAN) @ E)
    expected = peer.predict(X).reshape(len(X), -1) @ E.T + MEAN
    model = PLST(d, ridge, decision="sign").fit(X, B)
    np.testing.assert_allclose(model.decision_function(X), expected, **EXACT)
    np.testing.assert_array_equal(model.predict(X), expected > 0)


def test_axes_are_those_of_scikit_learns_truncated_svd():
    peer = TruncatedSVD(4, algorithm="arpack", random_state=0).fit(Y - MEAN)
    ours = PLST(4, 1.0, decision="sign").fit(X, B).components_
    np.testing.assert_allclose(ours.T @ ours, peer.components_.T @ peer.components_, **EXACT)


def test_the_published_intercept_is_a_penalised_constant_feature():
    E, ridge = axes(5), 2.0
    wide = np.column_stack([np.ones(len(X)), X])
    Z = np.linalg.solve(wide.T @ wide + ridge * np.eye(wide.shape[1]), wide.T @ (Y - MEAN) @ E)
    model = PLST(5, ridge, fit_intercept="penalised", decision="sign").fit(X, B)
    np.testing.assert_allclose(model.decision_function(X), wide @ Z @ E.T + MEAN, **EXACT)


def test_without_an_intercept_the_regression_goes_through_the_origin():
    E = axes(5)
    Z = np.linalg.solve(X.T @ X + 2.0 * np.eye(X.shape[1]), X.T @ (Y - MEAN) @ E)
    model = PLST(5, 2.0, fit_intercept=False, decision="sign").fit(X, B)
    np.testing.assert_allclose(model.decision_function(X), X @ Z @ E.T + MEAN, **EXACT)


@pytest.mark.parametrize("fit_intercept", [True, False, "penalised"])
def test_both_forms_of_the_moments_give_the_same_scores(fit_intercept):
    model = PLST(4, 2.0, fit_intercept=fit_intercept, decision="sign")
    scores = [fitted(model, X, B, form).decision_function(X) for form in FORMS]
    # Conjugate gradients stop at a relative residual of 1e-10.
    np.testing.assert_allclose(*scores, rtol=1e-7, atol=1e-8)


def test_the_published_intercept_counts_weights_in_both_forms():
    weights = (np.arange(len(X)) % 7 + 1.0) ** 2 / 16  # squares: their roots are on the grid
    repeated = np.repeat(np.arange(len(X)), 4)
    expected = PLST(4, 1.0, fit_intercept="penalised", decision="sign").fit(
        X[repeated], B[repeated], np.repeat(weights / 4, 4)
    )
    for form in FORMS:
        model = PLST(4, 1.0, fit_intercept="penalised", decision="sign")
        fitted(model, X, B, form, weights)
        np.testing.assert_allclose(
            model.decision_function(X), expected.decision_function(X), rtol=1e-7, atol=1e-8
        )


def test_the_automatic_weight_is_found_by_leaving_one_row_out():
    """Generalised cross-validation stands for leaving one out: both must like similar weights."""
    chosen = PLST(9, decision="sign").fit(X, B).ridge_
    grid = 10.0 ** np.arange(-3, 4.5, 0.5)
    errors = []
    for ridge in grid:
        centred = X - X.mean(axis=0)
        hat = centred @ np.linalg.solve(centred.T @ centred + ridge * np.eye(25), centred.T)
        hat += 1.0 / len(X)
        errors.append(np.square((Y - hat @ Y) / (1 - np.diag(hat))[:, None]).mean())
    best = grid[int(np.argmin(errors))]
    assert best / 4 < chosen < best * 4


def test_sizes_may_be_numbers_shares_or_automatic():
    for size, dimensions in ((3, 3), (0.3, 3), (1.0, 9), (500, 9), (1, 1)):
        model = PLST(size, 1.0, decision="sign").fit(X, B)
        assert model.components_.shape == (dimensions, 9)
        assert model.transform(X).shape == (len(X), dimensions)
        assert len(model.get_feature_names_out()) == dimensions
    assert 1 <= len(PLST("auto", 1.0, decision="sign").fit(X, B).components_) <= 9
    for wrong in (0, 1.5, 0.0, "many", True):
        with pytest.raises(ValueError, match="n_components must be a whole number"):
            PLST(wrong).fit(X, B)
    with pytest.raises(ValueError, match="fit_intercept must be True or False, or 'penalised'"):
        PLST(fit_intercept="free").fit(X, B)


def test_points_decode_to_the_scores():
    model = PLST(4, 1.0, decision="sign").fit(X, B)
    decoded = model.transform(X) @ model.components_ + MEAN
    np.testing.assert_allclose(decoded, model.decision_function(X), **EXACT)
    assert list(model.get_feature_names_out()) == ["plst0", "plst1", "plst2", "plst3"]


def test_the_approximation_is_the_projection_on_the_axes():
    E = axes(4)
    model = PLST(4, 1.0).fit(X, B)
    expected = (Y - MEAN) @ E @ E.T + MEAN
    np.testing.assert_allclose(model.approximate(X, B), expected, **EXACT)
    np.testing.assert_allclose(PLST(9, 1.0).fit(X, B).approximate(X, B), Y, **EXACT)


def test_labels_that_do_not_vary_have_constant_scores_and_no_part_in_the_rest():
    wide = np.column_stack([B, np.zeros(len(B), int), np.ones(len(B), int)])
    model = PLST(4, 1.0, decision="sign").fit(X, wide)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores[:, :9], PLST(4, 1.0).fit(X, B).decision_function(X), **EXACT)
    assert np.all(scores[:, 9] == -1)
    assert np.all(scores[:, 10] == 1)
    nothing = PLST(4, decision="sign").fit(X, wide[:, 9:])
    np.testing.assert_array_equal(nothing.predict(X), wide[:, 9:])
    assert nothing.transform(X).shape == (len(X), 0)


def test_published_settings_are_found_by_name():
    model = PLST.published("genbase-authors", ridge=5.0)
    assert (model.n_components, model.ridge) == (0.8, 5.0)
    assert (model.fit_intercept, model.decision) == ("penalised", "sign")
    with pytest.raises(ValueError, match="no published setting for 'iris'"):
        PLST.published("iris")
