"""What ``grople fit`` says of data, of models and of how they changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from textwrap import shorten
from typing import Any

import numpy as np
from rich.console import Console

from grople.datasets import Blocks, Reading
from grople.features import feature_blocks
from grople.tagging import (
    TAIL,
    Change,
    DataFacts,
    Examples,
    FeatureSettings,
    Tagger,
    learn_features,
)

__all__ = [
    "Show",
    "plan_of",
    "show_blocks",
    "show_change",
    "show_facts",
    "show_rows",
    "show_tagger",
]

Show = Callable[[Console], None]
#: Labels and features that are named, and characters of a text.
SHOWN, WIDTH = 8, 60


def plan_of(
    examples: Examples, reading: Reading, settings: FeatureSettings
) -> tuple[dict[str, Any], Show]:
    """Return what would be learnt from what."""
    features, _ = learn_features(examples, settings)
    facts = DataFacts.of(examples, features)
    blocks = [f"{block.stop - block.start:,} {block.name}" for block in feature_blocks(features)]
    rows_with = np.asarray(examples.Y.sum(axis=0)).ravel()
    frequent = [examples.label_names[j] for j in np.argsort(-rows_with, kind="stable")[:SHOWN]]
    result = {
        "data": asdict(facts), "reading": reading.to_dict(), "blocks": blocks,
        "features": features.names[:SHOWN].tolist(), "labels": frequent,
        "rows": [{"what": what, "labels": labels} for what, labels in examples.first_rows()],
    }  # fmt: skip

    def show(console: Console) -> None:
        show_rows(examples, console)
        show_facts(facts, console)
        console.print(f"features: {', '.join(blocks)}, such as {_some(result['features'])}")
        console.print(f"labels, most frequent first: {_some(frequent)}")
        console.print("nothing was fitted: --dry-run")

    return result, show


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" …" if len(names) >= SHOWN else "")


def show_rows(examples: Examples, console: Console) -> None:
    """Say how the first rows were understood, and what a person should know of it."""
    for what, labels in examples.first_rows():
        shown = shorten(what, WIDTH, placeholder=" …")
        console.print(f"{shown} → {_some(labels)}", style="dim", soft_wrap=True)
    separator = examples.level_separator
    if separator is not None:
        console.print(f"Note: label names have levels: see --hierarchy {separator!r}")
    _show_notes(examples, console)


def _show_notes(found: Examples | Blocks, console: Console) -> None:
    """Say what a person should know of how a file was read."""
    column = found.tag_column
    if column is not None and column.warning is not None:
        warning = "cells hold what may stand between tags, but each is one: see --separator"
        console.print(f"Warning: {warning}", style="yellow")
    elif column is not None and column.found and any(column.separator in c for c, _ in column.rows):
        console.print(f"Note: {column}")
    for note in found.notes:
        console.print(f"Note: {note}")


def show_blocks(blocks: Blocks, facts: DataFacts, tagger: Tagger, console: Console) -> None:
    """Say what was learnt from a file that was read in blocks."""
    _show_notes(blocks, console)
    show_facts(facts, console)
    notes = ["read in blocks, so the quality was not measured: try grople evaluate on other rows"]
    kept = tagger.notes["text"].get("max_features")
    if kept == len(tagger.features):
        notes.append(f"the {kept:,} most frequent terms are kept: see --max-features")
    if tagger.model.summary_.grid.keeps_rows:
        notes.append("so many features that the rows themselves stay in memory: choose fewer")
    for note in notes:
        console.print(f"Note: {note}")
    show_tagger(tagger, console)


def show_facts(facts: DataFacts, console: Console) -> None:
    """Say how much there is to learn from."""
    kind = "of texts" if facts.texts else "columns"
    own = f"{facts.rows:,} rows, {facts.features - facts.pairs:,} features ({kind})"
    console.print(own + (f" and {facts.pairs:,} pairs of them" if facts.pairs else ""))
    tail = f"{facts.tail_labels:,} of them on fewer than {TAIL} rows"
    console.print(f"{facts.labels:,} labels, {facts.cardinality:.2f} a row; {tail}")
    if facts.rows_without_labels:
        console.print(f"{facts.rows_without_labels:,} rows without a label")


def show_tagger(tagger: Tagger, console: Console) -> None:
    """Say what was chosen, and how long it took."""
    shown = ", ".join(
        f"{name} {value if isinstance(value, str) else format(value, 'g')}"
        for name, value in tagger.choices.items()
    )
    name = type(tagger.model).__name__
    seconds = tagger.notes["fit_seconds"]
    console.print(
        f"{name}{': ' if shown else ''}{shown}; decides for {tagger.model.decision}; "
        f"fitted in {seconds:.1f} s",
        soft_wrap=True,
    )


def show_change(change: Change, console: Console) -> None:
    """Say what adding and removing rows did."""
    parts = []
    if change.added:
        parts.append(f"{change.added:,} rows added")
    if change.removed:
        parts.append(f"{change.removed:,} rows removed")
    console.print(f"{', '.join(parts)}; the model is now that of {change.rows:,} rows")
    if change.new_labels:
        console.print(f"{len(change.new_labels)} new labels: {_some(change.new_labels)}")
    if change.before:
        measures = ", ".join(f"{name} {value:.3f}" for name, value in change.before.items())
        console.print(f"on the added rows, before it had seen them: {measures}")
