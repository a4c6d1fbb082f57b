"""``grople fit``: a tagger from a file of things and tags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from grople.baselines import STORABLE, Report
from grople.cli import options as o
from grople.cli.console import emit, json_text, progress, quiet_warnings, size_of
from grople.cli.quality import show_quality
from grople.features import feature_blocks
from grople.pages.files import write_text
from grople.tagging import (
    TAIL,
    Change,
    DataFacts,
    Examples,
    Reading,
    Tagger,
    change_tagger,
    check_folds,
    fit_tagger,
    fit_tagger_in_blocks,
    is_large,
    learn_features,
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
Show = Callable[[Console], None]
#: Labels and features that a dry run names, and characters of a text.
SHOWN, WIDTH = 8, 60


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
        "in_blocks": in_blocks, "seed": seed, "search": search or None, "dry_run": dry_run or None, "hierarchy": hierarchy,
    }  # fmt: skip
    _check_command(data, output, update, forget, report, first)
    with quiet_warnings(quiet), progress(quiet or json) as told:
        told("reading", 0, 1)
        if update is not None:
            tagger, result, show = _update(update, data, forget, embeddings, reading, told)
        elif dry_run:
            tagger, result, show = _plan(str(data), embeddings, reading, representation)
        else:
            settings = {
                "method": method or "grople", "metric": metric or "example_f1",
                "random_state": seed or 0, "report": told, **parameters,
            }  # fmt: skip
            wanted = o.make_reading(reading)
            if in_blocks or (in_blocks is None and is_large(str(data))):
                _check_blocks({
                    **representation, "search": search, "embeddings": embeddings,
                    "hierarchy": hierarchy,
                })  # fmt: skip
                tagger, result, show = _fit_blocks(str(data), wanted, representation, settings)
            else:
                examples, how = o.open_examples(str(data), wanted, embeddings)
                n_folds = 3 if folds is None else folds
                check_folds(examples.Y.shape[0], n_folds)
                settings |= {
                    "search": search, "features": o.feature_settings(representation),
                    "hierarchy": hierarchy,
                }  # fmt: skip
                tagger, result, show = _fit_whole(examples, how, n_folds, settings)
        files: list[Path] = []
        if tagger is not None and output is not None:
            told("writing", 0, 1)
            tagger.save(output, with_rows=not without_rows)
            result = {"model": str(output), "bytes": output.stat().st_size} | result
            files.append(output)
        if report is not None:
            write_text(report, json_text(result.pop("forgotten")) + "\n")
            files.append(report)
    result.pop("forgotten", None)

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


def _check_blocks(given: dict[str, Any]) -> None:
    whole = [name for name in ("search", "pairs", "embeddings", "characters", "hierarchy") if given.get(name)]
    if whole:
        raise typer.BadParameter(f"{_flags(whole)} needs all rows in memory: it goes with --whole")


def _flags(names: Iterable[str]) -> str:
    return ", ".join(f"--{name.removeprefix('n_').replace('_', '-')}" for name in names)


# Each of these returns the tagger to store, the result in plain values, and what shows it.


def _fit_whole(
    examples: Examples, reading: Reading, n_folds: int, settings: dict[str, Any]
) -> tuple[Tagger, dict[str, Any], Show]:
    tagger, facts = fit_tagger(examples, reading, **settings)
    quality = None
    if n_folds:
        quality = tagger_quality(
            tagger, examples, n_folds=n_folds, random_state=settings["random_state"],
            report=settings["report"],
        )  # fmt: skip
        tagger.notes["quality"] = quality.to_dict()

    def show(console: Console) -> None:
        _show_rows(examples, reading, console)
        _show_facts(facts, console)
        for note in examples.notes:
            console.print(f"Note: {note}")
        _show_choices(tagger, console)
        if quality is not None:
            console.print()
            show_quality(quality, console)
            if settings["search"]:
                console.print("settings were searched for on all rows, so the last line flatters")

    return tagger, _result(tagger), show


def _fit_blocks(
    data: str, wanted: Reading, representation: dict[str, Any], settings: dict[str, Any]
) -> tuple[Tagger, dict[str, Any], Show]:
    blocks, reading = open_blocks(data, wanted)
    text = {"ngrams": [1, representation.get("ngrams", 1)]}
    text |= {key: value for key, value in representation.items() if key == "max_features"}
    tagger, facts = fit_tagger_in_blocks(
        blocks, reading, normalize=representation.get("normalize", False), text=text, **settings
    )
    notes = ["read in blocks, so the quality was not measured: try grople evaluate on other rows"]
    if facts.texts and "max_features" not in text:
        kept = f"{tagger.notes['text']['max_features']:,}"
        notes.append(f"at most the {kept} most frequent words are kept: see --max-features")
    if tagger.model.summary_.grid.keeps_rows:
        notes.append("so many features that the rows themselves stay in memory: choose fewer")

    def show(console: Console) -> None:
        _show_facts(facts, console)
        for note in notes:
            console.print(f"Note: {note}")
        _show_choices(tagger, console)

    return tagger, _result(tagger), show


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
    return tagger, asdict(change), partial(_show_change, change)


def _plan(
    data: str, embeddings: Path | None, reading: dict[str, Any], representation: dict[str, Any]
) -> tuple[None, dict[str, Any], Show]:
    """Return what would be learnt from what."""
    examples, how = o.open_examples(data, o.make_reading(reading), embeddings)
    features, _ = learn_features(examples, o.feature_settings(representation))
    facts = DataFacts.of(examples, features)
    blocks = [f"{block.stop - block.start:,} {block.name}" for block in feature_blocks(features)]
    rows_with = np.asarray(examples.Y.sum(axis=0)).ravel()
    frequent = [examples.label_names[j] for j in np.argsort(-rows_with, kind="stable")[:SHOWN]]
    result = {
        "data": asdict(facts), "reading": how.to_dict(), "blocks": blocks,
        "features": features.names[:SHOWN].tolist(), "labels": frequent,
        "rows": [{"what": what, "labels": labels} for what, labels in examples.first_rows()],
    }  # fmt: skip

    def show(console: Console) -> None:
        _show_rows(examples, how, console)
        _show_facts(facts, console)
        console.print(f"features: {', '.join(blocks)}, such as {_some(result['features'])}")
        console.print(f"labels, most frequent first: {_some(frequent)}")
        console.print("nothing was fitted: --dry-run")

    return None, result, show


def _result(tagger: Tagger) -> dict[str, Any]:
    parts = ("data", "fit_seconds", "quality")
    return {"choices": tagger.choices} | {key: tagger.notes.get(key) for key in parts}


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" …" if len(names) >= SHOWN else "")


def _show_rows(examples: Examples, reading: Reading, console: Console) -> None:
    """Say how the first rows were understood."""
    for what, labels in examples.first_rows():
        console.print(
            f"{shorten(what, WIDTH, placeholder=' …')} → {', '.join(labels)}", style="dim"
        )


def _show_facts(facts: DataFacts, console: Console) -> None:
    kind = "of texts" if facts.texts else "columns"
    own = f"{facts.rows:,} rows, {facts.features - facts.pairs:,} features ({kind})"
    console.print(own + (f" and {facts.pairs:,} pairs of them" if facts.pairs else ""))
    tail = f"{facts.tail_labels:,} of them on fewer than {TAIL} rows"
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
        console.print(f"{len(change.new_labels)} new labels: {_some(change.new_labels)}")
    if change.before:
        measures = ", ".join(f"{name} {value:.3f}" for name, value in change.before.items())
        console.print(f"on the added rows, before it had seen them: {measures}")
