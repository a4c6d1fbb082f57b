from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from grople.datasets import Bundle, describe, names, read


def test_a_card_by_hand():
    X = np.array([[1, 0, 2], [1, 0, 2], [1, 0, 2], [0, 3, 0], [0, 0, 0.5]])
    Y = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    bundle = Bundle(X, Y, label_names=["a", "b", "c", "d"], feature_names=["p", "q", "r"])
    for features in (X, sp.csr_array(X)):
        card = describe(Bundle(features, Y, bundle.feature_names, bundle.label_names))
        assert (card.instances, card.features, card.labels) == (5, 3, 4)
        assert card.cardinality == pytest.approx(6 / 5)
        assert card.density == pytest.approx(6 / 20)
        assert card.feature_density == pytest.approx(8 / 15)
        assert card.sparse == sp.issparse(features)
        assert (card.max_labels_in_row, card.label_sets) == (2, 4)
        assert (card.rows_without_labels, card.labels_never) == (1, 1)
        assert (card.duplicate_rows, card.conflicting_rows) == (1, 1)
        # Counts 3, 2, 1: ratios 1, 1.5, 3.
        assert card.imbalance_mean == pytest.approx(5.5 / 3)
        assert card.imbalance_max == 3
        assert card.leaks == (("p", "a"), ("q", "d"))
        assert [(b.low, b.high, b.labels) for b in card.frequencies] == [
            (0, 0, 1),
            (1, 1, 1),
            (2, 4, 2),
        ]
        assert len(card.warnings) == 2


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_rows_are_counted_as_by_brute_force(data):
    n_rows = data.draw(st.integers(1, 8))
    X = data.draw(arrays(float, (n_rows, 2), elements=st.sampled_from([0.0, -0.0, 1.0])))
    Y = data.draw(arrays(int, (n_rows, 2), elements=st.sampled_from([0, 1])))
    card = describe(Bundle(X, Y))
    features = {tuple(row + 0.0) for row in X}
    pairs = {(tuple(x + 0.0), tuple(y)) for x, y in zip(X, Y, strict=True)}
    assert card.duplicate_rows == n_rows - len(pairs)
    assert card.conflicting_rows == len(pairs) - len(features)
    assert card.label_sets == len({tuple(y) for y in Y})
    assert sum(b.labels for b in card.frequencies) == card.labels


def test_bins_cover_every_frequency_once():
    # Label i occurs in i rows.
    Y = (np.arange(1200)[:, None] < np.arange(1101)[None, :]).astype(int)
    card = describe(Bundle(np.ones((1200, 1)), sp.csr_array(Y)))
    for b in card.frequencies[:-1]:
        assert b.labels == b.high - b.low + 1
    assert [b.low for b in card.frequencies] == [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    assert card.frequencies[-1].labels == 101


def test_no_labels_at_all_is_still_json():
    card = describe(Bundle(np.ones((3, 1)), sp.csr_array((3, 2), dtype=int)))
    plain = json.loads(json.dumps(card.to_dict(), allow_nan=False))
    assert plain["imbalance_mean"] is None
    assert plain["halves"]["verdict"] == "alike"
    assert plain["rows_without_labels"] == 3


SHIFTS = {"rcv1subset1": -1, "rcv1subset2": -12, "rcv1subset3": -14}
SORTED = {"corel5k", "corel16k001", "genbase"}


@pytest.mark.data
def test_real_data_sets(shared_data):
    """The label shift is reported where it is and nowhere else; known defects are found."""
    paths = (shared_data / "npz").glob("*.npz")
    cards = {path.stem: describe(read(path)) for path in paths if path.stem in names()}
    assert {n: c.halves.shift for n, c in cards.items() if c.halves.verdict == "shifted"} == SHIFTS
    assert {n for n, c in cards.items() if c.halves.verdict == "differ"} == SORTED
    assert {n for n, c in cards.items() if c.leaks} == {
        "genbase",
        "genbase-authors",
        "bibtex",
        "medical",
    }
    assert cards["delicious"].rows_without_labels == 14
    assert cards["mediamill-reduced"].rows_without_labels == 75
    assert cards["mediamill-reduced"].labels_never == 5
    assert "3000-5999 stand 12 columns too far to the left" in cards["rcv1subset2"].warnings[0]
