"""The sample against a bag of rows, however these came and went."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from grople.moments import Sample, row_keys


def universe(seed=0):
    """Thirty different rows, many of them with equal features."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (30, 2)).astype(float)
    return X, rng.integers(0, 2, (30, 3)).astype(float), rng.integers(1, 3, 30).astype(float)


def block(rows, seed=0, sparse=False, capacity=None):
    X, B, weights = universe(seed)
    rows = np.asarray(rows, dtype=int)
    held = sp.csr_array(X[rows]) if sparse else X[rows]
    return Sample.of(held, B[rows], weights[rows], capacity)


def content(sample):
    """The rows of a sample with their numbers."""
    X = sample.X.toarray() if sp.issparse(sample.X) else sample.X
    rows = np.hstack([X, sample.B.toarray(), sample.weights[:, None]]).tolist()
    assert len(set(map(tuple, rows))) == len(rows)
    return Counter(dict(zip(map(tuple, rows), sample.copies.astype(int).tolist(), strict=True)))


def expected(bag, seed=0, capacity=None):
    """What a sample of a bag of row numbers holds: the distinct rows with the smallest keys."""
    X, B, weights = universe(seed)
    found = Counter()
    for row, copies in bag.items():
        key = int(row_keys(X[[row]])[0]), int(row_keys(X[[row]], B[[row]], weights[[row]])[0])
        found[key, tuple(np.concatenate([X[row], B[row], weights[[row]]]).tolist())] += copies
    ordered = sorted(pair for pair in found.items() if pair[1])
    return [(row, copies) for (_, row), copies in ordered[:capacity]]


MOVES = st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 29), max_size=12)), max_size=7)


@settings(max_examples=120, deadline=None)
@given(MOVES, st.integers(0, 5), st.integers(0, 20), st.booleans())
def test_it_is_the_sample_of_the_bag_of_rows(moves, seed, capacity, sparse):
    sample, bag = block([], seed, sparse, capacity), Counter()
    for add, rows in moves:
        rows = rows if add else [row for row, n in (Counter(rows) & bag).items() for _ in range(n)]
        part = block(rows, seed, sparse, capacity if add else None)
        sample = sample + part if add else sample - part
        bag = bag + Counter(rows) if add else bag - Counter(rows)
        order = list(zip(sample.feature_keys, sample.keys, strict=True))
        assert order == sorted(order)
        held = sample.X.toarray() if sparse else sample.X
        np.testing.assert_array_equal(sample.feature_keys, row_keys(held))
        np.testing.assert_array_equal(sample.keys, row_keys(held, sample.B, sample.weights))
        assert len(sample) <= 2 * capacity
        # As far as it is complete it is what a bag of all rows says.
        wanted = expected(bag, seed)
        assert content(sample) == Counter(dict(wanted[: len(sample)]))
        if sample.complete:
            assert len(sample) == len(wanted)
        if sample.sufficient:
            assert content(sample.first()) == Counter(dict(wanted[:capacity]))
        np.testing.assert_array_equal(sample.totals, sample.copies * sample.weights)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 14), max_size=10), st.lists(st.integers(0, 29), max_size=9),
    st.integers(1, 6),
)  # fmt: skip
def test_rows_that_were_never_added_are_refused(added, gone, capacity):
    rows = list(map(tuple, np.hstack([part.reshape(30, -1) for part in universe()])))
    first = [rows.index(row) for row in rows]  # of equal ones
    sample = block(added, capacity=capacity)
    missing = Counter(first[i] for i in gone)
    missing.subtract(first[i] for i in added)
    number = sum(n for n in missing.values() if n > 0)
    if not sample.complete or not number:
        return
    with pytest.raises(ValueError, match=f"cannot remove {number} rows that were never added"):
        sample - block(gone)


def test_forgetting_uses_up_the_reserve():
    sample = block(range(30), capacity=5)
    assert len(sample) == 10
    assert not sample.complete
    for left in (9, 7, 5, 3):
        gone = sample.take(slice(0, len(sample) - left))
        sample = sample - gone
        assert len(sample) == left
        assert sample.sufficient == (left >= 5)
    # Rows beyond where it is complete are not known; below they are.
    again = sample + block(range(30), capacity=5)
    assert len(again) == 10
    assert again.complete_to == sample.complete_to


def test_dense_and_sparse_rows_are_the_same_rows():
    dense, sparse = block(range(20), capacity=6), block(range(20), sparse=True, capacity=6)
    assert content(dense) == content(sparse)
    np.testing.assert_array_equal(dense.keys, sparse.keys)
    assert content(dense + block(range(20, 30), sparse=True)) == content(
        sparse + block(range(20, 30))
    )


def test_the_sample_is_a_copy():
    X, B, weights = np.random.default_rng(0).random((20, 3)), np.eye(20), np.ones(20)
    X = X[np.argsort(row_keys(X))]  # in the order of their keys already
    for held in (X, sp.csr_array(X)):
        sample = Sample.of(held, B, weights, None)
        before = content(sample)
        (held.data if sp.issparse(held) else held)[:] += 1
        B[:], weights[:] = 1 - B, weights + 1
        assert content(sample) == before


def test_which_rows_are_kept_does_not_follow_from_the_labels():
    X, B = np.random.default_rng(0).random((60, 4)), np.eye(60)[:, :3]
    first, second = (Sample.of(X, labels, None, 10) for labels in (B, 1 - B))
    np.testing.assert_array_equal(first.X, second.X)


def test_labels_that_come_later():
    X, B, weights = universe()
    narrow = Sample.of(X[:15], B[:15, :2], weights[:15], None)
    assert narrow.padded(3).B.shape == (len(narrow), 3)
    B[:15, 2] = 0
    both = narrow + Sample.of(X[15:], B[15:], weights[15:], None)
    assert content(both) == content(Sample.of(X, B, weights, None))


def test_rows_with_the_same_features_share_a_fold_whatever_else_is_there():
    X = np.random.default_rng(1).random((400, 3))
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 400, 900)
    sample = Sample.of(X[rows], rng.integers(0, 2, (900, 4)), None, None)
    folds = sample.folds(5)
    by_row = {}
    for row, fold in zip(map(tuple, sample.X), folds, strict=True):
        assert by_row.setdefault(row, fold) == fold
    few = Sample.of(X[rows[:50]], np.zeros((50, 4)), None, None)
    assert [by_row[tuple(row)] for row in few.X] == few.folds(5).tolist()
