"""The sample: the same rows however they came, never more than it may hold."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from grople.fingerprints import row_fingerprints
from grople.reservoir import Reservoir, fold_of


def data(n=60, seed=0, copies=False):
    """Rows; with ``copies`` most features are those of another row, labels differ."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 2)).astype(float) if copies else rng.random((n, 4))
    return X, (rng.random((n, 3)) < 0.4).astype(float), rng.integers(1, 3, n).astype(float)


def content(sample):
    """The kept rows, as a bag."""
    X = sample.X.toarray() if sp.issparse(sample.X) else sample.X
    weights = np.ones(len(X)) if sample.weights is None else sample.weights
    return Counter(map(tuple, np.hstack([X, sample.B.toarray(), weights[:, None]]).tolist()))


def streamed(X, B, weights, blocks, capacity):
    sample = None
    for rows in blocks:
        part = None if weights is None else weights[rows]
        if sample is None:
            sample = Reservoir.of(X[rows], B[rows], part, capacity=capacity)
        else:
            sample = sample.added(X[rows], B[rows], part)
    return sample


@pytest.mark.parametrize("copies", [False, True], ids=["distinct", "copies"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 50),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    capacity=st.integers(1, 70),
)
def test_any_order_and_any_blocks_keep_the_same_rows(copies, weighted, seed, cuts, capacity):
    X, B, weights = data(seed=seed, copies=copies)
    weights = weights if weighted else None
    whole = Reservoir.of(X, B, weights, capacity=capacity)
    order = np.random.default_rng(seed).permutation(60)
    parts = streamed(X, B, weights, np.split(order, sorted(cuts)), capacity)
    assert len(whole) == len(parts) == min(capacity, 60)
    assert content(whole) == content(parts)


def test_sparse_and_dense_streams_keep_the_same_rows():
    X, B, _ = data()
    dense = Reservoir.of(X, B, None, capacity=20)
    sparse = Reservoir.of(sp.csr_array(X[:30]), B[:30], None, capacity=20)
    mixed = sparse.added(X[30:], sp.csr_array(B[30:]), None)
    assert content(mixed) == content(dense)


def test_everything_is_kept_below_the_capacity():
    X, B, weights = data()
    sample = Reservoir.of(X, B, weights, capacity=100)
    np.testing.assert_array_equal(sample.X, X)
    np.testing.assert_array_equal(sample.B.toarray(), B)
    np.testing.assert_array_equal(sample.weights, weights)


def test_the_sample_is_a_copy():
    X, B, weights = data()
    sample = Reservoir.of(X, B, weights, capacity=100)
    before = content(sample)
    X[:], B[:], weights[:] = 9, 1, 9
    assert content(sample) == before


def test_sample_does_not_depend_on_the_labels():
    # Which rows are kept must not follow from what is to be predicted.
    X, B, _ = data()
    first, second = (Reservoir.of(X, labels, None, capacity=20) for labels in (B, 1 - B))
    np.testing.assert_array_equal(first.X, second.X)


def test_labels_that_come_later():
    X, B, _ = data()
    sample = Reservoir.of(X[:30], B[:30, :2], None, capacity=60).added(X[30:], B[30:], None)
    B[:30, 2] = 0
    assert content(sample) == content(Reservoir.of(X, B, None, capacity=60))


def test_plain_and_weighted_rows_mix():
    X, B, weights = data()
    sample = Reservoir.of(X[:30], B[:30], None, capacity=60).added(X[30:], B[30:], weights[30:])
    weights[:30] = 1.0
    assert content(sample) == content(Reservoir.of(X, B, weights, capacity=60))
    # Rows that came without weights leave without weights.
    rest = sample.removed(X[:30], B[:30], None)
    assert content(rest) == content(Reservoir.of(X[30:], B[30:], weights[30:], capacity=60))


@pytest.mark.parametrize("copies", [False, True], ids=["distinct", "copies"])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 50), size=st.integers(0, 60), capacity=st.integers(1, 70))
def test_removed_rows_are_gone(copies, seed, size, capacity):
    X, B, weights = data(seed=seed, copies=copies)
    sample = Reservoir.of(X, B, weights, capacity=capacity)
    gone = np.random.default_rng(seed).permutation(60)[:size]
    rest = sample.removed(X[gone], B[gone], weights[gone])
    rows = np.hstack([X, B, weights[:, None]])
    removed = Counter(map(tuple, rows[gone].tolist()))
    assert content(rest) == content(sample) - removed
    assert len(rest) == len(rest.keys) == rest.X.shape[0] == rest.B.shape[0]
    np.testing.assert_array_equal(rest.keys, row_fingerprints(rest.X))


def test_removing_unknown_rows_changes_nothing():
    X, B, _ = data()
    sample = Reservoir.of(X[:20], B[:20], None, capacity=60)
    assert content(sample.removed(X[20:], B[20:], None)) == content(sample)


def test_folds_are_balanced_and_copies_stay_together():
    X = np.random.default_rng(1).random((5000, 3))
    sample = Reservoir.of(np.repeat(X, 2, axis=0), np.ones((10_000, 1)), None, capacity=4000)
    folds = sample.folds(5)
    # Pairs are assigned at random: 400 a fold, five standard deviations of a binomial.
    counts = np.bincount(folds, minlength=5) / 2
    assert np.all(np.abs(counts - 400) < 5 * np.sqrt(2000 * 0.2 * 0.8))
    for half in (0, 1):
        assert sample.folds(2).mean() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(2000)), half
    by_row = {}
    for row, fold in zip(map(tuple, sample.X), folds, strict=True):
        assert by_row.setdefault(row, fold) == fold


def test_fold_is_a_matter_of_the_row_alone():
    X, B, _ = data(500)
    few, many = (Reservoir.of(X, B, None, capacity=c) for c in (100, 500))
    fold = dict(zip(many.keys.tolist(), many.folds(5), strict=True))
    assert [fold[key] for key in few.keys.tolist()] == few.folds(5).tolist()
    assert np.array_equal(fold_of(row_fingerprints(sp.csr_array(X)), 5), many.folds(5))
