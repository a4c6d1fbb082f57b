"""``grople predict``: tags for records to come."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from grople.cli import options as o
from grople.cli.console import make_console, progress
from grople.tagging import (
    FORMATS,
    Explainer,
    Selection,
    TaggedRow,
    check_embeddings,
    load_embeddings,
    load_tagger,
    open_tagger_records,
    tag_records,
    with_embeddings,
    write_tags,
)
from grople.tagging import output as open_output

__all__ = ["EXAMPLES", "predict"]

EXAMPLES = """\b
Examples:
  grople predict tags.grople new.jsonl > tagged.jsonl
  echo "a fast http server" | grople predict tags.grople -
  grople predict tags.grople new.csv --to csv -o tagged.csv --id name --top-k 5
  grople predict tags.grople new.jsonl --threshold 0.5 --explain
"""


@o.takes("reading", o.READING)
def predict(
    *,
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
        str | None,
        typer.Option(
            metavar="FORMAT",
            callback=o.one_of(FORMATS),
            help="Format of the tags: jsonl, csv, or extreme (lines of label:probability) [jsonl].",
        ),
    ] = None,
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
            "--explain", help="Say which features and other labels are behind each label."
        ),
    ] = False,
    reading: dict[str, Any],
    embeddings: o.Embeddings = None,
    quiet: o.Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines: --to jsonl.")] = False,
) -> None:
    """Tag the records of a file, or of the standard input, in blocks.

    A file may be larger than memory. The standard input holds one text a line, or JSON lines, or
    any text format with --format. Labels come with probabilities, most probable first; --top-k and
    --threshold replace the model's decision, and cut it short where --decision is given too.
    """
    to = to or "jsonl"
    if json and to != "jsonl":
        raise typer.BadParameter(f"--json is --to jsonl, not --to {to}")
    if explain and to != "jsonl":
        raise typer.BadParameter("--explain needs room that only --to jsonl has")
    rule = o.parse_decision(decision)
    if output is not None and os.fspath(output) != "-" and Path(output).is_file():
        o.check_target(Path(output), data, model)
    tagger = load_tagger(model)
    features = tagger.features
    if rule is not None:
        tagger.model.set_params(decision=rule)
        _ = tagger.model.fitted_model_  # what cannot be decided shows before anything is written
    fitted = tagger.classifier
    dense = None if embeddings is None else load_embeddings(embeddings)
    check_embeddings(features, dense)
    labels = [str(label) for label in fitted.classes_]
    # The format of the file that was learnt from says nothing about this one.
    how = o.make_reading(reading, tagger.reading.for_records(None))
    explainer = Explainer(tagger.model, features.names.tolist(), labels) if explain else None
    if explainer is not None and not explainer.is_exact and not quiet:
        make_console(stderr=True).print(
            "Note: scores of several experts are no sums: each share is what leaving that feature "
            "out takes away; grople fit --experts linear has exact sums",
            style="yellow", soft_wrap=True,
        )  # fmt: skip
    # On a terminal the tags themselves show that it goes on.
    silent = quiet or (output is None and sys.stdout.isatty())
    with (
        progress(silent) as report,
        open_tagger_records(tagger, data, how) as records,
        open_output(output, sys.stdout.buffer) as stream,
    ):
        blocks = records if dense is None else with_embeddings(records, dense)
        tagged = tag_records(
            fitted,
            blocks,
            features,
            selection=Selection.of(top_k, threshold, rule),
            explainer=explainer,
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
