"""The published comparison: the authors' folds, labels seen in training, 0/0 = 0."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.datasets import read
from grople.folds import published_folds
from grople.metrics import accuracy, example_f1, macro_f1, micro_f1

MEASURES = (accuracy, example_f1, macro_f1, micro_f1)


def published_splits(folder: Path, name: str) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield X, Y of the training rows and of the test rows, for each of the authors' folds."""
    data = read(folder / "npz" / f"{name}.npz")
    folds = published_folds(name, folder)
    Y = sp.csr_array(data.Y)
    for fold in range(5):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        seen = np.flatnonzero(Y[train].sum(axis=0))
        yield data.X[train], Y[train][:, seen], data.X[test], Y[test][:, seen]


def published_measures(
    folder: Path, name: str, make: Callable[[], Any], folds: tuple[int, ...] = (0, 1, 2, 3, 4)
) -> np.ndarray:
    """Return accuracy, example-F1, macro-F1 and micro-F1, averaged over the folds."""
    values = []
    for fold, (X, Y, X_test, Y_test) in enumerate(published_splits(folder, name)):
        if fold in folds:
            predicted = make().fit(X, Y).predict(X_test)
            values.append([measure(Y_test, predicted, zero_division=0) for measure in MEASURES])
    return np.mean(values, axis=0)


def published_cell(tables: Path, name: str, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the four published means of a method on a data set, and their spread over folds."""
    with (tables / "table_comparison.csv").open(newline="") as file:
        rows = {
            row["metric"]: (float(row["mean"]), float(row["std"]))
            for row in csv.DictReader(file)
            if row["dataset"] == name and row["method"] == method
        }
    means, spreads = zip(*(rows[measure.__name__] for measure in MEASURES), strict=True)
    return np.array(means), np.array(spreads)
