"""What a second look at the candidates of each row gains, and whether probabilities hold.

One seeded split, four fifths to learn from, rows of unit length, GroPLE's scores: the same for both
decisions. Each measure is that of the rule which maximises it; 0/0 counts 0.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from benchmarks import data_folder, table
from grople import GroPLE
from grople.datasets import read
from grople.decision import METRIC_RULES, Rule
from grople.metrics import evaluate, precision_at_k, top_label_calibration_error

#: A minute or two of work that says nothing of speed: only run when asked for.
ON_REQUEST = True
DATASETS = ("medical", "rcv1subset1", "rcv1subset1-repaired", "corel5k", "bibtex")
QUICK = ("medical",)
#: Labels of a row whose probabilities are compared with what happened.
TOP = 5


def measured(model: GroPLE, X: Any, truth: Any, context: bool) -> list[str]:
    """Return the four measures, precision at 1 and the calibration error on test rows."""
    found = []
    for name in METRIC_RULES:
        model.set_params(decision=Rule(name, context=context))
        found.append(evaluate(truth, model.predict(X))[name])
    chances = model.predict_proba(X)
    # The plain curve is monotone, so that scores are its ranking, without its ties.
    ranking = chances if context else model.decision_function(X)
    found += [
        precision_at_k(truth, ranking, 1),
        top_label_calibration_error(truth, chances, top=TOP),
    ]
    return [f"{value:.3f}".removeprefix("0") for value in found]


def run(quick: bool = False) -> str:
    folder = data_folder()
    if folder is None:
        return "The data sets are not here: set GROPLE_DATA."
    rows = []
    for name in QUICK if quick else DATASETS:
        data = read(folder / "npz" / f"{name}.npz")
        X = normalize(data.X)
        order = np.random.default_rng(0).permutation(data.n_rows)
        train, test = np.split(order, [data.n_rows * 4 // 5])
        started = time.process_time()
        model = GroPLE(random_state=0).fit(X[train], data.Y[train])
        chosen = "yes" if model.decision_.decoder is not None else "no"
        seconds = time.process_time() - started
        for context in (False, True):
            kind = "second look" if context else "calibrated scores"
            cells = measured(model, X[test], data.Y[test], context)
            rows.append([name, kind, *cells, chosen if context else "", f"{seconds:.0f}"])
            name, seconds = "", 0.0
        rows[-1][-1] = ""
    head = ["data", "probabilities", "accuracy", "example-F1", "macro-F1", "micro-F1", "P@1",
            f"ECE@{TOP}", "by default", "CPU s"]  # fmt: skip
    return table(head, rows)
