"""Speed and memory against peers, as ratios measured in one run.

Every module here with a function ``run(quick: bool) -> str`` is a benchmark: it returns a table.
``python -m benchmarks [NAME ...] [--quick]`` runs those named, by default all but the ones that set
``ON_REQUEST = True``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["best_seconds", "data_folder", "table"]


def best_seconds(*calls: Callable[[], Any], repeats: int = 5) -> list[float]:
    """Return each call's best time; the calls take turns, so that a busy machine hits all alike."""
    best = [float("inf")] * len(calls)
    for _ in range(repeats):
        for i, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def data_folder() -> Path | None:
    """Return the folder of real data sets, ``$GROPLE_DATA`` or ``../shared/data``, if there."""
    named = os.environ.get("GROPLE_DATA")
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(named) if named else beside
    return folder if (folder / "npz").is_dir() else None


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table with aligned columns, the first one to the left."""
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "| " + " | ".join((str.ljust, str.rjust)[i > 0](c, w) for i, (c, w) in fields) + " |"
        for fields in (enumerate(zip(row, widths, strict=True)) for row in cells)
    ]
    rule = "|" + "|".join("-" * (w + 1) + "-:"[i > 0] for i, w in enumerate(widths)) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])
