"""Which latent dimensions each group of labels uses: the row sparsity of V."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from grople.baselines import make_method
from grople.inspection import Picture, Table
from grople.published import published_stages
from grople.solver import Settings
from grople.study._data import load_fold
from grople.study._experiment import Exhibit, Experiment, Finding, Scope, plan_folds, verdict_on
from grople.study._plots import plot_presence
from grople.study._store import Run
from grople.study._tables import picture_id

#: The paper's method as published, and the library's.
PUBLISHED, LIBRARY = "GroPLE", "GroPLE (library)"
SHAPE = {"n_components": 100, "n_groups": 5, "lambda_1": 1e-3}
SETTINGS = [SHAPE | {"lambda_2": weight} for weight in (1.0, 10.0)]
#: The share of zero rows from which on rows count as sparse, and the overlap up to which the
#: dimensions of groups count as different.
SPARSE, DIFFERENT = 0.3, 0.5


def plan(scope: Scope) -> list[Run]:
    """Return the embeddings of one training part."""
    runs = []
    for name in (PUBLISHED, LIBRARY):
        runs += plan_folds("sparsity", scope.having("medical")[0], name, SETTINGS, scope)
    return [run for run in runs if run.fold == scope.folds[0]]


def sparsity_runs(job: Sequence[Run]) -> Iterator[tuple[Run, dict[str, Any]]]:
    """Return the lengths of the rows of V^k, a list a group, and the sizes of the groups."""
    for run in job:
        fold = load_fold(run.dataset, run.fold)
        if run.method == PUBLISHED:
            settings = Settings(**run.parameters, seed=run.seed)
            found, fit = published_stages(fold.moments.labels, settings)
            groups, V = found.membership, fit.V
        else:
            model = make_method("grople", "sign", random_state=run.seed, **run.parameters)
            model.fit(fold.X, fold.B)
            groups, V = model.label_groups_, model.components_
        numbers = range(int(groups.max()) + 1)
        lengths = [np.linalg.norm(V[:, groups == k], axis=1).round(6).tolist() for k in numbers]
        yield run, {"lengths": lengths, "sizes": [int(np.sum(groups == k)) for k in numbers]}


def show(runs: pd.DataFrame) -> Exhibit:
    """Return the pattern of each embedding and what became of the claim."""
    rows, pictures, findings = [], [], []
    for run in runs[runs["task"] == "sparsity"].itertuples():
        sizes, weight = run.result["sizes"], run.parameters["lambda_2"]
        names = [f"group {k + 1} ({size})" for k, size in enumerate(sizes)]
        lengths = pd.DataFrame(run.result["lengths"], index=names)
        live = (lengths > 0).loc[:, (lengths > 0).any()]
        zero, alike = float(1.0 - live.to_numpy().mean()), _overlap(live.to_numpy())
        rows.append(
            [
                run.method,
                run.dataset,
                weight,
                live.shape[1],
                zero,
                alike,
                " + ".join(map(str, sizes)),
            ]
        )
        title = f"{run.method}, λ2 = {weight:g}, {run.dataset}"
        pictures.append(
            Picture(
                plot_presence(lengths, title),
                picture_id("groups", title),
                title,
                "Lengths of the rows of V in each group of labels (its size in brackets); blank is "
                "exactly zero.",
                f"{zero:.0%} of the pattern is zero.",
            )
        )
        if run.method == PUBLISHED:
            findings.append(
                Finding(
                    verdict_on((zero > SPARSE) + (alike < DIFFERENT), 2),
                    f"On {run.dataset} with λ2 = {weight:g}: {zero:.0%} of the rows of V^k are "
                    f"exactly zero over {live.shape[1]} live dimensions, and two groups share "
                    f"{alike:.0%} of the dimensions that either uses.",
                )
            )
    columns = ["method", "data", "λ2", "live dimensions", "zero rows", "overlap", "group sizes"]
    note = (
        "Zero rows: share of (group, live dimension) pairs whose row of V^k is exactly zero. "
        "Overlap: mean Jaccard index of the dimensions that two groups use."
    )
    table = Table(columns, rows, note=note, caption="Row sparsity of V")
    return Exhibit((), {"patterns": table} if rows else {}, pictures, findings)


def _overlap(used: Any) -> float:
    """Return the mean Jaccard index of the dimensions that two groups use."""
    pairs = [np.sum(a & b) / max(np.sum(a | b), 1) for a, b in combinations(used, 2)]
    return float(np.mean(pairs)) if pairs else 0.0


EXPERIMENT = Experiment(
    "heatmap",
    "Group structure",
    "Do labels of a group share latent dimensions, and groups differ in them?",
    3,
    "Labels of one group use the same latent dimensions, different groups different ones.",
    {"sparsity": sparsity_runs},
    plan,
    show,
)
