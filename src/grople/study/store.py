"""Where results live: one SQLite row a unit, written as soon as it is known.

Write-ahead logging lets several processes read and write one store on a machine, and a process
that is killed leaves whole rows only. Batches are claimed for a while (a lease), so that two
processes do not compute the same; a claim that is not renewed, or whose process is gone, is free
for the next one to take.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from grople.study.environment import environment
from grople.study.units import Batch, Setting, canonical

__all__ = ["FILE", "Row", "Store", "StoreError"]

#: The database inside the folder of a store.
FILE = "results.sqlite"
#: Marks a database as ours, and the layout of its tables.
APPLICATION, LAYOUT = 0x67726F70, 1
#: Seconds to wait for another process to finish writing.
PATIENCE = 60.0

SCHEMA = """
CREATE TABLE environments (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE units (
    key TEXT PRIMARY KEY,
    batch TEXT NOT NULL,
    task TEXT NOT NULL,
    dataset TEXT NOT NULL,
    method TEXT NOT NULL,
    fold INTEGER NOT NULL,
    setting TEXT NOT NULL,
    seed INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    result TEXT NOT NULL,
    seconds REAL NOT NULL,
    environment INTEGER NOT NULL REFERENCES environments(id),
    finished REAL NOT NULL
);
CREATE INDEX units_by_place ON units (task, dataset, method);
CREATE TABLE leases (batch TEXT PRIMARY KEY, owner TEXT NOT NULL, expires REAL NOT NULL);
CREATE TABLE failures (
    batch TEXT PRIMARY KEY, what TEXT NOT NULL, reason TEXT NOT NULL, at REAL NOT NULL
);
"""
#: Added to a store when it is first needed: older ones lack it.
COMMANDS = "CREATE TABLE IF NOT EXISTS commands (text TEXT PRIMARY KEY, at REAL NOT NULL)"


class StoreError(ValueError):
    """A store that cannot be read or written; what it holds is left as it is."""


@dataclass(frozen=True)
class Row:
    """A finished unit."""

    key: str
    task: str
    dataset: str
    method: str
    fold: int
    setting: dict[str, Any]
    seed: int
    fingerprint: str
    result: dict[str, Any]
    seconds: float
    environment: dict[str, str]


class Store:
    """Results of a study in a folder.

    Parameters
    ----------
    folder : path
        The folder; it is made where there is none.
    create : bool
        Whether a missing store is made. If not, it is an error.

    Examples
    --------
    >>> import tempfile
    >>> batch = Batch("published", "tiny", "PLST", 0, "abc", ({"ridge": 1.0},))
    >>> with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
    ...     store.add(batch, {"ridge": 1.0}, {"accuracy": 0.5}, seconds=0.1)
    ...     [row.result for row in store.rows()], store.missing(batch)
    ([{'accuracy': 0.5}], [])
    """

    def __init__(self, folder: str | Path, *, create: bool = True) -> None:
        self.folder = Path(folder)
        self.file = self.folder / FILE
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._environment: int | None = None
        if not create and not self.file.is_file():
            raise StoreError(
                f"{self.folder}: there is no study here ({FILE} is missing); "
                f"run `grople study run … --store {self.folder}` first"
            )
        if self.folder.exists() and not self.folder.is_dir():
            raise StoreError(f"{self.folder}: a store is a folder, and this is a file")
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._guarded():
            # Transactions are begun by hand, where two statements belong together.
            self._connection = sqlite3.connect(self.file, timeout=PATIENCE, isolation_level=None)
        try:
            with self._guarded():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        run = self._connection.execute
        run(f"PRAGMA busy_timeout = {int(1000 * PATIENCE)}")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")  # a killed process loses nothing that was committed
        if self._pragma("user_version") == 0:
            with self._transaction():
                if self._pragma("user_version") == 0:  # not made by another process meanwhile
                    if run("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                        raise StoreError(f"{self.file}: this database is not a store of grople's")
                    for statement in filter(str.strip, SCHEMA.split(";")):
                        run(statement)
                    run(f"PRAGMA application_id = {APPLICATION}")
                    run(f"PRAGMA user_version = {LAYOUT}")
        if self._pragma("application_id") != APPLICATION:
            raise StoreError(f"{self.file}: this database is not a store of grople's")
        if self._pragma("user_version") > LAYOUT:
            raise StoreError(f"{self.file}: written by a newer version of grople; update grople")

    def check(self) -> None:
        """Raise StoreError if the database is damaged."""
        with self._guarded():
            found = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise StoreError(_damaged(self.file, found))

    # -- results ---------------------------------------------------------------------------

    def add(
        self,
        batch: Batch,
        setting: Setting,
        result: Mapping[str, Any],
        seconds: float,
        made_by: Mapping[str, str] | None = None,
    ) -> None:
        """Store a finished unit (once: what is there stays), by default as one made here."""
        with self._guarded(), self._transaction():
            self._insert(batch, setting, result, seconds, made_by)

    def add_all(
        self, units: Iterable[tuple[Batch, Setting, Mapping[str, Any], float, Mapping[str, str]]]
    ) -> None:
        """Store units that were made elsewhere, all or none; they take the place of their like."""
        with self._guarded(), self._transaction():
            for unit in units:
                self._insert(*unit, verb="REPLACE")

    def _insert(
        self,
        batch: Batch,
        setting: Setting,
        result: Mapping[str, Any],
        seconds: float,
        made_by: Mapping[str, str] | None,
        verb: str = "IGNORE",
    ) -> None:
        values = json.dumps(dict(result), sort_keys=True, separators=(",", ":"))
        self._connection.execute(
            f"INSERT OR {verb} INTO units VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                batch.key(setting), batch.name, batch.task, batch.dataset, batch.method,
                batch.fold, canonical(setting), batch.seed, batch.fingerprint, values,
                seconds, self._environment_number(made_by), time.time(),
            ),
        )  # fmt: skip

    def missing(self, batch: Batch) -> list[Setting]:
        """Return the settings of a batch that have no result yet."""
        keys = batch.unit_keys()
        with self._guarded():
            done: set[str] = set()
            for start in range(0, len(keys), 500):
                part = keys[start : start + 500]
                marks = ",".join("?" * len(part))
                query = f"SELECT key FROM units WHERE key IN ({marks})"
                done.update(key for (key,) in self._connection.execute(query, part))
        return [s for key, s in zip(keys, batch.settings, strict=True) if key not in done]

    def rows(
        self,
        task: str | None = None,
        dataset: str | None = None,
        method: str | None = None,
    ) -> list[Row]:
        """Return finished units, in an order that does not depend on when they were computed."""
        wanted = {"task": task, "dataset": dataset, "method": method}
        given = {name: value for name, value in wanted.items() if value is not None}
        where = " AND ".join(f"{name} = :{name}" for name in given) or "1"
        query = (
            "SELECT key, task, dataset, method, fold, setting, seed, fingerprint, result, seconds, "
            f"text FROM units JOIN environments ON id = environment WHERE {where} "
            "ORDER BY task, dataset, method, fold, setting, seed, key"
        )
        with self._guarded():
            found = self._connection.execute(query, given).fetchall()
        return [_row(*values) for values in found]

    def forget(
        self,
        task: str | None = None,
        dataset: str | None = None,
        method: str | None = None,
    ) -> int:
        """Remove finished units, those of a task, data set and method, and return how many.

        The next run computes them again: for when the code behind them has changed.
        """
        wanted = {"task": task, "dataset": dataset, "method": method}
        given = {name: value for name, value in wanted.items() if value is not None}
        if not given:
            raise ValueError("name a task, a data set or a method whose units to forget")
        where = " AND ".join(f"{name} = :{name}" for name in given)
        with self._guarded(), self._transaction():
            found = self._connection.execute(f"DELETE FROM units WHERE {where}", given)
        return int(found.rowcount)

    def remember(self, command: str) -> None:
        """Keep a command that units of this store were computed by."""
        with self._guarded(), self._transaction():
            self._connection.execute(COMMANDS)
            self._connection.execute(
                "INSERT OR IGNORE INTO commands VALUES (?, ?)", (command, time.time())
            )

    def commands(self) -> list[str]:
        """Return the commands that this store was filled by, in the order they were first run."""
        with self._guarded():
            self._connection.execute(COMMANDS)
            found = self._connection.execute("SELECT text FROM commands ORDER BY at").fetchall()
        return [text for (text,) in found]

    def progress(self, since: float = 0.0) -> list[tuple[str, str, str, int, float]]:
        """Return task, data set, method, number and total seconds of the units finished since."""
        query = (
            "SELECT task, dataset, method, count(*), sum(seconds) FROM units "
            "WHERE finished >= ? GROUP BY task, dataset, method"
        )
        with self._guarded():
            return self._connection.execute(query, (since,)).fetchall()

    def latest(self) -> tuple[str, str, str] | None:
        """Return task, data set and method of the unit that finished last."""
        query = "SELECT task, dataset, method FROM units ORDER BY rowid DESC LIMIT 1"
        with self._guarded():
            found: tuple[str, str, str] | None = self._connection.execute(query).fetchone()
        return found

    def best(self, task: str, dataset: str, method: str, metric: str) -> float | None:
        """Return the largest value of a measure that a unit of this place has reached."""
        query = (
            f"SELECT max(json_extract(result, '$.{metric}')) FROM units "
            "WHERE task = ? AND dataset = ? AND method = ?"
        )
        with self._guarded():
            found = self._connection.execute(query, (task, dataset, method)).fetchone()
        return None if found[0] is None else float(found[0])

    # -- claims ----------------------------------------------------------------------------

    def claim(self, batch: Batch, seconds: float) -> bool:
        """Take a batch for this process for so many seconds; False if another one has it."""
        now = time.time()
        with self._guarded(), self._transaction():
            held = self._connection.execute(
                "SELECT owner, expires FROM leases WHERE batch = ?", (batch.name,)
            ).fetchone()
            if held and held[0] != self.owner and held[1] > now and _alive(held[0]):
                return False
            self._connection.execute(
                "INSERT OR REPLACE INTO leases VALUES (?, ?, ?)",
                (batch.name, self.owner, now + seconds),
            )
        return True

    def renew(self, owner: str, seconds: float) -> None:
        """Hold on to everything that an owner has claimed."""
        with self._guarded(), self._transaction():
            self._connection.execute(
                "UPDATE leases SET expires = ? WHERE owner = ?", (time.time() + seconds, owner)
            )

    def release(self, batch: Batch) -> None:
        """Give a batch back."""
        with self._guarded(), self._transaction():
            self._connection.execute(
                "DELETE FROM leases WHERE batch = ? AND owner = ?", (batch.name, self.owner)
            )

    # -- failures --------------------------------------------------------------------------

    def fail(self, batch: Batch, reason: str) -> None:
        """Note that a batch could not be computed."""
        with self._guarded(), self._transaction():
            self._connection.execute(
                "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)",
                (batch.name, str(batch), reason, time.time()),
            )

    def forgive(self, batch: Batch) -> None:
        """Strike a batch off the list of failures."""
        with self._guarded(), self._transaction():
            self._connection.execute("DELETE FROM failures WHERE batch = ?", (batch.name,))

    def failures(self, wanted: Sequence[Batch] | None = None) -> list[tuple[str, str]]:
        """Return what failed, and why."""
        names = None if wanted is None else {batch.name for batch in wanted}
        with self._guarded():
            found = self._connection.execute(
                "SELECT batch, what, reason FROM failures ORDER BY what"
            ).fetchall()
        return [(what, reason) for name, what, reason in found if names is None or name in names]

    # -- inside ----------------------------------------------------------------------------

    def close(self) -> None:
        """Close the store."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _environment_number(self, made_by: Mapping[str, str] | None) -> int:
        if made_by is not None:
            return self._numbered(canonical(made_by))
        if self._environment is None:
            self._environment = self._numbered(canonical(environment()))
        return self._environment

    def _numbered(self, text: str) -> int:
        run = self._connection.execute
        run("INSERT OR IGNORE INTO environments (text) VALUES (?)", (text,))
        return int(run("SELECT id FROM environments WHERE text = ?", (text,)).fetchone()[0])

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # Immediate: two processes cannot both read, and then both write.
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._environment = None  # its row may not have been kept
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(_explained(self.file, error)) from error


def _row(
    key: str, task: str, dataset: str, method: str, fold: int, setting: str, seed: int,
    fingerprint: str, result: str, seconds: float, made: str,
) -> Row:  # fmt: skip
    values = json.loads(setting), seed, fingerprint, json.loads(result), seconds, json.loads(made)
    return Row(key, task, dataset, method, fold, *values)


def _explained(file: Path, error: sqlite3.Error) -> str:
    text = str(error)
    if "full" in text or "disk I/O" in text:
        return (
            f"{file}: cannot write ({text}). Every unit stored so far is kept: make room and run "
            "the same command again"
        )
    if "locked" in text or "busy" in text:
        return f"{file}: another process has kept the store locked for {PATIENCE:g} s; try again"
    if "readonly" in text or "unable to open" in text:
        return f"{file}: cannot be opened for writing ({text})"
    return _damaged(file, text)


def _damaged(file: Path, text: str) -> str:
    return (
        f"{file}: not a readable store ({text}). It was not changed; "
        f"`sqlite3 {file.name} .recover` may save its rows, or choose another --store"
    )


def _alive(owner: str) -> bool:
    """Whether the process of a claim may still run; of another machine's that is not known."""
    host, pid, _ = owner.rsplit(":", 2)
    if host != socket.gethostname() or os.name != "posix":
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
