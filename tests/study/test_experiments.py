"""Every experiment from plan to exhibit, on a tiny data set and on made-up stores."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from grople.study.engine import run
from grople.study.experiments import EXPERIMENTS, Options, chosen
from grople.study.experiments.comparison import protocol_cells
from grople.study.figures import (
    plot_critical_difference,
    plot_grid,
    plot_lines,
    plot_pairs,
    plot_presence,
)
from grople.study.methods import FIXED, METHODS, product
from grople.study.published import METRICS, ours, published_ranks, published_table
from grople.study.running import make_plan, present
from grople.study.statistics import nemenyi
from grople.study.store import Store
from grople.study.units import Batch, batches


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """A store whose comparison is the paper's own table: five equal folds of each cell."""
    folder = tmp_path_factory.mktemp("printed")
    table = published_table("comparison")
    with Store(folder) as store:
        for dataset in published_ranks("accuracy")[0]:
            name = "genbase-authors" if dataset == "genbase" else dataset
            for method in METHODS:
                cells = {m: table[dataset, m, ours(method)].mean for m in METRICS}
                setting = METHODS[method].known(name) or METHODS[method].grid[0]
                for fold in range(5):
                    batch = Batch("published", name, method, fold, "print", (setting,))
                    store.add(batch, setting, cells, 1.0)
        yield store


def test_the_papers_own_table_differs_from_itself_by_nothing(printed):
    exhibit = EXPERIMENTS["comparison"].show(printed)
    tables = dict(exhibit.tables)
    assert set(tables) >= {f"published_{metric}" for metric in METRICS}
    for metric in METRICS:
        table = tables[f"published_{metric}"]
        assert len(table.rows) == 12  # eleven data sets and the average rank
        gaps = [cell.value for row in table.rows[:-1] for cell in row[3::3]]
        np.testing.assert_allclose(gaps, 0.0, atol=1e-12)
    (first,) = [finding for finding in exhibit.findings if finding.claim == 1]
    assert first.verdict == "confirmed"
    assert "equal within .005 in 352" in " ".join(exhibit.notes)


def test_average_ranks_of_the_papers_table_are_the_printed_ones(printed):
    """Up to ties that the printed digits made: half a rank on a few of eleven data sets."""
    table = dict(EXPERIMENTS["comparison"].show(printed).tables)["published_accuracy"]
    ours_, theirs = (
        np.array([cell.value for cell in table.rows[-1][i::3]], dtype=float) for i in (1, 2)
    )
    np.testing.assert_allclose(ours_, theirs, atol=0.1)


def test_the_tests_over_the_papers_table_are_the_printed_ones(printed):
    exhibit = EXPERIMENTS["statistics"].show(printed)
    tables = dict(exhibit.tables)
    assert tables["published"].rows[0][1].value == pytest.approx(7.758, abs=0.3)
    misprint = [row for row in tables["printed"].rows if "corrected" in row[0]]
    assert misprint[0][1].value == pytest.approx(8.801, abs=0.001)
    assert len(tables["printed"].rows) == 5
    assert len(exhibit.figures) == 8  # printed and ours, four measures each
    assert exhibit.findings[0].verdict == "confirmed"
    assert any("instead of 36" in note for note in exhibit.notes)


def test_the_papers_setting_is_used_where_it_is_known(tmp_path):
    known = METHODS["PLST"].known("medical")
    with Store(tmp_path) as store:
        for setting, value in ((known, 0.5), ({"n_components": 0.1, "ridge": 1.0}, 0.9)):
            for name in ("medical", "debtags-mini"):
                batch = Batch("published", name, "PLST", 0, "f", (setting,))
                store.add(batch, setting, dict.fromkeys(METRICS, value), 0.1)
        cells = protocol_cells(store, "published")
    assert cells["medical", "PLST"].mean["accuracy"] == 0.5
    assert cells["debtags-mini", "PLST"].mean["accuracy"] == 0.9  # the best of the grid


def test_other_dimensions_are_not_of_the_comparison(tmp_path):
    usual = FIXED | {"alpha": 1.0, "beta": 1.0}
    with Store(tmp_path) as store:
        for setting in (usual, usual | {"n_groups": 5}, usual | {"alpha": 0.0}):
            batch = Batch("published", "d", "GroPLE", 0, "f", (setting,))
            store.add(batch, setting, dict.fromkeys(METRICS, setting["n_groups"] / 100), 0.1)
        cells = protocol_cells(store, "published")
    assert cells["d", "GroPLE"].setting == usual


