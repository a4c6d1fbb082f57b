"""GroPLE against each other method: over the folds of a data set, over data sets, over rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grople.pages import Cell, Table
from grople.study.experiments.comparison_tables import (
    Cells,
    gap_cell,
    interval_cell,
    methods_of,
)
from grople.study.paired import (
    LEVEL,
    Interval,
    RowCounts,
    bootstrap,
    corrected_t,
    holm,
    row_weights,
    signed_ranks,
)
from grople.study.published import METRICS, measure_name
from grople.study.reading import Average, data_order, shared_folds

__all__ = ["Pair", "Samples", "ahead_and_behind", "pair_tables", "pairs"]

OURS = "GroPLE"


@dataclass(frozen=True)
class Pair:
    """GroPLE less a rival by one measure: on each data set by folds and by rows, and over all."""

    rival: str
    metric: str
    folds: dict[str, Interval]
    rows: dict[str, Interval]
    p_value: float
    adjusted: float

    @property
    def mean(self) -> float:
        """The mean difference over data sets."""
        return float(np.mean([found.difference for found in self.folds.values()]))

    def counts(self, kind: str) -> list[int]:
        """Return on how many data sets GroPLE is better, equal and worse, by folds or rows."""
        sides = [found.side for found in getattr(self, kind).values()]
        return [sides.count(side) for side in (1, 0, -1)]


def pairs(cells: Cells) -> list[Pair]:
    """Compare GroPLE with every other method, measure by measure.

    The p-values of one measure are a family, to which Holm's correction is applied.
    """
    rivals = [name for name in methods_of(cells) if name != OURS]
    folds: dict[tuple[str, str], dict[str, Interval]] = {}
    rows: dict[tuple[str, str], dict[str, Interval]] = {}
    for dataset in data_order(dataset for dataset, name in cells if name == OURS):
        samples = Samples()
        for rival in rivals:
            compared = _on_shared_folds(cells, dataset, rival)
            if compared is None:
                continue
            for metric in METRICS:
                mine, other = (average.by_fold(metric) for average in compared)
                interval = corrected_t(mine, other)
                folds.setdefault((rival, metric), {})[dataset] = interval
                drawn = [samples.of(average, metric) for average in compared]
                if drawn[0] is not None and drawn[1] is not None:
                    by_rows = bootstrap(drawn[0], drawn[1], interval.difference)
                    rows.setdefault((rival, metric), {})[dataset] = by_rows
    found: list[Pair] = []
    for metric in METRICS:
        family = [rival for rival in rivals if (rival, metric) in folds]
        p_values = [
            signed_ranks([each.difference for each in folds[rival, metric].values()])
            for rival in family
        ]
        found += [
            Pair(rival, metric, folds[rival, metric], rows.get((rival, metric), {}), p, adjusted)
            for rival, p, adjusted in zip(family, p_values, holm(p_values), strict=True)
        ]
    return found


def _on_shared_folds(cells: Cells, dataset: str, rival: str) -> tuple[Average, Average] | None:
    """Return GroPLE and a rival over the folds that both ran; None where there are none."""
    mine, other = (cells.get((dataset, name)) for name in (OURS, rival))
    if mine is None or other is None:
        return None
    shared = shared_folds([mine, other])
    return (mine.only(shared), other.only(shared)) if shared else None


class Samples:
    """Measures of methods on the same samples of test rows, where rows are stored."""

    def __init__(self) -> None:
        self._weights: dict[int, Any] = {}
        self._measures: dict[tuple[Any, ...], Any] = {}

    def of(self, average: Average, metric: str) -> Any | None:
        """Return a measure on every sample of the rows of its folds; None where there are none."""
        folds = tuple(row.fold for row in average.rows)
        key = average.dataset, average.method, metric, folds
        if key not in self._measures:
            self._measures[key] = self._measured(average, metric)
        return self._measures[key]

    def _measured(self, average: Average, metric: str) -> Any | None:
        if not all("rows" in row.result for row in average.rows):
            return None
        counts = _row_counts(average, metric)
        if counts is None:
            return None
        n = len(counts.true)
        if n not in self._weights:  # seeded: as many rows get the same samples
            self._weights[n] = row_weights(n)
        return counts.measures(metric, self._weights[n])


def _row_counts(average: Average, metric: str) -> RowCounts | None:
    stored = [row.result["rows"] for row in average.rows]
    if not all(metric in each for each in stored):
        return None
    true = np.concatenate([each["true"] for each in stored])
    parts = [np.concatenate([each[metric][name] for each in stored]) for name in ("given", "hits")]
    return RowCounts(true, *parts)


def pair_tables(found: Sequence[Pair], title: str) -> list[tuple[str, Table]]:
    """Return the tests over data sets, and by measure the differences on every data set."""
    if not found:
        return []
    tables = [("pairs", _summary_table(found, title))]
    for metric in METRICS:
        part = [pair for pair in found if pair.metric == metric]
        if part:
            tables.append((f"pairs_{metric}", _difference_table(part, metric, title, "folds")))
        if any(pair.rows for pair in part):
            by_rows = _difference_table(part, metric, title, "rows")
            tables.append((f"pairs_by_rows_{metric}", by_rows))
    return tables


def _summary_table(found: Sequence[Pair], title: str) -> Table:
    by_rows = any(pair.rows for pair in found)
    rows: list[list[Any]] = []
    for pair in found:
        row: list[Any] = [
            pair.rival, measure_name(pair.metric), len(pair.folds),
            gap_cell(pair.mean, bold=pair.adjusted < LEVEL), *pair.counts("folds"),
        ]  # fmt: skip
        if by_rows:
            row += pair.counts("rows") if pair.rows else [None] * 3
        rows.append([*row, _p(pair.p_value), _p(pair.adjusted)])
    columns = ["GroPLE against", "measure", "data sets", "mean difference",
               "better", "equal", "worse"]  # fmt: skip
    columns += ["better by rows", "equal by rows", "worse by rows"] if by_rows else []
    return Table(
        [*columns, "p (Wilcoxon)", "p (Holm)"],
        rows,
        caption=f"GroPLE against each other method, {title}",
        search=True,
        note="Better, equal, worse: data sets on which the 95 % interval of the difference lies "
        "above zero, holds it, lies below; over folds by the corrected resampled t-test, which "
        "with five folds finds large differences only"
        + (", by rows by the bootstrap of test rows" if by_rows else "")
        + ". Wilcoxon's signed ranks are over the data sets' mean differences, Holm's correction "
        "over the methods of a measure. Bold: p < 0.05 after it.",
    )


#: How the intervals of a table of differences come about, by the name of a pair's intervals.
INTERVALS = {
    "folds": "Mean difference over the folds that both ran ± half of its 95 % interval (corrected "
    "resampled t-test; none of one fold). Bold: the interval does not hold zero. Pointing at a "
    "cell shows p.",
    "rows": "Mean difference over the same folds and the 95 % interval of that of all their test "
    "rows, by the bootstrap: how far it hangs on these rows, not on what was learnt from. Bold: "
    "the interval does not hold zero.",
}


def _difference_table(found: Sequence[Pair], metric: str, title: str, kind: str) -> Table:
    datasets = data_order(dataset for pair in found for dataset in getattr(pair, kind))
    rows = []
    for dataset in datasets:
        intervals = [getattr(pair, kind).get(dataset) for pair in found]
        rows.append([dataset, *(each and interval_cell(each, kind) for each in intervals)])
    return Table(
        ["data", *(f"− {pair.rival}" for pair in found)],
        rows,
        caption=f"GroPLE less the others by {measure_name(metric)}, {title}, over {kind}",
        note=INTERVALS[kind],
    )


def _p(value: float) -> Cell:
    return Cell(value, "< 0.001" if value < 0.001 else f"{value:.3f}")


#: The test behind what :func:`ahead_and_behind` says.
TEST = "Wilcoxon's test over data sets, p < .05 after Holm's correction"


def ahead_and_behind(found: Sequence[Pair]) -> str:
    """Say of whom GroPLE is ahead and behind beyond chance, measures that agree together."""
    said: dict[str, list[str]] = {}
    for metric in METRICS:
        part = [pair for pair in found if pair.metric == metric]
        if part:
            said.setdefault(_position(part), []).append(measure_name(metric))
    if len(said) == 1:
        return f"Beyond chance ({TEST}) GroPLE is {next(iter(said))} by every measure."
    told = "; ".join(f"by {_and(measures)} {text}" for text, measures in said.items())
    return f"Beyond chance ({TEST}) GroPLE is, {told}." if told else ""


def _position(part: Sequence[Pair]) -> str:
    adjusted = holm([pair.p_value for pair in part])
    sure = [pair for pair, p in zip(part, adjusted, strict=True) if p < LEVEL]
    ahead = [pair.rival for pair in sure if pair.mean > 0]
    behind = [pair.rival for pair in sure if pair.mean < 0]
    if not sure:
        return "neither ahead of nor behind any"
    said = [f"ahead of {_and(ahead)}"] if ahead else []
    return " and ".join(said + ([f"behind {_and(behind)}"] if behind else []))


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
