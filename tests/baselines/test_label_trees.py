"""Trees that split by principal components of the labels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.metrics import label_ranking_average_precision_score

from grople.baselines import LabelTrees
from grople.datasets import make_grouped_multilabel


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(900, 60, 30, n_groups=5, random_state=0)


def scikit_learns(n_estimators, leaf, X, Y, X_test, weights=None):
    trees = ExtraTreesClassifier(n_estimators, min_samples_leaf=leaf, random_state=0)
    chances = trees.fit(X, Y, weights).predict_proba(X_test)
    return 2 * np.column_stack([chance[:, 1] for chance in chances]) - 1


@pytest.mark.parametrize("leaf", [3, 0.02])  # in smaller ones ties are broken otherwise
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_by_all_labels_they_are_those_of_scikit_learn(leaf, weighted, sparse, data):
    """Summed variances and Gini's impurities choose the same splits."""
    X, Y = data.X.toarray(), data.Y.toarray()
    w = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 600) if weighted else None
    expected = scikit_learns(5, leaf, X[:600], Y[:600], X[600:], w)
    if sparse:
        X, Y = sp.csr_array(X), sp.csr_array(Y)
    trees = LabelTrees(5, n_components=None, min_samples_leaf=leaf, random_state=0)
    found = trees.fit(X[:600], Y[:600], w).decision_function(X[600:])
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_they_split_by_principal_components(weighted, data):
    X, Y = data.X.toarray(), data.Y.toarray()
    times = np.random.default_rng(0).integers(0, 4, len(X)) if weighted else np.ones(len(X), int)
    axes = PCA(4).fit(Y[np.repeat(np.arange(len(X)), times)]).components_
    peer = ExtraTreesRegressor(3, min_samples_leaf=0.02, random_state=0, max_features="sqrt")
    peer.fit(X, Y @ axes.T, times)
    trees = LabelTrees(3, n_components=4, min_samples_leaf=0.02, random_state=0)
    trees.fit(X, Y, times if weighted else None)
    np.testing.assert_array_equal(trees.forest_.apply(X), peer.apply(X))


def test_a_third_of_the_dimensions_ranks_as_well_as_all_labels(data):
    X, Y = data.X.toarray(), data.Y.toarray()
    whole = scikit_learns(60, 1, X[:600], Y[:600], X[600:])
    trees = LabelTrees(60, n_components=10, random_state=0).fit(X[:600], Y[:600])
    some = trees.decision_function(X[600:])
    # Other seeds of the whole ones differ by as much.
    assert label_ranking_average_precision_score(Y[600:], some) == pytest.approx(
        label_ranking_average_precision_score(Y[600:], whole), abs=0.02
    )


def test_leaves_hold_the_shares_of_their_rows(data):
    trees = LabelTrees(1, n_components=3, min_samples_leaf=20, random_state=0)
    trees.fit(data.X, data.Y)
    leaves = trees.forest_.estimators_[0].apply(data.X.astype(np.float32))
    for leaf in np.unique(leaves):
        expected = data.Y[leaves == leaf].toarray().mean(axis=0)
        np.testing.assert_allclose(trees.shares_[[leaf]].toarray()[0], expected)


def test_conventions(data):
    trees = LabelTrees(2, random_state=0)
    again = clone(trees).fit(data.X, data.Y)
    np.testing.assert_array_equal(
        again.decision_function(data.X), trees.fit(data.X, data.Y).decision_function(data.X)
    )
    np.testing.assert_array_equal(again.predict(data.X), again.decision_function(data.X) > 0)
    assert again.n_features_in_ == data.X.shape[1]
    with pytest.raises(ValueError, match="a matrix with a column for each label"):
        trees.fit(data.X, data.Y.toarray()[:, 0])
