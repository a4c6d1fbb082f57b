"""Where the time of a fit goes: processor seconds of each stage, on the splits of the peers.

"Scores out of fold" are the maps of the folds and the scores of their rows, "second look" the
calibration and the networks of the context decoder.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks import data_folder, table
from benchmarks.debian import matrix
from benchmarks.large import Timed
from benchmarks.peers.splits import stored_split

#: Minutes of work that says nothing of speed against others: only run when asked for.
ON_REQUEST = True
DATASETS = (
    "genbase", "medical", "CAL500", "corel5k", "rcv1subset1-repaired", "bibtex", "delicious",
    "debian",
)  # fmt: skip
QUICK = ("genbase", "medical", "CAL500")
#: Fits of a set; the fastest counts.
REPEATS = 3


class Spent(Timed):
    """GroPLE that also notes the seconds of out-of-fold scores."""

    def _evidence(self, *args: Any, **kwargs: Any) -> Any:
        started = time.process_time()
        found = super()._evidence(*args, **kwargs)
        self.scored = time.process_time() - started
        return found


def measured(name: str) -> list[float]:
    """Return the seconds of the stages of the fastest of some fits, and of all together."""
    with np.load(stored_split(name).path) as stored:
        X, Y = matrix(stored, "X"), matrix(stored, "Y")
    found = []
    for _ in range(1 if X.shape[0] > 10_000 else REPEATS):
        started = time.process_time()
        model = Spent(random_state=0).fit(X, Y)
        whole = time.process_time() - started
        *stages, decision = model.spent.values()
        found.append([*stages, model.scored, decision - model.scored, whole])
    return min(found, key=lambda seconds: seconds[-1])


def run(quick: bool = False) -> str:
    if data_folder() is None:
        return "The data sets are not here: set GROPLE_DATA."
    rows = []
    for name in QUICK if quick else DATASETS:
        *parts, whole = measured(name)
        rows.append([name, *(f"{100 * part / whole:.0f} %" for part in parts), f"{whole:.2f}"])
    head = ["data", "moments", "groups", "embedding", "map", "scores out of fold", "second look"]
    return table([*head, "CPU s"], rows)
