"""Which latent dimensions each group of labels uses: the row sparsity of V."""

from __future__ import annotations

from typing import Any

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
from grople.study.figures import plot_presence
from grople.study.methods import product
from grople.study.store import Row, Store
from grople.study.units import Batch

__all__ = ["EXPERIMENT", "overlap"]

DATASET = "medical"
#: The paper's method as published, and the library's.
NAMES = ("GroPLE", "GroPLE (library)")
SETTINGS = product(n_components=[100], n_groups=[5], lambda_1=[1e-3], lambda_2=[1.0, 10.0])


def plan(options: Options) -> list[Batch]:
    """Return the embeddings of one training part."""
    dataset = options.has(DATASET)[0]
    return [
        batch
        for name in NAMES
        for batch in plan_folds("sparsity", dataset, name, SETTINGS, options)
        if batch.fold == options.folds[0]
    ]


def overlap(lengths: Any) -> float:
    """Return how alike the dimensions are that groups use: the mean Jaccard index of pairs.

    Examples
    --------
    >>> overlap([[1.0, 0.0, 2.0], [1.0, 3.0, 0.0]]) == 1 / 3
    True
    """
    used = np.asarray(lengths, dtype=float) > 0
    pairs = [
        np.sum(a & b) / max(np.sum(a | b), 1) for i, a in enumerate(used) for b in used[i + 1 :]
    ]
    return float(np.mean(pairs)) if pairs else 0.0


def show(store: Store) -> Exhibit:
    """Return the pattern of each embedding and what became of claim 3."""
    rows = store.rows(task="sparsity")
    table, figures, findings = [], [], []
    for row in rows:
        lengths = np.asarray(row.result["lengths"])
        live = lengths[:, (lengths > 0).any(axis=0)]
        zero = float(np.mean(live == 0)) if live.size else 1.0
        weight = row.setting["lambda_2"]
        alike = overlap(live)
        table.append(
            [row.method, row.dataset, weight, live.shape[1], zero, alike,
             " + ".join(map(str, row.result["sizes"]))]
        )  # fmt: skip
        figures.append(_figure(row, lengths, zero))
        if row.method == "GroPLE":
            verdict = judged((zero > 0.3) + (alike < 0.5), 2)
            findings.append(
                Finding(
                    3,
                    verdict,
                    f"On {row.dataset} with λ2 = {weight:g}: {zero:.0%} of the rows of V^k are "
                    f"exactly zero over {live.shape[1]} live dimensions, and two groups share "
                    f"{alike:.0%} of the dimensions that either uses.",
                )
            )
    columns = ["method", "data", "λ2", "live dimensions", "zero rows", "overlap", "group sizes"]
    note = (
        "Zero rows: share of (group, live dimension) pairs whose row of V^k is exactly zero. "
        "Overlap: mean Jaccard index of the dimensions that two groups use."
    )
    tables = [("patterns", Table(columns, table, note=note, caption="Row sparsity of V"))]
    return Exhibit((), tables if rows else (), figures, findings)


def _figure(row: Row, lengths: Any, zero: float) -> Figure:
    names = [f"group {k + 1} ({n})" for k, n in enumerate(row.result["sizes"])]
    kind = "library" if "library" in row.method else "published"
    weight = row.setting["lambda_2"]
    return Figure(
        f"heatmap_{row.dataset}_{kind}_{weight:g}",
        lambda: plot_presence(lengths, names, f"{row.method}, λ2 = {weight:g}, {row.dataset}"),
        f"Lengths of the rows of V in each group of labels (group size in brackets), {kind}, "
        f"λ2 = {weight:g}; blank is exactly zero.",
        f"{zero:.0%} of the pattern is zero.",
    )


EXPERIMENT = Experiment(
    "heatmap",
    "Group structure",
    "Do labels of a group share latent dimensions, and groups differ in them?",
    plan,
    show,
)
