"""Against scipy, scikit-posthocs and the printed values."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from grople.study.published import METRICS, PRINTED, published_ranks
from grople.study.statistics import cliques, friedman, nemenyi, rank_rows, uneven_rows


def scores(n=12, k=5, seed=0):
    return np.random.default_rng(seed).random((n, k))


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "micro_f1"])
def test_printed_ranks_give_the_printed_statistics(metric):
    _, _, ranks = published_ranks(metric)
    test = friedman(ranks)
    assert test.statistic == pytest.approx(PRINTED["statistic"][metric], abs=0.01)
    assert test.critical == pytest.approx(2.143, abs=0.001)
    assert nemenyi(ranks).critical_difference == pytest.approx(3.1658, abs=0.001)
    assert nemenyi(ranks).q == pytest.approx(3.031, abs=0.001)


def test_one_misprinted_rank_explains_the_fourth():
    with pytest.warns(UserWarning, match="do not add up to 36"):
        as_printed = friedman(published_ranks("example_f1")[2])
    assert as_printed.statistic == pytest.approx(8.395, abs=0.001)
    corrected = friedman(published_ranks("example_f1", corrected=True)[2])
    assert corrected.statistic == pytest.approx(8.810, abs=0.01)


@pytest.mark.parametrize("metric", METRICS)
def test_printed_average_ranks_of_grople(metric):
    _, _, ranks = published_ranks(metric)
    assert ranks.mean(axis=0)[0] == pytest.approx(PRINTED["average_rank"][metric], abs=0.005)


def test_chi_square_is_scipys_where_nothing_is_tied():
    table = scores()
    expected = scipy.stats.friedmanchisquare(*(-table.T))
    assert friedman(table).chi_square == pytest.approx(expected.statistic)


def test_nemenyi_is_that_of_scikit_posthocs():
    posthocs = pytest.importorskip("scikit_posthocs")
    table = scores(15, 6, seed=1)
    expected = posthocs.posthoc_nemenyi_friedman(table).to_numpy()
    # Its studentised range has infinite degrees of freedom too; both integrate to about 1e-8.
    np.testing.assert_allclose(nemenyi(table).p_values, expected, atol=1e-6)


def test_the_critical_difference_is_where_the_p_value_is_alpha():
    test = nemenyi(scores(20, 4))
    k, n = 4, 20
    error = np.sqrt(k * (k + 1) / (6 * n))
    p = scipy.stats.studentized_range.sf(test.critical_difference / error * np.sqrt(2), k, np.inf)
    assert p == pytest.approx(0.05, abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 7), st.integers(2, 9), st.integers(0, 100))
def test_ranks_and_scores_agree(k, n, seed):
    table = np.random.default_rng(seed).integers(0, 4, (n, k)) / 10
    ranks = rank_rows(table)
    np.testing.assert_allclose(ranks, [scipy.stats.rankdata(-row) for row in table])
    assert uneven_rows(ranks) == []
    assert friedman(table).statistic == pytest.approx(friedman(ranks, ranks=True).statistic)


def test_methods_in_the_same_order_everywhere_have_no_bound():
    test = friedman(np.tile([0.3, 0.2, 0.1], (4, 1)))
    assert test.statistic == np.inf
    assert test.p_value == 0.0
    assert test.rejected


def test_perfect_scores_are_not_taken_for_ranks():
    assert rank_rows([[1.0, 1.0, 1.0]]).tolist() == [[2.0, 2.0, 2.0]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0.1, np.nan], [0.2, 0.3]], "row 0, column 1"),
        ([0.1, 0.2], "data sets × methods"),
        ([[0.1, 0.2]], "at least two"),
    ],
)
def test_what_cannot_be_tested_is_said(table, message):
    with pytest.raises(ValueError, match=message):
        friedman(table)


def test_ranks_outside_their_range_are_refused():
    with pytest.raises(ValueError, match="between 1 and 2"):
        rank_rows([[1.0, 3.0]], ranks=True)
    with pytest.raises(ValueError, match="alpha"):
        friedman(scores(), alpha=1.5)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(1, 8), min_size=2, max_size=8), st.floats(0.1, 5))
def test_cliques_are_the_largest_sets_within_the_difference(ranks, difference):
    found = cliques(ranks, difference)
    for clique in found:
        inside = [ranks[i] for i in clique]
        # Rounding: 1.3 − 1.0 exceeds 0.3 in its last bit.
        assert max(inside) - min(inside) <= difference + 1e-9
        rest = [r for i, r in enumerate(ranks) if i not in clique]
        # None could be added.
        assert all(max(*inside, r) - min(*inside, r) > difference for r in rest)
    together = {frozenset((i, j)) for c in found for i in c for j in c if i != j}
    for i, first in enumerate(ranks):
        for j in range(i):
            # Compared as the function does, so that rounding is the same.
            low, high = min(first, ranks[j]), max(first, ranks[j])
            assert (frozenset((i, j)) in together) == (high <= low + difference)
