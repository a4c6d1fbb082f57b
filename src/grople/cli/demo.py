"""``grople demo``: the embedded data set from start to finish."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grople.cli.card import show_card
from grople.cli.console import make_console, print_json, progress
from grople.cli.options import Json, Quiet, check_target
from grople.errors import MissingExtraError

if TYPE_CHECKING:
    from grople.datasets import Summary
    from grople.showcase import Showcase

__all__ = ["demo"]

SHOWN_LABELS = 6


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The report to write.")
    ] = Path("grople-demo.html"),
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Go through the embedded data set, tags of Debian packages, from start to finish.

    Shows what is in the data, how good GroPLE is next to two yardsticks, which groups of labels it
    found and what it says of packages it has not seen; writes all of it into one HTML page.
    """
    check_target(output)
    from grople.datasets import describe, load
    from grople.showcase import showcase

    bundle = load("debtags-mini")
    card = describe(bundle)
    console = make_console()
    if not (json or quiet):
        show_card(card, console)
    with progress(quiet or json) as report:
        result = showcase(bundle, report=lambda step: report(step, 0, 1))
        report("report", 0, 1)
        written, trouble = _write_report(result, card, output)
    if json:
        print_json({"data": card.to_dict(), "report": written} | result.to_dict())
    elif not quiet:
        _show_comparison(result, console)
        _show_groups(result, console)
        _show_examples(result, console)
        console.print(f"\nwrote {written}" if written else f"\n{trouble}", soft_wrap=True)


def _write_report(result: Showcase, card: Summary, path: Path) -> tuple[str | None, str]:
    """Write the page; return where it is, or why there is none."""
    try:
        from grople.showcase_page import showcase_page

        showcase_page(result, card).write(path)
    except MissingExtraError as missing:  # the rest of the demonstration needs no extra
        return None, f"no report: {missing}"
    return str(path.resolve()), ""


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
