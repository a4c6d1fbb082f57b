"""Exact sums against Python's whole numbers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grople.moments import ExactSum

#: Whole numbers of up to 79 bits that float64 holds.
LARGE = st.builds(
    lambda mantissa, shift: mantissa << shift,
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.integers(0, 25),
)
SMALL = st.integers(-(2**53) + 1, 2**53 - 1)


def whole(total: ExactSum) -> list[int]:
    """Return the numbers as Python's."""
    low = [int(v) for v in np.ravel(total.low)]
    high = [0] * len(low) if total.high is None else [int(v) for v in np.ravel(total.high)]
    return [(h << 52) + v for h, v in zip(high, low, strict=True)]


def assert_equal(one: ExactSum, other: ExactSum) -> None:
    assert np.array_equal(one.low, other.low)
    assert (one.high is None) == (other.high is None)
    assert one.high is None or np.array_equal(one.high, other.high)


@settings(deadline=None)
@given(st.lists(st.tuples(LARGE, SMALL), min_size=1, max_size=12), st.randoms())
def test_sums_are_those_of_whole_numbers(numbers, random):
    total = ExactSum.of(np.zeros(2))
    for large, small in numbers:
        total = total.plus_large(np.array([float(large), float(-large)]))
        total = total + ExactSum.of(np.array([float(small), 1.0]))
    assert whole(total) == [
        sum(large + small for large, small in numbers),
        len(numbers) - sum(large for large, _ in numbers),
    ]
    expected = [float(v) for v in whole(total)]  # rounded once
    assert np.ravel(total.real()).tolist() == expected
    again = ExactSum.of(np.zeros(2))
    for large, small in random.sample(numbers, len(numbers)):
        again = again + ExactSum.of(np.array([float(small), 1.0]))
        again = again - ExactSum.of(np.zeros(2)).plus_large(np.array([-large, large], float))
    assert_equal(again, total)


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**52), min_size=1, max_size=30), st.booleans())
@example([2**51 - 5], True)
def test_what_came_and_went_leaves_no_trace(numbers, sparse):
    def summed(values):
        array = np.array([[float(v), 0.0, 3.0] for v in values]).sum(axis=0, keepdims=True)
        return ExactSum.of(sp.csr_array(array) if sparse else array)

    start = summed([5])
    total = start
    for number in numbers:
        total = total + summed([number])
    for number in reversed(numbers):
        total = total - summed([number])
    assert total.high is None
    assert len(total.parts()) == 1
    if sparse:
        assert total.low.nnz == start.low.nnz
        assert np.array_equal(total.low.toarray(), start.low.toarray())
    else:
        assert_equal(total, start)


def test_sums_beyond_a_hundred_bits_are_refused():
    with pytest.raises(ValueError, match="beyond 104 bits: scale the features"):
        ExactSum.of(np.zeros(1)).plus_large(np.array([2.0**110]))


def test_the_same_change_of_both_parts():
    total = ExactSum.of(np.array([1.0, 2.0])).plus_large(np.array([2.0**70, 0.0]))
    wide = total.map(lambda values: np.pad(values, (0, 1)))
    assert whole(wide) == [2**70 + 1, 2, 0]
