"""The nested protocol: everything chosen inside the training rows, test rows seen once.

Each method but trees chooses the form of the rows (raw, of unit length, scaled; a nonlinear one
also with pairs of features, or with those of a kernel), and every one its setting, by folds inside
the training part, for each measure by the decision for that measure; the same calibrated decisions
serve all. Labels without a training positive are left out and 0/0 counts 0, as in the published
table.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from grople.decision import HeldOut, HeldOutBlock, fit_decision
from grople.features import InteractionFeatures
from grople.folds import MultilabelStratifiedKFold
from grople.metrics import Counts
from grople.moments import fold_of, row_keys
from grople.study.methods import Method, find_method
from grople.study.published import METRICS
from grople.study.splits import Split, counted, measured, measures, split
from grople.study.units import Batch, Setting, canonical

__all__ = ["nested"]

Array = NDArray[Any]

#: Folds inside the training part in which everything is chosen.
INNER_FOLDS = 3
#: The measure whose decision is used for all measures in the single-decision results.
SINGLE = "example_f1"
#: Of the kernel's features: its width, in features, and the rows that each row is compared with.
KERNEL_WIDTH, LANDMARKS = 0.3, 400
#: Interaction features, and interaction features that outweigh the others.
PAIRS: dict[str, dict[str, Any]] = {
    "pairs": {"max_pairs": "all"},
    "heavy pairs": {"n_rarest": 30, "weight": 1.5, "max_pairs": "all"},
}


@dataclass(frozen=True)
class Choice:
    """A form of the rows and a setting of the method."""

    rows: str
    setting: Setting

    def to_json(self) -> dict[str, Any]:
        """Return both as one setting."""
        return {"rows": self.rows, **self.setting}

    @classmethod
    def from_json(cls, both: Setting) -> Choice:
        """Return the choice that became such a setting."""
        return cls(both["rows"], {name: v for name, v in both.items() if name != "rows"})


def nested(batch: Batch, wanted: Sequence[Setting]) -> Iterator[tuple[Setting, dict[str, Any]]]:
    """Choose everything inside the training rows, decide for each measure, predict the test rows.

    The result holds each measure under the decision for it and what was chosen for it; under
    ``single`` all measures under the decision for example-F1, under ``fit_seconds`` the processor
    time of a fit, and under ``rows`` the counts of each test row that the measures over rows
    follow from, for comparisons with other methods row by row. Where the batch brings choices,
    those of a unit that was computed before, nothing is searched again.
    """
    fold = split(batch.dataset, batch.fold)
    method = find_method(batch.method)
    in_form = functools.cache(lambda name: _in_form(name, fold))
    for setting in wanted:
        grid = [
            Choice(rows, each)
            for rows in _forms(fold.X, method)
            for each in method.searched(setting["grid"])
        ]
        known = batch.choices.get(canonical(setting))
        if known is None:
            chosen = _chosen(method, in_form, fold.B, grid, batch.seed)
        else:
            chosen = {metric: _known(known[metric], grid, batch) for metric in METRICS}
        result: dict[str, Any] = {}
        rows: dict[str, Any] = {}
        fitted: dict[str, Any] = {}
        seconds = 0.0
        for metric in METRICS:
            choice = chosen[metric]
            X, X_test = in_form(choice.rows)
            name = canonical(choice.to_json())
            if name not in fitted:
                started = time.process_time()
                fitted[name] = _make(method, choice.setting, metric, batch.seed).fit(X, fold.B)
                seconds += time.process_time() - started
            counts = _counts(fitted[name].set_params(decision=metric), X_test, fold.B_test)
            found = measured(counts)
            result[metric] = found[metric]
            rows["true"] = counts.row_true.tolist()
            if metric != "macro_f1":  # which no counts of rows give
                rows[metric] = {"given": counts.row_pred.tolist(), "hits": counts.row_tp.tolist()}
            if metric == SINGLE:
                result["single"] = found
        chosen_json = {metric: choice.to_json() for metric, choice in chosen.items()}
        fits = {"fit_seconds": seconds / len(fitted)}
        yield setting, result | fits | {"chosen": chosen_json, "rows": rows}


def _forms(X: Any, method: Method) -> tuple[str, ...]:
    if not method.scaled:
        return ("raw",)
    if not sp.issparse(X):
        return ("raw", "scaled", "kernel") if method.nonlinear else ("raw", "scaled")
    # Interaction features are of amounts.
    return ("raw", "unit", *PAIRS) if method.nonlinear and X.min() >= 0 else ("raw", "unit")


def _in_form(name: str, fold: Split) -> tuple[Any, Any]:
    if name == "raw":
        return fold.X, fold.X_test
    n_rows, n_features = fold.X.shape
    kernel = Nystroem(
        gamma=KERNEL_WIDTH / n_features, n_components=min(LANDMARKS, n_rows), random_state=0
    )
    front = {
        "unit": (Normalizer(),),
        "scaled": (StandardScaler(),),
        "kernel": (StandardScaler(), kernel),
    } | {pairs: (Normalizer(), InteractionFeatures(**options)) for pairs, options in PAIRS.items()}
    before = make_pipeline(*front[name])
    return before.fit_transform(fold.X), before.transform(fold.X_test)


def _make(method: Method, setting: Setting, decision: Any, seed: int) -> Any:
    model = method.make(**setting, decision=decision)
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=seed)
    return model


def _known(both: Setting, grid: Sequence[Choice], batch: Batch) -> Choice:
    """Return a choice that was made before, if it is one that a search could make now."""
    choice = Choice.from_json(both)
    if choice not in grid:
        raise ValueError(f"{batch}: {canonical(both)} is not among what is searched now")
    return choice


def _counts(model: Any, X: Any, B: Any) -> Counts:
    every = slice(0, B.shape[0])
    return counted(B, [(every, sp.csr_array(model.predict(X)))])


def _chosen(
    method: Method, in_form: Callable[[str], Any], B: Any, grid: Sequence[Choice], seed: int
) -> dict[str, Choice]:
    """Return for each measure the choice with the best mean over folds of the training rows."""
    if len(grid) == 1:
        return dict.fromkeys(METRICS, grid[0])
    totals = {metric: np.zeros(len(grid)) for metric in METRICS}
    splitter = MultilabelStratifiedKFold(INNER_FOLDS, random_state=seed)
    for rest, held in splitter.split(B, B):
        for number, choice in enumerate(grid):
            X, _ = in_form(choice.rows)
            model = _make(method, choice.setting, "sign", seed).fit(X[rest], B[rest])
            scores = model.decision_function(X[held])
            halves = fold_of(row_keys(X[held]), 2)
            for metric, value in _judged(scores, B[held], halves).items():
                totals[metric][number] += value
    return {metric: grid[int(np.argmax(totals[metric]))] for metric in METRICS}


def _judged(scores: Array, B: Any, halves: Array) -> dict[str, float]:
    """Measure scores, each measure under its own decision fitted on the other half of the rows."""
    parts: dict[str, list[Any]] = {metric: [] for metric in METRICS}
    rows = []
    for half in (0, 1):
        fit, use = np.flatnonzero(halves != half), np.flatnonzero(halves == half)
        if not len(fit) or not len(use):
            continue
        block = HeldOutBlock(scores[fit], B[fit])
        held_out = HeldOut.from_blocks([block], scores.shape[1])
        decision = fit_decision(held_out, context=False)
        rows.append(use)
        for metric in METRICS:
            parts[metric].append(decision.labels(scores[use], rule=metric))
    used = np.concatenate(rows)
    every = slice(0, len(used))
    return {
        metric: measures(B[used], [(every, sp.vstack(parts[metric], format="csr"))])[metric]
        for metric in METRICS
    }
