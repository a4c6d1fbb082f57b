"""How well the code of the labels gives them back, before any feature is seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grople.pages import Cell, Table
from grople.published import approximation_setting
from grople.study.experiments import comparison
from grople.study.experiments.base import (
    Exhibit,
    Experiment,
    Finding,
    Options,
    judged,
    plan_folds,
)
from grople.study.experiments.comparison_pairs import (
    Pair,
    ahead_and_behind,
    pair_tables,
    pairs,
)
from grople.study.methods import FIXED, METHODS
from grople.study.paired import signed_ranks
from grople.study.published import METRICS, measure_name, ours, paper_dataset, published_table
from grople.study.reading import Average, averages, data_order
from grople.study.statistics import rank_rows
from grople.study.store import Store
from grople.study.units import Batch, Setting, canonical

__all__ = ["EXPERIMENT"]

NAMES = ("GroPLE", "PLST", "CPLST", "FaIE")
#: Where the paper's setting is not known.
OTHERWISE: dict[str, Any] = {"n_components": 0.8, "ridge": 1e-4}
#: A difference that fills its cell with colour, and one that does not show in print.
FULL_SHADE, EQUAL = 0.05, 0.0005


def plan(options: Options) -> list[Batch]:
    """Return one setting a data set and method: the paper's."""
    return [
        batch
        for dataset in options.datasets
        for name in NAMES
        for batch in plan_folds(
            "approximation", dataset, name, [setting_of(name, dataset)], options
        )
    ]


def setting_of(name: str, dataset: str) -> Setting:
    """Return the paper's setting, or the one taken where that is not known."""
    if name == "GroPLE":
        return FIXED
    known = METHODS[name].known(dataset)
    if known is None:
        return OTHERWISE | ({"alpha": 1e3} if name == "FaIE" else {})
    return known | approximation_setting(name, dataset)


def show(store: Store) -> Exhibit:
    """Return a table for each measure and what became of claim 6."""
    found = {
        (average.dataset, average.method): average
        for average in averages(store.rows(task="approximation"))
        if canonical(average.setting) == canonical(setting_of(average.method, average.dataset))
    }
    if not found:
        return Exhibit()
    tables = [(metric, _table(found, metric)) for metric in METRICS]
    compared = pairs(found)
    tables += pair_tables(compared, "approximation")
    findings = _findings(found, compared) + _against_predictions(found, store)
    return Exhibit(_notes(found), tables, (), findings)


def _table(found: dict[tuple[str, str], Average], metric: str) -> Table:
    paper = published_table("approximation")
    rows: list[list[Any]] = []
    for dataset in data_order(dataset for dataset, _ in found):
        row: list[Any] = [dataset]
        here = [found[dataset, m].mean[metric] for m in NAMES if (dataset, m) in found]
        for method in NAMES:
            average = found.get((dataset, method))
            printed = paper.get((paper_dataset(dataset), metric, ours(method)))
            theirs = None if printed is None else printed.mean
            if average is None:
                row += [None, theirs, None]
                continue
            mean = average.mean[metric]
            top = round(mean, 3) == round(max(here), 3)
            text = f"{mean:.3f} ± {average.std[metric]:.3f}"
            row += [Cell(mean, text, "bold" if top else ""), Cell(theirs, emphasis="muted")]
            gap = None if theirs is None else mean - theirs
            shade = None if gap is None else float(np.clip(gap / FULL_SHADE, -1, 1))
            row.append(Cell(gap, None if gap is None else f"{gap:+.3f}", shade=shade))
        rows.append(row)
    columns = ["data"]
    for method in NAMES:
        columns += [method, f"{method}, paper", f"{method} − paper"]
    return Table(
        columns,
        rows,
        caption=f"{measure_name(metric)} of the training labels given back by sign",
        note="Settings: the paper's where known, else d = .8L.",
    )


def _complete(found: dict[tuple[str, str], Average]) -> list[str]:
    return data_order(d for d, _ in found if all((d, m) in found for m in NAMES))


def _ranks(found: dict[tuple[str, str], Average], metric: str) -> dict[str, float]:
    datasets = _complete(found)
    means = [[round(found[d, m].mean[metric], 3) for m in NAMES] for d in datasets]
    if not means:
        return {}
    return dict(zip(NAMES, rank_rows(means, ranks=False).mean(axis=0).tolist(), strict=True))


def _notes(found: dict[tuple[str, str], Average]) -> list[str]:
    paper = published_table("approximation")
    gaps = [
        abs(average.mean[metric] - printed.mean)
        for (dataset, method), average in found.items()
        for metric in METRICS
        if (printed := paper.get((paper_dataset(dataset), metric, ours(method)))) is not None
    ]
    if not gaps:
        return []
    close = sum(gap <= 0.01 for gap in gaps)
    return [
        f"{close} of {len(gaps)} cells are within .01 of the paper's; the largest difference is "
        f"{max(gaps):.3f}."
    ]


def _findings(found: dict[tuple[str, str], Average], compared: Sequence[Pair]) -> list[Finding]:
    told, first = [], 0
    for metric in METRICS:
        ranks = _ranks(found, metric)
        if not ranks:
            return [Finding(6, "open", "Not every method was run on any data set.")]
        first += min(ranks, key=lambda m: ranks[m]) == "GroPLE"
        order = ", ".join(f"{m} {r:.2f}" for m, r in sorted(ranks.items(), key=lambda p: p[1]))
        told.append(f"{measure_name(metric)}: {order}")
    n = len(_complete(found))
    verdict = judged(first, len(METRICS), n)
    return [
        Finding(
            6,
            verdict,
            f"Average ranks of the approximation over {n} data sets: {'; '.join(told)}. The paper: "
            "GroPLE 1.73 by every measure, then PLST, CPLST, FAiE. " + ahead_and_behind(compared),
        )
    ]


def _against_predictions(found: dict[tuple[str, str], Average], store: Store) -> list[Finding]:
    """Judge whether PLST approximates better than FaIE and yet predicts worse."""
    predicted = comparison.protocol_cells(store, "published")
    names = ("PLST", "FaIE")
    both = [
        dataset
        for dataset in data_order(dataset for dataset, _ in found)
        if all((dataset, name) in cells for name in names for cells in (found, predicted))
    ]
    if not both:
        return []
    told, held = [], 0
    for metric in METRICS:
        closer, worse = (
            [sign * (cells[d, "PLST"].mean[metric] - cells[d, "FaIE"].mean[metric]) for d in both]
            for cells, sign in ((found, 1), (predicted, -1))
        )
        n_closer, n_worse = (sum(gap > EQUAL for gap in gaps) for gaps in (closer, worse))
        held += 2 * n_closer > len(both) and 2 * n_worse > len(both)
        chance = [f"p = {signed_ranks(gaps):.3f}" for gaps in (closer, worse)]
        told.append(
            f"by {measure_name(metric)} better on {n_closer} ({chance[0]}), yet worse at "
            f"predicting on {n_worse} ({chance[1]})"
        )
    return [
        Finding(
            6,
            judged(held, len(METRICS), len(both)),
            f"PLST against FaIE over {len(both)} data sets: approximation {'; '.join(told)}. "
            "p of Wilcoxon's test.",
        )
    ]


EXPERIMENT = Experiment(
    "approximation",
    "Approximation",
    "How well does the embedding give the training labels back?",
    plan,
    show,
    uses=("comparison",),
)
