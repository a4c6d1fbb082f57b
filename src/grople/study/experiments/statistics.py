"""Do the methods differ? Friedman and Nemenyi, from the printed ranks and from ours."""

from __future__ import annotations

import warnings
from typing import Any

from grople.pages import Cell, Table
from grople.study.experiments import comparison
from grople.study.experiments.base import (
    Exhibit,
    Experiment,
    Figure,
    Finding,
    Options,
    judged,
)
from grople.study.figures import plot_critical_difference
from grople.study.published import METRICS, PRINTED, measure_name, published_ranks
from grople.study.statistics import Friedman, Nemenyi, friedman, nemenyi, uneven_rows
from grople.study.store import Store
from grople.study.units import Batch

__all__ = ["EXPERIMENT"]

#: Within which a printed statistic counts as found again.
CLOSE = 0.01


def plan(options: Options) -> list[Batch]:
    """Return the units of the comparison, which the tests are about."""
    return comparison.plan(options)


def show(store: Store) -> Exhibit:
    """Return the tests and a critical-difference diagram for each measure."""
    printed, figures, notes = _printed()
    tables = [("printed", printed)]
    findings = [_printed_finding()]
    for protocol in ("published", "nested"):
        cells = comparison.protocol_cells(store, protocol)
        rows: list[list[Any]] = []
        told, held, n = [], 0, 0
        for metric in METRICS:
            datasets, methods, ranks = comparison.complete_ranks(cells, metric)
            if ranks is None:
                continue
            n = len(datasets)
            test, pairs = friedman(ranks, ranks=True), nemenyi(ranks, ranks=True)
            rows.append(_row(metric, test, pairs))
            figures.append(_diagram(f"{protocol}_{metric}", methods, pairs, metric, n))
            if "GroPLE" in methods:
                first = int(test.average_ranks.argmin()) == methods.index("GroPLE")
                held += test.rejected and first
                told.append(_position(metric, methods, test, pairs))
        if rows:
            title = comparison.TITLES[protocol]
            tables.append((protocol, _table(rows, f"Our ranks, {title}")))
        if told:
            sentence = f"{title.capitalize()}, over {n} data sets: {'; '.join(told)}."
            findings.append(Finding(2, judged(held, len(told), n), sentence))
    return Exhibit(notes, tables, figures, findings)


def _position(metric: str, methods: list[str], test: Friedman, pairs: Nemenyi) -> str:
    """Say whether the methods differ, and whom GroPLE is ahead of."""
    mine = test.average_ranks[methods.index("GroPLE")]
    far = [
        method
        for method, rank in zip(methods, test.average_ranks, strict=True)
        if rank - mine > pairs.critical_difference
    ]
    verb = "differ" if test.rejected else "do not differ"
    return (
        f"by {measure_name(metric)} methods {verb} (F_F {test.statistic:.2f}, critical "
        f"{test.critical:.2f}), GroPLE ahead of {', '.join(far) or 'none'} by more than CD"
    )


def _printed() -> tuple[Table, list[Figure], list[str]]:
    rows, figures = [], []
    notes: list[str] = []
    for metric in METRICS:
        for corrected in (False, True):
            datasets, methods, ranks = published_ranks(metric, corrected=corrected)
            uneven = uneven_rows(ranks)
            if corrected and not uneven_rows(published_ranks(metric)[2]):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the misprint, which the note tells
                test, pairs = friedman(ranks, ranks=True), nemenyi(ranks, ranks=True)
            row = _row(metric, test, pairs)
            gap = test.statistic - PRINTED["statistic"][metric]
            row[0] = f"{measure_name(metric)}{', corrected' if corrected else ''}"
            row.insert(2, PRINTED["statistic"][metric])
            good = abs(gap) <= CLOSE
            row.insert(3, Cell(gap, f"{gap:+.3f}", shade=None if good else -1.0))
            rows.append(row)
            if uneven:
                notes.append(
                    f"The printed {measure_name(metric)} ranks of {datasets[uneven[0]]} sum to "
                    f"{ranks[uneven[0]].sum():g} instead of 36: CPLST's is printed 3 and must be "
                    "3.5. As printed they give F_F"
                    f" {test.statistic:.3f}, not {PRINTED['statistic'][metric]:.3f}."
                )
            elif corrected:
                notes.append(f"With 3.5 F_F is {test.statistic:.3f}, {gap:+.3f} from the printed.")
        figures.append(
            _diagram(f"printed_{metric}", list(methods), pairs, metric, len(datasets), "printed ")
        )
    columns = ["measure", "F_F", "printed", "difference", "critical value", "p", "CD", "q"]
    table = Table(
        columns, rows, caption="From the printed ranks: 11 data sets, 8 methods", digits=4
    )
    return table, figures, notes


def _printed_finding() -> Finding:
    gaps = {}
    for metric in METRICS:
        test = friedman(published_ranks(metric, corrected=True)[2], ranks=True)
        gaps[metric] = test.statistic - PRINTED["statistic"][metric]
    fits = all(abs(gap) <= CLOSE for gap in gaps.values())
    told = ", ".join(f"{measure_name(m)} {gap:+.4f}" for m, gap in gaps.items())
    return Finding(
        2,
        "confirmed" if fits else "refuted",
        f"The printed F_F follow from the printed ranks once one misprinted rank is put right "
        f"(differences {told}); critical value 2.143 and CD 3.166 as printed.",
    )


def _row(metric: str, test: Friedman, pairs: Nemenyi) -> list[Any]:
    return [
        measure_name(metric), Cell(test.statistic, emphasis="bold" if test.rejected else ""),
        test.critical, test.p_value, pairs.critical_difference, pairs.q,
    ]  # fmt: skip


def _table(rows: list[list[Any]], caption: str) -> Table:
    note = "Bold: above the critical value, so the methods do not all rank alike."
    columns = ["measure", "F_F", "critical value", "p", "CD", "q"]
    return Table(columns, rows, caption=caption, note=note, digits=4)


def _diagram(
    name: str, methods: list[str], pairs: Nemenyi, metric: str, n: int, kind: str = ""
) -> Figure:
    order = sorted(zip(pairs.average_ranks, methods, strict=True))
    told = ", ".join(f"{method} {rank:.2f}" for rank, method in order)
    source = name.rpartition("_" + metric)[0]
    return Figure(
        f"cd_{name}",
        lambda: plot_critical_difference(pairs.average_ranks, methods, pairs.critical_difference),
        f"{measure_name(metric)}, {source} ranks, {n} data sets: methods joined by a bar do not "
        "differ by more than the critical difference.",
        f"Critical-difference diagram of {kind}average ranks: {told}.",
    )


EXPERIMENT = Experiment(
    "statistics",
    "Statistics",
    "Do the methods differ over data sets, and which pairs of them?",
    plan,
    show,
    uses=("comparison",),
)
