"""Debian's texts on one machine: fit, decision and prediction by the clock, peak of memory.

The split of the peers: 24,242 descriptions to learn from, 6,061 to tag, 60,000 words and pairs of
words. Each decision in a process of its own, on one thread and on all, in the latent space as it
comes and in one of 200 dimensions; the peak of memory includes the interpreter, the libraries and
the data.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import data_folder, table
from benchmarks.peers.splits import stored_split
from grople import GroPLE
from grople.metrics import evaluate

#: Minutes of work.
ON_REQUEST = True
#: Times a model predicts; the best counts.
REPEATS = 3
DIMENSIONS = ("auto", "200")
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def matrix(stored: Any, name: str) -> Any:
    """Return a matrix of a stored split."""
    indices, indptr = stored[f"{name}_indices"], stored[f"{name}_indptr"]
    values = stored[f"{name}_data"] if name.startswith("X") else np.ones(len(indices))
    return sp.csr_array((values, indices, indptr), shape=tuple(stored[f"{name}_shape"]))


def measured(dimensions: str, decision: str) -> dict[str, float]:
    """Fit and predict in this process."""
    with np.load(stored_split("debian").path) as stored:
        X, Y, X_test, Y_test = (matrix(stored, name) for name in ("X", "Y", "X_test", "Y_test"))
    started = time.perf_counter()
    n_components = int(dimensions) if dimensions.isdigit() else dimensions
    model = GroPLE(n_components, decision=decision, random_state=0).fit(X, Y)
    found = {"fit": time.perf_counter() - started}
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        tags = model.predict(X_test)
        times.append(time.perf_counter() - started)
    scores = evaluate(Y_test, tags)
    return found | {"predict": min(times)} | {k: scores[k] for k in ("example_f1", "micro_f1")}


def run(quick: bool = False) -> str:
    if data_folder() is None:
        return "Debian's package descriptions are not here: set GROPLE_DATA."
    rows = []
    cores = os.cpu_count() or 1
    used = (cores,) if quick else (1, cores)
    for threads, dimensions, decision in product(
        dict.fromkeys(used), DIMENSIONS, ("sign", "example_f1")
    ):
        limits = dict.fromkeys(VARIABLES, str(threads))
        command = [sys.executable, "-m", "benchmarks.debian", dimensions, decision]
        told = subprocess.run(
            command, check=True, capture_output=True, text=True, env=os.environ | limits
        )
        found = json.loads(told.stdout)
        rows.append(
            [threads, dimensions, decision, f"{found['fit']:.1f}", f"{found['predict']:.2f}",
             f"{found['peak']:.2f}", f"{found['example_f1']:.3f}", f"{found['micro_f1']:.3f}"]
        )  # fmt: skip
    head = ["threads", "dimensions", "decision", "fit s", "predict 6,061 rows s", "peak GiB",
            "example-F1", "micro-F1"]  # fmt: skip
    return table(head, rows)


if __name__ == "__main__":
    print(json.dumps(measured(*sys.argv[1:])))
