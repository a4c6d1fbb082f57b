"""GroPLECV finds what a plain grid search finds, from fold moments."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold

from grople import GroPLE, GroPLECV
from grople.datasets import make_grouped_multilabel
from grople.metrics import accuracy, example_f1


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(400, 30, 10, n_groups=3, noise=0.2, random_state=0)


GRID = {"alpha": [0.0, 1.0, 30.0], "beta": [0.0, 1.0, 20.0], "gamma": [1.0, 50.0]}


@pytest.mark.filterwarnings("ignore:the embedding stopped")
def test_every_point_of_the_grid_scores_as_in_a_grid_search(data):
    folds = KFold(4, shuffle=True, random_state=1)
    base = GroPLE(decision="sign", tol=1e-6, max_iter=20, random_state=0)
    plain = GridSearchCV(base, GRID, scoring=make_scorer(accuracy), cv=folds).fit(data.X, data.Y)
    fast = GroPLECV(
        **GRID, decision="sign", scoring="accuracy", cv=folds, tol=1e-6, search_tol=1e-6,
        max_iter=20, random_state=0,
    ).fit(data.X, data.Y)  # fmt: skip
    theirs = {
        tuple(p[k] for k in GRID): s
        for p, s in zip(
            plain.cv_results_["params"], plain.cv_results_["mean_test_score"], strict=True
        )
    }
    ours = {
        tuple(p[k] for k in GRID): s
        for p, s in zip(
            fast.cv_results_["params"], fast.cv_results_["mean_test_score"], strict=True
        )
    }
    assert ours.keys() == theirs.keys()
    for setting, score in ours.items():
        # Scores agree to rounding, so at most a handful of 4,000 labels at zero may flip.
        assert score == pytest.approx(theirs[setting], abs=1e-3), setting
    assert fast.best_score_ == pytest.approx(plain.best_score_, abs=1e-3)


def test_the_final_model_is_that_of_the_best_setting(data):
    model = GroPLECV(**GRID, n_groups=[2, 3], cv=3, random_state=0).fit(data.X, data.Y)
    best = GroPLE(**model.best_params_, random_state=0).fit(data.X, data.Y)
    np.testing.assert_allclose(model.decision_function(data.X), best.decision_function(data.X))
    np.testing.assert_array_equal(model.predict(data.X).toarray(), best.predict(data.X).toarray())
    results = model.cv_results_
    assert len(results["params"]) == 36 == len(results["split2_test_score"])
    assert results["rank_test_score"][model.best_index_] == 1
    assert results["mean_test_score"].max() == model.best_score_


def test_its_estimate_is_close_to_the_truth(data):
    train, test = np.arange(400) < 300, np.arange(400) >= 300
    model = GroPLECV(alpha=0.1, beta=0.0, random_state=0).fit(data.X[train], data.Y[train])
    found = example_f1(data.Y[test], model.predict(data.X[test]))
    assert abs(model.best_score_ - found) < 0.06  # two deviations of a mean over 100 rows


@pytest.mark.parametrize("scoring", ["accuracy", "example_f1", "macro_f1", "micro_f1"])
def test_every_measure_can_be_searched_for(data, scoring):
    model = GroPLECV(
        alpha=[0.1, 1.0], beta=0.0, gamma=[1.0, 10.0], scoring=scoring, decision=scoring, cv=2,
        random_state=0,
    ).fit(data.X, data.Y)  # fmt: skip
    assert 0.3 < model.best_score_ < 1


def test_rows_can_be_added_after_the_search(data):
    model = GroPLECV(alpha=[0.1, 1.0], beta=0.0, gamma=1.0, cv=2, random_state=0)
    with pytest.raises(ValueError, match="fit first"):
        clone(model).partial_fit(data.X, data.Y).predict(data.X)
    model.fit(data.X[:300], data.Y[:300])
    chosen = dict(model.best_params_)
    model.partial_fit(data.X[300:], data.Y[300:])
    whole = GroPLE(**chosen, random_state=0).fit(data.X, data.Y)
    np.testing.assert_allclose(
        model.decision_function(data.X), whole.decision_function(data.X), atol=1e-6
    )


def test_large_folds_are_sampled(monkeypatch, data):
    import grople.judging

    whole = GroPLECV(alpha=0.1, beta=0.0, cv=2, random_state=0).fit(data.X, data.Y).best_score_
    monkeypatch.setattr(grople.judging, "MOST_SCORES", 10 * 100)
    part = GroPLECV(alpha=0.1, beta=0.0, cv=2, random_state=0).fit(data.X, data.Y).best_score_
    assert part != whole
    assert part == pytest.approx(whole, abs=0.1)


def test_wrong_values_in_a_grid_are_named(data):
    with pytest.raises(ValueError, match="each beta must be"):
        GroPLECV(beta=[0.0, -1.0]).fit(data.X, data.Y)
    with pytest.raises(ValueError, match="scoring"):
        GroPLECV(scoring="auc").fit(data.X, data.Y)
