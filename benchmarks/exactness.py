"""Whether a model is a function of its set of rows: the same rows, brought in many ways.

A fresh fit on four fifths of the rows stands beside models of the same rows on the same grid:

- came and went: all rows in 7 shuffled blocks by ``partial_fit``, then the others by ``forget``;
- saved: the same, stored in a file and read again on the way;
- shuffled: one ``fit`` of the same rows in another order;
- blocks: the same rows shuffled, in 7 blocks by ``fit_blocks``;
- weighted: came and went, of rows with weights, beside a fresh fit with weights;
- threads: two fresh fits, of which one process is told one thread and the other two.

What is shown should be zero everywhere: the largest difference of a score, as a share of the
largest score, and how many probabilities and predicted labels are not equal to the last bit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from benchmarks import data_folder, table
from grople import GroPLE, load_model, save_model
from grople.datasets import load, read

#: Minutes of work that says nothing of speed: only run when asked for.
ON_REQUEST = True
DATASETS = (
    "medical", "genbase", "CAL500", "emotions", "scene", "corel5k", "rcv1subset1", "reutersk500",
    "corel16k001", "bibtex", "delicious", "debtags-mini, 800 rows", "debtags-mini, 2500 rows",
)  # fmt: skip
QUICK = ("emotions", "medical", "debtags-mini, 800 rows")
BLOCKS, KEPT = 7, 0.8
#: Rows that models are asked about, at most.
ASKED = 2000
ROOT = Path(__file__).resolve().parents[1]


class Answers(NamedTuple):
    """What a model says of some rows."""

    scores: Any
    probabilities: Any
    labels: Any

    @classmethod
    def of(cls, model: GroPLE, X: Any) -> Answers:
        """Ask a model."""
        labels = sp.csr_array(model.predict(X)).toarray()
        return cls(model.decision_function(X), model.predict_proba(X), labels)

    def differences(self, other: Answers) -> list[str]:
        """Return how the answers of another model differ."""
        off = np.abs(self.scores - other.scores).max() / np.abs(self.scores).max()
        counts = [
            int((mine != theirs).sum()) for mine, theirs in zip(self[1:], other[1:], strict=True)
        ]
        return ["0" if off == 0 else f"{off:.0e}", *(f"{count:,}" for count in counts)]


class Rows(NamedTuple):
    """Rows with labels, and with weights where they have any."""

    X: Any
    Y: Any
    weights: Any = None

    def take(self, which: Any) -> Rows:
        """Return some of them."""
        weights = None if self.weights is None else self.weights[which]
        return Rows(self.X[which], self.Y[which], weights)

    def shuffled_blocks(self, rng: np.random.Generator) -> list[Rows]:
        """Return all of them in blocks, in another order."""
        order = rng.permutation(self.X.shape[0])
        return [self.take(some) for some in np.array_split(order, BLOCKS)]


def load_rows(name: str) -> Rows | None:
    """Return a data set, sparse rows with unit length; None where it is not here."""
    name, _, part = name.partition(", ")
    folder = data_folder()
    if name == "debtags-mini":
        data = load(name)
    elif folder is None or not (folder / "npz" / f"{name}.npz").is_file():
        return None
    else:
        data = read(folder / "npz" / f"{name}.npz")
    some = slice(int(part.removesuffix(" rows")) if part else None)
    X = normalize(data.X) if sp.issparse(data.X) else np.asarray(data.X, dtype=np.float64)
    return Rows(X[some], sp.csr_array(data.Y)[some])


def fitted(rows: Rows, like: GroPLE | None = None) -> GroPLE:
    """Return a fresh fit."""
    return GroPLE(random_state=0).fit(rows.X, rows.Y, rows.weights, like=like)


def came_and_went(
    every: Rows, gone: Any, like: GroPLE, rng: np.random.Generator, *, stored: bool = False
) -> GroPLE:
    """Return a model that has learnt all rows and forgotten some, through a file if so wished."""
    first, *others = every.shuffled_blocks(rng)
    model = fitted(first, like)
    for number, block in enumerate(others):
        if stored and number == BLOCKS // 2:
            model = through_file(model)
        model.partial_fit(block.X, block.Y, sample_weight=block.weights)
    forgotten = every.take(gone)
    return model.forget(forgotten.X, forgotten.Y, forgotten.weights)


def through_file(model: GroPLE) -> Any:
    """Return a model as a file gives it back."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.grople"
        save_model(path, model)
        return load_model(path)


def by_blocks(rows: Rows, like: GroPLE, rng: np.random.Generator) -> GroPLE:
    """Return a model that was given its rows in blocks, in another order."""
    blocks = ((block.X, block.Y) for block in rows.shuffled_blocks(rng))
    return GroPLE(random_state=0).fit_blocks(blocks, like=like)


def with_threads(name: str, n_threads: int) -> Answers:
    """Return the answers of a fit in a process that is told a number of threads."""
    limits = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), str(n_threads))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.npz"
        command = [sys.executable, "-m", "benchmarks.exactness", name, str(path)]
        subprocess.run(command, check=True, cwd=ROOT, env=os.environ | limits)
        with np.load(path) as found:
            return Answers(*(found[field] for field in Answers._fields))


def compared(name: str, every: Rows) -> list[list[str]]:
    """Return a row for each way, and the form that the moments have."""
    rng = np.random.default_rng(0)
    n_rows = every.X.shape[0]
    order = rng.permutation(n_rows)
    kept, gone = np.sort(order[: int(KEPT * n_rows)]), order[int(KEPT * n_rows) :]
    rows, asked = every.take(kept), every.X[:ASKED]
    weighted = every._replace(weights=rng.choice([0.5, 1.0, 2.5], n_rows))
    fresh = fitted(rows)
    answers = Answers.of(fresh, asked)
    assert fresh.summary_ is not None
    form = "rows" if fresh.summary_.sums is None else "matrices"
    ways: dict[str, Callable[[], GroPLE]] = {
        "came and went": partial(came_and_went, every, gone, fresh, rng),
        "saved": partial(came_and_went, every, gone, fresh, rng, stored=True),
        "shuffled": lambda: fitted(rows.take(rng.permutation(len(kept))), fresh),
        "blocks": lambda: by_blocks(rows, fresh, rng),
    }
    shown = [
        [name, form, way, *answers.differences(Answers.of(learn(), asked))]
        for way, learn in ways.items()
    ]
    fresh = fitted(weighted.take(kept))
    other = came_and_went(weighted, gone, fresh, rng)
    found = Answers.of(fresh, asked).differences(Answers.of(other, asked))
    shown.append([name, form, "weighted", *found])
    found = with_threads(name, 1).differences(with_threads(name, 2))
    return [*shown, [name, form, "threads", *found]]


def run(quick: bool = False) -> str:
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of moments whose first block is small
        for name in QUICK if quick else DATASETS:
            every = load_rows(name)
            if every is not None:
                rows += compared(name, every)
    for before, row in zip(rows[-2::-1], rows[:0:-1], strict=True):
        if before[0] == row[0]:
            row[:2] = "", ""
    zero = sum(row[3:] == ["0", "0", "0"] for row in rows)
    head = ["data", "moments", "way", "scores", "probabilities that differ", "labels that differ"]
    return f"{table(head, rows)}\n\nEqual to the last bit: {zero} of {len(rows)}."


def main(name: str, path: str) -> None:
    """Fit all rows of a data set and store the answers."""
    every = load_rows(name)
    assert every is not None
    np.savez(path, **Answers.of(fitted(every), every.X[:ASKED])._asdict())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
