"""What every estimator must do, written once and run over all of them."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from grople.baselines import LEML, MLSF
from grople.datasets import make_grouped_multilabel

from .estimators import all_estimators, expected_failures, name_of

every_estimator = pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(120, 30, 8, n_groups=3, random_state=0)


@pytest.fixture
def X(data):
    return data.X.toarray()


@pytest.fixture
def Y(data):
    return data.Y.toarray()


@parametrize_with_checks(all_estimators(), expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@every_estimator
@pytest.mark.parametrize(
    "container",
    [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, np.asfortranarray],
)
def test_every_container_of_features_gives_the_same_scores(estimator, container, X, Y):
    expected = clone(estimator).fit(sp.csr_array(X), Y).decision_function(sp.csr_array(X))
    found = clone(estimator).fit(container(X), Y).decision_function(container(X))
    if container is np.asfortranarray:  # products with dense rows round otherwise
        np.testing.assert_allclose(found, expected, atol=1e-7)
    else:
        np.testing.assert_array_equal(found, expected)


@every_estimator
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.float32, np.float64])
def test_labels_of_every_dtype_are_the_same_labels(estimator, dtype, X, Y):
    expected = clone(estimator).fit(X, Y).decision_function(X)
    model = clone(estimator).fit(X, Y.astype(dtype))
    np.testing.assert_array_equal(model.decision_function(X), expected)
    assert model.predict(X).dtype.kind == "i"


@every_estimator
@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.lil_matrix])
def test_sparse_labels_come_back_sparse(estimator, container, X, Y):
    model = clone(estimator).fit(X, container(Y))
    predicted = model.predict(X)
    assert sp.issparse(predicted)
    assert isinstance(predicted, sp.sparray) == isinstance(container(Y), sp.sparray)
    np.testing.assert_array_equal(predicted.toarray(), clone(estimator).fit(X, Y).predict(X))


@every_estimator
def test_a_frame_of_labels_keeps_its_names(estimator, X, Y):
    names = [f"tag {i}" for i in range(Y.shape[1])]
    index = pd.Index(np.arange(len(X)) + 1000)
    frame = pd.DataFrame(X, index=index, columns=[f"f{i}" for i in range(X.shape[1])])
    model = clone(estimator).fit(frame, pd.DataFrame(Y, columns=names, index=index))
    predicted = model.predict(frame)
    assert list(predicted.columns) == names == list(model.label_names_in_)
    assert predicted.index.equals(index)
    np.testing.assert_array_equal(predicted.to_numpy(), clone(estimator).fit(X, Y).predict(X))
    assert 0 <= model.score(frame, pd.DataFrame(Y, columns=names, index=index)) <= 1


@every_estimator
def test_inputs_are_not_changed(estimator, X, Y):
    features, labels = sp.csr_array(X), sp.csr_array(Y)
    before = features.copy(), labels.copy()
    for array in (features.data, features.indices, labels.data, labels.indices):
        array.flags.writeable = False
    weights = np.linspace(0.5, 1.5, len(X))
    kept = weights.copy()
    clone(estimator).fit(features, labels, sample_weight=weights).predict(features)
    assert (features != before[0]).nnz == 0
    assert (labels != before[1]).nnz == 0
    np.testing.assert_array_equal(weights, kept)


@every_estimator
def test_it_works_in_a_pipeline_and_a_search(estimator, X, Y):
    pipeline = make_pipeline(TfidfTransformer(), clone(estimator))
    assert np.isfinite(cross_val_score(pipeline, sp.csr_array(X), Y, cv=3)).all()
    if not hasattr(estimator, "cv"):
        search = GridSearchCV(clone(estimator), {"decision": ["sign", 0.1]}, cv=2).fit(X, Y)
        assert search.best_params_["decision"] in ("sign", 0.1)


@every_estimator
def test_weights_are_routed(estimator, X, Y):
    weights = np.r_[np.ones(60), np.full(60, 3.0)]
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(estimator).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(TfidfTransformer(), model).fit(X, Y, sample_weight=weights)
    rows = TfidfTransformer().fit_transform(X)
    direct = clone(estimator).fit(rows, Y, sample_weight=weights)
    np.testing.assert_array_equal(pipeline.decision_function(X), direct.decision_function(rows))
    plain = clone(estimator).fit(rows, Y)
    assert not np.allclose(direct.decision_function(rows), plain.decision_function(rows))


@every_estimator
def test_it_reports_progress(estimator, X, Y):
    if getattr(getattr(estimator, "solver", None), "init", None) == "published":
        pytest.skip("the published scheme reports no steps")
    told = []
    clone(estimator).fit(X, Y, progress=lambda *step: told.append(step))
    assert len(told) > 1, "a fit has steps to report"
    assert all(
        isinstance(step, str) and 0 <= done <= max(total, done) for step, done, total in told
    )


@every_estimator
def test_a_pickled_model_predicts_the_same(estimator, X, Y):
    model = clone(estimator).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@every_estimator
def test_probabilities_rise_with_the_scores(estimator, X, Y):
    model = clone(estimator).fit(X, Y)
    chances, scores = model.predict_proba(X), model.decision_function(X)
    assert chances.shape == scores.shape
    assert ((chances > 0) & (chances < 1)).all()
    order = np.argsort(scores, axis=None)
    assert (np.diff(chances.ravel()[order]) >= 0).all()


@every_estimator
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X, Y: (np.where(X.max() == X, np.nan, X), Y), "NaN"),
        (lambda X, Y: (np.where(X.max() == X, np.inf, X), Y), "inf"),
        (lambda X, Y: (X[:-1], Y), "inconsistent"),
        (lambda X, Y: (X, Y * 2), "zeros and ones"),
        (lambda X, Y: (X, np.where(Y == 1, np.nan, Y.astype(float))), "NaN"),
        (lambda X, Y: (X[:0], Y[:0]), "sample"),
        (lambda X, Y: (X[:, :0], Y), "feature"),
        (lambda X, Y: (X, None), "y"),
    ],
)
def test_bad_input_is_refused_and_leaves_the_model_alone(estimator, spoil, message, X, Y):
    labels = spoil(X, Y)[1]
    if isinstance(estimator, LEML) and labels is not None and np.isnan(labels).any():
        pytest.skip("LEML learns from observed entries: a missing label is no error")
    model = clone(estimator).fit(X, Y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=message):
        model.fit(*spoil(X, Y))
    np.testing.assert_array_equal(model.decision_function(X), before)
    fresh = clone(estimator)
    with pytest.raises(ValueError, match=message):
        fresh.fit(*spoil(X, Y))
    with pytest.raises(sklearn.exceptions.NotFittedError):
        fresh.predict(X)


@every_estimator
@pytest.mark.parametrize("weights", [[-1.0], [np.nan], [0.0]])
def test_bad_weights_are_refused(estimator, weights, X, Y):
    with pytest.raises(ValueError, match="sample_weight"):
        clone(estimator).fit(X, Y, sample_weight=np.repeat(weights, len(X)))
    with pytest.raises(ValueError, match="sample_weight"):
        clone(estimator).fit(X, Y, sample_weight=np.ones(len(X) + 1))


@every_estimator
def test_small_and_odd_data_work(estimator, X, Y):
    if hasattr(estimator, "cv"):
        pytest.skip("cross-validation needs rows to hold out")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one_label = clone(estimator).fit(X, Y[:, :1])
        assert one_label.predict(X).shape == (len(X), 1)
        one_row = clone(estimator).fit(X[:1], Y[:1])
        np.testing.assert_array_equal(one_row.predict(X[:1]), Y[:1])
        assert clone(estimator).fit(np.ones_like(X), Y).predict(X).shape == Y.shape
        nothing = clone(estimator).fit(X, np.zeros_like(Y))
        assert not (nothing.decision_function(X) > 0).any()
        everything = clone(estimator).fit(X, np.ones_like(Y))
        assert (everything.decision_function(X) > 0).all()
        copies = clone(estimator).fit(X, np.repeat(Y[:, :1], 5, axis=1))
        scores = copies.decision_function(X)
        if not isinstance(estimator, MLSF):  # a chain gives later copies the earlier ones to see
            np.testing.assert_allclose(scores, np.repeat(scores[:, :1], 5, axis=1), atol=1e-6)


@every_estimator
def test_wrong_parameters_are_named(estimator, X, Y):
    with pytest.raises(ValueError, match="decision"):
        clone(estimator).set_params(decision="best").fit(X, Y)
