"""Adding, removing, declaring, refitting: what estimators that learn from summaries share."""

from __future__ import annotations

import copy
import json
import pickle
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info, threadpool_limits

from grople import GroPLE, summarise
from grople.datasets import load, make_grouped_multilabel
from grople.decision import Rule
from grople.estimators import SummaryClassifier
from grople.solver import FittedModel, LinearScores

DATA = make_grouped_multilabel(90, 20, 7, n_groups=3, random_state=1)
X, Y = DATA.X.toarray(), DATA.Y.toarray()
WIDE = sp.hstack([sp.csr_array(X), sp.csr_array((90, 1200))], format="csr")
every_form = pytest.mark.parametrize("X", [X, sp.csr_array(X), WIDE], ids=["dense", "csr", "rows"])


def same(one, other, X):
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@every_form
def test_a_label_first_seen_later_is_added_exactly(X):
    wide = Y.copy()
    wide[:40, 5:] = 0
    whole = GroPLE().fit(X, wide)
    model = GroPLE().fit(X[:40], wide[:40, :5], like=whole).partial_fit(X[40:], wide[40:])
    same(model, whole, X)
    names = [f"t{i}" for i in range(wide.shape[1])]
    frame = pd.DataFrame(wide, columns=names)
    named = GroPLE().fit(X[:40], frame.iloc[:40, :5], like=whole)
    named.partial_fit(X[40:], frame.iloc[40:, ::-1])
    assert list(named.label_names_in_[:5]) == names[:5]
    position = [names.index(name) for name in named.label_names_in_]
    np.testing.assert_allclose(
        named.decision_function(X), whole.decision_function(X)[:, position], atol=1e-3
    )


@every_form
def test_labels_may_be_declared_beforehand(X):
    for declared in (7, np.arange(7)):
        model = GroPLE().partial_fit(X[:0], Y[:0], classes=declared)
        with pytest.raises(ValueError, match="no rows are left to learn from"):
            model.predict(X)
        model.partial_fit(X, Y)
        same(model, GroPLE().fit(X, Y), X)
    model.partial_fit(X[:0], np.zeros((0, 9)), classes=9)  # two more
    assert model.predict(X).shape == (90, 9)
    y = np.array(["b", "a", "c"])[np.arange(90) % 3]
    by_class = GroPLE().partial_fit(X[:1], y[:1], classes=["a", "b", "c"]).partial_fit(X[1:], y[1:])
    assert by_class.classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="'z', which is not among the classes"):
        by_class.partial_fit(X[:1], ["z"])


@every_form
def test_rows_never_added_are_refused_and_the_model_stays(X):
    model = GroPLE().fit(X, Y)
    before = model.predict_proba(X)
    twice = sp.vstack([X, X]) if sp.issparse(X) else np.vstack([X, X])
    for rows, labels, message in (
        (X[:1] * 0.5, Y[:1], "never added"),
        (X[:1], 1 - Y[:1], "cannot remove"),
        (twice, np.vstack([Y, Y]), "cannot remove"),
        (X[:5], np.ones((5, 9)), "labels that no added row had"),
    ):
        with pytest.raises(ValueError, match=message):
            model.forget(rows, labels)
    with pytest.raises(ValueError, match="cannot remove"):
        model.forget(X[:2], Y[:2], sample_weight=[2.0, 2.0])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :3], Y)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X[:5], Y)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(NotFittedError):
        GroPLE().forget(X, Y)


@every_form
def test_forgetting_everything_leaves_a_model_that_says_so(X):
    model = GroPLE().fit(X, Y).forget(X, Y)
    for ask in (model.predict, model.predict_proba, model.transform):
        with pytest.raises(ValueError, match="no rows are left"):
            ask(X)
    same(model.partial_fit(X, Y), GroPLE().fit(X, Y), X)


@every_form
def test_what_an_auditor_is_shown(X):
    weights = np.where(np.arange(90) % 2, 1.0, 0.5)
    model = GroPLE().fit(X, Y, weights)
    with pytest.raises(ValueError, match="has forgotten nothing"):
        model.forgetting_report()
    before = model.summary_.checksum()
    model.forget(X[:7], Y[:7], weights[:7])
    report = model.forgetting_report()
    fresh = summarise(X[7:], Y[7:], weights[7:], grid=model.summary_.grid)
    assert report["checksum_before"] == before
    assert report["checksum_after"] == fresh.checksum() == model.summary_.checksum()
    assert (report["rows_removed"], report["rows_left"]) == (7, 83)
    counts = Y[:7].sum(axis=0)
    assert report["labels_removed"] == {str(i): int(n) for i, n in enumerate(counts) if n}
    assert len(report["keys_removed"]) == 7
    assert report["statement"].endswith(model.exactness_)
    assert json.loads(json.dumps(report)) == report
    model.fit(X, Y)
    with pytest.raises(ValueError, match="has forgotten nothing"):
        model.forgetting_report()


def test_a_used_up_reserve_is_told_once_and_says_what_holds():
    model = GroPLE(max_kept_rows=30).fit(X, Y)
    assert model.exactness_.startswith("Scores, probabilities and labels are those of a fresh fit")
    model.forget(X[:20], Y[:20])
    same(model, GroPLE(max_kept_rows=30).fit(X[20:], Y[20:], like=model), X)
    with pytest.warns(UserWarning, match="used up the reserve"):
        model.forget(X[20:70], Y[20:70])
    assert "where a fresh fit would keep 30" in model.exactness_
    fresh = GroPLE(max_kept_rows=30).fit(X[70:], Y[70:], like=model)
    np.testing.assert_array_equal(model.decision_function(X), fresh.decision_function(X))


