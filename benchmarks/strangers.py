"""GroPLE as it comes against other classifiers, every one with the same decisions.

All data sets at hand, seeded random folds, and no parameter of GroPLE set by anybody. The others:
ridge regression, LinearSVC and logistic regression a label (C searched), extra-trees and random
forests (leaf size searched), gradient boosting a label and MLkNN. What is searched is chosen on a
quarter of the training rows by the average precision over all pairs. Linear ones see dense columns
standardised and sparse rows of unit length; GroPLE and trees see rows as they are. Each fit has a
process of its own and a limit of seconds.

``python -m benchmarks.strangers [--data NAME,…] [--methods NAME,…] [--folds N] [--limit SECONDS]``
measures what ``build/strangers.jsonl`` lacks and prints the tables; ``--report`` only prints, and
``--picture FILE`` draws the critical-difference diagrams.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from benchmarks import data_folder, table
from grople import GroPLE, metrics
from grople.baselines import Ridge
from grople.datasets import load, read
from grople.estimators import MultilabelDecisionClassifier
from grople.features import fit_text

#: Hours of work: only run when asked for.
ON_REQUEST = True
STORE = Path(__file__).resolve().parents[1] / "build" / "strangers.jsonl"
MEASURES = ("accuracy", "example_f1", "macro_f1", "micro_f1")
DATA = (
    "CAL500", "emotions", "genbase", "medical", "scene", "mediamill-reduced", "debtags-mini",
    "corel5k", "rcv1subset1", "rcv1subset2", "rcv1subset3", "rcv1subset1-repaired",
    "rcv1subset2-repaired", "rcv1subset3-repaired", "reutersk500", "bibtex", "debian-texts",
    "corel16k001", "delicious",
)  # fmt: skip
FIVE = ("GroPLE", "Ridge", "LinearSVC", "logistic", "extra-trees")
#: Rows, features and vocabulary of Debian's texts.
TEXTS, LEAST_COUNT = 7000, 2


class MLkNN(ClassifierMixin, BaseEstimator):
    """Multi-label k nearest neighbours (Zhang and Zhou): posteriors by the neighbours' counts."""

    def __init__(self, k: int = 10, smoothing: float = 1.0) -> None:
        self.k, self.smoothing = k, smoothing

    def fit(self, X: Any, y: Any) -> MLkNN:
        """Count how many neighbours of rows with and without each label have it."""
        B, s = sp.csr_array(y).toarray(), self.smoothing
        self.neighbours_, self.labels_ = NearestNeighbors(n_neighbors=self.k).fit(X), B
        found = B[self.neighbours_.kneighbors(return_distance=False)].sum(axis=1).astype(int)
        steps = np.arange(self.k + 1)[:, None, None]
        with_it = ((found == steps) & (B == 1)).sum(axis=1) + s
        without = ((found == steps) & (B == 0)).sum(axis=1) + s
        prior = (s + B.sum(axis=0)) / (2 * s + len(B))
        self.odds_ = (
            np.log(prior / (1 - prior)) + np.log(with_it / with_it.sum(axis=0))
            - np.log(without / without.sum(axis=0))
        )  # fmt: skip
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    def decision_function(self, X: Any) -> Any:
        """Return log-odds."""
        near = self.neighbours_.kneighbors(X, return_distance=False)
        found = self.labels_[near].sum(axis=1).astype(int)
        return np.take_along_axis(self.odds_, found, axis=0)


def scaled(dense: bool, estimator: Any) -> Any:
    return make_pipeline(StandardScaler() if dense else Normalizer(), estimator)


def each_label(estimator: Any) -> Any:
    return OneVsRestClassifier(estimator)


#: Each method: from whether rows are dense to the candidates that are searched.
METHODS: dict[str, Callable[[bool], list[Any]]] = {
    "GroPLE": lambda dense: [GroPLE(random_state=0)],
    "GroPLE, linear": lambda dense: [GroPLE(random_state=0, experts=["linear"])],
    "Ridge": lambda dense: [scaled(dense, Ridge())],
    "LinearSVC": lambda dense: [
        scaled(dense, each_label(LinearSVC(C=C, random_state=0))) for C in (0.03, 0.3, 3.0)
    ],
    "logistic": lambda dense: [
        scaled(dense, each_label(LogisticRegression(C=C, solver="liblinear", random_state=0)))
        for C in (0.3, 3.0, 30.0)
    ],
    "extra-trees": lambda dense: [
        ExtraTreesClassifier(100, min_samples_leaf=leaf, random_state=0) for leaf in (1, 2, 5)
    ],
    "random forest": lambda dense: [
        RandomForestClassifier(100, min_samples_leaf=leaf, random_state=0) for leaf in (1, 2, 5)
    ],
    "boosting": lambda dense: [each_label(HistGradientBoostingClassifier(random_state=0))],
    "MLkNN": lambda dense: [scaled(dense, MLkNN())],
}


