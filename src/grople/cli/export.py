"""``grople export``: a model for others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grople.cli import options as o
from grople.cli.console import emit, size_of
from grople.io import export_onnx
from grople.tagging import load_tagger

__all__ = ["EXAMPLES", "export"]

EXAMPLES = """\b
Examples:
  grople export tags.grople --onnx tags.onnx
  grople export tags.grople --without-rows slim.grople
"""


def export(
    model: o.Model,
    onnx: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write scores and probabilities as an ONNX graph."),
    ] = None,
    without_rows: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a model file that predicts the same but holds nothing of the rows.",
        ),
    ] = None,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Write a model in a form to hand on."""
    targets = [path for path in (onnx, without_rows) if path is not None]
    if not targets:
        raise typer.BadParameter("what to write? Give --onnx FILE or --without-rows FILE")
    for path in targets:
        o.check_target(path, model)
    if without_rows is not None:
        o.check_model_target(without_rows)
    if onnx is not None and onnx == without_rows:
        raise typer.BadParameter("--onnx and --without-rows need a file each")
    tagger = load_tagger(model)
    if onnx is not None:
        export_onnx(tagger.model, onnx, features=tagger.features)
    if without_rows is not None:
        tagger.save(without_rows, with_rows=False)

    def show(console: Console) -> None:
        for path in targets:
            console.print(f"wrote {path} ({size_of(path)})", soft_wrap=True)

    emit({"files": [str(path) for path in targets]}, show, json=json, quiet=quiet)
