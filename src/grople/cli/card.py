"""The data card on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from grople.datasets import Summary
from grople.inspection import Cell, Table

__all__ = ["show_card"]

SHOWN_LEAKS = 5


def show_card(card: Summary, console: Console) -> None:
    """Print a data card: figures, histogram of label frequencies, notes and warnings."""
    console.print(Text(card.name, style="bold"))
    if card.source:
        console.print(Text(card.source, style="dim"))
    console.print()
    console.print(Table(["", "", ""], _facts(card)))
    if card.frequencies:
        console.print()
        console.print(_histogram(card))
    for note in card.notes:
        console.print(f"\nNote: {note}")
    for warning in card.warnings:
        console.print(Text.assemble(("\nWarning: ", "bold yellow"), warning))


def _facts(card: Summary) -> list[tuple[str, Cell, str]]:
    kind = "sparse" if card.sparse else "dense"
    leaks = ", ".join(f"{feature} = {label}" for feature, label in card.leaks[:SHOWN_LEAKS])
    more = ", …" if len(card.leaks) > SHOWN_LEAKS else ""
    facts: list[tuple[str, int | float, str]] = [
        ("instances", card.instances, ""),
        ("features", card.features, f"{kind}, {card.feature_density:.2%} not zero"),
        ("labels", card.labels, f"{card.label_sets:,} distinct sets"),
        ("cardinality", card.cardinality, f"labels a row, at most {card.max_labels_in_row}"),
        ("density", card.density, "cardinality / labels"),
        (
            "imbalance",
            card.imbalance_mean,
            f"most frequent label / label, mean; at most {card.imbalance_max:.1f}",
        ),
        ("duplicate rows", card.duplicate_rows, "same features and labels as another"),
        ("conflicting rows", card.conflicting_rows, "same features, other labels"),
        ("rows without labels", card.rows_without_labels, ""),
        ("labels without rows", card.labels_never, ""),
        ("features equal to a label", len(card.leaks), leaks + more),
    ]
    return [(name, Cell(value, emphasis="bold"), remark) for name, value, remark in facts]


def _histogram(card: Summary) -> Table:
    most = max(b.labels for b in card.frequencies)
    rows = [
        (
            f"{b.low:,}" if b.low == b.high else f"{b.low:,}-{b.high:,}",
            b.labels,
            Cell("", bar=b.labels / most),
        )
        for b in card.frequencies
    ]
    return Table(["", "", ""], rows, caption="labels by the number of rows that carry them")
