"""Row keys: the content of a row, all of it, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from grople.moments import fold_of, mix, row_keys


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
    "explicit minus zeros": lambda X: with_explicit_zeros(np.where(X == 0, -0.0, X)),
    "entries in parts": split_entries,
    "more columns": lambda X: np.pad(X, ((0, 0), (0, 5))),
    "more sparse columns": lambda X: sp.csr_array(np.pad(X, ((0, 0), (0, 5)))),
}


@pytest.mark.parametrize("represent", SAME.values(), ids=SAME)
def test_one_row_many_representations(represent):
    X = rows()
    held = represent(X)
    before = held.copy()
    np.testing.assert_array_equal(row_keys(held), row_keys(X))
    if sp.issparse(held):
        assert held.nnz == before.nnz
        np.testing.assert_array_equal(held.data, before.data)
        np.testing.assert_array_equal(held.indices, before.indices)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float32])
def test_one_row_many_dtypes(dtype):
    B = rows() > 0
    np.testing.assert_array_equal(row_keys(B.astype(dtype)), row_keys(B * 1.0))
    np.testing.assert_array_equal(
        row_keys(rows(), sp.csr_array(B.astype(dtype))), row_keys(rows(), B)
    )


def test_each_row_stands_for_itself():
    X, B = rows(), rows(1) > 0
    weights = np.random.default_rng(2).random(50)
    order = np.random.default_rng(3).permutation(50)
    whole = row_keys(X, B, weights)
    np.testing.assert_array_equal(row_keys(X[order], B[order], weights[order]), whole[order])
    np.testing.assert_array_equal(row_keys(X[7:9], B[7:9], weights[7:9]), whole[7:9])


def test_features_labels_and_weights_all_count():
    X, B = np.eye(3), np.eye(3)
    found = [row_keys(X, B), row_keys(X, B[::-1])[[0, 2]], row_keys(X, B, np.full(3, 2.0)),
             row_keys(2 * X, B), row_keys(X)]  # fmt: skip
    assert len(np.unique(np.concatenate(found))) == 14
    # A mark among the labels is not the same mark among the features.
    one = np.array([[0.0, 1.0]])
    assert row_keys(one, 0 * one)[0] != row_keys(0 * one, one)[0]


def test_a_weight_of_one_is_no_weight():
    X, B = rows(), rows(1) > 0
    np.testing.assert_array_equal(row_keys(X, B, np.ones(50)), row_keys(X, B))
    np.testing.assert_array_equal(row_keys(X, weights=np.ones(50)), row_keys(X))


def test_distinct_rows_stay_distinct():
    rng = np.random.default_rng(4)
    B = np.unique(rng.random((21_000, 40)) < 0.3, axis=0)
    found = row_keys(B)
    assert len(np.unique(found)) == len(B) > 20_000
    # 64 random bits: each is set in about half of the rows (five standard deviations).
    bits = (found[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.all(np.abs(bits.mean(axis=0) - 0.5) < 2.5 / np.sqrt(len(B)))
    X = np.tile(rows(n=1), (200, 1))
    X[np.arange(200), np.arange(200) % 8] += (1 + np.arange(200)) * 1e-15
    assert len(np.unique(X, axis=0)) == len(np.unique(row_keys(X)))


def test_a_row_of_zeros_is_a_row_like_others():
    # Its key is as random as any, not the smallest or largest of all.
    found = row_keys(np.zeros((2, 5)))
    assert found[0] == found[1] == row_keys(sp.csr_array((1, 9)))[0]
    assert 2**54 < found[0] < 2**64 - 2**54


def test_shapes_without_content():
    assert row_keys(np.zeros((0, 4))).shape == (0,)
    assert row_keys(sp.csr_array((0, 4))).dtype == np.uint64
    assert len(np.unique(row_keys(np.zeros((3, 0)), np.eye(3)))) == 3


def test_folds_are_balanced_and_other_draws_give_others():
    keys = row_keys(np.random.default_rng(1).random((5000, 3)))
    folds, others = fold_of(keys, 5), fold_of(keys, 5, draw=1)
    for found in (folds, others, fold_of(np.sort(keys)[:1000], 5)):
        share = len(found) / 5
        # Five standard deviations of a binomial.
        assert np.all(np.abs(np.bincount(found, minlength=5) - share) < 5 * np.sqrt(share * 0.8))
    assert np.mean(folds == others) < 0.25


def test_mix_is_one_to_one():
    assert len(np.unique(mix(np.arange(100_000, dtype=np.uint64)))) == 100_000
