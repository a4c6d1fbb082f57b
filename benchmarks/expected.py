"""Sets of labels by the expected measure, against sets by the ratio of expectations.

The ratio of expectations, ``Σ_given p / (k + Σp − Σ_given p)`` for accuracy and
``2 Σ_given p / (k + Σp)`` for example-F1, is what is usually maximised. What it loses of the
expected measure (its regret) by the probabilities of the model, and of the measure itself: all
inside the training rows of the first fold, four fifths learnt from and one measured, three times
over. Intervals are over rows.
"""

from __future__ import annotations

import time
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import data_folder, table
from benchmarks.margins import DATASETS, QUICK, example_ratios, held_out, interval
from grople import GroPLE
from grople.decision import best_prefix, expected_measures
from grople.decision import model as room
from grople.study.splits import split

#: Two minutes of work that say little of speed: only run when asked for.
ON_REQUEST = True


def accuracy_ratios(true: Any, given: Any) -> Any:
    """Return Jaccard's measure of each row, 0/0 as 0."""
    f1 = example_ratios(true, given)
    return f1 / (2 - f1)


MEASURES = {"accuracy": accuracy_ratios, "example_f1": example_ratios}


def by_ratio(chances: Any, expected: Any, rule: str) -> Any:
    """Return how many labels to take by the ratio of expectations (the same for both measures)."""
    gained, sizes = np.cumsum(chances, axis=1), np.arange(1.0, chances.shape[1] + 1.0)
    return np.argmax(gained / (sizes + expected[:, None]), axis=1) + 1


def measured(X: Any, B: Any, rule: str) -> tuple[Any, Any, Any, list[float]]:
    """Return the measure of every row by ratio and by expectation, regrets, and seconds of both."""
    values: list[list[Any]] = [[], []]
    regrets: list[Any] = []
    seconds = [0.0, 0.0]

    def regretted(chances: Any, expected: Any, rule: str) -> Any:
        sizes = by_ratio(chances, expected, rule)
        found = expected_measures(chances, expected, rule)
        regrets.append(found.max(axis=1) - found[np.arange(len(found)), sizes - 1])
        return sizes

    for inside, fit, new, held in held_out(X, B):
        model = GroPLE(decision=rule, random_state=0).fit(inside, fit)
        model.predict(new)  # fits the decision
        for number, how in enumerate((by_ratio, best_prefix)):
            with patch.object(room, "best_prefix", how):
                started = time.process_time()
                values[number].append(MEASURES[rule](held, model.predict(new)))
                seconds[number] += time.process_time() - started
        with patch.object(room, "best_prefix", regretted):
            model.predict(new)
    ratio, exact = map(np.concatenate, values)
    return ratio, exact, np.concatenate(regrets), seconds


def run(quick: bool = False) -> str:
    if data_folder() is None:
        return "The data sets are not here: set GROPLE_DATA."
    rows = []
    for name in QUICK if quick else DATASETS:
        part = split(name, 0)
        for rule in MEASURES:
            ratio, exact, regret, seconds = measured(part.X, part.B, rule)
            rows.append(
                [
                    name,
                    rule,
                    f"{1e3 * regret.mean():.1f}",
                    f"{1e3 * regret.max():.0f}",
                    f"{ratio.mean():.4f}",
                    f"{exact.mean():.4f}",
                    interval(exact - ratio),
                    f"{seconds[1] / seconds[0]:.2f}×",
                ]
            )
    head = ["data", "measure", "mean regret", "largest", "ratio", "expected", "gain", "time"]
    return table(head, rows) + "\n\nRegrets and gains in thousandths."
