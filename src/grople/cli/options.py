"""Options that several commands share, and reading a file as they say."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grople.cli.console import download_progress, make_console
from grople.decision import FITTED_RULES
from grople.errors import DataError

if TYPE_CHECKING:
    from grople.datasets import Reading
    from grople.tagging.fitting import Examples, Tagger

__all__ = [
    "Alpha", "Beta", "Components", "Data", "Decision", "Features", "Folds", "Format", "Gamma",
    "Grouping", "Groups", "Id", "Ignore", "Jobs", "Json", "KeptRows", "Labels", "Lambda1",
    "Lambda2", "Margin", "MaxFeatures", "Metric", "Missing", "Model", "Ngrams", "Normalize",
    "Pairs", "Quiet", "Seed", "Separator", "Tags", "Text", "block_notes", "check_model_target",
    "check_target", "command_words", "make_reading", "one_of", "open_examples", "parse_decision",
    "remarks", "size_of", "text_settings", "warnings_unless",
]  # fmt: skip

METRICS = ("example_f1", "accuracy", "macro_f1", "micro_f1")
GROUPINGS = ("spectral", "cosine", "kmeans", "hierarchical", "single", "singletons")
FORMATS = (
    "arff", "extreme", "libsvm", "matlab", "npz", "npy", "csv", "tsv", "parquet", "excel", "jsonl",
    "lines",
)  # fmt: skip


def one_of(values: Iterable[str]) -> Callable[[str | None], str | None]:
    """Return a check that an option has one of the values."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in values:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(values)}")
        return value

    return check


def _option(*names: str, metavar: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, **more)


