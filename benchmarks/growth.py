"""How the seconds of a fit grow with the rows: in proportion where rows are read, else not at all.

Synthetic sparse rows, 1,000 features and 100 labels, the first so many of the same rows. Moments
are one pass over the rows; groups, embedding and map follow from the moments. Decisions are fitted
on a bounded sample of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import table
from benchmarks.large import STAGES, stage_seconds
from grople import GroPLE
from grople.datasets import make_grouped_multilabel

ROWS = (125_000, 250_000, 500_000, 1_000_000)
QUICK_ROWS = (25_000, 50_000, 100_000)
#: Fits of a size; the fastest counts.
REPEATS = 3


def fitted(X: Any, Y: Any) -> dict[str, float]:
    """Return the processor seconds of each stage, and of all together."""
    found = []
    for _ in range(REPEATS):
        spent = stage_seconds(GroPLE(random_state=0), X, Y)
        found.append(spent | {"all": sum(spent.values())})
    return min(found, key=lambda spent: spent["all"])


def run(quick: bool = False) -> str:
    sizes = QUICK_ROWS if quick else ROWS
    data = make_grouped_multilabel(sizes[-1], 1_000, 100, features_per_row=12.0, random_state=0)
    rows, whole = [], []
    for size in sizes:
        spent = fitted(data.X[:size], data.Y[:size])
        whole.append(spent["moments"])
        rows.append([f"{size:,}", *(f"{spent[name]:.2f}" for name in (*STAGES, "all"))])
    power = np.polyfit(np.log(sizes), np.log(whole), 1)[0]
    shown = table(["rows", *STAGES, "all, CPU s"], rows)
    return f"{shown}\n\nThe seconds of the moments grow as the rows to the power of {power:.2f}."
