"""``grople predict``: tags for records to come."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grople.cli import options as o
from grople.cli.console import progress

if TYPE_CHECKING:
    from grople.tagging.predicting import TaggedRow

__all__ = ["EXAMPLES", "predict"]

EXAMPLES = """\b
Examples:
  grople predict tags.grople new.jsonl > tagged.jsonl
  echo "a fast http server" | grople predict tags.grople -
  grople predict tags.grople new.csv --to csv -o tagged.csv --id name --top-k 5
  grople predict tags.grople new.jsonl --threshold 0.5 --explain
"""
FORMATS = ("jsonl", "csv", "extreme")


def predict(
    model: o.Model,
    data: Annotated[
        str,
        typer.Argument(metavar="DATA", help="A file, or - for the standard input."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The file to write [standard output]."),
    ] = None,
    to: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            callback=o.one_of(FORMATS),
            help="Format of the tags: jsonl, csv, or extreme (lines of label:probability).",
        ),
    ] = "jsonl",
    top_k: Annotated[
        int | None, typer.Option("--top-k", metavar="K", min=1, help="The K most probable labels.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(metavar="P", min=0.0, max=1.0, help="Labels at least so probable."),
    ] = None,
    decision: o.Decision = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Say which features and other labels are behind each label, exactly."
        ),
    ] = False,
    format: o.Format = None,
    text: o.Text = None,
    id: o.Id = None,
    missing: o.Missing = None,
    quiet: o.Quiet = False,
) -> None:
    """Tag the records of a file, or of the standard input, in blocks.

    A file may be larger than memory. The standard input holds one text a line, or JSON lines, or
    any text format with --format. Labels come with probabilities, most probable first; --top-k and
    --threshold replace the model's decision, and cut it short where --decision is given too.
    """
    from grople.datasets import open_records
    from grople.features import without_interactions
    from grople.tagging.explaining import Explainer
    from grople.tagging.fitting import load_tagger
    from grople.tagging.predicting import Selection, label_names, tag_records
    from grople.tagging.writing import output as open_output
    from grople.tagging.writing import write_tags

    if explain and to != "jsonl":
        raise typer.BadParameter("--explain needs room that only --to jsonl has")
    if output is not None and os.fspath(output) != "-" and Path(output).is_file():
        o.check_target(Path(output), data, model)
    tagger = load_tagger(model)
    fitted = tagger.model
    rule = o.parse_decision(decision)
    if rule is not None:
        fitted.set_params(decision=rule)
        _ = fitted.fitted_model_  # what cannot be decided shows before anything is written
    labels, names = label_names(fitted), tagger.features.names.tolist()
    single = without_interactions(tagger.features).names.tolist()
    # The format of the file that was learnt from says nothing about this one.
    reading = o.make_reading(
        text=text, ids=id, missing=missing, base=tagger.reading.for_records(format)
    )
    blocks_of = open_records(
        data,
        reading,
        feature_names=None if tagger.texts else single,
        n_features=len(single),
    )
    # On a terminal the tags themselves show that it goes on.
    silent = quiet or (output is None and sys.stdout.isatty())
    with (
        o.command_words(),
        progress(silent) as report,
        blocks_of as blocks,
        open_output(output, sys.stdout.buffer) as stream,
    ):
        tagged = tag_records(
            fitted,
            blocks,
            tagger.features,
            selection=Selection.of(top_k, threshold, rule),
            explainer=Explainer(fitted, names, labels) if explain else None,
        )
        write_tags(_counted(tagged, report), stream, to, labels)


def _counted(
    blocks: Iterator[list[TaggedRow]], report: Callable[[str, int, int], None]
) -> Iterator[list[TaggedRow]]:
    """Say how many rows are tagged; nobody knows how many there will be."""
    rows = 0
    for block in blocks:
        rows += len(block)
        report("rows", rows, 0)
        yield block
