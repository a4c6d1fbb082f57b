"""Quality against time: a panel a data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.peers.tables import Records, measured, seconds_to_fit
from grople.inspection import ACCENT, FAINT

__all__ = ["draw"]

#: The least distance between two names, as a share of the height of a panel.
GAP = 0.058


def draw(found: Records, data: Sequence[str], path: Path) -> None:
    """Draw example-F1 against the seconds of a fit with its decision."""
    columns = 2
    rows = -(-len(data) // columns)
    figure = Figure(figsize=(9.6, 3.3 * rows), layout="constrained", dpi=80)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, name in zip(panels, data, strict=False):
        _panel(ax, found, name)
    for ax in panels[len(data) :]:
        ax.set_axis_off()
    FigureCanvasAgg(figure).print_png(path)


def _panel(ax: Any, found: Records, data: str) -> None:
    records = {k: r for k, r in measured(found, data).items() if r["status"] == "ok"}
    names = sorted(records, key=lambda name: records[name]["example_f1"])
    seconds = np.array([max(seconds_to_fit(records[name]), 0.01) for name in names])
    quality = np.array([records[name]["example_f1"] for name in names])
    colours = [ACCENT if name.startswith("grople") else FAINT for name in names]
    ax.scatter(seconds, quality, c=colours, s=26, zorder=3)
    low, high = quality.min(), quality.max()
    low = max(low, high - 0.35 * high)  # one that is far behind shall not flatten the others
    margin = 0.08 * (high - low) + 1e-3
    ax.set_ylim(low - margin, high + margin)
    ax.set_xscale("log")
    ax.set_xlim(seconds.min() / 1.5, seconds.max() * 12)
    height = high - low + 2 * margin
    places = _spread(quality, GAP * height, low - margin / 2, high + margin / 2)
    for name, x, y, at in zip(names, seconds, quality, places, strict=True):
        if y < low:
            continue
        colour = ACCENT if name.startswith("grople") else "#5b616b"
        ax.annotate(
            name, (x, y), xytext=(x * 1.25, at), fontsize=7.5, color=colour, va="center",
            arrowprops={"arrowstyle": "-", "color": FAINT, "lw": 0.4},
        )  # fmt: skip
    ax.set_title(data, fontsize=10, loc="left")
    ax.set_xlabel("processor seconds of fit and decision", fontsize=8)
    ax.set_ylabel("example-F1", fontsize=8)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)


def _spread(values: Any, gap: float, lowest: float, highest: float) -> list[float]:
    """Return rising places, at least a gap apart, near the rising values and within bounds."""
    values = np.clip(values, lowest, highest)
    places: list[float] = []
    for value in values:
        places.append(max(value, places[-1] + gap) if places else float(value))
    drift = float(np.mean(np.array(places) - values))
    found: list[float] = []
    for place in reversed(places):  # from the top, so that none leaves the panel there
        found.append(min(place - drift, found[-1] - gap if found else highest))
    if found[-1] < lowest:  # as many as fit, from the bottom
        found = [max(place, lowest + gap * i) for i, place in enumerate(reversed(found))]
        return found
    return found[::-1]
