"""Options that several commands share, and the checks that are made before any work."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from grople.cli.console import download_progress
from grople.datasets import READERS, Reading, read_examples
from grople.decision import FITTED_RULES, METRIC_RULES
from grople.errors import DataError
from grople.solver import EXPERTS, GROUPINGS
from grople.tagging import Examples, FeatureSettings, load_embeddings

__all__ = [
    "FEATURES", "PARAMETERS", "READING", "Data", "Decision", "Embeddings", "Hierarchy", "Json",
    "Metric", "Model", "Quiet", "Seed", "check_model_target", "check_target", "feature_settings",
    "make_reading", "one_of", "open_examples", "option", "parse_decision", "takes",
]  # fmt: skip


def one_of(values: Iterable[str]) -> Callable[[str | None], str | None]:
    """Return a check that an option has one of the values."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in values:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(values)}")
        return value

    return check


def option(flags: str, kind: Any, metavar: str, help: str, **more: Any) -> Any:
    """Return the annotation of an option; that of a switch has no metavar."""
    return Annotated[kind, typer.Option(*flags.split(), metavar=metavar or None, help=help, **more)]


def _auto_or(kind: type) -> Callable[[str], Any]:
    """Return what reads a number of a kind, or the word auto."""

    def parse(value: str) -> Any:
        try:
            return value if value == "auto" else kind(value)
        except ValueError:
            raise typer.BadParameter(f"{value!r} is no number, and not auto") from None

    return parse


def _experts(value: str) -> Any:
    names = _names(value)
    if value != "auto" and not (names and set(names) <= set(EXPERTS)):
        raise typer.BadParameter(f"{value!r} is not auto, nor some of {', '.join(EXPERTS)}")
    return "auto" if value == "auto" else list(names)


