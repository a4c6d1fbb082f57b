"""Fingerprints: the content of a row, all of it, and nothing else."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from grople import fingerprints
from grople.fingerprints import match_rows, mix, row_fingerprints


def rows(seed=0, n=50, d=8):
    rng = np.random.default_rng(seed)
    # Halves and quarters are the same number in float32 and float64.
    return rng.integers(-8, 9, (n, d)) / 4.0 * (rng.random((n, d)) < 0.6)


def with_explicit_zeros(X):
    full = sp.csr_array(np.ones_like(X))
    full.data[:] = X.ravel()
    return full


def split_entries(X):
    X = sp.csr_array(X)
    return sp.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), X.shape)


SAME = {
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "minus zero": lambda X: np.where(X == 0, -0.0, X),
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csr of float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "explicit zeros": with_explicit_zeros,
    "explicit minus zeros": lambda X: with_explicit_zeros(np.where(X == 0, -0.0, X)),
    "entries in parts": split_entries,
    "more columns": lambda X: np.pad(X, ((0, 0), (0, 5))),
    "more sparse columns": lambda X: sp.csr_array(np.pad(X, ((0, 0), (0, 5)))),
}


@pytest.mark.parametrize("represent", SAME.values(), ids=SAME)
def test_one_row_many_representations(represent, monkeypatch):
    X = rows()
    held = represent(X)
    before = held.copy()
    np.testing.assert_array_equal(row_fingerprints(held), row_fingerprints(X))
    monkeypatch.setattr(fingerprints, "_BLOCK_VALUES", 20)
    np.testing.assert_array_equal(row_fingerprints(held), row_fingerprints(X))
    if sp.issparse(held):
        assert held.nnz == before.nnz
        np.testing.assert_array_equal(held.data, before.data)
        np.testing.assert_array_equal(held.indices, before.indices)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float32])
def test_one_row_many_dtypes(dtype):
    B = rows() > 0
    np.testing.assert_array_equal(row_fingerprints(B.astype(dtype)), row_fingerprints(B * 1.0))
    np.testing.assert_array_equal(
        row_fingerprints(rows(), sp.csr_array(B.astype(dtype))), row_fingerprints(rows(), B)
    )


def test_each_row_stands_for_itself():
    X, B = rows(), rows(1) > 0
    weights = np.random.default_rng(2).random(50)
    order = np.random.default_rng(3).permutation(50)
    whole = row_fingerprints(X, B, weights)
    np.testing.assert_array_equal(
        row_fingerprints(X[order], B[order], weights[order]), whole[order]
    )
    np.testing.assert_array_equal(row_fingerprints(X[7:9], B[7:9], weights[7:9]), whole[7:9])


def test_features_labels_and_weights_all_count():
    X, B = np.eye(3), np.eye(3)
    base = row_fingerprints(X, B)
    assert not np.any(base == row_fingerprints(X, B[::-1])[[0, 2]].reshape(2, 1))
    assert not np.any(base == row_fingerprints(X, B, np.full(3, 2.0)))
    assert not np.any(base == row_fingerprints(2 * X, B))
    assert not np.any(base == row_fingerprints(X))
    # A mark among the labels is not the same mark among the features.
    one = np.array([[0.0, 1.0]])
    assert row_fingerprints(one, 0 * one)[0] != row_fingerprints(0 * one, one)[0]


def test_a_weight_of_one_is_no_weight():
    X, B = rows(), rows(1) > 0
    np.testing.assert_array_equal(row_fingerprints(X, B, np.ones(50)), row_fingerprints(X, B))
    np.testing.assert_array_equal(row_fingerprints(X, weights=np.ones(50)), row_fingerprints(X))


def test_distinct_binary_rows_stay_distinct():
    rng = np.random.default_rng(4)
    B = np.unique(rng.random((21_000, 40)) < 0.3, axis=0)
    assert len(B) > 20_000
    found = row_fingerprints(B)
    assert len(np.unique(found)) == len(B)
    # 64 random bits: each is set in about half of the rows (five standard deviations).
    bits = (found[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.all(np.abs(bits.mean(axis=0) - 0.5) < 2.5 / np.sqrt(len(B)))


def test_rows_that_only_just_differ():
    X = np.tile(rows(n=1), (200, 1))
    X[np.arange(200), np.arange(200) % 8] += (1 + np.arange(200)) * 1e-15
    assert len(np.unique(X, axis=0)) == len(np.unique(row_fingerprints(X)))
    swapped = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 0.0], [0.0, 3.0]])
    assert len(np.unique(row_fingerprints(swapped))) == 4


def test_a_row_of_zeros_is_a_row_like_others():
    # Its fingerprint is as random as any, not the smallest or largest of all.
    found = row_fingerprints(np.zeros((2, 5)))
    assert found[0] == found[1] == row_fingerprints(sp.csr_array((1, 9)))[0]
    assert 2**54 < found[0] < 2**64 - 2**54


def test_shapes_without_content():
    assert row_fingerprints(np.zeros((0, 4))).shape == (0,)
    assert row_fingerprints(sp.csr_array((0, 4))).dtype == np.uint64
    assert len(np.unique(row_fingerprints(np.zeros((3, 0)), np.eye(3)))) == 3


def test_mix_is_one_to_one():
    values = np.arange(100_000, dtype=np.uint64)
    assert len(np.unique(mix(values))) == 100_000


@settings(max_examples=150, deadline=None)
@given(
    mine=st.lists(st.integers(0, 6), max_size=15), theirs=st.lists(st.integers(0, 6), max_size=8)
)
def test_matching_equals_counting(mine, theirs):
    left = Counter(mine)
    left.subtract(theirs)
    missing = -sum(count for count in left.values() if count < 0)
    mine, theirs = np.array(mine, dtype=np.uint64), np.array(theirs, dtype=np.uint64)
    if missing:
        with pytest.raises(ValueError, match=f"cannot remove {missing} rows that were never added"):
            match_rows(mine, theirs)
        return
    found = match_rows(mine, theirs)
    assert len(np.unique(found)) == len(theirs)
    assert Counter(mine[found].tolist()) == Counter(theirs.tolist())
    assert Counter(np.delete(mine, found).tolist()) == +left
