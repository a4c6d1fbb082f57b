"""What was measured, as tables."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks import table
from benchmarks.peers.harness import MEASURES, load_counts
from benchmarks.peers.splits import Split, stored_split
from benchmarks.peers.table import COMPETITORS
from grople.study import Interval, RowRatio, paired_bootstrap

__all__ = ["OURS", "bootstrap_table", "data_table", "goal_table", "seconds_to_fit"]

Records = Mapping[tuple[str, str], Mapping[str, Any]]

#: The competitor that the others are compared with.
OURS = "grople"
QUALITY = {
    "example_f1": "example-F1", "micro_f1": "micro-F1", "macro_f1": "macro-F1",
    "precision_at_1": "P@1", "precision_at_3": "P@3", "precision_at_5": "P@5",
}  # fmt: skip
COSTS = ("fit s", "decision s", "predict s / 1,000 rows", "memory MiB")
#: A competitor is as good as ours from this share of our example-F1 on.
AS_GOOD = 0.99


def share(value: float, digits: int = 3) -> str:
    """Return a measure without its leading zero."""
    return f"{value:.{digits}f}".replace("0.", ".", 1)


def number(value: float) -> str:
    """Return a number with the digits that a clock of processes can vouch for."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def seconds_to_fit(record: Mapping[str, Any]) -> float:
    """Return the processor seconds of a fit with its decision."""
    return float(record["fit_cpu"] + record["decision_cpu"])


def thousand_rows(record: Mapping[str, Any]) -> float:
    """Return the processor seconds of predicting a thousand rows."""
    return float(1000 * record["predict_cpu"] / _test_rows(record["data"]))


@functools.cache
def _test_rows(data: str) -> int:
    return stored_split(data).shape[1]


def measured(found: Records, data: str) -> dict[str, Mapping[str, Any]]:
    """Return the results on a data set, in the order of the competitors."""
    known = {name: found.get((name, data)) for name in COMPETITORS}
    return {name: record for name, record in known.items() if record is not None}


def data_table(found: Records, data: str) -> str:
    """Return one data set's table; the best of each measure stands out."""
    records = measured(found, data)
    best = {
        measure: max((r[measure] for r in records.values() if r["status"] == "ok"), default=0.0)
        for measure in QUALITY
    }
    rows: list[list[str]] = []
    for name, record in records.items():
        what = COMPETITORS[name].what
        if record["status"] != "ok":
            fit = number(record["fit_cpu"]) if "fit_cpu" in record else ""
            rows.append([what, record["status"], *[""] * 5, fit, *[""] * 3])
            continue
        shares = {measure: share(record[measure]) for measure in QUALITY}
        rows.append(
            [
                what,
                *(f"**{shares[m]}**" if record[m] == best[m] else shares[m] for m in QUALITY),
                number(record["fit_cpu"]),
                number(record["decision_cpu"]),
                f"{thousand_rows(record):.3f}",
                number(record["peak_mib"] - record["base_mib"]),
            ]
        )
    return table(["method", *QUALITY.values(), *COSTS], rows)


def bootstrap_table(found: Records, data: Iterable[str]) -> str:
    """Return by how much ours is ahead of every other, with intervals over test rows."""
    rows: list[list[str]] = []
    for dataset in data:
        records = {k: r for k, r in measured(found, dataset).items() if r["status"] == "ok"}
        if OURS not in records:
            continue
        split = stored_split(dataset)
        mine = {measure: row_ratio(OURS, split, measure) for measure in MEASURES}
        for name, record in records.items():
            if name.startswith("grople"):
                continue
            cells = [dataset, COMPETITORS[name].what]
            for measure in MEASURES:
                test = paired_bootstrap(mine[measure], row_ratio(name, split, measure))
                ratio = 100 * (records[OURS][measure] / record[measure] - 1)
                cells += [share(record[measure]), interval(test), f"{ratio:+.1f} %"]
            rows.append(cells)
    head = ["data", "peer"]
    for measure in MEASURES:
        head += [QUALITY[measure], "ours ahead by [95 %]", "relative"]
    return table(head, rows)


def row_ratio(name: str, split: Split, measure: str) -> RowRatio:
    """Return a measure of a competitor as sums over the test rows."""
    counts = load_counts(name, split, measure)
    return RowRatio.of(measure, counts.row_true, counts.row_pred, counts.row_tp)


def interval(test: Interval) -> str:
    """Return a difference with its interval, in bold where it leaves zero out."""
    return f"**{test}**" if test.side else str(test)


def goal_table(found: Records, data: Iterable[str]) -> str:
    """Return whether ours is faster than every peer that is as good, data set by data set."""
    rows = []
    for dataset in data:
        records = {k: r for k, r in measured(found, dataset).items() if r["status"] == "ok"}
        if OURS not in records:
            continue
        mine = records[OURS]
        others = [
            (name, record)
            for name, record in records.items()
            if not name.startswith("grople")
            and record["example_f1"] >= AS_GOOD * mine["example_f1"]
        ]
        row = [dataset, share(mine["example_f1"]), number(seconds_to_fit(mine)),
               f"{thousand_rows(mine):.3f}"]  # fmt: skip
        if not others:
            rows.append([*row, "none", "", ""])
        for name, record in others:
            # What is too quick for the clock counts as what it can tell.
            fit = max(seconds_to_fit(record), 1e-3) / max(seconds_to_fit(mine), 1e-3)
            predict = max(thousand_rows(record), 1e-5) / max(thousand_rows(mine), 1e-5)
            peer = f"{COMPETITORS[name].what} ({share(record['example_f1'])})"
            rows.append([*row, peer, f"{fit:.2g}×", f"{predict:.2g}×"])
            row = ["", "", "", ""]
    head = ["data", "ours: example-F1", "fit + decision s", "predict s / 1,000 rows",
            "peer within 1 % or better", "ours fits as fast", "ours predicts as fast"]  # fmt: skip
    return table(head, rows)
