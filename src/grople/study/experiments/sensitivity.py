"""λ1 and λ2: how much the embedding's weights matter for the predictions."""

from __future__ import annotations

from collections.abc import Sequence

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
from grople.study.paired import corrected_t
from grople.study.reading import Array, Average, averages, best, data_order, matching, table_of
from grople.study.store import Store
from grople.study.units import Batch

__all__ = ["EXPERIMENT"]

DATASETS = ("medical", "genbase-authors", "genbase")
WEIGHTS = tuple(10.0**k for k in range(-3, 3))
#: (α, β) searched for each pair: every third power of the paper's grid, and its own choice.
SEARCHED = (1e-4, 0.1, 100.0)
#: Differences of accuracy up to which it counts as stable.
STABLE = 0.02
SHAPE = {"n_components": 100, "n_groups": 5}


def plan(options: Options) -> list[Batch]:
    """Return a batch for each pair of weights and fold."""
    weights = WEIGHTS[::2] if options.small else WEIGHTS
    searched = SEARCHED[:2] if options.small else SEARCHED
    found = []
    for dataset in options.has(*DATASETS)[: 1 if options.quick else None]:
        for pair in product(lambda_1=weights, lambda_2=weights):
            settings = [SHAPE | pair | more for more in product(alpha=searched, beta=searched)]
            known = METHODS["GroPLE"].known(dataset)
            if known is not None:
                chosen = {"alpha": known["alpha"], "beta": known["beta"]}
                if not (chosen["alpha"] in searched and chosen["beta"] in searched):
                    settings.append(SHAPE | pair | chosen)
            found += plan_folds("published", dataset, "GroPLE", settings, options)
    return found


def show(store: Store) -> Exhibit:
    """Return a heat map and a table a data set, and what became of claim 4."""
    rows = matching(store.rows(task="published", method="GroPLE"), {"n_groups": 5})
    found = averages(rows)
    tables, figures, findings = [], [], []
    for dataset in data_order(average.dataset for average in found):
        part = [average for average in found if average.dataset == dataset]
        first = sorted({average.setting["lambda_1"] for average in part})
        second = sorted({average.setting["lambda_2"] for average in part})
        if len(first) < 2 or len(second) < 2:
            continue
        names, others = [f"{v:g}" for v in first], [f"{v:g}" for v in second]
        values = table_of(
            part, names, others, "accuracy",
            lambda a: f"{a.setting['lambda_1']:g}", lambda a: f"{a.setting['lambda_2']:g}",
        )  # fmt: skip
        tables.append((dataset, _table(dataset, names, others, values)))
        figures.append(_figure(dataset, names, others, values))
        findings.append(_finding(dataset, part, first, second, values))
    searched = {name: sorted({a.setting[name] for a in found}) for name in ("alpha", "beta")}
    alphas, betas = (", ".join(f"{v:g}" for v in searched[name]) for name in searched)
    note = (
        "As published (K = 5, d = 100); for each pair the best of the searched (α, β) by accuracy: "
        f"α among {alphas} and β among {betas}, where the full grid has nine values each."
    )
    return Exhibit([note] if tables else [], tables, figures, findings)


def _table(dataset: str, names: Sequence[str], others: Sequence[str], values: Array) -> Table:
    columns = ["λ1", *(f"λ2 = {v}" for v in others)]
    rows = [[name, *row] for name, row in zip(names, values.tolist(), strict=True)]
    return Table(columns, rows, caption=f"Accuracy on {dataset}")


def _figure(dataset: str, names: Sequence[str], others: Sequence[str], values: Array) -> Figure:
    return Figure(
        f"sensitivity_{dataset}",
        lambda: plot_grid(values, names, others, ("λ1", "λ2"), f"accuracy, {dataset}"),
        f"Accuracy on {dataset} for every pair of weights; the best is framed.",
        f"Heat map of accuracy, from {np.nanmin(values):.3f} to {np.nanmax(values):.3f}.",
    )


def _finding(
    dataset: str, part: list[Average], first: list[float], second: list[float], values: Array
) -> Finding:
    small = values[np.asarray(first) <= 0.1]
    large = values[np.asarray(first) >= 10.0]
    drop = float(np.nanmean(small) - np.nanmean(large)) if large.size else np.nan
    low = np.asarray(second) <= 1.0
    harm = float(np.nanmean(small[:, low]) - np.nanmean(small[:, ~low])) if (~low).any() else np.nan
    # How far λ2 ≤ 1 moves the accuracy while λ1 stays where it is.
    moved = float(np.ptp(small[:, low], axis=1).max()) if low.any() else np.nan
    verdict = judged((drop > 0.005) + (harm > 0.0) + (moved <= STABLE), 3)
    return Finding(
        4,
        verdict,
        f"On {dataset} λ1 ≥ 10 costs {drop:.3f} of accuracy against λ1 ≤ 0.1 on average; with "
        f"λ1 ≤ 0.1 fixed, λ2 ≤ 1 moves it by at most {moved:.3f} (stable: up to {STABLE}), and "
        f"λ2 > 1 costs {harm:.3f} on average. "
        f"The best pair with λ1 ≥ 10 is {_between(part, 'lambda_1', 10.0, 0.1)} from the best with "
        f"λ1 ≤ 0.1, the best with λ2 ≥ 10 {_between(part, 'lambda_2', 10.0, 1.0)} from the best "
        "with λ2 ≤ 1; in brackets the 95 % intervals over folds.",
    )


def _between(part: list[Average], name: str, large: float, small: float) -> str:
    """Compare the best with a large weight with the best with a small one, over folds."""
    high = best([average for average in part if average.setting[name] >= large], "accuracy")
    low = best([average for average in part if average.setting[name] <= small], "accuracy")
    if high is None or low is None:
        return "not known"
    return str(corrected_t(high.by_fold("accuracy"), low.by_fold("accuracy")))


EXPERIMENT = Experiment(
    "sensitivity",
    "Sensitivity",
    "How much do λ1 and λ2 matter?",
    plan,
    show,
)
