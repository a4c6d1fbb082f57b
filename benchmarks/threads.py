"""Fits with all threads in every matrix product, and with one where matrices are small.

By the clock, on as many threads as are allowed: run it with ``OPENBLAS_NUM_THREADS`` set, on a
machine that does nothing else.
"""

from __future__ import annotations

from unittest.mock import patch

from sklearn.preprocessing import normalize

from benchmarks import best_seconds, data_folder, table
from grople import GroPLE, streaming
from grople.datasets import load
from grople.threads import allowed_threads

DATA = ("medical", "rcv1subset1-repaired", "corel5k", "bibtex", "delicious")


def run(quick: bool = False) -> str:
    if data_folder() is None:
        return "The data sets are not here: set GROPLE_DATA."
    rows = []
    for name in DATA[: 2 if quick else None]:
        data = load(name)
        X = normalize(data.X)

        def fit(X=X, Y=data.Y) -> None:
            GroPLE(random_state=0).fit(X, Y)

        def everywhere(fit=fit) -> None:
            with patch.object(streaming, "SMALL", 0):
                fit()

        spread, alone = best_seconds(everywhere, fit, repeats=2 if quick else 3)
        rows.append([name, f"{spread:.2f}", f"{alone:.2f}", f"{spread / alone:.2f}×"])
    head = [
        f"fit and decision, {allowed_threads()} threads",
        "everywhere s",
        "as it is s",
        "faster",
    ]
    return table(head, rows)
