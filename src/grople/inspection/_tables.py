"""A model in tables: its quality, its groups, its labels, one label with what is behind it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.inspection._quality import expected_and_true
from grople.inspection._report import ModelReport
from grople.inspection._table import Cell, Table
from grople.inspection._words import quality_words, rare_label_words

__all__ = [
    "frequency_table",
    "group_table",
    "hard_labels",
    "label_parts",
    "overview_parts",
    "promise_table",
    "summary_parts",
]

Array = NDArray[Any]

#: Rows a label must have to count among the hard ones.
ENOUGH_ROWS = 20
#: Labels named of a group, features of a label, labels that are like it.
SHOWN = 5
#: On a terminal: groups, frequent labels and hard labels.
SHOWN_GROUPS, SHOWN_FREQUENT, SHOWN_HARD = 40, 10, 5
#: Classes of frequency.
FREQUENCY_EDGES = (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 100_000)


def summary_parts(report: ModelReport) -> list[str | Table]:
    """Return a model in a screenful or two: sentences and tables, for a terminal."""
    parts = overview_parts(report)
    if report.groups:
        parts.append(group_table(report, SHOWN_GROUPS))
    if report.frequencies is not None:
        frequent = np.argsort(-report.frequencies, kind="stable")[:SHOWN_FREQUENT]
        parts.append(_label_table(report, frequent, "The most frequent labels"))
    return parts + hard_labels(report, SHOWN_HARD)


def overview_parts(report: ModelReport) -> list[str | Table]:
    """Return how good a model is: in words, as cross-validation measured it, and by expert."""
    parts: list[Any] = [quality_words(report), rare_label_words(report)]
    if report.cross_validated:
        caption = "Cross-validated when it was fitted, with yardsticks on the same folds"
        parts.append(_measures_table(report.cross_validated, caption))
    if report.experts:
        parts.append(_expert_table(report))
    return [part for part in parts if part]


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


def hard_labels(report: ModelReport, most: int) -> list[str | Table]:
    """Return a table of the labels that are ranked worst, if any has enough rows to say so."""
    if report.quality is None or report.frequencies is None:
        return []
    precision = report.quality.average_precision
    known = np.flatnonzero((report.frequencies >= ENOUGH_ROWS) & np.isfinite(precision))
    worst = known[np.argsort(precision[known], kind="stable")[:most]]
    caption = f"The labels it finds hardest, of those on {ENOUGH_ROWS} rows or more"
    return [_label_table(report, worst, caption)] if len(worst) else []


def label_parts(report: ModelReport, i: int) -> list[Table]:
    """Return what is behind a label: its features, the labels like it, those seen with it."""
    facts = [f"group {group.name}" for group in report.groups if i in group.labels]
    if report.frequencies is not None:
        facts.append(f"{report.frequencies[i]:,.0f} rows")
    if report.quality is not None and np.isfinite(report.quality.auc[i]):
        facts.append(f"average precision {report.quality.average_precision[i]:.3f}")
        facts.append(f"AUC {report.quality.auc[i]:.3f}")
    title = Cell(report.label_names[i], emphasis="bold")
    tables = [Table(["", ""], [[title, Cell(" · ".join(facts), emphasis="muted")]])]
    if report.top_features is not None:
        effects = report.top_features.of(i, report.feature_names)
        longest = max([abs(effect) for _, effect in effects], default=0.0) or 1.0
        rows = [
            [
                name,
                Cell(effect, f"{effect:+.3f}".replace("-", "−")),
                Cell("", shade=effect, bar=abs(effect) / longest),
            ]
            for name, effect in effects
        ]
        tables.append(Table(["", "", ""], rows, "features that speak for it (+) or against it (−)"))
    for caption, ranked, style in (
        ("most alike (cosine)", report.nearest, "{:.2f}"),
        ("seen together (share of its rows)", report.together, "{:.0%}"),
    ):
        if ranked is not None:
            alike = [(name, v) for name, v in ranked.of(i, report.label_names) if v > 0]
            rows = [[name, Cell(v, style.format(v))] for name, v in alike[:SHOWN]]
            tables.append(Table(["", ""], rows, caption))
    return tables


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


def _label_table(report: ModelReport, labels: Array, caption: str) -> Table:
    """Return labels with their rows, their quality and the features that speak for them."""
    columns: dict[str, list[Any]] = {"label": [report.label_names[i] for i in labels]}
    if report.frequencies is not None:
        columns["rows"] = [round(report.frequencies[i]) for i in labels]
    if report.quality is not None:
        columns["AP"] = list(report.quality.average_precision[labels])
        columns["AUC"] = list(report.quality.auc[labels])
    if report.top_features is not None:
        effects = [report.top_features.of(i, report.feature_names) for i in labels]
        speaking = [[name for name, effect in each if effect > 0] for each in effects]
        columns["features that speak for it"] = [", ".join(names[:SHOWN]) for names in speaking]
    note = "" if report.quality is None else f"AP is average precision; AP and AUC {report.source}."
    return Table(list(columns), list(zip(*columns.values(), strict=True)), caption, note)


def _measures_table(methods: dict[str, dict[str, float]], caption: str) -> Table:
    """Return the measures of methods, the best of each in bold."""
    *_, measures = methods.values()  # those of the model, which comes last
    best = {m: max(means.get(m, -np.inf) for means in methods.values()) for m in measures}
    rows: list[list[Any]] = []
    for name, means in methods.items():
        values = [(means.get(m), "bold" if means.get(m) == best[m] else "") for m in measures]
        rows.append([name, *(Cell(value, emphasis=emphasis) for value, emphasis in values)])
    return Table(
        ["method", *(m.replace("_f1", "-F1").replace("_", " ") for m in measures)], rows, caption
    )


def _expert_table(report: ModelReport) -> Table:
    """Return how much each expert counts in the scores, and what it is worth alone."""
    largest = max(each.get("weight", 0.0) for each in report.experts) or 1.0
    rows = [
        [
            each.get("expert"),
            each.get("weight"),
            Cell("", bar=each.get("weight", 0.0) / largest),
            each.get("log_loss"),
            each.get("seconds"),
        ]
        for each in report.experts
    ]
    columns, caption = ["expert", "weight", "", "log loss", "seconds"], "Importance by [expert](?)"
    return Table(columns, rows, caption, "Log loss: of the expert alone. Weight 0: left out.")


def _mean(values: Array) -> float | None:
    return float(np.nanmean(values)) if np.isfinite(values).any() else None
