"""Parameters: what each kind takes, and the sentence when it does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grople.parameters import Anything, Choice, Flag, Number, Portion, Whole, check_parameters

FINE = [
    (Number(), [0, 0.0, 3, 2.5, np.float32(1), np.int64(4), 1e300]),
    (Number(high=1.0), [0, 0.5, 1, True and 1.0]),
    (Number(low=-1.0, words=("auto",)), [-1, "auto", 7.5]),
    (Whole(), [1, 7, np.int8(3)]),
    (Whole(0, words=("auto",)), [0, "auto"]),
    (Portion(), [1, 5, 0.1, 1.0, np.float64(0.5), np.int64(2)]),
    (Portion(words=("log",)), ["log"]),
    (Choice(("a", None)), ["a", None]),
    (Flag(), [True, False, np.True_]),
    (Flag(words=("auto",)), [True, "auto"]),
    (Anything(), [None, 1, "x", [1], math.nan]),
]
BAD = [
    (Number(), [-1e-9, math.nan, math.inf, "auto", None, True, 1j, [1]], "at least 0"),
    (Number(high=1.0), [1.1, -0.1], "at least 0 and at most 1"),
    (Number(words=("auto",)), ["automatic", -1], "or 'auto'"),
    (Whole(), [0, -1, 1.0, 2.5, True, np.True_, "3", None], "whole number of at least 1"),
    (Whole(0, words=("auto",)), ["x", -1], "at least 0, or 'auto'"),
    (Portion(), [0, 0.0, 1.5, -0.5, True, math.nan, "x", None], "share above 0"),
    (Choice(("a", None)), ["b", 0, ["a"], np.array(["a"])], "one of 'a', None"),
    (Flag(), [0, 1, "yes", None], "True or False"),
]


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, value) for kind, values in FINE for value in values], ids=str
)
def test_fine(kind, value):
    assert kind.complaint(value) is None
    check_parameters("Model", {"p": kind}, {"p": value})


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [(kind, value, wanted) for kind, values, wanted in BAD for value in values],
    ids=str,
)
def test_bad(kind, value, wanted):
    with pytest.raises(ValueError, match=rf"^Model: p must be .*{wanted}.*; got ") as caught:
        check_parameters("Model", {"q": Anything(), "p": kind}, {"q": 1, "p": value})
    assert repr(value) in str(caught.value)


def test_the_first_complaint_counts():
    with pytest.raises(ValueError, match="a must be"):
        check_parameters("M", {"a": Whole(), "b": Whole()}, {"a": 0, "b": 0})


def test_unknown_parameters_are_a_mistake_of_ours():
    with pytest.raises(KeyError):
        check_parameters("M", {}, {"a": 0})
