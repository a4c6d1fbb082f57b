"""The labels of a model as compact plain values, for the script of its page."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.inspection._report import ModelReport

__all__ = ["label_columns"]


def label_columns(report: ModelReport) -> dict[str, Any]:
    """Return what the script of the page knows of each label, in columns; names are written once.

    ``features``, ``nearest`` and ``together`` are numbers followed by as many values.
    """
    quality, top = report.quality, report.top_features
    used: Any = ()
    places: Any = None
    if top is not None:
        used, places = np.unique(top, return_inverse=True)
        places = places.reshape(top.shape)
    return {
        "names": report.label_names,
        "groups": report.label_groups.tolist(),
        "rows": _column(report.frequencies),
        "precision": _column(None if quality is None else quality.average_precision),
        "auc": _column(None if quality is None else quality.auc),
        "featureNames": [report.feature_names[i] for i in used],
        "features": _pairs(places, report.feature_effects),
        "nearest": _pairs(report.nearest, report.nearest_cosines),
        "together": _pairs(report.together, report.together_shares),
    }


def _column(values: NDArray[Any] | None) -> list[Any] | None:
    return None if values is None else [_short(value) for value in values]


def _pairs(numbers: NDArray[Any] | None, values: NDArray[Any] | None) -> list[list[Any]] | None:
    if numbers is None or values is None:
        return None
    return [
        [*map(int, row), *map(_short, effects)]
        for row, effects in zip(numbers, values, strict=True)
    ]


def _short(value: Any) -> int | float | None:
    """Return a number with three digits, which is all a bar or a cell shows."""
    number = float(value)
    if not np.isfinite(number):
        return None
    if number == round(number):
        return round(number)
    return float(f"{number:.3g}") if abs(number) < 1000 else round(number)
