"""How much of the machine's rate of matrix products stage 3 reaches, on bibtex's moments.

Operations are counted: those of the Cholesky factor and of the solutions with it; in a sweep those
of the products with XᵀX and of the steps inside its blocks. Sweeps skip rows that stay as they are,
which is not counted: β is small, so that hardly any does. The rate is that of one product XᵀX · Z
alone, before and after; all are the best of several.
"""

from __future__ import annotations

import time
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.linalg
from sklearn.preprocessing import normalize

from benchmarks import best_seconds, data_folder, table
from grople import GroPLE, summarise
from grople.datasets import load
from grople.optim import _blocks as blocks
from grople.solver import Groups, MappingProblem, embed_labels

#: Weights: a closed form with shifts of its own a dimension; and sweeps in which few rows are zero.
CLOSED, SWEPT = (0.1, 0.0), (0.1, 0.01)
#: Sweeps to time.
SWEEPS = 10
#: Seconds after which threads that have multiplied no longer wait for more.
PAUSE = 0.2


class Counted:
    """A function that counts how often it is called."""

    def __init__(self, function: Any) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *values: Any, **options: Any) -> Any:
        """Call it."""
        self.calls += 1
        return self.function(*values, **options)


def product_rate(D: int, d: int) -> float:
    """Return operations a second of one product of a D × D with a D × d matrix."""
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal((D, n)) for n in (D, d))
    return 2.0 * D * D * d / best_seconds(lambda: left @ right, repeats=9)[0]


def closed_form(problem: Any, gamma: float) -> tuple[float, float]:
    """Return operations and seconds of the closed form."""
    D, d = problem.target.shape
    seconds = best_seconds(lambda: problem.solve(CLOSED[0], CLOSED[1], gamma))[0]
    solve = Counted(scipy.linalg.cho_solve)
    with patch.object(scipy.linalg, "cho_solve", solve):
        problem.solve(CLOSED[0], CLOSED[1], gamma)
    return D**3 / 3.0 + solve.calls * 2.0 * D * D * d, seconds


def sweeps(problem: Any, gamma: float) -> tuple[float, float]:
    """Return operations and seconds of sweeps over blocks of features."""
    D, d = problem.target.shape
    problem.solve(SWEPT[0], 10.0, gamma, max_iter=1)  # what all settings share
    found = problem.solve(*SWEPT, gamma, tol=1e-12, max_iter=SWEEPS)
    seconds = best_seconds(lambda: problem.solve(*SWEPT, gamma, tol=1e-12, max_iter=SWEEPS))[0]
    inside = 2.0 * D * d * (blocks.BLOCK_ROWS + d) * (blocks.STEPS - 1)
    outside = 2.0 * D * D * d + 4.0 * D * d * d
    return found.n_iter * (inside + outside), seconds


def run(quick: bool = False) -> str:
    folder = data_folder()
    if folder is None:
        return "The data sets are not here: set GROPLE_DATA."
    data = load("bibtex")
    X = normalize(data.X)
    model = GroPLE(decision="sign", random_state=0).fit(X, data.Y)
    moments = summarise(X, data.Y).matrices()
    embedding = embed_labels(moments.labels, Groups.of(model.label_groups_))
    rows = []
    for name, work in (("closed form", closed_form), (f"{SWEEPS} sweeps", sweeps)):
        problem = MappingProblem(moments, embedding)
        _ = problem.gram_matrix, problem.target, problem.relation_spectrum
        before = product_rate(*problem.target.shape)
        time.sleep(PAUSE)
        done, seconds = work(problem, model.gamma_)
        rate = max(before, product_rate(*problem.target.shape))
        share = f"{done / seconds / rate:.0%}"
        figures = [f"{each / 1e9:.1f}" for each in (done, done / seconds, rate)]
        rows.append([name, figures[0], f"{seconds:.2f}", *figures[1:], share])
    head = ["stage 3 on bibtex", "GFLOP", "s", "GFLOP/s", "a product alone", "share"]
    return table(head, rows)
