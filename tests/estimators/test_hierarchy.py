"""Closed label sets: by brute force, as scikit-learn has it, and in every container."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from grople import GroPLE
from grople.decision import LabelHierarchy
from grople.estimators import HierarchicalClassifier

TREE = {"b": ["a"], "c": ["a"], "d": ["c"], "f": ["e"]}
GRAPH = {"d": ["b", "c"], "b": ["a"], "c": ["a"], "f": ["e", "a"]}
NAMES = ["d", "b", "f", "c", "a", "e"]


def is_closed(given: set[str], parents) -> bool:
    return all(set(parents.get(name, ())) <= given for name in given)


def expected_measure(p, given, rule) -> float:
    """Over all label sets of independent labels."""
    total = 0.0
    for truth in itertools.product([False, True], repeat=len(p)):
        chance = np.prod(np.where(truth, p, 1 - p))
        right = sum(truth[i] for i in given)
        size = 2 * right if rule == "example_f1" else right
        union = len(given) + sum(truth) - (0 if rule == "example_f1" else right)
        total += chance * size / union if union else 0.0
    return total


@pytest.mark.parametrize("rule", ["example_f1", "accuracy"])
@pytest.mark.parametrize("parents", [TREE, GRAPH, {}], ids=["tree", "graph", "none"])
def test_no_closed_set_has_a_larger_expected_measure(parents, rule):
    hierarchy = LabelHierarchy.of_parents(NAMES, parents)
    rng = np.random.default_rng(0)
    p = np.vstack([rng.random((12, 6)), np.full((1, 6), 0.4), rng.random((3, 6)) / 5])
    coherent = hierarchy.coherent(p)
    found = hierarchy.labels(p, rule).toarray().astype(bool)
    closed = [
        given
        for size in range(1, 7)
        for given in itertools.combinations(range(6), size)
        if is_closed({NAMES[i] for i in given}, parents)
    ]
    for chances, marks in zip(coherent, found, strict=True):
        mine = tuple(np.flatnonzero(marks))
        assert mine in closed
        best = max(expected_measure(chances, given, rule) for given in closed)
        # Gauss's rule is exact but for rounding; equal values are told apart to 4e-10.
        assert expected_measure(chances, mine, rule) == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("parents", [TREE, GRAPH])
def test_probabilities_become_coherent_and_stay_if_they_are(parents):
    hierarchy = LabelHierarchy.of_parents(NAMES, parents)
    p = np.random.default_rng(1).random((50, 6))
    found = hierarchy.coherent(p)
    for label, every in enumerate(hierarchy.ancestors):
        assert (found[:, every] >= found[:, [label]]).all()
    np.testing.assert_allclose(hierarchy.coherent(found), found, atol=1e-12)


def test_labels_are_closed_with_all_that_they_imply():
    hierarchy = LabelHierarchy.of_names(["a::b::c", "x", "a::d"], "::")
    assert hierarchy.names == ("a::b::c", "x", "a::d", "a", "a::b")
    closed = hierarchy.close(np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0]]))
    assert closed.toarray().tolist() == [[1, 0, 0, 1, 1], [0, 1, 1, 1, 0], [0, 0, 0, 0, 0]]


def test_a_circle_is_no_hierarchy():
    with pytest.raises(ValueError, match="own ancestors"):
        LabelHierarchy.of_parents("ab", {"a": ["b"], "b": ["a"]})


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.random((300, 8)) < 0.3
    tags = [[f"{'uv'[j // 4]}/{j}" for j in np.flatnonzero(row)] for row in X]
    return X + 0.1 * rng.normal(size=X.shape), tags


def test_predictions_are_closed_in_every_container(rows):
    X, tags = rows
    model = HierarchicalClassifier(GroPLE(random_state=0), separator="/").fit(X, tags)
    assert set(model.classes_) == {f"{'uv'[j // 4]}/{j}" for j in range(8)} | {"u", "v"}
    for given in model.predict_tags(X[:50]):
        assert {tag[0] for tag in given} == {tag for tag in given if "/" not in tag}
    chances = model.predict_proba(X[:50])
    place = {name: i for i, name in enumerate(model.classes_)}
    assert (chances[:, place["u"]] >= chances[:, place["u/1"]]).all()
    Y = pd.DataFrame([dict.fromkeys(row, 1) for row in tags]).fillna(0).astype(int)
    parents = {name: [name[0]] for name in Y.columns}
    again = clone(HierarchicalClassifier(GroPLE(random_state=0), parents)).fit(X, Y)
    frame = again.predict(X[:50].tolist())
    assert set(frame.columns) == set(model.classes_)
    given = model.predict(X[:50])
    assert sp.issparse(given)
    np.testing.assert_array_equal(frame[list(model.classes_)], given.toarray())
    assert model.score(X[:50], given) == 1.0
    np.testing.assert_array_equal(
        model.decision_function(X[:9]), model.estimator_.decision_function(X[:9])
    )


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (HierarchicalClassifier(), [["a"]], "either the parents"),
        (HierarchicalClassifier(separator="/"), ["a"], "one class a row"),
    ],
)
def test_what_makes_no_sense_is_refused(model, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit([[0.0]], y)


def test_measures_without_best_sets_are_refused():
    hierarchy = LabelHierarchy.of_parents(NAMES, TREE)
    with pytest.raises(ValueError, match="example_f1 or accuracy"):
        hierarchy.labels(np.ones((1, 6)), "macro_f1")
