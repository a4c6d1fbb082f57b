"""Eight methods, many data sets, five folds: the paper's main table, ours next to it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from grople.inspection import Table
from grople.study._data import load_data
from grople.study._experiment import Exhibit, Experiment, Finding, Scope, plan_folds
from grople.study._frames import choose_settings, mean_table, where
from grople.study._methods import (
    FIXED,
    chosen_methods,
    known_setting,
    nested_within,
    settings_within,
)
from grople.study._nested import nested_runs
from grople.study._pairs import compare_pairs, pair_table, rank_finding
from grople.study._printed import (
    METRICS,
    PAPER_METHODS,
    PRINTED,
    paper_dataset,
    printed_table,
)
from grople.study._published_runs import published_runs
from grople.study._store import Run
from grople.study._tables import measure_table, plain_setting

TITLES = {"published": "as published", "nested": "nested"}
PRINTED_RANKS = ", ".join(f"{rank:.2f}" for rank in PRINTED["average_rank"])
#: Means that differ by no more count as equal.
CLOSE = 0.005


def plan(scope: Scope) -> list[Run]:
    """Return the published grids and the nested protocol, method by method."""
    found: list[Run] = []
    for dataset in scope.datasets:
        data = load_data(dataset)
        for name in chosen_methods(scope.methods):
            if "published" in scope.protocols and name in PAPER_METHODS:
                settings = settings_within(name, data, scope.searched, scope.seconds)
                found += plan_folds("published", dataset, name, settings, scope)
            if "nested" in scope.protocols and nested_within(name, data, scope.seconds):
                grid = {"grid": "small" if scope.small else "full"}
                found += plan_folds("nested", dataset, name, [grid], scope)
    return found


def protocol_cells(runs: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """Return the runs of one setting for each data set and method, for all folds and measures.

    As published that is the paper's setting where it is known, else the best of the grid on the
    test rows, which is how the known ones look chosen. The nested protocol chose inside the
    training rows; there it is the larger grid.
    """
    runs = runs[runs["task"] == protocol]
    if protocol == "nested":
        return choose_settings(runs, lambda *place: {"grid": "full"})
    compared = map(_compared, runs["method"], runs["parameters"])
    return choose_settings(where(runs, compared), known_setting)


def _compared(method: str, setting: dict[str, Any]) -> bool:
    """Whether a published run is of the comparison: with its dimensions and correlation term."""
    if method == "GroPLE":
        return setting["alpha"] > 0 and FIXED.items() <= setting.items()
    if method in ("LLSF", "MLSF"):
        return bool((setting["alpha"] > 0) == (method == "LLSF"))
    return True


def show(runs: pd.DataFrame) -> Exhibit:
    """Return tables for each measure and protocol, and what became of the claim."""
    tables: dict[str, Table] = {}
    notes: list[str] = []
    findings: list[Finding] = []
    for protocol, title in TITLES.items():
        cells = protocol_cells(runs, protocol)
        if cells.empty:
            continue
        for metric in METRICS:
            tables[f"{protocol}_{metric}"] = measure_table(cells, metric, "comparison", title)
        pairs = compare_pairs(cells)
        if pairs:
            tables[f"{protocol}_pairs"] = pair_table(pairs, title)
        if protocol == "nested":
            tables["nested_chosen"] = _chosen_table(cells)
        notes += [f"{title.capitalize()}: {note}" for note in _printed_note(cells)]
        papers = cells[cells["method"].isin(PAPER_METHODS)]
        findings.append(
            rank_finding(papers, f"{title}, among the paper's methods", pairs, PRINTED_RANKS)
        )
        if len(papers) < len(cells):
            findings.append(
                rank_finding(cells, f"{title}, among all methods", pairs, PRINTED_RANKS)
            )
    return Exhibit(notes, tables, (), findings)


def _chosen_table(cells: pd.DataFrame) -> Table:
    """Return how often the nested protocol chose what, and the seconds of a fit."""
    rows = []
    for (dataset, method), part in cells.groupby(["dataset", "method"], sort=False):
        results = list(part["result"])
        chosen = Counter(plain_setting(s) for result in results for s in result["chosen"].values())
        told = "; ".join(f"{setting} ({count}×)" for setting, count in chosen.items() if setting)
        seconds = float(np.mean([result["fit_seconds"] for result in results]))
        rows.append([dataset, method, told or "nothing to choose", seconds])
    columns = ["data", "method", "chosen, in how many folds and measures", "seconds a fit"]
    return Table(columns, rows, caption="Chosen inside the training rows", search=True)


def _printed_note(cells: pd.DataFrame) -> list[str]:
    """Say how ours compare with the printed cells."""
    printed = printed_table("comparison")["mean"]
    gaps: list[float] = []
    for metric in METRICS:
        for dataset, values in mean_table(cells, metric).iterrows():
            place = paper_dataset(dataset), metric
            theirs = [printed.get((*place, method), np.nan) for method in values.index]
            gaps += (values - theirs).dropna().tolist()
    same, better = sum(abs(gap) <= CLOSE for gap in gaps), sum(gap > CLOSE for gap in gaps)
    told = (
        f"of {len(gaps)} cells that the paper prints too, ours are equal within {CLOSE:g} in "
        f"{same}, better in {better} and worse in {len(gaps) - same - better}; the median "
        f"difference is {np.median(gaps or 0):+.3f}."
    )
    return [told] if gaps else []


EXPERIMENT = Experiment(
    "comparison",
    "Comparison",
    "How well do eight methods predict, as published and with everything chosen inside the "
    "training part?",
    1,
    "GroPLE ranks first on average, on all four measures.",
    {"published": published_runs, "nested": nested_runs},
    plan,
    show,
)
