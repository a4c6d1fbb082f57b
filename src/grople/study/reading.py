"""Results as tables of numbers: folds averaged, settings chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.study.published import METRICS, paper_dataset
from grople.study.store import Row
from grople.study.units import Setting, canonical

__all__ = ["Average", "averages", "best", "data_order", "matching", "shared_folds"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Average:
    """Mean and population standard deviation of the measures of one setting over its folds."""

    dataset: str
    method: str
    setting: dict[str, Any]
    mean: Mapping[str, float]
    std: Mapping[str, float]
    folds: int
    seconds: float
    rows: tuple[Row, ...] = ()

    def by_fold(self, metric: str) -> Array:
        """Return a measure on each fold."""
        return np.array([row.result[metric] for row in self.rows], dtype=float)

    def only(self, folds: Iterable[int]) -> Average:
        """Return the same over some of the folds."""
        wanted = set(folds)
        if wanted >= {row.fold for row in self.rows}:
            return self
        (found,) = averages([row for row in self.rows if row.fold in wanted], tuple(self.mean))
        return found

    def same_folds(self, other: Average) -> bool:
        """Whether two averages are over the same folds of the same data."""
        return [(r.fold, r.fingerprint) for r in self.rows] == [
            (r.fold, r.fingerprint) for r in other.rows
        ]

    @property
    def total(self) -> float:
        """The sum of the measures: what one setting for all of them is chosen by."""
        return sum(self.mean.values())


def averages(
    rows: Iterable[Row], metrics: Sequence[str] = METRICS, *, usual: bool = False
) -> list[Average]:
    """Average over folds. Settings that lack a fold which others of their method have are left out.

    Parameters
    ----------
    rows : iterable of Row
        Finished units.
    metrics : sequence of str
        What to average.
    usual : bool
        Whether to take the folds that the most settings have instead of the most folds that a
        setting has: for experiments that share a few settings with the comparison.

    Examples
    --------
    >>> from grople.study.store import Row
    >>> rows = [
    ...     Row("", "t", "d", "m", fold, {}, 0, "", {"accuracy": value}, 1.0, {})
    ...     for fold, value in enumerate([0.5, 0.7])
    ... ]
    >>> averages(rows, ["accuracy"])[0].mean
    {'accuracy': 0.6}
    """
    groups: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        place = groups.setdefault((row.dataset, row.method), {})
        place.setdefault(canonical(row.setting), []).append(row)
    found = []
    for (dataset, method), settings in groups.items():
        sets = Counter(frozenset(row.fold for row in part) for part in settings.values())
        folds = max(sets, key=lambda each: (sets[each] if usual else 0, len(each)))
        for every in settings.values():
            part = [row for row in every if row.fold in folds]
            if len({row.fold for row in part}) < len(folds):
                continue
            values = np.array([[row.result[m] for m in metrics] for row in part])
            mean = dict(zip(metrics, values.mean(axis=0).round(12).tolist(), strict=True))
            std = dict(zip(metrics, values.std(axis=0).tolist(), strict=True))
            seconds = float(np.mean([row.seconds for row in part]))
            part.sort(key=lambda row: row.fold)
            found.append(
                Average(
                    dataset, method, part[0].setting, mean, std, len(folds), seconds, tuple(part)
                )
            )
    return found


def shared_folds(found: Iterable[Average]) -> list[int]:
    """Return the folds, of the same rows, that all of these averages are over.

    Examples
    --------
    >>> def run(method, folds):
    ...     rows = [
    ...         Row("", "t", "d", method, fold, {}, 0, "", {"accuracy": 0.5}, 1.0, {})
    ...         for fold in folds
    ...     ]
    ...     return averages(rows, ["accuracy"])[0]
    >>> shared_folds([run("a", [0, 1, 2]), run("b", [0, 2])])
    [0, 2]
    """
    every = [{(row.fold, row.fingerprint) for row in average.rows} for average in found]
    return sorted(fold for fold, _ in set.intersection(*every)) if every else []


def best(found: Iterable[Average], metric: str) -> Average | None:
    """Return the average with the largest mean of a measure, the first of equals; None of none."""
    return max(found, key=lambda average: average.mean[metric], default=None)


def matching(rows: Iterable[Row], setting: Setting) -> list[Row]:
    """Return the rows whose setting has these values among its own."""
    return [row for row in rows if all(row.setting.get(name) == v for name, v in setting.items())]


def data_order(names: Iterable[str]) -> list[str]:
    """Return data sets in the paper's order, others behind them."""
    known = (
        "genbase", "medical", "CAL500", "corel5k", "rcv1subset1", "rcv1subset2", "rcv1subset3",
        "bibtex", "corel16k001", "delicious", "mediamill", "bookmarks",
    )  # fmt: skip

    def place(name: str) -> tuple[int, str]:
        short = paper_dataset(name)
        return (known.index(short) if short in known else len(known), name)

    return sorted(set(names), key=place)


def table_of(
    found: Iterable[Average], rows: Sequence[str], columns: Sequence[str], metric: str,
    row: Callable[[Average], str], column: Callable[[Average], str],
) -> Array:  # fmt: skip
    """Return a table of the largest means, NaN where there is none."""
    values = np.full((len(rows), len(columns)), np.nan)
    for average in found:
        if row(average) in rows and column(average) in columns:
            i, j = rows.index(row(average)), columns.index(column(average))
            values[i, j] = np.fmax(values[i, j], average.mean[metric])
    return values
