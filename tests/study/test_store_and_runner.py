"""Runs that are killed, shared, spread and broken end with the rows of one that was not."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import time

import pytest

from grople.study import (
    EXPERIMENTS,
    RESULTS_FILE,
    TASKS,
    Run,
    Scope,
    Store,
    StoreError,
    make_plan,
    run_plan,
)

FORK = multiprocessing.get_context("fork")
RUN = Run("published", "tiny", "PLST", 0, '{"ridge":1.0}')


@pytest.fixture(scope="module")
def plan(tiny):
    """A plan of some 80 runs that takes about a second."""
    methods = ("GroPLE", "PLST", "LLSF", "CPLST")
    scope = Scope((tiny,), methods, ("published",), quick=True)
    return make_plan([EXPERIMENTS["comparison"]], scope)


def content(store):
    """Everything but how long it took."""
    return store.read().drop(columns="seconds").to_dict("records")


@pytest.fixture(scope="module")
def whole(plan, tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("whole"))
    outcome = run_plan(plan, store)
    assert (outcome.computed, outcome.already, outcome.failures) == (len(plan), 0, ())
    return content(store)


def test_nothing_is_computed_twice(plan, tmp_path, whole):
    store = Store(tmp_path)
    assert run_plan(plan[:30], store).computed == 30
    seen = []
    outcome = run_plan(plan, store, report=lambda *told: seen.append(told))
    assert (outcome.computed, outcome.already) == (len(plan) - 30, 30)
    assert seen[0] == ("", 30, len(plan))
    assert seen[-1][1:] == (len(plan), len(plan))
    assert run_plan(plan + plan, store).already == len(plan)
    assert content(store) == whole


def test_a_run_killed_at_random_moments_ends_with_the_same_rows(plan, tmp_path, whole):
    moments, killed = random.Random(0), 0
    begun = time.perf_counter()
    run_plan(plan, Store(tmp_path / "undisturbed"))
    needed = time.perf_counter() - begun  # which differs by machine
    store = Store(tmp_path / "disturbed")
    before = 0
    for _ in range(6):
        process = FORK.Process(target=run_plan, args=(plan, store))
        process.start()
        process.join(moments.uniform(0.02, 0.5) * needed)
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
            killed += 1
        process.join()
        found = content(store)  # whole rows only, and none that the other run does not have
        assert all(row in whole for row in found)
        assert len(found) >= before
        before = len(found)
    assert killed > 0
    assert run_plan(plan, store).already == before
    assert content(store) == whole


def test_several_processes_share_a_store(plan, tmp_path, whole):
    store = Store(tmp_path)
    processes = [FORK.Process(target=run_plan, args=(plan, store)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert content(store) == whole


def test_jobs_run_in_processes(plan, tmp_path, whole):
    store = Store(tmp_path)
    run_plan(plan, store, jobs=2)
    assert content(store) == whole


def test_dask_spreads_a_plan(plan, tmp_path, whole):
    distributed = pytest.importorskip("distributed")
    store = Store(tmp_path)
    options = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "protocol": "tcp"}
    with distributed.LocalCluster(**options, dashboard_address=None) as cluster:
        run_plan(plan, store, jobs=2, scheduler=cluster.scheduler_address)
    assert content(store) == whole


def test_a_run_that_fails_is_told_and_the_others_are_kept(plan, tmp_path, whole, monkeypatch):
    usual = TASKS["published"]

    def published(job):
        if job[0].method == "PLST":
            raise ZeroDivisionError("no luck")
        return usual(job)

    monkeypatch.setitem(TASKS, "published", published)
    store = Store(tmp_path)
    failures = run_plan(plan, store).failures
    assert all("published PLST on" in told and "no luck" in told for told in failures)
    assert len(failures) == 2  # folds
    monkeypatch.undo()
    assert run_plan(plan, store).failures == ()
    assert content(store) == whole


def test_what_is_there_stays_and_other_data_are_other_runs(tmp_path):
    store = Store(tmp_path)
    store.add([(RUN, {"accuracy": 0.5}, 1.0)])
    other = Run(*[getattr(RUN, name) for name in RUN.__dataclass_fields__][:-1], "other data")
    store.add([(RUN, {"accuracy": 0.7}, 1.0), (other, {"accuracy": 0.9}, 1.0)])
    assert store.read()["accuracy"].tolist() == [0.5, 0.9]
    assert store.missing([RUN, RUN, other, Run("t", "d", "m", 0)]) == [Run("t", "d", "m", 0)]
    versions = store.read()["versions"].unique()
    assert len(versions) == 1
    assert "scikit-learn" in versions[0]


def test_plans_are_kept_once(tmp_path):
    store = Store(tmp_path)
    for _ in range(2):
        store.note_plan(["cost", "groups"], {"quick": True})
    assert sorted(store.plans()) == [("cost", {"quick": True}), ("groups", {"quick": True})]


def test_a_full_disk_is_told_and_loses_nothing(tmp_path):
    store = Store(tmp_path)
    store.add([(RUN, {"accuracy": 0.5}, 1.0)])
    usual = sqlite3.connect

    class Full(sqlite3.Connection):
        """SQLite says of a file that may not grow what it says of a full disk."""

        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            self.execute(
                f"PRAGMA max_page_count = {self.execute('PRAGMA page_count').fetchone()[0]}"
            )

    try:
        sqlite3.connect = lambda *args, **options: usual(*args, factory=Full, **options)
        with pytest.raises(StoreError, match=r"full.*make room"):
            store.add([(Run("t", "d", "m", 0), {"text": "x" * 100_000}, 0.1)])
    finally:
        sqlite3.connect = usual
    store.add([(Run("t", "d", "m", 0), {"text": "x" * 100_000}, 0.1)])
    assert len(store.read()) == 2


def test_what_is_no_store_is_told_and_left_alone(tmp_path):
    with pytest.raises(StoreError, match="grople study run"):
        Store(tmp_path / "none", create=False)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="is a file"):
        Store(tmp_path / "file")
    (tmp_path / RESULTS_FILE).write_bytes(b"rubbish" * 1000)
    with pytest.raises(StoreError, match="not a readable store"):
        Store(tmp_path)
    assert (tmp_path / RESULTS_FILE).read_bytes() == b"rubbish" * 1000
    for folder, script, message in (
        ("other", "CREATE TABLE t (x)", "not a store of grople's"),
        ("old", "PRAGMA application_id = 1735552880; PRAGMA user_version = 1; CREATE TABLE t (x)",
         "another version of grople"),
    ):  # fmt: skip
        (tmp_path / folder).mkdir()
        connection = sqlite3.connect(tmp_path / folder / RESULTS_FILE)
        connection.executescript(script)
        connection.close()
        with pytest.raises(StoreError, match=message):
            Store(tmp_path / folder)


def test_a_damaged_store_is_told(tmp_path):
    store = Store(tmp_path)
    store.add([(Run("t", "d", "m", i), {"text": "x" * 1000}, 0.1) for i in range(200)])
    content = bytearray(store.file.read_bytes())
    content[8192:20480] = bytes(12288)
    store.file.write_bytes(content)
    with pytest.raises(StoreError, match="not a readable store"):
        Store(tmp_path)
