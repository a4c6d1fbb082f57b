"""``grople fit``: a tagger from a file of things and tags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from grople.cli import options as o
from grople.cli.console import json_text, make_console, print_json, progress
from grople.cli.quality import show_quality

if TYPE_CHECKING:
    from grople.tagging.changing import Change
    from grople.tagging.fitting import DataFacts, Tagger

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

METHODS = ("grople", "llsf", "plst", "cplst", "faie", "leml", "ridge")


#: Options of GroPLE, by the names of its parameters.
PARAMETERS = {
    "n_components": "components", "n_groups": "groups", "grouping": "grouping",
    "lambda_1": "lambda_1", "lambda_2": "lambda_2", "alpha": "alpha", "beta": "beta",
    "gamma": "gamma", "margin": "margin", "max_kept_rows": "max_kept_rows",
}  # fmt: skip
#: Options that describe a first fit: a model that is updated stays as it was described.
FIRST = (
    "normalize", "pairs", "max_features", "ngrams", "method", "search", "metric",
    *PARAMETERS.values(), "in_blocks", "folds", "seed",
)  # fmt: skip


def fit(
    context: typer.Context,
    data: Annotated[
        str | None,
        typer.Argument(metavar="[DATA]", help="A file with labels, or a name of the catalogue."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="MODEL", help="The file to write.")
    ] = None,
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
    format: o.Format = None,
    label_columns: o.Labels = None,
    tags: o.Tags = None,
    text: o.Text = None,
    features: o.Features = None,
    ignore: o.Ignore = None,
    id: o.Id = None,
    separator: o.Separator = None,
    missing: o.Missing = None,
    normalize: o.Normalize = False,
    pairs: o.Pairs = False,
    max_features: o.MaxFeatures = None,
    ngrams: o.Ngrams = 1,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME", callback=o.one_of(METHODS), help=f"What to fit: {', '.join(METHODS)}."
        ),
    ] = "grople",
    search: Annotated[
        bool, typer.Option("--search", help="Choose the settings by cross-validation.")
    ] = False,
    metric: o.Metric = "example_f1",
    components: o.Components = None,
    groups: o.Groups = None,
    grouping: o.Grouping = None,
    lambda_1: o.Lambda1 = None,
    lambda_2: o.Lambda2 = None,
    alpha: o.Alpha = None,
    beta: o.Beta = None,
    gamma: o.Gamma = None,
    margin: o.Margin = None,
    max_kept_rows: o.KeptRows = None,
    in_blocks: Annotated[
        bool | None,
        typer.Option(
            "--in-blocks/--whole",
            help="Read the file in blocks, so that it need not fit into memory; by default if it "
            "is larger than an eighth of the memory.",
        ),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(metavar="N", help="Folds to measure the quality with; 0: do not measure it."),
    ] = 3,
    without_rows: Annotated[
        bool,
        typer.Option(
            "--without-rows",
            help="Store nothing that rows could be added to or read from: a smaller file.",
        ),
    ] = False,
    seed: o.Seed = 0,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Learn a tagger from a file of things and tags, and store it.

    Texts (JSON lines, or a table with a column of text) become TF-IDF features, which are stored
    with the model. Prints what was found, what was chosen, and the cross-validated quality next to
    that of the most frequent labels and of plain ridge regression; the quality of a file that is
    read in blocks is not measured (`grople evaluate` does it on another file).
    """
    if output is None:
        raise typer.BadParameter("where to write the model? Give -o MODEL")
    if folds < 0 or folds == 1:
        raise typer.BadParameter("--folds is 0 (no measurement) or at least 2")
    if update is None and (data is None or forget is not None):
        raise typer.BadParameter(
            "give DATA to fit"
            if forget is None
            else "--forget removes rows from a model: name it with --update"
        )
    if update is not None and data is None and forget is None:
        raise typer.BadParameter("give DATA to add, or --forget DATA to remove")
    if report is not None and (forget is None or report == output):
        raise typer.BadParameter("--report is on --forget, and a file of its own")
    o.check_model_target(output, data, forget)  # the model to update may be the one to write
    if report is not None:
        o.check_target(report, data, forget, update, output)
    read: dict[str, Any] = {
        "format": format, "labels": label_columns, "tags": tags, "text": text,
        "features": features, "ignore": ignore, "ids": id, "separator": separator,
        "missing": missing,
    }  # fmt: skip
    if update is not None:
        given = [
            f"--{name.replace('_', '-')}"
            for name in FIRST
            if getattr(context.get_parameter_source(name), "name", None) == "COMMANDLINE"
        ]
        if given:
            raise typer.BadParameter(f"{', '.join(given)}: for a first fit, not with --update")
        _update(update, data, forget, output, report, read, without_rows, quiet, json)
        return
    from grople.tagging.fitting import fit_tagger, tagger_quality
    from grople.tagging.large import fit_tagger_in_blocks, is_large, open_blocks

    parameters = {
        name: context.params[option]
        for name, option in PARAMETERS.items()
        if context.params[option] is not None
    }
    if parameters and method != "grople":
        words = ", ".join(f"--{PARAMETERS[name].replace('_', '-')}" for name in parameters)
        raise typer.BadParameter(f"{words}: of GroPLE, not of {method}")
    with o.warnings_unless(quiet), progress(quiet or json) as told:
        told("reading", 0, 1)
        settings: dict[str, Any] = {
            "method": method, "metric": metric, "normalize": normalize, "random_state": seed,
            "text": o.text_settings(max_features, ngrams), "report": told, **parameters,
        }  # fmt: skip
        quality, notes = None, []
        wanted = o.make_reading(**read)
        if in_blocks or (in_blocks is None and is_large(str(data))):
            for name, asked in (("--search", search), ("--pairs", pairs)):
                if asked:
                    raise typer.BadParameter(
                        f"{name} needs all rows in memory: it goes with --whole"
                    )
            with o.command_words():
                blocks, reading = open_blocks(str(data), wanted)
                tagger, facts = fit_tagger_in_blocks(blocks, reading, **settings)
            notes = o.block_notes(tagger, max_features)
        else:
            examples, reading = o.open_examples(str(data), wanted)
            tagger, facts = fit_tagger(examples, reading, search=search, pairs=pairs, **settings)
            notes = list(getattr(examples, "notes", ()))
            if folds:
                quality = tagger_quality(
                    tagger, examples, n_folds=folds, random_state=seed, report=told
                )
                tagger.notes["quality"] = quality.to_dict()
        told("writing", 0, 1)
        tagger.save(output, with_rows=not without_rows)
    if json:
        print_json(
            {"model": str(output), "bytes": output.stat().st_size, "choices": tagger.choices}
            | {key: tagger.notes.get(key) for key in ("data", "fit_seconds", "quality")}
        )
    elif not quiet:
        console = make_console()
        _show_facts(facts, console)
        for note in notes:
            console.print(f"Note: {note}")
        _show_choices(tagger, console)
        if quality is not None:
            console.print()
            show_quality(quality, console)
            if search:
                console.print("settings were searched for on all rows, so the last line flatters")
        _show_written(output, console)


