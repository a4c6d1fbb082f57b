"""The report: what became of every claim that was run, with every table and figure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from grople.pages import Cell, Page, Table, figure_svg
from grople.pages.files import write_text
from grople.study._frames import data_sets
from grople.study._planning import STUDY_DATASETS
from grople.study._store import Store
from grople.study.experiments import EXPERIMENTS, Exhibit, Finding

#: How verdicts are tinted.
SHADES = {"confirmed": 0.8, "refuted": -0.8, "partly": 0.2, "open": None}
#: Resolution of PNG files, and rows of a table from which on Markdown leaves it to the CSV file.
DPI, LONGEST = 200, 60
FUTURE = (
    "Claim 10, the paper's future work, has no experiment of its own. GroPLE has each part as an "
    "option: features that help to embed the labels (feature_weight), other groupings, dimensions "
    "for each group (group_components), the number of groups found (n_groups='auto')."
)
SOURCES = (
    "`genbase-authors` is the paper's own copy of genbase, easier copies circulate. The rcv1 "
    "subsets are as published, with labels of half their rows shifted; `-repaired` ones are not. "
    "mediamill and bookmarks are too large to be had here."
)


def write_report(store: Store, path: str | Path, *, files: bool = True) -> Path:
    """Write the page and, in a folder next to it, its tables (CSV) and figures (SVG, PNG).

    Parameters
    ----------
    store : Store
        The results.
    path : path
        The page; the files go to a folder of the same name without ``.html``. With the ending
        ``.md`` the report is Markdown, without pictures and files.
    files : bool
        Whether to write the files.

    Returns
    -------
    Path
        The folder of the files.
    """
    path, runs = Path(path), store.read()
    asked = {name for name, _ in store.plans()}
    exhibits = {
        name: experiment.show(runs) for name, experiment in EXPERIMENTS.items() if name in asked
    }
    if path.suffix == ".md":
        write_text(path, _markdown(store, runs, exhibits))
        return path.parent
    page = _page(store, runs, exhibits)
    folder = path.with_suffix("") if path.suffix else path.with_name(path.name + "_files")
    if files:
        folder.mkdir(parents=True, exist_ok=True)
        for name, exhibit in exhibits.items():
            for part, table in exhibit.tables.items():
                write_text(folder / f"{_file_name(f'{name}_{part}')}.csv", table.csv())
            for part, figure in exhibit.figures.items():
                file = folder / _file_name(part)
                svg = figure_svg(figure.drawn, file.name, standalone=True)
                write_text(file.with_suffix(".svg"), svg)
                figure.drawn.figure.savefig(file.with_suffix(".png"), dpi=DPI)
    page.write(path)
    return folder


def duration(seconds: float) -> str:
    """Return a time in the unit that people would use.

    Examples
    --------
    >>> [duration(s) for s in (0.25, 12, 600, 9000, 200_000)]
    ['0.2 s', '12 s', '10 min', '2.5 h', '2.3 days']
    """
    for limit, unit, name in ((90, 1, "s"), (5400, 60, "min"), (129_600, 3600, "h")):
        if seconds < limit:
            value = seconds / unit
            return (
                f"{value:.1f} {name}"
                if value < 10 and not value.is_integer()
                else f"{value:.0f} {name}"
            )
    return f"{seconds / 86_400:.1f} days"


def _page(store: Store, runs: pd.DataFrame, exhibits: Mapping[str, Exhibit]) -> Page:
    quick = _quick_note(store, runs)
    page = Page(
        "GroPLE: the paper, rebuilt" + (" (a quick run)" if quick else ""),
        "Every table and figure of “Group preserving label embedding for multi-label "
        "classification”, computed again, ours next to the published.",
        footer="Made by `grople study report`. This page loads nothing and works offline.",
    )
    section = page.section("summary", "Summary", "What the paper claims, and what came out here.")
    if quick:
        section.text(f"**This is a quick run.** {quick}")
    section.table(_claims_table(exhibits))
    section.text(_not_run(exhibits))
    section = page.section("data", "What was run")
    section.facts(
        [
            ("runs", len(runs), "one row each in the store"),
            ("data sets", len(data_sets(runs[runs["task"] != "cost"])), ""),
            ("methods", runs["method"].nunique(), ""),
            ("computing time", duration(float(runs["seconds"].sum())), "one run after the other"),
        ]
    )
    section.table(_data_table(runs))
    section.text(SOURCES)
    for name, exhibit in exhibits.items():
        section = page.section(name, EXPERIMENTS[name].title, EXPERIMENTS[name].question)
        for note in exhibit.notes:
            section.text(_typeset(note))
        for finding in exhibit.findings:
            section.text(f"**{finding.verdict.capitalize()}.** {_typeset(finding.sentence)}")
        for part, figure in exhibit.figures.items():
            section.figure(figure.drawn, f"figure-{_file_name(part)}", figure.caption, figure.alt)
        for table in exhibit.tables.values():
            section.table(table)
        if not exhibit.tables:
            section.text("None of its runs is finished.")
        section.text(f"To run again: `grople study run {name} --store DIR`.")
    section = page.section("provenance", "Versions")
    section.table(_versions_table(runs))
    section.text(
        "The setting of every number is in its table, or shown when its cell is pointed at; every "
        "run with its setting, seed, seconds, versions and fingerprint is a row of the store."
    )
    return page


def _quick_note(store: Store, runs: pd.DataFrame) -> str:
    """Say what a quick run leaves out; nothing where every plan is whole."""
    scopes = [scope for _, scope in store.plans() if scope["quick"]]
    if not scopes:
        return ""
    folds = runs["fold"].nunique()
    names = list(dict.fromkeys(name for scope in scopes for name in scope["datasets"]))
    return (
        f"{folds} of 5 folds, {', '.join(names)} of the paper's data sets, and every third or "
        "fourth value of the grids: it shows that everything works, and hints at the results. "
        "No hypothesis is tested on fewer than three folds or five data sets, and a claim about "
        "averages over data sets stays open."
    )


def _claims_table(exhibits: Mapping[str, Exhibit]) -> Table:
    """Return each claim that was run once, with one verdict over all its findings."""
    rows = []
    for name, exhibit in sorted(exhibits.items(), key=lambda item: EXPERIMENTS[item[0]].number):
        experiment, verdict = EXPERIMENTS[name], overall_verdict(exhibit.findings)
        told = " ".join(_typeset(finding.sentence) for finding in exhibit.findings)
        shown = Cell(verdict, emphasis="" if SHADES[verdict] else "muted", shade=SHADES[verdict])
        rows.append([experiment.number, experiment.claim, shown, told])
    note = (
        "Verdicts follow from the numbers by rules: they say what these runs show, on these data "
        "sets and folds, and no more."
    )
    return Table(["claim", "the paper", "verdict", "here"], rows, caption="Claims", note=note)


def overall_verdict(findings: Sequence[Finding]) -> str:
    """Return the verdict on a claim from those on its parts: the open ones decide nothing."""
    verdicts = {finding.verdict for finding in findings} - {"open"}
    return "open" if not verdicts else verdicts.pop() if len(verdicts) == 1 else "partly"


def _not_run(exhibits: Mapping[str, Exhibit]) -> str:
    missing = [
        f"{experiment.number} (`grople study run {name}`)"
        for name, experiment in EXPERIMENTS.items()
        if name not in exhibits
    ]
    return (f"Not run: claim {', '.join(missing)}. " if missing else "") + FUTURE


def _data_table(runs: pd.DataFrame) -> Table:
    rows = []
    for name in data_sets(runs):
        part = runs[runs["dataset"] == name]
        seconds = float(part["seconds"].sum())
        marks = ", ".join(sorted(part["fingerprint"].unique()))
        folds = part["fold"].nunique()
        rows.append([name, len(part), folds, Cell(seconds, duration(seconds)), marks])
    columns = ["data", "runs", "folds", "time", "fingerprint of data and folds"]
    absent = [name for name in STUDY_DATASETS if name not in set(runs["dataset"])]
    note = f"Not run here: {', '.join(absent)}." if absent else ""
    return Table(columns, rows, caption="Data sets", note=note)


def _versions_table(runs: pd.DataFrame) -> Table:
    counts = runs["versions"].value_counts()
    made = [json.loads(text) for text in counts.index]
    names = sorted({name for each in made for name in each})
    rows = [
        [i + 1, *(each.get(name, "") for name in names), int(count)]
        for i, (each, count) in enumerate(zip(made, counts, strict=True))
    ]
    return Table(["environment", *names, "runs"], rows, caption="Versions")


def _markdown(store: Store, runs: pd.DataFrame, exhibits: Mapping[str, Exhibit]) -> str:
    quick = _quick_note(store, runs)
    parts = ["# The paper's experiments, computed again"]
    parts += [f"**This is a quick run.** {quick}"] if quick else []
    parts += [
        f"Written by `grople study report --store DIR -o FILE.md` from a store of {len(runs):,} "
        f"runs ({duration(float(runs['seconds'].sum()))}, one after the other).",
        "## The paper's claims",
    ]
    for name, exhibit in sorted(exhibits.items(), key=lambda item: EXPERIMENTS[item[0]].number):
        experiment = EXPERIMENTS[name]
        lines = [f"{experiment.number}. *{experiment.claim}*", ""]
        lines += [f"   - **{f.verdict}.** {_typeset(f.sentence)}" for f in exhibit.findings]
        parts.append("\n".join(lines))
    parts.append(_not_run(exhibits))
    for name, exhibit in exhibits.items():
        parts += [f"## {EXPERIMENTS[name].title}", EXPERIMENTS[name].question]
        parts += [f"- {_typeset(note)}" for note in exhibit.notes]
        for table in exhibit.tables.values():
            if len(table.rows) <= LONGEST:
                parts += [f"**{table.caption}**", table.markdown(), table.note]
    return "\n\n".join(filter(None, parts)) + "\n"


def _typeset(text: str) -> str:
    """Return a sentence with minus signs where numbers have hyphens (but not in 1e-4)."""
    return re.sub(r"(?<![\w.])-(?=\.?\d)", "−", text)


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
