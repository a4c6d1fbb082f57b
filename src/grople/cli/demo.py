"""``grople demo``: compare and inspect, on the embedded data set."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grople.baselines import METHODS, Comparison, make_method
from grople.cli.card import show_card
from grople.cli.console import emit, make_console, progress
from grople.cli.inspect import show_parts
from grople.cli.options import Json, Quiet, check_target
from grople.cli.quality import quality_table
from grople.datasets import Summary, describe, load
from grople.errors import MissingExtraError
from grople.folds import MultilabelStratifiedKFold
from grople.inspection import (
    Columns,
    Example,
    Facts,
    ModelReport,
    Section,
    choose_examples,
    group_table,
    inspect_model,
    model_page,
    share_words,
    write_text,
)
from grople.metrics import counts
from grople.tagging import compare_on, named_labels

__all__ = ["demo"]

#: Methods that are compared, and the folds they are compared on.
COMPARED, FOLDS = ("constant", "plst", "grople"), 3


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The report to write.")
    ] = Path("grople-demo.html"),
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Go through the embedded data set, tags of Debian packages, from start to finish.

    Shows what is in the data, how good GroPLE is next to two yardsticks, what it says of packages
    it has not seen and which groups of labels it found; writes all of it into one HTML page. The
    same for your own data: `grople compare`, `grople fit` and `grople inspect`.
    """
    check_target(output)
    bundle = load("debtags-mini")
    card = describe(bundle)
    if not (json or quiet):
        show_card(card, make_console())
    with progress(quiet or json) as report:
        estimators = {METHODS[name].title: make_method(name) for name in COMPARED}
        compared = compare_on(bundle, estimators, n_folds=FOLDS, report=report)
        report("a model to look into", 0, 2)
        train, test = next(
            MultilabelStratifiedKFold(FOLDS, random_state=0).split(bundle.X, bundle.Y)
        )
        model = make_method("grople").fit(
            bundle.X[train], named_labels(bundle.Y[train], bundle.label_names)
        )
        found = inspect_model(model, bundle.feature_names, comparison=compared.to_dict())
        examples = choose_examples(model, bundle, test)
        right = counts(bundle.Y[test], model.predict(bundle.X[test]))
        words = share_words(right.micro_precision(), right.micro_recall())
        report("report", 1, 2)
        written, trouble = _write_report(output, card, words, examples, found)
    plain = {
        "data": card.to_dict(),
        "report": written,
        "comparison": compared.to_dict(),
        "groups": found.to_dict()["groups"],
        "examples": [asdict(each) for each in examples],
    }

    def show(console: Console) -> None:
        _show(compared, words, examples, found, console)
        console.print(f"wrote {written}" if written else trouble, soft_wrap=True)

    emit(plain, show, json=json, quiet=quiet)


def _show(
    compared: Comparison, words: str, examples: list[Example], found: ModelReport, console: Console
) -> None:
    console.print()
    console.print(quality_table(compared))
    console.print()
    tables = [example.table() for example in examples]
    told = f"{words}, on packages it has not seen; four of them:"
    show_parts([told, *tables, group_table(found, len(found.groups))], console)


def _write_report(
    path: Path, card: Summary, words: str, examples: list[Example], found: ModelReport
) -> tuple[str | None, str]:
    """Write the page; return where it is, or why there is none."""
    try:
        write_text(path, _page(card, words, examples, found))
    except MissingExtraError as missing:  # the rest of the demonstration needs no extra
        return None, f"no report: {missing}"
    return str(path.resolve()), ""


def _page(card: Summary, words: str, examples: list[Example], found: ModelReport) -> str:
    facts = Facts(
        [
            ("rows", card.instances, f"{card.label_sets:,} distinct label sets"),
            ("features", card.features, f"{card.feature_density:.2%} not zero"),
            ("labels", card.labels, f"on {card.density:.2%} of the rows in the mean"),
            ("labels a row", card.cardinality, f"at most {card.max_labels_in_row}"),
        ]
    )
    tables = Columns([example.table() for example in examples])
    told = (
        f"{words}, on {card.instances // FOLDS:,} packages, known by words of their descriptions."
    )
    sections = [
        Section("data", "The data", [card.source or "", facts, *card.notes, *card.warnings]),
        Section("examples", "Four packages it has not seen", [told, tables]),
    ]
    return model_page(found, title="A walk through GroPLE", first=sections)
