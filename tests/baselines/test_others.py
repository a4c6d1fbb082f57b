"""Other classifiers are what scikit-learn gives, under the shared decisions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from grople.baselines import OTHER_CLASSIFIERS, other_classifier
from grople.datasets import make_grouped_multilabel
from grople.metrics import example_f1


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(450, 60, 12, n_groups=3, random_state=0)


@pytest.mark.parametrize(
    ("name", "binary"),
    [
        ("linear_svc", LinearSVC(C=0.1, random_state=0)),
        ("logistic", LogisticRegression(C=3.0, solver="liblinear", random_state=0)),
    ],
)
def test_linear_ones_are_one_vs_rest_on_rows_of_unit_length(name, binary, data):
    X, Y = data.X.toarray(), data.Y.toarray()
    model = other_classifier(name, "sign", cv=None, random_state=0).fit(X, Y)
    expected = OneVsRestClassifier(binary).fit(normalize(X), Y)
    np.testing.assert_allclose(
        model.decision_function(X), expected.decision_function(normalize(X)), atol=1e-8
    )


def test_extra_trees_are_those_of_scikit_learn(data):
    X, Y = data.X.toarray(), data.Y.toarray()
    small = {"estimator__n_estimators": 5}  # and fewer labels than components
    model = other_classifier("extra_trees", "sign", cv=None, random_state=0, **small).fit(X, Y)
    trees = ExtraTreesClassifier(5, min_samples_leaf=1e-3, random_state=0).fit(X, Y)
    chances = np.column_stack([chance[:, 1] for chance in trees.predict_proba(X)])
    np.testing.assert_allclose(model.decision_function(X), 2 * chances - 1)


def test_the_leaves_of_a_tree_are_bounded():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((4000, 3)), rng.random((4000, 2)) < 0.5
    small = {"estimator__n_estimators": 1}
    model = other_classifier("extra_trees", "sign", cv=None, random_state=0, **small).fit(X, Y)
    assert model.estimators_[0].forest_.estimators_[0].get_n_leaves() <= 1000


@pytest.mark.parametrize("name", OTHER_CLASSIFIERS)
def test_they_have_the_same_decisions(name, data):
    X, Y, X_test, Y_test = data.X[:300], data.Y[:300], data.X[300:], data.Y[300:]
    small = {"estimator__n_estimators": 30} if name == "extra_trees" else {}
    model = other_classifier(name, cv=3, random_state=0, **small).fit(X, Y)
    tuned = example_f1(Y_test, model.predict(X_test))
    by_sign = example_f1(Y_test, model.set_params(decision="sign").predict(X_test))
    assert tuned > by_sign


def test_an_unknown_one_is_named():
    with pytest.raises(
        ValueError, match="no classifier is called 'svm'; there is linear_svc, logistic"
    ):
        other_classifier("svm")
    with pytest.raises(ValueError, match="folds"):
        other_classifier("logistic", folds=3)
