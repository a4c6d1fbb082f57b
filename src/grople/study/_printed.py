"""The tables that the paper printed, as numbers."""

from __future__ import annotations

import functools
from importlib import resources

import pandas as pd

#: The paper's four measures, data sets and methods, in its order.
METRICS = ("accuracy", "example_f1", "macro_f1", "micro_f1")
PAPER_DATASETS = (
    "genbase", "medical", "CAL500", "corel5k", "rcv1subset1", "rcv1subset2", "rcv1subset3",
    "bibtex", "corel16k001", "delicious", "mediamill", "bookmarks",
)  # fmt: skip
PAPER_METHODS = ("GroPLE", "LLSF", "PLST", "CPLST", "FaIE", "LEML", "MLSF", "BSVM")
#: Left out of the paper's tests: three methods could not be run on it.
UNTESTED = "bookmarks"
#: GroPLE's average ranks and F_F as printed, and the critical value and CD.
PRINTED = pd.DataFrame(
    {
        "average_rank": [1.68, 1.45, 2.36, 2.59],
        "statistic": [7.758, 8.810, 7.234, 4.318],
        "critical": 2.143,
        "difference": 3.1658,
    },
    index=METRICS,
)
#: A rank that cannot be right, for its row has to sum to 36, and the right one.
MISPRINT, RIGHT_RANK = ("CAL500", "example_f1", "CPLST"), 3.5
#: What to know when reading a cell.
REMARKS: dict[tuple[str, ...], str] = {
    ("comparison", "bookmarks", "example_f1", "PLST"): "probably swapped with CPLST's in print",
    ("comparison", "bookmarks", "example_f1", "CPLST"): "probably PLST's: CPLST was not run here",
    ("comparison", *MISPRINT): "its rank is printed 3, must be 3.5 for the row to sum to 36",
}


@functools.cache
def printed_table(name: str) -> pd.DataFrame:
    """Return a printed table: mean, std and rank by data set, measure and method.

    Parameters
    ----------
    name : {"comparison", "approximation"}
        Which one.

    Examples
    --------
    >>> printed_table("comparison").loc[("medical", "accuracy", "GroPLE"), "mean"].item()
    0.765
    """
    path = resources.files("grople.study") / "printed" / f"{name}.csv"
    if not path.is_file():
        raise ValueError(f"the paper's tables are comparison and approximation; got {name!r}")
    with path.open(encoding="utf-8") as file:
        # The paper spells FaIE otherwise than its authors.
        table = pd.read_csv(file).replace({"method": {"FAiE": "FaIE"}})
    return table.set_index(["dataset", "metric", "method"])


def printed_ranks(metric: str, *, corrected: bool = False) -> pd.DataFrame:
    """Return the printed ranks of the comparison, data sets by methods.

    Parameters
    ----------
    metric : str
        One of the four measures.
    corrected : bool
        Whether to put the misprinted rank right.

    Examples
    --------
    >>> printed_ranks("accuracy").mean().round(2)["GroPLE"].item()
    1.68
    """
    if metric not in METRICS:
        raise ValueError(f"the measures are {', '.join(METRICS)}; got {metric!r}")
    ranks = printed_table("comparison")["rank"].xs(metric, level="metric").unstack()
    ranks = ranks.loc[[name for name in PAPER_DATASETS if name != UNTESTED], [*PAPER_METHODS]]
    dataset, measure, method = MISPRINT
    if corrected and metric == measure:
        ranks.loc[dataset, method] = RIGHT_RANK
    return ranks


def paper_dataset(name: str) -> str:
    """Return what the paper calls a data set: genbase for genbase-authors."""
    return name.removesuffix("-authors")


def data_order(name: str) -> tuple[int, str]:
    """Return the key that sorts data sets as the paper does, others behind them."""
    short = paper_dataset(name)
    known = short in PAPER_DATASETS
    return (PAPER_DATASETS.index(short) if known else len(PAPER_DATASETS), name)


def measure_name(metric: str) -> str:
    """Return a measure as the paper writes it: example-F1 for example_f1."""
    return metric.replace("_f1", "-F1")
