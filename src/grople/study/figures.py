"""Pictures of a study: matplotlib axes in, axes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grople.errors import require
from grople.study.statistics import cliques

__all__ = [
    "PALETTE",
    "plot_critical_difference",
    "plot_grid",
    "plot_lines",
    "plot_pairs",
    "plot_presence",
]

#: Colours that differ in print, on a dark page and for the colour-blind.
PALETTE = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f")


def plot_critical_difference(
    average_ranks: ArrayLike, names: Sequence[str], difference: float, ax: Any = None
) -> Any:
    """Draw average ranks on a line, with bars over methods that do not differ.

    Parameters
    ----------
    average_ranks : array-like of shape (k,)
        1 is the best.
    names : sequence of str
        Methods.
    difference : float
        The critical difference.
    ax : matplotlib axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> ax = plot_critical_difference([1.2, 2.0, 2.8], ["a", "b", "c"], 1.0)
    >>> sorted(text.get_text() for text in ax.texts)[-3:]
    ['a  1.20', 'b  2.00', 'c  2.80']
    """
    ranks = np.asarray(average_ranks, dtype=float)
    k = len(ranks)
    order = np.argsort(ranks, kind="stable")
    half = (k + 1) // 2
    bars = cliques(ranks, difference)
    axis_y, first_y = 0.0, -0.5 - 0.22 * len(bars)
    ax = _axes(ax, (6.4, 1.3 + 0.28 * half + 0.12 * len(bars)))
    for i, method in enumerate(order):
        left = i < half
        y = first_y - 0.42 * (i if left else k - 1 - i)
        edge, align = (0.75, "right") if left else (k + 0.25, "left")
        ax.plot([ranks[method]] * 2 + [edge], [axis_y, y, y], color="#000000", linewidth=0.8)
        shown = f"{names[method]}  {ranks[method]:.2f}"
        ax.text(edge + (-0.06 if left else 0.06), y, shown, ha=align, va="center", fontsize=9)
    ax.plot([1, k], [axis_y, axis_y], color="#000000", linewidth=1.2)
    for rank in range(1, k + 1):
        ax.plot([rank, rank], [axis_y, axis_y + 0.1], color="#000000", linewidth=0.8)
        ax.text(rank, axis_y + 0.16, str(rank), ha="center", va="bottom", fontsize=8)
    for i, bar in enumerate(bars):
        y = axis_y - 0.24 - 0.22 * i
        ends = [ranks[bar[0]] - 0.04, ranks[bar[-1]] + 0.04]
        ax.plot(ends, [y, y], color=PALETTE[1], linewidth=4, solid_capstyle="round")
    top = axis_y + 0.72
    ax.plot([1, 1 + difference], [top, top], color=PALETTE[0], linewidth=2)
    for end in (1, 1 + difference):
        ax.plot([end, end], [top - 0.07, top + 0.07], color=PALETTE[0], linewidth=2)
    ax.text(1 + difference / 2, top + 0.1, f"CD {difference:.2f}", ha="center", fontsize=8)
    ax.set_xlim(-1.0, k + 2.0)
    ax.set_ylim(first_y - 0.42 * half + 0.1, top + 0.4)
    ax.set_axis_off()
    return ax


def plot_grid(
    values: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    labels: tuple[str, str] = ("", ""),
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw a table of numbers as a heat map with its numbers, the best one framed.

    Parameters
    ----------
    values : array-like of shape (n_rows, n_columns)
        NaN is left blank.
    rows, columns : sequence of str
        Ticks.
    labels : tuple of str
        What rows and columns are.
    title : str
        Above it.
    ax : matplotlib axes, optional
        Where to draw; a new figure otherwise.

    Examples
    --------
    >>> plot_grid([[0.1, 0.2]], ["1"], ["2", "3"], title="accuracy").get_title()
    'accuracy'
    """
    table = np.asarray(values, dtype=float)
    ax = _axes(ax, (1.6 + 0.62 * len(columns), 1.3 + 0.36 * len(rows)))
    low, high = (np.nanmin(table), np.nanmax(table)) if np.isfinite(table).any() else (0, 1)
    ax.imshow(table, cmap="viridis", aspect="auto", vmin=low, vmax=high)
    middle = (low + high) / 2
    for (i, j), value in np.ndenumerate(table):
        if np.isfinite(value):
            # Off-black and off-white: the picture keeps its colours on a dark page.
            ink = "#fdfdfd" if value < middle else "#111111"
            ax.text(j, i, _short(value), ha="center", va="center", fontsize=7, color=ink)
    if np.isfinite(table).any():
        i, j = np.unravel_index(np.nanargmax(table), table.shape)
        ax.add_patch(_rectangle((j - 0.5, i - 0.5), PALETTE[0]))
    ax.set_xticks(range(len(columns)), columns, fontsize=8)
    ax.set_yticks(range(len(rows)), rows, fontsize=8)
    ax.set_ylabel(labels[0], fontsize=9)
    ax.set_xlabel(labels[1], fontsize=9)
    ax.set_title(title, fontsize=10)
    return ax


