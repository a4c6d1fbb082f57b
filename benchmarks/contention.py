"""What a busy machine does to a fit and to a prediction: both idle, and beside two busy processes.

Each data set in fresh processes, in which the environment names no number of threads: linear
algebra that takes every core waits for cores that others hold. Rows of unit length where they are
sparse, GroPLE as it comes, all rows learnt and then predicted, the median of some repeats by the
clock. ``GROPLE_BEFORE=FOLDER`` names the sources of another version (``src`` of a checkout), whose
idle times are then shown, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import scipy.sparse as sp
from sklearn.preprocessing import normalize

from benchmarks import data_folder, table
from grople import GroPLE
from grople.datasets import read

#: Minutes of work, and only true on a machine that does nothing else.
ON_REQUEST = True
DATASETS = (
    "bibtex", "medical", "CAL500", "corel5k", "rcv1subset1", "corel16k001", "delicious",
    "genbase", "scene", "emotions", "reutersk500",
)  # fmt: skip
QUICK = ("medical", "emotions")
REPEATS = 3
#: What runs beside a fit, and how many of it.
BUSY, N_BUSY = "while True: pass", 2
#: What is not to reach the processes that fit.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
ROOT = Path(__file__).resolve().parents[1]


def seconds_here(path: str, repeats: int) -> dict[str, float]:
    """Return the seconds of a fit and of a prediction in this process."""
    data = read(path)
    X = normalize(data.X) if sp.issparse(data.X) else data.X
    fits, predictions = [], []
    for _ in range(repeats):
        started = time.perf_counter()
        model = GroPLE(random_state=0).fit(X, data.Y)
        fits.append(time.perf_counter() - started)
        started = time.perf_counter()
        model.predict(X)
        predictions.append(time.perf_counter() - started)
    return {"fit": median(fits), "predict": median(predictions)}


def seconds_apart(path: Path, repeats: int, sources: str | None = None) -> dict[str, float]:
    """Return the same of a fresh process, of the version in ``sources`` if one is given."""
    free = {name: value for name, value in os.environ.items() if name not in THREADS}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.contention", str(path), str(repeats)],
        cwd=ROOT,
        env=free | ({} if sources is None else {"PYTHONPATH": sources}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextmanager
def busy_machine() -> Iterator[None]:
    """Keep as many processes busy as long as this lasts."""
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(N_BUSY)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def run(quick: bool = False) -> str:
    folder = data_folder()
    if folder is None:
        return "The data sets are not here: set GROPLE_DATA."
    before = os.environ.get("GROPLE_BEFORE")
    rows, ratios, slower = [], [], []
    for name in QUICK if quick else DATASETS:
        path = folder / "npz" / f"{name}.npz"
        if not path.is_file():
            continue
        repeats = 1 if quick else REPEATS
        idle = seconds_apart(path, repeats)
        with busy_machine():
            busy = seconds_apart(path, repeats)
        earlier = None if before is None else seconds_apart(path, repeats, before)
        cells = []
        for what in ("fit", "predict"):
            ratios.append(busy[what] / idle[what])
            cells += [f"{idle[what]:.3f}", f"{busy[what]:.3f}", f"{ratios[-1]:.2f}×"]
            if earlier is not None:
                slower.append(idle[what] / earlier[what])
                cells += [f"{earlier[what]:.3f}", f"{slower[-1]:.2f}×"]
        rows.append([name, *cells])
    more = [] if before is None else ["before s", "idle / before"]
    head = [column for what in ("fit", "predict")
            for column in (f"{what} idle s", "busy s", "busy / idle", *more)]  # fmt: skip
    told = f"Beside {N_BUSY} busy processes at most {max(ratios):.2f} times as long."
    if slower:
        told += f" Idle at most {max(slower):.2f} times as long as before."
    return f"{table(['data', *head], rows)}\n\n{told}"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(seconds_here(sys.argv[1], int(sys.argv[2]))))
