"""Other learners for the second look, other sizes, and two rounds: what each would gain.

The same out-of-fold candidates of the training rows of one fold for all. Each learner is fitted
three times on two thirds of these rows; log loss and example-F1 are those of the rows it has not
seen, the loss in proportion to that of the calibrated scores. Example-F1 is that of the sets with
the largest expected one among the candidates.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks import data_folder, table
from benchmarks.network import learnt_from
from grople.decision import best_prefix, context
from grople.decision.calibration import entropy_loss
from grople.decision.network import forward, train

#: Minutes of work that says nothing of speed against others: only run when asked for.
ON_REQUEST = True
DATASETS = ("medical", "rcv1subset1-repaired", "corel5k", "bibtex")
QUICK = ("medical",)
#: Inputs that follow from the probabilities of a row's candidates: log-odds, how many labels to
#: expect, how many of them come before, and the support from the other candidates.
OF_CHANCES = [1, 8, 9, 15, 16, 17, 18]

Learner = Callable[[Any, Any, int], Callable[[Any], Any]]


def networks(hidden: int = context.HIDDEN, work: float = 1.0, count: int = 1) -> Learner:
    """Learn networks like those of the decoder and take the mean of their log-odds."""

    def learn(inputs: Any, targets: Any, seed: int) -> Callable[[Any], Any]:
        most = context.MOST_PASSES
        passes = int(np.clip(work * context.WORK / len(inputs), context.FEWEST_PASSES, most))
        nets = [
            train(inputs, targets, None, hidden=hidden, batch=context.BATCH, passes=passes,
                  seed=seed + 10 * i)
            for i in range(count)
        ]  # fmt: skip
        return lambda new: expit(np.mean([forward(net, new) for net in nets], axis=0))

    return learn


def trees(inputs: Any, targets: Any, seed: int) -> Callable[[Any], Any]:
    """Learn boosted trees: 120 of 15 leaves."""
    model = HistGradientBoostingClassifier(
        max_iter=120, max_leaf_nodes=15, early_stopping=False, random_state=seed
    ).fit(inputs, targets)
    return lambda new: model.predict_proba(new)[:, 1]


LEARNERS: dict[str, tuple[Learner, bool]] = {
    "as it is: 32 units": (networks(), False),
    "64 units": (networks(64), False),
    "three times the passes": (networks(work=3.0), False),
    "three networks averaged": (networks(count=3), False),
    "boosted trees": (trees, False),
    "two rounds": (networks(), True),
}


class Candidates:
    """The candidates of a data set's training rows, and what learners make of them."""

    def __init__(self, dataset: str) -> None:
        self.evidence, self.chances = learnt_from(dataset)
        self.rows = self.evidence.candidates
        self.fold = self.rows.folds(context.FOLDS)
        self.looked_at = self.chances > context.LEAST_CHANCE
        self.inputs = self.seen(self.chances, self.rows.affinities)

    def seen(self, chances: Any, affinities: Any) -> Any:
        """Return the inputs of all candidates that are looked at, for given probabilities."""
        found = None
        row = np.nonzero(self.looked_at)[0]
        for held in range(context.FOLDS):  # labels are known from the other folds
            some = np.flatnonzero(self.fold == held)
            rows, second = self.rows.take(some), None if affinities is None else affinities[some]
            decoder = context._described(self.evidence, some)
            inputs = decoder.inputs(rows.labels, rows.scores, chances[some], second)
            if found is None:
                found = np.empty((len(row), inputs.shape[2]), dtype=np.float32)
            found[self.fold[row] == held] = inputs[self.looked_at[some]]
        return found

    def judged(self, learn: Learner, inputs: Any) -> Any:
        """Return probabilities by learners that have not seen the row."""
        row, targets = np.nonzero(self.looked_at)[0], self.rows.truth[self.looked_at]
        fold, found = self.fold, self.chances.copy()
        for held in range(context.FOLDS):
            inside = fold[row] != held
            predict = learn(inputs[inside], targets[inside], held)
            found[self.looked_at & (fold == held)[:, None]] = predict(inputs[~inside])
        return found

    def loss(self, chances: Any) -> float:
        """Return the mean log loss of what is looked at."""
        truth = self.rows.truth[self.looked_at].astype(float)
        return entropy_loss(chances[self.looked_at], truth, None)

    def example_f1(self, chances: Any) -> float:
        """Return example-F1 of the best sets of candidates."""
        order = np.argsort(-chances, axis=1, kind="stable")
        ranked = np.take_along_axis(chances, order, axis=1)
        size = best_prefix(ranked, ranked.sum(axis=1), "example_f1")
        hits = np.cumsum(np.take_along_axis(self.rows.truth, order, axis=1), axis=1)
        have = self.rows.truth.sum(axis=1) + self.rows.missed
        return float(np.mean(2 * hits[np.arange(len(size)), size - 1] / (size + have)))


def run(quick: bool = False) -> str:
    if data_folder() is None:
        return "The data sets are not here: set GROPLE_DATA."
    table_rows = []
    for name in QUICK if quick else DATASETS:
        data = Candidates(name)
        plain = data.loss(data.chances)
        table_rows.append(
            [name, "calibrated scores", "1", f"{data.example_f1(data.chances):.4f}", ""]
        )
        for label, (learn, twice) in LEARNERS.items():
            started = time.process_time()
            found = data.judged(learn, data.inputs)
            if twice:  # what the first round made of the other candidates
                again = data.seen(found, None)[:, OF_CHANCES]
                found = data.judged(learn, np.hstack([data.inputs, again]))
            seconds = time.process_time() - started
            shown = [f"{data.loss(found) / plain:.4f}", f"{data.example_f1(found):.4f}"]
            table_rows.append(["", label, *shown, f"{seconds:.1f}"])
    return table(["data", "learner", "log loss", "example-F1", "CPU s"], table_rows)
