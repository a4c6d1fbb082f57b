"""``grople compare``: several methods on the same folds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grople.cli import options as o
from grople.cli.console import make_console, print_json, progress
from grople.cli.quality import show_quality

__all__ = ["EXAMPLES", "compare"]

EXAMPLES = """\b
Examples:
  grople compare debtags-mini
  grople compare mine.arff --methods grople,plst,linearsvc --folds 5
  grople compare films.csv --label-columns 'genre_*' --methods grople,extratrees --plot films.png
"""
DEFAULT = "constant,ridge,plst,linearsvc,grople"


def compare(
    data: o.Data,
    methods: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="By commas: grople, grople-margin (--margin .3), groplecv, bsvm, llsf, plst, "
            "cplst, faie, leml, mlsf, ridge; linearsvc, logistic, extratrees (scikit-learn); "
            "constant.",
        ),
    ] = DEFAULT,
    metric: o.Metric = "example_f1",
    folds: Annotated[int, typer.Option(metavar="N", min=2, help="Folds, stratified.")] = 3,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the comparison (png, svg, pdf)."),
    ] = None,
    format: o.Format = None,
    label_columns: o.Labels = None,
    tags: o.Tags = None,
    text: o.Text = None,
    features: o.Features = None,
    ignore: o.Ignore = None,
    separator: o.Separator = None,
    missing: o.Missing = None,
    normalize: o.Normalize = False,
    pairs: o.Pairs = False,
    max_features: o.MaxFeatures = None,
    ngrams: o.Ngrams = 1,
    jobs: o.Jobs = None,
    seed: o.Seed = 0,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Cross-validate methods on the same folds with the same decision rule.

    Every method decides for --metric on held-out scores of its training rows.
    """
    from grople.baselines import METHODS, make_method, method_names
    from grople.tagging.fitting import compare_on

    try:
        names = method_names(methods)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if plot is not None:
        from grople.tagging.drawing import check_picture

        check_picture(o.check_target(plot, data))
    reading = o.make_reading(
        format=format, labels=label_columns, tags=tags, text=text, features=features,
        ignore=ignore, separator=separator, missing=missing,
    )  # fmt: skip
    with o.warnings_unless(quiet), progress(quiet or json) as report:
        report("reading", 0, 1)
        examples, _ = o.open_examples(data, reading)
        estimators = {
            METHODS[name].title: make_method(name, metric, random_state=seed, n_jobs=jobs)
            for name in names
        }
        compared = compare_on(
            examples, estimators,
            metric=metric, n_folds=folds, random_state=seed, normalize=normalize, pairs=pairs,
            text=o.text_settings(max_features, ngrams), report=report,
        )  # fmt: skip
        if plot is not None:
            from grople.tagging.drawing import draw_comparison

            draw_comparison(compared, plot)
    if json:
        print_json(compared.to_dict() | ({"plot": str(plot)} if plot else {}))
    elif not quiet:
        console = make_console()
        show_quality(compared, console, ranks=True)
        if plot is not None:
            console.print(f"wrote {plot}", soft_wrap=True)
