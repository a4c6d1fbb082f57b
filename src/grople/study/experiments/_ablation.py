"""The correlation term: each method with it and without it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from grople.inspection import Picture, Table
from grople.study._data import load_data
from grople.study._experiment import Exhibit, Experiment, Finding, Scope, plan_folds, verdict_on
from grople.study._frames import choose_settings, mean_table, score_ranks, where
from grople.study._methods import FIXED, POWERS, QUICK_POWERS, settings_within
from grople.study._plots import plot_bars
from grople.study._printed import METRICS, measure_name
from grople.study._published_runs import published_runs
from grople.study._statistics import LEVEL, signed_ranks
from grople.study._store import Run, Setting
from grople.study._tables import picture_id, rank_cell

NAMES = ("GroPLE", "LLSF", "MLSF")
WITH, WITHOUT = "α > 0", "α = 0"
#: α of MLSF's selection of features, where the paper searched as it did for the others.
MLSF_ALPHAS = (0.1, 10.0)


def plan(scope: Scope) -> list[Run]:
    """Return the grids of the comparison, and the same without the correlation term."""
    weights = QUICK_POWERS if scope.small else POWERS
    found: list[Run] = []
    for dataset in scope.datasets:
        for name in NAMES:
            usual = settings_within(name, load_data(dataset), scope.searched, scope.seconds)
            settings = usual + _other_settings(name, usual, weights)
            found += plan_folds("published", dataset, name, settings, scope)
    return found


def _other_settings(
    name: str, usual: Sequence[Setting], weights: Sequence[float]
) -> list[dict[str, Any]]:
    """Return what the comparison lacks: no correlation term, or for MLSF one."""
    if name == "GroPLE":
        return [FIXED | {"alpha": 0.0, "beta": beta} for beta in weights]
    if name == "LLSF":
        return [{"alpha": 0.0, "beta": beta, "gamma": 0.1} for beta in weights]
    return [{**setting, "alpha": alpha} for setting in usual[:1] for alpha in MLSF_ALPHAS]


def show(runs: pd.DataFrame) -> Exhibit:
    """Return average ranks with and without the term, and what became of the claim."""
    cells = {name: _variants(runs, name) for name in NAMES}
    cells = {name: part for name, part in cells.items() if not part.empty}
    if not cells:
        return Exhibit()
    ranks = {
        metric: pd.DataFrame(
            {
                name: score_ranks(part, metric, (WITH, WITHOUT)).mean()
                for name, part in cells.items()
            }
        ).T[[WITH, WITHOUT]]
        for metric in METRICS
    }
    rows: list[list[Any]] = [
        [name, part["dataset"].nunique()]
        + [
            rank_cell(rank, ranks[m].loc[name].min())
            for m in METRICS
            for rank in ranks[m].loc[name]
        ]
        for name, part in cells.items()
    ]
    columns = [f"{measure_name(m)}, {variant}" for m in METRICS for variant in (WITH, WITHOUT)]
    caption = "Average rank of the two variants of each method (1 better, 2 worse)"
    note = (
        "One setting for all folds by the sum of the four measures; β is tuned in both variants of "
        "GroPLE and LLSF, where α > 0 has more settings to choose from, which favours it. MLSF, "
        "which is slow, has four γ without the term, as far as the budget allows, and two α at one "
        "γ with it."
    )
    return Exhibit(
        [note],
        {"ranks": Table(["method", "data sets", *columns], rows, caption=caption)},
        [_picture(table, metric) for metric, table in ranks.items()],
        [_finding(part, name, ranks) for name, part in cells.items()],
    )


def _variants(runs: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the best runs with and without the term, the variants in place of methods."""
    runs = runs[(runs["task"] == "published") & (runs["method"] == name)]
    fixed = FIXED if name == "GroPLE" else {}
    runs = where(runs, (fixed.items() <= setting.items() for setting in runs["parameters"]))
    runs = runs.assign(method=[WITH if s["alpha"] > 0 else WITHOUT for s in runs["parameters"]])
    both = runs.groupby(["dataset", "fold"])["method"].transform("nunique") == 2
    return choose_settings(runs[both])


def _finding(cells: pd.DataFrame, name: str, ranks: dict[str, pd.DataFrame]) -> Finding:
    """Judge one method. Claimed: the term helps GroPLE and LLSF and hurts MLSF."""
    told, held, certain = [], 0, False
    for metric in METRICS:
        with_it, without = ranks[metric].loc[name]
        held += bool(with_it > without if name == "MLSF" else with_it < without)
        means = mean_table(cells, metric)
        p_value = signed_ranks(means[WITH] - means[WITHOUT])
        certain |= p_value < LEVEL
        tested = "" if math.isnan(p_value) else f" (p = {p_value:.3f})"
        told.append(f"{measure_name(metric)} {with_it:.2f} against {without:.2f}{tested}")
    n = cells["dataset"].nunique()
    verdict = verdict_on(held, len(METRICS), n)
    if verdict == "refuted" and not certain:  # what no test tells apart refutes nothing
        verdict = "open"
    claim = "slightly hurts" if name == "MLSF" else "helps"
    return Finding(
        verdict,
        f"The term {claim} {name}? Average ranks with it and without over {n} data sets: "
        f"{', '.join(told)}.",
    )


def _picture(ranks: pd.DataFrame, metric: str) -> Picture:
    name = measure_name(metric)
    told = "; ".join(f"{n} {a:.2f} with, {b:.2f} without" for n, a, b in ranks.itertuples())
    drawn = plot_bars(ranks, ("", "average rank"), name)
    caption = "With and without the correlation term: lower is better."
    return Picture(drawn, picture_id("ablation", metric), f"Average rank by {name}", caption, told)


EXPERIMENT = Experiment(
    "ablation",
    "Ablation",
    "Does the correlation term help?",
    8,
    "The correlation term helps GroPLE and LLSF and slightly hurts MLSF.",
    {"published": published_runs},
    plan,
    show,
)
