"""Every experiment from plan to exhibit, on made-up stores and on the paper's own table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from grople.study import (
    EXPERIMENTS,
    METRICS,
    PAPER_METHODS,
    STUDY_DATASETS,
    Run,
    Scope,
    Store,
    find_experiments,
    make_plan,
    present_datasets,
    printed_table,
    setting_text,
)
from tests.study.conftest import SETTINGS, made_up

FIXED = {
    name: SETTINGS["GroPLE"][name] for name in ("n_components", "n_groups", "lambda_1", "lambda_2")
}
OTHERS = ("Ridge", "LinearSVC", "Logistic", "ExtraTrees")
#: How far GroPLE is ahead of each method in the made-up nested comparison.
GAPS = {name: 0.02 * (i - 3) for i, name in enumerate((*PAPER_METHODS, *OTHERS))} | {"GroPLE": 0.0}


def shown(name, store):
    return EXPERIMENTS[name].show(store.read())


def verdicts(name, store):
    return [finding.verdict for finding in shown(name, store).findings]


def values_of(table, row):
    """The cells of a row by their column."""
    cells = next(each for each in table.rows if each[0] == row)
    return dict(zip(table.columns[1:], cells[1:], strict=True))


def test_the_papers_own_table_differs_from_itself_by_nothing(printed):
    exhibit = shown("comparison", printed)
    for metric in METRICS:
        table = exhibit.tables[f"published_{metric}"]
        assert len(table.rows) == 12  # eleven data sets and the average rank
        cells = [cell for row in table.rows[:-1] for cell in row[1:]]
        assert all(cell.shade == pytest.approx(0.0, abs=1e-9) for cell in cells)
        means = printed_table("comparison")["mean"]
        assert values_of(table, "medical")["GroPLE"].value == means["medical", metric, "GroPLE"]
    assert [finding.verdict for finding in exhibit.findings] == ["confirmed"]
    assert "equal within 0.005 in 352" in " ".join(exhibit.notes)
    # Up to ties that the printed digits made: half a rank on a few of eleven data sets.
    ranks = values_of(exhibit.tables["published_accuracy"], "average rank")
    assert ranks["GroPLE"].value == pytest.approx(1.68, abs=0.1)


def test_the_tests_over_the_papers_table_are_the_printed_ones(printed):
    exhibit = shown("statistics", printed)
    found = values_of(exhibit.tables["published"], "accuracy")
    assert found["F_F"].value == pytest.approx(7.758, abs=0.3)
    misprint = values_of(exhibit.tables["printed"], "example-F1")
    assert misprint["F_F"].value == pytest.approx(8.801, abs=0.001)
    assert len(exhibit.pictures) == 8  # printed and ours, four measures each
    assert [finding.verdict for finding in exhibit.findings] == ["confirmed"]
    assert exhibit.notes[0].startswith("The printed F_F follow from the printed ranks")
    assert any("instead of 36" in note for note in exhibit.notes)
    texts = [text.get_text() for text in exhibit.pictures[0].drawn.texts]
    assert any("GroPLE 1.68" in text for text in texts)


def test_a_variant_of_grople_is_no_competitor_of_grople(printed, tmp_path):
    store = Store(tmp_path)
    places = printed.read()
    for dataset in places["dataset"].unique():
        for method in PAPER_METHODS:
            values = places[(places["dataset"] == dataset) & (places["method"] == method)]
            made_up(store, method, values["accuracy"], dataset=dataset)
        made_up(store, "groplecv", [0.999] * 5, dataset=dataset, setting={})  # better everywhere
    plain = shown("statistics", printed).tables["published"].rows[0]
    row = shown("statistics", store).tables["published"].rows[0]
    assert row[1].value == pytest.approx(plain[1].value)
    assert verdicts("statistics", store) == ["confirmed"]
    # Of two findings on claim 1 the first is about the paper's methods.
    assert verdicts("comparison", store) == ["confirmed", "refuted"]


def test_the_papers_setting_is_used_where_it_is_known(tmp_path):
    store = Store(tmp_path)
    known = {"n_components": 0.7, "ridge": 1.0}
    for dataset in ("medical", "debtags-mini"):
        made_up(store, "PLST", [0.5], dataset=dataset, setting=known)
        made_up(store, "PLST", [0.9], dataset=dataset, setting={"n_components": 0.1, "ridge": 1.0})
    table = shown("comparison", store).tables["published_accuracy"]
    assert values_of(table, "medical")["PLST"].value == 0.5
    assert values_of(table, "debtags-mini")["PLST"].value == 0.9  # the best of the grid


def test_other_dimensions_are_not_of_the_comparison(tmp_path):
    store = Store(tmp_path)
    for change, value in (({}, 0.1), ({"n_groups": 5}, 0.2), ({"alpha": 0.0}, 0.3)):
        made_up(store, "GroPLE", [value], dataset="d", setting=SETTINGS["GroPLE"] | change)
    table = shown("comparison", store).tables["published_accuracy"]
    assert values_of(table, "d")["GroPLE"].value == 0.1


def test_methods_are_ranked_on_the_folds_that_all_of_them_ran(tmp_path):
    store = Store(tmp_path)
    for i in range(6):
        # PLST's later folds are easier than the first: over its own folds it would come first.
        made_up(store, "GroPLE", [0.5], dataset=f"data{i}")
        made_up(store, "PLST", [0.4, 0.9, 0.9], dataset=f"data{i}")
    made_up(store, "MLSF", [0.9], dataset="data0")  # run on few data sets: it empties no ranks
    exhibit = shown("comparison", store)
    ranks = values_of(exhibit.tables["published_accuracy"], "average rank")
    assert (ranks["GroPLE"].value, ranks["PLST"].value, ranks["MLSF"]) == (1.0, 2.0, None)
    (row,) = [r for r in exhibit.tables["published_pairs"].rows if r[:2] == ["PLST", "accuracy"]]
    assert row[3].value == pytest.approx(0.1)
    assert "over 6 data sets" in exhibit.findings[0].sentence


@pytest.fixture(scope="module")
def nested(tmp_path_factory):
    """A store of the nested protocol, every method on ten data sets, differences known."""
    rng = np.random.default_rng(0)
    store = Store(tmp_path_factory.mktemp("nested"))
    # Ten: with fewer no p-value survives the correction over eleven methods.
    for dataset, fold in itertools.product(STUDY_DATASETS, range(5)):
        true = rng.integers(1, 6, 60)
        for name, gap in GAPS.items():
            values = {m: 0.5 - gap + rng.normal(0, 0.002) for m in METRICS}
            counts = {"given": true.tolist(), "hits": rng.binomial(true, 0.5 - gap).tolist()}
            rows = {"true": true.tolist()} | dict.fromkeys(METRICS, counts)
            chosen = {metric: {"rows": "raw"} for metric in METRICS}
            result = values | {"fit_seconds": 1.0 + gap, "chosen": chosen, "rows": rows}
            store.add([(Run("nested", dataset, name, fold, '{"grid":"full"}'), result, 3.0)])
    return store


def test_a_nested_comparison_says_whom_grople_is_ahead_of_and_behind(nested):
    exhibit = shown("comparison", nested)
    assert len(exhibit.tables["nested_pairs"].rows) == 4 * 11
    for other, measure, n, difference, folds, rows, p_value, adjusted in exhibit.tables[
        "nested_pairs"
    ].rows:
        assert n == 10
        assert difference.value == pytest.approx(GAPS[other], abs=0.002)
        assert 0 < p_value.value <= adjusted.value
        if GAPS[other]:
            assert folds == ("10, 0, 0" if GAPS[other] > 0 else "0, 0, 10")
        # Macro-F1 is no ratio of sums over rows.
        assert (rows is None) == (measure == "macro-F1")
        if rows and abs(GAPS[other]) > 0.1:
            assert int(rows.split(",")[0 if GAPS[other] > 0 else 2]) >= 8
    papers, everyone = exhibit.findings
    assert papers.verdict == everyone.verdict == "refuted"
    assert "ahead of FaIE, LEML, MLSF and BSVM and behind LLSF and PLST" in papers.sentence
    assert "seconds a fit" in exhibit.tables["nested_chosen"].columns


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (lambda s: 0.7 - 0.1 * (s["lambda_1"] >= 10) - 0.01 * (s["lambda_2"] > 1), "confirmed"),
        (lambda s: 0.3 + 0.1 * (s["lambda_1"] >= 10) + 0.1 * np.log10(s["lambda_2"]), "refuted"),
        (lambda s: 0.7 - 0.1 * (s["lambda_1"] >= 10), "partly"),
        # λ2 matters all the way up to 1, so that it is not stable there.
        (lambda s: 0.7 - 0.1 * (s["lambda_1"] >= 10) - 0.1 * np.log10(s["lambda_2"]), "partly"),
    ],
)  # fmt: skip
def test_sensitivity_says_what_the_numbers_say(tmp_path, value, verdict):
    store = Store(tmp_path)
    weights = [10.0**k for k in range(-3, 3)]
    for first, second in itertools.product(weights, weights):
        pair = {"n_groups": 5, "lambda_1": first, "lambda_2": second}
        made_up(store, "GroPLE", [value(pair)] * 2, setting=SETTINGS["GroPLE"] | pair)
    exhibit = shown("sensitivity", store)
    assert [finding.verdict for finding in exhibit.findings] == [verdict]
    assert [picture.title for picture in exhibit.pictures] == ["Accuracy on medical"]


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (lambda d, K: 0.3 + 1e-4 * d * (1 < K < 40), "confirmed"),
        # K matters where d is small, one group is the best where it is large, and many do no harm.
        (lambda d, K: 0.3 + 0.1 * (K == 1) * (d == 20) - 1e-3 * (K == 10), "refuted"),
        (lambda d, K: 0.3, "partly"),
    ],
)
def test_groups_says_what_the_numbers_say(tmp_path, value, verdict):
    store = Store(tmp_path)
    for d, K in itertools.product((20, 60, 100), (1, 10, 40)):
        shape = SETTINGS["GroPLE"] | {"n_components": d, "n_groups": K}
        made_up(store, "GroPLE", [value(d, K)] * 2, setting=shape)
    exhibit = shown("groups", store)
    assert len(exhibit.pictures) == 2
    assert [finding.verdict for finding in exhibit.findings] == [verdict]


@pytest.mark.parametrize(
    ("gain", "n", "verdict"),
    # Of five data sets even five losses may be chance, of six hardly (p = .03).
    [(0.05, 5, "confirmed"), (-0.05, 6, "refuted"), (-0.05, 5, "open"), (0.05, 4, "open")],
)
def test_ablation_says_what_the_numbers_say(tmp_path, gain, n, verdict):
    store = Store(tmp_path)
    for i, alpha in itertools.product(range(n), (0.0, 1.0)):
        setting = SETTINGS["LLSF"] | {"alpha": alpha}
        made_up(store, "LLSF", [0.5 + gain * alpha] * 2, dataset=f"data{i}", setting=setting)
    assert verdicts("ablation", store) == [verdict]


@pytest.mark.parametrize(("level", "best"), [(0.9, 2), (0.1, 0)])
def test_dimension_compares_on_the_folds_that_grople_has(tmp_path, level, best):
    store = Store(tmp_path)
    for d, share in ((17, 0.1), (34, 0.2)):  # of 169 labels
        shape = FIXED | {"alpha": 100.0, "beta": 1e-4, "n_components": d}
        made_up(store, "GroPLE", [level], dataset="debtags-mini", setting=shape)
        for name in ("PLST", "CPLST", "LEML", "FaIE"):
            setting = SETTINGS[name] | {"n_components": share}
            # Ahead over both folds, behind on the first.
            made_up(store, name, [0.5, 1.0], dataset="debtags-mini", setting=setting)
    exhibit = shown("dimension", store)
    assert exhibit.findings[0].verdict == "open"  # one data set
    assert f"accuracy {best}" in exhibit.findings[0].sentence
    assert values_of(exhibit.tables["accuracy"], "0.1L")["GroPLE"].value == (1.0 if best else 5.0)


def test_approximation_says_what_the_numbers_say(tmp_path):
    store = Store(tmp_path)
    shape = {"PLST": {"n_components": 0.8, "ridge": 1e-4}, "GroPLE": FIXED}
    shape |= {"CPLST": shape["PLST"], "FaIE": shape["PLST"] | {"alpha": 1e3}}
    order = ["GroPLE", "PLST", "CPLST", "FaIE"]
    for i, name in itertools.product(range(5), order):
        value = 0.9 - 0.1 * order.index(name)
        dataset = f"data{i}"
        made_up(store, name, [value], dataset=dataset, task="approximation", setting=shape[name])
        made_up(store, name, [1 - value], dataset=dataset)  # PLST predicts worse than FaIE
    assert verdicts("approximation", store) == ["confirmed", "confirmed"]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_empty_store_shows_nothing(name, tmp_path):
    exhibit = shown(name, Store(tmp_path))
    assert name == "statistics" or not exhibit.tables  # the printed ranks need no run


def test_plans_are_merged_without_repetition_and_quick_ones_are_small(tiny, quick):
    experiments = list(EXPERIMENTS.values())
    small, whole = make_plan(experiments, quick), make_plan(experiments, Scope((tiny,)))
    for plan in (small, whole):
        assert len(set(plan)) == len(plan)
    assert len(small) * 10 < len(whole)
    for dataset, folds in ((tiny, {0, 1}), ("debtags-mini", {0})):
        plan = make_plan([EXPERIMENTS["approximation"]], Scope((dataset,), quick=True))
        assert {run.fold for run in plan} == folds


def test_names_that_do_not_exist_are_told():
    with pytest.raises(ValueError, match="did you mean 'ablation'"):
        find_experiments(["ablations"])
    with pytest.raises(ValueError, match="comparison, statistics"):
        find_experiments(["x"])
    with pytest.raises(ValueError, match="published and nested"):
        Scope(("debtags-mini",), protocols=("nestled",))
    with pytest.raises(ValueError, match="the grids are full"):
        Scope(("debtags-mini",), grid="large")
    with pytest.raises(ValueError, match="no method 'SVMs'"):
        make_plan(find_experiments(["comparison"]), Scope(("debtags-mini",), ("SVMs",)))


def test_without_data_the_embedded_data_set_is_run_on(monkeypatch, tmp_path):
    monkeypatch.delenv("GROPLE_DATA", raising=False)
    monkeypatch.setenv("GROPLE_CACHE", str(tmp_path))
    found, missing = present_datasets(quick=True)
    assert found == ["debtags-mini"]
    assert "medical" in missing
    with pytest.raises(ValueError, match="medical is not on this machine"):
        present_datasets(["medical"])


def test_settings_are_text_that_equal_settings_share():
    assert setting_text({"b": 1.0, "a": 2}) == setting_text({"a": 2, "b": 1.0})
