"""The data card on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grople.cli.console import bar_character

if TYPE_CHECKING:
    from grople.datasets import Summary

__all__ = ["show_card"]

BAR_WIDTH = 40
SHOWN_LEAKS = 5


def show_card(card: Summary, console: Console) -> None:
    """Print a data card: figures, histogram of label frequencies, notes and warnings."""
    facts = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    facts.add_column(style="dim")
    facts.add_column(justify="right", style="bold")
    facts.add_column(overflow="fold")
    for name, value, remark in _facts(card):
        facts.add_row(name, value, remark)
    console.print(Text(card.name, style="bold"))
    if card.source:
        console.print(Text(card.source, style="dim"))
    console.print()
    console.print(facts)
    if card.frequencies:
        console.print("\nlabels by the number of rows that carry them")
        console.print(_histogram(card, bar_character(console)))
    for note in card.notes:
        console.print(f"\nNote: {note}")
    for warning in card.warnings:
        console.print(Text.assemble(("\nWarning: ", "bold yellow"), warning))


def _facts(card: Summary) -> list[tuple[str, str, str]]:
    kind = "sparse" if card.sparse else "dense"
    leaks = [f"{feature} = {label}" for feature, label in card.leaks[:SHOWN_LEAKS]]
    if len(card.leaks) > SHOWN_LEAKS:
        leaks.append("…")
    return [
        ("instances", f"{card.instances:,}", ""),
        ("features", f"{card.features:,}", f"{kind}, {card.feature_density:.2%} not zero"),
        ("labels", f"{card.labels:,}", f"{card.label_sets:,} distinct sets"),
        (
            "cardinality",
            f"{card.cardinality:.3f}",
            f"labels a row, at most {card.max_labels_in_row}",
        ),
        ("density", f"{card.density:.4f}", "cardinality / labels"),
        (
            "imbalance",
            f"{card.imbalance_mean:.1f}",
            f"most frequent label / label, mean; at most {card.imbalance_max:.1f}",
        ),
        ("duplicate rows", f"{card.duplicate_rows:,}", "same features and labels as another"),
        ("conflicting rows", f"{card.conflicting_rows:,}", "same features, other labels"),
        ("rows without labels", f"{card.rows_without_labels:,}", ""),
        ("labels without rows", f"{card.labels_never:,}", ""),
        ("features equal to a label", f"{len(card.leaks):,}", ", ".join(leaks)),
    ]


def _histogram(card: Summary, bar: str) -> Table:
    most = max(b.labels for b in card.frequencies)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="cyan", no_wrap=True)
    for b in card.frequencies:
        rows = f"{b.low:,}" if b.low == b.high else f"{b.low:,}-{b.high:,}"
        # At least one mark for a bin that is not empty.
        length = -(-b.labels * BAR_WIDTH // most)
        table.add_row(rows, f"{b.labels:,}", bar * length)
    return table
