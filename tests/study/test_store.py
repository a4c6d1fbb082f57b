"""One row a unit, whatever happens to the process, the disk or the file."""

from __future__ import annotations

import multiprocessing
import sqlite3
import time

import pytest

from grople.study.store import FILE, Store, StoreError
from grople.study.units import Batch

BATCH = Batch("published", "tiny", "PLST", 0, "mark", ({"ridge": 1.0}, {"ridge": 2.0}))


def test_a_unit_is_stored_once(tmp_path):
    with Store(tmp_path) as store:
        store.add(BATCH, {"ridge": 1.0}, {"accuracy": 0.5}, 0.1)
        store.add(BATCH, {"ridge": 1.0}, {"accuracy": 0.9}, 0.1)
    with Store(tmp_path) as store:
        (row,) = store.rows()
        assert row.result == {"accuracy": 0.5}
        assert row.setting == {"ridge": 1.0}
        assert row.environment["numpy"]
        assert store.missing(BATCH) == [{"ridge": 2.0}]


def test_units_differ_by_data_fold_seed_and_setting():
    others = [
        Batch("published", "tiny", "PLST", 0, "other data", BATCH.settings),
        Batch("published", "tiny", "PLST", 1, "mark", BATCH.settings),
        Batch("published", "tiny", "PLST", 0, "mark", BATCH.settings, seed=1),
        Batch("nested", "tiny", "PLST", 0, "mark", BATCH.settings),
    ]
    keys = [key for batch in (BATCH, *others) for key in batch.unit_keys()]
    assert len(set(keys)) == len(keys)


def test_units_of_changed_code_are_forgotten(tmp_path):
    other = Batch("nested", "tiny", "PLST", 0, "mark", BATCH.settings)
    with Store(tmp_path) as store:
        for batch in (BATCH, other):
            for setting in batch.settings:
                store.add(batch, setting, {"accuracy": 0.5}, 0.1)
        assert store.forget(task="nested", method="PLST") == 2
        assert {row.task for row in store.rows()} == {"published"}
        assert store.missing(other) == list(other.settings)
        assert store.forget(dataset="none") == 0
        with pytest.raises(ValueError, match="name a task"):
            store.forget()


def test_a_claim_holds_until_it_ends(tmp_path):
    with Store(tmp_path) as first, Store(tmp_path) as second:
        assert first.claim(BATCH, 60)
        assert not second.claim(BATCH, 60)
        assert first.claim(BATCH, 60)  # its own
        first.release(BATCH)
        assert second.claim(BATCH, 60)


def test_a_stale_claim_is_taken_over_unless_renewed(tmp_path):
    with Store(tmp_path) as first, Store(tmp_path) as second:
        assert first.claim(BATCH, 0.0)
        first.renew(first.owner, 60)
        assert not second.claim(BATCH, 60)
        first.renew(first.owner, -1.0)
        assert second.claim(BATCH, 60)


def _claim_and_die(folder):
    Store(folder).claim(BATCH, 3600)


def test_the_claim_of_a_dead_process_is_free(tmp_path):
    process = multiprocessing.get_context("fork").Process(target=_claim_and_die, args=(tmp_path,))
    process.start()
    process.join()
    with Store(tmp_path) as store:
        assert store.claim(BATCH, 60)


def test_a_claim_of_another_machine_is_respected(tmp_path):
    with Store(tmp_path) as far, Store(tmp_path) as near:
        far.owner = "elsewhere:1:abc"
        assert far.claim(BATCH, 60)
        assert not near.claim(BATCH, 60)


@pytest.mark.parametrize(
    "content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"x" * 5000]
)
def test_a_corrupt_store_is_refused_and_kept(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(StoreError, match="not a readable store"):
        Store(tmp_path)
    assert (tmp_path / FILE).read_bytes() == content


def test_damage_inside_is_noticed(tmp_path):
    with Store(tmp_path) as store:
        for i in range(300):
            batch = Batch("t", "d", "m", i, "f", ({},))
            store.add(batch, {}, {"text": "x" * 100}, 0.1)
    whole = bytearray((tmp_path / FILE).read_bytes())
    middle = len(whole) // 2
    whole[middle : middle + 8192] = b"\xff" * 8192
    (tmp_path / FILE).write_bytes(whole)

    def read():
        with Store(tmp_path) as store:
            store.check()

    with pytest.raises(StoreError, match="not a readable store"):
        read()


def test_a_foreign_database_is_refused(tmp_path):
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute("CREATE TABLE mine (x)")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="not a store"):
        Store(tmp_path)


def test_a_newer_layout_is_refused(tmp_path):
    Store(tmp_path).close()
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="newer version"):
        Store(tmp_path)


def test_a_full_disk_loses_nothing(tmp_path):
    with Store(tmp_path) as store:
        store.add(BATCH, {"ridge": 1.0}, {"accuracy": 0.5}, 0.1)
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLite then says it is full
        with pytest.raises(StoreError, match=r"full.*make room"):
            store.add(BATCH, {"ridge": 2.0}, {"text": "x" * 100_000}, 0.1)
        store._connection.execute("PRAGMA max_page_count = 1000000")
        store.add(BATCH, {"ridge": 2.0}, {"text": "x" * 100_000}, 0.1)
        assert len(store.rows()) == 2


def test_a_missing_store_is_said(tmp_path):
    with pytest.raises(StoreError, match="grople study run"):
        Store(tmp_path / "none", create=False)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="is a file"):
        Store(tmp_path / "file")


def test_failures_are_listed_until_forgiven(tmp_path):
    with Store(tmp_path) as store:
        store.fail(BATCH, "why")
        assert store.failures() == [("published PLST on tiny, fold 0", "why")]
        assert store.failures([]) == []
        store.forgive(BATCH)
        assert store.failures() == []


def _add_many(folder, worker):
    with Store(folder) as store:
        for i in range(40):
            store.add(Batch("t", "d", f"m{worker}", i, "f", ({},)), {}, {"i": i}, 0.0)


def test_several_processes_write_at_once(tmp_path):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_add_many, args=(tmp_path, w)) for w in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with Store(tmp_path) as store:
        assert len(store.rows()) == 160
        assert {n for *_, n, _ in store.progress()} == {40}
        assert store.progress(since=time.time() + 1) == []
