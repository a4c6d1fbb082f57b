"""One competitor on one stored split, in the competitor's own environment.

``python -m benchmarks.peers.worker NAME SPLIT RESULT LIMIT`` fits on all training rows, tunes the
threshold on out-of-fold scores of them, predicts the test rows and writes times, memory, label sets
and the best labels of each row. Imports, reading the split and writing the files that a competitor
reads itself are not timed. The report is written anew after every step, so that a run that is ended
at its limit leaves what it had.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers.table import COMPETITORS
from benchmarks.peers.thresholds import best_thresholds, candidates, labels_above, stacked

MEASURES = ("example_f1", "micro_f1")
#: Short work is repeated until so many seconds or repeats: the clock of a process is coarse.
ENOUGH_SECONDS, MOST_REPEATS = 0.5, 20
#: A first fit that is shorter does not count: it pays for what is loaded or compiled once.
WARM_SECONDS = 5.0
#: Labels of each row whose order is measured.
TOP = 5


class Report:
    """What is known so far, kept in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values: dict[str, Any] = {}

    def add(self, **values: Any) -> None:
        """Take in values and write the file."""
        self.values.update(values, peak_mib=peak_mib())
        self.path.write_text(json.dumps(self.values))


def read_split(path: Path) -> tuple[Any, Any, Any, Any]:
    """Return training rows, their labels, test rows, and the fold of each training row."""
    with np.load(path) as stored:

        def matrix(name: str, dtype: Any) -> Any:
            indices, indptr = stored[f"{name}_indices"], stored[f"{name}_indptr"]
            data = stored[f"{name}_data"] if f"{name}_data" in stored else np.ones(len(indices))
            return sp.csr_matrix(
                (data.astype(dtype), indices, indptr), shape=tuple(stored[f"{name}_shape"])
            )

        # 64-bit labels: scikit-learn's LabelBinarizer silently corrupts narrow integers.
        return (
            matrix("X", np.float64), matrix("Y", np.int64), matrix("X_test", np.float64),
            stored["folds"],
        )  # fmt: skip


