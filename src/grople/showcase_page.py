"""The demonstration as one page: the data, the comparison, held-out rows, and the model."""

from __future__ import annotations

from typing import Any

from grople import __version__
from grople.datasets import Summary
from grople.model_page import add_model
from grople.pages import Block, Cell, Page, Table
from grople.showcase import Example, Showcase

__all__ = ["showcase_page"]

#: The measures as people write them.
NAMES = {
    "accuracy": "accuracy",
    "example_f1": "example-F1",
    "macro_f1": "macro-F1",
    "micro_f1": "micro-F1",
}


def showcase_page(showcase: Showcase, card: Summary | None = None) -> Page:
    """Return the page of a demonstration.

    Parameters
    ----------
    showcase : Showcase
        What :func:`grople.showcase.showcase` found.
    card : Summary, optional
        What :func:`grople.datasets.describe` says of the data.

    Returns
    -------
    Page
    """
    page = Page(
        "A walk through GroPLE",
        "Multi-label learning, from a data set to tags for rows it has not seen",
        f"grople {__version__}. This page is one file: it works offline and loads nothing.",
    )
    if card is not None:
        _data(page, card)
    _comparison(page, showcase)
    _examples(page, showcase)
    add_model(page, showcase.inspection)
    return page


def _data(page: Page, card: Summary) -> None:
    section = page.section("data", "The data", card.source or "")
    section.facts(
        [
            ("rows", card.instances, f"{card.label_sets:,} distinct label sets"),
            ("features", card.features, f"{card.feature_density:.2%} not zero"),
            ("labels", card.labels, f"{card.density:.2%} of all marks set"),
            ("labels a row", card.cardinality, f"at most {card.max_labels_in_row}"),
        ]
    )
    for note in (*card.notes, *card.warnings):
        section.text(note)


def _comparison(page: Page, showcase: Showcase) -> None:
    section = page.section(
        "comparison",
        "How good is it?",
        "Cross-validated, mean ± standard deviation over the folds; 0/0 counts 0. Every method but "
        "the constant prediction decides for example-F1.",
    )
    measures = list(showcase.comparison[0].means)
    rows: list[list[Any]] = []
    for method in showcase.comparison:
        row: list[Any] = [method.method]
        for measure in measures:
            value = method.means[measure]
            best = value == max(other.means[measure] for other in showcase.comparison)
            text = f"{value:.3f} ± {method.deviations[measure]:.3f}"
            row.append(Cell(value, text, "bold" if best else ""))
        row.append(Cell(method.fit_seconds, f"{method.fit_seconds:.1f}"))
        rows.append(row)
    columns = ["method", *(NAMES.get(m, m) for m in measures), "fit, s"]
    section.table(Table(columns, rows, note="Bold: the best of a column."))


def _examples(page: Page, showcase: Showcase) -> None:
    section = page.section(
        "examples",
        "Rows it has not seen",
        "Predicted labels with their probabilities, whether they were right, and what was missed.",
    )
    columns = section.columns()
    for example in showcase.examples:
        _example(columns, example)


def _example(block: Block, example: Example) -> None:
    predicted = {label for label, _ in example.predicted}
    rows: list[list[Any]] = [
        [
            label,
            Cell(chance, f"{chance:.0%}"),
            Cell("right", "✓ right", shade=0.4)
            if label in example.true
            else Cell("wrong", "✗ wrong", shade=-0.4),
        ]
        for label, chance in example.predicted
    ]
    rows += [
        [Cell(label, emphasis="muted"), None, Cell("missed", "missed", "muted")]
        for label in example.true
        if label not in predicted
    ]
    block.table(Table(["label", "probability", "verdict"], rows, caption=example.name))
