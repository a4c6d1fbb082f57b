"""Against scipy, scikit-posthocs, statsmodels and the printed values."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from grople import metrics
from grople.study import (
    METRICS,
    PRINTED,
    RowRatio,
    corrected_t,
    friedman,
    holm,
    nemenyi,
    paired_bootstrap,
    printed_ranks,
    rank_scores,
    signed_ranks,
)


def ranks(n=12, k=5, seed=0):
    return rank_scores(np.random.default_rng(seed).random((n, k)))


@pytest.mark.parametrize("metric", METRICS)
def test_printed_ranks_give_the_printed_statistics(metric):
    table = printed_ranks(metric, corrected=True)
    test, pairs = friedman(table), nemenyi(table)
    assert test.statistic == pytest.approx(PRINTED.loc[metric, "statistic"], abs=0.01)
    assert test.critical == pytest.approx(PRINTED.loc[metric, "critical"], abs=0.001)
    assert pairs.critical_difference == pytest.approx(PRINTED.loc[metric, "difference"], abs=0.001)
    assert pairs.q == pytest.approx(3.031, abs=0.001)
    assert table.mean()["GroPLE"] == pytest.approx(PRINTED.loc[metric, "average_rank"], abs=0.005)


def test_one_misprinted_rank_explains_the_fourth():
    assert friedman(printed_ranks("example_f1")).statistic == pytest.approx(8.395, abs=0.001)


def test_chi_square_is_scipys_where_nothing_is_tied():
    table = ranks()
    expected = scipy.stats.friedmanchisquare(*table.T)
    assert friedman(table).chi_square == pytest.approx(expected.statistic)


def test_nemenyi_is_that_of_scikit_posthocs():
    posthocs = pytest.importorskip("scikit_posthocs")
    table = ranks(15, 6, seed=1)
    expected = posthocs.posthoc_nemenyi_friedman(table).to_numpy()
    # Its studentised range has infinite degrees of freedom too; both integrate to about 1e-8.
    np.testing.assert_allclose(nemenyi(table).p_values, expected, atol=1e-6)


def test_the_critical_difference_is_where_the_p_value_is_the_level():
    k, n = 4, 20
    error = np.sqrt(k * (k + 1) / (6 * n))
    apart = nemenyi(ranks(n, k)).critical_difference / error * np.sqrt(2)
    assert scipy.stats.studentized_range.sf(apart, k, np.inf) == pytest.approx(0.05, abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 7), st.integers(2, 9), st.integers(0, 100))
def test_ranks_are_scipys_and_f_f_orders_as_chi_square(k, n, seed):
    scores = np.random.default_rng(seed).integers(0, 4, (n, k)) / 10
    found = rank_scores(scores)
    np.testing.assert_allclose(found, [scipy.stats.rankdata(-row) for row in scores])
    test = friedman(found)
    assert (test.p_value < 0.05) == test.rejected


def test_methods_in_the_same_order_everywhere_have_no_bound():
    test = friedman(np.tile([1.0, 2.0, 3.0], (4, 1)))
    assert (test.statistic, test.p_value, test.rejected) == (np.inf, 0.0, True)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1, np.nan], [1, 2]], "row 0, column 1"),
        ([1, 2], "at least two methods"),
        ([[1, 2]], "on two data sets"),
        ([[1.0, 3.0], [1.0, 2.0]], "between 1 and 2"),
    ],
)
def test_what_cannot_be_tested_is_said(table, message):
    with pytest.raises(ValueError, match=message):
        friedman(table)


def test_without_shared_rows_it_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.5, 0.02, 8), rng.normal(0.49, 0.02, 8)
    found = corrected_t(first, second, test_share=0.0)
    expected = scipy.stats.ttest_rel(first, second)
    assert found.p_value == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval()
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


def test_shared_rows_widen_the_interval_by_what_nadeau_and_bengio_found():
    gaps = np.array([0.01, 0.02, 0.015, 0.03, 0.02])
    plain, corrected = corrected_t(gaps, test_share=0.0), corrected_t(gaps)
    ratio = (corrected.high - corrected.low) / (plain.high - plain.low)
    assert ratio == pytest.approx(np.sqrt((1 / 5 + 1 / 4) / (1 / 5)))


def test_nothing_is_tested_on_two_folds_or_four_data_sets():
    found = corrected_t([0.5, 0.6], [0.1, 0.2])
    assert found.difference == pytest.approx(0.4)
    assert math.isnan(found.p_value)
    assert found.side == 0
    assert math.isnan(signed_ranks([0.1, 0.2, 0.3, 0.4]))


def test_folds_that_are_all_alike_have_no_p_value():
    assert corrected_t([0.5] * 5, [0.4] * 5).side == 1
    assert corrected_t([0.5] * 5, [0.5] * 5).side == 0
    assert math.isnan(corrected_t([0.5] * 5, [0.4] * 5).p_value)


def test_holm_is_that_of_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p_values = np.random.default_rng(1).random(9) ** 3
    expected = multitest.multipletests(p_values, method="holm")[1]
    np.testing.assert_allclose(holm(list(p_values)), expected)
    assert holm([]) == []


def test_signed_ranks_are_scipys():
    gaps = np.random.default_rng(2).normal(0.01, 0.02, 11)
    assert signed_ranks(gaps) == scipy.stats.wilcoxon(gaps).pvalue


@pytest.fixture(scope="module")
def decisions():
    rng = np.random.default_rng(0)
    B = (rng.random((400, 12)) < 0.2).astype(int)
    worse, better = (np.where(rng.random(B.shape) < flip, 1 - B, B) for flip in (0.2, 0.1))
    return B, worse, better


def ratio(metric, B, P):
    return RowRatio.of(metric, B.sum(1), P.sum(1), (B & P).sum(1))


@pytest.mark.parametrize("metric", ["accuracy", "example_f1", "micro_f1"])
def test_the_bootstrap_covers_the_difference_of_the_measures(metric, decisions):
    B, worse, better = decisions
    measure = getattr(metrics, metric)
    gap = measure(B, better, zero_division=0) - measure(B, worse, zero_division=0)
    found = paired_bootstrap(ratio(metric, B, better), ratio(metric, B, worse))
    assert found.difference == pytest.approx(gap)
    assert found.low < gap < found.high
    assert found.side == 1
    # One draw more than were drawn: never zero, however far apart.
    assert 0 < found.p_value <= 2 / 1001 + 1e-12
    again = paired_bootstrap(ratio(metric, B, better), ratio(metric, B, better))
    assert (again.difference, again.p_value) == (0.0, 1.0)


def test_the_bootstrap_is_that_of_a_mean_over_rows(decisions):
    B, worse, better = decisions
    first, second = (ratio("accuracy", B, P) for P in (better, worse))
    found = paired_bootstrap(first, second)
    expected = scipy.stats.bootstrap(
        (first.above - second.above,), np.mean, method="percentile", n_resamples=4000,
        random_state=2,
    ).confidence_interval  # fmt: skip
    # Two sets of samples: their quantiles differ by a few hundredths of the interval.
    width = expected.high - expected.low
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.1 * width)
