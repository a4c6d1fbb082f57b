"""Calibration errors against a direct loop, and what they must not depend on."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.calibration import calibration_curve

from grople.metrics import reliability_curve

# Sums of some thousand float64 numbers, in another order.
ROUNDING = {"rtol": 1e-11, "atol": 1e-13}


def error(Y, P, **options):
    """The expected calibration error."""
    return reliability_curve(Y, P, **options).error


def example(seed=0, shape=(80, 9), levels=None):
    """Labels drawn from probabilities that are not quite right; `levels` makes many of them tie."""
    rng = np.random.default_rng(seed)
    P = rng.random(shape) ** 3
    if levels:
        P = np.round(P * levels) / levels
    return (rng.random(shape) < 0.8 * P).astype(np.int8), P


def direct(Y, P, n_bins, top=None, weights=None):
    """Pair by pair, in exact fractions; equal probabilities go to the bin of their middle place."""
    pairs = []
    for i, (truth, chances) in enumerate(zip(Y.tolist(), P.tolist(), strict=True)):
        weight = Fraction(1) if weights is None else Fraction(weights[i])
        ordered = sorted(chances, reverse=True)
        last = ordered[min(top or len(chances), len(chances)) - 1]
        left = (top or len(chances)) - sum(p > last for p in chances)
        tied = sum(p == last for p in chances)
        for t, p in zip(truth, chances, strict=True):
            share = 1 if p > last else Fraction(min(left, tied), tied) if p == last else 0
            if weight * share:
                pairs.append((Fraction(p), t, weight * share))
    total = sum(w for *_, w in pairs)
    bins, before = {}, Fraction(0)
    for value in sorted({p for p, *_ in pairs}):
        own = sum(w for p, _, w in pairs if p == value)
        number = min(int((before + own / 2) * n_bins / total), n_bins - 1)
        bins.setdefault(number, []).extend((p, t, w) for p, t, w in pairs if p == value)
        before += own
    error = sum(abs(sum(w * (p - t) for p, t, w in part)) for part in bins.values())
    return float(error / total)


@pytest.mark.parametrize("levels", [None, 5])
@pytest.mark.parametrize("n_bins", [1, 4, 15, 1000])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_pairs_as_a_direct_loop_finds(levels, n_bins, weighted):
    Y, P = example(levels=levels)
    weights = np.random.default_rng(1).integers(0, 4, len(Y)) if weighted else None
    ours = error(Y, P, n_bins=n_bins, sample_weight=weights)
    exact = None if weights is None else weights.tolist()
    assert_allclose(ours, direct(Y, P, n_bins, weights=exact), **ROUNDING)


@pytest.mark.parametrize("levels", [None, 5])
@pytest.mark.parametrize("top", [1, 3, 5, 9, 20])
def test_the_likeliest_labels_as_a_direct_loop_finds(levels, top):
    Y, P = example(2, levels=levels)
    ours = error(Y, P, top=top, n_bins=6)
    assert_allclose(ours, direct(Y, P, 6, top=top), **ROUNDING)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 20), st.integers(1, 6))
def test_no_order_of_rows_or_labels_matters(seed, top, n_bins, levels):
    Y, P = example(seed, (25, 8), levels)
    rng = np.random.default_rng(seed)
    rows, labels = rng.permutation(25), rng.permutation(8)
    mixed = np.ix_(rows, labels)
    assert_allclose(
        error(Y[mixed], P[mixed], top=top, n_bins=n_bins),
        error(Y, P, top=top, n_bins=n_bins),
        **ROUNDING,
    )


def test_distinct_probabilities_have_the_bins_of_scikit_learn():
    Y, P = example(shape=(200, 6))  # 1,200 pairs, so that quantiles cut between pairs
    observed, predicted = calibration_curve(Y.ravel(), P.ravel(), n_bins=10, strategy="quantile")
    curve = reliability_curve(Y, P, n_bins=10)
    assert curve.pairs.tolist() == [120] * 10
    assert_allclose(curve.predicted, predicted, **ROUNDING)
    assert_allclose(curve.observed, observed, **ROUNDING)


def test_any_container_and_any_blocks(monkeypatch):
    Y, P = example(levels=10)
    whole = error(Y, P, top=4)
    monkeypatch.setattr("grople.metrics._inputs.BLOCK_CELLS", 50)
    forms = [
        (sp.csr_array(Y), P),
        (sp.csc_matrix(Y), P),
        (Y.tolist(), P.tolist()),
        (pd.DataFrame(Y), pd.DataFrame(P)),
        (Y, lambda i, j: P[i:j]),
        (Y, lambda i, j: P[i:j].tolist()),
    ]
    for truth, chances in forms:
        assert_allclose(error(truth, chances, top=4), whole, **ROUNDING)


def test_probabilities_that_are_right_have_no_error_and_wrong_ones_all_of_it():
    rng = np.random.default_rng(0)
    P = rng.random((4000, 5))
    Y = rng.random(P.shape) < P
    # 20,000 pairs in 15 bins: a bin's share deviates by about sqrt(1/6 / 1333) = .011.
    assert error(Y, P) < 0.02
    assert error(Y, P**3) > 0.2
    assert error(Y, 1.0 - Y) == 1.0
    assert error(Y, Y.astype(float)) == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 0]], [[0.5, 1.5]]), "between 0 and 1; one is 1.5"),
        (([[1, 0]], [[0.5, np.nan]]), "probabilities hold NaN"),
        (([[1, 0]], [[0.5, 0.5, 0.5]]), "but probabilities have"),
        (([[2, 0]], [[0.5, 0.5]]), "labels are 0 or 1"),
    ],
)
def test_what_is_wrong_is_said(arguments, message):
    with pytest.raises(ValueError, match=message):
        error(*arguments)


def test_bins_and_places_are_counted_from_one():
    with pytest.raises(ValueError, match="n_bins must be 1 or more"):
        error([[1]], [[0.5]], n_bins=0)
    with pytest.raises(ValueError, match="top must be 1 or more"):
        error([[1]], [[0.5]], top=0)
