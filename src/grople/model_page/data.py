"""The labels of a model as compact plain values, for the script of its page."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.inspection import Inspection
from grople.plots.axes import group_colour

__all__ = ["label_data"]

Array = NDArray[Any]


def label_data(seen: Inspection) -> dict[str, Any]:
    """Return what the page knows of each label, in columns; a name is written once.

    ``features`` and ``nearest`` and ``together`` are lists of numbers followed by as many values.
    """
    used, places = np.unique(seen.top_features, return_inverse=True)
    quality = seen.quality
    return {
        "names": list(seen.label_names),
        "groups": seen.label_groups.tolist(),
        "colours": {str(g.number): group_colour(g.number) for g in seen.groups},
        "rows": None if seen.frequencies is None else [_short(v) for v in seen.frequencies],
        "precision": None if quality is None else [_short(v) for v in quality.average_precision],
        "auc": None if quality is None else [_short(v) for v in quality.auc],
        "featureNames": [seen.feature_names[i] for i in used],
        "features": _pairs(places.reshape(seen.top_features.shape), seen.feature_effects),
        "nearest": _pairs(seen.nearest, seen.nearest_cosines),
        "together": None
        if seen.together is None or seen.together_shares is None
        else _pairs(seen.together, seen.together_shares),
    }


def _pairs(numbers: Array, values: Array) -> list[list[Any]]:
    return [
        [*map(int, row), *map(_short, effects)]
        for row, effects in zip(numbers, values, strict=True)
    ]


def _short(value: Any) -> int | float | None:
    """Return a number with three digits, which is all a bar or a cell shows."""
    number = float(value)
    if not math.isfinite(number):
        return None
    if number == round(number):
        return round(number)
    return float(f"{number:.3g}") if abs(number) < 1000 else round(number)
