"""The latent dimension: average rank of each embedding method as d grows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

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
from grople.study.experiments.comparison_pairs import TEST, pairs
from grople.study.figures import plot_lines
from grople.study.methods import FIXED, METHODS, QUICK_SHARES, SHARES
from grople.study.paired import LEVEL
from grople.study.published import METRICS, measure_name
from grople.study.reading import Average, averages
from grople.study.splits import data, label_count
from grople.study.statistics import rank_rows
from grople.study.store import Row, Store
from grople.study.units import Batch

__all__ = ["EXPERIMENT", "dimensions"]

NAMES = ("GroPLE", "PLST", "CPLST", "FaIE", "LEML")
#: (α, β) where the paper's pair is not known.
OTHERWISE = {"alpha": 100.0, "beta": 1e-4}
#: Rounds of the published alternation, which are many where d is large, and seconds that a round
#: takes for each d²L: a core of 2024, within a factor of two.
ROUNDS, SECONDS = 500, 3e-9


def dimensions(dataset: str, share: float) -> int:
    """Return ⌈share · L⌉ of a data set.

    Examples
    --------
    >>> dimensions("debtags-mini", 0.1)
    17
    """
    return math.ceil(share * label_count(dataset) - 1e-9)


def plan(options: Options) -> list[Batch]:
    """Return the grids of the comparison, which have every d, and GroPLE at the same d."""
    shares = QUICK_SHARES if options.small else SHARES
    found = []
    for dataset in options.datasets:
        known = METHODS["GroPLE"].known(dataset) or OTHERWISE
        weights = {"alpha": known["alpha"], "beta": known["beta"]}
        for share in shares:
            size = dimensions(dataset, share)
            setting = FIXED | weights | {"n_components": size}
            # Beyond the budget one fold will do.
            slow = ROUNDS * SECONDS * size**2 * label_count(dataset) > options.budget
            few = replace(options, folds=options.folds[:1]) if slow else options
            found += plan_folds("published", dataset, "GroPLE", [setting], few)
        for name in NAMES[1:]:
            settings = METHODS[name].settings(data(dataset), grid=options.searched)
            found += plan_folds("published", dataset, name, settings, options)
    return found


def show(store: Store) -> Exhibit:
    """Return average ranks over data sets for each d and what became of claim 7."""
    curves = _curves(store)
    shares = [s for s in SHARES if _complete(curves, s)]
    if not shares:
        return Exhibit()
    tables, figures, told = [], [], []
    best = {}
    for metric in METRICS:
        ranks = np.array([_average_ranks(curves, share, metric) for share in shares])
        rows = [
            [f"{share:g}L", len(_complete(curves, share))]
            + [Cell(v, f"{v:.2f}", "bold" if v == row.min() else "") for v in row.tolist()]
            for share, row in zip(shares, ranks, strict=True)
        ]
        tables.append(
            (
                metric,
                Table(
                    ["d", "data sets", *NAMES],
                    rows,
                    caption=f"Average rank, {measure_name(metric)}",
                ),
            )
        )
        figures.append(_figure(metric, shares, ranks))
        first = int(sum(row.argmin() == 0 for row in ranks))
        best[metric] = first
        told.append(f"{measure_name(metric)} {first} of {len(shares)}")
    sizes = [len(_complete(curves, share)) for share in shares]
    n = min(sizes)
    total = sum(best.values())
    whole = len(METRICS) * len(shares)
    verdict = judged(total, whole, n)
    told_sizes = f"{n}" if n == max(sizes) else f"{n} to {max(sizes)}"
    finding = Finding(
        7,
        verdict,
        f"GroPLE ranks best at {', '.join(told)} dimensions, over {told_sizes} data sets. "
        + _beyond_chance(curves, shares),
    )
    note = (
        "At each d the best weights of the published grid by the sum of the four measures; "
        "GroPLE's α and β are the data set's pair in the comparison, so it is searched least. "
        + _few_folds(curves)
    )
    return Exhibit([note], tables, figures, [finding])


def _few_folds(curves: Curves) -> str:
    """Say where there are fewer folds than elsewhere: each data set with the d's of that number."""
    sizes = {(d, share): c.folds for (d, share, name), c in curves.items() if name == NAMES[0]}
    most = max(sizes.values())
    few: dict[tuple[str, int], list[str]] = defaultdict(list)
    for (dataset, share), folds in sorted(sizes.items()):
        if folds < most:
            few[dataset, folds].append(f"{share:g}L")
    told = [f"{', '.join(at)} on {name} ({n} of {most} folds)" for (name, n), at in few.items()]
    return f"Over fewer folds than elsewhere: {'; '.join(told)}." if told else ""


