"""What the re-ranker of the candidates of each row gains, and whether probabilities hold.

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
from grople.metrics import evaluate, ranks, reliability_curve

#: A minute or two of work that says nothing of speed: only run when asked for.
ON_REQUEST = True
DATASETS = ("medical", "rcv1subset1", "rcv1subset1-repaired", "corel5k", "bibtex")
QUICK = ("medical",)
#: Labels of a row whose probabilities are compared with what happened.
TOP = 5


def measured(model: GroPLE, X: Any, truth: Any) -> list[str]:
    """Return the four measures, precision at 1 and the calibration error on test rows."""
    found = [
        evaluate(truth, model.set_params(decision=name).predict(X))[name] for name in METRIC_RULES
    ]
    chances = model.predict_proba(X)
    # The plain curve is monotone, so that scores are its ranking, without its ties.
    reranked = model.decision_.reranker is not None
    ranking = chances if reranked else model.decision_function(X)
    found += [
        ranks(truth, ranking).precision_at_k(1),
        reliability_curve(truth, chances, top=TOP).error,
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
        seconds = f"{time.process_time() - started:.0f}"
        chosen = "no" if model.decision_.reranker is None else "yes"
        for context in (False, True):
            # Whether there is a re-ranker is settled when a model is fitted.
            model = GroPLE(decision=Rule(context=context), random_state=0)
            model.fit(X[train], data.Y[train])
            kind = "re-ranked" if context else "calibrated scores"
            cells = measured(model, X[test], data.Y[test])
            rows.append([name, kind, *cells, chosen if context else "", seconds])
            name, seconds = "", ""
    head = ["data", "probabilities", "accuracy", "example-F1", "macro-F1", "micro-F1", "P@1",
            f"ECE@{TOP}", "by default", "CPU s"]  # fmt: skip
    return table(head, rows)
