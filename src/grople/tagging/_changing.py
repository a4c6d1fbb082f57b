"""Rows added to a tagger and removed from it, exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import scipy.sparse as sp

from grople import metrics
from grople.baselines import MEASURES, Report
from grople.datasets import spread_labels
from grople.errors import DataError
from grople.tagging._examples import Examples, Found
from grople.tagging._features import rows_of
from grople.tagging._fitting import Tagger, named_labels, no_report

__all__ = ["Change", "change_tagger"]


@dataclass(frozen=True)
class Change:
    """What adding or removing rows did.

    Attributes
    ----------
    added, removed : int
        Rows.
    rows : int
        Rows that the model is learnt from now.
    new_labels : tuple of str
        Labels that it did not know before.
    before : dict
        Measures of the model before the change on the rows that were added, which it had not seen.
    forgotten : dict or None
        What the removal did, for an auditor (:meth:`grople.GroPLE.forgetting_report`).
    """

    added: int
    removed: int
    rows: int
    new_labels: tuple[str, ...]
    before: dict[str, float]
    forgotten: dict[str, Any] | None = None


def change_tagger(
    tagger: Tagger,
    *,
    add: Found | Examples | None = None,
    remove: Found | Examples | None = None,
    report: Report = no_report,
) -> tuple[Tagger, Change]:
    """Add rows to a tagger and remove rows from it, exactly.

    The vocabulary of texts and its weights stay as they were, so the model becomes the one that a
    fit on all remaining rows, with these features, would give, to the last bit.
    """
    model = tagger.model
    if not hasattr(model, "partial_fit"):
        raise ValueError(f"rows cannot be added to a {type(model).__name__}: fit it again")
    known = list(map(str, model.classes_))
    before: dict[str, float] = {}
    added = removed = 0
    forgotten = None
    if add is not None:
        report("adding rows", 0, 3)
        examples = tagger.examples(add)
        X = rows_of(tagger.features, examples)
        before = _measured(
            tagger.classifier, X, spread_labels(examples.Y, examples.label_names, known)
        )
        model.partial_fit(X, named_labels(examples.Y, examples.label_names))
        added = int(X.shape[0])
    if remove is not None:
        report("removing rows", 1, 3)
        examples = tagger.examples(remove)
        X = rows_of(tagger.features, examples)
        try:
            model.forget(X, named_labels(examples.Y, examples.label_names))
        except ValueError as error:
            raise DataError(str(error), file=examples.source) from error
        removed = int(X.shape[0])
        forgotten = model.forgetting_report()
    report("solving", 2, 3)
    _ = model.fitted_model_  # solved now, not when the model is first used
    fresh = tuple(str(label) for label in model.classes_[len(known) :])
    notes = {key: value for key, value in tagger.notes.items() if key != "quality"}
    change = Change(added, removed, model.summary_.n_rows, fresh, before, forgotten)
    report("changed", 3, 3)
    return replace(tagger, model=model, notes=notes), change


def _measured(model: Any, X: Any, truth: Any) -> dict[str, float]:
    predicted = sp.csr_array(model.predict(X))
    predicted.resize(truth.shape)  # labels that the model does not know are given to no row
    return {
        measure: float(getattr(metrics, measure)(truth, predicted, zero_division=0.0))
        for measure in MEASURES
    }
