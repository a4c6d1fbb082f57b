"""``grople inspect``: what a model learnt, as a page or on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from grople.cli import options as o
from grople.cli.console import emit, progress, size_of
from grople.inspection import (
    Cell,
    Table,
    inspect_model,
    label_parts,
    model_page,
    plain_text,
    summary_parts,
    write_text,
)
from grople.io import read_model

__all__ = ["EXAMPLES", "inspect"]

EXAMPLES = """\b
Examples:
  grople inspect tags.grople
  grople inspect tags.grople -o model.html
  grople inspect tags.grople --label use::editing
  grople inspect tags.grople --size
  grople inspect tags.grople --json | jq '.groups[0].labels'
"""
#: What the parts of a model file hold, by the beginning of the names of their arrays.
PARTS = {
    "fitted.scorer": "maps from features to scores",
    "fitted.decision.reranker": "re-ranker",
    "fitted.decision.copies": "labels of rows that repeat each other",
    "fitted.decision": "calibration and thresholds",
    "fitted.evidence": "counts of held-out scores",
    "fitted.outline": "counts of labels and spread of features",
    "fitted": "groups and what the solvers reported",
    "summary": "rows and moments, to add and remove rows",
    "features": "names of features and how records become rows",
    "targets": "names of labels",
}


def inspect(
    model: o.Model,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The page to write (HTML)."),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="NAME", help="Show this label (may be repeated)."),
    ] = None,
    size: Annotated[bool, typer.Option("--size", help="Show where the bytes are.")] = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Show what a model learnt: groups, labels, the features behind them, and how good it is.

    With -o, one self-contained HTML page with a map of the labels, a search box and figures; it
    works offline. Without, a summary on the terminal.
    """
    if output is not None:
        o.check_target(output, model)
    with progress(quiet or json) as report:
        report("reading", 0, 3)
        saved = read_model(model, with_rows=False)
        report("looking into the model", 1, 3)
        names = None if saved.features is None else list(saved.features.names)
        notes = saved.header["notes"]
        quality = notes.get("quality") if isinstance(notes, dict) else None
        seen = inspect_model(saved.model, names, comparison=quality)
        numbers = [seen.number_of(name) for name in label or []]
        if output is not None:
            report("drawing the page", 2, 3)
            write_text(output, model_page(seen, title=model.stem))
    sizes = saved.header["sizes"]
    found = seen.to_dict() | ({"sizes": sizes} if size else {})
    if numbers:
        found["labels"] = [found["labels"][i] for i in numbers]

    def show(console: Console) -> None:
        if size:
            console.print(_size_table(sizes))
        for number in numbers:
            show_parts(label_parts(seen, number), console)
        if output is not None:
            console.print(f"wrote {output} ({size_of(output)})", soft_wrap=True)
        elif not (size or numbers):
            console.print(f"{seen.kind}: {seen.summary}\n", style="bold")
            show_parts(summary_parts(seen), console)
            console.print("a page with all of it: grople inspect MODEL -o model.html", style="dim")

    emit(found, show, json=json, quiet=quiet)


def show_parts(parts: Sequence[str | Table], console: Console) -> None:
    """Print sentences and tables, with room between them."""
    for part in parts:
        console.print(plain_text(part) if isinstance(part, str) else part)
        console.print()


def _size_table(sizes: dict[str, Any]) -> Table:
    """Return which part of a model file takes how many bytes, the largest first."""
    taken: dict[str, int] = {}
    for name, count in sizes["array_bytes"].items():
        # The longest beginning that fits: the parts are listed in that order.
        part = next((what for start, what in PARTS.items() if name.startswith(start)), "all else")
        taken[part] = taken.get(part, 0) + count
    taken["names, parameters and checksums"] = sizes["bytes"] - sum(taken.values())
    rows = [
        [part, Cell(count, f"{count / 1e3:,.0f} kB"), Cell("", bar=count / sizes["bytes"])]
        for part, count in sorted(taken.items(), key=lambda item: -item[1])
    ]
    return Table(["part", "size", ""], rows, f"{sizes['bytes'] / 1e6:.2f} MB in all")
