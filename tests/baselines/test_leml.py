"""LEML: its objective, its optimality, its convex twin, and labels that are missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from grople import GroPLE
from grople.baselines import LEML
from grople.datasets import make_grouped_multilabel

from .forms import FORMS, fitted, small_data

X, B = small_data(90, 14, 7, n_groups=2, seed=5)
Y = 2.0 * B - 1.0
RNG = np.random.default_rng(0)
MISSING = RNG.random(B.shape) < 0.3
INCOMPLETE = np.where(MISSING, np.nan, B)
INTERCEPTS = [True, False, "penalised"]


def matrix(fit_intercept):
    """X̃ as a matrix."""
    features = X - X.mean(axis=0) if fit_intercept is True else X
    return np.column_stack([X, np.ones(len(X))]) if fit_intercept == "penalised" else features


def factors(model, fit_intercept):
    """X̃, W, H and what all rows score, of a fitted model."""
    scores = model.fitted_model_.scorer
    W = np.vstack([scores.Z, scores.b]) if fit_intercept == "penalised" else scores.Z
    return matrix(fit_intercept), W, scores.V, scores.offset


def objective(features, W, H, labels, ridge):
    value = np.square(labels - features @ W @ H).sum()
    return (value + ridge * (np.square(W).sum() + np.square(H).sum())) / 2


@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("init", ["spectral", "published"])
def test_the_objective_falls_with_every_round_and_is_what_it_says(fit_intercept, form, init):
    model = LEML(3, 2.0, init=init, fit_intercept=fit_intercept, decision="sign", random_state=0)
    fitted(model.set_params(tol=1e-12, max_iter=30), X, B, form)
    features, W, H, means = factors(model, fit_intercept)
    path = model.objective_path_
    assert np.all(np.diff(path) <= 1e-9 * path[0])
    assert path[-1] == pytest.approx(objective(features, W, H, Y - means, 2.0), rel=1e-8)
    np.testing.assert_allclose(means, Y.mean(axis=0) * (fit_intercept is True), atol=1e-12)
    if init == "published":
        assert model.n_iter_ == 10
    else:  # balanced
        np.testing.assert_allclose(W.T @ W, H @ H.T, atol=1e-8 * np.square(H).sum())


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


@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_incomplete_labels_are_fitted_to_a_stationary_point(fit_intercept, weighted, container):
    weights = (np.arange(len(X)) % 3 + 1.0) ** 2 if weighted else None
    model = LEML(
        3, 1.0, fit_intercept=fit_intercept, tol=1e-11, max_iter=2000, decision="sign"
    ).fit(container(X), INCOMPLETE, weights)
    path = model.objective_path_
    assert np.all(np.diff(path) <= 1e-9 * path[0])
    features, W, H, c = factors(model, fit_intercept)
    w = np.ones((len(X), 1)) if weights is None else weights[:, None]
    if fit_intercept is True and weighted:
        features = X - np.average(X, axis=0, weights=weights)
    errors = np.where(MISSING, 0.0, features @ W @ H + c - Y)
    value = (w * errors**2).sum() + np.square(W).sum() + np.square(H).sum()
    assert path[-1] == pytest.approx(value / 2, rel=1e-8)
    # Gradients: entries of ±1 labels over 90 rows sum to tens.
    assert np.abs(features.T @ (w * errors) @ H.T + W).max() < 2e-2
    assert np.abs((features @ W).T @ (w * errors) + H).max() < 2e-2
    if fit_intercept is True:
        assert np.abs((w * errors).sum(axis=0)).max() < 2e-2


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
    with pytest.raises(ValueError, match="must hold only zeros and ones"):
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