@every_form
def test_refit_learns_from_the_same_rows(X):
    model = GroPLE().fit(X, Y).refit(gamma=7.0, n_groups=2)
    same(model, GroPLE(gamma=7.0, n_groups=2).fit(X, Y), X)
    with pytest.raises(ValueError, match="gamma"):
        model.refit(gamma=-1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'scale'"):
        model.refit(scale=True)
    same(model.refit(gamma=7.0), GroPLE(gamma=7.0, n_groups=2).fit(X, Y), X)


def test_another_model_lends_its_grid():
    first = GroPLE().fit(X[:9], Y[:9])
    again = GroPLE().fit(100.0 * X, Y, like=first)
    assert again.summary_.grid is first.summary_.grid
    again.fit(X, Y)
    assert again.summary_.grid is not first.summary_.grid
    with pytest.raises(ValueError, match="like is a model that knows rows"):
        GroPLE().fit(X, Y, like=GroPLE())
    with pytest.warns(UserWarning, match="are large for the grid that the first rows set"):
        GroPLE().fit(1e4 * X, Y, like=first)
    with pytest.raises(ValueError, match="but the grid 20"):
        GroPLE().fit(X[:, :5], Y, like=first)


def test_blocks_are_gone_through_once():
    whole = GroPLE().fit(X, Y)
    blocks = ((X[i : i + 20], Y[i : i + 20]) for i in range(0, 90, 20))
    same(GroPLE().fit_blocks(blocks, like=whole), whole, X)
    told = []
    GroPLE().fit_blocks([(X, Y)], progress=lambda *step: told.append(step))
    assert told[0] == ("rows", 90, 0)
    with pytest.raises(ValueError, match="no block has rows"):
        GroPLE().fit_blocks([])


def test_weights_of_zero_are_no_rows_and_whole_ones_are_copies():
    weights = np.where(np.arange(90) < 30, 0.0, 1.0)
    same(GroPLE().fit(X, Y, weights), GroPLE().fit(X[30:], Y[30:]), X)
    twice = GroPLE(decision="sign", gamma=1.0).fit(X, Y, np.full(90, 2.0))
    copies = GroPLE(decision="sign", gamma=1.0).fit(np.vstack([X, X]), np.vstack([Y, Y]))
    np.testing.assert_allclose(twice.decision_function(X), copies.decision_function(X), atol=1e-3)
    scaled = GroPLE().fit(X, Y, np.full(90, 0.7))
    assert scaled.summary_.moments.n == pytest.approx(63, rel=1e-5)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@every_form
def test_copies_of_a_model_live_on_their_own(copied, X):
    model = GroPLE().fit(X, Y)
    other = copied(model)
    same(other, model, X)
    same(other.forget(X[:9], Y[:9]), clone(model).fit(X[9:], Y[9:], like=model), X)
    same(model, GroPLE().fit(X, Y), X)


def test_the_rows_given_may_change_afterwards():
    rows, labels = X.copy(), Y.copy()
    model = GroPLE().fit(rows, labels)
    expected = model.predict_proba(X)
    rows[:], labels[:] = 0.0, 0
    np.testing.assert_array_equal(model.refit().predict_proba(X), expected)


def test_an_estimator_is_a_function_from_a_summary():
    class Means(SummaryClassifier):
        """Scores that are the shares of labels."""

        def __init__(self, decision="sign", max_kept_rows=100):
            self.decision, self.max_kept_rows = decision, max_kept_rows

        def _solve(self, summary, progress):
            from grople.decision import fit_decision

            labels = summary.moments.labels
            flat = np.zeros((summary.n_features, labels.n_labels))
            scores = LinearScores(flat, labels.sums / labels.n)
            return FittedModel(scores, fit_decision(None), summary.outline())

    model = Means().fit(X, Y).forget(X[:9], Y[:9]).partial_fit(X[:4], Y[:4])
    rows = np.r_[:4, 9:90]
    np.testing.assert_allclose(model.intercept_, 2 * Y[rows].mean(axis=0) - 1, atol=1e-15)
    np.testing.assert_array_equal(model.predict(X[:2]), np.tile(Y[rows].mean(axis=0) > 0.5, (2, 1)))


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_fits_side_by_side_give_all_threads_back():
    with threadpool_limits(2, user_api="blas"):
        seen = []
        fits = [
            threading.Thread(
                target=GroPLE(decision="sign").fit, args=(X[:n], Y[:n]),
                kwargs={"progress": lambda *_: seen.append(blas_threads())},
            )
            for n in (50, 90)
        ]  # fmt: skip
        for each in fits:
            each.start()
        for each in fits:
            each.join()
        assert all(found == {1} for found in seen)
        assert blas_threads() == {2}

        def failing(*_):
            raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            GroPLE().fit(X, Y, progress=failing)
        assert blas_threads() == {2}


def test_a_rule_says_whether_there_is_a_re_ranker():
    data = load("debtags-mini")
    model = GroPLE().fit(data.X[:900], data.Y[:900])
    assert model.decision_.reranker is not None
    model.set_params(decision=Rule("example_f1", context=False))
    assert model.decision_.reranker is None
    assert model.set_params(decision="macro_f1").decision_.reranker is None  # what there is
    model.set_params(decision=Rule("example_f1", context=True))
    assert model.decision_.reranker is not None
