"""The stack: its weights against scikit-learn, what it joins, and what a fit makes of it."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from grople import GroPLE, load_model, save_model
from grople.datasets import make_grouped_multilabel
from grople.errors import ModelFileError
from grople.experts import Stack
from grople.experts._stack import fit_weights
from grople.metrics import example_f1


@pytest.fixture(scope="module")
def rings():
    """Labels by the distance from a centre, which no linear score sees."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    radius = np.abs(X[:, :2]).sum(axis=1)
    Y = np.c_[radius < 1, radius > 2, X[:, 2] > 0].astype(int)
    return X[:600], Y[:600], X[600:], Y[600:]


@pytest.fixture(scope="module")
def model(rings):
    return GroPLE(random_state=0).fit(*rings[:2])


def test_weights_are_those_of_logistic_regression():
    rng = np.random.default_rng(0)
    truth = rng.random(4000) < 0.4
    columns = [2 * truth + rng.normal(size=4000), truth + rng.normal(size=4000)]
    prior, times = rng.normal(size=4000) + truth, rng.integers(1, 4, 4000).astype(float)
    found = fit_weights(columns, prior, truth, times)
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    peer.fit(np.c_[columns[0], columns[1], prior], truth, sample_weight=times)
    np.testing.assert_allclose([*found.experts, found.prior], peer.coef_[0], rtol=1e-3)
    np.testing.assert_allclose(found.constant, peer.intercept_[0], rtol=1e-3)


def test_an_expert_that_misleads_has_no_weight():
    rng = np.random.default_rng(0)
    truth = rng.random(1000) < 0.5
    good = 2.0 * truth - 1 + rng.normal(size=1000)
    found = fit_weights([good, -truth.astype(float)], np.zeros(1000), truth, np.ones(1000))
    assert found.experts[1] == 0.0


def test_experts_see_what_linear_scores_cannot(rings, model):
    X, Y, X_test, Y_test = rings
    linear = GroPLE(experts=["linear"], random_state=0).fit(X, Y)
    gain = example_f1(Y_test, model.predict(X_test)) - example_f1(Y_test, linear.predict(X_test))
    assert gain > 0.1
    weights = {tried["expert"]: tried["weight"] for tried in model.selection_}
    assert weights["kernel"] + weights["forest"] > weights["linear"]
    assert {"expert", "log_loss", "weight", "seconds"} == set(model.selection_[0])


def test_linear_data_keep_the_linear_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 20))
    Y = (X @ rng.normal(size=(20, 6)) + 2 * rng.normal(size=(800, 6)) > 0).astype(int)
    model = GroPLE(random_state=0).fit(X, Y)
    assert [tried["weight"] > 0 for tried in model.selection_] == [True, False, False]
    assert not isinstance(model.fitted_model_.scorer, Stack)


def test_scores_are_log_odds_and_points_are_those_of_the_linear_expert(rings, model):
    X = rings[2]
    chance = model.predict_proba(X)
    assert (
        np.corrcoef(np.log(chance / (1 - chance)).ravel(), model.decision_function(X).ravel())[0, 1]
        > 0.9
    )
    linear = GroPLE(experts=["linear"], random_state=0).fit(*rings[:2])
    np.testing.assert_array_equal(model.transform(X), linear.transform(X))
    np.testing.assert_array_equal(model.coef_, linear.coef_)


def test_every_way_to_the_same_rows_leads_to_the_same_experts(rings, model):
    X, Y, X_test, _ = rings
    order = np.random.default_rng(1).permutation(600)
    other = GroPLE(random_state=0).fit(X[order[:400]], Y[order[:400]], like=model)
    other.partial_fit(X[order[300:]], Y[order[300:]])
    other.forget(X[order[300:400]], Y[order[300:400]])
    np.testing.assert_array_equal(model.decision_function(X_test), other.decision_function(X_test))
    np.testing.assert_array_equal(model.predict_proba(X_test), other.predict_proba(X_test))
    np.testing.assert_array_equal(model.predict(X_test), other.predict(X_test))


def test_rows_are_answered_one_by_one_as_in_company(rings, model):
    X = rings[2]
    together = model.predict_proba(X)
    for size in (1, 3, 33):
        alone = np.vstack([model.predict_proba(X[i : i + size]) for i in range(0, 99, size)])
        np.testing.assert_array_equal(alone, together[: len(alone)])


def test_files_hold_the_experts(rings, model, tmp_path):
    save_model(tmp_path / "model.grople", model)
    loaded = load_model(tmp_path / "model.grople")
    np.testing.assert_array_equal(loaded.predict_proba(rings[2]), model.predict_proba(rings[2]))
    assert loaded.selection_ == model.selection_


def test_a_forest_that_leads_in_circles_is_refused(rings, model, tmp_path):
    forest = next(e.scores for e in model.fitted_model_.scorer.experts if e.name == "forest")
    inner = int(np.flatnonzero(forest.left != np.arange(len(forest.left)))[-1])
    kept = forest.left[inner]
    forest.left[inner] = 0
    try:
        save_model(tmp_path / "model.grople", model)
    finally:
        forest.left[inner] = kept
    with pytest.raises(ModelFileError, match="nodes"):
        load_model(tmp_path / "model.grople")


def test_constant_labels_keep_their_score(rings):
    X, Y, X_test, _ = rings
    Y = np.c_[Y, np.zeros(600, int), np.ones(600, int)]
    model = GroPLE(random_state=0).fit(X, Y)
    assert isinstance(model.fitted_model_.scorer, Stack)
    predicted = model.predict(X_test)
    assert not predicted[:, 3].any()
    assert predicted[:, 4].all()


@pytest.mark.parametrize("experts", ["kernel", [], ["linear", "neighbours"], 3])
def test_other_experts_are_refused(experts):
    data = make_grouped_multilabel(120, random_state=0)
    with pytest.raises(ValueError, match="experts must be 'auto' or some of linear, kernel"):
        GroPLE(experts=experts).fit(data.X, data.Y)
