"""LEML: its gradient, its objective, its convex twin, and labels that are missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from grople import GroPLE
from grople.baselines import LEML
from grople.baselines._design import Design
from grople.baselines._leml_factors import balanced, factorise, factorise_as_published
from grople.baselines._leml_rows import IncompleteLabels, ObservedRows, has_missing
from grople.datasets import make_grouped_multilabel

from .forms import FORMS, moments_of, small_data

X, B = small_data(90, 14, 7, n_groups=2, seed=5)
Y = 2.0 * B - 1.0
RNG = np.random.default_rng(0)
MISSING = RNG.random(B.shape) < 0.3
INCOMPLETE = np.where(MISSING, np.nan, B)
INTERCEPTS = [True, False, "penalised"]


def observed(labels=INCOMPLETE, fit_intercept=True, weights=None, rows=X):
    present = np.nan_to_num(labels)
    design = Design(moments_of(rows, present, weights), fit_intercept)
    return ObservedRows(design, rows, IncompleteLabels.of(labels), np.arange(7), weights)


def matrix(fit_intercept):
    """X̃ as a matrix."""
    features = X - X.mean(axis=0) if fit_intercept is True else X
    return np.column_stack([X, np.ones(len(X))]) if fit_intercept == "penalised" else features


def numerical_gradient(function, point, step=1e-6):
    gradient = np.zeros_like(point)
    for index in np.ndindex(point.shape):
        moved = point.copy()
        moved[index] += step
        up = function(moved)
        moved[index] -= 2 * step
        gradient[index] = (up - function(moved)) / (2 * step)
    return gradient


@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_the_gradient_is_that_of_finite_differences(fit_intercept, weighted, container):
    weights = np.linspace(0.2, 2.0, len(X)) if weighted else None
    problem = observed(INCOMPLETE, fit_intercept, weights, container(X))
    D = matrix(fit_intercept).shape[1]
    rng = np.random.default_rng(1)
    W, H = rng.normal(size=(D, 3)), rng.normal(size=(3, 7))
    c = rng.normal(size=7) if fit_intercept is True else np.zeros(7)
    # Central differences of a function that is quadratic in each factor are exact to rounding.
    close = {"rtol": 1e-5, "atol": 1e-5}
    by_map = numerical_gradient(lambda P: problem.objective(P, H, c, 0.7), W)
    np.testing.assert_allclose(problem.map_gradient(W, H, c, 0.7), by_map, **close)
    by_labels = numerical_gradient(lambda P: problem.objective(W, P, c, 0.7), H)
    gradient = problem.label_gradient(W, H, c, 0.7)
    np.testing.assert_allclose(gradient[:3], by_labels, **close)
    assert len(gradient) == (4 if fit_intercept is True else 3)
    if fit_intercept is True:
        by_constant = numerical_gradient(lambda p: problem.objective(W, H, p, 0.7), c)
        np.testing.assert_allclose(gradient[3], by_constant, **close)


@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
def test_the_objective_is_the_sum_over_observed_entries(fit_intercept):
    problem = observed(INCOMPLETE, fit_intercept)
    features = matrix(fit_intercept)
    rng = np.random.default_rng(2)
    W, H, c = rng.normal(size=(features.shape[1], 2)), rng.normal(size=(2, 7)), rng.normal(size=7)
    errors = np.where(MISSING, 0.0, Y - features @ W @ H - c)
    expected = (np.square(errors).sum() + 0.3 * (np.square(W).sum() + np.square(H).sum())) / 2
    assert problem.objective(W, H, c, 0.3) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("form", FORMS)
def test_the_objective_falls_with_every_round_and_is_what_it_says(fit_intercept, form):
    design = Design(moments_of(X, B, form=form), fit_intercept)
    features = matrix(fit_intercept)
    labels = Y - Y.mean(axis=0) if fit_intercept is True else Y
    for factors in (
        factorise(design, 3, 2.0, tol=1e-12, max_iter=30),
        factorise_as_published(design, 3, 2.0, random_state=0),
    ):
        path, W, H = factors.objective_path, factors.W, factors.H
        assert np.all(np.diff(path) <= 1e-9 * path[0])
        value = np.square(labels - features @ W @ H).sum()
        value += 2.0 * (np.square(W).sum() + np.square(H).sum())
        assert path[-1] == pytest.approx(value / 2, rel=1e-8)
    assert len(path) == 10


def nuclear_minimum(features, labels, ridge, steps=4_000):
    """Minimise ½‖Y − XZ‖² + λ‖Z‖_* by proximal gradient: the convex twin of LEML."""
    step = 1.0 / np.linalg.norm(features, 2) ** 2
    Z = np.zeros((features.shape[1], labels.shape[1]))
    for _ in range(steps):
        u, s, v = np.linalg.svd(
            Z - step * features.T @ (features @ Z - labels), full_matrices=False
        )
        Z = (u * np.maximum(s - step * ridge, 0.0)) @ v
    singular = np.linalg.svd(Z, compute_uv=False)
    return Z, np.square(labels - features @ Z).sum() / 2 + ridge * singular.sum()


@pytest.mark.parametrize("ridge", [2.0, 10.0])
def test_with_enough_dimensions_it_reaches_the_minimum_of_its_convex_twin(ridge):
    Z, least = nuclear_minimum(matrix(True), Y - Y.mean(axis=0), ridge)
    model = LEML(7, ridge, tol=1e-12, max_iter=1000, decision="sign").fit(X, B)
    assert model.objective_path_[-1] == pytest.approx(least, rel=1e-7)
    # Flat directions of the objective keep single weights from agreeing to more digits.
    np.testing.assert_allclose(model.coef_.T, Z, atol=1e-3)


def test_balancing_keeps_the_product_and_equalises_the_factors():
    rng = np.random.default_rng(3)
    W, H = rng.normal(size=(9, 4)), 7.0 * rng.normal(size=(4, 6))
    W_new, H_new = balanced(W, H)
    np.testing.assert_allclose(W_new @ H_new, W @ H, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(W_new.T @ W_new, H_new @ H_new.T, rtol=1e-10, atol=1e-10)
    nuclear = np.linalg.svd(W @ H, compute_uv=False).sum()
    assert np.square(W_new).sum() + np.square(H_new).sum() == pytest.approx(2 * nuclear)


@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
def test_rows_and_moments_agree_where_nothing_is_missing(fit_intercept):
    problem = observed(B, fit_intercept)
    by_moments = factorise(problem.design, 3, 1.0, tol=1e-12, max_iter=500)
    rng = np.random.default_rng(4)
    W = rng.normal(size=by_moments.W.shape)
    means = problem.design.shared_means
    W, H, c, path = problem.factorise(
        W, rng.normal(size=(3, 7)), means, 1.0, tol=1e-12, max_iter=500
    )
    assert np.all(np.diff(path) <= 1e-9 * path[0])
    # Two alternations with inexact steps, from different starts, of one objective.
    assert path[-1] == pytest.approx(by_moments.objective_path[-1], rel=1e-6)
    np.testing.assert_allclose(W @ H, by_moments.W @ by_moments.H, atol=5e-3)
    np.testing.assert_allclose(c, means, atol=1e-5)


@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
def test_incomplete_labels_are_fitted_to_a_stationary_point(fit_intercept):
    model = LEML(
        3, 1.0, fit_intercept=fit_intercept, tol=1e-11, max_iter=2000, decision="sign"
    ).fit(X, INCOMPLETE)
    path = model.objective_path_
    assert np.all(np.diff(path) <= 1e-9 * path[0])
    problem = observed(INCOMPLETE, fit_intercept)
    W, H = model.mapping_, model.components_
    if fit_intercept == "penalised":
        W = np.vstack([W, model.fitted_model_.scorer.b])
    c = model.fitted_model_.scorer.offset
    gradients = problem.map_gradient(W, H, c, 1.0), problem.label_gradient(W, H, c, 1.0)
    for gradient in gradients:
        assert np.abs(gradient).max() < 1e-2  # entries of ±1 labels over 90 rows sum to tens


def test_rows_without_any_known_label_teach_nothing():
    more = np.vstack([X, 5.0 * X[::-1]])
    unknown = np.vstack([INCOMPLETE, np.full_like(INCOMPLETE, np.nan)])
    settings = {"fit_intercept": False, "tol": 1e-12, "max_iter": 2000, "decision": "sign"}
    few = LEML(7, 3.0, **settings).fit(X, INCOMPLETE)
    many = LEML(7, 3.0, **settings).fit(more, unknown)
    # The starts differ, the minimum (a convex one, with all dimensions) does not.
    np.testing.assert_allclose(few.decision_function(X), many.decision_function(X), atol=5e-3)


def test_weights_of_rows_count_and_zero_weight_is_absence():
    weights = np.where(np.arange(len(X)) < 20, 0.0, 2.0)
    settings = {"tol": 1e-9, "max_iter": 500, "decision": "sign"}
    weighted = LEML(3, 2.0, **settings).fit(X, INCOMPLETE, weights)
    without = LEML(3, 1.0, **settings).fit(X[20:], INCOMPLETE[20:])
    # Twice the weight and twice λ are the same objective, doubled.
    np.testing.assert_allclose(
        weighted.decision_function(X), without.decision_function(X), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize(
    "container",
    [
        lambda labels: labels.tolist(),
        sp.csr_array,
        sp.coo_matrix,
        lambda labels: pd.DataFrame(labels, columns=list("abcdefg")),
        lambda labels: pd.DataFrame(labels, columns=list("abcdefg")).astype("Int64"),
        lambda labels: labels.astype(np.float32),
    ],
)
def test_missing_labels_come_in_any_container(container):
    expected = LEML(3, 1.0, max_iter=3, decision="sign").fit(X, INCOMPLETE)
    labels = container(INCOMPLETE)
    assert has_missing(labels)
    model = LEML(3, 1.0, max_iter=3, decision="sign").fit(X, labels)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-9)
    predicted = model.predict(X)
    assert predicted.shape == B.shape
    assert sp.issparse(predicted) == sp.issparse(labels)
    if hasattr(labels, "columns"):
        assert list(predicted.columns) == list("abcdefg") == list(model.label_names_in_)


def test_missing_labels_are_not_absent_labels():
    """On low-rank labels the left-out entries are guessed better than by calling them absent."""
    data = make_grouped_multilabel(600, 30, 12, n_groups=3, random_state=0)
    rows, truth = data.X.toarray(), data.Y.toarray()
    hidden = np.random.default_rng(0).random(truth.shape) < 0.6
    labels = np.where(hidden, np.nan, truth)
    absent = LEML(6, 5.0, decision="sign").fit(rows, np.nan_to_num(labels))
    missing = LEML(6, 5.0, decision="sign").fit(rows, labels)
    errors = [(model.predict(rows) != truth)[hidden].mean() for model in (missing, absent)]
    assert errors[0] < 0.8 * errors[1]


def test_a_decision_is_fitted_on_the_observed_entries_only():
    data = make_grouped_multilabel(300, 20, 8, n_groups=2, random_state=1)
    rows, truth = data.X.toarray(), data.Y.toarray()
    hidden = np.random.default_rng(1).random(truth.shape) < 0.5
    model = LEML(4, tol=1e-3, decision="micro_f1").fit(rows, np.where(hidden, np.nan, truth))
    counts = model.fitted_model_.evidence
    assert counts.shared[0].sum() == pytest.approx((~hidden).sum())
    np.testing.assert_allclose(counts.by_label[0].sum(axis=1), (~hidden).sum(axis=0))
    assert counts.shared[1].sum() == pytest.approx(truth[~hidden].sum())
    assert np.all(counts.by_label >= 0)
    chance = model.predict_proba(rows)
    assert chance.mean() == pytest.approx(truth.mean(), abs=0.05)


def test_incomplete_models_refuse_to_be_added_to_and_say_why():
    model = LEML(3, 1.0, decision="sign").fit(X, INCOMPLETE)
    before = model.decision_function(X)
    for change in (
        lambda: model.partial_fit(X, B),
        lambda: model.forget(X[:2], B[:2]),
        lambda: model.refit(ridge=2.0),
    ):
        with pytest.raises(ValueError, match="fit it again with all rows"):
            change()
    with pytest.raises(ValueError, match="in fit only"):
        LEML().partial_fit(X, INCOMPLETE)
    with pytest.raises(ValueError, match=r"zeros, ones and NaN .* but it holds 2"):
        model.fit(X, np.where(MISSING, np.nan, 2.0))
    np.testing.assert_array_equal(model.decision_function(X), before)
    model.fit(X, B).partial_fit(X, B)
    assert model.summary_.n_rows == 2 * len(X)
    assert model.fit(X, INCOMPLETE).summary_ is None
    with pytest.raises(ValueError, match=r"use grople\.baselines\.LEML"):
        GroPLE().fit(X, INCOMPLETE)


def test_labels_that_nobody_knows_are_never_given():
    labels = np.column_stack([INCOMPLETE, np.full(len(X), np.nan), np.zeros(len(X))])
    model = LEML(3, 1.0, decision="sign").fit(X, labels)
    assert np.all(model.decision_function(X)[:, 7:] == -1)


def test_the_published_start_is_random_and_seeded():
    settings = {"init": "published", "decision": "sign"}
    first, again, other = (
        LEML(3, 1.0, random_state=seed, **settings).fit(X, B).decision_function(X)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-6
    assert LEML.published("medical").ridge == 1.0


def test_the_automatic_weight_follows_the_scale_of_the_features():
    weight = LEML(3, decision="sign").fit(X, B).ridge_
    larger = LEML(3, decision="sign").fit(100.0 * X, B)
    assert larger.ridge_ == pytest.approx(100.0 * weight)
    assert larger.transform(100.0 * X).shape == (len(X), 3)
    assert larger.n_iter_ == len(larger.objective_path_)
