"""Pictures of a study: matplotlib axes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from grople.errors import require
from grople.inspection import ACCENT, MARKS, PALETTE
from grople.study._statistics import Nemenyi

#: A legend next to the picture, which it would cover.
OUTSIDE = {"frameon": False, "fontsize": 8, "loc": "center left", "bbox_to_anchor": (1.0, 0.5)}


def plot_critical_difference(test: Nemenyi, methods: list[str]) -> Any:
    """Draw average ranks on a line, with bars over methods that do not differ."""
    posthocs = require("scikit_posthocs", "report", "A critical-difference diagram")
    ranks = pd.Series(test.average_ranks, methods)
    p_values = pd.DataFrame(test.p_values, methods, methods)
    ax = _axes((6.4, 1.2 + 0.16 * len(methods)))
    posthocs.critical_difference_diagram(
        ranks,
        p_values,
        ax=ax,
        label_fmt_left="{label} {rank:.2f}",
        label_fmt_right="{rank:.2f} {label}",
        label_props={"fontsize": 9},
        text_h_margin=0.03,
        crossbar_props={"color": ACCENT},
        color_palette=["#000000"] * len(methods),
    )
    ax.set_title(f"CD {test.critical_difference:.2f}", fontsize=9)
    return ax


def plot_grid(values: pd.DataFrame, labels: tuple[str, str], title: str) -> Any:
    """Draw a table of numbers as a heat map with its numbers, the best one framed."""
    patches = require("matplotlib.patches", "report", "Drawing")
    table = values.to_numpy(dtype=float)
    ax = _axes((1.6 + 0.62 * table.shape[1], 1.3 + 0.36 * table.shape[0]))
    low, high = np.nanmin(table), np.nanmax(table)
    ax.imshow(table, cmap="viridis", aspect="auto", vmin=low, vmax=high)
    for (i, j), value in np.ndenumerate(table):
        if np.isfinite(value):
            # Off-black and off-white: the picture keeps its colours on a dark page.
            ink = "#fdfdfd" if value < (low + high) / 2 else "#111111"
            ax.text(j, i, f"{value:.3f}", ha="center", va="center", fontsize=7, color=ink)
    i, j = np.unravel_index(np.nanargmax(table), table.shape)
    frame = {"fill": False, "edgecolor": ACCENT, "linewidth": 2}
    ax.add_patch(patches.Rectangle((j - 0.5, i - 0.5), 1, 1, **frame))
    for set_ticks, names in ((ax.set_yticks, values.index), (ax.set_xticks, values.columns)):
        set_ticks(range(len(names)), [_tick(name) for name in names], fontsize=8)
    return _named(ax, labels[::-1], title)


def plot_lines(
    lines: pd.DataFrame,
    labels: tuple[str, str],
    title: str,
    *,
    lower_is_better: bool = False,
    logarithmic: bool = False,
) -> Any:
    """Draw the columns of a table as lines over its index."""
    ax = _axes((5.6, 3.2))
    for i, name in enumerate(lines.columns):
        style = {
            "marker": MARKS[i % len(MARKS)],
            "color": PALETTE[i % len(PALETTE)],
            "markersize": 4,
        }
        ax.plot(lines.index, lines[name].to_numpy(float), label=name, linewidth=1.4, **style)
    if logarithmic:
        ax.set_xscale("log")
        ax.set_yscale("log")
    if lower_is_better:
        ax.invert_yaxis()
    ax.legend(**OUTSIDE)
    return _named(ax, labels, title)


def plot_bars(table: pd.DataFrame, labels: tuple[str, str], title: str) -> Any:
    """Draw the columns of a table as bars, side by side for each row."""
    ax = _axes((2.6 + 0.9 * len(table), 2.8))
    place, width = np.arange(len(table)), 0.7 / table.shape[1]
    for i, name in enumerate(table.columns):
        shift = (i - (table.shape[1] - 1) / 2) * width
        ax.bar(place + shift, table[name].to_numpy(float), width, label=name, color=PALETTE[i])
    ax.set_xticks(place, table.index, fontsize=8)
    ax.legend(**OUTSIDE)
    return _named(ax, labels, title)


def plot_presence(lengths: pd.DataFrame, title: str) -> Any:
    """Draw which latent dimensions each group of labels uses: exactly zero is blank."""
    table = lengths.to_numpy(dtype=float)
    used = table > 0
    table = table[:, np.lexsort((*(~used[::-1]), used.sum(axis=0) == 0))]
    shares = table / np.maximum(table.max(axis=1, keepdims=True), np.finfo(float).tiny)
    ax = _axes((6.4, 1.2 + 0.3 * len(lengths)))
    image = ax.imshow(
        np.where(table > 0, shares, np.nan), cmap="viridis", aspect="auto", vmin=0, vmax=1
    )
    bar = ax.figure.colorbar(image, ax=ax)
    bar.set_label("length, share of\nthe group's longest", fontsize=8)
    ax.set_yticks(range(len(lengths)), lengths.index, fontsize=8)
    return _named(ax, ("latent dimension, ordered by the groups that use it", ""), title)


def _axes(size: tuple[float, float]) -> Any:
    figure = require("matplotlib.figure", "report", "Drawing")
    return figure.Figure(figsize=size, layout="constrained").subplots()


def _named(ax: Any, labels: tuple[str, str], title: str) -> Any:
    """Name the axes and the picture."""
    ax.set_xlabel(labels[0], fontsize=9)
    ax.set_ylabel(labels[1], fontsize=9)
    ax.set_title(title, fontsize=10)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _tick(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float | int | np.number) else str(value)
