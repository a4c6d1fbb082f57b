"""The nested protocol: everything chosen inside the training rows, test rows seen once.

``GridSearchCV`` over a pipeline chooses the form of the rows and the setting of the method, for
each measure by the decision for that measure; what the pipeline learns of the rows, it learns
without the held-out ones. Labels without a training positive are left out and 0/0 counts 0, as in
the published table.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from grople import metrics
from grople.baselines import make_method
from grople.decision import HeldOut, HeldOutBlock, fit_decision
from grople.folds import MultilabelStratifiedKFold
from grople.moments import fold_of, row_keys
from grople.study._data import load_fold, measures
from grople.study._methods import searched
from grople.study._printed import METRICS
from grople.study._store import Run

#: Folds inside the training part in which everything is chosen.
INNER_FOLDS = 3
#: Forms of the rows, as the report calls them.
FORMS = {"passthrough": "raw", "Normalizer": "unit length", "StandardScaler": "scaled"}
#: Methods that take the rows as they are: trees, and pipelines that scale rows on their own.
AS_THEY_ARE = ("LinearSVC", "Logistic", "ExtraTrees")


def nested_runs(job: Sequence[Run]) -> Iterator[tuple[Run, dict[str, Any]]]:
    """Choose everything inside the training rows, decide for each measure, predict the test rows.

    The result holds each measure under the decision for it, what was ``chosen`` for it, the mean
    processor time of a fit (``fit_seconds``) and, for comparisons row by row, the number of labels
    that each test row has, is given and shares (``rows``).
    """
    for run in job:
        fold = load_fold(run.dataset, run.fold)
        search = _search(run, fold.X)
        chosen = _chosen(search, fold.X, fold.B)
        fitted: dict[int, Any] = {}
        seconds = 0.0
        result: dict[str, Any] = {"chosen": {}}
        rows: dict[str, Any] = {"true": np.asarray(fold.B_test.sum(axis=1)).ravel().tolist()}
        for metric, (place, parameters) in chosen.items():
            if place not in fitted:
                started = time.process_time()
                model = clone(search.estimator).set_params(**parameters, model__decision=metric)
                fitted[place] = model.fit(fold.X, fold.B)
                seconds += time.process_time() - started
            model = fitted[place].set_params(model__decision=metric)
            predicted = sp.csr_array(model.predict(fold.X_test))
            result[metric] = measures(fold.B_test, predicted)[metric]
            counts = metrics.counts(fold.B_test, predicted)
            rows[metric] = {"given": counts.row_pred.tolist(), "hits": counts.row_tp.tolist()}
            result["chosen"][metric] = _told(parameters)
        yield run, result | {"fit_seconds": seconds / len(fitted), "rows": rows}


def _search(run: Run, X: Any) -> GridSearchCV:
    """Return the search over forms of the rows and settings of the method."""
    model = make_method(run.method.lower(), "sign", random_state=run.seed)
    scaler = Normalizer() if sp.issparse(X) else StandardScaler()
    forms = ["passthrough"] if run.method in AS_THEY_ARE else ["passthrough", scaler]
    count = None if run.parameters["grid"] == "full" else 1
    grid = {k: list(values[:count]) for k, values in searched(run.method).nested.items()}
    return GridSearchCV(
        Pipeline([("rows", "passthrough"), ("model", model)]),
        {"rows": forms} | {f"model__{name}": values for name, values in grid.items()},
        scoring=_decided_measures,
        refit=False,
        cv=MultilabelStratifiedKFold(INNER_FOLDS, random_state=run.seed),
        error_score="raise",
    )


def _chosen(search: GridSearchCV, X: Any, B: Any) -> dict[str, tuple[int, dict[str, Any]]]:
    """Return for each measure the place of the best candidate and its parameters."""
    candidates = list(ParameterGrid(search.param_grid))
    best = dict.fromkeys(METRICS, 0)
    if len(candidates) > 1:
        found = search.fit(X, B).cv_results_
        best = {metric: int(found[f"mean_test_{metric}"].argmax()) for metric in METRICS}
    return {metric: (place, candidates[place]) for metric, place in best.items()}


def _decided_measures(model: Any, X: Any, B: Any) -> dict[str, float]:
    """Measure held-out scores, each measure under its decision fitted on the other half of rows."""
    scores = model.decision_function(X)
    halves = fold_of(row_keys(X), 2)
    decided = {metric: np.zeros(B.shape, dtype=np.int8) for metric in METRICS}
    for half in (0, 1):
        fit, use = np.flatnonzero(halves != half), np.flatnonzero(halves == half)
        held_out = HeldOut.from_blocks([HeldOutBlock(scores[fit], B[fit])], scores.shape[1])
        decision = fit_decision(held_out, context=False)
        for metric in METRICS:
            decided[metric][use] = decision.labels(scores[use], rule=metric).toarray()
    return {metric: measures(B, decided[metric])[metric] for metric in METRICS}


def _told(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return what was chosen as plain values."""
    chosen = {name.removeprefix("model__"): value for name, value in parameters.items()}
    form = chosen["rows"]
    return chosen | {"rows": FORMS[form if isinstance(form, str) else type(form).__name__]}
