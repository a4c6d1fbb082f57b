"""Compute what a plan asks for and a store lacks, on several processors or machines."""

from __future__ import annotations

import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib

from grople.errors import require
from grople.study._methods import searched
from grople.study._store import Run, Store
from grople.study.experiments import TASKS

Results = list[tuple[Run, dict[str, Any], float]]


@dataclass(frozen=True)
class Outcome:
    """Runs computed now, runs that were there, and what failed with the reason."""

    computed: int
    already: int
    failures: tuple[str, ...]


def run_plan(
    plan: Sequence[Run],
    store: Store,
    *,
    jobs: int = 1,
    scheduler: str = "",
    report: Callable[[str, int, int], None] = lambda step, done, total: None,
) -> Outcome:
    """Compute every run of a plan that a store lacks; only this process writes.

    Parameters
    ----------
    plan : sequence of Run
        What to compute.
    store : Store
        Where results go, as soon as they are known.
    jobs : int
        Jobs computed at a time: runs that share work are one job.
    scheduler : str
        Address of a Dask scheduler, whose workers then compute the jobs.
    report : callable
        Told what was computed last, how many runs are done and how many there are.

    Returns
    -------
    Outcome

    Raises
    ------
    StoreError
        If the store is damaged or cannot be written; what it holds stays.
    """
    missing = store.missing(plan)
    total = len(set(plan))
    done, computed = total - len(missing), 0
    failures: list[str] = []
    report("", done, total)
    # What another process has stored meanwhile is left out.
    waiting = (left for job in group_jobs(missing) if (left := store.missing(job)))
    with _workers(jobs, scheduler):
        parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1)
        for job, results, reason in parallel(joblib.delayed(compute_job)(job) for job in waiting):
            store.add(results)
            if reason:
                failures.append(f"{job[0]}: {reason}")
            computed += len(results)
            report(str(job[0]), done + computed, total)
    there = total - len(store.missing(plan)) - computed
    return Outcome(computed, there, tuple(failures))


def group_jobs(runs: Iterable[Run]) -> list[list[Run]]:
    """Return the runs that share work together: published settings of one method on one fold."""
    jobs: dict[tuple[Any, ...], list[Run]] = {}
    for run in runs:
        apart: Any = run.setting
        if run.task == "published":
            apart = tuple(run.parameters.get(name) for name in searched(run.method).separate)
        key = run.task, run.dataset, run.method, run.fold, run.seed, apart
        jobs.setdefault(key, []).append(run)
    return list(jobs.values())


def compute_job(job: Sequence[Run]) -> tuple[Sequence[Run], Results, str]:
    """Return the results of runs that share work, and why some of them are missing, if any."""
    results: Results = []
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings():
            # That the published objective has no minimum is said in the report, not each time.
            warnings.simplefilter("ignore")
            for run, result in TASKS[job[0].task](job):
                now = time.perf_counter()
                results.append((run, result, now - begun))
                begun = now
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}, line {where.lineno}"
        return job, results, f"{type(error).__name__}: {error} ({place})"
    return job, results, ""


@contextmanager
def _workers(jobs: int, scheduler: str) -> Iterator[None]:
    """Have joblib use processes of this machine, or those of a Dask cluster."""
    if scheduler:
        client = require("distributed", "dask", "A scheduler").Client
        with client(scheduler), joblib.parallel_config("dask", n_jobs=jobs):
            yield
        return
    threads = max(1, (os.cpu_count() or 1) // jobs)
    with joblib.parallel_config("loky", n_jobs=jobs, inner_max_num_threads=threads):
        yield
