"""Files larger than memory and clusters: what is measured here, and what it makes of 10⁹ rows.

Processor seconds on one thread, memory as the process itself has used it. The peers are numpy's own
product (the most that moments could be computed at) and the same model fitted on the whole file.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import table
from grople import GroPLE, summarise
from grople.baselines import Ridge
from grople.datasets import make_grouped_multilabel, read, read_blocks
from grople.moments import Grid, Moments, row_keys

#: Bytes of a block of a file.
BLOCK = 8 << 20
#: The machines on paper: how many, their cores, their network in bytes a second.
MACHINES, CORES, NETWORK = 100, 32, 1.25e9
#: The problem on paper.
ROWS, FEATURES, LABELS, CARDINALITY, NONZEROS = 1e9, 1e4, 1e4, 5, 100
#: Rows that are kept for decisions, and rows of a partition.
KEPT, PARTITION = 20_000, {"dense": 1e5, "sparse": 1e6}


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """Return the fewest processor seconds of a few runs."""
    best = np.inf
    for _ in range(repeats):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return float(best)


# -- files ---------------------------------------------------------------------------------------


def write_rows(path: Path, n_rows: int, D: int = 1000, L: int = 50, nonzeros: int = 40) -> None:
    rng = np.random.default_rng(0)
    pairs = "".join(" %d:%d" for _ in range(nonzeros))
    with path.open("w") as file:
        file.write(f"{n_rows} {D} {L}\n")
        for _ in range(0, n_rows, 1000):
            columns = np.sort(rng.random((1000, D)).argpartition(nonzeros)[:, :nonzeros])
            values = rng.integers(1, 9, size=columns.shape)
            cells = np.stack([columns, values], axis=2).reshape(1000, -1)
            labels = rng.integers(L, size=1000)
            file.writelines(
                f"{label}{pairs % tuple(row)}\n"
                for label, row in zip(labels.tolist(), cells.tolist(), strict=True)
            )


def used() -> int:
    """Return the most memory that this process has had, in bytes."""
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def fit_file(path: Path, in_blocks: bool, result: Any) -> None:
    begun, before = time.process_time(), used()
    model = Ridge(1.0, max_kept_rows=2000, decision="sign")
    if in_blocks:
        model.fit_blocks(read_blocks(path, block_bytes=BLOCK))
    else:
        data = read(path)
        model.fit(data.X, data.Y)
    result.put((time.process_time() - begun, used() - before, model.coef_[:, :20]))


def files(sizes: tuple[int, ...]) -> str:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for n_rows in sizes:
            path = Path(folder) / "rows.txt"
            write_rows(path, n_rows)
            found = []
            for in_blocks in (False, True):
                spawn = multiprocessing.get_context("spawn")
                result = spawn.Queue()
                child = spawn.Process(target=fit_file, args=(path, in_blocks, result))
                child.start()
                found.append(result.get())
                child.join()
            (whole, much, theirs), (parts, little, ours) = found
            rows.append(
                [
                    f"{n_rows:,}",
                    f"{path.stat().st_size / 1e6:.0f}",
                    f"{much / 1e6:.0f}",
                    f"{little / 1e6:.0f}",
                    f"{much / little:.1f}×",
                    f"{whole / parts:.2f}×",
                    f"{np.abs(theirs - ours).max():.0e}",
                ]
            )
    head = [
        "rows",
        "file MB",
        "whole: peak MB",
        f"in blocks of {BLOCK >> 20} MiB: peak MB",
        "less memory",
    ]
    return table([*head, "speed of blocks", "difference of coefficients"], rows)


# -- constants -------------------------------------------------------------------------------------


def constants(quick: bool) -> dict[str, float]:
    rng = np.random.default_rng(0)
    found: dict[str, float] = {}
    n, D, L = (5_000, 500, 50) if quick else (20_000, 1000, 100)
    B = sp.csr_array(rng.random((n, L)) < 0.05)
    X = rng.normal(size=(n, D))
    product = seconds(lambda: X.T @ X)
    grid = Grid.of(X)
    gathered = seconds(lambda: Moments.of(X, B, None, grid))
    # A symmetric product takes n·D² operations.
    found["numpy GFLOP/s"] = n * D**2 / product / 1e9
    found["moments GFLOP/s"] = n * D**2 / gathered / 1e9
    found["keys ns a value"] = seconds(lambda: row_keys(X, B)) / X.size * 1e9
    rows = sp.random_array((n, 5 * D), density=NONZEROS / (5 * D), format="csr", rng=rng)
    grid = Grid.of(rows)
    one = Moments.of(rows[:100], B[:100], None, grid)
    gathered = seconds(lambda: Moments.of(rows, B, None, grid), 1)
    found["sparse ns a pair"] = gathered / (n * NONZEROS**2) * 1e9
    found["sum GB/s"] = 8 * (5 * D) * (5 * D + L) / seconds(lambda: one + one, 1) / 1e9
    found |= dask_constants(X, B)
    sizes = (200, 400) if quick else (250, 500, 1000)
    times = [solve_seconds(size) for size in sizes]
    found["solve s at D = L"] = sizes[-1]
    found["solve s"] = times[-1]
    found["solve exponent"] = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    return found


def solve_seconds(size: int) -> float:
    data = make_grouped_multilabel(4 * size, size, size, n_groups=10, random_state=0)
    summary = summarise(data.X, data.Y)
    return seconds(lambda: GroPLE(decision="sign", random_state=0).fit_summary(summary), 1)


def dask_constants(X: Any, B: Any) -> dict[str, float]:
    import dask.bag
    from distributed import Client
    from distributed.protocol import deserialize, serialize

    from grople.backends._dask import reduce_partitions

    moments = Moments.of(X, B, None, Grid.of(X))
    size = 8 * X.shape[1] ** 2
    travelling = seconds(lambda: deserialize(*serialize(moments)))
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None):
        started = time.process_time()
        parts = dask.bag.from_sequence(range(400), npartitions=400)
        reduce_partitions(parts, sum, sum, lambda *told: None)
        overhead = (time.process_time() - started) / parts.npartitions
    return {"serialised GB/s": size / travelling / 1e9, "task ms": overhead * 1e3}


# -- paper ---------------------------------------------------------------------------------------


def paper(found: dict[str, float]) -> str:
    """Return what the measured constants make of the large problem."""
    share = 1.0 / (MACHINES * CORES)
    summary = 8 * FEATURES * (FEATURES + LABELS) + 12 * LABELS**2
    lines = []
    for kind in ("dense", "sparse"):
        values = FEATURES if kind == "dense" else NONZEROS
        stored = ROWS * (4 * FEATURES if kind == "dense" else 12 * NONZEROS)
        kept = KEPT * (4 * FEATURES if kind == "dense" else 12 * NONZEROS)
        partitions = ROWS / PARTITION[kind]
        if kind == "dense":
            products = ROWS * FEATURES**2 / (found["moments GFLOP/s"] * 1e9)
        else:
            products = ROWS * NONZEROS**2 * found["sparse ns a pair"] * 1e-9
        marks = ROWS * CARDINALITY * (values + CARDINALITY) * found["sparse ns a pair"] * 1e-9
        keys = ROWS * values * found["keys ns a value"] * 1e-9
        reading = stored / MACHINES / NETWORK
        # Three of four summaries travel to the fourth, on every level of the tree.
        travel = partitions * 0.75 * (4 / 3) * (summary + kept)
        reduction = travel / MACHINES / NETWORK + travel / (found["sum GB/s"] * 1e9) / MACHINES
        overhead = partitions * found["task ms"] * 1e-3
        lines.append(
            [
                kind,
                f"{stored / 1e12:.1f} TB",
                f"{hours((products + marks) * share)}",
                f"{hours(keys * share)}",
                f"{hours(reading)}",
                f"{hours(reduction)}",
                f"{hours(overhead)}",
            ]
        )
    growth = FEATURES / found["solve s at D = L"]
    least, most = (found["solve s"] * growth**power for power in (found["solve exponent"], 3.0))
    head = ["rows", "stored", "products", "keys", "reading", "reduction", "scheduler"]
    return (
        f"{ROWS:.0e} rows × {FEATURES:.0e} features × {LABELS:.0e} labels on {MACHINES} machines, "
        f"{CORES} cores and {NETWORK * 8e-9:.0f} Gbit/s each; a summary is {summary / 1e9:.1f} GB"
        f"\n\n{table(head, lines)}\n\n"
        f"One solve on one thread of the client, by the measured exponent and by the cube of D: "
        f"{hours(least)} to {hours(most)}; a decision on held-out scores takes five more."
    )


def hours(amount: float) -> str:
    if amount < 120:
        return f"{amount:.3g} s"
    return f"{amount / 60:.3g} min" if amount < 7200 else f"{amount / 3600:.3g} h"


def run(quick: bool = False) -> str:
    found = constants(quick)
    shown = table(["constant", "measured"], [[key, f"{value:.3g}"] for key, value in found.items()])
    sizes = (20_000, 80_000) if quick else (60_000, 240_000)
    return "\n\n".join([files(sizes), shown, paper(found)])
