"""Groups against dimensions: what K and d do to accuracy and micro-F1."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from sklearn.model_selection import ParameterGrid

from grople.study._experiment import Exhibit, Experiment, Finding, Scope, plan_folds, verdict_on
from grople.study._frames import average_runs, data_sets, published_grople
from grople.study._methods import known_setting
from grople.study._printed import measure_name
from grople.study._published_runs import published_runs
from grople.study._store import Run
from grople.study._tables import heat_map

DATASETS = ("rcv1subset2", "debtags-mini")
SIZES, QUICK_SIZES = tuple(range(20, 101, 10)), (20, 60, 100)
GROUPS, QUICK_GROUPS = (1, *range(5, 41, 5)), (1, 10, 40)
#: (α, β) searched besides the paper's own pair.
SEARCHED = ({"alpha": 10.0, "beta": 1e-4}, {"alpha": 1000.0, "beta": 1e-4})
#: Marks the runs of this experiment: λ1 and λ2 as everywhere, d or K not.
WEIGHTS = {"lambda_1": 1e-3, "lambda_2": 1.0}
#: Up to which a difference counts as none, and from which on as one.
FLAT, GAIN = 0.01, 0.002


def plan(scope: Scope) -> list[Run]:
    """Return every d with every K."""
    dataset = scope.having(*DATASETS)[0]
    sizes, groups = (QUICK_SIZES, QUICK_GROUPS) if scope.small else (SIZES, GROUPS)
    pairs = list(SEARCHED[:1] if scope.small else SEARCHED)
    if known := known_setting("GroPLE", dataset):
        pairs.insert(0, {"alpha": known["alpha"], "beta": known["beta"]})
    shapes = ParameterGrid({"n_components": sizes, "n_groups": groups})
    settings = [shape | WEIGHTS | pair for shape in shapes for pair in pairs]
    return plan_folds("published", dataset, "GroPLE", settings, scope)


def show(runs: pd.DataFrame) -> Exhibit:
    """Return a heat map for each measure and what became of the claim."""
    found = published_grople(runs, _belongs)
    tables, pictures, findings = {}, [], []
    for dataset in data_sets(found):
        averages = average_runs(found[found["dataset"] == dataset])
        grids = []
        for metric in ("accuracy", "micro_f1"):
            title = f"{measure_name(metric)} on {dataset}"
            values, table, picture = heat_map(averages, ("n_components", "n_groups"), metric, title)
            if min(values.shape) < 2 or values.isna().to_numpy().mean() > 0.5:
                break  # a data set of another experiment, which varies one of them only
            tables[f"{dataset}_{metric}"] = table
            pictures.append(picture)
            grids.append(values)
        else:
            findings.append(_finding(dataset, *grids))
    return Exhibit((), tables, pictures, findings)


def _belongs(setting: dict[str, Any]) -> bool:
    return (
        WEIGHTS.items() <= setting.items()
        and setting["n_components"] in SIZES
        and setting["n_groups"] in GROUPS
    )


def _finding(dataset: str, accuracy: pd.DataFrame, micro: pd.DataFrame) -> Finding:
    """Judge the three parts of the claim by means over folds."""
    least, most = accuracy.index[0], accuracy.index[-1]
    flat = float(accuracy.loc[least].max() - accuracy.loc[least].min())
    gain = float(accuracy.loc[most].iloc[1:].max() - accuracy.loc[most].iloc[0])
    fall = float(micro.loc[most].iloc[-1] - micro.loc[most].max())
    if math.isnan(gain) or math.isnan(fall):
        return Finding("open", f"On {dataset} not every K was run at d = {most}.")
    return Finding(
        verdict_on((flat <= FLAT) + (gain > GAIN) + (fall < -GAIN), 3),
        f"On {dataset} at d = {least} K moves accuracy by {flat:.3f}; at d = {most} the best K > 1 "
        f"changes accuracy by {gain:+.3f} against one group, and micro-F1 at K = "
        f"{accuracy.columns[-1]} is {fall:+.3f} from its best.",
    )


EXPERIMENT = Experiment(
    "groups",
    "Groups",
    "Do more groups help, and does that depend on the dimension?",
    5,
    "K hardly matters when d is small; with d large more groups help; micro-F1 falls for very many "
    "groups.",
    {"published": published_runs},
    plan,
    show,
)
