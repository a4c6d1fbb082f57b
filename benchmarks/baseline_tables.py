"""The published cells of the moment baselines and ours, and what the defaults reach.

Five folds: the authors' own where they are known, else a seeded split. As in the published
comparison labels without a positive training row are left out and 0/0 counts 0. Cells are
accuracy, example-F1, macro-F1, micro-F1.
"""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import data_folder, table
from benchmarks.reproduction import load
from grople import GroPLE
from grople.baselines import CPLST, LEML, LLSF, MEASURES, PLST, FaIE, Ridge, measure_method
from grople.folds import published_splits
from grople.metrics import Counts, counts
from grople.published import approximation_setting, published_data

#: Minutes of work that say nothing of speed: only run when asked for.
ON_REQUEST = True
DATASETS = (
    "genbase-authors",
    "medical",
    "CAL500",
    "corel5k",
    "rcv1subset1",
    "rcv1subset2",
    "rcv1subset3",
    "corel16k001",
    "bibtex",
    "delicious",
)
QUICK = ("CAL500",)
METHODS = {"PLST": PLST, "CPLST": CPLST, "FAiE": FaIE, "LLSF": LLSF, "LEML": LEML}
#: Rows approximated at a time.
BLOCK = 2048


def folds(name: str, folder: Path) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield X, Y of training and test rows, on the labels seen in training."""
    return published_splits(*load(name, folder))


def predicted(model: Any, *part: Any) -> list[float]:
    """Measure a model's predictions of the test rows."""
    return list(measure_method(model, *part)[0].values())


def approximated(model: Any, X: Any, Y: Any, *_: Any) -> list[float]:
    """Measure what a model's code keeps of the training labels."""
    model.fit(X, Y)
    total: Counts | None = None
    for start in range(0, Y.shape[0], BLOCK):
        rows = slice(start, start + BLOCK)
        kept = sp.csr_array(model.approximate(X[rows], Y[rows]) > 0)
        block = counts(Y[rows], kept)
        total = block if total is None else total + block
    assert total is not None
    return [getattr(total, measure)() for measure in MEASURES]


def published_cells(paper: Path, kind: str) -> dict[tuple[str, str], list[float]]:
    cells: dict[tuple[str, str], list[float]] = {}
    with (paper / f"table_{kind}.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            cell = cells.setdefault((row["dataset"], row["method"]), [np.nan] * 4)
            cell[MEASURES.index(row["metric"])] = float(row["mean"] or "nan")
    return cells


def text(cells: Any) -> str:
    return " ".join(f"{value:.3f}".lstrip("0") for value in cells)


def compared(
    names: tuple[str, ...], folder: Path, kind: str, measure: Callable[..., list[float]]
) -> str:
    """Return our cells with published settings next to the paper's."""
    paper = published_cells(folder.parent / "paper", kind)
    rows = []
    for name in names:
        short = name.removesuffix("-authors")
        for method, cls in METHODS.items():
            if short not in published_data(cls.__name__) or (short, method) not in paper:
                continue
            more: dict[str, Any] = {"random_state": 0} if cls is LEML else {}
            if kind == "approximation":
                more |= approximation_setting(cls.__name__, short)
            model = cls.published(short, **more)
            ours = np.mean([measure(model, *part) for part in folds(name, folder)], axis=0)
            theirs = paper[short, method]
            gap = f"{np.abs(ours - theirs).max():.3f}"
            rows.append([name, method, text(ours), text(theirs), gap])
    return table(["data", "method", "ours", "paper", "largest difference"], rows)


def defaults(names: tuple[str, ...], folder: Path) -> str:
    """Return the cells of the default settings, whose decision maximises example-F1."""
    rows = []
    for name in names:
        for cls in (Ridge, PLST, CPLST, FaIE, LLSF, LEML, GroPLE):
            begun = time.perf_counter()
            cells = [predicted(cls(), *part) for part in folds(name, folder)]
            seconds = (time.perf_counter() - begun) / 5
            rows.append([name, cls.__name__, text(np.mean(cells, axis=0)), f"{seconds:.1f} s"])
    return table(["data", "method", "default settings", "a fold"], rows)


def run(quick: bool = False) -> str:
    folder = data_folder()
    if folder is None:
        return "The real data sets were not found: set GROPLE_DATA."
    names = QUICK if quick else DATASETS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LLSF says that the published objective has no minimum
        parts = [
            "Comparison, published settings:\n\n"
            + compared(names, folder, "comparison", predicted),
            "Approximation of the training labels, published settings:\n\n"
            + compared(names, folder, "approximation", approximated),
            "Default settings:\n\n" + defaults(names[:5], folder),
        ]
    return "\n\n".join(parts)
