"""The map moved by margins: against scikit-learn's SVMs, its own objective, and as an option."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from grople import GroPLE, GroPLECV, summarise
from grople.datasets import make_grouped_multilabel
from grople.metrics import example_f1
from grople.solver._margins import fit_margins

TIGHT = {"tol": 1e-10, "max_iter": 5000}


def _problem(n_rows, n_features, n_labels=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)) + rng.standard_normal(n_features)
    truth = X @ rng.standard_normal((n_features, n_labels))
    noisy = truth + np.std(truth) * rng.standard_normal(truth.shape)
    return X, (noisy > np.quantile(noisy, 0.7)).astype(int), rng


def _objective(X, B, w, V, Z, b, start, gamma):
    margins = np.where(B > 0, 1.0, -1.0) * ((X @ Z + b) @ V)
    loss = (w[:, None] * np.maximum(1.0 - margins, 0.0) ** 2).sum()
    return loss + gamma * (((Z - start) @ V) ** 2).sum()


@pytest.mark.parametrize(("n_rows", "n_features"), [(300, 20), (60, 200)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_from_zero_it_is_a_linear_svm_for_each_label(n_rows, n_features, weighted, form):
    X, B, rng = _problem(n_rows, n_features)
    w = rng.uniform(0.5, 2.0, n_rows) if weighted else None
    start = np.zeros((n_features, 5)), np.zeros(5)
    found = fit_margins(form(X), sp.csr_array(B), start, np.eye(5), gamma=2.0, weights=w, **TIGHT)
    scores = X @ found.Z + found.intercept
    for label in range(5):
        # C of the loss against half the squares; a large constant feature carries no penalty.
        svm = LinearSVC(C=0.25, dual=False, tol=1e-10, max_iter=100_000, intercept_scaling=1e3)
        svm.fit(X, B[:, label], sample_weight=w)
        # LIBLINEAR's intercept carries a millionth of the penalty, hence the tolerance.
        np.testing.assert_allclose(scores[:, label], svm.decision_function(X), atol=2e-5)


@pytest.mark.parametrize("n_features", [30, 120])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_direction_leads_further_down(n_features, fit_intercept):
    X, B, rng = _problem(80, n_features, n_labels=7, seed=1)
    V, w = rng.standard_normal((3, 7)), rng.uniform(0.5, 2.0, 80)
    start = 0.1 * rng.standard_normal((n_features, 3)), 0.1 * rng.standard_normal(3)
    found = fit_margins(
        X, sp.csr_array(B), start, V, gamma=3.0, weights=w, fit_intercept=fit_intercept, **TIGHT
    )
    if not fit_intercept:
        np.testing.assert_array_equal(found.intercept, start[1])

    def value(dZ, db):
        return _objective(X, B, w, V, found.Z + dZ, found.intercept + db, start[0], 3.0)

    least = value(0.0, 0.0)
    for _ in range(20):
        dZ, db = rng.standard_normal(found.Z.shape), rng.standard_normal(3) * fit_intercept
        # A central difference, small: across the kinks of the loss it is off by about its size.
        slope = (value(1e-6 * dZ, 1e-6 * db) - value(-1e-6 * dZ, -1e-6 * db)) / 2e-6
        assert abs(slope) < 1e-4 * least
        assert value(0.01 * dZ, 0.01 * db) > least


def test_rows_and_features_give_the_same():
    X, B, rng = _problem(60, 60, seed=2)
    start = 0.1 * rng.standard_normal((60, 5)), np.zeros(5)
    wide = np.hstack([X, np.zeros((60, 1))])  # one feature more than rows: solved among rows
    padded = np.vstack([start[0], np.zeros((1, 5))]), start[1]
    marks, V, w = sp.csr_array(B), rng.standard_normal((5, 5)), rng.uniform(1.0, 3.0, 60)
    few = fit_margins(X, marks, start, V, gamma=1.0, weights=w, **TIGHT)
    many = fit_margins(wide, marks, padded, V, gamma=1.0, weights=w, **TIGHT)
    np.testing.assert_allclose(many.Z[:60], few.Z, atol=1e-6)
    np.testing.assert_allclose(many.Z[60], 0.0, atol=1e-12)


def test_a_map_beyond_all_margins_stays():
    X, B = np.array([[-2.0], [2.0], [3.0]]), sp.csr_array([[0], [1], [1]])
    start = np.ones((1, 1)), np.zeros(1)
    found = fit_margins(X, B, start, np.eye(1), gamma=1.0)
    np.testing.assert_array_equal(found.Z, start[0])
    np.testing.assert_allclose(found.intercept, 0.0, atol=1e-15)


@pytest.mark.parametrize("n_features", [10, 200])
@pytest.mark.parametrize("offset", [1e5, 1e8])
def test_features_far_from_zero_are_no_obstacle(n_features, offset):
    X, B, _ = _problem(100, n_features)
    X[:, 0] = offset + 0.1
    X[:, 1] += offset / 1e3
    start = np.zeros((n_features, 5)), np.zeros(5)
    found = fit_margins(X, sp.csr_array(B), start, np.eye(5), gamma=1e-3)
    assert np.isfinite(found.Z).all()
    signs = np.where(B > 0, 1.0, -1.0)
    hinge = np.maximum(1.0 - signs * (X @ found.Z + found.intercept), 0.0) ** 2
    assert hinge.mean() < 0.9  # of scores that are all zero it is one


def test_rows_elsewhere_hold_the_intercept():
    X, B, _ = _problem(40, 3)
    start = np.zeros((3, 5)), np.full(5, 0.3)
    free, held = (
        fit_margins(X - X.mean(axis=0), sp.csr_array(B), start, np.eye(5), gamma=1.0,
                    elsewhere=rows, **TIGHT)
        for rows in (0.0, 1e9)
    )  # fmt: skip
    assert np.abs(free.intercept - 0.3).max() > 0.1
    np.testing.assert_allclose(held.intercept, 0.3, atol=1e-6)


# As an option of GroPLE


@pytest.mark.parametrize("width", [0, 1200])
def test_the_further_it_may_move_the_wider_the_margins(width):
    data = make_grouped_multilabel(300, random_state=0)
    X = sp.hstack([sp.csr_array(data.X), sp.csr_array((300, width))], format="csr")
    signs = 2.0 * data.Y.toarray() - 1.0
    losses = []
    for margin in (0.0, 0.1, 1.0, 10.0):
        model = GroPLE(margin=margin, decision="sign", gamma=5.0).fit(X, data.Y)
        assert model.summary_.grid.keeps_rows == bool(width)
        losses.append(float((np.maximum(1.0 - signs * model.decision_function(X), 0.0) ** 2).sum()))
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.9 * losses[0]


def test_it_pays_where_labels_are_clear():
    # Rows with a word for each of their labels, and many that mean nothing: what squares spend on
    # rows that are told apart already, margins spend on the others.
    rng = np.random.default_rng(0)
    Y = (rng.random((1200, 12)) < 0.15).astype(int)
    words = np.hstack([Y * rng.exponential(1.0, Y.shape), rng.exponential(0.3, (1200, 40))])
    X = sp.csr_array(words)
    plain, moved = (
        example_f1(
            Y[800:], GroPLE(margin=m, experts=["linear"]).fit(X[:800], Y[:800]).predict(X[800:])
        )
        for m in (0.0, 1.0)
    )
    assert moved > plain + 0.002


def test_it_needs_rows_and_a_ridge():
    data = make_grouped_multilabel(200, random_state=0)
    with pytest.raises(ValueError, match="learns from kept rows, and there are none"):
        GroPLE(margin=1.0).fit_summary(summarise(data.X, data.Y, max_kept_rows=0))
    with pytest.raises(ValueError, match="max_kept_rows above zero, or set margin=0"):
        GroPLE(margin=1.0, max_kept_rows=0).fit(data.X, data.Y)
    with pytest.raises(ValueError, match="set gamma above zero"):
        GroPLE(margin=1.0, gamma=0.0).fit(data.X, data.Y)
    with pytest.raises(ValueError, match="set gamma above zero"):
        GroPLECV(margin=1.0, gamma=[1.0, 0.0]).fit(data.X, data.Y)
    model = GroPLE(margin=1.0, max_kept_rows=1).fit(data.X, data.Y)
    assert model.predict(data.X).shape == data.Y.shape


def test_a_search_keeps_to_the_moments_and_the_model_has_margins():
    data = make_grouped_multilabel(200, random_state=0)
    search = GroPLECV(margin=1.0, alpha=0.1, gamma=[1.0, 10.0], cv=2).fit(data.X, data.Y)
    same = GroPLE(margin=1.0, **search.best_params_).fit(data.X, data.Y)
    np.testing.assert_array_equal(search.predict_proba(data.X), same.predict_proba(data.X))
