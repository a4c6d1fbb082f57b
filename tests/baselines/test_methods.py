"""Methods by name: scikit-learn's under the shared decisions, and the paper's as published."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from grople import metrics
from grople.baselines import (
    METHODS,
    PAPER_METHODS,
    compare_methods,
    make_method,
    measure_method,
)
from grople.datasets import make_grouped_multilabel
from grople.metrics import example_f1


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(450, 60, 12, n_groups=3, random_state=0)


@pytest.mark.parametrize(
    ("name", "binary"),
    [
        ("linearsvc", LinearSVC(C=0.1, random_state=0)),
        ("logistic", LogisticRegression(C=3.0, solver="liblinear", random_state=0)),
    ],
)
def test_linear_ones_are_one_vs_rest_on_rows_of_unit_length(name, binary, data):
    X, Y = data.X.toarray(), data.Y.toarray()
    model = make_method(name, "sign", cv=None, random_state=0).fit(X, Y)
    expected = OneVsRestClassifier(binary).fit(normalize(X), Y)
    np.testing.assert_allclose(
        model.decision_function(X), expected.decision_function(normalize(X)), atol=1e-8
    )


def test_extra_trees_are_those_of_scikit_learn(data):
    X, Y = data.X.toarray(), data.Y.toarray()
    small = {"estimator__n_estimators": 5}  # and fewer labels than components
    model = make_method("extratrees", "sign", cv=None, random_state=0, **small).fit(X, Y)
    trees = ExtraTreesClassifier(5, min_samples_leaf=1e-3, random_state=0).fit(X, Y)
    chances = np.column_stack([chance[:, 1] for chance in trees.predict_proba(X)])
    np.testing.assert_allclose(model.decision_function(X), 2 * chances - 1)


def test_the_leaves_of_a_tree_are_bounded():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((4000, 3)), rng.random((4000, 2)) < 0.5
    small = {"estimator__n_estimators": 1}
    model = make_method("extratrees", "sign", cv=None, random_state=0, **small).fit(X, Y)
    assert model.estimators_[0].forest_.estimators_[0].get_n_leaves() <= 1000


@pytest.mark.parametrize("name", ["linearsvc", "logistic", "extratrees"])
def test_they_have_the_same_decisions(name, data):
    X, Y, X_test, Y_test = data.X[:300], data.Y[:300], data.X[300:], data.Y[300:]
    small = {"estimator__n_estimators": 30} if name == "extratrees" else {}
    model = make_method(name, cv=3, random_state=0, **small).fit(X, Y)
    tuned = example_f1(Y_test, model.predict(X_test))
    by_sign = example_f1(Y_test, model.set_params(decision="sign").predict(X_test))
    assert tuned > by_sign


def test_parameters_are_those_of_the_classifier():
    model = make_method("linearsvc", estimator__onevsrestclassifier__estimator__C=7.0)
    assert model.estimator.named_steps["onevsrestclassifier"].estimator.C == 7.0
    with pytest.raises(ValueError, match="folds"):
        make_method("logistic", folds=3)


@pytest.mark.parametrize("name", PAPER_METHODS)
def test_published_settings_lie_in_the_papers_grid(name):
    method = METHODS[name]
    model = method.published("medical", decision="micro_f1")
    assert model.decision == "micro_f1"
    assert method.published("CAL500").decision == "sign"
    assert type(model).__name__ == method.title
    assert set(method.grid) <= set(model.get_params())
    for parameter, values in method.grid.items():
        if (name, parameter) != ("llsf", "gamma"):
            assert np.isclose(getattr(model, parameter), values).any()
    with pytest.raises(ValueError, match="no published setting for 'iris'"):
        method.published("iris")


def test_methods_are_measured_on_the_same_folds(data):
    parts = []

    def representation(train, test):
        parts.append((train, test))
        return data.X[train], data.X[test]

    models = {name: make_method(name) for name in ("ridge", "constant")}
    measures = ("micro_f1", "accuracy")
    found = compare_methods(
        models, data.Y, representation, metric="accuracy", measures=measures, n_folds=2
    )
    assert (found.metric, found.n_folds, len(parts)) == ("accuracy", 2, 2)
    assert [quality.rank for quality in found.methods] == [1.0, 2.0]
    for fold, (train, test) in enumerate(parts):
        rows = data.X[train], data.Y[train], data.X[test], data.Y[test]
        for quality in found.methods:
            values, seconds = measure_method(models[quality.method], *rows, measures)
            assert tuple(values) == measures
            assert seconds > 0
            fitted = models[quality.method].fit(*rows[:2]).predict(rows[2])
            for measure in measures:
                assert quality.values[measure][fold] == values[measure]
                value = metrics.evaluate(rows[3], fitted, zero_division=0.0)[measure]
                assert values[measure] == pytest.approx(value)
