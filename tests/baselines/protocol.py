"""The published comparison: the authors' folds, labels seen in training, 0/0 = 0."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from grople.baselines import MEASURES, measure_method
from grople.datasets import read
from grople.folds import published_folds, published_splits

#: Data sets whose published folds are not known: a seeded split stands in.
UNKNOWN_FOLDS = ("bibtex", "delicious")


def splits(folder: Path, name: str) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield X, Y of the training rows and of the test rows for each of the published folds."""
    data = read(folder / "npz" / f"{name}.npz")
    if name in UNKNOWN_FOLDS:
        folds = np.empty(data.n_rows, dtype=np.int64)
        for fold, (_, test) in enumerate(KFold(5, shuffle=True, random_state=0).split(folds)):
            folds[test] = fold
    else:
        folds = published_folds(name, folder)
    return published_splits(data.X, data.Y, folds)


def measured_folds(
    folder: Path, name: str, model: Any, folds: tuple[int, ...] = (0, 1, 2, 3, 4)
) -> np.ndarray:
    """Return accuracy, example-F1, macro-F1 and micro-F1, averaged over the folds."""
    values = [
        list(measure_method(model, *part)[0].values())
        for fold, part in enumerate(splits(folder, name))
        if fold in folds
    ]
    return np.mean(values, axis=0)


def published_cell(
    tables: Path, name: str, method: str, table: str = "comparison"
) -> tuple[np.ndarray, np.ndarray]:
    """Return the four published means of a method on a data set, and their spread over folds."""
    with (tables / f"table_{table}.csv").open(newline="") as file:
        rows = {
            row["metric"]: (float(row["mean"]), float(row["std"] or "nan"))
            for row in csv.DictReader(file)
            if row["dataset"] == name.removesuffix("-authors") and row["method"] == method
        }
    means, spreads = zip(*(rows[measure] for measure in MEASURES), strict=True)
    return np.array(means), np.array(spreads)
