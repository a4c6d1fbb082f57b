"""What the pictures share: axes, colours that read on light and dark, the model looked into."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.errors import require
from grople.inspection import Inspection, inspect_model

__all__ = ["ACCENT", "FAINT", "group_colour", "group_colours", "inspected", "make_axes", "plain"]

#: The colour of what is shown, and of what it is compared with; both read on light and dark.
ACCENT, FAINT = "#3b82b5", "#8a9099"


def make_axes(ax: Any, figsize: tuple[float, float] = (6.4, 4.4)) -> Any:
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return ax
    figure = require("matplotlib.figure", "report", "Drawing").Figure(
        figsize=figsize, layout="constrained"
    )
    return figure.subplots()


def plain(ax: Any) -> Any:
    """Leave only the two lines that carry a scale."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def inspected(model: Any) -> Inspection:
    """Look into a model, unless that has been done."""
    return model if isinstance(model, Inspection) else inspect_model(model)


def group_colour(number: int) -> str:
    """Return a colour for a group: neighbours in number are far apart in hue.

    Examples
    --------
    >>> group_colour(0), group_colour(-1)
    ('#3b7fb5', '#8a9099')
    """
    if number < 0:
        return FAINT
    hue = (0.574 + number * 0.61803398875) % 1.0  # the golden ratio never comes back to a hue
    lightness = (0.47, 0.58, 0.38)[number // 8 % 3]
    red, green, blue = colorsys.hls_to_rgb(hue, lightness, 0.51)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def group_colours(numbers: NDArray[Any]) -> list[str]:
    """Return the colours of groups."""
    return [group_colour(int(number)) for number in np.asarray(numbers)]
