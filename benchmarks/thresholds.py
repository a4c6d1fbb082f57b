"""Thresholds for macro-F1: each label's own best, that of its probabilities, and between them.

Fitted on four fifths of the training rows of the first fold and measured on the others (all five
fifths in turn of the small data sets), so that the test rows of no study are seen. Of each label
that has a positive row to learn from; 0/0 counts 0.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from benchmarks import data_folder, table
from grople import GroPLE
from grople.decision import fit_decision, fitting
from grople.folds import MultilabelStratifiedKFold
from grople.metrics import evaluate
from grople.study.splits import split

#: A minute of work that says nothing of speed: only run when asked for.
ON_REQUEST = True
DATASETS = ("genbase-authors", "medical", "CAL500", "corel5k", "rcv1subset1", "rcv1subset2",
            "rcv1subset3", "bibtex", "corel16k001")  # fmt: skip
QUICK = ("genbase-authors", "medical")
#: Rows up to which a data set is small.
SMALL = 1000
#: Positives at which a label's own best threshold weighs half.
GUARDS = {"own": 1e-9, "30": 30.0, "300": 300.0, "probability": 1e9}


def judged(dataset: str) -> dict[str, float]:
    """Return macro-F1 for each guard."""
    part = split(dataset, 0)
    X = normalize(part.X) if sp.issparse(part.X) else part.X
    B = sp.csr_array(part.B)
    found: dict[str, list[float]] = {name: [] for name in GUARDS}
    for rest, held in MultilabelStratifiedKFold(5, random_state=7).split(B, B):
        model = GroPLE(random_state=0).fit(X[rest], B[rest])
        scores = model.decision_function(X[held])
        known = np.flatnonzero(np.asarray(B[rest].sum(axis=0)).ravel())
        for name, guard in GUARDS.items():
            with patch.object(fitting, "GUARD", guard):
                decision: Any = fit_decision("macro_f1", model._solution.evidence)
            given = decision.labels(scores, X[held])
            found[name].append(evaluate(B[held][:, known], given[:, known])["macro_f1"])
        if B.shape[0] > SMALL:
            break
    return {name: float(np.mean(values)) for name, values in found.items()}


def run(quick: bool = False) -> str:
    if data_folder() is None:
        return "The data sets are not here: set GROPLE_DATA."
    every = {name: judged(name) for name in (QUICK if quick else DATASETS)}
    rows = [
        [name, *(f"{value:.3f}".removeprefix("0") for value in found.values())]
        for name, found in every.items()
    ]
    gains = [
        np.mean([np.log(found[guard] / found["own"]) for found in every.values()])
        for guard in GUARDS
    ]
    rows.append(["mean gain", *(f"{100 * np.expm1(gain):+.1f} %" for gain in gains)])
    return table(["macro-F1", *GUARDS], rows)
