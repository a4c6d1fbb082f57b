"""Baselines on moments: fits against one-vs-rest LinearSVC, and grids against single fits.

Seconds of the processor on one thread, so that other work on the machine counts for neither side.
Ours decide by sign: the peer fits scores alone, a decision fitted to a measure would be our extra.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks import data_folder, table
from grople import summarise
from grople.baselines import CPLST, LEML, LLSF, PLST, FaIE, Ridge, scores_along
from grople.datasets import load, read
from grople.folds import MultilabelStratifiedKFold, published_folds

#: The published grid.
SHARES = tuple(round(0.1 * k, 1) for k in range(1, 9))
WEIGHTS = tuple(10.0**k for k in range(-4, 5))


def processor_seconds(*calls: Callable[[], Any], repeats: int) -> list[float]:
    """Return the least processor time of each call on one thread; the calls take turns."""
    least = [float("inf")] * len(calls)
    with threadpool_limits(1):
        for _ in range(repeats):
            for i, call in enumerate(calls):
                start = time.process_time()
                call()
                least[i] = min(least[i], time.process_time() - start)
    return least


def rows_and_folds(quick: bool) -> tuple[str, Any, Any, np.ndarray]:
    """Return a data set and the fold of each row: rcv1subset1, or the embedded data."""
    folder = data_folder()
    if folder is not None and not quick:
        data = read(folder / "npz" / "rcv1subset1.npz")
        return "rcv1subset1", data.X, data.Y, published_folds("rcv1subset1", folder)
    data = load("debtags-mini")
    X, Y = data.X[:, :400], data.Y
    folds = np.empty(X.shape[0], dtype=np.int64)
    for fold, (_, test) in enumerate(MultilabelStratifiedKFold(5, random_state=0).split(X, Y)):
        folds[test] = fold
    return "debtags-mini, 400 features", X, Y, folds


def search(X: Any, Y: Any, folds: np.ndarray) -> int:
    """Fit PLST's published grid on every fold; return the number of models."""
    grid = list(ParameterGrid({"n_components": SHARES, "ridge": WEIGHTS}))
    total = summarise(X, Y, max_kept_rows=0)
    parts = [
        summarise(X[folds == fold], Y[folds == fold], grid=total.grid, max_kept_rows=None)
        for fold in range(5)
    ]
    return sum(
        1
        for part in parts
        for _ in scores_along(PLST.published("rcv1subset1"), grid, X, Y, (total - part).moments)
    )


def run(quick: bool = False) -> str:
    name, X, Y, folds = rows_and_folds(quick)
    train = folds != 0
    seen = np.flatnonzero(Y[train].sum(axis=0))  # the peer cannot fit a label without a positive
    X_train, Y_train = X[train], Y[train][:, seen]
    dense = Y_train.toarray()
    models = {
        "PLST": (PLST.published("rcv1subset1"), PLST(decision="sign")),
        "CPLST": (CPLST.published("rcv1subset1"), CPLST(decision="sign")),
        "FaIE": (FaIE.published("rcv1subset1"), FaIE(decision="sign")),
        "LLSF": (LLSF.published("rcv1subset1"), LLSF(decision="sign")),
        "LEML": (LEML.published("rcv1subset1", random_state=0), LEML(decision="sign")),
        "Ridge": (Ridge(1.0, decision="sign"), Ridge(decision="sign")),
    }
    peer = OneVsRestClassifier(LinearSVC())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LLSF says that the published objective has no minimum
        *ours, theirs = processor_seconds(
            *(partial(model.fit, X_train, Y_train) for pair in models.values() for model in pair),
            lambda: peer.fit(X_train, dense),
            repeats=1 if quick else 3,
        )
        grid, single = processor_seconds(
            lambda: search(X, Y, folds),
            lambda: PLST.published("rcv1subset1").fit(X_train, Y_train),
            repeats=2 if quick else 5,
        )
    rows = [
        [method, *(f"{s:.2f} s ({theirs / s:.1f}×)" for s in ours[2 * i : 2 * i + 2])]
        for i, method in enumerate(models)
    ]
    n_models = len(SHARES) * len(WEIGHTS) * 5
    return (
        f"One training fold of {name}: {X_train.shape[0]} rows, {X.shape[1]} features, "
        f"{len(seen)} labels.\nProcessor seconds on one thread, decision by sign; in brackets how "
        f"many times as fast as one-vs-rest LinearSVC ({theirs:.2f} s).\n\n"
        + table(["fit", "published setting", "default setting"], rows)
        + f"\n\nPLST's published grid ({len(SHARES)} sizes × {len(WEIGHTS)} weights × 5 folds = "
        f"{n_models} models): {grid:.2f} s, as long as {grid / single:.1f} single fits of a "
        f"published setting ({single:.2f} s)\nor {grid / ours[1]:.1f} of the default, which finds "
        "its weight itself. Scoring is not counted."
    )