def plot_lines(
    x: Sequence[float],
    lines: Mapping[str, ArrayLike],
    labels: tuple[str, str] = ("", ""),
    title: str = "",
    *,
    lower_is_better: bool = False,
    logarithmic: bool = False,
    ax: Any = None,
) -> Any:
    """Draw lines over common positions, each named.

    Examples
    --------
    >>> ax = plot_lines([1, 2], {"a": [3, 4]}, ("x", "y"))
    >>> ax.get_legend_handles_labels()[1]
    ['a']
    """
    ax = _axes(ax, (4.6, 3.2))
    marks = "osD^vPX*"
    for i, (name, values) in enumerate(lines.items()):
        style = {"marker": marks[i % 8], "color": PALETTE[i % 8], "markersize": 4, "linewidth": 1.4}
        ax.plot(x, np.asarray(values, dtype=float), label=name, **style)
    if logarithmic:
        ax.set_xscale("log")
        ax.set_yscale("log")
    if lower_is_better:
        ax.invert_yaxis()
    ax.set_xlabel(labels[0], fontsize=9)
    ax.set_ylabel(labels[1], fontsize=9)
    ax.set_title(title, fontsize=10)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    return ax


def plot_pairs(
    names: Sequence[str],
    first: ArrayLike,
    second: ArrayLike,
    legend: tuple[str, str],
    label: str = "",
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw two bars for each name.

    Examples
    --------
    >>> len(plot_pairs(["a", "b"], [1, 2], [2, 1], ("with", "without")).patches)
    4
    """
    ax = _axes(ax, (1.6 + 0.9 * len(names), 2.8))
    place = np.arange(len(names))
    for shift, values, name, colour in zip(
        (-0.18, 0.18), (first, second), legend, PALETTE[1::-1], strict=True
    ):
        ax.bar(place + shift, np.asarray(values, dtype=float), 0.34, label=name, color=colour)
    ax.set_xticks(place, names, fontsize=8)
    ax.set_ylabel(label, fontsize=9)
    ax.set_title(title, fontsize=10)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    return ax


def plot_presence(lengths: ArrayLike, names: Sequence[str], title: str = "", ax: Any = None) -> Any:
    """Draw which latent dimensions each group of labels uses: exactly zero is blank.

    Parameters
    ----------
    lengths : array-like of shape (n_groups, d)
        Lengths of the rows of V^k.
    names : sequence of str
        Groups.

    Examples
    --------
    >>> plot_presence([[1.0, 0.0], [0.0, 2.0]], ["1", "2"]).get_xlabel()
    'latent dimension, ordered by the groups that use it'
    """
    table = np.asarray(lengths, dtype=float)
    used = table > 0
    order = np.lexsort((*(~used[::-1]), used.sum(axis=0) == 0))
    table = table[:, order]
    scaled = table / np.maximum(table.max(axis=1, keepdims=True), np.finfo(float).tiny)
    ax = _axes(ax, (6.4, 1.0 + 0.3 * len(names)))
    ax.imshow(np.where(table > 0, scaled, np.nan), cmap="viridis", aspect="auto", vmin=0, vmax=1)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.set_xlabel("latent dimension, ordered by the groups that use it", fontsize=9)
    ax.set_title(title, fontsize=10)
    ax.tick_params(labelsize=8)
    return ax


def _short(value: float) -> str:
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def _rectangle(corner: tuple[float, float], colour: str) -> Any:
    patches = require("matplotlib.patches", "report", "Drawing")
    return patches.Rectangle(corner, 1, 1, fill=False, edgecolor=colour, linewidth=2)


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    figure = require("matplotlib.figure", "report", "Drawing")
    return figure.Figure(figsize=size, layout="constrained").subplots()
