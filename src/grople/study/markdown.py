"""The report as Markdown: the summary and the tables, for a place that keeps text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from grople.pages import Cell, Table
from grople.study.claims import CLAIMS, unanswered
from grople.study.experiments import EXPERIMENTS, Exhibit
from grople.study.store import Store

__all__ = ["study_markdown"]

#: Longer tables are left to the CSV files.
LONGEST = 60


def study_markdown(store: Store, exhibits: Mapping[str, Exhibit]) -> str:
    """Return what the report says, without its pictures and its longest tables.

    Parameters
    ----------
    store : Store
        The results.
    exhibits : dict
        What each experiment shows.
    """
    parts = ["# The paper's experiments, computed again", _preamble(store)]
    parts += ["## The paper's claims", *_claims(exhibits)]
    for name, exhibit in exhibits.items():
        if not exhibit.tables:
            parts += [f"## {EXPERIMENTS[name].title}", "Not run."]
            continue
        parts += [f"## {EXPERIMENTS[name].title}", EXPERIMENTS[name].question]
        parts += [f"- {note}" for note in exhibit.notes]
        for _, table in exhibit.tables:
            if len(table.rows) <= LONGEST:
                parts += [f"**{table.caption}**", _merged(table).markdown(), table.note]
    return "\n\n".join(filter(None, parts)) + "\n"


def _preamble(store: Store) -> str:
    rows = store.rows()
    hours = sum(row.seconds for row in rows) / 3600
    made = sorted({f"{r.environment['grople']}, code {r.environment['code']}" for r in rows})
    lines = [
        "Written by `grople study report --store DIR -o FILE.md` from a store of "
        f"{len(rows):,} units ({hours:.1f} hours, one unit after the other)."
    ]
    commands = store.commands()
    lines += ["", *(f"    {command}" for command in commands)] if commands else []
    return "\n".join([*lines, "", f"grople {'; '.join(made)}."])


def _claims(exhibits: Mapping[str, Exhibit]) -> list[str]:
    found = []
    for number, claim, name in CLAIMS:
        findings = [f for e in exhibits.values() for f in e.findings if f.claim == number]
        found.append(f"{number}. *{claim}*")
        found += [f"   - **{each.verdict}.** {each.sentence}" for each in findings]
        if not findings:
            found.append(f"   - **open.** {unanswered(name)}")
    return found


def _merged(table: Table) -> Table:
    """Put the paper's cells in brackets behind ours, and leave the differences out."""
    names = list(table.columns)
    beside = {i: names.index(f"{n}, paper") for i, n in enumerate(names) if f"{n}, paper" in names}
    if not beside:
        return table
    kept = [i for i, name in enumerate(names) if not re.search(", paper$| − paper$", name)]

    def cells(row: Sequence[Any]) -> list[Any]:
        return [_with_paper(row[i], row[beside[i]]) if i in beside else row[i] for i in kept]

    caption = f"{table.caption}; in brackets the paper's"
    return Table([names[i] for i in kept], [cells(row) for row in table.rows], caption, table.note)


def _with_paper(ours: Any, paper: Any) -> Any:
    shown, theirs = (c if isinstance(c, Cell) else Cell(c) for c in (ours, paper))
    text = shown.shown() if theirs.value is None else f"{shown.shown()} [{theirs.shown()}]"
    return Cell(text, emphasis=shown.emphasis)
