"""Compute what a plan asks for and a store lacks: in order, once, whatever interrupts it.

Workers claim a batch, compute its missing units and store each as soon as it is known, so that a
killed run loses the unit in flight. Backends that reach other machines cannot write the store;
there the units of a batch come back together, and this process writes them.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib

from grople.errors import DataError, MissingExtraError
from grople.study.store import Store, StoreError
from grople.study.tasks import compute
from grople.study.units import Batch, Setting

__all__ = ["Outcome", "Progress", "run"]

#: Seconds for which a batch is claimed; claims are renewed three times as often.
LEASE = 60.0
#: Seconds between two looks at the store, for progress and for batches of other processes.
LOOK = 0.5
#: Backends of joblib whose workers see the files of this machine.
LOCAL = ("loky", "threading", "multiprocessing", "sequential")
#: The most units of a batch that travel together to another machine.
PARCEL = 32

Computed = tuple[Setting, dict[str, Any], float]


@dataclass(frozen=True)
class Progress:
    """How far a run is: units done and planned, seconds left (if known), what came last."""

    done: int
    total: int
    seconds_left: float | None
    last: str
    best: str


@dataclass(frozen=True)
class Outcome:
    """What a run did: units computed by anyone since it began, units already there, failures."""

    computed: int
    already: int
    failures: list[tuple[str, str]]


def run(
    plan: Sequence[Batch],
    folder: str | Path,
    *,
    jobs: int = 1,
    backend: str = "loky",
    report: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Compute every unit of a plan that a store lacks.

    Parameters
    ----------
    plan : sequence of Batch
        What to compute.
    folder : path
        The store.
    jobs : int
        Batches computed at a time.
    backend : str
        Backend of joblib: ``"loky"`` (processes here), or one registered for a cluster such as
        ``"dask"`` (with a client connected).
    report : callable, optional
        Called now and then, and at the end, with the :class:`Progress`.

    Returns
    -------
    Outcome

    Raises
    ------
    StoreError
        If the store is damaged or cannot be written; what it holds stays.
    """
    with Store(folder) as store:
        store.check()
        waiting = [batch for batch in plan if store.missing(batch)]
        total = len({key for batch in plan for key in batch.unit_keys()})
        missing = _missing(store, waiting)
        with _watched(store.folder, plan, total, total - missing, jobs, report):
            while waiting:
                busy = set(_spread(waiting, store, jobs, backend))
                # Another process has these; they are done soon, or free to take.
                waiting = [b for b in waiting if b.name in busy and store.missing(b)]
                if waiting:
                    time.sleep(LOOK)
        return Outcome(missing - _missing(store, plan), total - missing, store.failures(plan))


def _missing(store: Store, plan: Sequence[Batch]) -> int:
    """Count the units that lack a result, once each: experiments share some."""
    return len({batch.key(setting) for batch in plan for setting in store.missing(batch)})


