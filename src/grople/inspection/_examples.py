"""Rows that show what a model can do: easy, typical, hard, and one with a rare label found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.inspection._quality import frequency_thirds
from grople.inspection._table import Cell, Table
from grople.metrics import counts

__all__ = ["Example", "choose_examples"]

Array = NDArray[Any]

#: Features of a hard row that are named.
NAMED_FEATURES = 6


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
        given = {label for label, _ in self.predicted}
        rows: list[list[Any]] = []
        for label, chance in self.predicted:
            right = label in self.true
            verdict = (
                Cell("right", "✓ right", shade=0.4)
                if right
                else Cell("wrong", "✗ wrong", shade=-0.4)
            )
            rows.append([label, Cell(chance, f"{chance:.0%}"), verdict])
        rows += [
            [Cell(label, emphasis="muted"), None, Cell("missed", "– missed", "muted")]
            for label in self.true
            if label not in given
        ]
        caption = f"**{self.title}**: {self.name}"
        return Table(["label", "probability", "verdict"], rows, caption, self.remark)


def choose_examples(
    model: Any,
    X: Any,
    Y: Any,
    *,
    row_names: Sequence[str] | Array,
    label_names: Sequence[str],
    feature_names: Sequence[str],
) -> list[Example]:
    """Return up to four rows that the model has not seen, each for another reason.

    Parameters
    ----------
    model : estimator
        A fitted model that knows how often each label occurred.
    X, Y : csr_array
        Rows it has not seen, and their labels.
    row_names, label_names, feature_names : sequence of str
        What they are called.
    """
    predicted, chances = model.predict(X), np.asarray(model.predict_proba(X))
    outline = model.fitted_model_.outline
    frequency = np.asarray(outline.labels.counts)
    found = counts(Y, predicted)
    scores = 2 * found.row_tp / np.maximum(found.row_true + found.row_pred, 1)
    right = Y.multiply(predicted).tocsr()
    chosen: dict[str, tuple[int, str]] = {}

    def choose(title: str, candidates: Array, keys: Sequence[Array], remark: Any) -> None:
        """Take the candidate whose keys are smallest, of those not yet taken."""
        free = candidates & ~np.isin(np.arange(len(scores)), [row for row, _ in chosen.values()])
        if free.any():
            order = np.lexsort([np.where(free, key, np.inf) for key in reversed(keys)])
            chosen[title] = (int(order[0]), remark(int(order[0])))

    many = found.row_true >= np.mean(found.row_true)
    surest = np.array([-chances[i, right[[i]].indices].min(initial=1.0) for i in range(len(many))])
    choose(
        "An easy one", many & (scores == 1), [surest],
        lambda i: f"All {found.row_true[i]} labels are right and none is missed.",
    )  # fmt: skip
    rare = np.isin(np.arange(len(frequency)), frequency_thirds(frequency)["rare"])
    hits = right[:, rare]
    best = np.array([-scores[i] if hits[[i]].nnz else 0.0 for i in range(len(many))])
    choose(
        "A rare label found", np.diff(hits.indptr) > 0, [best, surest],
        lambda i: _rare_words(right[[i]].indices, frequency, rare, label_names, outline.n_rows),
    )  # fmt: skip
    mixed = (found.row_tp >= 2) & (found.row_pred > found.row_tp) & (found.row_true > found.row_tp)
    choose(
        "A typical one", mixed,
        [np.abs(scores - np.median(scores)), np.abs(found.row_true - np.mean(found.row_true))],
        lambda i: f"{found.row_tp[i]} of {found.row_pred[i]} labels given are right, and "
        f"{found.row_tp[i]} of {found.row_true[i]} are found; the usual row is about as good.",
    )  # fmt: skip
    known = np.diff(X.indptr)
    choose(
        "A hard one", found.row_true >= 2, [scores, known],
        lambda i: _hard_words(i, X, Y, predicted, frequency, label_names, feature_names),
    )  # fmt: skip
    shown = ("An easy one", "A typical one", "A hard one", "A rare label found")
    return [
        _example(title, *chosen[title], row_names, label_names, Y, predicted, chances)
        for title in shown
        if title in chosen
    ]


def _example(
    title: str,
    row: int,
    remark: str,
    row_names: Sequence[str] | Array,
    label_names: Sequence[str],
    Y: Any,
    predicted: Any,
    chances: Array,
) -> Example:
    given = predicted[[row]].indices
    given = given[np.argsort(-chances[row, given], kind="stable")]
    return Example(
        title,
        str(row_names[row]),
        remark,
        tuple(str(label_names[j]) for j in Y[[row]].indices),
        tuple((str(label_names[j]), float(chances[row, j])) for j in given),
    )


def _rare_words(
    labels: Array, frequency: Array, rare: Array, names: Sequence[str], n_rows: float
) -> str:
    label = min((j for j in labels if rare[j]), key=lambda j: frequency[j])
    carried = f"{frequency[label]:,.0f} of them carry {names[label]}"
    return f"The model was fitted on {n_rows:,.0f} rows; {carried}."


def _hard_words(
    row: int,
    X: Any,
    Y: Any,
    predicted: Any,
    frequency: Array,
    label_names: Sequence[str],
    feature_names: Sequence[str],
) -> str:
    """Return why a row is hard: little is known of it, or its labels are rare."""
    features, usual = X[[row]].indices, float(np.median(np.diff(X.indptr)))
    named = ", ".join(str(feature_names[j]) for j in features[:NAMED_FEATURES])
    more = ", …" if len(features) > NAMED_FEATURES else ""
    if len(features) <= usual / 2:
        return (
            f"Why: only {len(features)} features are known of it ({named}{more}); "
            f"a row usually has {usual:.0f}."
        )
    missed = np.setdiff1d(Y[[row]].indices, predicted[[row]].indices)
    listed = ", ".join(f"{label_names[j]} on {frequency[j]:,.0f} rows" for j in missed[:3])
    return f"Why: what is known of it ({named}{more}) speaks for other labels; missed: {listed}."
