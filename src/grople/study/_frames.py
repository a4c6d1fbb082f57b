"""Results as tables of numbers: folds averaged, settings chosen, methods ranked.

The runs of one chosen setting for each data set and method are called cells: the cells of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from grople.study._methods import method_order
from grople.study._printed import METRICS, data_order
from grople.study._statistics import rank_scores
from grople.study._store import setting_text

PLACE = ["dataset", "method"]
#: The share of the data sets on which a method must have been run to be ranked.
RANKED_SHARE = 0.5


def where(runs: pd.DataFrame, wanted: Iterable[bool]) -> pd.DataFrame:
    """Return the runs that are wanted; no run is wanted of no runs."""
    return runs.loc[np.fromiter(wanted, bool, len(runs))]


def published_grople(runs: pd.DataFrame, wanted: Callable[[dict[str, Any]], bool]) -> pd.DataFrame:
    """Return the published runs of GroPLE whose parameters are wanted."""
    runs = runs[(runs["task"] == "published") & (runs["method"] == "GroPLE")]
    return where(runs, map(wanted, runs["parameters"]))


def average_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the means over folds of each setting on one data set, where most have as many folds.

    A few settings may be shared with another experiment, on other folds.
    """
    groups = runs.groupby("setting", sort=False)
    found = groups[list(METRICS)].mean()
    found["parameters"], folds = groups["parameters"].first(), groups["fold"].nunique()
    return found[folds == folds.mode().max()]


def choose_settings(
    runs: pd.DataFrame, known: Callable[[str, str], Any] = lambda method, dataset: None
) -> pd.DataFrame:
    """Return the cells: the runs of one setting for each data set and method.

    Parameters
    ----------
    runs : DataFrame
        As :meth:`grople.study.Store.read` returns them.
    known : callable
        From method and data set to the setting to take where it was run. Else it is the one with
        the largest sum of measures, of those with the most folds.
    """
    parts = []
    for (dataset, method), part in runs.groupby(PLACE, sort=False):
        setting = known(method, dataset)
        text = None if setting is None else setting_text(setting)
        if text not in set(part["setting"]):
            settings = part.groupby("setting", sort=False)
            total = settings[list(METRICS)].mean().round(12).sum(axis=1)
            folds = settings["fold"].nunique()
            text = total[folds == folds.max()].idxmax()
        parts.append(part[part["setting"] == text])
    return pd.concat(parts) if parts else runs


def data_sets(runs: pd.DataFrame) -> list[str]:
    """Return the data sets of some runs in the paper's order."""
    return sorted(set(runs["dataset"]), key=data_order)


def methods_of(runs: pd.DataFrame) -> list[str]:
    """Return the methods of some runs in the paper's order."""
    return sorted(set(runs["method"]), key=method_order)


def mean_table(cells: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the means over folds, data sets by methods, in the paper's order."""
    means = cells.pivot_table(index="dataset", columns="method", values=metric, aggfunc="mean")
    return means.reindex(index=data_sets(cells), columns=methods_of(cells))


def on_shared_folds(cells: pd.DataFrame, methods: Iterable[str]) -> pd.DataFrame:
    """Return the cells of some methods on the folds, of the same rows, that all of them ran."""
    wanted = set(methods)
    cells = cells[cells["method"].isin(wanted)]
    count = cells.groupby(["dataset", "fold", "fingerprint"])["method"].transform("nunique")
    return cells[count == len(wanted)]


def ranked_methods(cells: pd.DataFrame) -> list[str]:
    """Return the methods that were run on at least half of the data sets."""
    counts = cells.groupby("method")["dataset"].nunique()
    return [name for name in methods_of(cells) if counts[name] >= RANKED_SHARE * counts.max()]


def score_ranks(cells: pd.DataFrame, metric: str, methods: Sequence[str]) -> pd.DataFrame:
    """Return the ranks of methods, 1 the best, on the data sets that all of them ran.

    Means are compared as they print: with three digits.
    """
    means = mean_table(on_shared_folds(cells, methods), metric).round(3)
    ranks = rank_scores(means) if len(means) else means
    return pd.DataFrame(ranks, means.index, means.columns)