def _beyond_chance(curves: Curves, shares: list[float]) -> str:
    """Say how often GroPLE is ahead of a method, or behind, beyond chance."""
    total = ahead = behind = 0
    for share in shares:
        cells = {
            (d, name): curves[d, share, name] for d in _complete(curves, share) for name in NAMES
        }
        for pair in pairs(cells):
            total += 1
            ahead += pair.adjusted < LEVEL and pair.mean > 0
            behind += pair.adjusted < LEVEL and pair.mean < 0
    return (
        f"Of {total} comparisons with one method at one dimension by one measure it is ahead in "
        f"{ahead} and behind in {behind} beyond chance ({TEST})."
    )


Curves = Mapping[tuple[str, float, str], Average]


def _curves(store: Store) -> Curves:
    """Return the best average of each data set, share of dimensions and method.

    Methods are compared on the folds that GroPLE has at that d.
    """
    placed: dict[tuple[str, float], dict[str, list[Row]]] = {}
    for name in NAMES:
        for row in store.rows(task="published", method=name):
            for share in _shares(row):
                methods = placed.setdefault((row.dataset, share), defaultdict(list))
                methods[name].append(row)
    found: dict[tuple[str, float, str], Average] = {}
    for (dataset, share), methods in placed.items():
        folds = {row.fold for row in methods[NAMES[0]]}
        for name, rows in methods.items():
            kept = [row for row in rows if row.fold in folds]
            settings = [a for a in averages(kept) if a.folds == len(folds)]
            if settings:
                found[dataset, share, name] = max(settings, key=lambda each: each.total)
    return found


def _shares(row: Row) -> list[float]:
    size = row.setting["n_components"]
    if row.method != "GroPLE":
        return [size] if size in SHARES else []
    others = {k: v for k, v in FIXED.items() if k != "n_components"}
    known = METHODS["GroPLE"].known(row.dataset) or OTHERWISE
    others |= {"alpha": known["alpha"], "beta": known["beta"]}
    if any(row.setting[name] != value for name, value in others.items()):
        return []
    return [share for share in SHARES if dimensions(row.dataset, share) == size]


def _complete(curves: Curves, share: float) -> list[str]:
    places = {dataset for dataset, s, _ in curves if s == share}
    return sorted(d for d in places if all((d, share, name) in curves for name in NAMES))


def _average_ranks(curves: Curves, share: float, metric: str) -> np.ndarray:
    datasets = _complete(curves, share)
    means = [[round(curves[d, share, n].mean[metric], 3) for n in NAMES] for d in datasets]
    return np.asarray(rank_rows(means, ranks=False).mean(axis=0))


def _figure(metric: str, shares: list[float], ranks: np.ndarray) -> Figure:
    lines = dict(zip(NAMES, ranks.T, strict=True))
    return Figure(
        f"dimension_{metric}",
        lambda: plot_lines(
            shares, lines, ("d as a share of L", "average rank"), measure_name(metric),
            lower_is_better=True,
        ),
        f"Average rank by {measure_name(metric)} as the dimension grows; the best is on top.",
        "; ".join(f"{name} {values.mean():.2f} on average" for name, values in lines.items()),
    )  # fmt: skip


EXPERIMENT = Experiment(
    "dimension",
    "Dimension",
    "Which embedding predicts best at which dimension?",
    plan,
    show,
    uses=("comparison",),
)
