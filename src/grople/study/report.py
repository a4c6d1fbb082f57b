"""The report: every table and figure of a store on one page, and as files beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grople.pages import Cell, Page, Table, figure_svg
from grople.pages.files import write_text
from grople.study.claims import CLAIMS, unanswered
from grople.study.experiments import EXPERIMENTS, Exhibit, Figure
from grople.study.markdown import study_markdown
from grople.study.reading import data_order
from grople.study.store import Store

__all__ = ["study_page", "write_report"]

#: How verdicts are written, and how they are tinted.
VERDICTS = {"confirmed": 0.8, "refuted": -0.8, "partly": 0.2, "open": 0.0}
#: Resolution of PNG files.
DPI = 200


def study_page(store: Store) -> tuple[Page, Mapping[str, Exhibit]]:
    """Return the page of a store, and what each experiment shows.

    Parameters
    ----------
    store : Store
        The results.
    """
    exhibits = {name: experiment.show(store) for name, experiment in EXPERIMENTS.items()}
    page = Page(
        "GroPLE: the paper, rebuilt",
        "Every table and figure of “Group preserving label embedding for multi-label "
        "classification”, computed again, ours beside the published.",
        footer="Made by `grople study report`. This page loads nothing and works offline.",
    )
    _summary(page, exhibits)
    _facts(page, store)
    for name, exhibit in exhibits.items():
        _section(page, name, exhibit)
    _provenance(page, store)
    return page, exhibits


def write_report(store: Store, path: str | Path, *, files: bool = True) -> Path:
    """Write the page and, in a folder beside it, its tables (CSV, LaTeX) and figures (SVG, PNG).

    Parameters
    ----------
    store : Store
        The results.
    path : path
        The page; the files go to a folder of the same name without ``.html``. With the ending
        ``.md`` the summary and the tables as Markdown, and no files.
    files : bool
        Whether to write the files.

    Returns
    -------
    Path
        The folder of the files.
    """
    path = Path(path)
    if path.suffix == ".md":  # no picture needs to be drawn
        shown = {name: experiment.show(store) for name, experiment in EXPERIMENTS.items()}
        write_text(path, study_markdown(store, shown))
        return path.parent
    page, exhibits = study_page(store)
    folder = path.with_suffix("") if path.suffix else path.with_name(path.name + "_files")
    if files:
        folder.mkdir(parents=True, exist_ok=True)
        for name, exhibit in exhibits.items():
            for part, table in exhibit.tables:
                table.to_csv(folder / f"{name}_{_file_name(part)}.csv")
                table.to_latex(folder / f"{name}_{_file_name(part)}.tex")
            for figure in exhibit.figures:
                _write_figure(figure, folder)
        summary = "\n".join(_summary_lines(exhibits))
        write_text(folder / "summary.txt", summary + "\n")
    page.write(path)
    return folder


def _write_figure(figure: Figure, folder: Path) -> None:
    name = _file_name(figure.name)
    write_text(folder / f"{name}.svg", figure_svg(figure.drawn, name, standalone=True))
    figure.drawn.figure.savefig(folder / f"{name}.png", dpi=DPI, metadata={"Software": None})


def _summary(page: Page, exhibits: Mapping[str, Exhibit]) -> None:
    section = page.section("summary", "Summary", "What the paper claims, and what came out here.")
    rows = []
    for number, claim, name in CLAIMS:
        findings = [f for e in exhibits.values() for f in e.findings if f.claim == number]
        if not findings:
            rows.append([number, claim, Cell("open", emphasis="muted"), unanswered(name)])
        for i, finding in enumerate(findings):
            verdict = Cell(finding.verdict, shade=VERDICTS[finding.verdict] or None)
            told = Cell(claim, emphasis="muted" if i else "")
            rows.append([number, told, verdict, _typeset(finding.sentence)])
    section.table(Table(["claim", "the paper", "verdict", "here"], rows, caption="Claims"))
    notes = [note for name in ("comparison", "approximation") for note in exhibits[name].notes]
    if notes:
        section.text("\n".join(f"- {_typeset(note)}" for note in notes))
    section.text(
        "Verdicts follow from the numbers by rules: they say what these runs show, on the data "
        "sets and folds below, and no more."
    )


def _summary_lines(exhibits: Mapping[str, Exhibit]) -> list[str]:
    lines = []
    for number, claim, name in CLAIMS:
        lines.append(f"{number}. {claim}")
        findings = [f for e in exhibits.values() for f in e.findings if f.claim == number]
        lines += [f"   {f.verdict}: {f.sentence}" for f in findings]
        lines += [] if findings else [f"   open: {unanswered(name)}"]
    for exhibit in exhibits.values():
        lines += [f"* {note}" for note in exhibit.notes]
    return lines


def _facts(page: Page, store: Store) -> None:
    rows = store.rows()
    section = page.section("data", "What was run")
    hours = sum(row.seconds for row in rows) / 3600
    section.facts(
        [
            ("units of work", len(rows), "one row a unit in the store"),
            ("data sets", len({row.dataset for row in rows if row.task != "cost"}), ""),
            ("methods", len({row.method for row in rows}), ""),
            ("hours of computing", round(hours, 2), "one unit after the other"),
        ]
    )
    counts: list[list[Any]] = []
    for dataset in data_order(row.dataset for row in rows):
        part = [row for row in rows if row.dataset == dataset]
        folds = len({row.fold for row in part})
        marks = ", ".join(sorted({row.fingerprint for row in part}))
        seconds = sum(row.seconds for row in part)
        counts.append([dataset, len(part), folds, Cell(seconds, f"{seconds:,.0f}"), marks])
    columns = ["data", "units", "folds", "seconds", "fingerprint of data and folds"]
    section.table(Table(columns, counts, caption="Data sets"))
    absent = [name for name in PAPER_DATASETS if name not in {row.dataset for row in rows}]
    if absent:
        section.text(f"Not run here: {', '.join(absent)}.")
    section.text(
        "`genbase-authors` is the paper's own copy of genbase, easier copies circulate. The rcv1 "
        "subsets are as published, with labels of half their rows shifted; `-repaired` ones are "
        "not. mediamill and bookmarks are too large to be had here."
    )


PAPER_DATASETS = (
    "genbase-authors", "medical", "CAL500", "corel5k", "rcv1subset1", "rcv1subset2",
    "rcv1subset3", "bibtex", "corel16k001", "delicious", "mediamill", "bookmarks",
)  # fmt: skip


def _section(page: Page, name: str, exhibit: Exhibit) -> None:
    experiment = EXPERIMENTS[name]
    section = page.section(name, experiment.title, experiment.question)
    if not exhibit.tables and not exhibit.figures:
        section.text(f"Not run yet: `grople study run {name} --store DIR`.")
        return
    for note in exhibit.notes:
        section.text(_typeset(note))
    for finding in exhibit.findings:
        told = _typeset(finding.sentence)
        section.text(f"**Claim {finding.claim}, {finding.verdict}.** {told}")
    for figure in exhibit.figures:
        id = f"figure-{_file_name(figure.name)}"
        section.figure(figure.drawn, id, figure.caption, figure.alt)
    for _, table in exhibit.tables:
        section.table(table)
    section.text(f"To run again: `grople study run {name} --store DIR`.")


def _provenance(page: Page, store: Store) -> None:
    section = page.section("provenance", "Settings and versions")
    rows = store.rows()
    made = {json.dumps(row.environment, sort_keys=True): row.environment for row in rows}
    names = sorted({name for each in made.values() for name in each})
    table = [
        [i + 1, *(each.get(name, "") for name in names), n]
        for i, (text, each) in enumerate(made.items())
        for n in [sum(json.dumps(r.environment, sort_keys=True) == text for r in rows)]
    ]
    section.table(Table(["environment", *names, "units"], table, caption="Versions"))
    if len(made) > 1:
        section.text("Units of several environments are mixed; `grople study run` keeps them all.")
    section.text(
        "The setting of every number is in its table, or shown when its cell is pointed at; every "
        "unit with its setting, seed, seconds, versions and fingerprint is a row of "
        "`results.sqlite`."
    )
    failures = store.failures()
    if failures:
        section.table(
            Table(["what", "why"], [list(each) for each in failures], caption="What failed")
        )
    section.text("Commands:")
    lines = store.commands() or ["grople study run all --store DIR"]
    lines += ["grople study report --store DIR -o report.html"]
    section.text("\n".join(f"- `{line}`" for line in lines))


def _typeset(text: str) -> str:
    """Return a sentence with minus signs where numbers have hyphens (but not in 1e-4)."""
    return re.sub(r"(?<![\w.])-(?=\.?\d)", "−", text)


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")


def missing_data(names: Sequence[str]) -> str:
    """Return a sentence about the data sets that are not on this machine."""
    return (
        f"not on this machine, and left out: {', '.join(names)}. Set GROPLE_DATA to the folder "
        "that holds them, or fetch them with `grople data fetch NAME`."
    )
