"""Do the methods differ? Friedman and Nemenyi, from the printed ranks and from ours."""

from __future__ import annotations

from typing import Any

import pandas as pd

from grople.inspection import Cell, Picture, Table
from grople.study._experiment import Exhibit, Experiment, Finding, verdict_on
from grople.study._frames import ranked_methods, score_ranks
from grople.study._plots import plot_critical_difference
from grople.study._printed import METRICS, PAPER_METHODS, PRINTED, measure_name, printed_ranks
from grople.study._statistics import MIN_DATASETS, friedman, nemenyi, uneven_rows
from grople.study._tables import picture_id
from grople.study.experiments._comparison import EXPERIMENT as COMPARISON
from grople.study.experiments._comparison import TITLES, protocol_cells

#: Within which a printed statistic counts as found again.
CLOSE = 0.01


def show(runs: pd.DataFrame) -> Exhibit:
    """Return the tests and a critical-difference diagram for each measure."""
    printed = {metric: printed_ranks(metric, corrected=True) for metric in METRICS}
    tables = {"printed": _table(printed, "From the printed ranks, the misprint put right")}
    pictures = _diagrams(printed, "printed")
    notes, findings = [_printed_note(printed), *_misprint()], []
    for protocol, title in TITLES.items():
        # Only the methods that the claim is about: a variant of GroPLE is no competitor of GroPLE.
        cells = protocol_cells(runs, protocol)
        cells = cells[cells["method"].isin(PAPER_METHODS)]
        methods = ranked_methods(cells)
        ours = {metric: score_ranks(cells, metric, methods) for metric in METRICS}
        n = len(ours[METRICS[0]])
        if n >= MIN_DATASETS and "GroPLE" in methods and len(methods) > 1:
            tables[protocol] = _table(ours, f"Our ranks, {title}, {n} data sets")
            pictures += _diagrams(ours, title)
            findings.append(_finding(ours, title, n))
        elif len(cells):
            told = (
                f"{title.capitalize()}: nothing is tested, for {n} data sets that all methods were "
                f"run on are fewer than {MIN_DATASETS}."
            )
            findings.append(Finding("open", told))
    return Exhibit(notes, tables, pictures, findings)


def _misprint() -> list[str]:
    """Say which printed ranks cannot be right, and what follows from them."""
    notes = []
    for metric in METRICS:
        ranks, corrected = printed_ranks(metric), printed_ranks(metric, corrected=True)
        for row in uneven_rows(ranks):
            notes.append(
                f"The printed {measure_name(metric)} ranks of {ranks.index[row]} sum to "
                f"{ranks.iloc[row].sum():g} instead of 36: CPLST's, printed 3, must be 3.5. As "
                f"printed they give F_F {friedman(ranks).statistic:.3f}, with 3.5 "
                f"{friedman(corrected).statistic:.3f}; the paper prints "
                f"{PRINTED.loc[metric, 'statistic']:.3f}."
            )
    return notes


def _printed_note(printed: dict[str, pd.DataFrame]) -> str:
    """Say whether the printed statistics follow from the printed ranks."""
    gaps = {
        m: friedman(ranks).statistic - PRINTED.loc[m, "statistic"] for m, ranks in printed.items()
    }
    fits = max(map(abs, gaps.values())) <= CLOSE
    told = ", ".join(f"{measure_name(metric)} {gap:+.4f}" for metric, gap in gaps.items())
    return (
        f"The printed F_F {'follow' if fits else 'do not follow'} from the printed ranks once one "
        f"misprinted rank is put right (differences {told})."
    )


def _finding(ranks: dict[str, pd.DataFrame], title: str, n: int) -> Finding:
    """Say whether the methods differ, and of which ones GroPLE is ahead."""
    told, held = [], 0
    for metric, table in ranks.items():
        test, mean = friedman(table), table.mean()
        far = mean.index[mean - mean["GroPLE"] > nemenyi(table).critical_difference]
        held += test.rejected and bool(mean["GroPLE"] == mean.min())
        verb = "differ" if test.rejected else "do not differ"
        told.append(
            f"by {measure_name(metric)} methods {verb} (F_F {test.statistic:.2f}, critical "
            f"{test.critical:.2f}), GroPLE ahead of {', '.join(far) or 'none'} by more than CD"
        )
    sentence = f"{title.capitalize()}, over {n} data sets: {'; '.join(told)}."
    return Finding(verdict_on(held, len(ranks), n), sentence)


def _table(ranks: dict[str, pd.DataFrame], caption: str) -> Table:
    rows: list[list[Any]] = []
    for metric, table in ranks.items():
        test, pairs = friedman(table), nemenyi(table)
        statistic = Cell(test.statistic, emphasis="bold" if test.rejected else "")
        printed = float(PRINTED.loc[metric, "statistic"])
        rows.append([measure_name(metric), statistic, printed, test.critical, test.p_value,
                     pairs.critical_difference, pairs.q])  # fmt: skip
    columns = ["measure", "F_F", "F_F, the paper", "critical value", "p", "CD", "q"]
    note = "Bold: above the critical value, so the methods do not all rank alike."
    return Table(columns, rows, caption=caption, note=note, digits=4)


def _diagrams(ranks: dict[str, pd.DataFrame], source: str) -> list[Picture]:
    return [
        Picture(
            plot_critical_difference(nemenyi(table), list(table.columns)),
            picture_id("cd", source, metric),
            f"Average ranks by {measure_name(metric)}, {source}",
            f"Over {len(table)} data sets; methods joined by a bar do not differ by more than the "
            "critical difference (CD).",
            ", ".join(
                f"{method} {rank:.2f}" for method, rank in table.mean().sort_values().items()
            ),
        )
        for metric, table in ranks.items()
    ]


EXPERIMENT = Experiment(
    "statistics",
    "Statistics",
    "Do the methods differ over data sets, and which pairs of them?",
    2,
    "Friedman's test rejects that all methods rank alike (F_F 7.758, 8.810, 7.234, 4.318 against "
    "2.143), and GroPLE is ahead of the others (CD 3.1658).",
    COMPARISON.tasks,
    COMPARISON.plan,
    show,
)
