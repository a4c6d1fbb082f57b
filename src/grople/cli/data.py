"""``grople data``: the catalogue, data cards, downloads and conversions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from grople.cli import options as o
from grople.cli.card import show_card
from grople.cli.console import download_progress, emit, make_console
from grople.datasets import (
    READERS,
    WRITERS,
    Bundle,
    Entry,
    describe,
    find,
    is_a_file,
    load,
    locate,
    names,
    read,
    write,
)
from grople.datasets import fetch as fetch_files
from grople.errors import DataError
from grople.inspection import Table

__all__ = ["app"]

app = typer.Typer(
    help="Find, describe, download and convert data sets.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

FIGURES = ("instances", "features", "labels", "cardinality")

Labels = Annotated[
    str | None,
    typer.Option(
        "--label-columns",
        "--labels",
        metavar="WHICH",
        help="Where the labels are, if the file does not say. ARFF: an XML header, a number of "
        "columns (negative: the last ones) or names separated by commas. Tables: names, prefix* "
        "or a column of tags. MATLAB: a variable. JSON lines: a field.",
    ),
]
SourceFormat = Annotated[
    str | None,
    typer.Option(
        "--from",
        "--format",
        metavar="FORMAT",
        callback=o.one_of(READERS),
        help=f"Format of the input, if not clear: {', '.join(READERS)}.",
    ),
]
TargetFormat = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="FORMAT",
        callback=o.one_of(WRITERS),
        help=f"Format of the output, if not clear: {', '.join(WRITERS)}.",
    ),
]


def _open_data(name_or_file: str, format: str | None, labels: str | None) -> Bundle:
    """Return the bundle of a file or of a data set of the catalogue."""
    if format or labels or is_a_file(name_or_file):
        return read(name_or_file, format=format, labels=labels)
    with download_progress() as progress:
        return load(name_or_file, progress=progress)


@app.command("list", epilog="Example: grople data list")
def list_(json: o.Json = False) -> None:
    """List the data sets of the catalogue and where they are."""
    entries = [find(name) for name in names()]
    rows: list[dict[str, Any]] = [
        {"name": entry.name, "place": _place(entry), "downloadable": bool(entry.files)}
        | {figure: getattr(entry, figure) for figure in FIGURES}
        | {"domain": entry.domain, "about": entry.about}
        for entry in entries
    ]

    table = Table(
        ["name", *FIGURES, "domain", "where"],
        [[row[key] for key in ("name", *FIGURES, "domain", "place")] for row in rows],
    )
    emit(rows, lambda console: console.print(table), json=json)


def _place(entry: Entry) -> str:
    location = locate(entry)
    if location is not None:
        return location.place
    return "to download" if entry.files else "not here"


@app.command(
    epilog="\b\nExamples:\n  grople data info medical\n"
    "  grople data info mine.arff --labels mine.xml"
)
def info(
    data: Annotated[str, typer.Argument(metavar="NAME_OR_FILE", help="A name or a file.")],
    source_format: SourceFormat = None,
    labels: Labels = None,
    json: o.Json = False,
) -> None:
    """Show the data card of a data set: size, labels, defects."""
    card = describe(_open_data(data, source_format, labels))
    emit(card.to_dict(), lambda console: show_card(card, console), json=json)


@app.command(epilog="Example: grople data fetch medical")
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name of the catalogue.")],
    json: o.Json = False,
) -> None:
    """Download a data set into the cache, unless it is on this machine already.

    The cache is $GROPLE_CACHE or the usual place for caches; the files come from their pinned
    addresses, or by name from $GROPLE_MIRROR, and must have the recorded content.
    """
    entry = find(name)
    with download_progress() as progress:
        location = fetch_files(entry, progress=progress)
    files = [str(path) for path in location.files]
    emit({"name": entry.name, "place": location.place, "files": files}, _lister(files), json=json)


@app.command(
    epilog="\b\nExamples:\n  grople data convert mine.arff mine.npz --labels mine.xml\n"
    "  grople data convert medical medical.arff"
)
def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="A file or a name.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")],
    source_format: SourceFormat = None,
    target_format: TargetFormat = None,
    labels: Labels = None,
    json: o.Json = False,
) -> None:
    """Convert a data set from one format into another."""
    bundle = _open_data(source, source_format, labels)
    try:
        files = [str(path) for path in write(bundle, target, format=target_format)]
    except DataError as error:  # the format of the target is --to here
        hint = error.hint.replace("{format}", "--to")
        raise DataError(error.reason, file=error.file, line=error.line, hint=hint) from error
    if not json:
        for note in bundle.notes:
            make_console(stderr=True).print(f"Note: {note}", soft_wrap=True)
    emit({"files": files, "notes": list(bundle.notes)}, _lister(files), json=json)


def _lister(files: list[str]) -> Any:
    """Return what prints the names of files, one a line."""
    return lambda console: print(*files, sep="\n")
