"""Adding and removing rows is exact for every estimator that learns from moments."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from grople import GroPLE, Moments
from grople.datasets import make_grouped_multilabel

from .estimators import moment_estimators, name_of

streaming = pytest.mark.parametrize("estimator", moment_estimators(), ids=name_of)

DATA = make_grouped_multilabel(90, 20, 7, n_groups=3, random_state=1)
X, Y = DATA.X.toarray(), DATA.Y.toarray()
#: Sums in another order differ by rounding; a ridge keeps the solution from amplifying it.
EXACT = {"rtol": 1e-8, "atol": 1e-8}


def blocks(cuts):
    edges = [0, *sorted(cuts), len(X)]
    return [slice(a, b) for a, b in pairwise(edges) if b > a]


@streaming
@settings(max_examples=8, deadline=None)
@given(cuts=st.lists(st.integers(1, len(X) - 1), max_size=4), seed=st.integers(0, 99))
def test_any_split_into_blocks_gives_the_same_model(estimator, cuts, seed):
    order = np.random.default_rng(seed).permutation(len(X))
    model = clone(estimator)
    for rows in blocks(cuts):
        model.partial_fit(X[order[rows]], Y[order[rows]])
    whole = clone(estimator).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), **EXACT)
    np.testing.assert_array_equal(model.moments_.labels.counts, whole.moments_.labels.counts)
    np.testing.assert_array_equal(
        model.moments_.labels.cooccurrence, whole.moments_.labels.cooccurrence
    )
    assert model.moments_.labels.counts.dtype == np.int64
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))


@streaming
@settings(max_examples=8, deadline=None)
@given(removed=st.sets(st.integers(0, len(X) - 1), min_size=1, max_size=60))
def test_forgetting_equals_never_having_seen(estimator, removed):
    gone = np.array(sorted(removed))
    kept = np.setdiff1d(np.arange(len(X)), gone)
    model = clone(estimator).fit(X, Y).forget(X[gone], Y[gone])
    fresh = clone(estimator).fit(X[kept], Y[kept])
    np.testing.assert_allclose(model.decision_function(X), fresh.decision_function(X), **EXACT)
    np.testing.assert_array_equal(
        model.moments_.labels.cooccurrence, fresh.moments_.labels.cooccurrence
    )
    np.testing.assert_array_equal(model.predict(X), fresh.predict(X))


@streaming
def test_weighted_rows_are_added_and_forgotten(estimator):
    weights = np.linspace(0.5, 2.0, len(X))
    model = clone(estimator).fit(X[:50], Y[:50], sample_weight=weights[:50])
    model.partial_fit(X[50:], Y[50:], sample_weight=weights[50:])
    model.forget(X[:20], Y[:20], sample_weight=weights[:20])
    fresh = clone(estimator).fit(X[20:], Y[20:], sample_weight=weights[20:])
    np.testing.assert_allclose(model.decision_function(X), fresh.decision_function(X), **EXACT)


@streaming
def test_a_label_first_seen_later_is_added_exactly(estimator):
    wide = Y.copy()
    wide[:40, 5:] = 0
    model = clone(estimator).partial_fit(X[:40], wide[:40, :5]).partial_fit(X[40:], wide[40:])
    whole = clone(estimator).fit(X, wide)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), **EXACT)
    names = [f"t{i}" for i in range(wide.shape[1])]
    frame = pd.DataFrame(wide, columns=names)
    named = clone(estimator).partial_fit(X[:40], frame.iloc[:40, :5])
    named.partial_fit(X[40:], frame.iloc[40:, ::-1])
    assert list(named.label_names_in_[:5]) == names[:5]
    position = [names.index(name) for name in named.label_names_in_]
    np.testing.assert_allclose(
        named.decision_function(X), whole.decision_function(X)[:, position], rtol=1e-6, atol=1e-6
    )


@streaming
def test_labels_may_be_declared_beforehand(estimator):
    model = clone(estimator).partial_fit(X[:0], Y[:0], classes=7)
    model.partial_fit(X, Y)
    whole = clone(estimator).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), **EXACT)


@streaming
def test_rows_never_added_are_refused_and_the_model_stays(estimator):
    model = clone(estimator).fit(X, Y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="cannot remove"):
        model.forget(np.full((1, 20), 100.0), Y[:1])
    with pytest.raises(ValueError, match="cannot remove"):
        model.forget(np.vstack([X, X]), np.vstack([Y, Y]))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :3], Y)
    np.testing.assert_array_equal(model.decision_function(X), before)
    checked = clone(estimator).set_params(row_check=True).fit(X, Y)
    with pytest.raises(ValueError, match="never added"):
        checked.forget(X[:1] * 0.5, Y[:1])
    np.testing.assert_allclose(checked.decision_function(X), before, **EXACT)
    checked.forget(X[:2], Y[:2]).partial_fit(X[:2], Y[:2]).forget(X[:2], Y[:2])


@streaming
def test_forgetting_everything_leaves_a_model_that_says_so(estimator):
    model = clone(estimator).fit(X, Y).forget(X, Y)
    with pytest.raises(ValueError, match="no rows are left"):
        model.predict(X)
    model.partial_fit(X, Y)
    np.testing.assert_allclose(
        model.decision_function(X), clone(estimator).fit(X, Y).decision_function(X), **EXACT
    )


@streaming
def test_refit_learns_from_the_same_moments(estimator):
    ridge = "gamma" if hasattr(estimator, "gamma") else "ridge"
    model = clone(estimator).fit(X, Y).refit(**{ridge: 7.0})
    other = clone(estimator).set_params(**{ridge: 7.0}).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), **EXACT)
    with pytest.raises(ValueError, match=ridge):
        model.refit(**{ridge: -1.0})
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), **EXACT)


@streaming
def test_moments_made_elsewhere_give_the_same_scores(estimator):
    form = "explicit" if estimator.form == "auto" else estimator.form
    rows = sp.csr_array(X)
    moments = Moments.from_data(rows[:30], Y[:30], form=form)
    moments = moments + Moments.from_data(rows[30:], Y[30:], form=form)
    if getattr(estimator, "margin", 0.0):  # which moments alone do not tell
        with pytest.raises(ValueError, match="learns from kept rows"):
            clone(estimator).fit_moments(moments)
        estimator = clone(estimator).set_params(margin=0.0)
    model = clone(estimator).fit_moments(moments)
    whole = clone(estimator).fit(rows, Y)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), **EXACT)
    assert model.predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="no rows"):
        clone(estimator).fit_moments(moments - moments)


def test_a_bounded_reservoir_changes_decisions_but_never_scores():
    whole = GroPLE(random_state=0).fit(X, Y)
    small = GroPLE(random_state=0, reservoir_size=30)
    for rows in blocks([20, 55]):
        small.partial_fit(X[rows], Y[rows])
    np.testing.assert_allclose(small.decision_function(X), whole.decision_function(X), **EXACT)
    assert len(small._reservoir) == 30
    again = GroPLE(random_state=0, reservoir_size=30).fit(X, Y)
    np.testing.assert_array_equal(small.predict(X), again.predict(X))
