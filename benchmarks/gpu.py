"""The search on a device: bibtex, 81 pairs of α and β, five folds, decided and scored.

Needs PyTorch with a CUDA device (extra ``gpu``) and the real data sets.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from benchmarks import data_folder, table
from grople import GroPLECV, summarise
from grople.backends import grid_scores
from grople.datasets import load
from grople.decision import Rule
from grople.optim import single_threaded
from grople.solver import MappingProblem, embed_labels, group_labels

#: Too special for a run of everything.
ON_REQUEST = True
#: The paper's grid for α and β.
GRID = [10.0**k for k in range(-4, 5)]
FOLDS = KFold(5, shuffle=True, random_state=0)
#: The calibrated decision; the search uses no re-ranker.
RULE = Rule("example_f1", context=False)
#: Pairs that take the most steps.
HARD = [(1.0, 1.0), (1.0, 10.0), (1.0, 100.0), (1e4, 10.0)]
PLACES = {
    "cuda": "GroPLECV(device='cuda')",
    "cpu": "GroPLECV(device='cpu'): the same batch through PyTorch",
    None: "GroPLECV(): NumPy, one setting after the other",
}


def run(quick: bool) -> str:
    try:
        import torch
    except ImportError as error:
        return f"needs the extra gpu: {error}"
    folder = data_folder()
    if folder is None:
        return "needs the real data sets: set GROPLE_DATA"
    os.environ.setdefault("GROPLE_DATA", str(folder))
    if not torch.cuda.is_available():
        return "needs a CUDA device"
    head = f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, float32 without TF32"
    data = load("bibtex")
    return "\n\n".join([head, searches(data, quick), one_fold(data)])


def searches(data: Any, quick: bool) -> str:
    """Time the search on the device, through PyTorch on the CPU, and in NumPy."""
    grid = GRID[::4] if quick else GRID
    seconds: dict[str | None, tuple[float, float]] = {}
    found: dict[str | None, GroPLECV] = {}
    for device in PLACES:
        for _ in range(3 if device == "cuda" else 1):  # the first on the device loads libraries
            model = GroPLECV(
                100, alpha=grid, beta=grid, gamma=10.0, cv=FOLDS, decision=RULE, random_state=0,
                device=device,
            )  # fmt: skip
            over: list[float] = []

            def note(step: str, done: int, total: int, over: list[float] = over) -> None:
                if step == "groups":  # the first stage of the model of all rows
                    over.append(time.perf_counter())

            started = time.perf_counter()
            model.fit(data.X, data.Y, progress=note)
            spent = over[0] - started, time.perf_counter() - started
            seconds[device], found[device] = min(seconds.get(device, spent), spent), model
    ours = found["cuda"].cv_results_["mean_test_score"]
    rows = [
        [title, f"{seconds[device][0]:.2f}", f"{seconds[device][0] / seconds['cuda'][0]:.1f}",
         f"{seconds[device][1]:.2f}",
         f"{np.abs(ours - found[device].cv_results_['mean_test_score']).max():.1e}",
         f"{found[device].best_score_:.4f}"]
        for device, title in PLACES.items()
    ]  # fmt: skip
    head = [f"bibtex, {len(grid)}×{len(grid)} pairs, 5 folds, γ = 10", "search s", "ratio",
            "with the final model s", "largest difference of a mean example-F1",
            "best"]  # fmt: skip
    return table(head, rows)


def one_fold(data: Any) -> str:
    """Compare the scores of one held-out fold for all pairs, and time the batch alone."""
    train, held = next(FOLDS.split(data.X))
    moments = summarise(data.X[train], data.Y[train]).matrices()
    with single_threaded():
        groups = group_labels(moments.labels)
        embedding = embed_labels(moments.labels, groups, n_components=100)
    problem, V, X = MappingProblem(moments, embedding), embedding.V, data.X[held]
    pairs = [(alpha, beta, 10.0) for alpha in GRID for beta in GRID]

    def scored(pairs: Any, device: str, tol: float, most: int = 1000) -> Any:
        maps = grid_scores(problem, pairs, X, device, tol=tol, max_iter=most)
        return np.stack([points @ V for points in maps])

    scores = {device: scored(pairs, device, 1e-3) for device in ("cuda", "cpu")}
    off = np.abs(scores["cuda"] - scores["cpu"]).max(axis=(1, 2))
    hard = [(alpha, beta, 10.0) for alpha, beta in HARD]
    maps = [problem.solve(*each, tol=1e-10, max_iter=10_000) for each in hard]
    ours = np.stack([(X @ found.Z + found.intercept) @ V for found in maps])
    apart = np.abs(scored(hard, "cuda", 1e-6, 10_000) - ours).max()
    rows = [
        [title, f"{_best(lambda tol=tol, most=most: scored(pairs, 'cuda', tol, most)):.3f}"]
        for title, tol, most in (
            ("to a certified relative gap of 1e-3", 1e-3, 1000),
            ("100 steps of every pair", -1.0, 100),
        )
    ]
    D, d = problem.target.shape
    head = [f"one fold, {len(pairs)} pairs, D = {D:,}, d = {d}: moved, solved, scored", "s"]
    return (
        f"{table(head, rows)}\n\nScores of {len(held):,} held-out rows, device against CPU: "
        f"largest difference {off.max():.1e} (median over pairs {np.median(off):.1e}); scores lie "
        f"between {scores['cpu'].min():.2f} and {scores['cpu'].max():.2f}. Against NumPy's sweeps "
        f"over blocks, certified to 1e-10 in float64, {len(HARD)} pairs: largest difference "
        f"{apart:.1e}."
    )


def _best(work: Callable[[], Any]) -> float:
    """Return the best seconds of three calls, after one to warm up."""
    seconds = []
    for _ in range(4):
        started = time.perf_counter()
        work()  # the scores are back on the CPU: nothing is left to wait for
        seconds.append(time.perf_counter() - started)
    return min(seconds[1:])
