"""Runs that are killed, shared, spread and broken end with the rows of one that was not."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from dataclasses import replace

import pytest

from grople.study import engine, tasks
from grople.study.engine import run
from grople.study.store import Store, StoreError
from grople.study.units import Batch

FORK = multiprocessing.get_context("fork")


def content(folder, create=False):
    """Everything but how long it took: key, place, setting, seed, fingerprint, result."""
    with Store(folder, create=create) as store:
        return [replace(row, seconds=0.0) for row in store.rows()]


@pytest.fixture(scope="module")
def whole(plan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    outcome = run(plan, folder)
    assert outcome.failures == []
    assert outcome.computed == sum(len(batch.settings) for batch in plan)
    return content(folder)


def test_nothing_is_computed_twice(plan, tmp_path, whole):
    run(plan[:3], tmp_path)
    done = sum(len(batch.settings) for batch in plan[:3])
    outcome = run(plan, tmp_path)
    assert outcome.already == done
    assert outcome.computed == len(whole) - done
    again = run(plan, tmp_path)
    assert (again.computed, again.already) == (0, len(whole))
    assert content(tmp_path) == whole


@pytest.mark.parametrize("seed", range(3))
def test_a_run_killed_at_random_moments_ends_with_the_same_rows(plan, tmp_path, whole, seed):
    moments = random.Random(seed)
    killed = 0
    begun = time.perf_counter()
    undisturbed = FORK.Process(target=run, args=(plan, tmp_path / "undisturbed"))
    undisturbed.start()
    undisturbed.join()
    needed = time.perf_counter() - begun  # which differs by machine
    tmp_path = tmp_path / "disturbed"
    for _ in range(10):
        process = FORK.Process(target=run, args=(plan, tmp_path))
        process.start()
        process.join(moments.uniform(0.02, 0.5) * needed)
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
            killed += 1
        process.join()
        # Whole rows only, and none that the other run does not have.
        assert set(map(repr, content(tmp_path, create=True))) <= set(map(repr, whole))
    run(plan, tmp_path)
    assert killed > 0
    assert content(tmp_path) == whole
    with Store(tmp_path) as store:
        store.check()


def test_several_processes_share_a_store(plan, tmp_path, whole):
    processes = [FORK.Process(target=run, args=(plan, tmp_path)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0  # each waits for what the others have claimed
    assert content(tmp_path) == whole


def test_jobs_run_in_processes(plan, tmp_path, whole):
    run(plan, tmp_path, jobs=2)
    assert content(tmp_path) == whole


def test_other_backends_send_parcels_and_this_process_writes(plan, tmp_path, whole, monkeypatch):
    monkeypatch.setattr(engine, "LOCAL", ())  # as if threads were on another machine
    monkeypatch.setattr(engine, "PARCEL", 4)
    run(plan, tmp_path, jobs=2, backend="threading")
    assert content(tmp_path) == whole


def test_dask_spreads_a_plan(plan, tmp_path, whole):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None
    ):
        run(plan, tmp_path, jobs=2, backend="dask")
    assert content(tmp_path) == whole


def test_a_unit_that_fails_is_told_and_the_others_are_kept(plan, tmp_path, whole, monkeypatch):
    broken = tasks.TASKS["published"]

    def published(batch, wanted):
        if batch.method == "PLST":
            raise ZeroDivisionError("no luck")
        return broken(batch, wanted)

    monkeypatch.setitem(tasks.TASKS, "published", published)
    outcome = run(plan, tmp_path)
    assert {what.split()[1] for what, _ in outcome.failures} == {"PLST"}
    assert "no luck" in outcome.failures[0][1]
    monkeypatch.undo()
    outcome = run(plan, tmp_path)
    assert outcome.failures == []
    assert content(tmp_path) == whole


def test_a_full_disk_ends_the_run_with_a_message(plan, tmp_path, monkeypatch):
    calls = []

    def add(self, *args):
        calls.append(args)
        raise StoreError("cannot write (disk full)")

    monkeypatch.setattr(Store, "add", add)
    with pytest.raises(StoreError, match="full"):
        run(plan, tmp_path)
    assert len(calls) == 1


def test_progress_ends_at_the_total(plan, tmp_path):
    seen = []
    run(plan[:2], tmp_path, report=seen.append)
    assert seen[0].done == 0
    assert seen[-1].done == seen[-1].total == sum(len(b.settings) for b in plan[:2])
    assert "published" in seen[-1].last
    assert "example-F1" in seen[-1].best


def test_a_unit_that_two_batches_share_counts_once(plan, tmp_path):
    first = plan[0]
    second = replace(first, settings=first.settings[:3])
    seen = []
    outcome = run([first, second], tmp_path, report=seen.append)
    assert outcome.computed == len(first.settings)
    assert seen[-1].done == seen[-1].total == len(first.settings)


def test_a_claim_held_elsewhere_is_waited_for(plan, tmp_path, monkeypatch):
    batch = plan[0]
    with Store(tmp_path) as store:
        store.claim(batch, 1.0)  # by this process, which computes nothing and does not renew
        begun = time.time()
        run([batch], tmp_path)
        assert time.time() - begun >= 0.9
        assert store.missing(batch) == []


def test_an_unknown_task_is_a_failure_with_its_name(tmp_path):
    outcome = run([Batch("magic", "d", "m", 0, "f", ({},))], tmp_path)
    assert "magic" in outcome.failures[0][1]
