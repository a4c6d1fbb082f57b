"""``grople evaluate``: how good a model is on rows it has not seen."""

from __future__ import annotations

from rich.table import Table

from grople.cli import options as o
from grople.cli.console import make_console, print_json, progress

__all__ = ["EXAMPLES", "evaluate"]

EXAMPLES = """\b
Examples:
  grople evaluate tags.grople test.jsonl
  grople evaluate tags.grople test.csv --tags topics --decision micro_f1 --json
"""


def evaluate(
    model: o.Model,
    data: o.Data,
    decision: o.Decision = None,
    format: o.Format = None,
    label_columns: o.Labels = None,
    tags: o.Tags = None,
    text: o.Text = None,
    separator: o.Separator = None,
    missing: o.Missing = None,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Measure a model on rows with known labels that it was not fitted on.

    Labels that the model does not know count as missed; 0/0 counts 0.
    """
    from grople.tagging.evaluating import evaluate_tagger
    from grople.tagging.fitting import load_tagger

    with progress(quiet or json) as report:
        report("reading", 0, 2)
        tagger = load_tagger(model)
        rule = o.parse_decision(decision)
        if rule is not None:
            tagger.model.set_params(decision=rule)
        reading = o.make_reading(
            format=format, labels=label_columns, tags=tags, text=text, separator=separator,
            missing=missing, base=tagger.reading.for_records(format),
        )  # fmt: skip
        examples, _ = o.open_examples(data, reading)
        report("evaluating", 1, 2)
        result = evaluate_tagger(tagger, examples)
    if json:
        print_json(result.to_dict())
        return
    if quiet:
        return
    console = make_console()
    console.print(
        f"{result.rows:,} rows, {result.true_labels:.2f} labels a row, "
        f"{result.predicted_labels:.2f} given; decided for {result.decision}; 0/0 = 0"
    )
    if result.unknown_labels:
        shown = ", ".join(result.unknown_labels[:5])
        console.print(
            f"{len(result.unknown_labels)} labels are unknown to the model and count as missed: "
            f"{shown}{' …' if len(result.unknown_labels) > 5 else ''}"
        )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="dim")
    table.add_column(justify="right", style="bold")
    for name, value in result.measures.items():
        table.add_row(name, f"{value:.4f}")
    console.print(table)
