"""A model is a function of the set of rows it knows, to the last bit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from grople import GroPLE, summarise
from grople.datasets import make_grouped_multilabel
from grople.moments import Grid

from .estimators import moment_estimators, name_of, row_estimators

streaming = pytest.mark.parametrize("estimator", moment_estimators(), ids=name_of)
#: Hypothesis draws the data; what the fixture sets holds for all draws.
few_draws = settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

DATA = make_grouped_multilabel(90, 20, 7, n_groups=3, random_state=1)
X, Y = DATA.X.toarray(), DATA.Y.toarray()


@pytest.fixture(params=["matrices", "rows"])
def rows(request, monkeypatch):
    """Return the features so that moments are matrices, or kept rows."""
    if request.param == "matrices":
        return X
    monkeypatch.setattr("grople.moments._grid.MANY_FEATURES", 0)
    monkeypatch.setattr("grople.moments._grid.SMALL_SHARE", np.inf)
    monkeypatch.setattr("grople.baselines._linear.MATRIX_FEATURES", 0)
    return sp.csr_array(X)


def assert_same(model, other, rows):
    """Two models answer alike, whatever they are asked."""
    np.testing.assert_array_equal(model.decision_function(rows), other.decision_function(rows))
    np.testing.assert_array_equal(model.predict_proba(rows), other.predict_proba(rows))
    np.testing.assert_array_equal(model.predict(rows), other.predict(rows))


def blocks(cuts):
    edges = [0, *sorted(cuts), len(X)]
    return [slice(a, b) for a, b in pairwise(edges) if b > a]


@streaming
@few_draws
@given(cuts=st.lists(st.integers(1, len(X) - 1), max_size=4), seed=st.integers(0, 99))
def test_no_order_and_no_cut_into_blocks_shows(estimator, rows, cuts, seed):
    order = np.random.default_rng(seed).permutation(len(X))
    whole = clone(estimator).fit(rows, Y)
    model = clone(estimator)
    parts = [(rows[order[block]], Y[order[block]]) for block in blocks(cuts)]
    model.fit_blocks(parts, like=whole)
    assert_same(model, whole, rows)
    model.fit(*parts[0], like=whole)
    for part in parts[1:]:
        model.partial_fit(*part)
    assert_same(model, whole, rows)
    assert model.summary_.checksum() == whole.summary_.checksum()


@streaming
@few_draws
@given(removed=st.sets(st.integers(0, len(X) - 1), min_size=1, max_size=60))
def test_forgetting_equals_never_having_seen(estimator, rows, removed):
    gone = np.array(sorted(removed))
    kept = np.setdiff1d(np.arange(len(X)), gone)
    model = clone(estimator).fit(rows, Y).forget(rows[gone], Y[gone])
    fresh = clone(estimator).fit(rows[kept], Y[kept], like=model)
    assert_same(model, fresh, rows)
    assert model.forgetting_report()["checksum_after"] == fresh.summary_.checksum()


@streaming
def test_weighted_rows_are_added_and_forgotten(estimator, rows):
    weights = np.linspace(0.5, 2.0, len(X))
    model = clone(estimator).fit(rows[:50], Y[:50], sample_weight=weights[:50])
    model.partial_fit(rows[50:], Y[50:], sample_weight=weights[50:])
    model.forget(rows[:20], Y[:20], sample_weight=weights[:20])
    fresh = clone(estimator).fit(rows[20:], Y[20:], sample_weight=weights[20:], like=model)
    assert_same(model, fresh, rows)


@streaming
def test_a_label_first_seen_later_is_added_exactly(estimator, rows):
    wide = Y.copy()
    wide[:40, 5:] = 0
    whole = clone(estimator).fit(rows, wide)
    model = clone(estimator).fit(rows[:40], wide[:40, :5], like=whole)
    assert_same(model.partial_fit(rows[40:], wide[40:]), whole, rows)


@streaming
def test_labels_are_known_by_their_names(estimator, rows):
    if estimator.decision == 0.0:
        pytest.skip("the published start is random, a number for each label")
    weight = "gamma" if hasattr(estimator, "gamma") else "ridge"
    # Chosen automatically, it is by random combinations of labels.
    estimator = clone(estimator).set_params(**{weight: 1.0})
    wide = Y.copy()
    wide[:40, 5:] = 0
    names = [f"t{i}" for i in range(wide.shape[1])]
    frame = pd.DataFrame(wide, columns=names)
    whole = clone(estimator).fit(rows, frame)
    model = clone(estimator).fit(rows[:40], frame.iloc[:40, :5], like=whole)
    model.partial_fit(rows[40:], frame.iloc[40:, ::-1])
    assert list(model.label_names_in_[:5]) == names[:5]
    position = [names.index(name) for name in model.label_names_in_]
    np.testing.assert_allclose(  # sums over labels in another order
        model.decision_function(rows), whole.decision_function(rows)[:, position], atol=1e-5
    )


@streaming
def test_labels_may_be_declared_beforehand(estimator, rows):
    model = clone(estimator).partial_fit(rows[:0], Y[:0], classes=7)
    assert_same(model.partial_fit(rows, Y), clone(estimator).fit(rows, Y), rows)


@streaming
def test_rows_never_added_are_refused_and_the_model_stays(estimator, rows):
    model = clone(estimator).fit(rows, Y)
    before = model.decision_function(rows)
    for strange in (rows[:1] * 0.5, rows[:1] + rows[1:2]):
        with pytest.raises(ValueError, match="cannot remove"):
            model.forget(strange, Y[:1])
    with pytest.raises(ValueError, match="cannot remove"):
        model.forget(rows[:1], 1 - Y[:1])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(rows[:, :3], Y)
    np.testing.assert_array_equal(model.decision_function(rows), before)
    model.forget(rows[:2], Y[:2]).partial_fit(rows[:2], Y[:2])
    np.testing.assert_array_equal(model.decision_function(rows), before)


@streaming
def test_forgetting_everything_leaves_a_model_that_says_so(estimator, rows):
    whole = clone(estimator).fit(rows, Y)
    model = clone(estimator).fit(rows, Y).forget(rows, Y)
    with pytest.raises(ValueError, match="no rows are left"):
        model.predict(rows)
    assert_same(model.partial_fit(rows, Y), whole, rows)


@streaming
def test_refit_learns_from_the_same_rows(estimator, rows):
    ridge = "gamma" if hasattr(estimator, "gamma") else "ridge"
    model = clone(estimator).fit(rows, Y).refit(**{ridge: 7.0})
    other = clone(estimator).set_params(**{ridge: 7.0}).fit(rows, Y)
    assert_same(model, other, rows)
    with pytest.raises(ValueError, match=ridge):
        model.refit(**{ridge: -1.0})
    assert_same(model, other, rows)


@streaming
def test_summaries_made_elsewhere_give_the_same_model(estimator, rows):
    grid = Grid.of(rows)
    summary = summarise(rows[30:], Y[30:], grid=grid) + summarise(rows[:30], Y[:30], grid=grid)
    model = clone(estimator).fit_summary(summary)
    assert_same(model, clone(estimator).fit(rows, Y), rows)
    with pytest.raises(ValueError, match="no rows"):
        clone(estimator).fit_summary(summary - summary)


@pytest.mark.parametrize("estimator", [*moment_estimators(), *row_estimators()], ids=name_of)
def test_a_row_is_answered_alike_with_any_others(estimator, rows):
    model = clone(estimator).fit(rows, Y)
    whole = model.decision_function(rows), model.predict_proba(rows), model.predict(rows)
    for some in (slice(0, 1), slice(3, 8), slice(40, 90)):
        found = (
            model.decision_function(rows[some]),
            model.predict_proba(rows[some]),
            model.predict(rows[some]),
        )
        for part, of_all in zip(found, whole, strict=True):
            np.testing.assert_array_equal(part, of_all[some])


@pytest.mark.parametrize("estimator", row_estimators(), ids=name_of)
def test_row_learners_do_not_see_the_order_of_rows(estimator):
    order = np.random.default_rng(0).permutation(len(X))
    assert_same(clone(estimator).fit(X[order], Y[order]), clone(estimator).fit(X, Y), X)


def test_fewer_kept_rows_change_decisions_but_never_scores():
    whole, small = GroPLE().fit(X, Y), GroPLE(max_kept_rows=30)
    small.fit_blocks(((X[rows], Y[rows]) for rows in blocks([20, 55])), like=whole)
    np.testing.assert_array_equal(small.decision_function(X), whole.decision_function(X))
    assert len(small.summary_.sample.first()) == 30
    assert_same(small, GroPLE(max_kept_rows=30).fit(X, Y), X)
