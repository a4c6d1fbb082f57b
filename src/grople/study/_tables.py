"""Tables and heat maps that several experiments show."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd

from grople.inspection import Cell, Picture, Table
from grople.study._frames import mean_table, methods_of, ranked_methods, score_ranks
from grople.study._plots import plot_grid
from grople.study._printed import REMARKS, measure_name, paper_dataset, printed_table

#: A difference that fills its cell with colour.
FULL_SHADE = 0.05
#: The paper's letters.
LETTERS = {
    "n_components": "d", "n_groups": "K", "lambda_1": "λ1", "lambda_2": "λ2", "alpha": "α",
    "beta": "β", "gamma": "γ", "ridge": "λ", "meta_label_size": "size",
}  # fmt: skip


def picture_id(*words: str) -> str:
    """Return the address of a picture, which is also the name of its files."""
    return re.sub(r"[^A-Za-z0-9]+", "-", "-".join(words)).strip("-")


def gap_shade(gap: float) -> float:
    """Return how a difference colours its cell."""
    return float(np.clip(gap / FULL_SHADE, -1.0, 1.0))


def rank_cell(rank: float, best: float = math.nan) -> Cell | None:
    """Return an average rank, the best one bold."""
    return None if math.isnan(rank) else Cell(rank, f"{rank:.2f}", "bold" if rank == best else "")


def measure_table(cells: pd.DataFrame, metric: str, paper: str, title: str) -> Table:
    """Return a measure of every method on every data set, with ranks and the printed cells.

    Parameters
    ----------
    cells : DataFrame
        The runs of one setting for each data set and method.
    metric, title : str
        The measure, and what was run.
    paper : {"comparison", "approximation"}
        The printed table.
    """
    methods = methods_of(cells)
    means = mean_table(cells, metric)
    places = cells.groupby(["dataset", "method"])
    stds, settings = places[metric].std(ddof=0), places["parameters"].first()
    rows: list[list[Any]] = []
    for dataset, values in means.round(3).iterrows():
        order, row = values.rank(ascending=False), [dataset]
        for method in methods:
            place = dataset, method
            if place not in settings.index:
                row.append(None)
                continue
            text = f"{_short(values[method])} ± {_short(stds[place])} ({order[method]:g})"
            emphasis = "bold" if values[method] == values.max() else ""
            printed = _printed(paper, paper_dataset(dataset), metric, method)
            row.append(
                _cell(means.loc[place], text, emphasis, printed, plain_setting(settings[place]))
            )
        rows.append(row)
    ranked = ranked_methods(cells)
    ranks = score_ranks(cells, metric, ranked).mean().reindex(methods)
    if ranks.notna().any():
        rows.append(["average rank", *(rank_cell(rank, ranks.min()) for rank in ranks)])
    folds = sorted(places["fold"].nunique().unique())
    return Table(
        ["data", *methods],
        rows,
        caption=f"{measure_name(metric)}, {title}",
        note=f"Mean ± population standard deviation over {' or '.join(map(str, folds))} folds, "
        "(rank), [the paper's]; 0/0 counts 0; bold: the best of the row. Colour: the difference to "
        "the paper from −0.05 to +0.05. The average rank is over the data sets and folds that "
        f"{'all' if len(ranked) == len(methods) else ', '.join(ranked)} were run on.",
    )


def _printed(paper: str, *place: str) -> tuple[float, str]:
    """Return a printed mean and what is to be known of it; NaN where there is none."""
    return printed_table(paper)["mean"].get(place, math.nan), REMARKS.get((paper, *place), "")


def _cell(mean: float, text: str, emphasis: str, printed: tuple[float, str], setting: str) -> Cell:
    """Return a cell with what the paper printed there, coloured by the difference."""
    theirs, remark = printed
    if math.isnan(theirs):
        return Cell(mean, text, emphasis, title=setting)
    gap = mean - theirs
    told = f"{setting}; {gap:+.3f} to the paper{': ' if remark else ''}{remark}"
    return Cell(mean, f"{text} [{_short(theirs)}]", emphasis, shade=gap_shade(gap), title=told)


def _short(value: float) -> str:
    """Return a share with three decimals and no leading zero."""
    return f"{value:.3f}".removeprefix("0")


def plain_setting(setting: dict[str, Any]) -> str:
    """Return a setting in the paper's letters."""
    return ", ".join(
        f"{LETTERS.get(name, name)}={value:g}"
        if isinstance(value, float | int)
        else f"{LETTERS.get(name, name)}={value}"
        for name, value in setting.items()
    )


def heat_map(
    averages: pd.DataFrame, parameters: tuple[str, str], metric: str, title: str
) -> tuple[pd.DataFrame, Table, Picture]:
    """Return the best means for every pair of two parameters, as numbers, table and picture."""
    names = list(parameters)
    grid = pd.DataFrame(list(averages["parameters"]))[names].assign(value=[*averages[metric]])
    values = grid.pivot_table(index=names[0], columns=names[1], values="value", aggfunc="max")
    row, column = (LETTERS[name] for name in parameters)
    rows = [
        [f"{v:g}", *cells]
        for v, cells in zip(values.index, values.to_numpy().tolist(), strict=True)
    ]
    columns = [row, *(f"{column} = {v:g}" for v in values.columns)]
    picture = Picture(
        plot_grid(values, (row, column), title),
        picture_id(title),
        title,
        f"For every pair of {row} and {column}; the best is framed.",
        f"Heat map from {np.nanmin(values):.3f} to {np.nanmax(values):.3f}.",
    )
    return values, Table(columns, rows, caption=title), picture
