"""The report: what became of every claim that was run, with every table and figure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from grople.inspection import Cell, Facts, Part, Section, Table, figure_svg, render_page, write_text
from grople.study._experiment import Exhibit, Finding
from grople.study._frames import data_sets
from grople.study._planning import STUDY_DATASETS
from grople.study._store import Store
from grople.study._tables import picture_id
from grople.study.experiments import EXPERIMENTS

TITLE = "GroPLE: the paper, rebuilt"
SUBTITLE = (
    "Every table and figure of “Group preserving label embedding for multi-label classification”, "
    "computed again, ours next to the published."
)
FOOTER = "Made by `grople study report`. This page loads nothing and works offline."
#: How verdicts are tinted.
SHADES = {"confirmed": 0.8, "refuted": -0.8, "partly": 0.2, "open": None}
#: Resolution of PNG files.
DPI = 120
FUTURE = (
    "Claim 10, the paper's future work, has no experiment of its own. GroPLE has each part as an "
    "option: features that help to embed the labels (`feature_weight`), other groupings, "
    "dimensions for each group (`group_components`), the number of groups found "
    "(`n_groups='auto'`)."
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
    quick = _quick_note(store, runs)
    title = f"{TITLE} (a quick run)" if quick else TITLE
    sections = list(_sections(runs, exhibits, quick))
    if path.suffix == ".md":
        write_text(path, _markdown(title, sections))
        return path.parent
    write_text(path, render_page(title, sections, subtitle=SUBTITLE, footer=FOOTER))
    folder = path.with_suffix("") if path.suffix else path.with_name(path.name + "_files")
    if files:
        folder.mkdir(parents=True, exist_ok=True)
        for name, exhibit in exhibits.items():
            for part, table in exhibit.tables.items():
                write_text(folder / f"{picture_id(name, part)}.csv", table.csv())
            for picture in exhibit.pictures:
                svg = figure_svg(picture.drawn, picture.id, standalone=True)
                write_text(folder / f"{picture.id}.svg", svg)
                picture.drawn.figure.savefig(folder / f"{picture.id}.png", dpi=DPI)
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
            digits = 1 if value < 10 and not float(value).is_integer() else 0
            return f"{value:.{digits}f} {name}"
    return f"{seconds / 86_400:.1f} days"


def _quick_note(store: Store, runs: pd.DataFrame) -> str:
    """Say what a quick run leaves out; nothing where every plan is whole."""
    scopes = [scope for _, scope in store.plans() if scope["quick"]]
    if not scopes:
        return ""
    names = list(dict.fromkeys(name for scope in scopes for name in scope["datasets"]))
    return (
        f"**This is a quick run:** {runs['fold'].nunique()} of 5 folds, {', '.join(names)}, and "
        "every third or fourth value of the grids. It shows that everything works, and hints at "
        "the results. No hypothesis is tested on fewer than three folds or five data sets, and a "
        "claim about averages over data sets stays open."
    )


def _sections(runs: pd.DataFrame, exhibits: Mapping[str, Exhibit], quick: str) -> Iterator[Section]:
    """Yield what the report says, whatever it is written as."""
    summary: list[Part] = [quick] if quick else []
    summary += [_claims_table(exhibits), _not_run(exhibits)]
    yield Section("summary", "Summary", summary, "What the paper claims, and what came out here.")
    facts = [
        ("runs", len(runs), "one row each in the store"),
        ("data sets", len(data_sets(runs[runs["task"] != "cost"])), ""),
        ("methods", runs["method"].nunique(), ""),
        ("computing time", duration(float(runs["seconds"].sum())), "one run after the other"),
    ]
    yield Section("data", "What was run", [Facts(facts), _data_table(runs), SOURCES])
    for name, exhibit in exhibits.items():
        parts: list[Part] = [_typeset(note) for note in exhibit.notes]
        parts += [f"**{f.verdict.capitalize()}.** {_typeset(f.sentence)}" for f in exhibit.findings]
        parts += exhibit.pictures
        parts += exhibit.tables.values()
        parts.append(f"To run again: `grople study run {name} --store DIR`.")
        yield Section(name, EXPERIMENTS[name].title, parts, EXPERIMENTS[name].question)
    told = (
        "The setting of every number is shown when its cell is pointed at; every run with its "
        "setting, seed, seconds, versions and fingerprint is a row of the store."
    )
    yield Section("provenance", "Versions", [_versions_table(runs), told])


def _claims_table(exhibits: Mapping[str, Exhibit]) -> Table:
    """Return each claim that was run once, with one verdict over all its findings."""
    rows = []
    for name in sorted(exhibits, key=lambda name: EXPERIMENTS[name].number):
        experiment, findings = EXPERIMENTS[name], exhibits[name].findings
        verdict = overall_verdict(findings)
        shown = Cell(verdict, emphasis="" if SHADES[verdict] else "muted", shade=SHADES[verdict])
        told = " ".join(_typeset(finding.sentence) for finding in findings)
        rows.append([str(experiment.number), experiment.claim, shown, told])
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
        [*(each.get(name, "") for name in names), int(count)]
        for each, count in zip(made, counts, strict=True)
    ]
    return Table([*names, "runs"], rows, caption="What the runs were computed with")


def _markdown(title: str, sections: Sequence[Section]) -> str:
    parts = [f"# {title}", SUBTITLE]
    for section in sections:
        parts += [f"## {section.title}", section.intro]
        for part in section.parts:
            if isinstance(part, Table):
                parts += [f"**{part.caption}**", part.markdown(), part.note]
            elif isinstance(part, str):
                parts.append(part)
    return "\n\n".join(filter(None, parts)) + "\n"


def _typeset(text: str) -> str:
    """Return a sentence with minus signs where numbers have hyphens (but not in 1e-4)."""
    return re.sub(r"(?<![\w.])-(?=\.?\d)", "−", text)
