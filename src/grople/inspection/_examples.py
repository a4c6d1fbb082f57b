"""Rows that show what a model can do: easy, typical, hard, and one with a rare label found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.datasets import Bundle
from grople.inspection._quality import frequency_thirds
from grople.inspection._table import Cell, Table
from grople.metrics import counts

__all__ = ["Example", "choose_examples"]

Array = NDArray[Any]

#: Features of a hard row that are named, and labels that it missed.
NAMED = 6


@dataclass(frozen=True)
class Example:
    """A row that the model has not seen: why it is shown, what it carries, what was predicted."""

    title: str
    name: str
    remark: str
    true: tuple[str, ...]
    predicted: tuple[tuple[str, float], ...]

    def table(self) -> Table:
        """Return the labels with their probabilities and whether they were right."""
        right, wrong = Cell("right", "✓ right", shade=0.4), Cell("wrong", "✗ wrong", shade=-0.4)
        rows: list[list[Any]] = [
            [label, Cell(chance, f"{chance:.0%}"), right if label in self.true else wrong]
            for label, chance in self.predicted
        ]
        missed = set(self.true) - {label for label, _ in self.predicted}
        rows += [
            [Cell(label, emphasis="muted"), None, Cell("missed", "– missed", "muted")]
            for label in sorted(missed)
        ]
        caption = f"**{self.title}**: {self.name}"
        return Table(["label", "probability", "verdict"], rows, caption, self.remark)


def choose_examples(model: Any, data: Bundle, rows: Array) -> list[Example]:
    """Return up to four rows that the model has not seen, each for another reason.

    Parameters
    ----------
    model : estimator
        A fitted model that knows how often each label occurred.
    data : Bundle
        The data.
    rows : ndarray of int
        Which of its rows the model has not seen.
    """
    X, Y = data.X[rows], data.Y[rows]
    predicted, chances = model.predict(X), np.asarray(model.predict_proba(X))
    found, right = counts(Y, predicted), Y.multiply(predicted).tocsr()
    f1 = 2 * found.row_tp / np.maximum(found.row_true + found.row_pred, 1)
    outline = model.fitted_model_.outline
    frequency = np.asarray(outline.labels.counts)
    rare = np.isin(np.arange(len(frequency)), frequency_thirds(frequency)["rare"])
    # How sure the model is of the least certain label that is right.
    least = np.array([chances[i, right[[i]].indices].min(initial=1.0) for i in range(len(rows))])
    usual = found.row_true.mean()
    mixed = (found.row_tp >= 2) & (found.row_pred > found.row_tp) & (found.row_true > found.row_tp)
    # For each reason the rows that qualify, and what the best of them has least of.
    reasons = {
        "An easy one": ((f1 == 1) & (found.row_true >= usual), [-least]),
        "A rare label found": (np.diff(right[:, rare].indptr) > 0, [-f1, -least]),
        "A typical one": (mixed, [np.abs(f1 - np.median(f1)), np.abs(found.row_true - usual)]),
        "A hard one": (found.row_true >= 2, [f1, np.diff(X.indptr)]),
    }
    taken: dict[str, int] = {}
    for title, (qualified, keys) in reasons.items():
        free = np.setdiff1d(np.flatnonzero(qualified), list(taken.values()))
        if len(free):
            taken[title] = int(free[np.lexsort([key[free] for key in reversed(keys)])[0]])

    def remark(title: str, i: int) -> str:
        if title == "An easy one":
            return f"All {found.row_true[i]} labels are right and none is missed."
        if title == "A typical one":
            given = f"{found.row_tp[i]} of {found.row_pred[i]} labels given are right"
            return f"{given}, and {found.row_tp[i]} of {found.row_true[i]} are found."
        if title == "A hard one":
            return _hard_words(data, X, i, np.setdiff1d(Y[[i]].indices, predicted[[i]].indices))
        label = min((j for j in right[[i]].indices if rare[j]), key=lambda j: frequency[j])
        carried = f"{frequency[label]:,.0f} of them carry {data.label_names[label]}"
        return f"The model was fitted on {outline.n_rows:,.0f} rows; {carried}."

    examples = []
    for title in ("An easy one", "A typical one", "A hard one", "A rare label found"):
        if title in taken:
            i = taken[title]
            labels = predicted[[i]].indices
            labels = labels[np.argsort(-chances[i, labels], kind="stable")]
            name = data.row_names[rows[i]] if data.row_names else f"row {rows[i]}"
            true = tuple(data.label_names[j] for j in Y[[i]].indices)
            given = tuple((data.label_names[j], float(chances[i, j])) for j in labels)
            examples.append(Example(title, str(name), remark(title, i), true, given))
    return examples


def _hard_words(data: Bundle, X: Any, i: int, missed: Array) -> str:
    """Return why a row is hard: little is known of it, or that speaks for other labels."""
    features, usual = X[[i]].indices, float(np.median(np.diff(X.indptr)))
    named = ", ".join(data.feature_names[j] for j in features[:NAMED])
    named += ", …" if len(features) > NAMED else ""
    if len(features) <= usual / 2:
        known = f"only {len(features)} features are known of it"
        return f"Why: {known} ({named}); a row usually has {usual:.0f}."
    labels = ", ".join(data.label_names[j] for j in missed[:NAMED])
    return f"Why: what is known of it ({named}) speaks for other labels than {labels}."