def rows_of(name: str) -> tuple[Any, Any]:
    """Return features and labels of a data set; dense rows that are stored sparse are dense."""
    folder = data_folder()
    if name == "debtags-mini":
        data = load(name)
        return data.X, sp.csr_array(data.Y)
    if folder is None:
        raise SystemExit("the real data sets were not found: set GROPLE_DATA")
    if name == "debian-texts":
        lines = pd.read_json(folder / "debtags" / "debtags.jsonl.gz", lines=True)
        lines = lines.sample(TEXTS, random_state=0)
        tags = sorted({tag for tags in lines.tags for tag in tags})
        place = {tag: i for i, tag in enumerate(tags)}
        columns = [place[tag] for own in lines.tags for tag in own]
        starts = np.cumsum([0, *lines.tags.map(len)])
        Y = sp.csr_array((np.ones(len(columns)), columns, starts), shape=(TEXTS, len(tags)))
        return lines.text.to_numpy(), Y[:, np.flatnonzero(Y.sum(axis=0) >= LEAST_COUNT)]
    data = read(folder / "npz" / f"{name}.npz")
    X, Y = data.X, sp.csr_array(data.Y)
    dense = sp.issparse(X) and X.nnz > 0.5 * X.shape[0] * X.shape[1]
    return X.toarray() if dense else X, Y


def average_precision(model: Any, X: Any, Y: Any) -> float:
    """Return the average precision over all pairs of rows and labels."""
    if hasattr(model, "decision_function"):
        scores = model.decision_function(X)
    else:
        scores = np.stack([label[:, -1] for label in model.predict_proba(X)], axis=1)
    return float(average_precision_score(Y.ravel(), scores.ravel()))


