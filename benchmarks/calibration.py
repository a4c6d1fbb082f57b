"""Whether GroPLE's probabilities hold: expected calibration error on rows that it has not seen.

Every data set with more than 5,000 rows, in five folds (the authors' where they are known): GroPLE
as it comes, on rows of unit length. The five most probable labels of each test row, in 15 bins of
as many pairs each. ``pooled`` puts the test rows of all folds together; a single fold has fewer
pairs in a bin, so that chance alone moves it further from zero.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from benchmarks import data_folder, table
from grople import GroPLE
from grople.metrics import reliability_curve
from grople.study import N_FOLDS, load_fold

#: Minutes of work that says nothing of speed: only run when asked for.
ON_REQUEST = True
DATASETS = (
    "rcv1subset1", "rcv1subset2", "rcv1subset3", "rcv1subset1-repaired", "bibtex", "corel16k001",
    "delicious",
)  # fmt: skip
QUICK = ("rcv1subset1",)
#: Labels of a row whose probabilities are compared with what happened.
TOP = 5
#: Rows scored at a time.
BLOCK = 4096
PICTURE = Path("build/calibration.png")


def candidates(dataset: str, fold: int) -> tuple[Any, Any]:
    """Return the probabilities of the most probable labels of each test row, and which are true."""
    part = load_fold(dataset, fold)
    model = GroPLE(random_state=0).fit(normalize(part.X), part.B)
    chances, truths = [], []
    for first in range(0, part.X_test.shape[0], BLOCK):
        rows = slice(first, first + BLOCK)
        found = model.predict_proba(normalize(part.X_test[rows]))
        best = np.argpartition(-found, TOP, axis=1)[:, :TOP]
        chances.append(np.take_along_axis(found, best, axis=1))
        truths.append(np.take_along_axis(part.B_test[rows].toarray(), best, axis=1))
    return np.concatenate(chances), np.concatenate(truths)


def run(quick: bool = False) -> str:
    if data_folder() is None:
        return "The data sets are not here: set GROPLE_DATA."
    rows, drawn = [], {}
    for name in QUICK if quick else DATASETS:
        started = time.process_time()
        found = [candidates(name, fold) for fold in range(2 if quick else N_FOLDS)]
        seconds = time.process_time() - started
        chances, truth = (np.concatenate(part) for part in zip(*found, strict=True))
        drawn[name] = truth, chances
        each = [reliability_curve(B, P).error for P, B in found]
        errors = [reliability_curve(truth, chances).error, *each]
        shown = [f"{error:.4f}" for error in errors]
        rows.append([name, f"{len(chances):,}", *shown, f"{seconds:.0f}"])
    draw(drawn)
    folds = [f"fold {i + 1}" for i in range(2 if quick else N_FOLDS)]
    told = f"\n\nThe curves: {PICTURE}"
    return table(["data", "test rows", "pooled", *folds, "CPU s"], rows) + told


def draw(found: dict[str, tuple[Any, Any]]) -> None:
    """Draw what happened against what was predicted, a panel a data set."""
    from matplotlib.figure import Figure

    from grople.inspection import plot_reliability

    columns = min(4, len(found))
    lines = -(-len(found) // columns)
    figure = Figure(figsize=(4 * columns, 4 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for panel, (name, (truth, chances)) in zip(panels, found.items(), strict=False):
        plot_reliability({name: reliability_curve(truth, chances)}, ax=panel)
        panel.set_title(name)
    for panel in panels[len(found) :]:
        panel.set_axis_off()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=80)
