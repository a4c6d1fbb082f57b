"""A model in tables: its groups, its labels, one label with what is behind it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.inspection._quality import expected_and_true
from grople.inspection._report import ModelReport
from grople.inspection._table import Cell, Table

__all__ = [
    "ENOUGH_ROWS",
    "expert_table",
    "frequency_table",
    "frequent_labels",
    "group_table",
    "hard_labels",
    "label_table",
    "label_tables",
    "measures_table",
    "promise_table",
]

Array = NDArray[Any]

#: Rows a label must have to count among the hard ones.
ENOUGH_ROWS = 20
#: Classes of frequency.
FREQUENCY_EDGES = (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 100_000)
#: Labels named of a group, features of a label, labels that are like it.
SHOWN = 5


def group_table(report: ModelReport, most: int) -> Table:
    """Return the groups, the largest first, with their most frequent labels."""
    rows: list[list[Any]] = []
    for group in report.groups[:most]:
        more = len(group.labels) - SHOWN
        listed = ", ".join(report.label_names[i] for i in group.labels[:SHOWN])
        listed += f", and {more} more" if more > 0 else ""
        rows.append([Cell(group.name, emphasis="bold"), len(group.labels), listed])
    left = len(report.groups) - most
    note = f"and {left} smaller groups" if left > 0 else ""
    caption = f"{len(report.groups)} groups of labels"
    return Table(["group", "labels", "the most frequent"], rows, caption, note)


def frequent_labels(report: ModelReport, most: int) -> Array:
    """Return the most frequent labels."""
    counts = np.asarray(report.frequencies)
    return np.argsort(-counts, kind="stable")[:most]


def hard_labels(report: ModelReport, most: int) -> Array:
    """Return the labels that are ranked worst, of those with enough rows to say so."""
    if report.quality is None or report.frequencies is None:
        return np.zeros(0, dtype=np.intp)
    precision = report.quality.average_precision
    known = np.flatnonzero((report.frequencies >= ENOUGH_ROWS) & np.isfinite(precision))
    return known[np.argsort(precision[known], kind="stable")[:most]]


def label_table(report: ModelReport, labels: Array, caption: str) -> Table:
    """Return labels with their rows, their quality and the features that speak for them."""
    columns = ["label", "rows"]
    quality, top, effects = report.quality, report.top_features, report.feature_effects
    if quality is not None:
        columns += ["AP", "AUC"]
    if top is not None:
        columns += ["features that speak for it"]
    rows: list[list[Any]] = []
    for i in labels:
        row: list[Any] = [report.label_names[i]]
        row.append(None if report.frequencies is None else round(report.frequencies[i]))
        if quality is not None:
            row += [quality.average_precision[i], quality.auc[i]]
        if top is not None and effects is not None:
            speaking = [report.feature_names[j] for j in top[i][effects[i] > 0]]
            row.append(", ".join(speaking[:SHOWN]))
        rows.append(row)
    return Table(columns, rows, caption)


def label_tables(report: ModelReport, i: int) -> list[Table]:
    """Return what is behind a label: its features, the labels like it, those seen with it."""
    facts = []
    groups = {group.number: group.name for group in report.groups}
    if int(report.label_groups[i]) in groups:
        facts.append(f"group {groups[int(report.label_groups[i])]}")
    if report.frequencies is not None:
        facts.append(f"{report.frequencies[i]:,.0f} rows")
    if report.quality is not None and np.isfinite(report.quality.auc[i]):
        facts.append(f"average precision {report.quality.average_precision[i]:.3f}")
        facts.append(f"AUC {report.quality.auc[i]:.3f}")
    rows: list[list[Any]] = []
    if report.top_features is not None and report.feature_effects is not None:
        effects = report.feature_effects[i]
        longest = max(float(np.abs(effects).max(initial=0.0)), 1e-300)
        for j, effect in zip(report.top_features[i], effects, strict=True):
            sign = "−" if effect < 0 else "+"
            cell = Cell(effect, f"{sign}{abs(effect):.3f}")
            bar = Cell("", shade=float(np.sign(effect)), bar=abs(effect) / longest)
            rows.append([report.feature_names[j], cell, bar])
    tables = [Table(["", "", ""], rows, report.label_names[i], " · ".join(facts))]
    for title, numbers, values, style in (
        ("most alike (cosine)", report.nearest, report.nearest_cosines, "{:.2f}"),
        ("seen together (share of its rows)", report.together, report.together_shares, "{:.0%}"),
    ):
        if numbers is not None and values is not None:
            pairs = zip(numbers[i], values[i], strict=True)
            alike = [[report.label_names[j], Cell(v, style.format(v))] for j, v in pairs if v > 0]
            tables.append(Table(["", ""], alike[:SHOWN], title))
    return tables


def measures_table(methods: dict[str, dict[str, float]], caption: str) -> Table:
    """Return the measures of methods, the best of each in bold."""
    measures = list(next(iter(methods.values())))
    best = {m: max(means.get(m, -np.inf) for means in methods.values()) for m in measures}
    rows: list[list[Any]] = []
    for name, means in methods.items():
        values = [(means.get(m), "bold" if means.get(m) == best[m] else "") for m in measures]
        rows.append([name, *(Cell(value, emphasis=emphasis) for value, emphasis in values)])
    return Table(["method", *(m.replace("_f1", "-F1") for m in measures)], rows, caption)


def expert_table(report: ModelReport) -> Table:
    """Return how much each expert counts in the scores, and what it is worth alone."""
    largest = max((each.get("weight", 0.0) for each in report.experts), default=0.0)
    rows = [
        [
            each.get("expert"),
            Cell(each.get("weight"), bar=each.get("weight", 0.0) / max(largest, 1e-300)),
            Cell(each.get("log_loss"), title="on held-out rows"),
            each.get("seconds"),
        ]
        for each in report.experts
    ]
    columns, caption = ["expert", "weight", "log loss", "seconds"], "Importance by [expert](?)"
    return Table(columns, rows, caption, "Weight 0: tried and left out.")


def promise_table(report: ModelReport) -> Table:
    """Return how often labels were to be expected, and how often they occurred."""
    rows: list[list[Any]] = []
    for name, curve in report.reliability.items():
        expected, true = expected_and_true(curve)
        rows.append([name, round(expected), round(true), expected / true if true else None])
    caption, note = "How often labels are expected and occur", "A ratio above 1: too often."
    return Table(["labels", "expected", "true", "ratio"], rows, caption, note, digits=2)


def frequency_table(report: ModelReport) -> Table:
    """Return the quality of the labels by how many rows carry them."""
    counts = np.asarray(report.frequencies, dtype=np.float64)
    total = max(float(counts.sum()), 1e-300)
    quality = report.quality
    measures = () if quality is None else (quality.average_precision, quality.auc)
    rows: list[list[Any]] = []
    for low, high in itertools.pairwise([*FREQUENCY_EDGES, np.inf]):
        inside = (counts >= low) & (counts < high)
        if inside.any():
            span = f"{low:,} or more" if np.isinf(high) else f"{low:,} to {high - 1:,}"
            share = float(counts[inside].sum()) / total
            row = [Cell(low, span if high - low > 1 else f"{low:,}"), int(inside.sum())]
            rows.append([*row, Cell(share, f"{share:.1%}"), *(_mean(m[inside]) for m in measures)])
    columns = ["rows with the label", "labels", "share of occurrences", "AP", "AUC"]
    caption, note = "Quality by frequency", "Means over the labels of a class."
    return Table(columns[: 3 + len(measures)], rows, caption, note if measures else "")


def _mean(values: Array) -> float | None:
    return float(np.nanmean(values)) if np.isfinite(values).any() else None
