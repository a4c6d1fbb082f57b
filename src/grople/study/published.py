"""The tables and figures that the paper printed, as numbers."""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "METRICS",
    "PRINTED",
    "PublishedCell",
    "measure_name",
    "ours",
    "paper_dataset",
    "published_ranks",
    "published_table",
]

#: The paper's four measures, in its order.
METRICS = ("accuracy", "example_f1", "macro_f1", "micro_f1")
#: Methods of the comparison and of the approximation, in the paper's order and spelling.
METHODS = {
    "comparison": ("GroPLE", "LLSF", "PLST", "CPLST", "FAiE", "LEML", "MLSF", "BSVM"),
    "approximation": ("GroPLE", "PLST", "CPLST", "FAiE"),
}
#: Left out of the paper's tests: three methods could not be run on it.
UNTESTED = ("bookmarks",)
#: Average ranks and F_F as printed, critical value and CD, for the comparison.
PRINTED = {
    "average_rank": {"accuracy": 1.68, "example_f1": 1.45, "macro_f1": 2.36, "micro_f1": 2.59},
    "statistic": {"accuracy": 7.758, "example_f1": 8.810, "macro_f1": 7.234, "micro_f1": 4.318},
    "critical": dict.fromkeys(METRICS, 2.143),
    "difference": dict.fromkeys(METRICS, 3.1658),
}
#: A rank that cannot be right: its row has to sum to 36.
MISPRINT = ("CAL500", "example_f1", "CPLST", 3.0, 3.5)
#: What to know when reading a cell.
REMARKS = {
    ("bookmarks", "example_f1", "PLST"): "probably swapped with CPLST's cell in print",
    ("bookmarks", "example_f1", "CPLST"): "probably PLST's: CPLST could not be run elsewhere",
    ("CAL500", "example_f1", "CPLST"): "rank printed 3, must be 3.5 for the row to sum to 36",
}


@dataclass(frozen=True)
class PublishedCell:
    """Mean and population standard deviation over five folds, and rank; NaN where not printed."""

    mean: float
    std: float
    rank: float
    remark: str = ""


Table = Mapping[tuple[str, str, str], PublishedCell]


@functools.cache
def published_table(name: str) -> Table:
    """Return a printed table: a cell for each data set, measure and method.

    Parameters
    ----------
    name : {"comparison", "approximation"}
        Which one.

    Examples
    --------
    >>> published_table("comparison")["medical", "accuracy", "GroPLE"].mean
    0.765
    """
    if name not in METHODS:
        raise ValueError(f"the paper's tables are {', '.join(METHODS)}; got {name!r}")
    text = (resources.files("grople.study") / "printed" / f"{name}.csv").read_text("utf-8")
    cells: dict[tuple[str, str, str], PublishedCell] = {}
    for row in csv.DictReader(text.splitlines()):
        key = row["dataset"], row["metric"], row["method"]
        mean, std, rank = (float(row[column] or "nan") for column in ("mean", "std", "rank"))
        cells[key] = PublishedCell(mean, std, rank, REMARKS.get(key, ""))
    return cells


def published_ranks(
    metric: str, *, table: str = "comparison", corrected: bool = False
) -> tuple[list[str], Sequence[str], NDArray[np.float64]]:
    """Return data sets, methods and the printed ranks between them.

    Parameters
    ----------
    metric : str
        One of the four measures.
    table : {"comparison", "approximation"}
        Which table.
    corrected : bool
        Whether to put the misprinted rank right.

    Examples
    --------
    >>> datasets, methods, ranks = published_ranks("accuracy")
    >>> ranks.shape, ranks.mean(axis=0).round(2)[0]
    ((11, 8), np.float64(1.68))
    """
    cells, methods = published_table(table), METHODS[table]
    if metric not in METRICS:
        raise ValueError(f"the measures are {', '.join(METRICS)}; got {metric!r}")
    datasets = list(dict.fromkeys(dataset for dataset, *_ in cells if dataset not in UNTESTED))
    ranks = np.array([[cells[d, metric, m].rank for m in methods] for d in datasets])
    dataset, measure, method, _, right = MISPRINT
    if corrected and metric == measure and table == "comparison":
        ranks[datasets.index(dataset), methods.index(method)] = right
    return datasets, methods, ranks


def paper_dataset(name: str) -> str:
    """Return what the paper calls a data set.

    Examples
    --------
    >>> paper_dataset("genbase-authors"), paper_dataset("rcv1subset1")
    ('genbase', 'rcv1subset1')
    """
    return name.removesuffix("-authors")


def measure_name(metric: str) -> str:
    """Return a measure as the paper writes it.

    Examples
    --------
    >>> measure_name("example_f1"), measure_name("accuracy")
    ('example-F1', 'accuracy')
    """
    return metric.replace("_f1", "-F1")


def ours(method: str) -> str:
    """Return what we call a method of the paper, or the paper one of ours.

    Examples
    --------
    >>> ours("FAiE"), ours("FaIE"), ours("PLST")
    ('FaIE', 'FAiE', 'PLST')
    """
    return {"FAiE": "FaIE", "FaIE": "FAiE"}.get(method, method)
