"""GroPLECV finds what a plain grid search finds, from fold moments."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit

from grople import GroPLE, GroPLECV, Solver
from grople.datasets import make_grouped_multilabel
from grople.estimators import SEARCHED
from grople.metrics import accuracy, example_f1

GRID = {"alpha": [0.0, 1.0, 30.0], "beta": [0.0, 1.0, 20.0], "gamma": [1.0, 50.0]}


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(400, 30, 10, n_groups=3, noise=0.2, random_state=0)


def scores_of(search, names):
    results = search.cv_results_
    return {
        tuple(setting[name] for name in names): score
        for setting, score in zip(results["params"], results["mean_test_score"], strict=True)
    }


@pytest.mark.filterwarnings("ignore:the embedding stopped")
@pytest.mark.parametrize(
    ("grid", "solver"),
    [
        (GRID, Solver(tol=1e-6, max_iter=20)),
        ({"gamma": [1.0, 50.0], "lambda_2": [0.1, 30.0]}, Solver(max_iter=20, feature_weight=0.5)),
        ({"n_groups": [2, 10], "n_components": [3, 10]}, Solver(group_components=1, max_iter=20)),
    ],
    ids=["weights", "spaces", "groups"],
)
@pytest.mark.parametrize("wide", [False, True])
def test_every_point_of_the_grid_scores_as_in_a_grid_search(grid, solver, wide, data):
    X = data.X
    if wide:
        X = sp.hstack([sp.csr_array(X), sp.csr_array((400, 1200))], format="csr")
        grid = {name: values[:2] for name, values in grid.items()}
    folds = KFold(3, shuffle=True, random_state=1)
    settings = {"gamma": 5.0, "decision": "sign", "solver": solver, "experts": ["linear"]}
    base = GroPLE(**settings)
    plain = GridSearchCV(base, grid, scoring=make_scorer(accuracy), cv=folds).fit(X, data.Y)
    fast = GroPLECV(
        **({"alpha": 0.1} | settings | grid), scoring="accuracy", cv=folds, search_tol=1e-6
    ).fit(X, data.Y)
    ours, theirs = scores_of(fast, grid), scores_of(plain, grid)
    assert ours.keys() == theirs.keys()
    for setting, score in ours.items():
        # Scores agree to rounding, so at most a handful of 4,000 labels at zero may flip.
        assert score == pytest.approx(theirs[setting], abs=2e-3), setting
    assert fast.best_score_ == pytest.approx(plain.best_score_, abs=2e-3)


@pytest.mark.parametrize("grouping", ["spectral", "kmeans", [[0, 1, 2], [3, 4, 5, 6, 7, 8], [9]]])
def test_the_final_model_is_that_of_the_best_setting(grouping, data):
    model = GroPLECV(**GRID, n_groups=[2, 3], cv=3, grouping=grouping).fit(data.X, data.Y)
    best = GroPLE(**model.best_params_, grouping=grouping).fit(data.X, data.Y)
    assert set(model.best_params_) == set(SEARCHED)
    np.testing.assert_array_equal(model.predict_proba(data.X), best.predict_proba(data.X))
    results = model.cv_results_
    assert len(results["params"]) == 36 == len(results["split2_test_score"])
    assert results["rank_test_score"][model.best_index_] == 1
    assert results["mean_test_score"].max() == model.best_score_
    by_fold = [results[f"split{f}_test_score"] for f in range(3)]
    np.testing.assert_allclose(np.mean(by_fold, axis=0), results["mean_test_score"])


def test_its_estimate_is_close_to_the_truth(data):
    train, test = np.arange(400) < 300, np.arange(400) >= 300
    model = GroPLECV(alpha=0.1).fit(data.X[train], data.Y[train])
    found = example_f1(data.Y[test], model.predict(data.X[test]))
    assert abs(model.best_score_ - found) < 0.06  # two deviations of a mean over 100 rows


@pytest.mark.parametrize("scoring", ["accuracy", "example_f1", "macro_f1", "micro_f1"])
def test_every_measure_can_be_searched_for(data, scoring):
    model = GroPLECV(
        alpha=[0.1, 1.0], gamma=[1.0, 10.0], scoring=scoring, decision=scoring, cv=2
    ).fit(data.X, data.Y)
    assert 0.3 < model.best_score_ < 1


@pytest.mark.parametrize("weighted", [False, True])
def test_the_order_of_rows_changes_nothing(data, weighted):
    X, Y = data.X.toarray(), data.Y.toarray()
    X[300:], Y[300:350] = X[:100], Y[:50]  # copies, some with other labels
    weights = np.random.default_rng(0).choice([1.0, 0.5, 2.0], 400) if weighted else None
    order = np.random.default_rng(1).permutation(400)
    one = GroPLECV(gamma=["auto", 3.0], cv=3).fit(X, Y, weights)
    other = GroPLECV(gamma=["auto", 3.0], cv=3)
    other.fit(X[order], Y[order], None if weights is None else weights[order], like=one)
    assert one.best_params_ == other.best_params_
    for f in range(3):
        name = f"split{f}_test_score"
        np.testing.assert_array_equal(one.cv_results_[name], other.cv_results_[name])
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_rows_can_be_added_after_the_search(data):
    model = GroPLECV(alpha=[0.1, 1.0], gamma=1.0, cv=2)
    with pytest.raises(ValueError, match="call fit first"):
        clone(model).partial_fit(data.X, data.Y).predict(data.X)
    with pytest.raises(ValueError, match="searches on rows"):
        clone(model).fit_blocks([(data.X, data.Y)])
    model.fit(data.X[:300], data.Y[:300])
    chosen = dict(model.best_params_)
    model.partial_fit(data.X[300:], data.Y[300:])
    whole = GroPLE(**chosen).fit(data.X, data.Y, like=model)
    np.testing.assert_array_equal(model.predict_proba(data.X), whole.predict_proba(data.X))
    model.fit_blocks([(data.X[:200], data.Y[:200])], like=whole)
    part = GroPLE(**chosen).fit(data.X[:200], data.Y[:200], like=whole)
    np.testing.assert_array_equal(model.predict_proba(data.X), part.predict_proba(data.X))


def test_folds_given_by_row_number_leave_rows_without_weight_out(data):
    weights = np.where(np.arange(400) % 7, 1.0, 0.0)
    kept, number = np.flatnonzero(weights), np.arange(400) % 3
    listed = [(np.flatnonzero(number != f), np.flatnonzero(number == f)) for f in range(3)]
    expected = GroPLECV(alpha=[0.0, 1.0], cv=PredefinedSplit(number[kept])).fit(
        data.X[kept], data.Y[kept]
    )
    for cv in (PredefinedSplit(number), listed):
        found = GroPLECV(alpha=[0.0, 1.0], cv=cv).fit(data.X, data.Y, sample_weight=weights)
        assert found.best_score_ == expected.best_score_


def test_one_dimensional_targets_and_progress(data):
    y = np.array(["a", "b", "c"])[np.asarray(data.Y[:, :2].sum(axis=1)).astype(int)]
    told = []
    model = GroPLECV(alpha=[0.0, 1.0], cv=3)
    model.fit(data.X, y, progress=lambda *step: told.append(step))
    assert told[:3] == [("folds", 0, 3), ("folds", 1, 3), ("folds", 2, 3)]
    assert model.score(data.X, y) > 0.5
    assert 0.3 < model.best_score_ <= 1


def test_large_folds_are_sampled(monkeypatch, data):
    search = GroPLECV(alpha=0.1, cv=2)
    whole = search.fit(data.X, data.Y).best_score_
    monkeypatch.setattr("grople.estimators._search.MOST_SCORES", 10 * 100)
    part = search.fit(data.X, data.Y).best_score_
    assert part != whole
    assert part == pytest.approx(whole, abs=0.1)
