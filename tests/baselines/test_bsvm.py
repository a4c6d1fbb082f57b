"""BSVM against scikit-learn's SVMs fitted label by label, and against the published cells."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC, LinearSVC

from grople.baselines import BSVM
from grople.datasets import make_grouped_multilabel
from grople.metrics import example_f1

from .protocol import measured_folds, published_cell


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(150, 40, 8, n_groups=3, random_state=0)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_each_label_has_the_svm_of_libsvm(data, as_sparse):
    X, Y = data.X if as_sparse else data.X.toarray(), data.Y
    model = BSVM(C=1.0, solver="libsvm", tol=1e-8, decision="sign").fit(X, Y)
    dense = data.X.toarray()
    for label, y in enumerate(Y.toarray().T):
        svm = SVC(kernel="linear", C=1.0, tol=1e-8).fit(dense, y)
        np.testing.assert_allclose(
            model.decision_function(X)[:, label], svm.decision_function(dense), atol=1e-6
        )
        np.testing.assert_array_equal(
            model.predict(X)[:, [label]].toarray().ravel(), svm.predict(dense)
        )


def test_each_label_has_the_svm_of_liblinear(data):
    X, Y = data.X.toarray(), data.Y.toarray()
    model = BSVM(C=0.2, tol=1e-12, decision="sign").fit(X, Y)
    size = 10 * np.sqrt(np.mean(np.sum(X**2, axis=1)))
    for label, y in enumerate(Y.T):
        svm = LinearSVC(C=0.2, tol=1e-12, dual=False, intercept_scaling=size).fit(X, y)
        # The same rows in another order.
        np.testing.assert_allclose(model.coef_[label], svm.coef_[0], atol=1e-7)
        np.testing.assert_allclose(model.intercept_[label], svm.intercept_[0], atol=1e-7)


def test_the_intercept_of_liblinear_is_all_but_free(data):
    X, Y = data.X.toarray(), data.Y.toarray()
    model = BSVM(C=0.2, tol=1e-10, decision="sign").fit(X, Y)
    signs = 2.0 * Y - 1
    loss = np.maximum(1 - signs * model.decision_function(X), 0)
    # Without any penalty the derivative of the squared hinge loss by the intercept is zero.
    slope = np.abs(np.sum(signs * loss, axis=0))
    assert (slope < 0.02 * np.sum(loss, axis=0)).all()


def test_the_unit_of_the_features_does_not_matter(data):
    scores = BSVM(tol=1e-10).fit(data.X, data.Y).decision_function(data.X)
    scaled = BSVM(tol=1e-10).fit(data.X * 1000.0, data.Y).decision_function(data.X * 1000.0)
    np.testing.assert_allclose(scaled, scores, atol=1e-5)


def test_labels_that_do_not_vary_have_constant_scores(data):
    X, Y = data.X, data.Y.toarray()
    wide = np.column_stack([np.zeros(len(Y)), Y, np.ones(len(Y))]).astype(int)
    model, plain = BSVM(decision="sign").fit(X, wide), BSVM(decision="sign").fit(X, Y)
    scores = model.decision_function(X)
    assert (scores[:, 0] == -1).all()
    assert (scores[:, -1] == 1).all()
    np.testing.assert_array_equal(scores[:, 1:-1], plain.decision_function(X))
    assert not model.coef_[[0, -1]].any()


def test_weights_are_repeated_rows(data):
    X, Y = data.X.toarray(), data.Y.toarray()
    times = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = BSVM(tol=1e-10, decision="sign").fit(X, Y, sample_weight=times)
    repeated = BSVM(tol=1e-10, decision="sign").fit(
        X.repeat(times, axis=0), Y.repeat(times, axis=0)
    )
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )


def test_jobs_change_nothing(data):
    alone = BSVM(decision="sign").fit(data.X, data.Y)
    with joblib.parallel_config(backend="threading"):
        together = BSVM(decision="sign", n_jobs=2).fit(data.X, data.Y)
    np.testing.assert_array_equal(together.coef_, alone.coef_)


def test_wide_indices_of_sparse_features_are_accepted(data):
    X = sp.csr_array(data.X)
    wide = sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape)
    narrow = sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)
    found = BSVM(decision="sign").fit(wide, data.Y)
    np.testing.assert_array_equal(found.coef_, BSVM(decision="sign").fit(narrow, data.Y).coef_)


def test_every_label_is_reported(data):
    told, n_labels = [], data.Y.shape[1]
    BSVM().fit(data.X, data.Y, progress=lambda *step: told.append(step))
    labels = [step for step in told if step[0] == "labels"]
    # Once on all rows, once without each of five folds.
    assert labels == 6 * [("labels", k + 1, n_labels) for k in range(n_labels)]


def test_a_decision_can_follow_the_fit():
    data = make_grouped_multilabel(600, random_state=0)
    X, Y, X_test, Y_test = data.X[:400], data.Y[:400], data.X[400:], data.Y[400:]
    model = BSVM().fit(X, Y)
    tuned = example_f1(Y_test, model.predict(X_test))
    assert tuned > example_f1(Y_test, model.set_params(decision="sign").predict(X_test)) + 0.02


def test_a_fit_for_the_sign_cannot_be_tuned_afterwards(data):
    model = BSVM(decision="sign").fit(data.X, data.Y)
    with pytest.raises(ValueError, match="fit again with this decision"):
        model.set_params(decision="micro_f1").predict(data.X)
    assert model.set_params(decision=0.5).predict(data.X).shape == data.Y.shape


def test_the_published_setting():
    model = BSVM.published("genbase-authors", n_jobs=2)
    assert (model.C, model.solver, model.decision, model.n_jobs) == (1.0, "libsvm", "sign", 2)
    with pytest.raises(ValueError, match="no published setting for 'iris'"):
        BSVM.published("iris")


@pytest.mark.parametrize("parameters", [{"C": 0.0}, {"C": "big"}, {"solver": "sgd"}, {"tol": 0}])
def test_wrong_parameters_are_named(parameters, data):
    with pytest.raises(ValueError, match=f"BSVM: {next(iter(parameters))} must be"):
        BSVM(**parameters).fit(data.X, data.Y)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "recomputed"),
    [
        ("genbase-authors", (0.976, 0.980, 0.734, 0.979)),
        ("medical", (0.753, 0.783, 0.383, 0.812)),
    ],
)
def test_the_published_cells(name, recomputed, shared_data, paper_tables):
    found = measured_folds(shared_data, name, BSVM.published(name))
    np.testing.assert_allclose(found, recomputed, atol=0.006)
    cell, _ = published_cell(paper_tables, name, "BSVM")
    np.testing.assert_allclose(found, cell, atol=0.006)
