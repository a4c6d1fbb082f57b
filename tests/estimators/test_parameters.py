"""Parameters: what each kind takes, the sentence when it does not, and those of GroPLE."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grople import GroPLE, GroPLECV, Solver
from grople.datasets import make_grouped_multilabel
from grople.decision import Rule
from grople.errors import Choice, Flag, Number, Portion, Whole, check_parameters

FINE = [
    (Number(), [0, 0.0, 3, 2.5, np.float32(1), np.int64(4), 1e300]),
    (Number(high=1.0), [0, 0.5, 1]),
    (Number(low=-1.0, words=("auto",)), [-1, "auto", 7.5]),
    (Whole(), [1, 7, np.int8(3)]),
    (Whole(0, words=("auto",)), [0, "auto"]),
    (Portion(), [1, 5, 0.1, 1.0, np.float64(0.5), np.int64(2)]),
    (Portion(words=("log",)), ["log"]),
    (Choice(("a", None)), ["a", None]),
    (Flag(words=("auto",)), [True, False, "auto"]),
]
BAD = [
    (Number(), [-1e-9, math.nan, math.inf, "auto", None, True, 1j, [1]], "at least 0"),
    (Number(high=1.0), [1.1, -0.1], "at least 0 and at most 1"),
    (Number(words=("auto",)), ["automatic", -1], "or 'auto'"),
    (Whole(), [0, -1, 1.0, 2.5, True, "3", None], "whole number of at least 1"),
    (Whole(0, words=("auto",)), ["x", -1], "at least 0, or 'auto'"),
    (Portion(), [0, 0.0, 1.5, -0.5, True, math.nan, "x", None], "share above 0"),
    (Choice(("a", None)), ["b", 0, ["a"], np.array(["a"])], "one of 'a', None"),
    (Flag(), [0, 1, "yes", None], "True or False"),
]


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, value) for kind, values in FINE for value in values], ids=str
)
def test_fine(kind, value):
    check_parameters("Model", {"p": kind}, {"p": value, "q": object()})


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [(kind, value, wanted) for kind, values, wanted in BAD for value in values],
    ids=str,
)
def test_bad(kind, value, wanted):
    with pytest.raises(ValueError, match=rf"^Model: p must be .*{wanted}.*; got ") as caught:
        check_parameters("Model", {"p": kind}, {"q": 1, "p": value})
    assert repr(value) in str(caught.value)


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(50, 10, 4, n_groups=2, random_state=0)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_components", 0), ("n_components", 2.5), ("n_groups", "many"), ("lambda_1", -1),
        ("lambda_2", None), ("alpha", np.nan), ("beta", "x"), ("gamma", -0.1), ("gamma", "best"),
        ("margin", -1.0), ("max_kept_rows", -1), ("max_kept_rows", None), ("grouping", "best"),
        ("grouping", [0, 1]), ("grouping", None), ("decision", "f1"), ("decision", np.inf),
        ("decision", True), ("decision", None), ("solver", "published"),
        ("solver", {"tol": 1e-3}), ("random_state", "x"), ("random_state", -1),
    ],
)  # fmt: skip
def test_wrong_parameters_are_named(parameter, value, data):
    word = "seed" if parameter == "random_state" else parameter
    for kind in (GroPLE, GroPLECV):
        with pytest.raises(ValueError, match=f"(?i){word}"):
            kind(**{parameter: value}).fit(data.X, data.Y)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("init", "random"), ("correlation", "pearson"), ("correlation", ["psd"]), ("tol", -1.0),
        ("tol", np.nan), ("tol", "x"), ("tol", None), ("max_iter", 0), ("max_iter", 2.5),
        ("feature_weight", 1.5), ("feature_weight", None), ("group_components", -1),
        ("group_components", 1.5), ("fit_intercept", "yes"), ("fit_intercept", None),
    ],
)  # fmt: skip
def test_wrong_choices_of_the_solver_are_named(parameter, value):
    with pytest.raises(ValueError, match=f"Solver: {parameter} must be .*; got "):
        Solver(**{parameter: value})


def test_values_in_a_grid_are_checked_one_by_one(data):
    with pytest.raises(ValueError, match=r"GroPLECV: beta must be .* got -1.0"):
        GroPLECV(beta=[0.0, -1.0]).fit(data.X, data.Y)
    with pytest.raises(ValueError, match=r"GroPLECV: alpha must be .* got None"):
        GroPLECV(alpha=(0.0, None)).fit(data.X, data.Y)
    with pytest.raises(ValueError, match="scoring must be one of 'accuracy'"):
        GroPLECV(scoring="auc").fit(data.X, data.Y)
    with pytest.raises(ValueError, match="alpha"):
        GroPLECV(alpha=[]).fit(data.X, data.Y)
    with pytest.raises(ValueError, match=r"set solver\.init to 'spectral'"):
        GroPLECV(solver=Solver(init="published")).fit(data.X, data.Y)
    for cv in (1, 51):
        with pytest.raises(ValueError, match=f"cv={cv} folds of 50 rows"):
            GroPLECV(cv=cv).fit(data.X, data.Y)
    with pytest.raises(ValueError, match="too few different rows"):
        GroPLECV().fit(data.X[[0] * 50], data.Y)


def test_two_parameters_go_by_place():
    assert GroPLE(7, 3).get_params()["n_groups"] == 3
    with pytest.raises(TypeError):
        GroPLE(7, 3, "spectral")


def test_there_are_twelve_and_experts_and_a_solver():
    assert len(GroPLE().get_params()) == 14
    assert set(GroPLECV().get_params()) - set(GroPLE().get_params()) == {
        "scoring", "cv", "search_tol", "device"
    }  # fmt: skip


@pytest.mark.parametrize("value", [np.float32(0.25), np.int64(0), 1, Rule("top_k", k=2)])
def test_decisions_of_any_kind_of_number(value, data):
    model = GroPLE(decision=value).fit(data.X, data.Y)
    found = model.predict(data.X).toarray()
    if not isinstance(value, Rule):
        np.testing.assert_array_equal(found, model.decision_function(data.X) > value)
    else:
        assert (found.sum(axis=1) == 2).all()
