"""scikit-learn's own checks, pipelines, searches and metadata."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from grople import GroPLE, GroPLECV, Solver
from grople.datasets import make_grouped_multilabel

#: Checks that cannot hold, with the reason.
EXPECTED = {
    "check_classifier_multioutput": (
        "demands predict(X) == (decision_function(X) > 0) == (predict_proba(X) > ½) for label "
        "matrices; a decision that maximises a measure takes other labels, and a calibrated "
        "probability of ½ need not lie at a score of zero"
    )
}
MODELS = [
    GroPLE(),
    GroPLE(decision="sign"),
    GroPLE(beta=0.1, gamma=1.0, margin=0.2, decision="micro_f1"),
    GroPLE(max_kept_rows=0, solver=Solver(feature_weight=0.5, correlation="psd")),
    GroPLECV(alpha=[0.0, 1.0], gamma=1.0, cv=2),
]


@parametrize_with_checks(MODELS, expected_failed_checks=lambda estimator: EXPECTED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(120, 30, 8, n_groups=3, random_state=0)


@pytest.mark.parametrize("estimator", [MODELS[0], MODELS[-1]])
def test_it_works_in_a_pipeline_and_a_search(estimator, data):
    pipeline = make_pipeline(TfidfTransformer(), clone(estimator))
    assert np.isfinite(cross_val_score(pipeline, data.X, data.Y.toarray(), cv=3)).all()
    search = GridSearchCV(clone(estimator), {"decision": ["sign", 0.1]}, cv=2)
    assert search.fit(data.X, data.Y.toarray()).best_params_["decision"] in ("sign", 0.1)


@pytest.mark.parametrize("estimator", [MODELS[0], MODELS[-1]])
def test_weights_are_routed(estimator, data):
    weights = np.r_[np.ones(60), np.full(60, 3.0)]
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(estimator).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(TfidfTransformer(), model)
        pipeline.fit(data.X, data.Y, sample_weight=weights)
    rows = TfidfTransformer().fit_transform(data.X)
    direct = clone(estimator).fit(rows, data.Y, sample_weight=weights)
    np.testing.assert_array_equal(pipeline.predict_proba(data.X), direct.predict_proba(rows))
    plain = clone(estimator).fit(rows, data.Y)
    assert not np.allclose(direct.decision_function(rows), plain.decision_function(rows))


def test_inputs_are_not_changed(data):
    X, Y = sp.csr_array(data.X, copy=True), sp.csr_array(data.Y, copy=True)
    weights = np.linspace(0.5, 1.5, 120)
    for array in (X.data, X.indices, X.indptr, Y.data, Y.indices, weights):
        array.flags.writeable = False
    for model in (GroPLE(margin=0.1), GroPLECV(alpha=[0.0, 1.0], cv=2)):
        model.fit(X, Y, sample_weight=weights).predict(X)
    model.forget(X[:9], Y[:9], weights[:9]).predict_proba(X)
