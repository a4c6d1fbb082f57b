"""PLST, CPLST, FaIE and Ridge against their N×N definitions, in both forms of the moments."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import Ridge as PeerRidge

from grople import summarise
from grople.baselines import CPLST, PLST, FaIE, Ridge

from .forms import FORMS, fitted, small_data

X, B = small_data(90, 25, 8, n_groups=3, seed=1)
Y = 2.0 * B - 1.0
MEAN = Y.mean(axis=0)
#: Both sides solve well-conditioned systems of a few dozen unknowns: rounding, with some room.
EXACT = {"rtol": 1e-8, "atol": 1e-9}
#: Conjugate gradients stop at a relative residual; directions of FaIE's code that carry little
#: converge to the square root of the tolerance.
CLOSE = {"rtol": 1e-5, "atol": 1e-6}
INTERCEPTS = [True, False, "penalised"]
MODELS = [
    Ridge(0.1), Ridge(100.0),
    PLST(1, 0.01), PLST(4, 3.0), PLST(8, 3.0),
    CPLST(1, 0.1), CPLST(3, 5.0), CPLST(8, 5.0),
    FaIE(1, 0.1, 1.0), FaIE(3, 1.0, 20.0), FaIE(8, 5.0, 0.5), FaIE(5, 0.5, 0.0),
]  # fmt: skip


def hat(features, ridge):
    """H, N×N."""
    inner = features.T @ features + ridge * np.eye(features.shape[1])
    return features @ np.linalg.solve(inner, features.T)


def leading(matrix, d):
    """The leading eigenvectors."""
    return np.linalg.eigh((matrix + matrix.T) / 2)[1][:, ::-1][:, :d]


def definition(model):
    """Scores of the training rows, and of the labels coded and decoded without a regression."""
    features = X - X.mean(axis=0) if model.fit_intercept is True else X
    seen = np.column_stack([np.ones(len(X)), X]) if model.fit_intercept == "penalised" else features
    H, labels, mean = hat(features, model.ridge), Y - MEAN, MEAN
    if isinstance(model, Ridge):
        decoded = labels
    elif isinstance(model, FaIE):
        if model.fit_intercept is not True:
            labels, mean = Y, 0.0
        U = leading(labels @ labels.T + model.alpha * H, model.n_components)
        decoded = U @ U.T @ labels
    else:
        squares = labels.T @ labels if isinstance(model, PLST) else labels.T @ H @ labels
        E = leading(squares, model.n_components)
        decoded = labels @ E @ E.T
    return hat(seen, model.ridge) @ decoded + mean, decoded + mean


@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_scores_follow_the_definition(form, model, fit_intercept):
    model.set_params(fit_intercept=fit_intercept, decision="sign")
    scores, approximated = definition(model)
    fitted(model, X, B, form)
    close = EXACT if form == "matrices" else CLOSE
    np.testing.assert_allclose(model.decision_function(X), scores, **close)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)
    assert model.ridge_ == model.ridge
    if hasattr(model, "transform"):
        np.testing.assert_allclose(model.approximate(X, B), approximated, **close)
        names = [f"{type(model).__name__.lower()}{i}" for i in range(model.n_components)]
        assert model.get_feature_names_out().tolist() == names
        offset = model.fitted_model_.scorer.offset
        decoded = model.transform(X) @ model.components_ + offset
        np.testing.assert_allclose(decoded, model.decision_function(X), **EXACT)


@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", [Ridge(1.0), PLST(4, 1.0), FaIE(4, 1.0, 2.0)], ids=str)
def test_weights_count_as_rows(model, form, fit_intercept):
    weights = (np.arange(len(X)) % 3 + 1.0) ** 2  # squares: their roots are on the grid
    repeated = np.repeat(np.arange(len(X)), weights.astype(int))
    model.set_params(fit_intercept=fit_intercept, decision="sign")
    expected = model.fit(X[repeated], B[repeated]).decision_function(X)
    found = fitted(model, X, B, form, weights).decision_function(X)
    np.testing.assert_allclose(found, expected, **CLOSE)


def test_peers_of_scikit_learn():
    weights = (np.arange(len(X)) % 7 + 1.0) ** 2 / 16
    peer = PeerRidge(alpha=2.0).fit(X, Y, weights)
    model = Ridge(2.0, decision="sign").fit(X, B, weights)
    np.testing.assert_allclose(model.coef_, peer.coef_, **EXACT)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, **EXACT)
    axes = TruncatedSVD(4, algorithm="arpack", random_state=0).fit(Y - MEAN).components_
    ours = PLST(4, 1.0, decision="sign").fit(X, B).components_
    np.testing.assert_allclose(ours.T @ ours, axes.T @ axes, **EXACT)


def test_a_singular_problem_has_the_solution_of_smallest_norm():
    twice = np.hstack([X, X])
    model = Ridge(0.0, decision="sign").fit(twice, B)
    peer = PeerRidge(alpha=1e-9, solver="svd").fit(twice, Y)
    # The peer's weight is not quite zero.
    np.testing.assert_allclose(model.decision_function(twice), peer.predict(twice), atol=1e-6)
    np.testing.assert_allclose(model.coef_[:, :25], model.coef_[:, 25:], atol=1e-9)


def test_large_systems_of_kept_rows_are_solved_to_four_digits(monkeypatch):
    exact = fitted(Ridge(1.0, decision="sign"), X, B, "rows").coef_
    monkeypatch.setattr("grople.baselines._design.LARGE_WORK", 0)
    narrow = fitted(Ridge(1.0, decision="sign"), X, B, "rows").coef_
    assert 0 < np.linalg.norm(narrow - exact) < 1e-3 * np.linalg.norm(exact)


def test_axes_of_cplst_minimise_the_errors_of_code_and_regression_together():
    features, labels = X - X.mean(axis=0), Y - MEAN

    def errors(E):
        Z = np.linalg.solve(features.T @ features + np.eye(25), features.T @ labels @ E)
        lost = np.square(labels - labels @ E @ E.T).sum()
        return lost + np.square(features @ Z - labels @ E).sum() + np.square(Z).sum()

    rng = np.random.default_rng(0)
    for d in (1, 2, 4):
        best = errors(CPLST(d, 1.0).fit(X, B).components_.T)
        assert best < errors(PLST(d, 1.0).fit(X, B).components_.T)
        assert best < min(errors(np.linalg.qr(rng.normal(size=(8, d)))[0]) for _ in range(20))


@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
def test_an_approximation_is_that_of_the_model_as_it_is_now(fit_intercept):
    model = FaIE(4, 1.0, 2.0, fit_intercept=fit_intercept, decision="sign")
    model.fit(X[:50], B[:50]).approximate(X, B)  # its code must not outlive it
    model.partial_fit(X[50:], B[50:])
    blocks = [model.approximate(X[rows], B[rows]) for rows in (slice(30), slice(30, None))]
    np.testing.assert_allclose(np.vstack(blocks), definition(model)[1], **EXACT)


def test_memory_of_faie_does_not_depend_on_the_rows():
    """An N×N matrix of these rows would take 20 GB."""
    rng = np.random.default_rng(0)
    n = 50_000
    summary = summarise(rng.normal(size=(n, 10)), rng.random((n, 6)) < 0.3, max_kept_rows=0)
    tracemalloc.start()
    FaIE(3, 1.0, decision="sign").fit_summary(summary)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6


def test_the_automatic_weight_is_found_by_leaving_one_row_out():
    """Generalised cross-validation stands for leaving one out: both must like similar weights."""
    chosen = PLST(8, decision="sign").fit(X, B).ridge_
    grid = 10.0 ** np.arange(-3, 4.5, 0.5)
    errors = []
    for ridge in grid:
        H = hat(X - X.mean(axis=0), ridge) + 1.0 / len(X)
        errors.append(np.square((Y - H @ Y) / (1 - np.diag(H))[:, None]).mean())
    best = grid[int(np.argmin(errors))]
    assert best / 4 < chosen < best * 4


def test_the_automatic_weight_follows_the_scale_of_the_features():
    plain, scaled = (Ridge(decision="sign").fit(s * X, B) for s in (1.0, 10.0))
    assert scaled.ridge_ == pytest.approx(100.0 * plain.ridge_)
    np.testing.assert_allclose(scaled.decision_function(10.0 * X), plain.decision_function(X))


def test_sizes_may_be_numbers_shares_or_automatic():
    for size, dimensions in ((3, 3), (0.3, 3), (1.0, 8), (500, 8), (1, 1)):
        model = PLST(size, 1.0, decision="sign").fit(X, B)
        assert model.components_.shape == (dimensions, 8)
        assert model.transform(X).shape == (len(X), dimensions)
    assert 1 <= len(PLST("auto", 1.0, decision="sign").fit(X, B).components_) <= 8
    for wrong in (0, 1.5, 0.0, "many", True):
        with pytest.raises(ValueError, match="n_components must be a whole number"):
            PLST(wrong).fit(X, B)
    with pytest.raises(ValueError, match="fit_intercept must be True or False, or 'penalised'"):
        PLST(fit_intercept="free").fit(X, B)


def test_labels_that_do_not_vary_have_constant_scores_and_no_part_in_the_rest():
    wide = np.column_stack([B, np.zeros(len(B), int), np.ones(len(B), int)])
    model = PLST(4, 1.0, decision="sign").fit(X, wide)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores[:, :8], PLST(4, 1.0).fit(X, B).decision_function(X), **EXACT)
    np.testing.assert_array_equal(scores[:, 8:], np.tile([-1.0, 1.0], (len(X), 1)))
    nothing = PLST(4, decision="sign").fit(X, wide[:, 8:])
    np.testing.assert_array_equal(nothing.predict(X), wide[:, 8:])
    assert nothing.transform(X).shape == (len(X), 0)
