"""The page of the documentation, from what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import table
from benchmarks.__main__ import machine
from benchmarks.peers import harness, picture, tables
from benchmarks.peers.splits import DATA, stored_split
from benchmarks.peers.table import COMPETITORS, ENVIRONMENTS, ROOT

__all__ = ["write"]

PAGE = ROOT / "docs" / "peers.md"
PICTURE = ROOT / "docs" / "images" / "peers.png"
TEMPLATE = Path(__file__).with_name("page.md")
#: Data sets of the detailed comparison.
COMPARED = ("corel5k", "rcv1subset1-repaired", "bibtex", "delicious", "debian")


def write() -> None:
    """Write the page and its picture."""
    found = harness.records()
    data = [name for name in DATA if any(key[1] == name for key in found)]
    compared = [name for name in COMPARED if name in data]
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    picture.draw(found, compared, PICTURE)
    PAGE.write_text(
        TEMPLATE.read_text(encoding="utf-8").format(
            count=sum(not name.startswith("grople") for name in COMPETITORS),
            limit=harness.LIMIT,
            machine=machine(),
            bootstrap=tables.bootstrap_table(found, compared),
            goals=tables.goal_table(found, data),
            tables="\n\n".join(section(found, name) for name in data),
            failures=failures(found, data),
            settings=settings(),
        ),
        encoding="utf-8",
    )


def section(found: tables.Records, name: str) -> str:
    """Return a data set's table under its heading."""
    split = stored_split(name)
    n_train, n_test, n_features, n_labels = split.shape
    return (
        f"### {name}\n\n{n_train:,} rows to learn from, {n_test:,} to test; {n_features:,} "
        f"features, {n_labels:,} labels; split {split.fingerprint}.\n\n"
        f"{tables.data_table(found, name)}"
    )


def failures(found: tables.Records, data: list[str]) -> str:
    """Return which competitors have no result, where and why."""
    rows = [
        [COMPETITORS[name].what, dataset, happened(record), record["reason"]]
        for name in COMPETITORS
        for dataset in data
        if (record := found.get((name, dataset))) and record["status"] != "ok"
    ]
    missing = {
        name: [dataset for dataset in data if (name, dataset) not in found] for name in COMPETITORS
    }
    rows += [
        [COMPETITORS[name].what, ", ".join(sets), "not measured", "left out for time"]
        for name, sets in missing.items()
        if sets
    ]
    return table(["method", "data", "what happened", "why"], rows) if rows else "Everything ran."


def happened(record: Mapping[str, Any]) -> str:
    """Return how a run ended, with its limit where that ended it."""
    over = record["status"] == "over the limit"
    return f"{record['status']}, {record['limit']:g} s" if over else str(record["status"])


def settings() -> str:
    """Return the pinned packages of each competitor."""
    rows = []
    for name, competitor in COMPETITORS.items():
        environment = ENVIRONMENTS[competitor.environment]
        pins = [*environment.packages, *(f"{package} (alone)" for package in environment.bare)]
        if environment.tree:
            pins.append("the working tree")
        rows.append([name, competitor.what, ", ".join(pins)])
    return table(["name", "method", "packages"], rows)
