"""What numbers can hold: offsets, outliers, extremes; and threads that fit side by side."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import KFold, PredefinedSplit
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

from grople import GroPLE, GroPLECV
from grople.decision import Rule
from grople.decision.context import ContextDecoder
from grople.meta import MultilabelDecisionClassifier
from grople.metrics import example_f1
from grople.modelfile import load_model


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.random((600, 8))
    return X, ((X - 0.5) @ rng.normal(size=(8, 6)) > 0.2).astype(int)


@pytest.mark.filterwarnings("ignore:the values of feature")
def test_a_small_spread_beside_a_large_mean_is_scaled(data):
    X, Y = data
    X = X.copy()
    X[:, :4] = 48.137 + 1e-3 * X[:, :4]
    ours = GroPLE(scale=True, random_state=0).fit(X[:300], Y[:300]).predict(X[300:])
    scaled = StandardScaler().fit(X[:300])
    first = GroPLE(random_state=0).fit(scaled.transform(X[:300]), Y[:300])
    expected = first.predict(scaled.transform(X[300:]))
    assert example_f1(Y[300:], ours) > example_f1(Y[300:], expected) - 0.02


def test_a_spread_that_squares_lose_is_told(data):
    X, Y = data
    with pytest.warns(UserWarning, match="far from zero"):
        GroPLE(decision="sign", random_state=0).fit(X + 1e7, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        constant = np.full((600, 1), 0.1)
        GroPLE(decision="sign", random_state=0).fit(np.hstack([X, constant]), Y)


def test_rows_that_hide_the_others_are_not_forgotten(data):
    X, Y = data
    X = X.copy()
    X[0] *= 1e8
    model = GroPLE(gamma=1.0, decision="sign", random_state=0).fit(X, Y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="lost in rounding"):
        model.forget(X[:1], Y[:1])
    np.testing.assert_array_equal(model.coef_, before)
    X[0] *= 1e-4  # ten thousand times as large as the others: four digits less
    model = GroPLE(gamma=1.0, decision="sign", random_state=0).fit(X, Y).forget(X[:1], Y[:1])
    fresh = GroPLE(gamma=1.0, decision="sign", random_state=0).fit(X[1:], Y[1:])
    np.testing.assert_allclose(model.coef_, fresh.coef_, atol=1e-5)


def test_rows_never_added_show_while_all_rows_are_kept(data):
    X, Y = data
    model = GroPLE(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="never added"):
        model.forget(X[:100], Y[100:200])
    model.forget(X[:1], Y[:1])
    with pytest.raises(ValueError, match="never added"):
        model.forget(X[:1], Y[:1])


@pytest.mark.parametrize("rule", [Rule("top_k", k=3.0), Rule("top_k", k=np.int64(2), context=1)])
def test_a_rule_is_stored_as_it_is_meant(data, tmp_path, rule):
    model = GroPLE(decision=rule, random_state=0).fit(*data)
    model.save(tmp_path / "m.grople")
    again = load_model(tmp_path / "m.grople")
    assert again.decision == rule
    assert (again.predict(data[0]) != model.predict(data[0])).sum() == 0


def test_probabilities_beyond_single_precision(data):
    X, Y = data
    model = GroPLE(decision=Rule("example_f1", context=True), random_state=0).fit(X, Y)
    assert model.decision_.decoder is not None
    far = X[:5].copy()
    far[0, :3] = 1e40
    chances = model.predict_proba(far)
    assert np.isfinite(chances).all()
    np.testing.assert_allclose(chances[1:], model.predict_proba(X[:5])[1:], rtol=1e-5)


def test_values_too_large_to_be_squared_and_no_labels(data):
    X, Y = data
    with pytest.raises(ValueError, match="feature 0 has values too large"):
        GroPLE().fit(X * 1e300, Y)
    with pytest.raises(ValueError, match="no label"):
        GroPLE().fit(X, Y[:, :0])


def test_folds_by_row_number_leave_rows_without_weight_out(data):
    X, Y = data
    weights = np.where(np.arange(600) % 7, 1.0, 0.0)
    kept = np.flatnonzero(weights)
    number = np.arange(600) % 3
    for cv, of_kept in (
        (PredefinedSplit(number), PredefinedSplit(number[kept])),
        (
            [(np.flatnonzero(number != f), np.flatnonzero(number == f)) for f in range(3)],
            PredefinedSplit(number[kept]),
        ),
    ):
        found = MultilabelDecisionClassifier(RidgeClassifier(), cv=cv)
        found.fit(X, Y, sample_weight=weights)
        expected = MultilabelDecisionClassifier(RidgeClassifier(), cv=of_kept)
        expected.fit(X[kept], Y[kept], sample_weight=weights[kept])
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    folds = list(KFold(3).split(X))
    search = GroPLECV(alpha=[0.0, 1.0], cv=folds, random_state=0)
    assert np.isfinite(search.fit(X, Y, sample_weight=weights).best_score_)


def test_a_threshold_is_tuned_on_what_networks_have_not_seen(data, monkeypatch):
    X, Y = data

    def asked(*_: object) -> None:
        raise AssertionError("the networks were asked about rows they were trained on")

    monkeypatch.setattr(ContextDecoder, "__call__", asked)
    model = GroPLE(decision=Rule("threshold", context=True), random_state=0).fit(X, Y)
    assert np.isfinite(model.decision_.thresholds)


def test_fits_side_by_side_give_all_threads_back(data):
    X, Y = data
    held = threading.Barrier(2)

    class Meeting(GroPLE):
        def _groups(self, *args, **others):
            held.wait(timeout=60)  # both hold linear algebra to one thread at this moment
            return super()._groups(*args, **others)

    with threadpool_limits(2, user_api="blas"):
        fits = [
            threading.Thread(
                target=Meeting(decision="sign", random_state=0).fit, args=(X[:n], Y[:n])
            )
            for n in (200, 600)
        ]
        for each in fits:
            each.start()
        for each in fits:
            each.join()
        found = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    assert found == {2}