def _spread(plan: Sequence[Batch], store: Store, jobs: int, backend: str) -> Iterator[str]:
    """Compute batches; yield the names of those that another process has claimed."""
    if backend in LOCAL and (jobs == 1 or len(plan) == 1):
        yield from filter(None, (_work(store.folder, batch) for batch in plan))
        return
    if backend in LOCAL:
        threads = max(1, (os.cpu_count() or 1) // jobs) if backend == "loky" else None
        work = (joblib.delayed(_work)(store.folder, batch) for batch in plan)
        with joblib.parallel_config(backend, n_jobs=jobs, inner_max_num_threads=threads):
            found = joblib.Parallel(return_as="generator_unordered", batch_size=1)(work)
            yield from filter(None, found)
        return
    yield from _send(plan, store, jobs, backend)


def _work(folder: Path, batch: Batch) -> str | None:
    """Compute one batch here; return its name if another process has it."""
    with Store(folder) as store:
        if not store.claim(batch, LEASE):
            return batch.name
        with _held(folder, store.owner):
            try:
                wanted = store.missing(batch)  # now that nobody else adds to them
                for setting, result, seconds in timed(batch, wanted):
                    store.add(batch, setting, result, seconds)
                store.forgive(batch)
            except (StoreError, MissingExtraError, DataError, MemoryError):
                raise
            except Exception as error:
                store.fail(batch, _reason(error))
            finally:
                store.release(batch)
    return None


def _send(plan: Sequence[Batch], store: Store, jobs: int, backend: str) -> Iterator[str]:
    """Compute batches elsewhere, in parcels of a few units; this process writes what returns."""
    refused: list[str] = []

    def parcels() -> Iterator[Any]:
        for batch in plan:
            if not store.claim(batch, LEASE):
                refused.append(batch.name)
                continue
            wanted = store.missing(batch)
            for start in range(0, len(wanted), PARCEL):
                yield joblib.delayed(_remote)(batch, wanted[start : start + PARCEL])

    failed: set[str] = set()
    with _held(store.folder, store.owner), joblib.parallel_config(backend, n_jobs=jobs):
        # A list: the claims are made by this thread, which owns the store.
        for batch, found, reason in joblib.Parallel(return_as="generator_unordered")(
            list(parcels())
        ):
            for setting, result, seconds in found:
                store.add(batch, setting, result, seconds)
            if reason:
                failed.add(batch.name)
                store.fail(batch, reason)
    for batch in plan:
        store.release(batch)
        if batch.name not in failed and batch.name not in refused:
            store.forgive(batch)
    yield from refused


def _remote(batch: Batch, wanted: Sequence[Setting]) -> tuple[Batch, list[Computed], str]:
    found: list[Computed] = []
    try:
        found.extend(timed(batch, wanted))
    except Exception as error:
        return batch, found, _reason(error)
    return batch, found, ""


def timed(batch: Batch, wanted: Sequence[Setting]) -> Iterator[Computed]:
    """Yield settings, results and seconds; what units share counts for the first of them."""
    if not wanted:
        return
    begun = time.perf_counter()
    with warnings.catch_warnings():
        # That the published objective has no minimum is said in the report, not a thousand times.
        warnings.simplefilter("ignore")
        for setting, result in compute(batch, wanted):
            now = time.perf_counter()
            yield setting, result, now - begun
            begun = time.perf_counter()


def _reason(error: BaseException) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})"


@contextmanager
def _held(folder: Path, owner: str) -> Iterator[None]:
    """Renew the claims of an owner from a thread of its own, while it computes."""
    done = threading.Event()

    def renew() -> None:
        # If the store cannot be written, the worker itself will say so.
        with suppress(StoreError), Store(folder) as store:
            while not done.wait(LEASE / 3):
                store.renew(owner, LEASE)

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def _watched(
    folder: Path,
    plan: Sequence[Batch],
    total: int,
    already: int,
    jobs: int,
    report: Callable[[Progress], None] | None,
) -> Iterator[None]:
    """Report progress as the store shows it, whoever computes."""
    if report is None:
        yield
        return
    done = threading.Event()
    begun = time.time()

    def look(store: Store) -> None:
        report(_progress(store, plan, total, already, jobs, begun))

    def watch() -> None:
        with suppress(StoreError), Store(folder) as store:
            look(store)
            while not done.wait(LOOK):
                look(store)
            look(store)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _progress(
    store: Store, plan: Sequence[Batch], total: int, already: int, jobs: int, begun: float
) -> Progress:
    planned: dict[tuple[str, str, str], int] = {}
    for batch in plan:
        place = batch.task, batch.dataset, batch.method
        planned[place] = planned.get(place, 0) + len(batch.settings)
    ever = {place: (n, s) for *place_, n, s in store.progress() for place in [tuple(place_)]}
    since = {tuple(place): n for *place, n, _ in store.progress(begun) if tuple(place) in planned}
    done = min(total, already + sum(since.values()))
    left = _seconds_left(planned, ever) / max(jobs, 1) if done < total else 0.0
    latest = store.latest()
    if latest is None or done == already:
        return Progress(done, total, None, "", "")
    task, dataset, method = latest
    best = store.best(task, dataset, method, "example_f1")
    shown = "" if best is None else f"best example-F1 so far {best:.3f}"
    return Progress(done, total, left, f"{task} {method} on {dataset}", shown)


def _seconds_left(
    planned: dict[tuple[str, str, str], int], ever: dict[Any, tuple[int, float]]
) -> float:
    """Guess from what units of the same kind took, here or on other data sets."""
    by_method: dict[tuple[str, str], list[float]] = {}
    for (task, _, method), (n, seconds) in ever.items():
        sums = by_method.setdefault((task, method), [0.0, 0.0])
        sums[0] += n
        sums[1] += seconds
    count, spent = (sum(values) for values in zip(*ever.values(), strict=True)) if ever else (0, 0)
    left = 0.0
    for place, wanted in planned.items():
        n, seconds = ever.get(place, (0, 0.0))
        if not n:
            n_, seconds = by_method.get((place[0], place[2]), (count, spent))
        else:
            n_ = n
        left += max(0, wanted - n) * seconds / max(n_, 1)
    return left
