"""``grople inspect``: what a model learnt, as a page or on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grople.cli import options as o
from grople.cli.console import bar_character, make_console, print_json, progress

if TYPE_CHECKING:
    from grople.inspection import Inspection

__all__ = ["EXAMPLES", "inspect"]

EXAMPLES = """\b
Examples:
  grople inspect tags.grople
  grople inspect tags.grople -o model.html
  grople inspect tags.grople --label use::editing
  grople inspect tags.grople --json | jq '.groups[0].labels'
"""
#: Labels shown of a group, groups shown, and labels in the list of the hardest.
SHOWN_LABELS, SHOWN_GROUPS, SHOWN_HARD = 5, 40, 5
#: Rows that a label must have to be called hard.
ENOUGH_ROWS = 20
BAR_WIDTH = 24


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
        from grople.inspection import inspect_model
        from grople.io import read_model

        saved = read_model(model, with_rows=False)
        report("looking into the model", 1, 3)
        names = None if saved.features is None else list(saved.features.names)
        seen = inspect_model(saved.model, names)
        numbers = [seen.number_of(name) for name in label or []]
        if output is not None:
            report("drawing the page", 2, 3)
            from grople.model_page import inspect_page

            inspect_page(seen, title=model.stem).write(output)
    if json:
        found = seen.to_dict()
        if numbers:
            found["labels"] = [found["labels"][i] for i in numbers]
        print_json(found)
        return
    if quiet:
        return
    console = make_console()
    if numbers:
        for number in numbers:
            _show_label(seen, number, console)
    elif output is None:
        _show_summary(seen, console)
    if output is not None:
        console.print(f"wrote {output}, {output.stat().st_size / 1e6:.1f} MB", soft_wrap=True)


def _show_summary(seen: Inspection, console: Console) -> None:
    rows = "" if seen.n_rows is None else f" from {seen.n_rows:,.0f} rows"
    console.print(
        Text.assemble(
            (f"{seen.kind}", "bold"),
            f": {seen.n_labels:,} labels, {len(seen.feature_names):,} features, learnt{rows}",
        )
    )
    if seen.quality is not None and np.isfinite(seen.quality.average_precision).any():
        source = "on held-out rows" if seen.held_out else "as the moments imply"
        console.print(
            f"average precision (AP) {np.nanmean(seen.quality.average_precision):.3f}, "
            f"AUC {np.nanmean(seen.quality.auc):.3f}: means over labels, {source}"
        )
    if seen.groups:
        console.print(f"\n{len(seen.groups)} groups of labels, most frequent labels first")
        console.print(_group_table(seen))
        if len(seen.groups) > SHOWN_GROUPS:
            console.print(f"and {len(seen.groups) - SHOWN_GROUPS} smaller groups", style="dim")
    _show_labels(seen, console)
    console.print("\na page with all of it: grople inspect MODEL -o model.html", style="dim")


def _group_table(seen: Inspection) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("group", justify="right", style="dim")
    table.add_column("size", justify="right", style="bold")
    table.add_column("labels", overflow="fold")
    for group in seen.groups[:SHOWN_GROUPS]:
        shown = ", ".join(seen.label_names[i] for i in group.labels[:SHOWN_LABELS])
        more = len(group.labels) - SHOWN_LABELS
        rest = (f", and {more} more" if more > 0 else "", "dim")
        table.add_row(str(group.number), str(len(group.labels)), Text.assemble(shown, rest))
    return table


def _show_labels(seen: Inspection, console: Console) -> None:
    """Print the most frequent labels with the features that speak for them, and the hardest."""
    if seen.frequencies is None:
        return
    counts = np.asarray(seen.frequencies)
    frequent = np.argsort(-counts, kind="stable")[: 2 * SHOWN_HARD]
    console.print("\nmost frequent labels")
    console.print(_label_table(seen, frequent))
    if seen.quality is None:
        return
    precision = seen.quality.average_precision
    known = np.flatnonzero((counts >= ENOUGH_ROWS) & np.isfinite(precision))
    hard = known[np.argsort(precision[known], kind="stable")[:SHOWN_HARD]]
    if len(hard):
        console.print(f"\nhardest labels, of those on {ENOUGH_ROWS} rows or more")
        console.print(_label_table(seen, hard))


def _label_table(seen: Inspection, numbers: np.ndarray) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("label", overflow="ellipsis", no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("AP", justify="right", no_wrap=True)
    table.add_column("features that speak for it", overflow="ellipsis", no_wrap=True)
    for i in numbers:
        quality = "–" if seen.quality is None else f"{seen.quality.average_precision[i]:.3f}"
        speak = [
            seen.feature_names[j]
            for j, effect in zip(seen.top_features[i], seen.feature_effects[i], strict=True)
            if effect > 0
        ]
        rows = 0 if seen.frequencies is None else seen.frequencies[i]
        table.add_row(seen.label_names[i], f"{rows:,.0f}", quality, ", ".join(speak[:SHOWN_LABELS]))
    return table


def _show_label(seen: Inspection, i: int, console: Console) -> None:
    facts = []
    if seen.label_groups[i] >= 0:
        facts.append(f"group {seen.label_groups[i]}")
    if seen.frequencies is not None:
        facts.append(f"{seen.frequencies[i]:,.0f} rows")
    if seen.quality is not None and np.isfinite(seen.quality.auc[i]):
        facts.append(f"average precision {seen.quality.average_precision[i]:.3f}")
        facts.append(f"AUC {seen.quality.auc[i]:.3f}")
    console.print(Text(seen.label_names[i], style="bold"))
    console.print(" · ".join(facts), style="dim")
    bar = bar_character(console)
    effects = seen.feature_effects[i]
    largest = max(float(np.abs(effects).max(initial=0.0)), 1e-300)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(justify="right")
    table.add_column(no_wrap=True)
    for j, effect in zip(seen.top_features[i], effects, strict=True):
        length = round(abs(effect) / largest * BAR_WIDTH)
        style = "green" if effect > 0 else "red"
        table.add_row(seen.feature_names[j], f"{effect:+.3f}", Text(bar * length, style=style))
    console.print(table)
    pairs = [("most alike", seen.nearest[i], seen.nearest_cosines[i], "{:.2f}")]
    if seen.together is not None and seen.together_shares is not None:
        pairs.append(("seen together", seen.together[i], seen.together_shares[i], "{:.0%}"))
    for title, labels, values, style in pairs:
        shown = [
            f"{seen.label_names[j]} ({style.format(value)})"
            for j, value in zip(labels, values, strict=True)
            if value > 0
        ]
        console.print(Text.assemble((f"{title}: ", "dim"), ", ".join(shown[:SHOWN_LABELS])))
    console.print()
