"""GroPLE against each other method: over the folds of a data set, over its rows, over data sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from grople.inspection import Cell, Table
from grople.study._experiment import Finding, verdict_on
from grople.study._frames import (
    data_sets,
    methods_of,
    on_shared_folds,
    ranked_methods,
    score_ranks,
    where,
)
from grople.study._printed import METRICS, measure_name
from grople.study._statistics import (
    LEVEL,
    MIN_FOLDS,
    Interval,
    RowRatio,
    corrected_t,
    holm,
    paired_bootstrap,
    signed_ranks,
)
from grople.study._tables import gap_shade

OURS = "GroPLE"
#: The measures that follow from counts of rows.
ROW_METRICS = ("accuracy", "example_f1", "micro_f1")


@dataclass(frozen=True)
class Pair:
    """GroPLE less another method by one measure: on each data set by folds and rows, and over all.

    ``p_value`` is Wilcoxon's over data sets, ``adjusted`` after Holm's correction over the methods.
    """

    other: str
    metric: str
    folds: dict[str, Interval]
    rows: dict[str, Interval] = field(default_factory=dict)
    p_value: float = math.nan
    adjusted: float = math.nan

    @property
    def mean(self) -> float:
        """The mean difference over data sets."""
        return float(np.mean([found.difference for found in self.folds.values()]))


def compare_pairs(cells: pd.DataFrame) -> list[Pair]:
    """Compare GroPLE with every other method, measure by measure."""
    found: list[Pair] = []
    both = {other: on_shared_folds(cells, (OURS, other)) for other in methods_of(cells)}
    for metric in METRICS:
        folds = {
            other: _by_folds(part, other, metric)
            for other, part in both.items()
            if other != OURS and not part.empty
        }
        p_values = [
            signed_ranks([interval.difference for interval in intervals.values()])
            for intervals in folds.values()
        ]
        for other, p_value, adjusted in zip(folds, p_values, holm(p_values), strict=True):
            rows = _by_rows(both[other], other, metric)
            found.append(Pair(other, metric, folds[other], rows, p_value, adjusted))
    return found


def _by_folds(both: pd.DataFrame, other: str, metric: str) -> dict[str, Interval]:
    values = both.pivot_table(index=["dataset", "fold"], columns="method", values=metric)
    return {
        dataset: corrected_t(values.loc[dataset, OURS], values.loc[dataset, other])
        for dataset in data_sets(both)
    }


def _by_rows(both: pd.DataFrame, other: str, metric: str) -> dict[str, Interval]:
    """Return the bootstrap of test rows on each data set whose runs keep counts of rows."""
    if metric not in ROW_METRICS:
        return {}
    kept = where(both, ("rows" in result for result in both["result"]))
    found = {}
    for dataset, part in kept.groupby("dataset"):
        if part["fold"].nunique() < MIN_FOLDS:
            continue
        ours, theirs = (_row_ratio(part[part["method"] == m], metric) for m in (OURS, other))
        found[dataset] = paired_bootstrap(ours, theirs)
    return found


def _row_ratio(runs: pd.DataFrame, metric: str) -> RowRatio:
    rows = [result["rows"] for result in runs.sort_values("fold")["result"]]
    given, hits = (
        np.concatenate([each[metric][key] for each in rows]) for key in ("given", "hits")
    )
    return RowRatio.of(metric, np.concatenate([each["true"] for each in rows]), given, hits)


def pair_table(found: Sequence[Pair], title: str) -> Table:
    """Return GroPLE against each other method, with the tests over folds, rows and data sets."""
    rows: list[list[Any]] = []
    for pair in found:
        text = f"{pair.mean:+.3f}".replace("-", "−")
        emphasis = "bold" if pair.adjusted < LEVEL else ""
        mean = Cell(pair.mean, text, emphasis, shade=gap_shade(pair.mean))
        counts = [_counts(intervals) for intervals in (pair.folds, pair.rows)]
        tests = [Cell(p, "< 0.001" if p < 0.001 else None) for p in (pair.p_value, pair.adjusted)]
        rows.append([pair.other, measure_name(pair.metric), len(pair.folds), mean, *counts, *tests])
    columns = ["GroPLE against", "measure", "data sets", "mean difference", "by folds", "by rows",
               "p (Wilcoxon)", "p (Holm)"]  # fmt: skip
    return Table(
        columns,
        rows,
        caption=f"GroPLE against each other method, {title}",
        search=True,
        note="By folds, by rows: data sets on which GroPLE is better, equal, worse, as the 95 % "
        "interval of the difference lies above zero, holds it, lies below: over at least three "
        "folds by the corrected resampled t-test, over test rows by the paired bootstrap. "
        "Wilcoxon's signed ranks are over the mean differences of at least five data sets, Holm's "
        "correction over the methods of a measure. Bold: p < 0.05 after it.",
    )


def _counts(intervals: dict[str, Interval]) -> str | None:
    """Return on how many data sets GroPLE is better, equal and worse; None where not tested."""
    sides = [found.side for found in intervals.values() if not math.isnan(found.low)]
    return ", ".join(str(sides.count(side)) for side in (1, 0, -1)) if sides else None


def ahead_and_behind(found: Sequence[Pair]) -> str:
    """Say of which methods GroPLE is significantly ahead and behind, by each measure."""
    said: dict[str, list[str]] = {}
    for metric in METRICS:
        part = [pair for pair in found if pair.metric == metric]
        if part and not math.isnan(part[0].p_value):
            said.setdefault(_position(part), []).append(measure_name(metric))
    told = "; ".join(f"by {_listed(measures)} {text}" for text, measures in said.items())
    return (
        f"Wilcoxon's test over data sets (p < .05 after Holm's correction): {told}." if told else ""
    )


def rank_finding(cells: pd.DataFrame, title: str, pairs: Sequence[Pair], printed: str) -> Finding:
    """Judge whether GroPLE's average rank is the first by every measure."""
    methods = ranked_methods(cells)
    ranks = {metric: score_ranks(cells, metric, methods) for metric in METRICS}
    count = len(ranks[METRICS[0]])
    if len(methods) < 2 or not count or OURS not in methods:
        return Finding("open", f"{title.capitalize()}: too few to rank.")
    told, first = [], 0
    for metric, table in ranks.items():
        mean = table.mean()
        leads = bool(mean[OURS] == mean.min())
        first += leads
        leader = "" if leads else f" (first {mean.idxmin()} {mean.min():.2f})"
        told.append(f"{measure_name(metric)} {mean[OURS]:.2f}{leader}")
    return Finding(
        verdict_on(first, len(METRICS), count),
        f"{title.capitalize()}, over {count} data sets, GroPLE's average rank is first in {first} "
        f"of {len(METRICS)}: {', '.join(told)}; the paper prints {printed}, over eleven. "
        + ahead_and_behind([pair for pair in pairs if pair.other in methods]),
    )


def _position(part: Sequence[Pair]) -> str:
    # Corrected among the methods at hand, which may be fewer than were compared.
    adjusted = holm([pair.p_value for pair in part])
    sure = [pair for pair, p in zip(part, adjusted, strict=True) if p < LEVEL]
    ahead = [pair.other for pair in sure if pair.mean > 0]
    behind = [pair.other for pair in sure if pair.mean < 0]
    said = [f"ahead of {_listed(ahead)}"] if ahead else []
    said += [f"behind {_listed(behind)}"] if behind else []
    return " and ".join(said) or "neither ahead of nor behind any"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
