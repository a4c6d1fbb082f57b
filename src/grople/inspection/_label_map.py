"""The map of labels: where each dot lies, and names where there is room for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grople.inspection._palette import GroupStyle
from grople.inspection._report import ModelReport

__all__ = ["HEIGHT", "MOST_DOTS", "WIDTH", "Dot", "Name", "map_dots", "map_names"]

WIDTH, HEIGHT, MARGIN = 1000.0, 640.0, 24.0
#: Radius of the rarest and of the most frequent label.
SMALLEST, LARGEST = 4.0, 15.0
#: Height of a line and mean width of a letter, in units of the size of the letters.
LINE, LETTER = 1.17, 0.56
#: Names on the map, at most, and letters of a name.
MOST_NAMES, MOST_LETTERS = 70, 30
#: Dots that names keep off: with more, no name would find room.
MOST_AVOIDED = 250
#: Dots on the map, at most: more would neither be seen nor be drawn quickly.
MOST_DOTS = 3000

Box = tuple[float, float, float, float]


class Dot(NamedTuple):
    """A label on the map, its most frequent first so that small dots lie on top."""

    label: int
    x: float
    y: float
    radius: float
    style: GroupStyle
    title: str


class Name(NamedTuple):
    """A name on the map, from its left end."""

    text: str
    x: float
    y: float


def map_dots(report: ModelReport, styles: dict[int, GroupStyle]) -> list[Dot]:
    """Return the dots of the most frequent labels; ``styles`` are those of the groups by number."""
    places = MARGIN + report.label_map * np.array([WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN])
    counts = np.ones(report.n_labels)
    if report.frequencies is not None:
        counts = np.asarray(report.frequencies, dtype=np.float64)
    share = np.sqrt(counts / max(float(counts.max(initial=0)), 1e-300))
    radii = SMALLEST + (LARGEST - SMALLEST) * share
    groups = {group.number: group.name for group in report.groups}
    dots = []
    for i in np.argsort(-counts, kind="stable")[:MOST_DOTS]:
        group = int(report.label_groups[i])
        words = [report.label_names[i]]
        if group in groups:
            words.append(f"group {groups[group]}")
        if report.frequencies is not None:
            words.append(f"{counts[i]:,.0f} rows")
        x, y = map(float, places[i])
        dots.append(Dot(int(i), x, y, float(radii[i]), styles[group], " · ".join(words)))
    return dots


def map_names(dots: list[Dot], names: tuple[str, ...], size: float) -> list[Name]:
    """Place names of a size next to their dots, frequent labels first, none over another."""
    taken: list[Box] = []
    # Names keep off the dots too, as far as there is room for both.
    for dot in dots[:MOST_AVOIDED]:
        r = 0.7 * dot.radius
        taken.append((dot.x - r, dot.y - r, dot.x + r, dot.y + r))
    found: list[Name] = []
    line = LINE * size
    for dot in dots[: 4 * MOST_NAMES]:
        if len(found) == MOST_NAMES:
            break
        name = names[dot.label]
        if len(name) > MOST_LETTERS:
            name = name[: MOST_LETTERS - 1] + "…"
        width = LETTER * size * len(name)
        x, y, gap = dot.x, dot.y, dot.radius + 3.0
        for left, middle in (
            (x + gap, y), (x - gap - width, y), (x - width / 2, y - gap - line / 2),
            (x - width / 2, y + gap + line / 2),
        ):  # fmt: skip
            box = (left, middle - line / 2, left + width, middle + line / 2)
            inside = box[0] >= 0 and box[2] <= WIDTH and box[1] >= 0 and box[3] <= HEIGHT
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                found.append(Name(name, left, middle + 0.32 * line))
                break
    return found


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
