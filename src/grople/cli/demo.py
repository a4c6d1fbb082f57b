"""``grople demo``: the embedded data set from start to finish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grople.cli.card import show_card
from grople.cli.console import make_console, print_json

if TYPE_CHECKING:
    from grople.showcase import Showcase

__all__ = ["demo"]

SHOWN_LABELS = 6


def demo(
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Go through the embedded data set, tags of Debian packages, from start to finish."""
    from grople.datasets import describe, load
    from grople.showcase import showcase

    bundle = load("debtags-mini")
    card = describe(bundle)
    console = make_console()
    if not json:
        show_card(card, console)
    notes = make_console(stderr=True)
    with notes.status("starting") as status:
        result = showcase(bundle, report=status.update)
    if json:
        print_json({"data": card.to_dict()} | result.to_dict())
        return
    _show_comparison(result, console)
    _show_groups(result, console)
    _show_examples(result, console)


def _show_comparison(result: Showcase, console: Console) -> None:
    measures = tuple(result.comparison[0].means)
    console.print(
        "\ncross-validated on three folds, mean ± standard deviation (0/0 = 0); every method "
        "but the first\ndecides for example-F1"
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("method")
    for measure in measures:
        table.add_column(measure, justify="right")
    table.add_column("fit s", justify="right")
    for row in result.comparison:
        best = [row.means[m] == max(c.means[m] for c in result.comparison) for m in measures]
        cells = [
            Text(f"{row.means[m]:.3f} ± {row.deviations[m]:.3f}", style="bold" if b else "")
            for m, b in zip(measures, best, strict=True)
        ]
        table.add_row(row.method, *cells, f"{row.fit_seconds:.1f}")
    console.print(table)


def _show_groups(result: Showcase, console: Console) -> None:
    console.print("\nthe groups of labels it found, most frequent labels first")
    for number, group in enumerate(result.groups, start=1):
        shown = ", ".join(group.labels[:SHOWN_LABELS])
        more = len(group.labels) - SHOWN_LABELS
        console.print(
            Text.assemble(
                (f"{number:>3} ", "dim"), (f"{len(group.labels):>3} labels  ", "bold"), shown,
                (f", and {more} more" if more > 0 else "", "dim"),
            )
        )  # fmt: skip


def _show_examples(result: Showcase, console: Console) -> None:
    console.print("\npackages it has not seen: predicted tags, ✓ where right, and what it missed")
    for example in result.examples:
        console.print(Text(f"  {example.name}", style="bold"))
        for label, chance in example.predicted:
            right = label in example.true
            mark, style = ("✓", "green") if right else ("✗", "red")
            console.print(Text(f"    {mark} {chance:4.0%}  {label}", style=style))
        for label in example.true:
            if label not in dict(example.predicted):
                console.print(Text(f"    – missed  {label}", style="dim"))
