"""Metrics: ours beside scikit-learn, for single measures and for all at once."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import metrics as peer

from benchmarks import best_seconds, table
from grople import metrics as ours

MEASURES = ("precision", "recall", "f1")
AVERAGES = {"example": "samples", "macro": "macro", "micro": "micro"}


def peer_sets(Y: Any, P: Any) -> dict[str, float]:
    """Every measure of label sets that scikit-learn has."""
    result = {
        f"{name}_{measure}": getattr(peer, f"{measure}_score")(
            Y, P, average=average, zero_division=0.0
        )
        for name, average in AVERAGES.items()
        for measure in MEASURES
    }
    return result | {
        "accuracy": peer.jaccard_score(Y, P, average="samples", zero_division=0.0),
        "hamming_loss": peer.hamming_loss(Y, P),
        "subset_accuracy": peer.accuracy_score(Y, P),
    }


def peer_rankings(Y: Any, S: Any) -> dict[str, float]:
    """Every measure of rankings that scikit-learn has."""
    dense = Y.toarray()
    return {f"ndcg_at_{k}": peer.ndcg_score(dense, S, k=k) for k in (1, 3, 5)} | {
        "coverage": peer.coverage_error(dense, S),
        "ranking_loss": peer.label_ranking_loss(dense, S),
        "label_ranking_average_precision": peer.label_ranking_average_precision_score(dense, S),
    }


def peak_megabytes(call: Callable[[], Any]) -> float:
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def compare(
    name: str, mine: Callable[[], Any], theirs: Callable[[], Any], repeats: int
) -> list[str]:
    a, b = mine(), theirs()
    for measure in b if isinstance(b, dict) else ():
        np.testing.assert_allclose(a[measure], b[measure], rtol=1e-9, err_msg=measure)
    if not isinstance(b, dict):
        np.testing.assert_allclose(a, b, rtol=1e-9, err_msg=name)
    fast, slow = best_seconds(mine, theirs, repeats=repeats)
    return [
        name,
        f"{fast * 1e3:.1f} ms",
        f"{slow * 1e3:.1f} ms",
        f"{slow / fast:.1f}×",
        f"{peak_megabytes(mine):.1f} / {peak_megabytes(theirs):.1f} MB",
    ]


def run(quick: bool = False) -> str:
    n_rows, n_labels, repeats = (2_000, 100, 2) if quick else (20_000, 500, 3)
    rng = np.random.default_rng(0)
    true = rng.random((n_rows, n_labels)) < 0.01
    Y = sp.csr_array(true.astype(np.int64))
    P = sp.csr_array((true ^ (rng.random(true.shape) < 0.005)).astype(np.int64))
    S = rng.normal(size=true.shape) + 2 * true
    rows = [
        compare(
            "example F1",
            lambda: ours.example_f1(Y, P),
            lambda: peer.f1_score(Y, P, average="samples", zero_division=0.0),
            repeats,
        ),
        compare(
            "macro F1",
            lambda: ours.macro_f1(Y, P),
            lambda: peer.f1_score(Y, P, average="macro", zero_division=0.0),
            repeats,
        ),
        compare(
            "accuracy (Jaccard)",
            lambda: ours.accuracy(Y, P),
            lambda: peer.jaccard_score(Y, P, average="samples", zero_division=0.0),
            repeats,
        ),
        compare(
            "all 12 of label sets", lambda: ours.evaluate(Y, P), lambda: peer_sets(Y, P), repeats
        ),
        compare(
            "ranking loss",
            lambda: ours.ranks(Y, S).ranking_loss(),
            lambda: peer.label_ranking_loss(Y, S),
            repeats,
        ),
        compare(
            "all 10 of rankings (peer: 6)",
            lambda: ours.evaluate(Y, scores=S),
            lambda: peer_rankings(Y, S),
            repeats=1,  # the peer's nDCG takes seconds
        ),
    ]
    return (
        f"grople.metrics against scikit-learn, {n_rows}×{n_labels} sparse labels, {Y.nnz} ones, "
        "dense scores;\nthe same values are asserted before timing.\n\n"
        + table(["measure", "ours", "scikit-learn", "faster", "peak memory"], rows)
    )
