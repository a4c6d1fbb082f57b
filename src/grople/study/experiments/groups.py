"""Groups against dimensions: what K and d do to accuracy and micro-F1."""

from __future__ import annotations

import numpy as np

from grople.pages import Table
from grople.study.experiments.base import (
    Exhibit,
    Experiment,
    Figure,
    Finding,
    Options,
    judged,
    plan_folds,
)
from grople.study.figures import plot_grid
from grople.study.methods import METHODS, product
from grople.study.paired import Interval, corrected_t
from grople.study.published import measure_name
from grople.study.reading import Array, Average, averages, best, data_order, matching, table_of
from grople.study.store import Store
from grople.study.units import Batch

__all__ = ["EXPERIMENT"]

DATASET = "rcv1subset2"
SIZES = tuple(range(20, 101, 10))
GROUPS = (1, *range(5, 41, 5))
QUICK_SIZES, QUICK_GROUPS = (20, 60, 100), (1, 10, 40)
#: (α, β) searched beside the paper's own pair.
SEARCHED = ({"alpha": 10.0, "beta": 1e-4}, {"alpha": 1000.0, "beta": 1e-4})
#: Marks the units of this experiment: λ1 and λ2 as everywhere, d or K not.
WEIGHTS = {"lambda_1": 1e-3, "lambda_2": 1.0}
MEASURES = ("accuracy", "micro_f1")


def plan(options: Options) -> list[Batch]:
    """Return a batch for each d, K and fold."""
    dataset = options.has(DATASET, "debtags-mini")[0]
    sizes, groups = (QUICK_SIZES, QUICK_GROUPS) if options.small else (SIZES, GROUPS)
    pairs = list(SEARCHED[:1] if options.small else SEARCHED)
    known = METHODS["GroPLE"].known(dataset)
    if known is not None:
        pairs.insert(0, {"alpha": known["alpha"], "beta": known["beta"]})
    return [
        batch
        for shape in product(n_components=sizes, n_groups=groups)
        for batch in plan_folds(
            "published", dataset, "GroPLE", [shape | WEIGHTS | pair for pair in pairs], options
        )
    ]


def show(store: Store) -> Exhibit:
    """Return a heat map for each measure and what became of claim 5."""
    rows = matching(store.rows(task="published", method="GroPLE"), WEIGHTS)
    found = averages(rows, usual=True)
    tables, figures, findings = [], [], []
    for dataset in data_order(average.dataset for average in found):
        part = [average for average in found if average.dataset == dataset]
        sizes = sorted({average.setting["n_components"] for average in part} & set(SIZES))
        groups = sorted({average.setting["n_groups"] for average in part} & set(GROUPS))
        names, others = list(map(str, sizes)), list(map(str, groups))
        grids = {
            metric: table_of(
                part, names, others, metric,
                lambda a: str(a.setting["n_components"]), lambda a: str(a.setting["n_groups"]),
            )
            for metric in MEASURES
        }  # fmt: skip
        if len(sizes) < 2 or len(groups) < 2 or np.isnan(grids["accuracy"]).mean() > 0.5:
            continue  # a data set of another experiment, which varies one of them only
        for metric, values in grids.items():
            tables.append((f"{dataset}_{metric}", _table(metric, dataset, names, others, values)))
            figures.append(_figure(metric, dataset, names, others, values))
        findings.append(_finding(dataset, part, sizes, groups, grids))
    return Exhibit((), tables, figures, findings)


def _table(metric: str, dataset: str, names: list[str], others: list[str], values: Array) -> Table:
    columns = ["d", *(f"K = {v}" for v in others)]
    rows = [[name, *row] for name, row in zip(names, values.tolist(), strict=True)]
    return Table(columns, rows, caption=f"{measure_name(metric)} on {dataset}", digits=4)


def _figure(
    metric: str, dataset: str, names: list[str], others: list[str], values: Array
) -> Figure:
    return Figure(
        f"groups_{dataset}_{metric}",
        lambda: plot_grid(values, names, others, ("d", "K"), f"{measure_name(metric)}, {dataset}"),
        f"{measure_name(metric)} on {dataset} for every number of groups and dimensions.",
        f"Heat map from {np.nanmin(values):.3f} to {np.nanmax(values):.3f}.",
    )


def _finding(
    dataset: str, part: list[Average], sizes: list[int], groups: list[int], grids: dict[str, Array]
) -> Finding:
    few = grids["accuracy"][0]
    flat = float(np.nanmax(few) - np.nanmin(few))
    gain = _between(part, "accuracy", sizes[-1], groups[1:], groups[:1])
    fall = _between(part, "micro_f1", sizes[-1], groups[-1:], groups)
    if gain is None or fall is None:
        return Finding(5, "open", f"On {dataset} not every K was run at d = {sizes[-1]}.")
    held = (flat <= 0.01) + (gain.difference > 0.002) + (fall.difference < -0.002)
    return Finding(
        5,
        judged(held, 3),
        f"On {dataset} at d = {sizes[0]} K moves accuracy by {flat:.3f}; at d = {sizes[-1]} the "
        f"best K > 1 changes accuracy by {gain} against one group, and micro-F1 at K = "
        f"{groups[-1]} is {fall} from its best. In brackets the 95 % intervals over folds, of the "
        "best K, so narrower than they should be.",
    )


def _between(
    part: list[Average], metric: str, size: int, first: list[int], second: list[int]
) -> Interval | None:
    """Compare the best of two lists of K at one d, over folds; None where one was not run."""
    tops = []
    for among in (first, second):
        shape = [
            average
            for average in part
            if average.setting["n_components"] == size and average.setting["n_groups"] in among
        ]
        tops.append(best(shape, metric))
    if tops[0] is None or tops[1] is None or not tops[0].same_folds(tops[1]):
        return None
    return corrected_t(tops[0].by_fold(metric), tops[1].by_fold(metric))


EXPERIMENT = Experiment(
    "groups",
    "Groups",
    "Do more groups help, and does that depend on the dimension?",
    plan,
    show,
)
