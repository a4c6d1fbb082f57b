"""The context decoder by our network and by scikit-learn's: processor seconds, loss, calibration.

The same candidates of the training rows of one fold; three networks each, every pair judged by the
one that has not seen it. scikit-learn's has a constant step of .003 and twice the passes.
"""

from __future__ import annotations

import time
import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import normalize

from benchmarks import data_folder, table
from grople import GroPLE
from grople.decision import context, fitting
from grople.decision.calibration import entropy_loss
from grople.decision.network import Net, train
from grople.metrics import expected_calibration_error
from grople.study.splits import split

DATASETS = ("medical", "rcv1subset1", "corel5k", "bibtex")
QUICK = ("medical",)
#: Candidates of a row whose probabilities are compared with what happened.
TOP = 5


def theirs(
    inputs: Any, targets: Any, weights: Any, *, hidden: int, batch: int, passes: int, seed: int
) -> Net:
    """Train scikit-learn's network; its first layer takes the inputs as they are."""
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0) + 1e-6
    model = MLPClassifier(
        (hidden, hidden), batch_size=min(batch, len(inputs)), learning_rate_init=3e-3,
        max_iter=2 * passes, n_iter_no_change=2 * passes, random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the number of passes is the stop
        model.fit((inputs - mean) / spread, targets, sample_weight=weights)
    first, *others = model.coefs_
    bias, *biases = model.intercepts_
    first = first / spread[:, None]
    layers = [first, bias - mean @ first]
    for pair in zip(others, biases, strict=True):
        layers += pair
    return tuple(np.asarray(layer, dtype=np.float32) for layer in layers)


def learnt_from(dataset: str) -> tuple[Any, Any]:
    """Return what the decoder of a data set's first fold is learnt from."""
    found: list[tuple[Any, Any]] = []

    def record(evidence: Any, chances: Any, *, forced: bool = False) -> None:
        found.append((evidence, chances))

    part = split(dataset, 0)
    with patch.object(fitting, "fit_context", record):
        GroPLE(random_state=0).fit(normalize(part.X), part.B)
    return found[0]


def run(quick: bool = False) -> str:
    if data_folder() is None:
        return "The data sets are not here: set GROPLE_DATA."
    rows = []
    for name in QUICK if quick else DATASETS:
        evidence, chances = learnt_from(name)
        truth = evidence.candidates.truth
        looked_at = chances > context.LEAST_CHANCE
        times = {}
        for label, network in (("scikit-learn", theirs), ("ours", train)):
            started = time.process_time()
            with patch.object(context, "train", network):
                found = context.fit_context(evidence, chances, forced=True)
            assert found is not None
            times[label] = time.process_time() - started
            loss = entropy_loss(found[1][looked_at], truth[looked_at].astype(float), None)
            best = np.argsort(-found[1], axis=1)[:, :TOP]
            error = expected_calibration_error(
                np.take_along_axis(truth, best, axis=1), np.take_along_axis(found[1], best, axis=1)
            )
            faster = times["scikit-learn"] / times[label]
            rows.append([name, label, f"{times[label]:.2f}", f"{faster:.1f}×", f"{loss:.4f}",
                         f"{error:.4f}"])  # fmt: skip
            name = ""
    head = ["data", "network", "CPU s", "faster", "log loss", f"ECE@{TOP}"]
    return table(head, rows)
