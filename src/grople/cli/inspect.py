"""``grople inspect``: what a model learnt, as a page or on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from grople.cli import options as o
from grople.cli.console import make_console, print_json, progress

if TYPE_CHECKING:
    from grople.inspection import ModelReport, Table

__all__ = ["EXAMPLES", "inspect"]

EXAMPLES = """\b
Examples:
  grople inspect tags.grople
  grople inspect tags.grople -o model.html
  grople inspect tags.grople --label use::editing
  grople inspect tags.grople --size
  grople inspect tags.grople --json | jq '.groups[0].labels'
"""
#: Groups and labels shown.
SHOWN_GROUPS, SHOWN_FREQUENT, SHOWN_HARD = 40, 10, 5
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
        from grople.inspection import inspect_model, label_tables, model_page, write_text
        from grople.io import read_model

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
    if json:
        found = seen.to_dict() | ({"sizes": sizes} if size else {})
        if numbers:
            found["labels"] = [found["labels"][i] for i in numbers]
        print_json(found)
        return
    if quiet:
        return
    console = make_console()
    for number in numbers:
        for table in label_tables(seen, number):
            console.print(table)
        console.print()
    if size:
        console.print(_size_table(sizes))
    elif output is None and not numbers:
        _show_summary(seen, console)
    if output is not None:
        console.print(f"wrote {output}, {output.stat().st_size / 1e6:.1f} MB", soft_wrap=True)


def _show_summary(seen: ModelReport, console: Console) -> None:
    from grople.inspection import (
        expert_table,
        frequent_labels,
        group_table,
        hard_labels,
        label_table,
        measures_table,
        plain_text,
        quality_words,
        rare_label_words,
    )

    console.print(f"{seen.kind}: {seen.summary}", style="bold")
    for words in (quality_words(seen), rare_label_words(seen)):
        if words:
            console.print(f"\n{plain_text(words)}")
    if seen.cross_validated:
        console.print()
        console.print(measures_table(seen.cross_validated, "cross-validated when it was fitted"))
    if seen.experts:
        console.print()
        console.print(expert_table(seen))
    if seen.groups:
        console.print()
        console.print(group_table(seen, SHOWN_GROUPS))
    if seen.frequencies is not None:
        for labels, caption in (
            (frequent_labels(seen, SHOWN_FREQUENT), "the most frequent labels"),
            (hard_labels(seen, SHOWN_HARD), "the hardest labels, of those on 20 rows or more"),
        ):
            if len(labels):
                console.print()
                console.print(label_table(seen, labels, caption))
    console.print("\na page with all of it: grople inspect MODEL -o model.html", style="dim")


def _size_table(sizes: dict[str, Any]) -> Table:
    """Return which part of a model file takes how many bytes, the largest first."""
    from grople.inspection import Cell, Table

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
