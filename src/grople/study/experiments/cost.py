"""Time and memory of each stage as the data grow, beside the paper's complexity analysis."""

from __future__ import annotations

from typing import Any

from grople.pages import Cell, Table
from grople.study.costs import exponent
from grople.study.experiments.base import Exhibit, Experiment, Figure, Finding, Options
from grople.study.figures import plot_lines
from grople.study.store import Row, Store
from grople.study.units import Batch

__all__ = ["EXPERIMENT"]

#: Around this size one dimension grows at a time.
BASE = {"n_rows": 4000, "n_features": 400, "n_labels": 200, "n_components": 50}
QUICK_BASE = {"n_rows": 1000, "n_features": 150, "n_labels": 80, "n_components": 20}
FACTORS, QUICK_FACTORS = (1, 2, 4, 8), (1, 2, 4)
LETTERS = {"n_rows": "N", "n_features": "D", "n_labels": "L", "n_components": "d"}
STAGES = ("moments", "groups", "embedding", "mapping")
#: By how much a measured exponent may exceed a leading term: timings are noisy.
SLACK = 0.3
#: Exponents of the leading terms of the paper's analysis (its stages work on rows).
PAPER = {
    "moments": {"N": 1, "D": 2, "L": 1, "d": 0},
    "groups": {"N": 1, "D": 0, "L": 3, "d": 0},
    "embedding": {"N": 1, "D": 0, "L": 1, "d": 3},
    "mapping": {"N": 1, "D": 3, "L": 0, "d": 1},
}


def plan(options: Options) -> list[Batch]:
    """Return made data that grow in one dimension at a time."""
    base, factors = (QUICK_BASE, QUICK_FACTORS) if options.quick else (BASE, FACTORS)
    settings = {tuple(base.items()): base}
    for name, value in base.items():
        for factor in factors:
            # d cannot exceed L.
            grown = base | {name: value * factor}
            grown["n_components"] = min(grown["n_components"], grown["n_labels"])
            settings[tuple(grown.items())] = grown
    # One batch each: measured one after the other, on a machine that is quiet.
    return [
        Batch("cost", "made", "GroPLE", 0, "made", (setting,), options.seed)
        for setting in settings.values()
    ]


def show(store: Store) -> Exhibit:
    """Return seconds, memory and exponents of each stage, and what became of claim 9."""
    rows = store.rows(task="cost")
    lines = _lines(rows)
    if not lines:
        return Exhibit()
    table, figures = [], []
    told: list[str] = []
    above: list[str] = []
    for letter, (sizes, part) in lines.items():
        series = {s: [row.result[f"{s}_seconds"] for row in part] for s in STAGES}
        for stage in STAGES:
            found = exponent(sizes, series[stage])
            memory = exponent(sizes, [row.result[f"{stage}_megabytes"] for row in part])
            theirs = PAPER[stage][letter]
            table.append(
                [letter, stage, Cell(found, f"{found:.2f}"), theirs, Cell(memory, f"{memory:.2f}"),
                 part[-1].result[f"{stage}_seconds"], part[-1].result[f"{stage}_megabytes"]]
            )  # fmt: skip
            if found > theirs + SLACK:
                above.append(f"{stage} in {letter} {found:.2f}")
            if letter == "N" and stage != "moments":
                told.append(f"{stage} {found:.2f}")
        figures.append(_figure(letter, sizes, series))
    columns = ["grows", "stage", "exponent", "paper's leading term", "of memory",
               "seconds at the largest", "megabytes at the largest"]  # fmt: skip
    note = (
        "Exponents by least squares of logarithms; at small sizes fixed costs flatten them. The "
        "paper's stages work on rows and so grow with N; here only the moments do."
    )
    finding = Finding(
        9,
        "refuted" if above else "confirmed",
        f"As an upper bound: of {len(table)} exponents {len(above)} exceed the paper's leading "
        f"term by more than {SLACK:g}{': ' + ', '.join(above) if above else ''}. Once the moments "
        "are there the stages work without the rows: as N grows their exponents are "
        f"{', '.join(told)}, where the paper's terms are linear.",
    )
    tables = [("exponents", Table(columns, table, caption="Growth of time and memory", note=note))]
    return Exhibit((), tables, figures, [finding])


def _lines(rows: list[Row]) -> dict[str, tuple[list[float], list[Row]]]:
    """Return for each dimension the units that differ in it alone, of the largest base run."""
    found: dict[str, tuple[list[float], list[Row]]] = {}
    for base in (BASE, QUICK_BASE):
        for name, letter in LETTERS.items():
            rest = {key: value for key, value in base.items() if key != name}
            part = [r for r in rows if all(r.setting[key] == v for key, v in rest.items())]
            part.sort(key=lambda row: row.setting[name])
            if len(part) > 1 and letter not in found:
                found[letter] = [row.setting[name] for row in part], part
    return found


def _figure(letter: str, sizes: list[float], series: dict[str, Any]) -> Figure:
    told = "; ".join(f"{s} grows with exponent {exponent(sizes, v):.2f}" for s, v in series.items())
    return Figure(
        f"cost_{letter}",
        lambda: plot_lines(sizes, series, (letter, "seconds"), f"{letter} grows", logarithmic=True),
        f"Processor seconds of each stage as {letter} grows.",
        told,
    )


EXPERIMENT = Experiment(
    "cost",
    "Cost",
    "How do time and memory grow, and is that what the paper's analysis says?",
    plan,
    show,
)
