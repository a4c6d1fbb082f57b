"""``grople fit``: a tagger from a file of things and tags."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from grople.baselines import STORABLE, Report
from grople.cli import options as o
from grople.cli.console import emit, json_text, progress, quiet_warnings, size_of
from grople.cli.facts import (
    Show,
    plan_of,
    show_blocks,
    show_change,
    show_facts,
    show_rows,
    show_tagger,
)
from grople.cli.quality import quality_table
from grople.datasets import Reading
from grople.inspection import write_text
from grople.tagging import (
    Examples,
    Tagger,
    change_tagger,
    check_folds,
    fit_tagger,
    fit_tagger_in_blocks,
    is_large,
    load_tagger,
    open_blocks,
    tagger_quality,
)

__all__ = ["EXAMPLES", "fit"]

EXAMPLES = """\b
Examples:
  grople fit packages.jsonl -o tags.grople
  grople fit films.csv -o films.grople --label-columns 'genre_*' --search --metric macro_f1
  grople fit notes.csv -o notes.grople --text body --tags topics --separator '|'
  grople fit medical -o medical.grople --normalize --pairs
  grople fit new.jsonl --update tags.grople -o tags.grople
  grople fit --update tags.grople --forget withdrawn.jsonl -o tags.grople --report gone.json
"""


@o.takes("reading", o.READING)
@o.takes("representation", o.FEATURES)
@o.takes("parameters", o.PARAMETERS)
def fit(
    *,
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="A file with labels, or a name of the catalogue."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="MODEL", help="The file to write.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be learnt from what; fit nothing.")
    ] = False,
    update: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Add the rows of DATA to this model, exactly."),
    ] = None,
    forget: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="With --update: remove these rows, exactly."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --forget: write what was removed, and checksums before and after (JSON).",
        ),
    ] = None,
    reading: dict[str, Any],
    representation: dict[str, Any],
    embeddings: o.Embeddings = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            callback=o.one_of(STORABLE),
            help=f"What to fit: {', '.join(STORABLE)} [grople].",
        ),
    ] = None,
    search: Annotated[
        bool, typer.Option("--search", help="Choose the settings by cross-validation.")
    ] = False,
    metric: o.Metric = None,
    hierarchy: o.Hierarchy = None,
    parameters: dict[str, Any],
    in_blocks: Annotated[
        bool | None,
        typer.Option(
            "--in-blocks/--whole",
            help="Read the file in blocks, so that it need not fit into memory; by default if it "
            "is larger than an eighth of the memory.",
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Folds to measure the quality with; 0: do not measure it [3]."
        ),
    ] = None,
    without_rows: Annotated[
        bool,
        typer.Option(
            "--without-rows",
            help="Store nothing that rows could be added to or read from: a smaller file.",
        ),
    ] = False,
    seed: o.Seed = None,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Learn a tagger from a file of things and tags, and store it.

    Texts (JSON lines, or a table with a column of text) become TF-IDF features, columns of mixed
    kinds numbers; how is stored with the model. Prints what was found, what was chosen, and the
    cross-validated quality next to that of the most frequent labels and of plain ridge regression;
    the quality of a file that is read in blocks is not measured (`grople evaluate` does it on
    another file).
    """
    first = {
        **representation, **parameters, "method": method, "metric": metric, "folds": folds,
        "in_blocks": in_blocks, "seed": seed, "search": search or None,
        "dry_run": dry_run or None, "hierarchy": hierarchy,
    }  # fmt: skip
    _check_command(data, output, update, forget, report, first)
    settings = {
        "method": method or "grople", "metric": metric or "example_f1", "random_state": seed or 0,
        **parameters,
    }  # fmt: skip
    tagger: Tagger | None = None
    with quiet_warnings(quiet), progress(quiet or json) as told:
        told("reading", 0, 1)
        if update is not None:
            tagger, result, show = _update(update, data, forget, embeddings, reading, told)
        elif in_blocks or (in_blocks is None and is_large(str(data))):
            _refuse_in_blocks(first | {"embeddings": embeddings})
            wanted = o.make_reading(reading)
            tagger, result, show = _fit_blocks(str(data), wanted, representation, settings, told)
        else:
            examples, how = o.open_examples(str(data), o.make_reading(reading), embeddings)
            features = o.feature_settings(representation)
            if hierarchy is not None:
                examples = examples.closed(hierarchy)
            if dry_run:
                result, show = plan_of(examples, how, features)
            else:
                n_folds = 3 if folds is None else folds
                settings |= {"search": search, "features": features, "hierarchy": hierarchy}
                tagger, result, show = _fit_whole(examples, how, n_folds, settings, told)
        files = []
        if tagger is not None and output is not None:
            told("writing", 0, 1)
            tagger.save(output, with_rows=not without_rows)
            result = {"model": str(output), "bytes": output.stat().st_size} | result
            files.append(output)
        forgotten = result.pop("forgotten", None)
        if report is not None:
            write_text(report, json_text(forgotten) + "\n")
            files.append(report)

    def show_all(console: Console) -> None:
        show(console)
        for path in files:
            console.print(f"wrote {path} ({size_of(path)})", soft_wrap=True)

    emit(result, show_all, json=json, quiet=quiet)


