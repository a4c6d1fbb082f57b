from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from grople.datasets import _leaks as leaks


def brute_force(X, Y):
    found = []
    for feature in range(X.shape[1]):
        values = np.unique(X[:, feature][X[:, feature] != 0])
        for label in range(Y.shape[1]):
            positive = Y[:, label] == 1
            if len(values) != 1 or positive.all() or not positive.any():
                continue
            filled = X[:, feature] != 0
            if (filled == positive).all() or (filled != positive).all():
                found.append((feature, label))
    return found


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_equals_brute_force_dense_and_sparse(data):
    n_rows = data.draw(st.integers(1, 5))
    X = data.draw(arrays(float, (n_rows, 4), elements=st.sampled_from([0.0, 0.0, 1.0, 2.5])))
    Y = data.draw(arrays(int, (n_rows, 3), elements=st.sampled_from([0, 1])))
    expected = brute_force(X, Y)
    assert sorted(leaks.find_leaks(X, sp.csr_array(Y))) == expected
    assert sorted(leaks.find_leaks(sp.csr_array(X), sp.csr_array(Y))) == expected


def test_stored_zeros_count_as_zeros():
    X = sp.csr_array((np.array([3.0, 0.0, 3.0]), (np.array([0, 1, 2]), np.zeros(3, int))))
    Y = sp.csr_array(np.array([[1], [0], [1]]))
    assert X.nnz == 3
    assert leaks.find_leaks(X, Y) == [(0, 0)]


def test_blocks_of_rows_make_no_difference(monkeypatch):
    rng = np.random.default_rng(0)
    Y = (rng.random((50, 6)) < 0.3).astype(int)
    X = np.column_stack([2.0 * Y[:, 4], rng.random(50), 1 - Y[:, 1]])
    whole = leaks.find_leaks(X, sp.csr_array(Y))
    monkeypatch.setattr(leaks, "BLOCK_ELEMENTS", 20)
    assert leaks.find_leaks(X, sp.csr_array(Y)) == whole == [(0, 4), (2, 1)]
