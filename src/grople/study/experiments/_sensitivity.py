"""λ1 and λ2: how much the embedding's weights matter for the predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.model_selection import ParameterGrid

from grople.study._experiment import Exhibit, Experiment, Finding, Scope, plan_folds, verdict_on
from grople.study._frames import average_runs, data_sets, published_grople
from grople.study._methods import known_setting
from grople.study._published_runs import published_runs
from grople.study._store import Run
from grople.study._tables import heat_map

DATASETS = ("medical", "genbase-authors", "genbase")
WEIGHTS = tuple(10.0**k for k in range(-3, 3))
#: (α, β) searched for each pair: every third power of the paper's grid, and its own choice.
SEARCHED = (1e-4, 0.1, 100.0)
SHAPE = {"n_components": 100, "n_groups": 5}
#: Of λ1: what is small and large. Differences of accuracy up to which it counts as stable, from
#: which on a loss counts, and one that does not show in print.
SMALL, LARGE, STABLE, LOSS, ALIKE = 0.1, 10.0, 0.02, 0.005, 0.0005


def plan(scope: Scope) -> list[Run]:
    """Return (α, β) pairs for each pair of weights."""
    weights = WEIGHTS[::2] if scope.small else WEIGHTS
    searched = SEARCHED[:2] if scope.small else SEARCHED
    found = []
    for dataset in scope.having(*DATASETS)[: 1 if scope.quick else None]:
        pairs = list(ParameterGrid({"alpha": searched, "beta": searched}))
        if known := known_setting("GroPLE", dataset):
            pairs.append({"alpha": known["alpha"], "beta": known["beta"]})
        for weight in ParameterGrid({"lambda_1": weights, "lambda_2": weights}):
            settings = [SHAPE | weight | pair for pair in pairs]
            found += plan_folds("published", dataset, "GroPLE", settings, scope)
    return found


def show(runs: pd.DataFrame) -> Exhibit:
    """Return a heat map a data set, and what became of the claim."""
    found = published_grople(runs, lambda setting: SHAPE.items() <= setting.items())
    tables, pictures, findings = {}, [], []
    for dataset in data_sets(found):
        averages = average_runs(found[found["dataset"] == dataset])
        title = f"Accuracy on {dataset}"
        values, table, picture = heat_map(averages, ("lambda_1", "lambda_2"), "accuracy", title)
        if min(values.shape) > 1:
            tables[dataset] = table
            pictures.append(picture)
            findings.append(_finding(dataset, values))
    note = (
        "As published (K = 5, d = 100); for each pair the best of the searched (α, β) by accuracy: "
        "of each every third value of the full grid of nine."
    )
    return Exhibit([note] if tables else [], tables, pictures, findings)


def _finding(dataset: str, values: pd.DataFrame) -> Finding:
    """Judge the three parts of the claim by means over the grid."""
    small, large = values[values.index <= SMALL], values[values.index >= LARGE]
    low, high = small.loc[:, small.columns <= 1.0], small.loc[:, small.columns > 1.0]
    drop, harm = (
        float(np.nanmean(a) - np.nanmean(b)) if b.size else np.nan
        for a, b in ((small, large), (low, high))
    )
    # How far λ2 ≤ 1 moves the accuracy while λ1 stays where it is.
    moved = float((low.max(axis=1) - low.min(axis=1)).max())
    return Finding(
        verdict_on((drop > LOSS) + (harm > ALIKE) + (moved <= STABLE), 3),
        f"On {dataset} λ1 ≥ {LARGE:g} costs {drop:.3f} of accuracy against λ1 ≤ {SMALL:g} on "
        f"average; with λ1 ≤ {SMALL:g}, λ2 ≤ 1 moves it by at most {moved:.3f} (stable: up to "
        f"{STABLE}), and λ2 > 1 costs {harm:.3f} on average.",
    )


EXPERIMENT = Experiment(
    "sensitivity",
    "Sensitivity",
    "How much do λ1 and λ2 matter?",
    4,
    "A large λ1 hurts; λ2 matters little, but λ2 > 1 often harms.",
    {"published": published_runs},
    plan,
    show,
)