def cpu_seconds() -> float:
    """Return processor seconds of this process, its threads and its children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_mib() -> float:
    """Return the most memory this process has held since it began."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def timed(work: Callable[[], Any], repeats: int = MOST_REPEATS) -> tuple[Any, float, float]:
    """Return a result with the processor and wall seconds that it takes."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    count = 0
    while count < repeats and (not count or time.perf_counter() - wall < ENOUGH_SECONDS):
        result = work()
        count += 1
    return result, (cpu_seconds() - cpu) / count, (time.perf_counter() - wall) / count


class Thresholded:
    """A competitor that gives scores, with one threshold tuned out of fold."""

    def __init__(self, module: Any, options: Any, X: Any, Y: Any, folds: Any) -> None:
        self.module, self.options = module, dict(options)
        self.X, self.Y, self.folds = X, Y, folds
        self.k = min(Y.shape[1], max(20, int(np.ceil(4 * Y.nnz / Y.shape[0]))))
        self.prepared = self._prepared(np.arange(X.shape[0]))
        self.model: Any = None
        self.thresholds: dict[str, tuple[float, float]] = {}

    def _prepared(self, rows: Any) -> Any:
        prepare = getattr(self.module, "prepare", lambda X, Y: (X, Y))
        return prepare(self.X[rows], self.Y[rows])

    def fit(self) -> None:
        """Fit on all rows."""
        self.model = self.module.fit(*self.prepared, **self.options)

    def time_decision(self, fit: tuple[float, float]) -> tuple[float, float]:
        """Tune the thresholds and return the seconds that took, preparation not counted."""
        parts, spent = [], [0.0, 0.0]
        for fold in np.unique(self.folds):
            rest, held = np.flatnonzero(self.folds != fold), np.flatnonzero(self.folds == fold)
            prepared = self._prepared(rest)

            def work(rest: Any = rest, held: Any = held, prepared: Any = prepared) -> Any:
                model = self.module.fit(*prepared, **self.options)
                return candidates(self._scores(model, self.X[held], rest), self.k)

            found, *seconds = timed(work, repeats=1)
            spent = [a + b for a, b in zip(spent, seconds, strict=True)]
            parts.append((held, found))
        self.thresholds, *seconds = timed(lambda: best_thresholds(stacked(parts), self.Y), 1)
        return spent[0] + seconds[0], spent[1] + seconds[1]

    def _scores(self, model: Any, X: Any, rows: Any) -> Any:
        """Return scores of X; labels that the training rows lack are never candidates."""
        scores = self.module.scores(model, X, self.k)
        lacking = np.bincount(self.Y[rows].indices, minlength=self.Y.shape[1]) == 0
        if not sp.issparse(scores):
            scores[:, lacking] = -np.inf
        return scores

    def predict(self, X: Any, measure: str) -> Any:
        """Return the label sets of rows."""
        return labels_above(self.module.scores(self.model, X, self.k), self.thresholds[measure][0])

    def ranking(self, X: Any) -> Any:
        """Return what the labels of a row are ordered by."""
        return self.module.scores(self.model, X, self.k)


class OwnDecision:
    """A competitor that fits a decision of its own."""

    def __init__(self, module: Any, options: Any, X: Any, Y: Any, folds: Any) -> None:
        self.module, self.options, self.X, self.Y = module, dict(options), X, Y
        self.model: Any = None
        self.thresholds: dict[str, tuple[float, float]] = {}

    def fit(self) -> None:
        """Fit the scores on all rows."""
        self.module.fit(self.X, self.Y, **self.options)

    def time_decision(self, fit: tuple[float, float]) -> tuple[float, float]:
        """Fit with the decision and return what that took beyond the scores."""
        self.model, *seconds = timed(
            lambda: self.module.fit_decided(self.X, self.Y, **self.options)
        )
        return seconds[0] - fit[0], seconds[1] - fit[1]

    def predict(self, X: Any, measure: str) -> Any:
        """Return the label sets of rows."""
        return self.module.predict(self.model, X, measure)

    def ranking(self, X: Any) -> Any:
        """Return what the labels of a row are ordered by."""
        return self.module.ranking(self.model, X)


def measure(name: str, split: Path, result: Path, limit: float) -> None:
    """Measure a competitor and write its report and its predictions beside each other."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 10))
    competitor = COMPETITORS[name]
    module = import_module(f"benchmarks.peers.competitors.{competitor.module}")
    X, Y, X_test, folds = read_split(split)
    report = Report(result.with_suffix(".json"))
    kind = OwnDecision if hasattr(module, "fit_decided") else Thresholded
    side = kind(module, competitor.options, X, Y, folds)
    report.add(base_mib=peak_mib())
    _, *fit = timed(side.fit, 1)
    if fit[0] < WARM_SECONDS:
        _, *fit = timed(side.fit)
    report.add(fit_cpu=fit[0], fit_wall=fit[1])
    share = 1 - 1 / len(np.unique(folds))
    if kind is Thresholded and fit[0] * (1 + len(np.unique(folds)) * share) > 1.2 * limit:
        report.add(over="the folds of its decision would pass the limit")
        return
    decision = side.time_decision((fit[0], fit[1]))
    report.add(decision_cpu=decision[0], decision_wall=decision[1], thresholds=side.thresholds)
    stored: dict[str, Any] = {}
    for wanted in MEASURES:
        side.predict(X_test[:1], wanted)  # what is only made when first asked for
        sets, *seconds = timed(lambda wanted=wanted: side.predict(X_test, wanted))
        sets = sp.csr_matrix(sets)
        sets.eliminate_zeros()
        stored |= {f"{wanted}_indices": sets.indices, f"{wanted}_indptr": sets.indptr}
        if wanted == MEASURES[0]:
            report.add(predict_cpu=seconds[0], predict_wall=seconds[1])
    stored["top"] = candidates(side.ranking(X_test), TOP).labels
    np.savez_compressed(result.with_suffix(".npz"), **stored)
    report.add(done=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    measure(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4]))
