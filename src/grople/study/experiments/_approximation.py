"""How well the embedding of the labels gives them back, before any feature is seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from grople.published import approximation_setting, published_stages
from grople.solver import Settings
from grople.study._data import load_fold, measures
from grople.study._experiment import Exhibit, Experiment, Finding, Scope, plan_folds, verdict_on
from grople.study._frames import mean_table
from grople.study._methods import FIXED, known_setting
from grople.study._pairs import compare_pairs, rank_finding
from grople.study._printed import METRICS, measure_name
from grople.study._published_runs import published_model
from grople.study._store import Run, Setting, setting_text
from grople.study._tables import measure_table
from grople.study.experiments._comparison import protocol_cells

NAMES = ("GroPLE", "PLST", "CPLST", "FaIE")
#: Where the paper's setting is not known.
OTHERWISE = {"n_components": 0.8, "ridge": 1e-4}
#: A difference that does not show in print.
ALIKE = 0.0005


def plan(scope: Scope) -> list[Run]:
    """Return one setting a data set and method: the paper's."""
    found: list[Run] = []
    for dataset in scope.datasets:
        for name in NAMES:
            setting = setting_of(name, dataset)
            found += plan_folds("approximation", dataset, name, [setting], scope)
    return found


def setting_of(name: str, dataset: str) -> Setting:
    """Return the paper's setting, or the one taken where that is not known."""
    if name == "GroPLE":
        return FIXED
    known = known_setting(name, dataset)
    if known is None:
        return OTHERWISE | ({"alpha": 1e3} if name == "FaIE" else {})
    return known | approximation_setting(name, dataset)


def approximation_runs(job: Sequence[Run]) -> Iterator[tuple[Run, dict[str, Any]]]:
    """Decode the embedding of the training labels themselves, by sign."""
    for run in job:
        fold, setting = load_fold(run.dataset, run.fold), run.parameters
        if run.method == "GroPLE":
            settings = Settings(**setting, seed=run.seed)
            _, fit = published_stages(fold.moments.labels, settings)
            decoded = (2.0 * (fold.B @ fit.W) - fit.W.sum(axis=0)) @ fit.V
        else:
            model = published_model(run.method, run.seed, **setting).fit(fold.X, fold.B)
            decoded = model.approximate(fold.X, fold.B)
        yield run, measures(fold.B, decoded > 0.0)


def show(runs: pd.DataFrame) -> Exhibit:
    """Return a table for each measure and what became of the claim."""
    cells = runs[runs["task"] == "approximation"]
    wanted = map(setting_of, cells["method"], cells["dataset"])
    cells = cells[cells["setting"] == [setting_text(setting) for setting in wanted]]
    if cells.empty:
        return Exhibit()
    title = "training labels given back by sign"
    tables = {metric: measure_table(cells, metric, "approximation", title) for metric in METRICS}
    note = "Settings: the paper's where they are known, else d = .8L."
    ranking = rank_finding(cells, title, compare_pairs(cells), "1.73 by every measure")
    findings = [ranking, *_against_predictions(cells, protocol_cells(runs, "published"))]
    return Exhibit([note], tables, (), findings)


def _against_predictions(cells: pd.DataFrame, predicted: pd.DataFrame) -> list[Finding]:
    """Judge whether PLST approximates better than FaIE and yet predicts worse."""
    told, held, n = [], 0, 0
    for metric in METRICS:
        tables = [mean_table(part, metric) for part in (cells, predicted)]
        if not all({"PLST", "FaIE"} <= set(table.columns) for table in tables):
            return []
        gaps = [(table["PLST"] - table["FaIE"]).dropna() for table in tables]
        closer, worse = gaps[0].align(gaps[1], join="inner")
        n = len(closer)
        n_closer, n_worse = int((closer > ALIKE).sum()), int((worse < -ALIKE).sum())
        held += 2 * n_closer > n and 2 * n_worse > n
        told.append(f"by {measure_name(metric)} {n_closer} and {n_worse}")
    sentence = (
        f"Of {n} data sets PLST approximates better than FaIE, and predicts worse, on: "
        f"{'; '.join(told)}."
    )
    return [Finding(verdict_on(held, len(METRICS), n), sentence)] if n else []


EXPERIMENT = Experiment(
    "approximation",
    "Approximation",
    "How well does the embedding give the training labels back?",
    6,
    "GroPLE approximates the labels best, then PLST, CPLST, FaIE; PLST approximates better than "
    "FaIE, yet predicts worse.",
    {"approximation": approximation_runs},
    plan,
    show,
)