Text, Switch = str | None, bool | None
#: How a file is read.
READING: dict[str, Any] = {
    "format": option("--format", Text, "FORMAT", "Format of the data, if its content does not "
                     f"tell: {', '.join(READERS)}.", callback=one_of(READERS)),
    "labels": option("--label-columns --labels", Text, "WHICH", "The 0/1 columns that are labels: "
                     "names separated by commas, or prefix*. ARFF: also an XML header or a number "
                     "of columns. MATLAB: a variable."),
    "tags": option("--tags", Text, "NAME", "The column or field that holds the tags [tags]."),
    "text": option("--text", Text, "NAME", "The column or field that holds the text [text]."),
    "features": option("--features", Text, "NAMES",
                       "Columns to learn from: names or prefix*, by commas."),
    "ignore": option("--ignore", Text, "NAMES", "Columns to leave out, by commas."),
    "ids": option("--id", Text, "NAME", "The column or field that names each row."),
    "separator": option("--separator", Text, "TEXT", "What stands between the tags of a cell, '' "
                        "if it holds one tag; by default it is found."),
    "missing": option("--missing", Text, "RULE", "What an empty cell of numbers is: error, zero "
                      "or nan [error].", callback=one_of(("error", "zero", "nan"))),
}  # fmt: skip
#: How records become features: the fields of FeatureSettings.
FEATURES: dict[str, Any] = {
    "normalize": option("--normalize", Switch, "", "Scale rows of numbers to unit length."),
    "pairs": option("--pairs", Switch, "", "Also learn from pairs of features that occur together: "
                    "slower, often better."),
    "max_features": option("--max-features", int | None, "N", "Keep the N most frequent terms of "
                           "texts [15000].", min=1),
    "ngrams": option("--ngrams", int | None, "N", "Longest run of words that is a term [2].",
                     min=1, max=5),
    "characters": option("--characters/--no-characters", Switch, "", "Also learn from runs of "
                         "characters in words; by default where many words are in one text only."),
}  # fmt: skip
#: The parameters of GroPLE, which has the defaults: an option that is not given is not passed on.
PARAMETERS: dict[str, Any] = {
    "n_components": option("--components", Any, "D", "Latent dimensions [auto].",
                           parser=_auto_or(int)),
    "n_groups": option("--groups", Any, "K", "Label groups, or auto [10].", parser=_auto_or(int)),
    "grouping": option("--grouping", Text, "HOW", "How labels are grouped: "
                       f"{', '.join(GROUPINGS)} [spectral].", callback=one_of(GROUPINGS)),
    "lambda_1": option("--lambda-1", float | None, "W", "Weight of U in the embedding [0.001].",
                       min=0.0),
    "lambda_2": option("--lambda-2", float | None, "W", "Weight of the rows of V in groups [1.0].",
                       min=0.0),
    "alpha": option("--alpha", float | None, "W", "Weight of correlated dimensions [0.1].",
                    min=0.0),
    "beta": option("--beta", float | None, "W", "Weight of absolute values of the map [0.0].",
                   min=0.0),
    "gamma": option("--gamma", Any, "W", "Weight of its squares [auto].", parser=_auto_or(float)),
    "margin": option("--margin", float | None, "M", "How far kept rows may move the map to widen "
                     "margins, .3 to begin with [0.0]: slower, better where topics are clear.",
                     min=0.0),
    "experts": option("--experts", Any, "NAMES", "Maps to try, by commas: "
                      f"{', '.join(EXPERTS)}; linear alone is quickest [auto].",
                      parser=_experts),
    "max_kept_rows": option("--max-kept-rows", int | None, "N", "Distinct rows kept for decisions, "
                            "and as many in reserve [20000].", min=0),
}  # fmt: skip

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")]
Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A file with labels, or a name of the catalogue.")
]
Embeddings = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.npy",
        help="Dense features of the records, a row each, as numpy.save writes them.",
    ),
]
Metric = Annotated[
    str | None,
    typer.Option(
        metavar="MEASURE",
        callback=one_of(METRIC_RULES),
        help=f"What decisions (and --search) maximise: {', '.join(METRIC_RULES)} [example_f1].",
    ),
]
Hierarchy = Annotated[
    str | None,
    typer.Option(
        metavar="SEP",
        help="Label names have levels with this between them, such as a::b: labels are learnt and "
        "given together with those above them.",
    ),
]
Decision = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help=f"How scores become labels: {', '.join(FITTED_RULES)}, sign, or a score; by default "
        "as the model was fitted.",
    ),
]
Seed = Annotated[
    int | None, typer.Option(metavar="N", min=0, help="Seed of all that is random [0].")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def takes(name: str, options: Mapping[str, Any]) -> Callable[..., Any]:
    """Give a command options instead of one parameter, which becomes a dict of those given."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run(**values: Any) -> Any:
            given = {key: values.pop(key) for key in options}
            given = {key: value for key, value in given.items() if value is not None}
            return command(**values, **{name: given})

        signature = inspect.signature(command, eval_str=True)
        shown: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            kind = inspect.Parameter.KEYWORD_ONLY
            if parameter.name != name:
                shown.append(parameter.replace(kind=kind))
                continue
            shown += [
                inspect.Parameter(key, kind, default=None, annotation=annotation)
                for key, annotation in options.items()
            ]
        run.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
        return run

    return decorate


def make_reading(given: Mapping[str, Any], base: Reading | None = None) -> Reading:
    """Return how to read a file: as the model remembers it, but for what the person says."""
    if "labels" in given and "tags" in given:
        raise typer.BadParameter("give either --label-columns or --tags, not both")
    base = base or Reading()
    if "labels" in given or "tags" in given:  # what the person says replaces both
        base = replace(base, labels=None, tags=None)
    if "ids" in given:
        base = replace(base, ids_optional=False)
    names = {key: _names(given[key]) for key in ("features", "ignore") if key in given}
    return base.overridden(**{**given, **names})


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def feature_settings(given: Mapping[str, Any]) -> FeatureSettings:
    """Return how records become features, as the person says."""
    return replace(FeatureSettings(), **given)


def open_examples(
    data: str, reading: Reading, embeddings: Path | None = None
) -> tuple[Examples, Reading]:
    """Read a file with labels or a data set of the catalogue, and embeddings of its rows."""
    with download_progress() as progress:
        found, reading = read_examples(data, reading, progress=progress, mixed=True)
    examples = Examples.of(found)
    if embeddings is not None:
        dense = load_embeddings(embeddings, examples.Y.shape[0])
        examples = replace(examples, embeddings=dense)
    return examples, reading


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