def fill(folder, task, method, settings, value, dataset="medical"):
    with Store(folder) as store:
        for fold in range(2):
            batch = Batch(task, dataset, method, fold, "f", tuple(settings))
            for setting in settings:
                store.add(batch, setting, dict.fromkeys(METRICS, value(setting)), 0.1)


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (lambda s: 0.7 - 0.1 * (s["lambda_1"] >= 10) - 0.01 * (s["lambda_2"] > 1), "confirmed"),
        (lambda s: 0.3 + 0.1 * (s["lambda_1"] >= 10) + 0.1 * np.log10(s["lambda_2"]), "refuted"),
        (lambda s: 0.7 - 0.1 * (s["lambda_1"] >= 10), "partly"),
        # λ2 matters all the way up to 1, so that it is not stable there.
        (
            lambda s: 0.7 - 0.1 * (s["lambda_1"] >= 10) - 0.1 * np.log10(1e3 * s["lambda_2"]),
            "partly",
        ),
    ],
)
def test_sensitivity_says_what_the_numbers_say(tmp_path, value, verdict):
    weights = [10.0**k for k in range(-3, 3)]
    settings = product(
        n_components=[100],
        n_groups=[5],
        lambda_1=weights,
        lambda_2=weights,
        alpha=[1.0],
        beta=[1.0],
    )
    fill(tmp_path, "published", "GroPLE", settings, value)
    with Store(tmp_path) as store:
        exhibit = EXPERIMENTS["sensitivity"].show(store)
    assert [finding.verdict for finding in exhibit.findings] == [verdict]
    assert exhibit.figures[0].draw().get_title() == "accuracy, medical"


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (lambda s: 0.3 + 1e-4 * s["n_components"] * (1 < s["n_groups"] < 40), "confirmed"),
        (lambda s: 0.3 + 0.02 * (s["n_groups"] == 1), "refuted"),
    ],
)
def test_groups_says_what_the_numbers_say(tmp_path, value, verdict):
    settings = product(
        n_components=[20, 60, 100], n_groups=[1, 10, 40], lambda_1=[1e-3], lambda_2=[1.0],
        alpha=[1.0], beta=[1.0],
    )  # fmt: skip
    fill(tmp_path, "published", "GroPLE", settings, value)
    with Store(tmp_path) as store:
        exhibit = EXPERIMENTS["groups"].show(store)
    found = exhibit.findings[0].verdict
    # Falling from the best micro-F1 is one of three parts, and holds in the second case too.
    assert found == verdict or (verdict == "refuted" and found == "partly")
    assert len(exhibit.figures) == 2


@pytest.mark.parametrize(
    ("gain", "n", "verdict"),
    # Of five data sets even five losses may be chance, of six hardly (p = .03).
    [(0.05, 5, "confirmed"), (-0.05, 6, "refuted"), (-0.05, 5, "open"), (0.05, 4, "open")],
)
def test_ablation_says_what_the_numbers_say(tmp_path, gain, n, verdict):
    settings = product(alpha=[0.0, 1.0], beta=[1.0], gamma=[0.1])
    for i in range(n):
        value = lambda s: 0.5 + gain * (s["alpha"] > 0)  # noqa: E731
        fill(tmp_path, "published", "LLSF", settings, value, f"data{i}")
    with Store(tmp_path) as store:
        exhibit = EXPERIMENTS["ablation"].show(store)
    assert [finding.verdict for finding in exhibit.findings] == [verdict]


@pytest.mark.parametrize(("level", "best"), [(0.9, 2), (0.1, 0)])
def test_dimension_says_what_the_numbers_say(tmp_path, level, best):
    data = "debtags-mini"
    shape = FIXED | {"alpha": 100.0, "beta": 1e-4}
    sizes = [shape | {"n_components": d} for d in (17, 34)]
    fill(tmp_path, "published", "GroPLE", sizes, lambda s: level, data)
    for name in ("PLST", "CPLST", "LEML"):
        fill(tmp_path, "published", name, product(n_components=[0.1, 0.2], ridge=[1.0]),
             lambda s: 0.5, data)  # fmt: skip
    fill(tmp_path, "published", "FaIE", product(n_components=[0.1, 0.2], ridge=[1.0], alpha=[1.0]),
         lambda s: 0.4, data)  # fmt: skip
    with Store(tmp_path) as store:
        exhibit = EXPERIMENTS["dimension"].show(store)
    assert exhibit.findings[0].verdict == "open"  # one data set
    assert f"accuracy {best} of 2" in exhibit.findings[0].sentence
    assert [row[0] for row in exhibit.tables[0][1].rows] == ["0.1L", "0.2L"]


def test_dimension_takes_one_fold_of_what_is_beyond_the_budget(tiny):
    def folds(budget):
        plan = EXPERIMENTS["dimension"].plan(Options((tiny,), budget=budget))
        return {name: {b.fold for b in plan if b.method == name} for name in ("GroPLE", "PLST")}

    every = set(range(5))
    assert folds(600.0) == {"GroPLE": every, "PLST": every}
    assert folds(0.0) == {"GroPLE": {0}, "PLST": every}


