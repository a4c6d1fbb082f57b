"""Columns of numbers: found by name, scaled to unit length, the same bits however they come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from grople.errors import DataError
from grople.features import PlainFeatures, plain_columns


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csr_matrix, sp.coo_array])
@pytest.mark.parametrize("unit_rows", [False, True])
def test_rows_by_number_and_by_name(kind: Any, unit_rows: bool) -> None:
    X = np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    features = plain_columns(["a", "b", "c"], unit_rows=unit_rows)
    assert isinstance(features, PlainFeatures)
    expected = normalize(X) if unit_rows else X
    given = kind(X)
    for rows in (features.transform(given), features.transform(given, names=["a", "b", "c"])):
        dense = rows.toarray() if sp.issparse(rows) else rows
        np.testing.assert_array_equal(dense, expected)
    wide = kind(np.column_stack([X[:, 2], np.ones(2), X[:, 0], X[:, 1]]))
    rows = features.transform(wide, names=["c", "other", "a", "b"])
    np.testing.assert_array_equal(rows.toarray() if sp.issparse(rows) else rows, expected)
    np.testing.assert_array_equal(given.toarray() if sp.issparse(given) else given, X)


def test_columns_that_do_not_fit() -> None:
    features = plain_columns(["a", "b", "c"])
    with pytest.raises(DataError, match="2 features, but the model was fitted on 3"):
        features.transform(np.zeros((1, 2)))
    with pytest.raises(DataError, match="no column 'b' and 1 others"):
        features.transform(np.zeros((1, 2)), names=["a", "x"])
    with pytest.raises(DataError, match="same name"):
        features.transform(np.zeros((1, 4)), names=["a", "a", "b", "c"])
    with pytest.raises(ValueError, match="must be texts"):
        PlainFeatures(np.array([1, 2]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_rows_of_unit_length_have_the_same_bits_however_they_come(dtype: Any) -> None:
    X = (10 * np.random.default_rng(0).normal(size=(200, 37))).astype(dtype)
    names = [f"f{i}" for i in range(37)]
    features = plain_columns(names, unit_rows=True)
    expected = features.transform(X)
    order = np.random.default_rng(1).permutation(37)
    turned = [names[i] for i in order]
    shuffled = sp.csr_array(X)[:, order]
    for rows in (
        features.transform(sp.csr_array(X)).toarray(),
        features.transform(np.asfortranarray(X)),
        np.vstack([features.transform(X[[i]]) for i in range(200)]),
        features.transform(X[:, order], names=turned),
        features.transform(shuffled, names=turned).toarray(),
    ):
        np.testing.assert_array_equal(rows, expected)
