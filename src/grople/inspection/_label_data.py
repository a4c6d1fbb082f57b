"""The labels of a model as compact plain values, for the script of its page."""

from __future__ import annotations

from typing import Any

import numpy as np

from grople.inspection._report import ModelReport
from grople.inspection._terms import TERMS
from grople.inspection._weights import Ranked

__all__ = ["label_columns"]


def label_columns(report: ModelReport) -> dict[str, Any]:
    """Return what the page knows of each label, in columns; names of features are written once.

    ``features``, ``nearest`` and ``together`` are numbers followed by as many values.
    """
    quality, top = report.quality, report.top_features
    used: Any = ()
    if top is not None:
        used, places = np.unique(top.numbers, return_inverse=True)
        top = Ranked(places.reshape(top.numbers.shape), top.values)
    return {
        "names": report.label_names,
        "groups": report.label_groups.tolist(),
        "rows": _column(report.frequencies),
        "precision": _column(None if quality is None else quality.average_precision),
        "auc": _column(None if quality is None else quality.auc),
        "about": {"AP": TERMS["average precision"], "AUC": TERMS["AUC"]},
        "featureNames": [report.feature_names[i] for i in used],
        "features": _pairs(top),
        "nearest": _pairs(report.nearest),
        "together": _pairs(report.together),
    }


def _column(values: Any) -> list[Any] | None:
    return None if values is None else [_short(value) for value in values]


def _pairs(ranked: Ranked | None) -> list[list[Any]] | None:
    if ranked is None:
        return None
    return [[*map(int, n), *map(_short, v)] for n, v in zip(*ranked, strict=True)]


def _short(value: float) -> int | float | None:
    """Return a number with three digits, which is all a bar or a cell shows."""
    if not np.isfinite(value):
        return None
    short = float(f"{value:.3g}") if abs(value) < 1000 else float(value)
    return round(short) if short == round(short) or abs(value) >= 1000 else short
