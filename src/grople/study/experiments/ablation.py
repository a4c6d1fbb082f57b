"""The correlation term: each method with it and without it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grople.pages import Cell, Table
from grople.study.experiments.base import (
    Exhibit,
    Experiment,
    Figure,
    Finding,
    Options,
    judged,
    plan_folds,
)
from grople.study.experiments.comparison import _of_comparison
from grople.study.experiments.comparison_tables import interval_cell
from grople.study.figures import plot_pairs
from grople.study.methods import FIXED, METHODS, POWERS, QUICK_POWERS, product
from grople.study.paired import LEVEL, corrected_t, signed_ranks
from grople.study.published import METRICS, measure_name
from grople.study.reading import Average, averages, data_order
from grople.study.splits import data
from grople.study.statistics import rank_rows
from grople.study.store import Store
from grople.study.units import Batch, Setting

__all__ = ["EXPERIMENT"]

NAMES = ("GroPLE", "LLSF", "MLSF")
#: α of MLSF's selection of features, where the paper searched as it did for the others.
MLSF_ALPHAS = (0.1, 10.0)


def plan(options: Options) -> list[Batch]:
    """Return the grids of the comparison, and the same without the correlation term."""
    weights = QUICK_POWERS if options.small else POWERS
    found = []
    for dataset in options.datasets:
        here = data(dataset)
        for name in NAMES:
            usual = list(METHODS[name].settings(here, grid=options.searched, budget=options.budget))
            found += plan_folds("published", dataset, name, usual, options)
            found += plan_folds("published", dataset, name, _other(name, usual, weights), options)
    return found


def _other(name: str, usual: Sequence[Setting], weights: Sequence[float]) -> list[Setting]:
    """Return what the comparison lacks: no correlation term, or for MLSF one."""
    if name == "GroPLE":
        return [FIXED | {"alpha": 0.0, "beta": beta} for beta in weights]
    if name == "LLSF":
        return list(product(alpha=[0.0], beta=weights, gamma=[0.1]))
    # As many as the comparison could afford, for each α.
    return [dict(s) | {"alpha": alpha} for s in usual[:1] for alpha in MLSF_ALPHAS]


def show(store: Store) -> Exhibit:
    """Return average ranks with and without the term, and what became of claim 8."""
    rows: list[list[Any]] = []
    findings, figures = [], []
    bars: dict[str, tuple[list[float], list[float]]] = {m: ([], []) for m in METRICS}
    shown: list[str] = []
    details: list[list[Any]] = []
    for name in NAMES:
        pairs = _pairs(store, name)
        if not pairs:
            continue
        shown.append(name)
        row: list[Any] = [name, len(pairs)]
        told, held, certain = [], 0, False
        for metric in METRICS:
            means = [[round(a.mean[metric], 3) for a in pair] for pair in pairs.values()]
            with_it, without = rank_rows(means, ranks=False).mean(0)
            bars[metric][0].append(float(with_it))
            bars[metric][1].append(float(without))
            row += [Cell(with_it, f"{with_it:.2f}"), Cell(without, f"{without:.2f}")]
            # Claimed: it helps GroPLE and LLSF, and hurts MLSF. A tie does neither.
            held += bool(with_it > without if name == "MLSF" else with_it < without)
            gaps = [a.mean[metric] - b.mean[metric] for a, b in pairs.values()]
            chance = signed_ranks(gaps)
            certain |= chance < LEVEL
            told.append(
                f"{measure_name(metric)} {with_it:.2f} against {without:.2f} (p = {chance:.3f})"
            )
        rows.append(row)
        details += _details(name, pairs)
        findings.append(_finding(name, held, certain, told, len(pairs)))
    if not rows:
        return Exhibit()
    columns = ["method", "data sets"]
    for metric in METRICS:
        columns += [f"{measure_name(metric)}, α > 0", "α = 0"]
    table = Table(
        columns, rows, caption="Average rank of the two variants of each method (1 better, 2 worse)"
    )
    by_data = Table(
        ["method", "data", *(f"{measure_name(m)} α > 0 − α = 0" for m in METRICS)],
        details,
        caption="What the correlation term adds",
        note="Difference over folds ± half of its 95 % interval (corrected resampled t-test); "
        "bold: the interval does not hold zero.",
    )
    for metric in METRICS:
        figures.append(_figure(metric, shown, bars[metric]))
    note = (
        "One setting for all folds by the sum of the four measures; β is tuned in both variants of "
        "GroPLE and LLSF, where α > 0 has more settings to choose from, which favours it. MLSF, "
        "which is slow, has four γ without the term, as far as the budget allows, and two α at one "
        "γ with it."
    )
    return Exhibit([note], [("ranks", table), ("differences", by_data)], figures, findings)


def _pairs(store: Store, name: str) -> dict[str, tuple[Average, Average]]:
    """Return for each data set the best with and the best without the term."""
    rows = [
        row
        for row in store.rows(task="published", method=name)
        if _of_comparison(row) or _fixed(name, row.setting)
    ]
    pairs = {}
    for dataset in data_order(row.dataset for row in rows):
        here = [row for row in rows if row.dataset == dataset]
        folds = [{row.fold for row in here if (row.setting["alpha"] > 0) == w} for w in (1, 0)]
        part = averages(row for row in here if row.fold in folds[0] & folds[1])
        with_it = [average for average in part if average.setting["alpha"] > 0]
        without = [average for average in part if average.setting["alpha"] == 0]
        if with_it and without:
            pairs[dataset] = _best(with_it), _best(without)
    return pairs


def _best(found: list[Average]) -> Average:
    return max(found, key=lambda average: average.total)


def _fixed(name: str, setting: Setting) -> bool:
    return name != "GroPLE" or all(setting[key] == value for key, value in FIXED.items())


def _details(name: str, pairs: dict[str, tuple[Average, Average]]) -> list[list[Any]]:
    rows = []
    for dataset, (with_it, without) in pairs.items():
        found = [corrected_t(with_it.by_fold(m), without.by_fold(m)) for m in METRICS]
        rows.append([name, dataset, *map(interval_cell, found)])
    return rows


def _figure(metric: str, names: list[str], bars: tuple[list[float], list[float]]) -> Figure:
    told = "; ".join(
        f"{name} {a:.2f} with, {b:.2f} without" for name, a, b in zip(names, *bars, strict=True)
    )
    return Figure(
        f"ablation_{metric}",
        lambda: plot_pairs(names, *bars, ("α > 0", "α = 0"), "average rank", measure_name(metric)),
        f"Average rank by {measure_name(metric)} with and without the correlation term: lower is "
        "better.",
        told,
    )


def _finding(name: str, held: int, certain: bool, told: list[str], n: int) -> Finding:
    verdict = judged(held, len(METRICS), n)
    if verdict == "refuted" and not certain:  # ranks that chance may have turned refute nothing
        verdict = "open"
    claim = "slightly hurts" if name == "MLSF" else "helps"
    return Finding(
        8,
        verdict,
        f"Claimed: the term {claim} {name}. Average ranks with it and without over {n} data sets, "
        f"and p of Wilcoxon's test of the differences: {', '.join(told)}.",
    )


EXPERIMENT = Experiment(
    "ablation",
    "Ablation",
    "Does the correlation term help?",
    plan,
    show,
    uses=("comparison",),
)
