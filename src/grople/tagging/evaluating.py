"""How good a tagger is on rows it has not seen."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.datasets import spread_labels
from grople.metrics import evaluate
from grople.tagging.changing import widened
from grople.tagging.fitting import Examples, Tagger, labelled_rows
from grople.tagging.predicting import label_names

__all__ = ["Evaluation", "evaluate_tagger"]


@dataclass(frozen=True)
class Evaluation:
    """Measures on labelled rows; 0/0 counts 0.

    Attributes
    ----------
    rows, labels : int
        Rows evaluated, and labels that the model knows.
    unknown_labels : tuple of str
        Labels of the rows that the model does not know: they count as missed.
    decision : str
        The rule that gave the labels.
    measures : dict
        Every measure of :func:`grople.metrics.evaluate`.
    predicted_labels : float
        Labels given to a row, on average.
    true_labels : float
        Labels a row has, on average.
    """

    rows: int
    labels: int
    unknown_labels: tuple[str, ...]
    decision: str
    measures: dict[str, float]
    predicted_labels: float
    true_labels: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def evaluate_tagger(tagger: Tagger, examples: Examples) -> Evaluation:
    """Evaluate a tagger on labelled examples, in blocks.

    Parameters
    ----------
    tagger : Tagger
        What to evaluate.
    examples : Bundle or TextTable
        Rows with their labels.
    """
    model, known = tagger.model, label_names(tagger.model)
    if model._targets.kind != "multilabel":
        raise ValueError("the model gives one class a row, not labels: measure it in Python")
    X, Y, names = labelled_rows(tagger, examples)
    truth = spread_labels(Y, names, known)
    width = truth.shape[1]
    predicted = sp.csr_array(model.predict(X))

    def scores(start: int, stop: int) -> Any:
        known_scores = model.decision_function(X[start:stop])
        if width == len(known):
            return known_scores
        # A label that the model does not know is below all that it does.
        lowest = known_scores.min(initial=0.0) - 1.0
        rest = np.full((known_scores.shape[0], width - len(known)), lowest)
        return np.hstack([known_scores, rest])

    measures = evaluate(truth, widened(predicted, width), scores)
    rows = max(int(X.shape[0]), 1)
    return Evaluation(
        rows=int(X.shape[0]),
        labels=len(known),
        unknown_labels=tuple(sorted(set(names) - set(known))),
        decision=str(model.decision),
        measures={name: float(value) for name, value in measures.items()},
        predicted_labels=float(predicted.nnz / rows),
        true_labels=float(truth.nnz / rows),
    )