def _update(
    update: Path,
    data: str | None,
    forget: str | None,
    output: Path,
    report: Path | None,
    read: dict[str, Any],
    without_rows: bool,
    quiet: bool,
    json: bool,
) -> None:
    from grople.inspection import write_text
    from grople.tagging.changing import change_tagger
    from grople.tagging.fitting import load_tagger

    with o.warnings_unless(quiet), progress(quiet or json) as told:
        told("reading", 0, 1)
        tagger = load_tagger(update, with_rows=True)
        reading = o.make_reading(**read, base=tagger.reading.for_records(None))
        add, remove = (
            None if name is None else o.open_examples(name, reading)[0] for name in (data, forget)
        )
        changed, change = change_tagger(tagger, add=add, remove=remove, report=told)
        told("writing", 0, 1)
        changed.save(output, with_rows=not without_rows)
        if report is not None:
            write_text(report, json_text(change.forgotten) + "\n")
    if json:
        print_json(
            {
                "model": str(output),
                "bytes": output.stat().st_size,
                "added": change.added,
                "removed": change.removed,
                "rows": change.rows,
                "new_labels": list(change.new_labels),
                "before": change.before,
            }
        )
    elif not quiet:
        console = make_console()
        _show_change(change, console)
        _show_written(output, console)
        if report is not None:
            _show_written(report, console)


def _show_facts(facts: DataFacts, console: Console) -> None:
    kind = "words of texts" if facts.texts else "columns"
    own = f"{facts.rows:,} rows, {facts.features - facts.pairs:,} features ({kind})"
    console.print(own + (f" and {facts.pairs:,} pairs of them" if facts.pairs else ""))
    tail = f"{facts.tail_labels:,} of them on fewer than 10 rows"
    console.print(f"{facts.labels:,} labels, {facts.cardinality:.2f} a row; {tail}")
    if facts.rows_without_labels:
        console.print(f"{facts.rows_without_labels:,} rows without a label")


def _show_choices(tagger: Tagger, console: Console) -> None:
    shown = ", ".join(f"{name} {value:g}" for name, value in tagger.choices.items())
    name = type(tagger.model).__name__
    seconds = tagger.notes["fit_seconds"]
    console.print(
        f"{name}{': ' if shown else ''}{shown}; decides for {tagger.model.decision}; "
        f"fitted in {seconds:.1f} s"
    )


def _show_change(change: Change, console: Console) -> None:
    parts = []
    if change.added:
        parts.append(f"{change.added:,} rows added")
    if change.removed:
        parts.append(f"{change.removed:,} rows removed")
    console.print(f"{', '.join(parts)}; the model is now that of {change.rows:,} rows")
    if change.new_labels:
        shown = ", ".join(change.new_labels[:5]) + (" …" if len(change.new_labels) > 5 else "")
        console.print(f"{len(change.new_labels)} new labels: {shown}")
    if change.before:
        measures = ", ".join(f"{name} {value:.3f}" for name, value in change.before.items())
        console.print(f"on the added rows, before it had seen them: {measures}")


def _show_written(path: Path, console: Console) -> None:
    console.print(f"wrote {path} ({o.size_of(path)})", soft_wrap=True)