def _check_command(
    data: str | None,
    output: Path | None,
    update: Path | None,
    forget: str | None,
    report: Path | None,
    first: dict[str, Any],
) -> None:
    """Refuse what makes no sense; `first` are the options of a first fit, None if not given."""
    given = {name: value for name, value in first.items() if value is not None}
    folds, method = given.get("folds"), given.get("method", "grople")
    of_grople = [name for name in given if name in o.PARAMETERS and method != "grople"]
    complaints = {
        "where to write the model? Give -o MODEL": output is None and "dry_run" not in given,
        "give DATA to add, or --forget DATA to remove": update and not data and not forget,
        "--forget removes rows from a model: name it with --update": forget and not update,
        "give DATA to fit": not data and not update,
        "--report is on --forget, and a file of its own": report
        and (not forget or report == output),
        "--folds is 0 (no measurement) or at least 2": folds is not None
        and (folds < 0 or folds == 1),
        f"{_flags(of_grople)}: of GroPLE, not of {method}": of_grople,
        f"{_flags(given)}: for a first fit, not with --update": update and given,
    }
    for complaint, holds in complaints.items():
        if holds:
            raise typer.BadParameter(complaint)
    if output is not None:
        o.check_model_target(output, data, forget)  # the model to update may be the one to write
    if report is not None:
        o.check_target(report, data, forget, update, output)


def _refuse_in_blocks(given: dict[str, Any]) -> None:
    names = ("search", "pairs", "embeddings", "characters", "hierarchy", "dry_run")
    whole = [name for name in names if given.get(name)]
    if whole:
        raise typer.BadParameter(f"{_flags(whole)} needs all rows in memory: it goes with --whole")


def _flags(names: Iterable[str]) -> str:
    return ", ".join(f"--{name.removeprefix('n_').replace('_', '-')}" for name in names)


# Each of these returns the tagger to store, the result in plain values, and what shows it.


def _fit_whole(
    examples: Examples, reading: Reading, n_folds: int, settings: dict[str, Any], report: Report
) -> tuple[Tagger, dict[str, Any], Show]:
    check_folds(examples.Y.shape[0], n_folds)
    tagger, facts = fit_tagger(examples, reading, report=report, **settings)
    quality = None
    if n_folds:
        quality = tagger_quality(
            tagger, examples, n_folds=n_folds, random_state=settings["random_state"], report=report
        )
        tagger.notes["quality"] = quality.to_dict()

    def show(console: Console) -> None:
        show_rows(examples, console)
        show_facts(facts, console)
        show_tagger(tagger, console)
        if quality is not None:
            console.print()
            console.print(quality_table(quality))
            if settings["search"]:
                console.print("settings were searched for on all rows, so the last line flatters")

    return tagger, _stored(tagger), show


def _fit_blocks(
    data: str,
    wanted: Reading,
    representation: dict[str, Any],
    settings: dict[str, Any],
    report: Report,
) -> tuple[Tagger, dict[str, Any], Show]:
    blocks, reading = open_blocks(data, wanted)
    text = {"ngrams": [1, representation.get("ngrams", 1)]}
    text |= {key: value for key, value in representation.items() if key == "max_features"}
    tagger, facts = fit_tagger_in_blocks(
        blocks,
        reading,
        normalize=representation.get("normalize", False),
        text=text,
        report=report,
        **settings,
    )
    return tagger, _stored(tagger), partial(show_blocks, blocks, facts, tagger)


def _update(
    update: Path,
    data: str | None,
    forget: str | None,
    embeddings: Path | None,
    reading: dict[str, Any],
    report: Report,
) -> tuple[Tagger, dict[str, Any], Show]:
    tagger = load_tagger(update, with_rows=True)
    how = o.make_reading(reading, tagger.reading.for_records(None))
    add, remove = (
        None if name is None else o.open_examples(name, how, embeddings)[0]
        for name in (data, forget)
    )
    tagger, change = change_tagger(tagger, add=add, remove=remove, report=report)
    return tagger, asdict(change), partial(show_change, change)


def _stored(tagger: Tagger) -> dict[str, Any]:
    parts = ("data", "fit_seconds", "quality")
    return {"choices": tagger.choices} | {key: tagger.notes.get(key) for key in parts}
