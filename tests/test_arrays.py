"""Arrays go to a place and come back as they were; what is at home stays there."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from grople import arrays
from grople.errors import MissingExtraError
from tests.places import place, places


@pytest.mark.parametrize("library", places())
def test_values_come_back_as_they_went(library):
    there = place(library)
    values = np.arange(6.0).reshape(2, 3)
    for given in (values, sp.csr_array(values), there.array(values)):
        found = there.array(given)
        assert arrays.is_foreign(found)
        assert arrays.place_of(found) == there
        np.testing.assert_array_equal(arrays.to_numpy(found), values)
    values.flags.writeable = False
    np.testing.assert_array_equal(arrays.to_numpy(there.array(values)), values)


@pytest.mark.parametrize("library", places())
def test_helpers_agree_with_numpy(library):
    there = place(library)
    rng = np.random.default_rng(0)
    values, bins = rng.normal(size=(4, 5)), rng.integers(0, 7, 30)
    found = there.array(values)
    pairs = [
        (arrays.cumulated(found), np.cumsum(values, axis=1)),
        (arrays.taken(found, np.array([2, 0])), values[[2, 0]]),
        (arrays.taken(found, np.array([2, 0]), axis=1), values[:, [2, 0]]),
        (arrays.whole(3.0 * found), (3.0 * values).astype(int)),
        (arrays.looked_up(found[0, :], there.array(bins % 5)), values[0][bins % 5]),
        (arrays.beside(found, np.ones(3, np.float32)), np.ones(3)),
        (arrays.counted(there.array(bins), None, 9), np.bincount(bins, minlength=9)),
        (
            arrays.counted(there.array(bins), there.array(bins / 2), 9),
            np.bincount(bins, bins / 2, minlength=9),
        ),
    ]
    for ours, expected in pairs:
        # Running sums may be added in another order, hence the last digit.
        np.testing.assert_allclose(arrays.to_numpy(ours), expected, rtol=1e-14, atol=1e-14)


def test_what_is_at_home_stays_there():
    X = sp.csr_array(np.eye(3))
    assert arrays.place_of(X) is None
    assert arrays.to_numpy(X) is X
    assert arrays.returned(X, np.eye(3)) is X
    assert not arrays.is_foreign([1.0])


def test_names_of_classes_stay_at_home():
    there = place("torch")
    X = there.array(np.eye(2))
    names = np.array(["cat", "dog"])
    assert arrays.returned(names, X) is names
    assert arrays.is_foreign(arrays.returned(np.array([0, 1]), X))


def test_a_place_can_be_stored():
    there = place("torch")
    assert pickle.loads(pickle.dumps(there)) == there


def test_wrong_devices_and_rows_are_named():
    there = place("torch")
    with pytest.raises(ValueError, match="device='abacus' is not to be had here"):
        arrays.place_of(None, "abacus")
    for values, wrong in (
        (np.ones(3), "must be a matrix"),
        (np.ones((0, 3)), "0 sample"),
        (np.array([[np.nan]]), "NaN or infinity"),
        (np.array([[1j]]), "complex"),
    ):
        with pytest.raises(ValueError, match=wrong):
            arrays.check_rows(there.array(values))


def test_a_missing_extra_is_named(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("grople.errors.import_module", missing)
    with pytest.raises(MissingExtraError, match=r"pip install 'grople\[gpu\]'"):
        arrays.place_of(None, "cuda")
