"""The bundle: immutable, checked, with names for every column."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from grople import datasets
from grople.datasets import Bundle, NumberedNames


def test_public_names() -> None:
    assert set(datasets.__all__) == {
        *("Bundle", "TextTable", "MixedTable", "NumberedNames", "Reading", "TagColumn", "Records"),
        *("load", "names", "find", "locate", "fetch", "Entry", "Location", "Progress", "is_a_file"),
        *("read", "read_examples", "read_blocks", "Blocks", "open_records", "aligned_features"),
        *("detect", "READERS", "write", "WRITERS", "find_separator", "label_matrix"),
        *("spread_labels", "describe", "Summary", "make_grouped_multilabel"),
    }
    assert all(hasattr(datasets, name) for name in datasets.__all__)


def test_nothing_in_it_can_be_changed() -> None:
    X, Y = sp.csr_array(np.eye(3)), sp.csr_array(np.eye(3, dtype=int))
    for features in (X, X.toarray()):
        bundle = Bundle(features, Y)
        with pytest.raises(dataclasses.FrozenInstanceError):
            bundle.name = "other"  # type: ignore[misc]
        with pytest.raises(ValueError, match="read-only"):
            bundle.Y.data[0] = 2
        values = bundle.X.data if sp.issparse(bundle.X) else bundle.X
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 2
    X.data[0] = 7  # the caller's own array stays writeable


@pytest.mark.parametrize(
    ("X", "Y", "names", "reason"),
    [
        (np.eye(3), np.eye(2), {}, "X has 3 rows but Y has 2"),
        (np.ones(3), np.eye(3), {}, "two dimensions"),
        (np.eye(2), 2 * np.eye(2), {}, "Y holds 2.0; labels are 0 or 1"),
        (np.eye(2), np.eye(2), {"label_names": ["a"]}, "1 label names for 2 columns"),
        (np.eye(2), np.eye(2), {"feature_names": "abc"}, "3 feature names for 2 columns"),
    ],
)
def test_refused(X: object, Y: object, names: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Bundle(X, Y, **names)


def test_repeated_and_unsorted_entries_are_put_in_order() -> None:
    X = sp.csr_array((np.array([1.0, 2, 3]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    assert Bundle(X, np.array([[1]])).X.data.tolist() == [2, 4]


def test_numbered_names_are_a_sequence_like_any_other() -> None:
    bundle = Bundle(np.eye(3), np.eye(3))
    listed = ("feature0", "feature1", "feature2")
    names = bundle.feature_names
    assert names == listed
    assert listed == names
    assert names != bundle.label_names
    assert tuple(names) == listed
    assert (names[-1], names[1:], len(names)) == ("feature2", listed[1:], 3)
    assert "feature1" in names
    assert hash(names) == hash(listed)
    assert pickle.loads(pickle.dumps(names)) == names
    assert Bundle(np.eye(3), np.eye(3), feature_names=names).feature_names is names
    assert repr(NumberedNames("label", 5)) == "NumberedNames('label', 5)"
