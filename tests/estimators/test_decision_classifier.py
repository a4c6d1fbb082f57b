"""The shared decisions around classifiers of scikit-learn, against those classifiers themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, PredefinedSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from grople import GroPLE
from grople.datasets import make_grouped_multilabel
from grople.decision import HeldOut, HeldOutBlock, fit_decision
from grople.estimators import MultilabelDecisionClassifier
from grople.estimators._responses import label_form
from grople.metrics import accuracy, example_f1, macro_f1, micro_f1
from grople.moments import row_keys

LOGISTIC = LogisticRegression(C=0.1)


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(180, 30, 9, n_groups=3, random_state=0)


@pytest.fixture(scope="module")
def X(data):
    return data.X.toarray()


@pytest.fixture(scope="module")
def Y(data):
    return data.Y.toarray()


# -- scores --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        RidgeClassifier(),
        OneVsRestClassifier(LOGISTIC),
        ClassifierChain(LOGISTIC, order=list(range(9))),
        make_pipeline(StandardScaler(), OneVsRestClassifier(LinearSVC(dual=False))),
        GridSearchCV(OneVsRestClassifier(LOGISTIC), {"estimator__C": [0.1]}, cv=2),
    ],
    ids=lambda e: type(e).__name__,
)
def test_scores_are_the_estimators_decision_function(estimator, X, Y):
    model = MultilabelDecisionClassifier(estimator, "sign", cv=None).fit(X, Y)
    expected = clone(estimator).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), expected.decision_function(X) > 0)


@pytest.mark.parametrize(
    "estimator",
    [
        ExtraTreesClassifier(5, random_state=0),
        KNeighborsClassifier(),
        MultiOutputClassifier(GaussianNB()),
        OneVsRestClassifier(GaussianNB()),
        DummyClassifier(strategy="prior"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_probabilities_become_scores_between_minus_one_and_one(estimator, X, Y):
    model = MultilabelDecisionClassifier(estimator, "sign", cv=None).fit(X, Y)
    chances = clone(estimator).fit(X, Y).predict_proba(X)
    if isinstance(chances, list):
        chances = np.column_stack([chance[:, 1] for chance in chances])
    np.testing.assert_allclose(model.decision_function(X), 2 * chances - 1)
    np.testing.assert_array_equal(model.predict(X), chances > 0.5)


def test_a_classifier_of_two_classes_is_fitted_to_each_label(X, Y):
    assert label_form(LOGISTIC) == "one_by_one"
    model = MultilabelDecisionClassifier(LOGISTIC, "sign", cv=None).fit(X, Y)
    expected = OneVsRestClassifier(LOGISTIC).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X))
    by_chance = model.set_params(response_method="predict_proba").fit(X, Y).decision_function(X)
    np.testing.assert_allclose(by_chance, 2 * expected.predict_proba(X) - 1)


@pytest.mark.parametrize(
    "estimator",
    [
        LOGISTIC,
        OneVsRestClassifier(GaussianNB()),
        MultiOutputClassifier(GaussianNB()),
        ClassifierChain(GaussianNB()),
        ExtraTreesClassifier(5, random_state=0),
    ],
    ids=lambda e: type(e).__name__,
)
def test_one_label_will_do(estimator, X, Y):
    model = MultilabelDecisionClassifier(estimator, "micro_f1").fit(X, Y[:, :1])
    assert model.predict(X).shape == (len(X), 1)
    assert example_f1(Y[:, :1], model.predict(X)) > 0.2
    # Of two labels, one is constant in the training part of a fold.
    rare = np.column_stack([Y[:, 0], np.arange(len(Y)) == 0]).astype(int)
    assert MultilabelDecisionClassifier(estimator).fit(X, rare).predict(X).shape == rare.shape


@pytest.mark.parametrize("labels", ["one_by_one", "dense", "sparse"])
def test_labels_reach_the_estimator_as_told(labels, X, Y):
    class Spy(OneVsRestClassifier):
        def fit(self, X, y):
            seen.append(y)
            return super().fit(X, y)

    seen = []
    MultilabelDecisionClassifier(Spy(LOGISTIC), "sign", cv=None, labels=labels).fit(X, Y)
    if labels == "one_by_one":
        np.testing.assert_array_equal(np.column_stack(seen), Y)
    else:
        assert sp.issparse(seen[0]) == (labels == "sparse")
        assert seen[0].dtype == np.int64


def test_our_own_estimators_can_be_wrapped(X, Y):
    inner = GroPLE(decision="sign")
    model = MultilabelDecisionClassifier(inner, "sign", cv=None).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), inner.fit(X, Y).decision_function(X))


def test_many_labels_of_a_narrow_type_are_kept_apart():
    # scikit-learn's LabelBinarizer loses labels beyond 128 of an int8 matrix.
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 5)), rng.random((60, 140)) < 0.3
    ridge = OneVsRestClassifier(RidgeClassifier())
    model = MultilabelDecisionClassifier(ridge, "sign", cv=None).fit(X, Y.astype(np.int8))
    expected = RidgeClassifier().fit(X, Y.astype(int)).decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-8)


@pytest.mark.parametrize(
    "estimator", [LOGISTIC, OneVsRestClassifier(LOGISTIC), ExtraTreesClassifier(5, random_state=0)]
)
def test_a_label_that_never_occurs_scores_below_all_others(estimator, X, Y):
    wide = np.column_stack([np.zeros(len(Y), int), Y, np.ones(len(Y), int)])
    model = MultilabelDecisionClassifier(estimator).fit(X, wide)
    scores = model.decision_function(X)
    assert (scores[:, :1] <= scores[:, 1:-1]).all()
    assert (scores[:, -1:] >= scores[:, 1:-1]).all()
    np.testing.assert_array_equal(model.active_labels_, np.arange(1, 10))
    for decision in ("accuracy", "example_f1", "macro_f1", "micro_f1", "sign"):
        predicted = model.set_params(decision=decision).predict(X)
        assert not predicted[:, 0].any()
        assert predicted[:, -1].all()


def test_labels_too_rare_for_a_fold_do_not_spoil_the_decision():
    # Log-odds of rare labels lie far below −1. A label absent from a training fold must lie
    # below them, or its held-out pairs are counted among the likeliest.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    common = (X[:, :3] + 0.3 * rng.standard_normal((300, 3)) > 1.8).astype(int)
    rare = np.zeros((300, 20), int)
    rare[rng.integers(300, size=20), np.arange(20)] = 1
    measure = {}
    for response in ("decision_function", "predict_proba"):
        model = MultilabelDecisionClassifier(LOGISTIC, "micro_f1", response_method=response)
        predicted = model.fit(X, np.hstack([common, rare])).predict(X)
        measure[response] = micro_f1(common, predicted[:, :3])
    # The same ranking of pairs; the decisions differ by the width of a bin.
    assert measure["decision_function"] > measure["predict_proba"] - 0.05


# -- decisions -----------------------------------------------------------------------------


@pytest.mark.parametrize("decision", ["accuracy", "example_f1", "macro_f1", "micro_f1"])
def test_decisions_are_fitted_on_scores_of_held_out_rows(decision, X, Y):
    folds = KFold(3, shuffle=True, random_state=0)
    model = MultilabelDecisionClassifier(RidgeClassifier(), decision, cv=folds).fit(X, Y)
    blocks = [
        HeldOutBlock(
            RidgeClassifier().fit(X[train], Y[train]).decision_function(X[test]),
            sp.csr_array(Y[test]), None, row_keys(X[test]),
        )
        for train, test in folds.split(X)
    ]  # fmt: skip
    expected = fit_decision(HeldOut.from_blocks(blocks, Y.shape[1]))
    scores = RidgeClassifier().fit(X, Y).decision_function(X)
    found = expected.labels(scores, X, decision)
    np.testing.assert_array_equal(model.predict(X), found.toarray())
    np.testing.assert_allclose(model.predict_proba(X), expected.probabilities(scores, X))


def test_a_decision_for_a_measure_is_good_at_it():
    data = make_grouped_multilabel(800, 100, 30, random_state=1)
    X, Y, X_test, Y_test = data.X[:500], data.Y[:500], data.X[500:], data.Y[500:]
    model = MultilabelDecisionClassifier(RidgeClassifier()).fit(X, Y)
    fitted = model.estimators_[0]
    by_sign = model.set_params(decision="sign").predict(X_test)
    for measure in (accuracy, example_f1, macro_f1, micro_f1):
        tuned = model.set_params(decision=measure.__name__).predict(X_test)
        assert measure(Y_test, tuned) > measure(Y_test, by_sign)
    assert model.estimators_[0] is fitted, "a decision is changed without fitting again"
    shifted = model.set_params(decision=0.25).predict(X_test)
    np.testing.assert_array_equal(shifted.toarray(), model.decision_function(X_test) > 0.25)


def test_the_number_of_folds_gives_the_same_folds_in_every_fit(X, Y):
    first, second = (
        MultilabelDecisionClassifier(RidgeClassifier(), "micro_f1", cv=3).fit(X, Y)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


def test_without_folds_there_is_no_decision_to_fit(X, Y):
    with pytest.raises(ValueError, match="cv is None"):
        MultilabelDecisionClassifier(LOGISTIC, "example_f1", cv=None).fit(X, Y)
    model = MultilabelDecisionClassifier(LOGISTIC, "sign", cv=None).fit(X, Y)
    model.set_params(cv=5, decision="micro_f1")
    with pytest.raises(ValueError, match=r"needs held-out scores, .* without folds"):
        model.predict(X)


def test_a_one_dimensional_target_is_left_to_the_estimator(X, Y):
    for y in (Y[:, 0], np.array(["a", "b", "c"])[Y[:, :2].sum(axis=1)]):
        model = MultilabelDecisionClassifier(LOGISTIC).fit(X, y)
        expected = clone(LOGISTIC).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), expected.predict(X))
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
        np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
    constant = MultilabelDecisionClassifier(LOGISTIC).fit(X, np.full(len(X), "a"))
    assert set(constant.predict(X)) == {"a"}


# -- rows and containers -------------------------------------------------------------------


def test_texts_are_passed_on():
    texts = ["red apple", "green apple", "red car", "blue car", "green pear", "blue plum"] * 4
    frame = pd.DataFrame({"fruit": [1, 1, 0, 0, 1, 1] * 4, "red": [1, 0, 1, 0, 0, 0] * 4})
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10))
    for rows in (texts, pd.Series(texts, index=range(100, 124))):
        model = MultilabelDecisionClassifier(pipeline, "micro_f1", cv=2).fit(rows, frame)
        predicted = model.predict(rows)
        np.testing.assert_array_equal(predicted.to_numpy(), frame.to_numpy())
        assert list(predicted.columns) == ["fruit", "red"]
    assert predicted.index[0] == 100


def test_tables_are_passed_on(Y):
    table = pd.DataFrame({"kind": np.where(Y[:, 0], "a", "b"), "size": Y[:, 1] * 2.0})
    features = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    model = MultilabelDecisionClassifier(make_pipeline(features, RidgeClassifier()))
    predicted = model.fit(table, Y).predict(table)
    np.testing.assert_array_equal(predicted[:, :2], Y[:, :2])
    assert list(model.feature_names_in_) == ["kind", "size"]


def test_sparse_labels_stay_sparse(X, Y):
    model = MultilabelDecisionClassifier(OneVsRestClassifier(LOGISTIC)).fit(X, sp.csr_array(Y))
    predicted = model.predict(X)
    assert sp.issparse(predicted)
    dense = MultilabelDecisionClassifier(OneVsRestClassifier(LOGISTIC)).fit(X, Y).predict(X)
    np.testing.assert_array_equal(predicted.toarray(), dense)


# -- weights and metadata ------------------------------------------------------------------


def test_rows_without_weight_are_no_rows(X, Y):
    weights = np.r_[np.zeros(60), np.linspace(1, 2, 120)]
    groups = np.arange(180) % 5
    model = MultilabelDecisionClassifier(LOGISTIC, "micro_f1", cv=GroupKFold(3))
    whole = clone(model).fit(X, Y, sample_weight=weights, groups=groups)
    part = clone(model).fit(X[60:], Y[60:], sample_weight=weights[60:], groups=groups[60:])
    np.testing.assert_allclose(whole.decision_function(X), part.decision_function(X))
    np.testing.assert_array_equal(whole.predict(X), part.predict(X))


def test_weights_count_in_the_decision(X, Y):
    # The estimator ignores weights; held-out rows of the second fold do not count at all.
    folds = PredefinedSplit(np.arange(180) % 2)
    weights = np.where(np.arange(180) % 2 == 0, 1.0, 1e-9)
    ridge = DummyClassifier(strategy="prior")
    model = MultilabelDecisionClassifier(ridge, cv=folds).fit(X, Y, sample_weight=weights)
    chances = model.predict_proba(X[:1])[0]
    assert chances == pytest.approx(Y[::2].mean(axis=0), abs=0.2)


def test_metadata_is_routed(X, Y):
    weights, groups = np.linspace(0.5, 2, 180), np.arange(180) % 6
    with sklearn.config_context(enable_metadata_routing=True):
        inner = LogisticRegression(C=0.1).set_fit_request(sample_weight=True)
        model = MultilabelDecisionClassifier(inner, "micro_f1", cv=GroupKFold(3))
        model.set_fit_request(sample_weight=True)
        model.fit(X, Y, sample_weight=weights, groups=groups)
        pipeline = make_pipeline(MaxAbsScaler(), clone(model))
        pipeline.fit(X, Y, sample_weight=weights, groups=groups)
        unset = MultilabelDecisionClassifier(LogisticRegression(C=0.1))
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            unset.fit(X, Y, sample_weight=weights)
        with pytest.raises(TypeError, match="groups"):
            MultilabelDecisionClassifier(inner).fit(X, Y, groups=groups)
    direct = MultilabelDecisionClassifier(LOGISTIC, "micro_f1", cv=GroupKFold(3))
    direct.fit(X, Y, sample_weight=weights, groups=groups)
    np.testing.assert_allclose(model.decision_function(X), direct.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), direct.predict(X))
    plain = MultilabelDecisionClassifier(LOGISTIC).fit(X, Y)
    assert not np.allclose(model.decision_function(X), plain.decision_function(X))
    assert pipeline.predict(X).shape == Y.shape


# -- scikit-learn --------------------------------------------------------------------------


def test_parameters_are_nested(X, Y):
    model = MultilabelDecisionClassifier(OneVsRestClassifier(LogisticRegression()))
    model.set_params(estimator__estimator__C=0.5, cv=3)
    assert clone(model).get_params()["estimator__estimator__C"] == 0.5
    grid = {"estimator__estimator__C": [0.01], "decision": ["sign", "example_f1"]}
    search = GridSearchCV(model, grid, cv=2, scoring=lambda m, X, Y: example_f1(Y, m.predict(X)))
    assert search.fit(X, Y).best_params_["decision"] == "example_f1"


def test_progress_is_reported(X, Y):
    told = []
    model = MultilabelDecisionClassifier(RidgeClassifier(), labels="one_by_one", cv=3)
    model.fit(X, Y, progress=lambda *step: told.append(step))
    labels = [("labels", i, Y.shape[1]) for i in range(1, Y.shape[1] + 1)]
    assert told[: len(labels)] == labels
    assert [done for name, done, _ in told if name == "folds"] == [0, 1, 2]


def test_what_cannot_work_is_said(X, Y):
    kernel = MultilabelDecisionClassifier(SVC(kernel="precomputed"))
    with pytest.raises(ValueError, match="between all rows"):
        kernel.fit(X @ X.T, Y)
    pairs = SVC(kernel="linear", decision_function_shape="ovo")
    model = MultilabelDecisionClassifier(pairs).fit(X, np.arange(len(X)) % 4)
    with pytest.raises(ValueError, match="6 columns for 4"):
        model.decision_function(X)
    with pytest.raises(ValueError, match="labels must be one of"):
        MultilabelDecisionClassifier(LOGISTIC, labels="wide").fit(X, Y)
    with pytest.raises(ValueError, match="at least one row"):
        MultilabelDecisionClassifier(LOGISTIC).fit([], [])


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), ExtraTreesClassifier(5, random_state=0)]
)
def test_scikit_learn_checks(estimator):
    check_estimator(
        MultilabelDecisionClassifier(estimator, cv=2),
        expected_failed_checks={
            "check_classifier_multioutput": "predictions maximise a measure; they are not signs"
        },
        on_skip=None,
    )


# -- what cannot be decided well is said ----------------------------------------------------


def test_groups_that_no_splitter_looks_at(X, Y):
    groups = np.arange(len(X)) // 10
    with pytest.warns(UserWarning, match="GroupKFold"):
        MultilabelDecisionClassifier(LOGISTIC, cv=3).fit(X, Y, groups=groups)


def test_a_classifier_without_scores_is_named(X, Y):
    model = MultilabelDecisionClassifier(MultiOutputClassifier(LinearSVC()))
    with pytest.raises(ValueError, match="MultiOutputClassifier has no predict_proba"):
        model.fit(X, Y)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_are_no_numbers(X, Y, value):
    class Odd(LogisticRegression):
        def decision_function(self, X):
            return np.where(np.arange(len(X)) == 1, value, super().decision_function(X))

    model = MultilabelDecisionClassifier(Odd(C=0.1), cv=3)
    if np.isnan(value):
        with pytest.raises(ValueError, match=r"Odd\.decision_function gives NaN"):
            model.fit(X, Y)
        return
    found = model.fit(X, Y).predict(X)
    assert found[1].all()  # without end above every threshold
    assert not found[[0, 2, 3]].all()


@pytest.mark.parametrize("times", [1e-6, 1e6])
def test_scores_too_large_or_small_to_be_told_apart(X, Y, times):
    class Scaled(LogisticRegression):
        def decision_function(self, X):
            return times * super().decision_function(X)

    with pytest.warns(UserWarning, match="scale the features"):
        MultilabelDecisionClassifier(Scaled(C=0.1), cv=3).fit(X, Y)
