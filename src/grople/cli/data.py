"""``grople data``: the catalogue, data cards, downloads and conversions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from grople.cli.card import show_card
from grople.cli.console import download_progress, make_console, print_json
from grople.cli.options import Json, one_of

if TYPE_CHECKING:
    from grople.datasets import Bundle, Entry

__all__ = ["app", "open_data"]

app = typer.Typer(
    help="Find, describe, download and convert data sets.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

# What grople.datasets knows, which is not imported until a command needs it.
READERS = (
    "arff", "extreme", "libsvm", "matlab", "npz", "npy", "csv", "tsv", "parquet", "excel", "jsonl",
    "lines",
)  # fmt: skip
WRITERS = ("npz", "extreme", "arff")
FIGURES = ("instances", "features", "labels", "cardinality")

Labels = Annotated[
    str | None,
    typer.Option(
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
        metavar="FORMAT",
        callback=one_of(READERS),
        help=f"Format of the input, if not clear: {', '.join(READERS)}.",
    ),
]
TargetFormat = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="FORMAT",
        callback=one_of(WRITERS),
        help=f"Format of the output, if not clear: {', '.join(WRITERS)}.",
    ),
]


def open_data(name_or_file: str, *, format: str | None = None, labels: str | None = None) -> Bundle:
    """Return the bundle of a file or of a data set of the catalogue."""
    from grople.datasets import is_a_file, load, read

    if format or labels or is_a_file(name_or_file):
        return read(name_or_file, format=format, labels=labels)
    with download_progress() as progress:
        return load(name_or_file, progress=progress)


@app.command("list", epilog="Example: grople data list")
def list_(json: Json = False) -> None:
    """List the data sets of the catalogue and where they are."""
    from grople.datasets import find, names

    entries = [find(name) for name in names()]
    places = [_place(entry) for entry in entries]
    if json:
        print_json(
            [
                {"name": entry.name, "place": place, "downloadable": bool(entry.files)}
                | {figure: getattr(entry, figure) for figure in FIGURES}
                | {"domain": entry.domain, "about": entry.about}
                for entry, place in zip(entries, places, strict=True)
            ]
        )
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", no_wrap=True)
    for figure in FIGURES:
        table.add_column(figure, justify="right")
    table.add_column("domain")
    table.add_column("where", overflow="fold")
    for entry, place in zip(entries, places, strict=True):
        table.add_row(
            entry.name,
            f"{entry.instances:,}",
            f"{entry.features:,}",
            f"{entry.labels:,}",
            f"{entry.cardinality:.3f}",
            entry.domain,
            place,
        )
    make_console().print(table)


@app.command(
    epilog="\b\nExamples:\n  grople data info medical\n"
    "  grople data info mine.arff --labels mine.xml"
)
def info(
    data: Annotated[str, typer.Argument(metavar="NAME_OR_FILE", help="A name or a file.")],
    source_format: SourceFormat = None,
    labels: Labels = None,
    json: Json = False,
) -> None:
    """Show the data card of a data set: size, labels, defects."""
    from grople.datasets import describe

    card = describe(open_data(data, format=source_format, labels=labels))
    if json:
        print_json(card.to_dict())
    else:
        show_card(card, make_console())


@app.command(epilog="Example: grople data fetch medical")
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name of the catalogue.")],
    json: Json = False,
) -> None:
    """Download a data set into the cache, unless it is on this machine already.

    The cache is $GROPLE_CACHE or the usual place for caches; the files come from their pinned
    addresses, or by name from $GROPLE_MIRROR, and must have the recorded content.
    """
    from grople import datasets

    entry = datasets.find(name)
    with download_progress() as progress:
        location = datasets.fetch(entry, progress=progress)
    files = [str(path) for path in location.files]
    if json:
        print_json({"name": entry.name, "place": location.place, "files": files})
        return
    for path in files:
        print(path)


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
    json: Json = False,
) -> None:
    """Convert a data set from one format into another."""
    from grople.datasets import write

    bundle = open_data(source, format=source_format, labels=labels)
    try:
        written = write(bundle, target, format=target_format)
    except ValueError as error:
        raise ValueError(str(error).replace("pass format= (", "pass --to (")) from error
    files = [str(path) for path in written]
    if json:
        print_json({"files": files, "notes": list(bundle.notes)})
        return
    for note in bundle.notes:
        make_console(stderr=True).print(f"Note: {note}", soft_wrap=True)
    for path in files:
        print(path)


def _place(entry: Entry) -> str:
    from grople.datasets import locate

    location = locate(entry)
    if location is not None:
        return location.place
    return "to download" if entry.files else "not here"
