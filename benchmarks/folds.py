"""Stratified folds: ours beside the package iterative-stratification."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from iterstrat.ml_stratifiers import MultilabelStratifiedKFold as Peer

from benchmarks import best_seconds, data_folder, table
from grople.folds import MultilabelStratifiedKFold

SEEDS = 3


def folds(splitter: Any, Y: Any, k: int, seed: int) -> Any:
    numbers = np.empty(Y.shape[0], np.int64)
    X = np.empty((Y.shape[0], 0))
    for fold, (_, test) in enumerate(splitter(k, shuffle=True, random_state=seed).split(X, Y)):
        numbers[test] = fold
    return numbers


def fold_balance(Y: Any, numbers: Any) -> tuple[float, float]:
    """Return how unlike the whole the folds are: by label and in size (Sechidis et al. 2011).

    That is the mean difference between the odds of a label in a fold and in the whole (of labels
    whose odds are finite and not zero), and between the size of a fold and an equal share.
    """
    Y, sizes = np.asarray(Y), np.bincount(numbers)
    found = np.stack([Y[numbers == fold].sum(axis=0) for fold in range(len(sizes))])
    others = sizes[:, None] - found
    judged = others.all(axis=0) & found.any(axis=0)
    found, others = found[:, judged], others[:, judged]
    odds = found.sum(axis=0) / others.sum(axis=0)
    return np.abs(found / others - odds).mean(), np.abs(sizes - sizes.mean()).mean()


def label_matrices(quick: bool) -> dict[str, Any]:
    """Random labels of the size that counts, then real ones."""
    rng = np.random.default_rng(0)
    size = (4_000 if quick else 20_000, 100)
    matrices = {
        f"random, {density:.0%} ones": (rng.random(size) < density).astype(np.int8)
        for density in (0.01, 0.05, 0.2, 0.5)
    }
    folder = data_folder()
    names = ("medical", "CAL500") if quick else ("medical", "CAL500", "corel5k", "bibtex")
    for name in names if folder else ():
        with np.load(folder / "npz" / f"{name}.npz", allow_pickle=False) as stored:
            indices, indptr, shape = (stored[f"Y_{p}"] for p in ("indices", "indptr", "shape"))
        ones = np.ones(len(indices), np.int8)
        matrices[name] = sp.csr_array((ones, indices, indptr), shape=tuple(shape)).toarray()
    return matrices


def run(quick: bool = False) -> str:
    rows = []
    for name, Y in label_matrices(quick).items():
        for k in (5,) if quick else (5, 10):
            sparse = sp.csr_array(Y)
            ours, ours_sparse, theirs = best_seconds(
                partial(folds, MultilabelStratifiedKFold, Y, k, 0),
                partial(folds, MultilabelStratifiedKFold, sparse, k, 0),
                partial(folds, Peer, Y, k, 0),
                repeats=2 if quick else 3,
            )
            balance = [
                np.mean([fold_balance(Y, folds(s, Y, k, seed)) for seed in range(SEEDS)], axis=0)
                for s in (MultilabelStratifiedKFold, Peer)
            ]
            rows.append(
                [
                    f"{name}, {Y.shape[0]}×{Y.shape[1]}",
                    k,
                    f"{ours * 1e3:.0f} ms",
                    f"{theirs * 1e3:.0f} ms",
                    f"{theirs / ours:.1f}×",
                    f"{theirs / ours_sparse:.1f}×",
                    *(f"{a[0]:.5f} / {b[0]:.5f}" for a, b in [balance]),
                    *(f"{a[1]:.2f} / {b[1]:.2f}" for a, b in [balance]),
                ]
            )
    header = ["labels", "folds", "ours", "peer", "faster", "from sparse", "LD ours/peer"]
    return (
        "MultilabelStratifiedKFold against iterative-stratification, both from dense labels (the\n"
        "peer takes no others). LD and ED: difference of label odds and of sizes, mean of "
        f"{SEEDS} seeds, less is better.\n\n" + table([*header, "ED ours/peer"], rows)
    )
