"""Tests between pairs of methods, against scipy, statsmodels and what was put in."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from grople.metrics import accuracy, example_f1, micro_f1
from grople.study.experiments import EXPERIMENTS
from grople.study.methods import EVERY, METHODS
from grople.study.paired import (
    RowCounts,
    bootstrap,
    corrected_t,
    differ,
    holm,
    row_weights,
    signed_ranks,
)
from grople.study.published import METRICS, ours, published_table
from grople.study.store import Store
from grople.study.units import Batch


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


def test_folds_that_are_all_alike():
    assert corrected_t([0.5] * 5, [0.5] * 5).p_value == 1.0
    assert corrected_t([0.5] * 5, [0.4] * 5).side == 1
    assert corrected_t([0.5], [0.4]).side == 0  # one fold says nothing


def test_holm_is_that_of_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p_values = np.random.default_rng(1).random(9) ** 3
    expected = multitest.multipletests(p_values, method="holm")[1]
    np.testing.assert_allclose(holm(list(p_values)), expected)
    assert holm([]) == []


def test_signed_ranks_are_scipys():
    gaps = np.random.default_rng(2).normal(0.01, 0.02, 11)
    assert signed_ranks(gaps) == scipy.stats.wilcoxon(gaps).pvalue


def test_welch_from_means_and_deviations_is_that_of_the_values():
    first, second = np.array([0.5, 0.52, 0.51, 0.53]), np.array([0.55, 0.56, 0.58, 0.57])
    expected = scipy.stats.ttest_ind(first, second, equal_var=False).pvalue < 0.05
    assert differ(first.mean(), first.std(), second.mean(), second.std(), 4) == expected


@pytest.fixture(scope="module")
def decisions():
    rng = np.random.default_rng(0)
    B = (rng.random((400, 12)) < 0.2).astype(int)
    worse, better = (np.where(rng.random(B.shape) < flip, 1 - B, B) for flip in (0.2, 0.1))
    return B, worse, better


def counts(B, P):
    return RowCounts(B.sum(1), P.sum(1), (B & P).sum(1))


def test_counts_of_rows_give_the_measures(decisions):
    B, P, _ = decisions
    once = np.ones((1, len(B)))
    for name, measure in (
        ("accuracy", accuracy),
        ("example_f1", example_f1),
        ("micro_f1", micro_f1),
    ):
        (found,) = counts(B, P).measures(name, once)
        assert found == pytest.approx(measure(B, P, zero_division=0))


def test_the_bootstrap_is_scipys_for_a_mean_over_rows(decisions):
    B, worse, better = decisions
    weights = row_weights(len(B), 4000, seed=1)
    samples = [counts(B, P).measures("accuracy", weights) for P in (better, worse)]
    gap = accuracy(B, better, zero_division=0) - accuracy(B, worse, zero_division=0)
    found = bootstrap(*samples, gap)
    each = [counts(B, P) for P in (better, worse)]
    rows = [c.hits / np.maximum(c.true + c.given - c.hits, 1) for c in each]
    expected = scipy.stats.bootstrap(
        (rows[0] - rows[1],), np.mean, method="percentile", n_resamples=4000, rng=2
    ).confidence_interval
    # Two sets of 4,000 samples: their quantiles differ by a few hundredths of the interval.
    width = expected.high - expected.low
    assert found.low == pytest.approx(expected.low, abs=0.1 * width)
    assert found.high == pytest.approx(expected.high, abs=0.1 * width)
    assert found.side == 1


#: How far from GroPLE each method is in the made-up store below.
GAPS = {name: 0.02 * (i - 3) for i, name in enumerate(EVERY) if name != "GroPLE"} | {"GroPLE": 0.0}


#: Ten: with fewer no p-value survives the correction over eleven methods.
DATASETS = ("genbase-authors", "medical", "CAL500", "corel5k", "bibtex", *"abcde")


@pytest.fixture(scope="module")
def nested(tmp_path_factory):
    """A store of the nested protocol, every method on ten data sets, differences known."""
    rng = np.random.default_rng(0)
    with Store(tmp_path_factory.mktemp("nested")) as store:
        for dataset in DATASETS:
            for fold in range(5):
                true = rng.integers(1, 6, 60)
                for name, gap in GAPS.items():
                    hits = rng.binomial(true, 0.5 - gap)
                    values = {m: 0.5 - gap + rng.normal(0, 0.002) for m in METRICS}
                    part = {"given": true.tolist(), "hits": hits.tolist()}
                    result = values | {
                        "single": {m: value - 0.1 for m, value in values.items()},
                        "fit_seconds": 1.0 + gap,
                        "chosen": {m: {"rows": "raw"} for m in METRICS},
                        "rows": {"true": true.tolist()}
                        | {m: part for m in METRICS if m != "macro_f1"},
                    }
                    batch = Batch("nested", dataset, name, fold, "f", ({"grid": "full"},))
                    store.add(batch, {"grid": "full"}, result, 3.0)
        yield store


def test_a_nested_comparison_says_whom_grople_is_ahead_of_and_behind(nested):
    exhibit = EXPERIMENTS["comparison"].show(nested)
    tables = dict(exhibit.tables)
    ahead = {name for name, gap in GAPS.items() if gap > 0}
    for row in tables["nested_pairs"].rows:
        rival, difference, better, equal, worse = row[0], row[3], *row[4:7]
        assert difference.value == pytest.approx(GAPS[rival], abs=0.002)
        if GAPS[rival]:
            assert (better, equal, worse) == ((10, 0, 0) if rival in ahead else (0, 0, 10))
    papers, everyone = exhibit.findings
    assert papers.verdict == everyone.verdict == "refuted"
    assert "ahead of FaIE, LEML, MLSF and BSVM and behind LLSF and PLST by every" in papers.sentence


def test_a_nested_comparison_has_every_table(nested):
    tables = dict(EXPERIMENTS["comparison"].show(nested).tables)
    for metric in METRICS:
        assert len(tables[f"nested_{metric}"].rows) == 11  # the data sets and the average rank
        assert len(tables[f"nested_pairs_{metric}"].columns) == len(EVERY)
        # Macro-F1 is no mean over rows.
        assert (f"nested_pairs_by_rows_{metric}" in tables) == (metric != "macro_f1")
    by_rows = tables["nested_pairs_by_rows_micro_f1"]
    assert len(by_rows.rows) == 10
    for row in by_rows.rows:
        for column, cell in zip(by_rows.columns[1:], row[1:], strict=True):
            text = cell.text.replace("−", "-").split("[")[1]
            low, high = map(float, text.rstrip("]").split(", "))
            # Of 300 rows with three labels each: a difference is known to a few hundredths.
            assert 0.02 < high - low < 0.2
            gap = GAPS[column.removeprefix("− ")]
            assert low - 0.06 < gap < high + 0.06
            assert (cell.emphasis == "bold") == (low > 0 or high < 0)
    order = [row[0] for row in tables["nested_ranks"].rows]
    assert [GAPS[name] for name in order] == sorted(GAPS.values())
    seconds = {row[0]: row[-1].value for row in tables["nested_ranks"].rows}
    assert seconds["GroPLE"] == pytest.approx(1.0)
    single = tables["nested_single_accuracy"].rows[0]
    usual = tables["nested_accuracy"].rows[0]
    assert usual[1].value - single[1].value == pytest.approx(0.1)
    assert len(tables["nested_seconds"].rows) == 10


def test_a_nested_comparison_has_its_diagrams(nested):
    exhibit = EXPERIMENTS["statistics"].show(nested)
    diagrams = [figure for figure in exhibit.figures if figure.name.startswith("cd_nested")]
    assert len(diagrams) == 4
    for figure in diagrams:
        drawn = [text.get_text() for text in figure.draw().texts]
        assert sum(any(name in text for name in EVERY) for text in drawn) == len(EVERY)


def test_a_method_run_on_few_data_sets_does_not_empty_the_ranks(tmp_path):
    with Store(tmp_path) as store:
        for i in range(6):
            for name in ("GroPLE", "PLST", "MLSF"):
                if name == "MLSF" and i:
                    continue
                setting = METHODS[name].grid[0]
                batch = Batch("published", f"data{i}", name, 0, "f", (setting,))
                store.add(batch, setting, dict.fromkeys(METRICS, 0.5 + 0.1 * (name == "PLST")), 1.0)
        exhibit = EXPERIMENTS["comparison"].show(store)
    table = dict(exhibit.tables)["published_accuracy"]
    assert table.rows[-1][0] == "average rank"
    assert "without MLSF" in table.note
    assert "over 6 data sets" in exhibit.findings[0].sentence


def test_ranks_compare_methods_on_the_folds_that_all_of_them_ran(tmp_path):
    # PLST's later folds are easier than the first: over its own folds it would come first.
    values = {"GroPLE": [0.5], "PLST": [0.4, 0.9, 0.9]}
    with Store(tmp_path) as store:
        for i in range(3):
            for name, folds in values.items():
                setting = METHODS[name].grid[0]
                for fold, value in enumerate(folds if i else folds[:1] * 3):
                    batch = Batch("published", f"data{i}", name, fold, "f", (setting,))
                    store.add(batch, setting, dict.fromkeys(METRICS, value), 1.0)
        exhibit = EXPERIMENTS["comparison"].show(store)
    table = dict(exhibit.tables)["published_accuracy"]
    ranks = dict(zip(table.columns, table.rows[-1], strict=True))
    assert (ranks["GroPLE"].value, ranks["PLST"].value) == (1.0, 2.0)
    assert "on the folds that all of them ran (data1 1, data2 1)" in table.note
    differences = dict(exhibit.tables)["published_pairs_accuracy"]
    rows = {row[0]: row[1].value for row in differences.rows}
    assert rows == pytest.approx({"data0": 0.1, "data1": 0.1, "data2": 0.1})


def test_the_lift_over_the_papers_best_cells_is_told(tmp_path):
    table = published_table("comparison")
    best = {m: max(table["medical", m, ours(name)].mean for name in METHODS) for m in METRICS}
    result = {m: 1.1 * value for m, value in best.items()}
    result["micro_f1"] = 0.9 * best["micro_f1"]
    more = {"fit_seconds": 1.0, "single": result, "chosen": {m: {} for m in METRICS}, "rows": {}}
    with Store(tmp_path) as store:
        for dataset in ("medical", "of my own"):  # the paper knows only the first
            batch = Batch("nested", dataset, "GroPLE", 0, "f", ({"grid": "full"},))
            store.add(batch, {"grid": "full"}, result | more, 1.0)
        told = " ".join(EXPERIMENTS["comparison"].show(store).notes)
    assert "in 3 of 4 cells, by 5.0% on average" in told
    assert "Not above: medical micro-F1 -10.0%" in told