def test_dimension_compares_on_the_folds_that_grople_ran(tmp_path):
    def add(store, name, setting, fold, value):
        batch = Batch("published", "debtags-mini", name, fold, "f", (setting,))
        store.add(batch, setting, dict.fromkeys(METRICS, value), 0.1)

    shape = FIXED | {"alpha": 100.0, "beta": 1e-4}
    with Store(tmp_path) as store:
        add(store, "GroPLE", shape | {"n_components": 17}, 0, 0.5)
        for fold in (0, 1):
            add(store, "GroPLE", shape | {"n_components": 34}, fold, 0.5)
            for share, name in itertools.product((0.1, 0.2), ("PLST", "CPLST", "FaIE", "LEML")):
                setting = {"n_components": share, "ridge": 1.0}
                # Ahead over both folds, behind on the first.
                add(store, name, setting, fold, 0.4 if fold == 0 else 0.8)
        exhibit = EXPERIMENTS["dimension"].show(store)
    ranks = {row[0]: row[2].value for row in exhibit.tables[0][1].rows}
    assert ranks == {"0.1L": 1.0, "0.2L": 5.0}
    assert "0.1L on debtags-mini (1 of 2 folds)" in exhibit.notes[0]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_empty_store_shows_nothing_and_says_so(name, tmp_path):
    with Store(tmp_path) as store:
        exhibit = EXPERIMENTS[name].show(store)
    assert name == "statistics" or not exhibit.tables  # the printed ranks need no run


@pytest.mark.parametrize("name", ["approximation", "heatmap", "cost"])
def test_an_experiment_runs_from_plan_to_exhibit(name, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("grople.study.costs.REPEATS", 1)
    plan = EXPERIMENTS[name].plan(Options((tiny,), quick=True, folds=(0, 1)))
    if name == "cost":  # of the sizes two that differ in N alone: the others take as long again
        plan = [b for b in plan if b.settings[0]["n_rows"] <= 2000][:2]
    outcome = run(plan, tmp_path)
    assert outcome.failures == []
    with Store(tmp_path) as store:
        exhibit = EXPERIMENTS[name].show(store)
    assert exhibit.tables
    assert exhibit.findings
    for figure in exhibit.figures:
        assert figure.draw().figure is not None
        assert figure.alt


def test_plans_are_merged_without_repetition(tiny):
    options = Options((tiny,), quick=True, folds=(0,), protocols=("published",))
    plans = [EXPERIMENTS[name].plan(options) for name in ("comparison", "statistics", "ablation")]
    keys = [key for batch in batches(plans) for key in batch.unit_keys()]
    assert len(keys) == len(set(keys))


def test_a_quick_plan_is_a_part_of_the_whole(tiny):
    kinds = {"quick": {"quick": True}, "full": {}}
    sizes = {
        kind: sum(len(b.settings) for b in make_plan(chosen(["all"]), [tiny], **extra))
        for kind, extra in kinds.items()
    }
    assert sizes["quick"] * 10 < sizes["full"]


def test_a_quick_run_takes_two_folds_and_one_of_the_embedded_data_set(tiny):
    for dataset, folds in ((tiny, {0, 1}), ("debtags-mini", {0})):
        plan = make_plan(chosen(["approximation"]), [dataset], quick=True)
        assert {batch.fold for batch in plan} == folds


def test_names_that_do_not_exist_are_told():
    with pytest.raises(ValueError, match="did you mean 'ablation'"):
        chosen(["ablations"])
    with pytest.raises(ValueError, match="comparison, statistics"):
        chosen(["x"])
    with pytest.raises(ValueError, match="published and nested"):
        make_plan(chosen(["comparison"]), ["debtags-mini"], protocols=["nestled"])
    with pytest.raises(ValueError, match="no method is called"):
        make_plan(chosen(["comparison"]), ["debtags-mini"], methods=["SVMs"])


def test_without_data_the_embedded_data_set_is_run_on(monkeypatch, tmp_path):
    monkeypatch.delenv("GROPLE_DATA", raising=False)
    monkeypatch.setenv("GROPLE_CACHE", str(tmp_path))
    found, missing = present(quick=True)
    assert found == ["debtags-mini"]
    assert "medical" in missing
    with pytest.raises(ValueError, match="medical is not on this machine"):
        present(["medical"])


def test_a_critical_difference_diagram_shows_what_it_is_given():
    _, methods, ranks = published_ranks("accuracy")
    test = nemenyi(ranks)
    ax = plot_critical_difference(test.average_ranks, methods, test.critical_difference)
    texts = [text.get_text() for text in ax.texts]
    assert "GroPLE  1.68" in texts
    assert "CD 3.17" in texts
    low, high = ax.get_xlim()
    for line in ax.lines:
        assert low <= min(line.get_xdata())
        assert max(line.get_xdata()) <= high


def test_pictures_draw_on_given_axes():
    from matplotlib.figure import Figure

    axes = Figure().subplots(4)
    assert plot_grid([[0.1, np.nan]], ["a"], ["b", "c"], ax=axes[0]) is axes[0]
    assert plot_lines([1, 2], {"a": [1, 2]}, ax=axes[1], logarithmic=True) is axes[1]
    assert plot_pairs(["a"], [1], [2], ("x", "y"), ax=axes[2]) is axes[2]
    assert plot_presence([[0.0, 1.0]], ["a"], ax=axes[3]) is axes[3]
    assert axes[1].get_yscale() == "log"
