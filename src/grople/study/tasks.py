"""How units are computed: one function a task, from a batch and the settings wanted of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.decision import ScoreCounts, fit_decision
from grople.fingerprints import row_fingerprints
from grople.folds import MultilabelStratifiedKFold
from grople.moments import Moments
from grople.reservoir import fold_of
from grople.study.costs import stage_costs
from grople.study.methods import METHODS, Method
from grople.study.paths import stages_one_and_two
from grople.study.published import METRICS
from grople.study.splits import Split, measures, split
from grople.study.units import Batch, Setting, canonical

__all__ = ["TASKS", "compute"]

Results = Iterator[tuple[Setting, dict[str, Any]]]

#: Rows approximated at a time.
BLOCK = 8192
#: Folds inside the training part in which the nested protocol chooses.
INNER_FOLDS = 3


def compute(batch: Batch, wanted: Sequence[Setting]) -> Results:
    """Yield the wanted settings of a batch with their results."""
    if batch.task not in TASKS:
        raise ValueError(f"no task is called {batch.task!r}; there are {', '.join(TASKS)}")
    return TASKS[batch.task](batch, wanted)


def published(batch: Batch, wanted: Sequence[Setting]) -> Results:
    """Predict the test rows as the paper did: raw features, sign decision."""
    fold = split(batch.dataset, batch.fold)
    path = METHODS[batch.method].published
    for setting, scores in path(fold, batch.settings, wanted, batch.seed):
        blocks = ((rows, block > 0.0) for rows, block in scores.in_blocks(fold.X_test))
        yield setting, measures(fold.B_test, blocks)


def nested(batch: Batch, wanted: Sequence[Setting]) -> Results:
    """Choose everything inside the training rows, decide for each measure, predict the test rows.

    The result holds each measure under the decision for it, and the parameters chosen for it.
    """
    fold = split(batch.dataset, batch.fold)
    method = METHODS[batch.method]
    for setting in wanted:
        chosen = _chosen(method, fold, method.searched(setting["grid"]), batch.seed)
        result: dict[str, Any] = {}
        models: dict[str, Any] = {}
        for metric in METRICS:
            name = canonical(chosen[metric])
            if name not in models:
                model = method.make(**chosen[metric], decision=metric, **_seeded(method, batch))
                models[name] = model.fit(fold.X, fold.B)
            models[name].set_params(decision=metric)
            predicted = sp.csr_array(models[name].predict(fold.X_test))
            every = slice(0, fold.B_test.shape[0])
            result[metric] = measures(fold.B_test, [(every, predicted)])[metric]
        yield setting, result | {"chosen": chosen}


def approximation(batch: Batch, wanted: Sequence[Setting]) -> Results:
    """Decode the code of the training labels themselves, by sign."""
    fold = split(batch.dataset, batch.fold)
    n = fold.B.shape[0]
    for setting in wanted:
        decode = _decoder(batch, fold, setting)
        blocks = (slice(start, start + BLOCK) for start in range(0, n, BLOCK))
        yield setting, measures(fold.B, ((rows, decode(rows) > 0.0) for rows in blocks))


def _decoder(batch: Batch, fold: Split, setting: Setting) -> Callable[[slice], Any]:
    if batch.method == "GroPLE":
        _, fit = stages_one_and_two(fold.moments, setting, batch.seed)
        offset = fit.W.sum(axis=0)
        return lambda rows: (2.0 * (fold.B[rows] @ fit.W) - offset) @ fit.V
    make = METHODS[batch.method].make
    model = make(**setting, fit_intercept="penalised", decision="sign").fit(fold.X, fold.B)
    return lambda rows: model.approximate(fold.X[rows], fold.B[rows])


def sparsity(batch: Batch, wanted: Sequence[Setting]) -> Results:
    """Return the lengths of the rows of V^k, a list a group, as published and in the library."""
    fold = split(batch.dataset, batch.fold)
    for setting in wanted:
        if batch.method == "GroPLE":
            groups, fit = stages_one_and_two(fold.moments, setting, batch.seed)
            V = fit.V
        else:
            model = METHODS["GroPLE"].make(**setting, decision="sign", random_state=batch.seed)
            model.fit(fold.X, fold.B)
            groups, V = model.label_groups_, model.components_
        lengths = [np.linalg.norm(V[:, groups == k], axis=1) for k in range(int(groups.max()) + 1)]
        sizes = [int(np.sum(groups == k)) for k in range(len(lengths))]
        yield (
            setting,
            {"lengths": [each.round(6).tolist() for each in lengths], "sizes": sizes},
        )


def cost(batch: Batch, wanted: Sequence[Setting]) -> Results:
    """Measure seconds and memory of every stage on made data of a given size."""
    for setting in wanted:
        yield setting, stage_costs(**setting, seed=batch.seed)


def _seeded(method: Method, batch: Batch) -> dict[str, Any]:
    known = method.make().get_params(deep=False)
    return {"random_state": batch.seed} if "random_state" in known else {}


def _chosen(method: Method, fold: Split, grid: Sequence[Setting], seed: int) -> dict[str, Setting]:
    """Return for each measure the setting with the best mean over folds of the training rows."""
    if method.search is None or len(grid) == 1:
        return {metric: dict(grid[0]) for metric in METRICS}
    totals = {metric: np.zeros(len(grid)) for metric in METRICS}
    number = {canonical(setting): i for i, setting in enumerate(grid)}
    splitter = MultilabelStratifiedKFold(INNER_FOLDS, random_state=seed)
    for _, held in splitter.split(fold.X, fold.B):
        X, B = fold.X[held], fold.B[held]
        rest = fold.moments - Moments.from_data(X, B, form="explicit")
        halves = fold_of(row_fingerprints(X), 2)
        for setting, scores in method.search(rest, grid, seed):
            for metric, value in _judged(scores(X), B, halves).items():
                totals[metric][number[canonical(setting)]] += value
    return {metric: dict(grid[int(np.argmax(totals[metric]))]) for metric in METRICS}


def _judged(scores: Any, B: Any, halves: Any) -> dict[str, float]:
    """Measure scores, each measure under its own decision fitted on the other half of the rows."""
    parts: dict[str, list[Any]] = {metric: [] for metric in METRICS}
    rows = []
    for half in (0, 1):
        fit, use = np.flatnonzero(halves != half), np.flatnonzero(halves == half)
        if not len(fit) or not len(use):
            continue
        counts = ScoreCounts.from_scores([(scores[fit], B[fit], None)], scores.shape[1])
        rows.append(use)
        for metric in METRICS:
            parts[metric].append(fit_decision(metric, counts).labels(scores[use]))
    used = np.concatenate(rows)
    every = slice(0, len(used))
    return {
        metric: measures(B[used], [(every, sp.vstack(parts[metric], format="csr"))])[metric]
        for metric in METRICS
    }


TASKS: Mapping[str, Callable[[Batch, Sequence[Setting]], Results]] = {
    "published": published,
    "nested": nested,
    "approximation": approximation,
    "sparsity": sparsity,
    "cost": cost,
}