def measured(name: str, method: str, fold: int) -> dict[str, Any]:
    """Fit one method on four fifths of the rows, and measure it on the last."""
    X, Y = rows_of(name)
    place = np.random.default_rng(0).permutation(Y.shape[0])
    held = np.sort(place[fold::5])
    train = np.setdiff1d(place, held)
    X_train, X_test = X[train], X[held]
    if X_train.dtype == object:
        features, X_train = fit_text(X_train)
        X_test = features.transform(X_test)
    candidates = METHODS[method](not sp.issparse(X_train))
    started, spent = time.perf_counter(), time.process_time()
    model = candidates[0]
    if len(candidates) > 1:
        some = np.random.default_rng(1).permutation(len(train))
        fit, check = some[len(some) // 4 :], some[: len(some) // 4]
        varying = np.flatnonzero(np.asarray(Y[train][fit].sum(axis=0)).ravel())
        B, truth = (Y[train][rows][:, varying].toarray() for rows in (fit, check))
        values = [
            average_precision(clone(each).fit(X_train[fit], B), X_train[check], truth)
            for each in candidates
        ]
        model = candidates[int(np.argmax(values))]
    steps = list(getattr(model, "named_steps", {"model": model}).values())
    if not isinstance(steps[-1], GroPLE | Ridge):
        model = MultilabelDecisionClassifier(model)
        steps = [model]
    model.fit(X_train, Y[train])
    found = {"fit": time.perf_counter() - started, "fit_cpu": time.process_time() - spent}
    started = time.perf_counter()
    for measure in MEASURES:
        steps[-1].set_params(decision=measure)
        predicted = model.predict(X_test)
        found[measure] = getattr(metrics, measure)(Y[held], predicted, zero_division=0.0)
    found["predict"] = (time.perf_counter() - started) / len(MEASURES)
    found["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"data": name, "method": method, "fold": fold} | found


def stored() -> list[dict[str, Any]]:
    """Return what has been measured."""
    return [json.loads(line) for line in STORE.read_text().splitlines()] if STORE.exists() else []


def measure_missing(plan: Iterator[tuple[str, str, int]], limit: float) -> None:
    """Measure what is not stored, each fit in a process of its own."""
    STORE.parent.mkdir(exist_ok=True)
    known = {(each["data"], each["method"], each["fold"]) for each in stored()}
    for name, method, fold in plan:
        if (name, method, fold) in known:
            continue
        command = [sys.executable, "-m", "benchmarks.strangers", "--one", name, method, str(fold)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
            line = done.stdout.strip() or json.dumps(
                {"data": name, "method": method, "fold": fold, "failed": done.stderr[-300:]}
            )
        except subprocess.TimeoutExpired:
            line = json.dumps({"data": name, "method": method, "fold": fold, "failed": "limit"})
        with STORE.open("a") as stream:
            stream.write(line + "\n")
        print(line, file=sys.stderr, flush=True)


def by_data(runs: pd.DataFrame, measure: str, methods: tuple[str, ...]) -> pd.DataFrame:
    """Return the mean of each method on each data set over the folds that all of them have."""
    wide = runs[runs.method.isin(methods)].pivot_table(
        index=["data", "fold"], columns="method", values=measure
    )
    return wide.reindex(columns=list(methods)).dropna().groupby("data").mean()


def report() -> str:
    """Return the tables of what has been measured."""
    runs = pd.DataFrame(stored())
    if runs.empty:
        return "nothing measured yet"
    parts = []
    there = [m for m in METHODS if m in set(runs.dropna(subset=["accuracy"]).method)]
    for title, methods in (("five methods", FIVE), ("all methods", tuple(there))):
        if not set(methods) <= set(there):
            continue
        rows = {method: [method] for method in methods}
        for measure in MEASURES:
            values = by_data(runs, measure, methods)
            ranks = values.rank(axis=1, ascending=False).mean()
            best = values.drop(columns="GroPLE").max(axis=1)
            for method in methods:
                gain = (values[method] - best).mean() if method == "GroPLE" else np.nan
                shown = f"{ranks[method]:.2f}"
                rows[method].append(shown if np.isnan(gain) else f"{shown} ({1000 * gain:+.1f})")
        head = ["average rank", *MEASURES]
        note = f"{title}, {len(values)} data sets; in brackets thousandths to the best other"
        parts.append(f"{note}\n\n{table(head, list(rows.values()))}")
    shown = (("example_f1", "example-F1", 3), ("fit_cpu", "processor seconds, with search", 2),
             ("predict", "seconds to predict", 2), ("peak_mib", "peak memory, MiB", 0))  # fmt: skip
    for column, title, digits in shown:
        mean = runs.pivot_table(index="data", columns="method", values=column)[there]
        cells = [
            [name, *("–" if np.isnan(value) else f"{value:.{digits}f}" for value in row)]
            for name, row in zip(mean.index, mean.to_numpy(), strict=True)
        ]
        parts.append(f"{title}\n\n{table(['data', *there], cells)}")
    return "\n\n".join(parts)


def draw(path: Path) -> None:
    """Draw critical-difference diagrams of the five methods, one a measure."""
    import matplotlib.pyplot as plt
    import scikit_posthocs

    runs = pd.DataFrame(stored())
    figure, axes = plt.subplots(len(MEASURES), 1, figsize=(7, 7), layout="constrained")
    for axis, measure in zip(axes, MEASURES, strict=True):
        values = by_data(runs, measure, FIVE)
        ranks = values.rank(axis=1, ascending=False).mean()
        same = scikit_posthocs.posthoc_nemenyi_friedman(values.reset_index(drop=True))
        scikit_posthocs.critical_difference_diagram(ranks, same, ax=axis)
        axis.set_title(measure, fontsize=9)
    figure.savefig(path, dpi=150)


def run(quick: bool) -> str:
    """Measure what is missing, and return the tables."""
    data, folds = (("emotions", "medical"), 1) if quick else (DATA, 5)
    measure_missing(((d, m, f) for f in range(folds) for d in data for m in METHODS), 3600.0)
    return report()


def main() -> None:
    """Run the command described above."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strangers", description=__doc__)
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--methods", default=",".join(m for m in METHODS if "," not in m))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=3600.0, metavar="SECONDS")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        warnings.simplefilter("ignore")
        print(json.dumps(measured(options.one[0], options.one[1], int(options.one[2]))))
        return
    if not options.report:
        data, methods = options.data.split(","), options.methods.split(",")
        plan = ((d, m, f) for f in range(options.folds) for d in data for m in methods)
        measure_missing(plan, options.limit)
    print(report())
    if options.picture:
        draw(options.picture)


if __name__ == "__main__":
    main()
