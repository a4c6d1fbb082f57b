"""What GroPLE's options gain: measured inside the training rows, so that defaults see no test row.

The training rows of the first fold, of which four fifths are learnt from and one is measured, three
times over; rows of unit length unless said otherwise, each measure under the decision for it. The
figures are differences to GroPLE as it comes; an interval is that of the mean over the repeats and
data sets by Student's t.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy import stats
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import Normalizer, StandardScaler

from benchmarks import data_folder, table
from grople import GroPLE, Solver
from grople.decision import METRIC_RULES
from grople.folds import MultilabelStratifiedKFold
from grople.metrics import evaluate
from grople.study import load_fold

#: Half an hour of work that says nothing of speed: only run when asked for.
ON_REQUEST = True
DATASETS = ("medical", "CAL500", "corel5k", "rcv1subset1-repaired", "bibtex", "corel16k001")
QUICK = ("medical", "CAL500")
REPEATS = 3

Front = Callable[[], Any]


def usual(X: Any) -> Any:
    """Return what is done to rows: sparse ones get unit length, dense features are scaled."""
    return Normalizer() if sp.issparse(X) else StandardScaler()


OPTIONS: dict[str, dict[str, Any]] = {
    "d = 100": {"n_components": 100},
    "feature-aware, weight .5": {"solver": Solver(feature_weight=0.5)},
    "feature-aware, weight .5, d = 100": {
        "solver": Solver(feature_weight=0.5), "n_components": 100,
    },
    "one group": {"grouping": "single"},
    "groups by k-means": {"grouping": "kmeans"},
    "groups by cosine": {"grouping": "cosine"},
    "groups, K found": {"n_groups": "auto"},
    "40 groups": {"n_groups": 40},
    "5 more dimensions a group": {"solver": Solver(group_components=5)},
    "R as in the paper, without its negative part": {"solver": Solver(correlation="psd")},
    "no intercept": {"solver": Solver(fit_intercept=False)},
    "tol = 1e-2": {"solver": Solver(tol=1e-2)},
    "tol = 1e-6": {"solver": Solver(tol=1e-6, max_iter=1000)},
    "λ2 = 10": {"lambda_2": 10.0},
    "α = 0": {"alpha": 0.0},
}  # fmt: skip
#: Other forms of sparse rows.
FORMS: dict[str, Front] = {
    "rows as they are": lambda: None,
    "TF-IDF": lambda: TfidfTransformer(sublinear_tf=True),
}


def measured(X: Any, B: Any, front: Any, options: dict[str, Any]) -> tuple[Any, float]:
    """Return each measure for each repeat, and the processor seconds of a fit."""
    found, spent = [], 0.0
    folds = MultilabelStratifiedKFold(5, random_state=0).split(B, B)
    for fit, held in list(folds)[:REPEATS]:
        rows, new = X[fit], X[held]
        if front is not None:
            rows, new = front.fit_transform(rows), front.transform(new)
        started = time.process_time()
        model = GroPLE(random_state=0, **options).fit(rows, B[fit])
        spent += time.process_time() - started
        found.append(
            [
                evaluate(B[held], model.set_params(decision=name).predict(new))[name]
                for name in METRIC_RULES
            ]
        )
    return np.array(found), spent / REPEATS


def interval(differences: Any) -> str:
    """Return a mean difference with its 95 % interval, in thousandths."""
    mean = 1e3 * differences.mean()
    half = 1e3 * stats.sem(differences) * stats.t.ppf(0.975, len(differences) - 1)
    bold = "**" if abs(mean) > half else ""
    return f"{bold}{mean:+.1f} ± {half:.1f}{bold}"


def run(quick: bool = False) -> str:
    if data_folder() is None:
        return "The data sets are not here: set GROPLE_DATA."
    gained: dict[str, list[Any]] = {}
    times: dict[str, list[float]] = {}
    for name in QUICK if quick else DATASETS:
        part = load_fold(name, 0)
        plain, seconds = measured(part.X, part.B, usual(part.X), {})
        tried = [(label, usual(part.X), options) for label, options in OPTIONS.items()]
        if sp.issparse(part.X):
            tried += [(label, make(), {}) for label, make in FORMS.items()]
        for label, front, options in tried:
            found, spent = measured(part.X, part.B, front, options)
            gained.setdefault(label, []).append(found - plain)
            times.setdefault(label, []).append(spent / seconds)
    rows = []
    for label, parts in gained.items():
        each = np.concatenate(parts)
        shown = [interval(each[:, i]) for i in range(each.shape[1])]
        rows.append([label, *shown, f"{np.exp(np.mean(np.log(times[label]))):.2f}×"])
    head = ["instead", "accuracy", "example-F1", "macro-F1", "micro-F1", "time"]
    return table([*head], rows)
