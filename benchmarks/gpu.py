"""The search on a device: bibtex, 81 pairs of α and β, five folds, decided and scored.

Needs PyTorch with a CUDA device (extra ``gpu``) and the real data sets.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

import grople.search
from benchmarks import data_folder, table
from grople import GroPLE, GroPLECV, Moments
from grople.arrays import place_of, to_numpy
from grople.datasets import load
from grople.decision import Rule
from grople.embedding import fit_embedding
from grople.grid import solve_grid
from grople.groups import fit_groups
from grople.linear import LinearScores
from grople.mapping import Mapping, MappingProblem
from grople.optim import Weights

#: Too special for a run of everything.
ON_REQUEST = True
#: The paper's grid for α and β.
GRID = [10.0**k for k in range(-4, 5)]
FOLDS = KFold(5, shuffle=True, random_state=0)
#: The calibrated decision; the search takes no second look at candidates.
RULE = Rule("example_f1", context=False)
#: What is timed inside a search: a name, and where the function stands.
PARTS = (
    ("moments", Moments, "from_data"),
    ("groups", GroPLECV, "_groups"),
    ("embeddings", GroPLECV, "_embedding"),
    ("solving the grids", grople.search, "solve_grid"),
    ("scoring, deciding, measuring", grople.search.Judge, "score_grid"),
)
#: Pairs that take the most steps.
HARD = [(1.0, 1.0), (1.0, 10.0), (1.0, 100.0), (1e4, 10.0)]
NAMES = {
    "cuda": "GroPLECV(device='cuda'), one thread at home",
    "threads": "GroPLECV(device='cuda'), all threads at home",
    "cpu": "GroPLECV(device='cpu'): the same batch through PyTorch",
    "home": "GroPLECV(): NumPy, one setting after the other",
}


def run(quick: bool) -> str:
    try:
        import array_api_compat  # noqa: F401
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
    return "\n\n".join([head, searches(data, quick), one_fold(data), fits(data)])


class TimedSearch(GroPLECV):
    """Notes when the search is over and the final fit begins, and what was spent until then."""

    def _search(self, *args: Any) -> None:
        super()._search(*args)
        self.searched_, self.parts_ = time.perf_counter(), dict(SPENT)


SPENT: dict[str, float] = defaultdict(float)


def searches(data: Any, quick: bool) -> str:
    """Time the search on the device, through PyTorch on the processor, and at home in NumPy."""
    grid = GRID[::4] if quick else GRID
    seconds: dict[str, tuple[float, float, dict[str, float]]] = {}
    found: dict[str, GroPLECV] = {}
    for name, device, threads, repeats in (
        ("cuda", "cuda", 1, 4),
        ("threads", "cuda", None, 3),
        ("cpu", "cpu", None, 1),
        ("home", None, None, 1),
    ):
        for _ in range(repeats):  # the first on the device loads libraries
            model = TimedSearch(
                100, alpha=grid, beta=grid, gamma=10.0, cv=FOLDS, decision=RULE, random_state=0,
                device=device,
            )  # fmt: skip
            SPENT.clear()
            with ExitStack() as stack:
                stack.enter_context(threadpool_limits(threads, user_api="blas"))
                if name == "cuda":
                    for part in PARTS:
                        stack.enter_context(_timed(*part))
                started = time.perf_counter()
                model.fit(data.X, data.Y)
                whole = time.perf_counter() - started
            run = (model.searched_ - started, whole, model.parts_)
            seconds[name], found[name] = min(seconds.get(name, run), run), model
    ours = found["cuda"].cv_results_["mean_test_score"]
    rows = [
        [title, f"{seconds[name][0]:.2f}", f"{seconds[name][0] / seconds['cuda'][0]:.1f}",
         f"{seconds[name][1]:.2f}",
         f"{np.abs(ours - found[name].cv_results_['mean_test_score']).max():.1e}",
         f"{found[name].best_score_:.4f}"]
        for name, title in NAMES.items()
    ]  # fmt: skip
    head = [f"bibtex, {len(grid)}×{len(grid)} pairs, 5 folds, γ = 10", "search s", "ratio",
            "with the final model s", "largest difference of a mean example-F1",
            "best"]  # fmt: skip
    total, _, parts = seconds["cuda"]
    parts["all the rest"] = total - sum(parts.values())
    inside = [[part, f"{s:.2f}"] for part, s in sorted(parts.items(), key=lambda pair: -pair[1])]
    return f"{table(head, rows)}\n\n{table(['inside the search on the device', 's'], inside)}"


def one_fold(data: Any) -> str:
    """Compare the scores of one held-out fold for all pairs, and time the batch alone."""
    train, held = next(FOLDS.split(data.X))
    moments = Moments.from_data(data.X[train], data.Y[train])
    groups = fit_groups(moments.labels, random_state=0)
    embedding = fit_embedding(moments.labels, groups, n_components=100)
    problem = MappingProblem(moments, embedding)
    weights = Weights.of([(alpha, beta, 10.0) for alpha in GRID for beta in GRID])
    V = embedding.V
    labels = LinearScores(V, V, V, np.zeros(V.shape[1]))
    scores, grids = {}, {}
    for device in ("cuda", "cpu"):
        place = place_of(None, device)
        assert place is not None
        grid = grids[device] = solve_grid(problem, weights, place, tol=1e-3, max_iter=1000)
        parts = grid.scores(place.array(data.X[held], grid.Z.dtype), labels)
        scores[device] = np.concatenate([to_numpy(part) for _, part in parts], axis=1)
    off = np.abs(scores["cuda"] - scores["cpu"]).max(axis=(0, 2))
    same = grids["cuda"].n_iter == grids["cpu"].n_iter
    place = place_of(None, "cuda")
    rows = [
        [title, f"{_best(partial(solve_grid, problem, weights, place, **bounds)):.3f}"]  # type: ignore[arg-type]
        for title, bounds in (
            ("to a certified relative gap of 1e-3", {"tol": 1e-3, "max_iter": 1000}),
            ("100 steps of every pair", {"tol": -1.0, "max_iter": 100}),
        )
    ]
    settings = [(alpha, beta, 10.0) for alpha, beta in HARD]
    close = solve_grid(problem, Weights.of(settings), place, tol=1e-10, max_iter=10_000)  # type: ignore[arg-type]
    home = [problem.solve(*setting, tol=1e-10, max_iter=10_000) for setting in settings]
    apart = max(
        np.abs(_scores(close.mapping(s), V, data.X[held]) - _scores(one, V, data.X[held])).max()
        for s, one in enumerate(home)
    )
    D, d = problem.target.shape
    head = [f"one fold, 81 pairs, D = {D:,}, d = {d}: matrices moved, spectra, steps", "s"]
    return (
        f"{table(head, rows)}\n\nScores of {len(held):,} held-out rows, device against processor, "
        f"float32: largest difference {off.max():.1e} (median over pairs {np.median(off):.1e}); "
        f"{same.sum()} of {len(same)} pairs took the same number of steps, at most "
        f"{grids['cuda'].n_iter.max()}; largest difference among those "
        f"{off[same].max():.1e}; scores lie between {scores['cpu'].min():.2f} and "
        f"{scores['cpu'].max():.2f}. Against NumPy's sweeps over blocks, {len(HARD)} pairs, both "
        f"certified to 1e-10 in float64: largest difference {apart:.1e}."
    )


def _scores(mapping: Mapping, V: Any, X: Any) -> Any:
    return LinearScores(mapping.Z, mapping.intercept, V)(X)


def fits(data: Any) -> str:
    """Time a single fit and prediction."""
    rows, X = [], data.X.astype(np.float32)
    for name, device in (("cuda", "cuda"), ("NumPy", None)):
        model = GroPLE(100, decision="sign", random_state=0, device=device)
        fit = _best(partial(model.fit, data.X, data.Y))
        predict = _best(partial(model.decision_function, X))
        rows.append([name, f"{fit:.3f}", f"{predict:.3f}"])
    return table(["GroPLE, decision='sign', bibtex", "fit s", "decision_function s"], rows)


@contextmanager
def _timed(part: str, owner: Any, name: str) -> Iterator[None]:
    """Add the seconds of every call of a function to a part, the device waited for."""
    inner = getattr(owner, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        result = inner(*args, **kwargs)
        _wait()
        SPENT[part] += time.perf_counter() - started
        return result

    with patch.object(owner, name, staticmethod(call) if name == "from_data" else call):
        yield


def _best(work: Callable[[], Any]) -> float:
    """Return the best seconds of three calls, after one to warm up."""
    seconds = []
    for _ in range(4):
        _wait()
        started = time.perf_counter()
        work()
        _wait()
        seconds.append(time.perf_counter() - started)
    return min(seconds[1:])


def _wait() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()
