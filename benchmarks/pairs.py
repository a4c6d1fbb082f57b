"""Which pairs of features pay in front of GroPLE: how many of each row, and how heavy.

Measured inside the training rows of the first fold (four fifths of them to learn from, one to
measure), so that the defaults of :class:`~grople.pairs.FeaturePairs` are chosen without a test row
of the study. Rows of unit length, each measure under the decision for it.
"""

from __future__ import annotations

import time
from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from benchmarks import data_folder, table
from grople import GroPLE
from grople.decision import METRIC_RULES
from grople.folds import MultilabelStratifiedKFold
from grople.metrics import evaluate
from grople.pairs import FeaturePairs
from grople.study.splits import split

#: Minutes of work that says nothing of speed: only run when asked for.
ON_REQUEST = True
DATASETS = ("medical", "corel5k", "corel16k001", "rcv1subset1-repaired", "bibtex", "delicious")
QUICK = ("medical", "corel5k")
FRONTS: dict[str, list[Any]] = {
    "no pairs": [],
    "of 10": [FeaturePairs(10)],
    "of 20": [FeaturePairs(20)],
    "of 20, at most 20,000": [FeaturePairs(20, max_pairs=20_000)],
    "of 20, all": [FeaturePairs(20, max_pairs="all")],
    "of 20, weight 0.3": [FeaturePairs(20, weight=0.3)],
    "of 20, weight 1": [FeaturePairs(20, weight=1.0)],
    "of 30, weight 1.5": [FeaturePairs(30, weight=1.5)],
    "of 30, weight 1.5, all": [FeaturePairs(30, weight=1.5, max_pairs="all")],
}


def measured(X: Any, B: Any, front: list[Any]) -> list[str]:
    """Return each measure on a fifth of the rows, the pairs, and the seconds of a fit."""
    fit, held = next(MultilabelStratifiedKFold(5, random_state=0).split(B, B))
    before = make_pipeline(Normalizer(), *front)
    started = time.process_time()
    rows = before.fit_transform(X[fit])
    model = GroPLE(random_state=0).fit(rows, B[fit])
    seconds = time.process_time() - started
    new = before.transform(X[held])
    found = [
        evaluate(B[held], model.set_params(decision=name).predict(new))[name]
        for name in METRIC_RULES
    ]
    pairs = rows.shape[1] - X.shape[1]
    return [*(f"{value:.4f}" for value in found), f"{pairs:,}", f"{seconds:.1f}"]


def run(quick: bool = False) -> str:
    if data_folder() is None:
        return "The data sets are not here: set GROPLE_DATA."
    rows = []
    for name in QUICK if quick else DATASETS:
        part = split(name, 0)
        for label, front in FRONTS.items():
            shown = "" if front else name
            rows.append([shown, label, *measured(part.X, part.B, front)])
    head = [
        "data",
        "of a row",
        "accuracy",
        "example-F1",
        "macro-F1",
        "micro-F1",
        "pairs",
        "CPU s",
    ]
    return table(head, rows)
