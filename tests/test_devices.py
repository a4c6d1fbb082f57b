"""Estimators on a device, or on arrays of other libraries, are those at home."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import KFold

from grople import GroPLE, GroPLECV, load_model
from grople.arrays import is_foreign, place_of, to_numpy
from grople.baselines import PLST
from grople.datasets import make_grouped_multilabel
from grople.decision import Rule
from tests.places import place, places

#: The default decision without a second look, which takes seconds.
QUICK = Rule(context=False)


@pytest.fixture(scope="module")
def data():
    found = make_grouped_multilabel(300, 30, 8, n_groups=3, noise=0.2, random_state=0)
    return found.X.toarray(), found.Y.toarray()


@pytest.fixture(scope="module")
def home(data):
    return GroPLE(random_state=0, decision=QUICK).fit(*data)


@pytest.mark.parametrize("library", places())
def test_arrays_of_other_libraries(data, home, library):
    X, Y = data
    there = place(library)
    rows, labels = there.array(X), there.array(Y)
    model = GroPLE(random_state=0, decision=QUICK).fit(rows, labels)
    assert isinstance(model.coef_, np.ndarray)
    assert isinstance(model.moments_.xtx, np.ndarray)
    for method in ("decision_function", "predict_proba", "predict", "transform"):
        found = getattr(model, method)(rows)
        assert place_of(found) == there, method
        # The closed form is solved by a spectrum here and by a factor at home: to rounding.
        np.testing.assert_allclose(to_numpy(found), getattr(home, method)(X), atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), home.predict(X))
    np.testing.assert_array_equal(to_numpy(home.predict(rows)), home.predict(X))
    assert model.score(rows, labels) == home.score(X, Y)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_device_takes_rows_from_home(data, home, sparse):
    X, Y = data
    pytest.importorskip("array_api_compat")
    pytest.importorskip("torch")
    rows = sp.csr_array(X) if sparse else X
    model = GroPLE(random_state=0, decision=QUICK, device="cpu").fit(rows, Y)
    found = model.decision_function(rows)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, home.decision_function(X), atol=1e-8)
    np.testing.assert_array_equal(model.predict(rows), home.predict(X))


def test_single_precision_stays_single(data, home):
    X, Y = data
    there = place("torch")
    rows = there.array(X, there.xp.float32)
    model = GroPLE(random_state=0, decision=QUICK).fit(rows, there.array(Y))
    found = model.decision_function(rows)
    assert found.dtype == there.xp.float32
    # Rows, maps and products are rounded to seven digits.
    np.testing.assert_allclose(to_numpy(found), home.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("beta", [0.0, 5.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore:the embedding stopped")
def test_sparse_maps_and_weights(data, beta, weighted):
    X, Y = data
    there = place("torch")
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float) if weighted else None
    settings = {"beta": beta, "gamma": 2.0, "tol": 1e-9, "decision": "sign", "random_state": 0}
    ours = GroPLE(**settings, n_components=6, max_iter=50)
    weights_there = None if weights is None else there.array(weights)
    found = clone(ours).fit(there.array(X), there.array(Y), weights_there)
    np.testing.assert_allclose(
        found.decision_function(X),
        ours.fit(X, Y, weights).decision_function(X),
        atol=1e-4,  # √tol of the scores stays open
    )


@pytest.mark.parametrize("library", places())
@pytest.mark.parametrize(
    "decision", ["sign", QUICK, Rule("macro_f1", context=False)], ids=["sign", "sets", "labels"]
)
def test_a_search_finds_the_same(data, library, decision):
    X, Y = data
    there = place(library)
    search = GroPLECV(
        alpha=[0.0, 10.0], beta=[0.0, 2.0], gamma=[1.0, "auto"], n_groups=[2, 3],
        cv=KFold(2, shuffle=True, random_state=0), decision=decision, search_tol=1e-8,
        random_state=0,
    )  # fmt: skip
    here = clone(search).fit(X, Y).cv_results_
    weights = there.array(np.ones(len(X)))
    found = clone(search).fit(there.array(X), there.array(Y), weights).cv_results_
    assert found["params"] == here["params"]
    # A label of one of 150 rows may flip at a threshold: a share of 1/150 of its row's measure.
    np.testing.assert_allclose(found["mean_test_score"], here["mean_test_score"], atol=3e-3)
    same = np.isclose(found["mean_test_score"], here["mean_test_score"], atol=1e-12)
    assert same.mean() > 0.5


def test_a_search_in_classes(data):
    X, Y = data
    there = place("torch")
    y = Y[:, :3].argmax(axis=1)
    search = GroPLECV(alpha=[0.0, 1.0], gamma=[1.0, 10.0], cv=2, random_state=0)
    here, found = clone(search).fit(X, y), search.fit(there.array(X), there.array(y))
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"], atol=1e-12
    )
    assert is_foreign(found.predict(there.array(X)))
    np.testing.assert_array_equal(to_numpy(found.predict(there.array(X))), here.predict(X))


def test_rows_are_added_and_forgotten_on_a_device(data, home):
    X, Y = data
    there = place("torch")
    model = GroPLE(random_state=0, decision=QUICK, row_check=True)
    model.partial_fit(there.array(X[:100]), there.array(Y[:100]))
    model.partial_fit(there.array(X[100:]), Y[100:])
    model.partial_fit(X[:50], Y[:50])
    model.forget(there.array(X[:50]), Y[:50])
    np.testing.assert_allclose(model.decision_function(X), home.decision_function(X), atol=1e-8)


def test_models_are_stored_without_a_device(data, tmp_path):
    X, Y = data
    there = place("torch")
    model = GroPLE(random_state=0, decision="sign").fit(there.array(X), there.array(Y))
    model.save(tmp_path / "model.grople")
    for other in (load_model(tmp_path / "model.grople"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_forms_that_stay_at_home(data):
    X, Y = data
    there = place("torch")
    for settings in ({"form": "implicit", "gamma": 1.0}, {"correlation": "published"}):
        model = GroPLE(random_state=0, decision="sign", **settings)
        expected = clone(model).fit(X, Y).decision_function(X)
        found = model.fit(there.array(X), there.array(Y)).decision_function(X)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_estimators_without_a_device_take_other_arrays_home(data):
    X, Y = data
    there = place("torch")
    model = PLST(3, decision="sign").fit(there.array(X), there.array(Y))
    found = model.decision_function(there.array(X))
    np.testing.assert_allclose(found, PLST(3, decision="sign").fit(X, Y).decision_function(X))


def test_wrong_input_is_named(data, home):
    X, Y = data
    there = place("torch")
    with pytest.raises(ValueError, match="not to be had here"):
        GroPLE(device="abacus").fit(X, Y)
    with pytest.raises(ValueError, match="NaN or infinity"):
        GroPLE().fit(there.array(np.where(X[0, 0] == X, np.nan, X)), Y)
    with pytest.raises(ValueError, match="features"):
        home.predict(there.array(X[:, :5]))
    assert GroPLE(device="cuda").get_params()["device"] == "cuda"
