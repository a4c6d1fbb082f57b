"""The map of labels as SVG: a dot a label, names where there is room, each dot a link."""

from __future__ import annotations

from typing import Any

import numpy as np

from grople.inspection import Inspection
from grople.pages.markup import escape
from grople.plots.axes import group_colour

__all__ = ["MOST_DOTS", "label_map_svg"]

WIDTH, HEIGHT, MARGIN = 1000.0, 640.0, 24.0
#: Radius of the rarest and of the most frequent label.
SMALLEST, LARGEST = 3.5, 15.0
#: Height of a name, and the width of one of its letters on average.
LINE, LETTER = 14.0, 6.7
#: Names on the map, at most, and letters of a name.
MOST_NAMES, MOST_LETTERS = 70, 30
#: Dots that names keep off: with more, no name would find room.
MOST_AVOIDED = 250

#: Dots on the map, at most: more would neither be seen nor be drawn quickly.
MOST_DOTS = 3000

Box = tuple[float, float, float, float]


def label_map_svg(seen: Inspection) -> str:
    """Return the map; dots link to ``#label-i``, those of the most frequent labels."""
    places = MARGIN + seen.label_map * [WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN]
    counts = np.ones(seen.n_labels) if seen.frequencies is None else np.asarray(seen.frequencies)
    share = np.sqrt(counts / max(float(counts.max(initial=0)), 1e-300))
    radii = SMALLEST + (LARGEST - SMALLEST) * share
    # Large dots first, so that small ones lie on top.
    order = np.argsort(-counts, kind="stable")[:MOST_DOTS]
    dots = "".join(_dot(seen, int(i), places[i], radii[i]) for i in order)
    names = "".join(
        f'<text x="{x:.1f}" y="{y:.1f}">{escape(name)}</text>'
        for name, x, y in _names(seen, order, places, radii)
    )
    return (
        f'<svg class="map" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" style="--width:{WIDTH:.0f}px">'
        f'{dots}<g class="names" aria-hidden="true">{names}</g></svg>'
    )


def _dot(seen: Inspection, i: int, place: Any, radius: float) -> str:
    parts = [seen.label_names[i]]
    if seen.label_groups[i] >= 0:
        parts.append(f"group {seen.label_groups[i]}")
    if seen.frequencies is not None:
        parts.append(f"{seen.frequencies[i]:,.0f} rows")
    return (
        f'<a href="#label-{i}" tabindex="-1"><circle cx="{place[0]:.1f}" cy="{place[1]:.1f}" '
        f'r="{radius:.1f}" fill="{group_colour(int(seen.label_groups[i]))}">'
        f"<title>{escape(' · '.join(parts))}</title></circle></a>"
    )


def _names(seen: Inspection, order: Any, places: Any, radii: Any) -> list[tuple[str, float, float]]:
    """Place names next to their dots, the most frequent labels first, none over another."""
    taken: list[Box] = []
    # Names keep off the dots too, as far as there is room for both.
    for i in order[:MOST_AVOIDED]:
        (x, y), r = places[i], 0.7 * radii[i]
        taken.append((x - r, y - r, x + r, y + r))
    found: list[tuple[str, float, float]] = []
    for i in order[: 4 * MOST_NAMES]:
        if len(found) == MOST_NAMES:
            break
        name = seen.label_names[i]
        if len(name) > MOST_LETTERS:
            name = name[: MOST_LETTERS - 1] + "…"
        width = LETTER * len(name)
        x, y = places[i]
        gap = radii[i] + 3.0
        for left, middle in (
            (x + gap, y), (x - gap - width, y), (x - width / 2, y - gap - LINE / 2),
            (x - width / 2, y + gap + LINE / 2),
        ):  # fmt: skip
            box = (left, middle - LINE / 2, left + width, middle + LINE / 2)
            inside = box[0] >= 0 and box[2] <= WIDTH and box[1] >= 0 and box[3] <= HEIGHT
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                found.append((name, left, middle + 0.32 * LINE))
                break
    return found


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
