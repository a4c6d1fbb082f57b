"""The forest expert: its nodes followed by hand, and rows that its trees have not seen."""

import numpy as np
import scipy.sparse as sp

from grople.experts._forest import fit_forest
from grople.moments import Sample


def sample_of(n=120, seed=0, copies=1):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(n // copies, 4)), copies, axis=0)
    B = (X[:, :3] + rng.normal(scale=0.3, size=(len(X), 3)) > 0).astype(float)
    return Sample.of(X, sp.csr_array(B), None, None)


def forest_of(sample, n_trees=6):
    B = sample.B.toarray()
    return fit_forest(sample, 2 * B - 1, np.eye(3), n_trees, seed=0)


def leaf_by_hand(forest, row, node):
    while forest.left[node] != node:
        value = np.float32(row[forest.columns[forest.feature[node]]])
        below = value <= forest.threshold[node]
        node = forest.left[node] if below else forest.right[node]
    return node


def test_scores_are_the_mean_shares_of_the_leaves():
    sample = sample_of()
    forest, _ = forest_of(sample)
    X = np.random.default_rng(1).normal(size=(30, 4))
    shares = forest.shares.toarray()
    expected = [
        2 * np.mean([shares[leaf_by_hand(forest, row, root)] for root in forest.roots], axis=0) - 1
        for row in X
    ]
    np.testing.assert_allclose(forest(X), expected, atol=1e-6)
    np.testing.assert_array_equal(forest(X), forest(sp.csr_array(X)))


def test_padding_changes_nothing():
    forest, _ = forest_of(sample_of())
    X = np.random.default_rng(1).normal(size=(5, 4))
    padded = np.vstack([X, np.zeros((3, 4))])
    np.testing.assert_array_equal(forest(padded)[:5], forest(X))
    np.testing.assert_array_equal(forest(padded)[5:], np.repeat(forest(np.zeros((1, 4))), 3, 0))


def test_leaves_hold_the_shares_of_their_rows():
    sample = sample_of()
    forest, _ = forest_of(sample, n_trees=1)
    assert set(np.unique(forest.shares.data)) <= set(np.float32(np.arange(1, 200)[:, None]
                                                     / np.arange(1, 200)).ravel())  # fmt: skip


def test_a_row_is_scored_by_trees_that_have_not_seen_its_labels():
    sample = sample_of()
    _, before = forest_of(sample)
    points, changed = 2 * sample.B.toarray() - 1, []
    for row in (0, 17, 80):
        B = sample.B.toarray()
        B[row] = 1 - B[row]
        other = Sample.of(sample.X, sp.csr_array(B), None, None)
        _, after = fit_forest(other, points, np.eye(3), 6, seed=0)
        rows = np.array([row])
        np.testing.assert_array_equal(before.scores(rows), after.scores(rows))
        changed.append(not np.array_equal(before.forest.shares.data, after.forest.shares.data))
    assert any(changed)


def test_copies_are_held_out_together():
    sample = sample_of(copies=2)
    _, held_out = forest_of(sample)
    seen = held_out.leaves.toarray()
    for key in np.unique(sample.feature_keys):
        same = seen[sample.feature_keys == key]
        np.testing.assert_array_equal(same, np.repeat(same[:1], len(same), axis=0))
