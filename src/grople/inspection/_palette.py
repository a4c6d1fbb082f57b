"""Colours and shapes that everybody can tell apart, on light and on dark pages."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ACCENT", "FAINT", "MARKS", "PALETTE", "NO_GROUP", "GroupStyle", "group_style"]

#: Colours (of Okabe and Ito) that readers with any kind of colour vision can tell apart.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7")
#: Shapes as matplotlib names them: with each colour in each shape there are 36 pairs.
MARKS = ("o", "s", "^", "D", "v", "P")
#: The colour of what is shown, and of what it is compared with.
ACCENT, FAINT = PALETTE[0], "#7a828c"

#: Outlines of the shapes as SVG paths of about the same area around the origin, for radius 1.
_PATHS = (
    "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0z",
    "M-.89-.89h1.78v1.78h-1.78z",
    "M0-1.3L1.2.85H-1.2z",
    "M0-1.26L1.26 0 0 1.26-1.26 0z",
    "M0 1.3L1.2-.85H-1.2z",
    "M-.4-1.2h.8v.8h.8v.8h-.8v.8h-.8v-.8h-.8v-.8h.8z",
)


class GroupStyle(NamedTuple):
    """How a group is drawn: its colour, its shape for matplotlib, and the same as an SVG path."""

    colour: str
    mark: str
    path: str


#: Labels without a group: a grey circle.
NO_GROUP = GroupStyle(FAINT, "o", _PATHS[0])


def group_style(place: int) -> GroupStyle:
    """Return how the group in a place of the list is drawn; after 36 places they repeat.

    Examples
    --------
    >>> group_style(0).colour == group_style(6).colour, group_style(6).mark
    (True, 's')
    """
    shape = place // len(PALETTE) % len(MARKS)
    return GroupStyle(PALETTE[place % len(PALETTE)], MARKS[shape], _PATHS[shape])
