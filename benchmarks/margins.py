"""What margins gain, by data set: measured inside the training rows of the first fold.

Four fifths of them are learnt from and one is measured, three times over, sparse rows of unit
length, dense features scaled, each measure under the decision for it. Differences to GroPLE as it
comes, for example-F1 with the 95 % interval of the mean over all rows that were measured. The last
column is time, in proportion.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import data_folder, table
from benchmarks.options import usual
from grople import GroPLE
from grople.decision import METRIC_RULES
from grople.folds import MultilabelStratifiedKFold
from grople.metrics import evaluate
from grople.study import load_fold

#: Ten minutes of work that say little of speed: only run when asked for.
ON_REQUEST = True
DATASETS = (
    "genbase-authors", "medical", "CAL500", "corel5k", "rcv1subset1", "rcv1subset1-repaired",
    "rcv1subset2-repaired", "bibtex", "corel16k001", "delicious",
)  # fmt: skip
QUICK = ("genbase-authors", "CAL500")
MARGINS = (0.3, 1.0)
REPEATS = 3


def example_ratios(true: Any, given: Any) -> Any:
    """Return the F1 of each row, 0/0 as 0."""
    hits = np.asarray(true.multiply(given).sum(axis=1)).ravel()
    both = np.asarray(true.sum(axis=1)).ravel() + np.asarray(given.sum(axis=1)).ravel()
    return 2 * hits / np.maximum(both, 1)


def held_out(X: Any, B: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield rows and labels to learn from and to measure, for each repeat."""
    folds = MultilabelStratifiedKFold(5, random_state=0).split(B, B)
    for fit, held in list(folds)[:REPEATS]:
        front = usual(X)
        yield front.fit_transform(X[fit]), B[fit], front.transform(X[held]), B[held]


def measured(X: Any, B: Any, margin: float) -> tuple[Any, Any, float]:
    """Return the measures (mean over the repeats), the F1 of rows, and seconds of a fit."""
    found, rows, spent = [], [], 0.0
    for inside, fit, new, held in held_out(X, B):
        started = time.process_time()
        model = GroPLE(margin=margin, random_state=0).fit(inside, fit)
        spent += time.process_time() - started
        values = []
        for name in METRIC_RULES:
            given = model.set_params(decision=name).predict(new)
            values.append(evaluate(held, given)[name])
            if name == "example_f1":
                rows.append(example_ratios(held, given))
        found.append(values)
    return np.mean(found, axis=0), np.concatenate(rows), spent / REPEATS


def interval(differences: Any) -> str:
    """Return a mean difference with its 95 % interval over rows, in thousandths."""
    mean = 1e3 * differences.mean()
    half = 1.96e3 * differences.std() / np.sqrt(len(differences))
    bold = "**" if abs(mean) > half else ""
    return f"{bold}{mean:+.1f} ± {half:.1f}{bold}"


def run(quick: bool = False) -> str:
    if data_folder() is None:
        return "The data sets are not here: set GROPLE_DATA."
    rows = []
    for name in QUICK if quick else DATASETS:
        part = load_fold(name, 0)
        plain, plain_rows, seconds = measured(part.X, part.B, 0.0)
        for margin in MARGINS:
            values, each, spent = measured(part.X, part.B, margin)
            shown = [f"{1e3 * gain:+.1f}" for gain in values - plain]
            at = list(METRIC_RULES).index("example_f1")
            shown[at] = interval(each - plain_rows)
            rows.append([name, f"{margin:g}", *shown, f"{spent / seconds:.1f}×"])
    head = ["data", "margin", "accuracy", "example-F1", "macro-F1", "micro-F1", "time"]
    return table(head, rows)
