"""Grids: powers of two, fine enough for what they were chosen for, honest about the rest."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from grople.moments import Grid, summarise


def is_power_of_two(values):
    return np.all(np.frexp(values)[0] == 0.5)


def rows(seed=0, n=60, D=5):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, D)) * 10.0 ** rng.integers(-8, 9, D)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 999), st.floats(0.0, 1e6))
def test_steps_are_powers_of_two_and_hold_sixteen_bits_or_more(seed, offset):
    X = rows(seed)
    X[:, 0] += offset * np.abs(X[:, 0]).max()
    grid = Grid.of(X)
    assert is_power_of_two(grid.steps)
    assert np.array_equal(grid.shifts / grid.steps, np.rint(grid.shifts / grid.steps))
    whole, roots = grid.whole(X)
    assert roots is None
    assert np.array_equal(whole, np.rint(whole))
    assert np.abs(whole).max() < 2.0**25
    back = whole * grid.steps + grid.shifts
    # Half a step, of which the largest value has between 16 and 24 bits; and what an offset of
    # float64 itself rounds.
    error = np.abs(back - X).max(axis=0)
    assert np.all(error <= grid.steps / 2 + np.spacing(np.abs(X).max(axis=0)))
    spread = X.max(axis=0) - X.min(axis=0)
    assert np.all(grid.steps <= 2.0**-15 * np.maximum(spread, np.spacing(np.abs(X).max(axis=0))))


@pytest.mark.parametrize("kind", [bool, np.int8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sp.csr_array, sp.csr_matrix])
def test_zeros_ones_and_counts_are_held_as_they_are(container, kind):
    X = np.random.default_rng(0).integers(0, 2 if kind is bool else 9, (40, 6)).astype(kind)
    held = container(X)
    grid = Grid.of(held)
    whole, _ = grid.whole(held)
    dense = whole.toarray() if sp.issparse(whole) else whole
    np.testing.assert_array_equal(dense * grid.steps + grid.shifts, X)
    assert grid.sparse == sp.issparse(held)


def test_columns_far_from_zero_are_shifted_unless_rows_are_sparse():
    X = np.random.default_rng(0).random((50, 3)) + np.array([0.0, 1e6, -1e6])
    grid = Grid.of(X)
    assert grid.shifts[0] == 0
    assert np.all(np.abs(grid.shifts[1:] - [1e6, -1e6]) < 300)
    assert not Grid.of(sp.csr_array(X)).shifts.any()
    constant = Grid.of(np.full((10, 1), 300.0))
    assert not constant.shifts.any()
    assert constant.whole(np.full((1, 1), 300.0))[0] * constant.steps == 300.0


def test_blocks_of_the_same_data_rarely_disagree():
    X = np.random.default_rng(1).random((4000, 50))
    first, second = Grid.of(X[:600]), Grid.of(X)
    assert np.mean(first.steps == second.steps) > 0.9


def test_no_rows_and_columns_of_zeros():
    for X in (np.zeros((0, 3)), np.zeros((4, 3)), sp.csr_array((4, 3))):
        grid = Grid.of(X)
        assert is_power_of_two(grid.steps)
        assert grid.n_features == 3


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_values_beyond_the_range_keep_leading_bits(container):
    grid = Grid.of(container(np.array([[1.0, 1.0]])))
    values = np.array([[1000.0 / 3.0, 0.0], [-9876.54321, 0.5]])
    whole, _ = grid.whole(container(values))
    dense = whole.toarray() if sp.issparse(whole) else whole
    back = dense * grid.steps
    np.testing.assert_allclose(back, values, rtol=2.0**-26, atol=grid.steps.max() / 2)
    mantissa = np.frexp(dense)[0] * 2.0**26
    assert np.array_equal(mantissa, np.rint(mantissa))
    with pytest.raises(ValueError, match="feature 1 has values far beyond those of the first rows"):
        grid.whole(container(np.array([[0.0, 1e9]])))


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e200])
def test_values_that_no_square_holds_are_named(value):
    X = np.ones((3, 2))
    X[1, 1] = value
    for held in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match="feature 1 has values too large to be squared"):
            Grid.of(held)


def test_rows_that_a_grid_does_not_fit_are_warned_of():
    X = np.random.default_rng(0).random((50, 4))
    grid = Grid.of(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grid.warn_of_misfit(X)
        grid.warn_of_misfit(X * 0.5)
        grid.warn_of_misfit(1e-6 * X[:5])  # too few to tell
        grid.warn_of_misfit(0 * X)
        grid.warn_of_misfit(2.0**-20 * (X > 0.5))  # small, but on the grid
    small, large = X.copy(), X.copy()
    small[:, 2] *= 1e-5
    large[:, [1, 3]] *= 1e4
    with pytest.warns(UserWarning, match="of feature 2 are small for the grid"):
        grid.warn_of_misfit(small)
    with pytest.warns(UserWarning, match="of feature 1, 3 are large for the grid"):
        grid.warn_of_misfit(sp.csr_array(large))


def test_rows_kept_as_they_are_fit_any_grid():
    X = sp.csr_array(np.random.default_rng(0).random((50, 4)))
    grid = replace(Grid.of(X), keeps_rows=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grid.warn_of_misfit(1e4 * X)


# Weights


def test_roots_of_weights_are_whole_too():
    X = rows(2)
    weights = np.random.default_rng(3).uniform(0.01, 5.0, 60)
    grid = Grid.of(X, weights)
    assert is_power_of_two(np.array([grid.weight_scale]))
    assert grid.weight_scale >= np.sqrt(weights.max())
    whole, roots = grid.whole(X, weights)
    assert roots is not None
    assert np.array_equal(roots, np.rint(roots))
    np.testing.assert_allclose((roots * grid.root_unit) ** 2, weights, rtol=1e-4)
    back = whole * grid.steps * grid.weight_scale
    scaled = (X - grid.shifts) * (roots * grid.root_unit)[:, None]
    assert np.all(np.abs(back - scaled) <= grid.steps * grid.weight_scale / 2 * (1 + 1e-9))


def test_weights_far_heavier_than_the_first_stay_exact_or_are_refused():
    rng = np.random.default_rng(4)
    X, B = rng.random((40, 2)), rng.integers(0, 2, (40, 3))
    X[::2] = 0.0
    weights = np.where(rng.random(40) < 0.5, rng.random(40), 1e7 * rng.random(40))
    grid = Grid.of(X, weights[weights < 1])
    found = summarise(X, B, weights, grid=grid)
    assert found.moments.n == pytest.approx(weights.sum(), rel=1e-5)
    for _ in range(5):
        order = rng.permutation(40)
        again = summarise(X[order], B[order], weights[order], grid=grid)
        assert again.checksum() == found.checksum()
    with pytest.raises(ValueError, match=r"a weight of 1e\+14 is far beyond those of the first"):
        summarise(X, B, np.full(40, 1e14), grid=grid)


# Whether rows are kept


def test_rows_are_kept_where_they_are_sparse_and_features_many():
    def sparse(n, D, each=5):
        return sp.random_array(
            (n, D), density=each / D, format="csr", random_state=np.random.default_rng(0)
        )

    assert not Grid.of(sparse(50, 900)).keeps_rows
    assert Grid.of(sparse(50, 1500)).keeps_rows
    assert not Grid.of(sparse(50, 1500), streamed=True).keeps_rows
    assert Grid.of(sparse(50, 20_000), streamed=True).keeps_rows
    assert not Grid.of(sparse(50, 1500).toarray()).keeps_rows
    assert not Grid.of(sparse(120_000, 1200)).keeps_rows  # more entries than a fifth of 1200²
