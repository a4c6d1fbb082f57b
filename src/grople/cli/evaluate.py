"""``grople evaluate``: how good a model is on rows it has not seen."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from grople.cli import options as o
from grople.cli.console import emit, progress
from grople.inspection import Cell, Table
from grople.tagging import Evaluation, evaluate_tagger, load_tagger

__all__ = ["EXAMPLES", "evaluate"]

EXAMPLES = """\b
Examples:
  grople evaluate tags.grople test.jsonl
  grople evaluate tags.grople test.csv --tags topics --decision micro_f1 --json
"""
SHOWN = 5


@o.takes("reading", o.READING)
def evaluate(
    *,
    model: o.Model,
    data: o.Data,
    decision: o.Decision = None,
    reading: dict[str, Any],
    embeddings: o.Embeddings = None,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Measure a model on rows with known labels that it was not fitted on.

    Labels that the model does not know count as missed; 0/0 counts 0.
    """
    rule = o.parse_decision(decision)
    with progress(quiet or json) as report:
        report("reading", 0, 2)
        tagger = load_tagger(model)
        if rule is not None:
            tagger.model.set_params(decision=rule)
        how = o.make_reading(reading, tagger.reading.for_records(None))
        examples, _ = o.open_examples(data, how, embeddings)
        report("evaluating", 1, 2)
        result = evaluate_tagger(tagger, examples)
    emit(result.to_dict(), lambda console: _show(result, console), json=json, quiet=quiet)


def _show(result: Evaluation, console: Console) -> None:
    console.print(
        f"{result.rows:,} rows, {result.true_labels:.2f} labels a row, "
        f"{result.predicted_labels:.2f} given; decided for {result.decision}; 0/0 = 0"
    )
    if result.unknown_labels:
        shown = ", ".join(result.unknown_labels[:SHOWN])
        console.print(
            f"{len(result.unknown_labels)} labels are unknown to the model and count as missed: "
            f"{shown}{' …' if len(result.unknown_labels) > SHOWN else ''}"
        )
    rows = [(name, Cell(value, emphasis="bold")) for name, value in result.measures.items()]
    console.print(Table(["", ""], rows, digits=4))
