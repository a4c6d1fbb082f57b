"""Whether features that are not linear pay in front of GroPLE: Nyström's, of a Gaussian kernel.

Dense data, scaled features, five folds (the authors' where they are known), each measure under the
decision for it. The width of the kernel is the one given, in features: γ = width / D.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import data_folder, table
from grople import GroPLE
from grople.decision import METRIC_RULES
from grople.metrics import evaluate
from grople.study.splits import FOLDS, split

#: Minutes of work that says nothing of speed: only run when asked for.
ON_REQUEST = True
DATASETS = ("CAL500", "mediamill-reduced")
QUICK = ("CAL500",)
WIDTHS = (0.1, 0.3)
#: Rows that Nyström's features compare each row with.
LANDMARKS = 400


def measured(dataset: str, folds: int, front: list[Any]) -> list[str]:
    """Return the means over folds of each measure, and the processor seconds of a fit."""
    found, seconds = [], 0.0
    for fold in range(folds):
        part = split(dataset, fold)
        before = make_pipeline(StandardScaler(), *front)
        started = time.process_time()
        X = before.fit_transform(part.X)
        model = GroPLE(random_state=0).fit(X, part.B)
        seconds += time.process_time() - started
        X_test = before.transform(part.X_test)
        found.append(
            [
                evaluate(part.B_test, model.set_params(decision=name).predict(X_test))[name]
                for name in METRIC_RULES
            ]
        )
    means = np.mean(found, axis=0)
    return [*(f"{value:.4f}" for value in means), f"{seconds / folds:.1f}"]


def run(quick: bool = False) -> str:
    if data_folder() is None:
        return "The data sets are not here: set GROPLE_DATA."
    rows = []
    for name in QUICK if quick else DATASETS:
        folds = 2 if quick else FOLDS
        fronts: dict[str, list[Any]] = {"none": []}
        for width in WIDTHS:
            gamma = width / split(name, 0).X.shape[1]
            fronts[f"Nyström, width {width}"] = [
                Nystroem(gamma=gamma, n_components=LANDMARKS, random_state=0)
            ]
        for label, front in fronts.items():
            shown = name if label == "none" else ""
            rows.append([shown, label, *measured(name, folds, front)])
    head = ["data", "in front", "accuracy", "example-F1", "macro-F1", "micro-F1", "CPU s a fit"]
    return table(head, rows)