def _auto_or(kind: type) -> Callable[[str], Any]:
    """Return what reads a number of a kind, or the word auto."""

    def parse(value: str) -> Any:
        try:
            return value if value == "auto" else kind(value)
        except ValueError:
            raise typer.BadParameter(f"{value!r} is no number, and not auto") from None

    return parse


Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")]
Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A file with labels, or a name of the catalogue.")
]
Format = Annotated[
    str | None,
    _option(
        "--format",
        metavar="FORMAT",
        callback=one_of(FORMATS),
        help=f"Format of the data, if its content does not tell: {', '.join(FORMATS)}.",
    ),
]
Labels = Annotated[
    str | None,
    _option(
        "--label-columns",
        "--labels",
        metavar="WHICH",
        help="The 0/1 columns that are labels: names separated by commas, or prefix*. ARFF: also "
        "an XML header or a number of columns. MATLAB: a variable.",
    ),
]
Tags = Annotated[
    str | None,
    _option("--tags", metavar="NAME", help="The column or field that holds the tags [tags]."),
]
Text = Annotated[
    str | None,
    _option("--text", metavar="NAME", help="The column or field that holds the text [text]."),
]
Features = Annotated[
    str | None,
    _option(
        "--features", metavar="NAMES", help="Columns to learn from: names or prefix*, by commas."
    ),
]
Ignore = Annotated[
    str | None, _option("--ignore", metavar="NAMES", help="Columns to leave out, by commas.")
]
Id = Annotated[
    str | None, _option("--id", metavar="NAME", help="The column or field that names each row.")
]
Separator = Annotated[
    str | None,
    _option("--separator", metavar="TEXT", help="What stands between the tags of a cell [;]."),
]
Missing = Annotated[
    str | None,
    _option(
        "--missing",
        metavar="RULE",
        callback=one_of(("error", "zero", "nan")),
        help="What an empty cell is: error, zero or nan [error].",
    ),
]
Normalize = Annotated[
    bool, typer.Option("--normalize", help="Scale rows to unit length (those of texts are).")
]
Pairs = Annotated[
    bool,
    typer.Option(
        "--pairs",
        help="Also learn from pairs of features that occur together: slower, often better.",
    ),
]
# The parameters of GroPLE, which has the defaults: an option that is not given is not passed on.
Components = Annotated[
    Any,
    _option("--components", metavar="D", parser=_auto_or(int), help="Latent dimensions [auto]."),
]
Groups = Annotated[
    Any,
    _option("--groups", metavar="K", parser=_auto_or(int), help="Label groups, or auto [10]."),
]
Grouping = Annotated[
    str | None,
    _option(
        "--grouping",
        metavar="HOW",
        callback=one_of(GROUPINGS),
        help=f"How labels are grouped: {', '.join(GROUPINGS)} [spectral].",
    ),
]
Lambda1 = Annotated[
    float | None,
    _option("--lambda-1", metavar="W", min=0.0, help="Weight of U in the embedding [0.001]."),
]
Lambda2 = Annotated[
    float | None,
    _option("--lambda-2", metavar="W", min=0.0, help="Weight of the rows of V in groups [1.0]."),
]
Alpha = Annotated[
    float | None,
    _option("--alpha", metavar="W", min=0.0, help="Weight of correlated dimensions [0.1]."),
]
Beta = Annotated[
    float | None,
    _option("--beta", metavar="W", min=0.0, help="Weight of absolute values of the map [0.0]."),
]
Gamma = Annotated[
    Any,
    _option("--gamma", metavar="W", parser=_auto_or(float), help="Weight of its squares [auto]."),
]
Margin = Annotated[
    float | None,
    _option(
        "--margin",
        metavar="M",
        min=0.0,
        help="How far kept rows may move the map to widen margins, .3 to begin with [0.0]: "
        "slower, better where topics are clear.",
    ),
]
KeptRows = Annotated[
    int | None,
    _option(
        "--max-kept-rows",
        metavar="N",
        min=0,
        help="Distinct rows kept for decisions, and as many in reserve [20000].",
    ),
]
MaxFeatures = Annotated[
    int | None,
    _option("--max-features", metavar="N", min=1, help="Keep the N most frequent words of texts."),
]
Ngrams = Annotated[
    int, _option("--ngrams", metavar="N", min=1, max=5, help="Longest run of words that counts.")
]
Metric = Annotated[
    str,
    _option(
        "--metric",
        metavar="MEASURE",
        callback=one_of(METRICS),
        help=f"What decisions (and --search) maximise: {', '.join(METRICS)}.",
    ),
]
Decision = Annotated[
    str | None,
    _option(
        "--decision",
        metavar="RULE",
        help=f"How scores become labels: {', '.join(FITTED_RULES)}, sign, or a score; by default "
        "as the model was fitted.",
    ),
]
Folds = Annotated[int, _option("--folds", metavar="N", help="Folds of the cross-validation.")]
Seed = Annotated[int, _option("--seed", metavar="N", min=0, help="Seed of all that is random.")]
Jobs = Annotated[
    int | None, _option("--jobs", metavar="N", help="Labels learnt at a time, where one by one.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def make_reading(
    *,
    format: str | None = None,
    labels: str | None = None,
    tags: str | None = None,
    text: str | None = None,
    features: str | None = None,
    ignore: str | None = None,
    ids: str | None = None,
    separator: str | None = None,
    missing: str | None = None,
    base: Reading | None = None,
) -> Reading:
    """Return how to read a file: as the model remembers it, but for what the person says."""
    from grople.datasets import Reading

    if labels and tags:
        raise typer.BadParameter("give either --label-columns or --tags, not both")
    if labels or tags:  # what the person says replaces both
        base = replace(base or Reading(), labels=None, tags=None)
    if ids:
        base = replace(base or Reading(), ids_optional=False)
    return (base or Reading()).overridden(
        format=format,
        labels=labels,
        tags=tags,
        text=text,
        features=_names(features),
        ignore=_names(ignore),
        ids=ids,
        separator=separator,
        missing=missing,
    )


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def open_examples(data: str, reading: Reading) -> tuple[Examples, Reading]:
    """Read a file with labels or a data set of the catalogue."""
    from grople.datasets import read_examples

    with command_words(), download_progress() as progress:
        return read_examples(data, reading, progress=progress)


def text_settings(max_features: int | None, ngrams: int) -> dict[str, Any]:
    """Return the settings of TF-IDF."""
    return {"max_features": max_features, "ngrams": [1, ngrams]}


def block_notes(tagger: Tagger, max_features: int | None) -> list[str]:
    """Return what a person should know of a fit on a file that was read in blocks."""
    notes = ["read in blocks, so the quality was not measured: try grople evaluate on other rows"]
    if tagger.texts and max_features is None:
        words = f"{tagger.notes['text']['max_features']:,}"
        notes.append(f"at most the {words} most frequent words are kept: see --max-features")
    if tagger.model.summary_.grid.keeps_rows:
        notes.append("so many features that the rows themselves stay in memory: choose fewer")
    return notes


def parse_decision(rule: str | None) -> str | float | None:
    """Return a rule, a number where it is one; one that does not exist is a wrong command."""
    if rule is None or rule in ("sign", *FITTED_RULES):
        return rule
    try:
        return float(rule)
    except ValueError:
        known = ", ".join(FITTED_RULES)
        raise typer.BadParameter(f"--decision is a number, sign or one of {known}") from None


def check_target(path: Path, *sources: str | Path | None) -> Path:
    """Refuse a file that cannot be written, or that is read, before the work is done, not after."""
    if any(_same_file(path, source) for source in sources):
        raise DataError("would be written over while it is read: choose another file", file=path)
    if path.is_dir():
        raise DataError("a folder, not a file to write", file=path)
    if path.exists() and not path.is_file():
        raise DataError("not a regular file: it cannot be replaced", file=path)
    if not path.parent.is_dir():
        raise DataError(f"there is no folder {str(path.parent)!r}", file=path)
    if not os.access(path.parent, os.W_OK):
        raise DataError("no permission to write into its folder", file=path)
    return path


def _same_file(path: Path, source: str | Path | None) -> bool:
    try:
        return source is not None and path.samefile(source)
    except OSError:  # one of them is not there, or not the name of a file
        return False


def check_model_target(path: Path, *sources: str | Path | None) -> Path:
    """Refuse a model file that cannot be written before the work is done."""
    if path.suffix == ".gz":
        raise DataError("a model file is not compressed: leave out .gz", file=path)
    return check_target(path, *sources)


def size_of(path: Path) -> str:
    """Return the size of a file for a reader."""
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"


def remarks(quiet: bool) -> Callable[[str], None]:
    """Return what tells the person something on the standard error, unless asked not to."""
    console = make_console(stderr=True)

    def say(text: str) -> None:
        if not quiet:
            console.print(text, style="yellow", soft_wrap=True)

    return say


@contextmanager
def warnings_unless(quiet: bool) -> Iterator[None]:
    """Keep warnings from the person who asked for quiet."""
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore")
        yield


@contextmanager
def command_words() -> Iterator[None]:
    """Let an error of the data layer name options as the command line spells them."""
    try:
        yield
    except DataError as error:
        placeless = DataError(error.reason, hint=error.hint, options=error.options)
        reason = placeless.spelt(_as_option)
        raise DataError(reason, file=error.file, line=error.line) from error


def _as_option(name: str, value: Any) -> str:
    shown = ",".join(value) if isinstance(value, list) else value
    option = {"labels": "label-columns", "ids": "id"}.get(name, name)
    return f"--{option}" if shown is None else f"--{option} {shown}"
