"""``grople compare``: several methods on the same folds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from grople.baselines import METHODS, make_method, method_names
from grople.cli import options as o
from grople.cli.console import emit, progress, quiet_warnings
from grople.cli.quality import quality_table
from grople.tagging import check_picture, compare_on, draw_comparison

__all__ = ["EXAMPLES", "compare"]

EXAMPLES = """\b
Examples:
  grople compare debtags-mini
  grople compare mine.arff --methods grople,plst,linearsvc --folds 5
  grople compare films.csv --label-columns 'genre_*' --methods grople,extratrees --plot films.png
"""
DEFAULT = "constant,ridge,plst,linearsvc,grople"


@o.takes("reading", o.READING)
@o.takes("representation", o.FEATURES)
def compare(
    *,
    data: o.Data,
    methods: Annotated[
        str, typer.Option(metavar="NAMES", help=f"By commas: {', '.join(METHODS)}.")
    ] = DEFAULT,
    metric: o.Metric = None,
    hierarchy: o.Hierarchy = None,
    folds: Annotated[int, typer.Option(metavar="N", min=2, help="Folds, stratified.")] = 3,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the comparison (png, svg, pdf)."),
    ] = None,
    reading: dict[str, Any],
    representation: dict[str, Any],
    embeddings: o.Embeddings = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Labels learnt at a time, where one by one.")
    ] = None,
    seed: o.Seed = None,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Cross-validate methods on the same folds with the same decision rule.

    Every method decides for --metric on held-out scores of its training rows.
    """
    measure = metric or "example_f1"
    try:
        names = method_names(methods)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if plot is not None:
        check_picture(o.check_target(plot, data))
    with quiet_warnings(quiet), progress(quiet or json) as report:
        report("reading", 0, 1)
        examples, _ = o.open_examples(data, o.make_reading(reading), embeddings)
        estimators = {
            METHODS[name].title: make_method(name, measure, random_state=seed or 0, n_jobs=jobs)
            for name in names
        }
        compared = compare_on(
            examples, estimators, metric=measure, n_folds=folds, random_state=seed or 0,
            features=o.feature_settings(representation), hierarchy=hierarchy, report=report,
        )  # fmt: skip
        if plot is not None:
            draw_comparison(compared, plot)

    def show(console: Console) -> None:
        console.print(quality_table(compared, ranks=True))
        if plot is not None:
            console.print(f"wrote {plot}", soft_wrap=True)

    result = compared.to_dict() | ({"plot": str(plot)} if plot else {})
    emit(result, show, json=json, quiet=quiet)
