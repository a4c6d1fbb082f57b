"""How units are computed: one function a task, from a batch and the settings wanted of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from grople.solver._model import row_blocks
from grople.study.costs import stage_costs
from grople.study.methods import METHODS
from grople.study.nested import nested
from grople.study.paths import stages_one_and_two
from grople.study.splits import Split, measures, split
from grople.study.units import Batch, Setting

__all__ = ["TASKS", "compute"]

Results = Iterator[tuple[Setting, dict[str, Any]]]

#: Rows approximated at a time.
BLOCK = 8192


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
        rows = row_blocks(*fold.B_test.shape)
        decided = ((some, scores(fold.X_test[some]) > 0.0) for some in rows)
        yield setting, measures(fold.B_test, decided)


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


TASKS: Mapping[str, Callable[[Batch, Sequence[Setting]], Results]] = {
    "published": published,
    "nested": nested,
    "approximation": approximation,
    "sparsity": sparsity,
    "cost": cost,
}
