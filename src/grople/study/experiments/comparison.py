"""Eight methods, many data sets, five folds: the paper's main table, ours beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from grople.pages import Table
from grople.study.experiments.base import (
    Exhibit,
    Experiment,
    Finding,
    Options,
    judged,
    plan_folds,
)
from grople.study.experiments.comparison_pairs import (
    Pair,
    ahead_and_behind,
    pair_tables,
    pairs,
)
from grople.study.experiments.comparison_tables import (
    Cells,
    best_printed,
    chosen_table,
    complete_ranks,
    grid_table,
    measure_table,
    rank_table,
    seconds_table,
    settings_table,
)
from grople.study.methods import EVERY, FIXED, METHODS, chosen_methods
from grople.study.nested import SINGLE
from grople.study.paired import differ
from grople.study.published import (
    METRICS,
    PRINTED,
    measure_name,
    ours,
    paper_dataset,
    published_table,
)
from grople.study.reading import Average, averages
from grople.study.splits import data
from grople.study.store import Row, Store
from grople.study.units import Batch, canonical

__all__ = ["EXPERIMENT", "complete_ranks", "protocol_cells"]

#: Means that differ by less print alike.
EQUAL = 0.0005

TITLES = {
    "published": "as published",
    "nested": "nested",
}


def plan(options: Options) -> list[Batch]:
    """Return the published grids and the nested protocol, method by method."""
    names = chosen_methods(options.methods)
    found: list[Batch] = []
    for dataset in options.datasets:
        for name in names:
            method = EVERY[name]
            if "published" in options.protocols and name in METHODS:
                settings = method.settings(
                    data(dataset), grid=options.searched, budget=options.budget
                )
                found += plan_folds("published", dataset, name, settings, options)
            cheap = method.seconds(data(dataset), {"solver": "liblinear"}) * 6 <= options.budget
            if "nested" in options.protocols and cheap:
                grid = {"grid": "small" if options.small else "full"}
                found += plan_folds("nested", dataset, name, [grid], options)
    return found


def protocol_cells(store: Store, protocol: str) -> dict[tuple[str, str], Average]:
    """Return the average of each data set and method: of one setting for all folds and measures.

    As published that is the paper's setting where it is known, else the best of the grid on the
    test rows, which is how the known ones look chosen. The nested protocol has nothing to choose
    here, it chose inside the training rows.
    """
    found = {}
    for key, part in _by_place(store, protocol).items():
        known = EVERY[key[1]].known(key[0]) if protocol == "published" else {"grid": "full"}
        wanted = None if known is None else canonical(known)
        named = [average for average in part if canonical(average.setting) == wanted]
        found[key] = named[0] if named else max(part, key=lambda average: average.total)
    return found


def _by_place(store: Store, protocol: str) -> dict[tuple[str, str], list[Average]]:
    rows = [row for row in store.rows(task=protocol) if _of_comparison(row)]
    groups: dict[tuple[str, str], list[Average]] = {}
    for average in averages(rows):
        groups.setdefault((average.dataset, average.method), []).append(average)
    return groups


def single_cells(cells: Cells) -> dict[tuple[str, str], Average]:
    """Return the same averages under one decision for all measures."""
    found = {}
    for key, average in cells.items():
        rows = [
            replace(row, result=row.result["single"] | {"fit_seconds": row.result["fit_seconds"]})
            for row in average.rows
        ]
        (found[key],) = averages(rows)
    return found


def show(store: Store) -> Exhibit:
    """Return a table for each measure and protocol, the settings, and what became of claim 1."""
    tables: list[tuple[str, Table]] = []
    notes: list[str] = []
    findings: list[Finding] = []
    for protocol, title in TITLES.items():
        cells = protocol_cells(store, protocol)
        if not cells:
            continue
        found = pairs(cells)
        tables += _tables(store, protocol, title, cells, found)
        notes += _summary(cells, protocol)
        findings += _findings(cells, title, found)
    return Exhibit(notes, tables, (), findings)


def _tables(
    store: Store, protocol: str, title: str, cells: Cells, found: Sequence[Pair]
) -> list[tuple[str, Table]]:
    tables: list[tuple[str, Table | None]] = [("ranks", rank_table(cells, title))]
    paper = "cells" if protocol == "published" else "best"
    for metric in METRICS:
        tables.append((metric, measure_table(cells, metric, title, paper=paper)))
    tables += pair_tables(found, title)
    if protocol == "nested":
        single, told = single_cells(cells), f"{title}, the decision for {measure_name(SINGLE)}"
        tables.append(("single_ranks", rank_table(single, told)))
        tables += [
            (f"single_{metric}", measure_table(single, metric, told, paper=""))
            for metric in METRICS
            if metric != SINGLE
        ]
        tables.append(("seconds", seconds_table(cells, title)))
    tables.append(("settings", settings_table(cells, protocol, title)))
    if protocol == "published":
        tables.append(("grid", grid_table(_by_place(store, protocol), cells)))
    else:
        tables.append(("chosen", chosen_table(store.rows(task="nested"))))
    return [(f"{protocol}_{name}", table) for name, table in tables if table is not None]


def _of_comparison(row: Row) -> bool:
    """Whether a unit is of the comparison, and not of an experiment with other dimensions."""
    if row.task != "published":
        return True
    if row.method == "GroPLE":
        fixed = all(row.setting[name] == value for name, value in FIXED.items())
        return fixed and row.setting["alpha"] > 0
    if row.method == "MLSF":
        return row.setting["alpha"] == 0
    return not (row.method == "LLSF" and row.setting["alpha"] == 0)


def _summary(cells: Cells, protocol: str) -> list[str]:
    """Say in words how ours compare with the printed cells, and GroPLE with the others."""
    paper = published_table("comparison")
    gaps = []
    up = down = 0
    for (dataset, method), average in cells.items():
        for metric in METRICS:
            printed = paper.get((paper_dataset(dataset), metric, ours(method)))
            if printed is None or math.isnan(printed.mean):
                continue
            mean, std = average.mean[metric], average.std[metric]
            gaps.append(mean - printed.mean)
            sure = differ(mean, std, printed.mean, printed.std, average.folds)
            up += sure and mean > printed.mean
            down += sure and mean < printed.mean
    found = []
    if gaps:
        better = sum(gap > 0.005 for gap in gaps)
        worse = sum(gap < -0.005 for gap in gaps)
        same = len(gaps) - better - worse
        found.append(
            f"{TITLES[protocol].capitalize()}: of {len(gaps)} cells that the paper prints too, "
            f"ours are equal within .005 in {same}, better in {better} and worse in {worse}; "
            f"{up} are better and {down} worse beyond the spread of the folds (Welch's t-test of "
            f"means and deviations, p < .05). The median difference is {np.median(gaps):+.3f}."
        )
    if protocol == "nested":
        found += _lift(cells)
    wins = dict.fromkeys(EVERY, 0)
    contests = 0
    for dataset in {dataset for dataset, _ in cells}:
        for metric in METRICS:
            here = {m: a.mean[metric] for (d, m), a in cells.items() if d == dataset}
            if len(here) < 2:  # nobody to be better than
                continue
            top = max(here.values())
            contests += 1
            for method, value in here.items():
                wins[method] += value >= top - EQUAL
    ranked = sorted((m for m in wins if wins[m]), key=lambda m: -wins[m])
    told = ", ".join(f"{method} {wins[method]}" for method in ranked)
    if contests:
        found.append(
            f"{TITLES[protocol].capitalize()}: best or equal to the best of its row, of {contests} "
            f"rows (data set and measure): {told}."
        )
    return found


def _lift(cells: Cells) -> list[str]:
    """Say how far GroPLE is above the best of the paper's methods in the paper's own table."""
    lifts: dict[str, list[float]] = {metric: [] for metric in METRICS}
    short = []
    for (dataset, method), average in cells.items():
        for metric in METRICS if method == "GroPLE" else ():
            best = best_printed(dataset, metric)
            if best is None:
                continue
            lift = average.mean[metric] / best[1] - 1.0
            lifts[metric].append(lift)
            if lift <= 0:
                short.append(f"{dataset} {measure_name(metric)} {lift:+.1%}")
    every = [lift for part in lifts.values() for lift in part]
    if not every:
        return []
    each = ", ".join(f"{measure_name(m)} {np.mean(part):+.0%}" for m, part in lifts.items())
    told = "GroPLE is above the best printed cell of the paper's eight methods in "
    told += f"{sum(lift > 0 for lift in every)} of {len(every)} cells, by {np.mean(every):.1%} on "
    told += f"average ({each}); the paper decides by sign."
    return [told + (f" Not above: {', '.join(short)}." if short else "")]


def _findings(cells: Cells, title: str, found: Sequence[Pair]) -> list[Finding]:
    """Judge claim 1 among the paper's methods, and among all treated alike where they are more."""
    papers = {key: average for key, average in cells.items() if key[1] in METHODS}
    findings = [_finding(papers, f"{title}, among the paper's methods", found)]
    # With features that are not linear a method is treated otherwise than the rest.
    alike = {key: average for key, average in cells.items() if not EVERY[key[1]].nonlinear}
    if len(papers) < len(alike):
        findings.append(_finding(alike, f"{title}, among all methods", found))
    return findings


