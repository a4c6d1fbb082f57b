"""The latent dimension: average rank of each embedding method as d grows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pandas as pd

from grople.inspection import Picture, Table
from grople.study._data import label_count, load_data
from grople.study._experiment import Exhibit, Experiment, Finding, Scope, plan_folds, verdict_on
from grople.study._frames import choose_settings, on_shared_folds, score_ranks, where
from grople.study._methods import FIXED, QUICK_SHARES, SHARES, known_setting, settings_within
from grople.study._plots import plot_lines
from grople.study._printed import METRICS, measure_name
from grople.study._published_runs import published_runs
from grople.study._store import Run
from grople.study._tables import picture_id, rank_cell

NAMES = ("GroPLE", "PLST", "CPLST", "FaIE", "LEML")
#: (α, β) where the paper's pair is not known.
OTHERWISE = {"alpha": 100.0, "beta": 1e-4}
#: Seconds that a published embedding takes for each d²L, its many rounds where d is large: a core
#: of 2024, within a factor of two.
SECONDS = 1.5e-6


def plan(scope: Scope) -> list[Run]:
    """Return the grids of the comparison, which have every d, and GroPLE at the same d."""
    found: list[Run] = []
    for dataset in scope.datasets:
        for share in QUICK_SHARES if scope.small else SHARES:
            setting = grople_setting(dataset, share)
            slow = SECONDS * setting["n_components"] ** 2 * label_count(dataset) > scope.seconds
            less = replace(scope, n_folds=1) if slow else scope
            found += plan_folds("published", dataset, "GroPLE", [setting], less)
        for name in NAMES[1:]:
            settings = settings_within(name, load_data(dataset), scope.searched, math.inf)
            found += plan_folds("published", dataset, name, settings, scope)
    return found


def grople_setting(dataset: str, share: float) -> dict[str, Any]:
    """Return GroPLE's setting with d a share of the labels, rounded up."""
    known = known_setting("GroPLE", dataset) or OTHERWISE
    size = math.ceil(share * label_count(dataset) - 1e-9)  # .7 · 10 is 7, whatever its last bit
    weights = {"alpha": known["alpha"], "beta": known["beta"]}
    return FIXED | weights | {"n_components": size}


def show(runs: pd.DataFrame) -> Exhibit:
    """Return average ranks over data sets for each d and what became of the claim."""
    found = runs[(runs["task"] == "published") & runs["method"].isin(NAMES)]
    cells = {share: _cells_at(found, share) for share in SHARES}
    cells = {share: part for share, part in cells.items() if not part.empty}
    if not cells:
        return Exhibit()
    counts = {share: part["dataset"].nunique() for share, part in cells.items()}
    tables, pictures, told, first = {}, [], [], 0
    for metric in METRICS:
        ranks = pd.DataFrame(
            {share: score_ranks(part, metric, NAMES).mean() for share, part in cells.items()}
        ).T[list(NAMES)]
        tables[metric] = _table(ranks, counts, metric)
        pictures.append(_picture(ranks, metric))
        best = int((ranks["GroPLE"] == ranks.min(axis=1)).sum())
        told.append(f"{measure_name(metric)} {best}")
        first += best
    n = min(counts.values())
    finding = Finding(
        verdict_on(first, len(METRICS) * len(cells), n),
        f"Of {len(cells)} dimensions GroPLE ranks best at: {', '.join(told)}; over at least {n} "
        "data sets.",
    )
    note = (
        "At each d the best weights of the published grid by the sum of the four measures; "
        "GroPLE's α and β are the data set's pair in the comparison, so it is searched least. "
        "Methods are compared on the folds that all of them have at that d."
    )
    return Exhibit([note], tables, pictures, [finding])


def _cells_at(runs: pd.DataFrame, share: float) -> pd.DataFrame:
    """Return the best runs of each method with d that share of the labels, on shared folds."""

    def belongs(method: str, dataset: str, setting: dict[str, Any]) -> bool:
        if method == "GroPLE":
            return setting == grople_setting(dataset, share)
        return bool(setting["n_components"] == share)

    part = where(runs, map(belongs, runs["method"], runs["dataset"], runs["parameters"]))
    # The best weights on the folds that GroPLE has.
    mine = part[part["method"] == "GroPLE"]
    folds = set(zip(mine["dataset"], mine["fold"], strict=True))
    part = where(
        part, (place in folds for place in zip(part["dataset"], part["fold"], strict=True))
    )
    return on_shared_folds(choose_settings(part), NAMES)


def _table(ranks: pd.DataFrame, counts: dict[float, int], metric: str) -> Table:
    rows = [
        [f"{share:g}L", counts[share], *(rank_cell(rank, row.min()) for rank in row)]
        for share, row in ranks.iterrows()
    ]
    caption = f"Average rank by {measure_name(metric)}"
    return Table(["d", "data sets", *NAMES], rows, caption=caption)


def _picture(ranks: pd.DataFrame, metric: str) -> Picture:
    name = measure_name(metric)
    labels = ("d as a share of L", "average rank")
    drawn = plot_lines(ranks, labels, name, lower_is_better=True)
    told = "; ".join(f"{method} {rank:.2f} on average" for method, rank in ranks.mean().items())
    caption = "As the dimension grows; the best is on top."
    return Picture(drawn, picture_id("dimension", metric), f"Average rank by {name}", caption, told)


EXPERIMENT = Experiment(
    "dimension",
    "Dimension",
    "Which embedding predicts best at which dimension?",
    7,
    "GroPLE ranks best of the embedding methods at every dimension.",
    {"published": published_runs},
    plan,
    show,
)
