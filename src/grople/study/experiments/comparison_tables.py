"""The tables of the comparison: measures with ranks, average ranks, settings, seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grople.pages import Cell, Table
from grople.study.methods import EVERY, METHODS
from grople.study.paired import Interval
from grople.study.published import METRICS, measure_name, ours, paper_dataset, published_table
from grople.study.reading import Average, data_order, shared_folds
from grople.study.statistics import rank_rows
from grople.study.store import Row

__all__ = [
    "Cells",
    "best_printed",
    "chosen_table",
    "complete",
    "complete_ranks",
    "gap_cell",
    "grid_table",
    "interval_cell",
    "measure_table",
    "methods_of",
    "rank_table",
    "seconds_table",
    "settings_table",
]

#: The average of each data set and method.
Cells = Mapping[tuple[str, str], Average]

#: A difference that fills its cell with colour.
FULL_SHADE = 0.05
#: The share of the data sets on which a method must have been run to be ranked.
RANKED = 0.5


def methods_of(cells: Cells) -> list[str]:
    """Return the methods that were run, in the order of the paper, rivals behind."""
    return [name for name in EVERY if any(method == name for _, method in cells)]


def complete(cells: Cells) -> tuple[list[str], list[str]]:
    """Return data sets and methods to rank: methods run on half of them, data sets with all these.

    A data set counts where the methods have a fold in common: ranks compare them on such folds.
    """
    names = methods_of(cells)
    counts = {name: sum(method == name for _, method in cells) for name in names}
    names = [name for name in names if counts[name] >= RANKED * max(counts.values())]
    datasets = data_order(dataset for dataset, _ in cells)
    whole = [d for d in datasets if all((d, m) in cells for m in names)]
    return [d for d in whole if _compared(cells, d, names)], names


def _compared(cells: Cells, dataset: str, methods: Sequence[str]) -> list[int]:
    """Return the folds of a data set that methods are compared on: those that all of them ran."""
    return shared_folds(cells[dataset, method] for method in methods)


def complete_ranks(cells: Cells, metric: str) -> tuple[list[str], list[str], Any]:
    """Return data sets, methods and the ranks between them; None where there is nothing to rank."""
    datasets, methods = complete(cells)
    means = [
        [round(cells[d, m].only(_compared(cells, d, methods)).mean[metric], 3) for m in methods]
        for d in datasets
    ]
    ranks = rank_rows(means, ranks=False) if len(datasets) > 1 and len(methods) > 1 else None
    return datasets, methods, ranks


def measure_table(cells: Cells, metric: str, title: str, *, paper: str) -> Table:
    """Return a measure of every method on every data set, with ranks.

    Parameters
    ----------
    cells : dict
        What to show.
    metric, title : str
        The measure, and under which protocol.
    paper : {"cells", "best", ""}
        What of the paper stands beside: each method's cell and the difference to it, the best
        of its eight methods and GroPLE's difference to that, or nothing.
    """
    methods = methods_of(cells)
    rows: list[Sequence[Any]] = [
        _measure_row(cells, dataset, methods, metric, paper)
        for dataset in data_order(dataset for dataset, _ in cells)
    ]
    columns = ["data"]
    for method in methods:
        columns.append(method)
        if paper == "cells":
            columns += [f"{method}, paper", f"{method} − paper"]
    if paper == "best":
        columns += ["best of the paper's", "GroPLE − that"]
    datasets, ranked, ranks = complete_ranks(cells, metric)
    if ranks is not None:
        average = dict(zip(ranked, ranks.mean(axis=0).tolist(), strict=True))
        row: list[Any] = ["average rank"]
        for method in methods:
            mean = average.get(method)
            top = mean == min(average.values())
            row.append(None if mean is None else Cell(mean, f"{mean:.2f}", "bold" if top else ""))
            if paper == "cells":
                row += [_printed_rank(metric, ours(method)), None]
        row += [None, None] if paper == "best" else []
        rows.append(row)
    return Table(
        columns,
        rows,
        caption=f"{measure_name(metric)}, {title}",
        note=_note(cells, datasets, ranked, paper),
    )


def _note(cells: Cells, datasets: list[str], ranked: list[str], paper: str) -> str:
    folds = " or ".join(map(str, sorted({average.folds for average in cells.values()})))
    left_out = [method for method in methods_of(cells) if method not in ranked]
    shared = {d: len(_compared(cells, d, ranked)) for d in datasets}
    fewer = [f"{d} {n}" for d, n in shared.items() if n < max(shared.values())]
    return (
        f"Mean ± population standard deviation over {folds} folds and (rank); 0/0 counts 0; bold: "
        f"the best of the row. The average rank is over the {len(datasets)} data sets that "
        f"{'these methods were' if left_out else 'every method was'} run on"
        + (f", without {', '.join(left_out)}, run on fewer than half" if left_out else "")
        + (f", on the folds that all of them ran ({', '.join(fewer)})" if fewer else "")
        + (", the paper's over its eleven" if paper == "cells" else "")
        + ("." if not paper else ". Differences are coloured from −0.05 to +0.05.")
    )


def _measure_row(
    cells: Cells, dataset: str, methods: Sequence[str], metric: str, paper: str
) -> list[Any]:
    here = {m: cells[dataset, m] for m in methods if (dataset, m) in cells}
    shown = {m: round(average.mean[metric], 3) for m, average in here.items()}
    # Ranks among the methods that were run here; the average over complete rows is below.
    order = (
        dict(zip(shown, rank_rows([[*shown.values()]])[0], strict=True))
        if len(shown) > 1
        else dict.fromkeys(shown, 1.0)
    )
    printed = published_table("comparison")
    row: list[Any] = [dataset]
    for method in methods:
        average = here.get(method)
        if average is None:
            row.append(None)
        else:
            mean, std = average.mean[metric], average.std[metric]
            text = f"{mean:.3f} ± {std:.3f} ({order[method]:g})"
            best = shown[method] == max(shown.values())
            title = f"setting {plain(average.setting)}"
            row.append(Cell(mean, text, "bold" if best else "", title=title))
        if paper == "cells":
            theirs = printed.get((paper_dataset(dataset), metric, ours(method)))
            row += _beside(average, theirs, metric)
    if paper == "best":
        row += _best_of_paper(here.get("GroPLE"), dataset, metric)
    return row


def _beside(average: Average | None, printed: Any, metric: str) -> list[Any]:
    if printed is None or math.isnan(printed.mean):
        return [None, None]
    text = f"{printed.mean:.3f} ± {printed.std:.3f}"
    theirs = Cell(printed.mean, text, "muted", title=printed.remark)
    return [theirs, None if average is None else gap_cell(average.mean[metric] - printed.mean)]


def best_printed(dataset: str, metric: str) -> tuple[str, float] | None:
    """Return the best method of the paper's own table and its cell; None where it has none.

    Examples
    --------
    >>> best_printed("medical", "micro_f1")
    ('FaIE', 0.823)
    """
    found = {
        ours(method): cell.mean
        for (name, measure, method), cell in published_table("comparison").items()
        if name == paper_dataset(dataset) and measure == metric and not math.isnan(cell.mean)
    }
    return max(found.items(), key=lambda item: item[1]) if found else None


def _best_of_paper(average: Average | None, dataset: str, metric: str) -> list[Any]:
    best = best_printed(dataset, metric)
    if best is None:
        return [None, None]
    method, mean = best
    theirs = Cell(mean, f"{mean:.3f} ({method})", "muted")
    return [theirs, None if average is None else gap_cell(average.mean[metric] - mean)]


def gap_cell(gap: float, text: str = "", *, bold: bool = False, title: str = "") -> Cell:
    """Return a difference, coloured by its size."""
    shade = float(np.clip(gap / FULL_SHADE, -1.0, 1.0))
    shown = (text or f"{gap:+.3f}").replace("-", "−")
    return Cell(gap, shown, "bold" if bold else "", shade=shade, title=title)


def interval_cell(interval: Interval, over: str = "folds") -> Cell:
    """Return a difference with its interval, bold where that does not hold zero."""
    half = (interval.high - interval.low) / 2.0
    text = f"{interval.difference:+.3f}" + (f" ± {half:.3f}" if math.isfinite(half) else "")
    if over == "rows":  # all rows together, not the mean of the folds: another centre
        text = str(interval)
    title = f"p = {interval.p_value:.3f} over {over}"
    return gap_cell(interval.difference, text, bold=bool(interval.side), title=title)


def rank_table(cells: Cells, title: str) -> Table | None:
    """Return average ranks by each measure, with what a fit takes beside them."""
    datasets, methods = complete(cells)
    ranks = {metric: complete_ranks(cells, metric)[2] for metric in METRICS}
    if ranks[METRICS[0]] is None:
        return None
    average = np.array([ranks[metric].mean(axis=0) for metric in METRICS])
    rows = []
    for i in np.argsort(average.mean(axis=0), kind="stable"):
        seconds = float(np.median([fit_seconds(cells[d, methods[i]]) for d in datasets]))
        marks = [
            Cell(rank, f"{rank:.2f}", "bold" if rank == low else "")
            for rank, low in zip(average[:, i].tolist(), average.min(axis=1), strict=True)
        ]
        mean = float(average[:, i].mean())
        kind = "the paper's" if methods[i] in METHODS else "plain"
        kind = "nonlinear" if EVERY[methods[i]].nonlinear else kind
        rows.append([methods[i], kind, *marks, Cell(mean, f"{mean:.2f}"), _seconds(seconds)])
    return Table(
        ["method", "kind", *map(measure_name, METRICS), "mean", "seconds a fit"],
        rows,
        caption=f"Average ranks, {title}",
        note=f"Over {len(datasets)} data sets; 1 is the best. Seconds: the processor's for fitting "
        "one model, the median over these data sets of means over folds (as published: of the unit "
        "by the clock, with what it does first for others). Plain: what one would pick instead, no "
        "method of the paper; nonlinear: it may choose features not linear in the rows.",
    )


def fit_seconds(average: Average) -> float:
    """Return the seconds of a fit where they were measured, else those of the unit."""
    return float(np.mean([row.result.get("fit_seconds", row.seconds) for row in average.rows]))


def seconds_table(cells: Cells, title: str) -> Table:
    """Return the seconds of a fit, by data set and method."""
    methods = methods_of(cells)
    rows = [
        [dataset]
        + [_seconds(fit_seconds(cells[dataset, m])) if (dataset, m) in cells else None
           for m in methods]
        for dataset in data_order(dataset for dataset, _ in cells)
    ]  # fmt: skip
    note = "Processor seconds, the mean over the folds, on the machine that ran it."
    return Table(["data", *methods], rows, caption=f"Seconds of a fit, {title}", note=note)


def _seconds(value: float) -> Cell:
    return Cell(value, f"{value:.2f}" if value < 10 else f"{value:,.0f}")


def settings_table(cells: Cells, protocol: str, title: str) -> Table:
    """Return the setting behind every cell."""
    rows = []
    for dataset in data_order(dataset for dataset, _ in cells):
        for method in EVERY:
            average = cells.get((dataset, method))
            if average is None:
                continue
            known = EVERY[method].known(dataset)
            theirs = "not known" if known is None else plain(known)
            seconds = Cell(average.seconds, f"{average.seconds:.2f}")
            mine = plain(average.setting)
            rows.append([dataset, method, mine, theirs, average.folds, seconds])
    return Table(
        ["data", "method", "setting", "the paper's", "folds", "seconds a fold"],
        rows,
        caption=f"Settings, {title}",
        search=True,
        note="One setting for all folds and measures: the paper's where it is known, else the best "
        "of the grid on the test rows (sum of the four measures)."
        if protocol == "published"
        else "Chosen by three folds inside the training part, for each measure on its own.",
    )


def chosen_table(rows: Sequence[Row]) -> Table:
    """Return what the nested protocol chose, and in how many folds."""
    found: dict[tuple[str, str, str], dict[str, int]] = {}
    for row in rows:
        for metric in METRICS:
            counts = found.setdefault((row.dataset, row.method, metric), {})
            name = plain(row.result["chosen"][metric]) or "set from the training rows"
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


def grid_table(places: Mapping[tuple[str, str], list[Average]], cells: Cells) -> Table:
    """Return the best that each published grid can give, beside what was used."""
    rows = []
    for dataset in data_order(dataset for dataset, _ in places):
        for method in EVERY:
            part = places.get((dataset, method), [])
            if len(part) < 2:
                continue
            top, used = max(part, key=lambda average: average.total), cells[dataset, method]
            row: list[Any] = [dataset, method, len(part), plain(top.setting)]
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


def _printed_rank(metric: str, method: str) -> Cell | None:
    cells = published_table("comparison")
    found = [c.rank for (_, m, name), c in cells.items() if m == metric and name == method]
    found = [rank for rank in found if not math.isnan(rank)]
    return Cell(float(np.mean(found)), f"{np.mean(found):.2f}", "muted") if found else None


def plain(setting: Any) -> str:
    """Return a setting in the paper's letters."""
    letters = {
        "n_components": "d", "n_groups": "K", "lambda_1": "λ1", "lambda_2": "λ2", "alpha": "α",
        "beta": "β", "gamma": "γ", "ridge": "λ", "meta_label_size": "size",
    }  # fmt: skip
    return ", ".join(
        f"{letters.get(name, name)}={value:g}" if isinstance(value, float | int)
        else f"{letters.get(name, name)}={value}"
        for name, value in setting.items()
    )  # fmt: skip
