"""Eight methods, many data sets, five folds: the paper's main table, ours beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from grople.pages import Cell, Table
from grople.study.experiments.base import (
    Exhibit,
    Experiment,
    Finding,
    Options,
    judged,
    plan_folds,
)
from grople.study.methods import EVERY, FIXED, METHODS, find_method
from grople.study.published import (
    METRICS,
    PRINTED,
    measure_name,
    ours,
    paper_dataset,
    published_table,
)
from grople.study.reading import Average, averages, data_order
from grople.study.splits import data
from grople.study.statistics import rank_rows
from grople.study.store import Row, Store
from grople.study.units import Batch, canonical

__all__ = ["EXPERIMENT", "complete_ranks", "protocol_cells"]

#: A difference that fills its cell with colour.
FULL_SHADE = 0.05
#: Means that differ by less print alike.
EQUAL = 0.0005

TITLES = {
    "published": "as published",
    "nested": "nested",
}


def plan(options: Options) -> list[Batch]:
    """Return the published grids and the nested protocol, method by method."""
    everyone = METHODS if options.quick else EVERY
    names = [find_method(name).name for name in options.methods] or list(everyone)
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


def complete_ranks(
    cells: dict[tuple[str, str], Average], metric: str
) -> tuple[list[str], list[str], Any]:
    """Return data sets, methods and the ranks between them, of data sets with every method."""
    methods = [name for name in EVERY if any(method == name for _, method in cells)]
    datasets = data_order(dataset for dataset, _ in cells)
    datasets = [d for d in datasets if all((d, m) in cells for m in methods)]
    means = [[round(cells[d, m].mean[metric], 3) for m in methods] for d in datasets]
    ranks = rank_rows(means, ranks=False) if len(datasets) > 1 and len(methods) > 1 else None
    return datasets, methods, ranks


def show(store: Store) -> Exhibit:
    """Return a table for each measure and protocol, the settings, and what became of claim 1."""
    tables: list[tuple[str, Table]] = []
    notes: list[str] = []
    findings: list[Finding] = []
    for protocol in ("published", "nested"):
        cells = protocol_cells(store, protocol)
        if not cells:
            continue
        for metric in METRICS:
            tables.append((f"{protocol}_{metric}", _table(cells, metric, protocol)))
        tables.append((f"{protocol}_settings", _settings(cells, protocol)))
        if protocol == "published":
            tables.append(("published_grid", _grid(_by_place(store, protocol), cells)))
        else:
            tables.append(("nested_chosen", _chosen(store.rows(task="nested"))))
        notes += _summary(cells, protocol)
        findings += _findings(cells, protocol)
    return Exhibit(notes, tables, (), findings)


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


def _table(cells: dict[tuple[str, str], Average], metric: str, protocol: str) -> Table:
    methods = [name for name in EVERY if any(method == name for _, method in cells)]
    datasets = data_order(dataset for dataset, _ in cells)
    paper = published_table("comparison")
    rows: list[Sequence[Any]] = []
    for dataset in datasets:
        here = {m: cells[dataset, m] for m in methods if (dataset, m) in cells}
        shown = {m: round(average.mean[metric], 3) for m, average in here.items()}
        # Ranks among the methods that were run here; the average over complete rows is below.
        order = (
            dict(zip(shown, rank_rows([[*shown.values()]])[0], strict=True))
            if len(shown) > 1
            else dict.fromkeys(shown, 1.0)
        )
        top = max(shown.values())
        row: list[Any] = [dataset]
        for method in methods:
            printed = paper.get((paper_dataset(dataset), metric, ours(method)))
            row += _cells(here.get(method), printed, metric, order.get(method), top)
        rows.append(row)
    columns = ["data"]
    for method in methods:
        columns += [method, f"{method}, paper", f"{method} − paper"]
    complete, _, ranks = complete_ranks(cells, metric)
    if ranks is not None:
        row = ["average rank"]
        for i, method in enumerate(methods):
            printed_rank = _printed_rank(metric, ours(method))
            mean = float(ranks[:, i].mean())
            row += [Cell(mean, f"{mean:.2f}"), Cell(printed_rank, f"{printed_rank:.2f}", "muted")]
            row.append(None)
        rows.append(row)
    folds = sorted({average.folds for average in cells.values()})
    return Table(
        columns,
        rows,
        caption=f"{measure_name(metric)}, {TITLES[protocol]}",
        note=f"Mean ± population standard deviation over {_either(folds)} folds and (rank); 0/0 "
        "counts 0. Differences are coloured from −0.05 to +0.05. The average "
        f"rank is over the {len(complete)} data sets that every method was run on, the paper's "
        "over its eleven. Bold: the best of the row.",
    )


def _cells(
    average: Average | None, printed: Any, metric: str, rank: float | None, top: float
) -> list[Any]:
    known = printed is not None and not math.isnan(printed.mean)
    theirs: Any = None
    if known:
        text = f"{printed.mean:.3f} ± {printed.std:.3f}"
        theirs = Cell(printed.mean, text, "muted", title=printed.remark)
    if average is None:
        return [None, theirs, None]
    mean, std = average.mean[metric], average.std[metric]
    emphasis = "bold" if round(mean, 3) == top else ""
    text = f"{mean:.3f} ± {std:.3f} ({rank:g})"
    mine = Cell(mean, text, emphasis, title=f"setting {_plain(average.setting)}")
    if not known:
        return [mine, theirs, None]
    gap = mean - printed.mean
    shade = float(np.clip(gap / FULL_SHADE, -1.0, 1.0))
    return [mine, theirs, Cell(gap, f"{gap:+.3f}".replace("-", "−"), shade=shade)]


def _settings(cells: dict[tuple[str, str], Average], protocol: str) -> Table:
    rows = []
    for dataset in data_order(dataset for dataset, _ in cells):
        for method in EVERY:
            average = cells.get((dataset, method))
            if average is None:
                continue
            known = EVERY[method].known(dataset)
            theirs = "not known" if known is None else _plain(known)
            seconds = Cell(average.seconds, f"{average.seconds:.2f}")
            mine = _plain(average.setting)
            rows.append([dataset, method, mine, theirs, average.folds, seconds])
    return Table(
        ["data", "method", "setting", "the paper's", "folds", "seconds a fold"],
        rows,
        caption=f"Settings, {TITLES[protocol]}",
        search=True,
        note="One setting for all folds and measures: the paper's where it is known, else the best "
        "of the grid on the test rows (sum of the four measures)."
        if protocol == "published"
        else "Chosen by three folds inside the training part, for each measure on its own.",
    )


def _chosen(rows: Sequence[Row]) -> Table:
    found: dict[tuple[str, str, str], dict[str, int]] = {}
    for row in rows:
        for metric in METRICS:
            counts = found.setdefault((row.dataset, row.method, metric), {})
            name = _plain(row.result["chosen"][metric]) or "set from the training rows"
            counts[name] = counts.get(name, 0) + 1
    order = {name: i for i, name in enumerate(data_order(dataset for dataset, *_ in found))}
    lines = [
        [dataset, method, measure_name(metric), "; ".join(f"{s} ({n}×)" for s, n in counts.items())]
        for (dataset, method, metric), counts in sorted(
            found.items(), key=lambda item: (order[item[0][0]], *item[0][1:])
        )
    ]
    return Table(
        ["data", "method", "measure", "chosen in how many folds"],
        lines,
        caption="What the nested protocol chose",
        search=True,
    )


def _grid(
    places: dict[tuple[str, str], list[Average]], cells: dict[tuple[str, str], Average]
) -> Table:
    rows = []
    for dataset in data_order(dataset for dataset, _ in places):
        for method in EVERY:
            part = places.get((dataset, method), [])
            if len(part) < 2:
                continue
            top, used = max(part, key=lambda average: average.total), cells[dataset, method]
            row: list[Any] = [dataset, method, len(part), _plain(top.setting)]
            for metric in METRICS:
                gap = top.mean[metric] - used.mean[metric]
                shade = float(np.clip(gap / FULL_SHADE, -1.0, 1.0))
                row += [Cell(top.mean[metric], shade=shade, title=f"{gap:+.3f} to the table above")]
            rows.append(row)
    return Table(
        ["data", "method", "settings", "best setting", *map(measure_name, METRICS)],
        rows,
        caption="The best that each published grid can give",
        search=True,
        note="Chosen on the test rows (sum of the four measures), so too good, for every method. "
        "Colour: difference to the setting used in the tables.",
    )


def _summary(cells: dict[tuple[str, str], Average], protocol: str) -> list[str]:
    """Say in words how ours compare with the printed cells, and GroPLE with the others."""
    paper = published_table("comparison")
    gaps = [
        average.mean[metric] - printed.mean
        for (dataset, method), average in cells.items()
        for metric in METRICS
        if (printed := paper.get((paper_dataset(dataset), metric, ours(method)))) is not None
        and not math.isnan(printed.mean)
    ]
    found = []
    if gaps:
        better = sum(gap > 0.005 for gap in gaps)
        worse = sum(gap < -0.005 for gap in gaps)
        same = len(gaps) - better - worse
        found.append(
            f"{TITLES[protocol].capitalize()}: of {len(gaps)} cells that the paper prints too, "
            f"ours are equal within .005 in {same}, better in {better} and worse in {worse}; the "
            f"median difference is {np.median(gaps):+.3f}."
        )
    wins = dict.fromkeys(EVERY, 0)
    contests = 0
    for dataset in {dataset for dataset, _ in cells}:
        for metric in METRICS:
            here = {m: a.mean[metric] for (d, m), a in cells.items() if d == dataset}
            top = max(here.values())
            contests += 1
            for method, value in here.items():
                wins[method] += value >= top - EQUAL
    ranked = sorted((m for m in wins if wins[m]), key=lambda m: -wins[m])
    told = ", ".join(f"{method} {wins[method]}" for method in ranked)
    found.append(
        f"{TITLES[protocol].capitalize()}: best or equal to the best of its row, of {contests} "
        f"rows (data set and measure): {told}."
    )
    return found


def _findings(cells: dict[tuple[str, str], Average], protocol: str) -> list[Finding]:
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
        told = "first" if leader == "GroPLE" else f"behind {leader} {mean[leader]:.2f}"
        parts.append(f"{measure_name(metric)} {mean['GroPLE']:.2f} ({told})")
    if not parts:
        return [Finding(1, "open", f"{TITLES[protocol].capitalize()}: too few to rank.")]
    verdict = judged(first, len(METRICS), n)
    printed = ", ".join(f"{PRINTED['average_rank'][metric]:.2f}" for metric in METRICS)
    return [
        Finding(
            1,
            verdict,
            f"{TITLES[protocol].capitalize()}, over {n} data sets GroPLE's average ranks are "
            f"{', '.join(parts)}; the paper prints {printed} over eleven.",
        )
    ]


def _printed_rank(metric: str, method: str) -> float:
    cells = published_table("comparison")
    found = [c.rank for (_, m, name), c in cells.items() if m == metric and name == method]
    return float(np.nanmean(found))


def _plain(setting: Any) -> str:
    letters = {
        "n_components": "d", "n_groups": "K", "lambda_1": "λ1", "lambda_2": "λ2", "alpha": "α",
        "beta": "β", "gamma": "γ", "ridge": "λ", "meta_label_size": "size",
    }  # fmt: skip
    return ", ".join(
        f"{letters.get(name, name)}={value:g}" if isinstance(value, float | int)
        else f"{letters.get(name, name)}={value}"
        for name, value in setting.items()
    )  # fmt: skip


def _either(numbers: Sequence[int]) -> str:
    return " or ".join(map(str, numbers))


EXPERIMENT = Experiment(
    "comparison",
    "Comparison",
    "How well do eight methods predict, as published and with everything chosen inside the "
    "training part?",
    plan,
    show,
)
