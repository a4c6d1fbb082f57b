"""A fit next to busy processes is slower by its share of the processor, not by waiting threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

FIT = """
import time, warnings
from grople import GroPLE
from grople.datasets import load
warnings.simplefilter("ignore")
data = load("debtags-mini")
GroPLE().fit(data.X[:200], data.Y[:200])
started = time.perf_counter()
GroPLE().fit(data.X[:1500], data.Y[:1500]).predict(data.X)
GroPLE().fit(data.X[:1500, :800].toarray(), data.Y[:1500])
print(time.perf_counter() - started)
"""
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


def seconds() -> float:
    """Return the time of fits in a fresh process that nobody told about threads."""
    free = {name: value for name, value in os.environ.items() if name not in THREADS}
    told = subprocess.run(
        [sys.executable, "-c", FIT], env=free, capture_output=True, text=True, check=True
    )
    return float(told.stdout)


@contextmanager
def busy(n: int) -> Iterator[None]:
    """Keep so many processes busy."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def test_a_fit_next_to_busy_processes_is_not_twenty_times_as_slow() -> None:
    idle = seconds()
    with busy(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2):
        assert seconds() < 20 * idle