def _finding(cells: Cells, title: str, found: Sequence[Pair]) -> Finding:
    parts, first = [], 0
    n = 0
    for metric in METRICS:
        datasets, methods, ranks = complete_ranks(cells, metric)
        if ranks is None or "GroPLE" not in methods:
            continue
        n = len(datasets)
        mean = dict(zip(methods, ranks.mean(axis=0), strict=True))
        leader = min(mean, key=lambda m: mean[m])
        first += leader == "GroPLE"
        told = "first" if leader == "GroPLE" else f"first is {leader}, {mean[leader]:.2f}"
        parts.append(f"{mean['GroPLE']:.2f} by {measure_name(metric)} ({told})")
    if not parts:
        return Finding(1, "open", f"{title.capitalize()}: too few to rank.")
    verdict = judged(first, len(METRICS), n)
    printed = ", ".join(f"{PRINTED['average_rank'][metric]:.2f}" for metric in METRICS)
    return Finding(
        1,
        verdict,
        f"{title.capitalize()}, over {n} data sets, GroPLE's average rank is "
        f"{', '.join(parts)}; the paper prints {printed} over eleven. "
        + ahead_and_behind([pair for pair in found if pair.rival in methods]),
    )


EXPERIMENT = Experiment(
    "comparison",
    "Comparison",
    "How well do eight methods predict, as published and with everything chosen inside the "
    "training part?",
    plan,
    show,
)
