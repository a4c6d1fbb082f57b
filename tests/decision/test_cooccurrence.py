"""The co-occurrence feature: features and labels counted together."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from grople.decision import cooccurrence_feature
from grople.decision._cooccurrence import RARE

AMOUNTS = sp.random_array((60, 9), density=0.4, random_state=1, format="csr")
MARKS = (
    sp.random_array((60, 4), density=0.3, random_state=2, format="csr").astype(bool).astype(float)
)


def feature_of(X, B):
    return cooccurrence_feature(sp.csr_array(X.T @ B), np.asarray(X.sum(axis=0)).ravel())


def test_counts_pair_by_pair():
    feature = feature_of(AMOUNTS, MARKS)
    X, B = AMOUNTS.toarray(), MARKS.toarray()
    for i in range(5):
        for label in range(4):
            spoken = 0.0
            for j in range(9):
                share = sum(X[:, j] * B[:, label]) / sum(X[:, j])
                spoken += X[i, j] * math.log(1 + share / RARE)
            of_all = (X * B[:, [label]]).sum() / X.sum()
            expected = spoken / X[i].sum() - math.log(1 + of_all / RARE)
            # Weights of up to ln(101) are kept in single precision.
            assert feature(AMOUNTS[[i]])[0, label] == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(feature(AMOUNTS), feature(X), rtol=1e-12)


def test_a_row_without_features_has_the_base():
    feature = feature_of(AMOUNTS, MARKS)
    np.testing.assert_array_equal(feature(np.zeros((1, 9)))[0], feature.base)


def test_features_that_are_no_amounts_have_none():
    X = AMOUNTS.toarray()
    assert feature_of(X - X.mean(axis=0), MARKS) is None
    assert feature_of(np.zeros((60, 9)), MARKS) is None


@pytest.mark.parametrize("dense", [False, True])
def test_a_row_has_the_same_values_in_any_company(dense):
    feature = feature_of(AMOUNTS, MARKS)
    X = AMOUNTS.toarray() if dense else AMOUNTS
    whole = feature(X)
    for rows in (slice(3, 4), slice(0, 7), [5, 3, 59], np.arange(60)[::-1]):
        np.testing.assert_array_equal(feature(X[rows]), whole[rows])
    if dense:
        np.testing.assert_array_equal(feature(np.asfortranarray(X)), whole)
