"""Where results live: one row of an SQLite table for each run, found by what the run is.

A row is written once; whoever comes second with the same run changes nothing. So a study may be
killed and started again, and several processes may fill one store.
"""

from __future__ import annotations

import json
import platform
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

import grople
from grople.study._printed import METRICS

#: The database inside the folder of a store.
RESULTS_FILE = "results.sqlite"
#: Marks a database as ours, and the layout of its tables.
APPLICATION, LAYOUT = 0x67726F70, 2
#: Seconds to wait for another process to finish writing.
PATIENCE = 60.0

#: Parameters of a run: plain values that JSON can hold.
Setting = Mapping[str, Any]


def setting_text(setting: Setting) -> str:
    """Return a setting as text, the same for equal settings.

    Examples
    --------
    >>> setting_text({"beta": 1, "alpha": 0.1})
    '{"alpha":0.1,"beta":1}'
    """
    return json.dumps(dict(setting), sort_keys=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True)
class Run:
    """One computation of a study: a method with a setting on a fold of a data set.

    Parameters
    ----------
    task : str
        How it is computed: a key of :data:`grople.study.TASKS`.
    dataset, method : str
        What is computed on what.
    fold : int
        The fold left out.
    setting : str
        Parameters as :func:`setting_text` writes them.
    seed : int
        Seed of whatever is random.
    fingerprint : str
        Of the data and their folds: other data are other runs.
    """

    task: str
    dataset: str
    method: str
    fold: int
    setting: str = "{}"
    seed: int = 0
    fingerprint: str = ""

    @property
    def parameters(self) -> dict[str, Any]:
        """The setting as a dictionary."""
        return dict(json.loads(self.setting))

    def __str__(self) -> str:
        return f"{self.task} {self.method} on {self.dataset}, fold {self.fold}"


KEY = [field.name for field in fields(Run)]
SCHEMA = f"""
CREATE TABLE runs (
    task TEXT, dataset TEXT, method TEXT, fold INTEGER, setting TEXT, seed INTEGER,
    fingerprint TEXT, result TEXT NOT NULL, seconds REAL NOT NULL, versions TEXT NOT NULL,
    PRIMARY KEY ({", ".join(KEY)})
) WITHOUT ROWID;
CREATE TABLE plans (experiment TEXT, scope TEXT, PRIMARY KEY (experiment, scope));
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {LAYOUT};
"""


class StoreError(ValueError):
    """A store that cannot be read or written; what it holds is left as it is."""


class Store:
    """Results of a study in a folder.

    Parameters
    ----------
    folder : path
        The folder.
    create : bool
        Whether a missing store is made. If not, it is an error.

    Examples
    --------
    >>> import tempfile
    >>> run = Run("published", "tiny", "PLST", 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(folder)
    ...     store.add([(run, {"accuracy": 0.5}, 0.1)])
    ...     store.read()["accuracy"].tolist(), store.missing([run])
    ([0.5], [])
    """

    def __init__(self, folder: str | Path, *, create: bool = True) -> None:
        self.folder = Path(folder)
        self.file = self.folder / RESULTS_FILE
        if self.folder.exists() and not self.folder.is_dir():
            raise StoreError(f"{self.folder}: a store is a folder, and this is a file")
        if not create and not self.file.is_file():
            raise StoreError(
                f"{self.folder}: there is no study here ({RESULTS_FILE} is missing); "
                f"run `grople study run … --store {self.folder}` first"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")  # one process makes the tables, others wait
            empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if empty:
                connection.executescript(SCHEMA)
            found = [
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version")
            ]
            if found[0] != APPLICATION:
                raise StoreError(f"{self.file}: this database is not a store of grople's")
            if found[1] != LAYOUT:
                raise StoreError(
                    f"{self.file}: written by another version of grople; choose another --store"
                )
            damage = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if damage != "ok":
                raise sqlite3.DatabaseError(damage)

    def add(self, results: Iterable[tuple[Run, Mapping[str, Any], float]]) -> None:
        """Store finished runs with their results and seconds, all or none; what is there stays."""
        made_by = json.dumps(versions(), sort_keys=True)
        rows = [
            (*astuple(run), json.dumps(dict(result), sort_keys=True), seconds, made_by)
            for run, result, seconds in results
        ]
        marks = ", ".join("?" * (len(KEY) + 3))
        with self._connected() as connection:
            connection.executemany(f"INSERT OR IGNORE INTO runs VALUES ({marks})", rows)

    def missing(self, plan: Sequence[Run]) -> list[Run]:
        """Return the runs of a plan that have no result yet, each once."""
        places = {(run.task, run.dataset, run.method, run.fold) for run in plan}
        query = (
            f"SELECT {', '.join(KEY)} FROM runs "
            "WHERE task = ? AND dataset = ? AND method = ? AND fold = ?"  # a part of the key
        )
        with self._connected() as connection:
            done = {Run(*row) for place in places for row in connection.execute(query, place)}
        return [run for run in dict.fromkeys(plan) if run not in done]

    def read(self) -> pd.DataFrame:
        """Return all runs in an order of their own: key, measures, parameters, result, seconds.

        ``parameters`` and ``result`` are dictionaries; the four measures are also columns.
        """
        with self._connected() as connection:
            found = pd.read_sql(f"SELECT * FROM runs ORDER BY {', '.join(KEY)}", connection)
        found["parameters"] = found["setting"].map(json.loads)
        found["result"] = found["result"].map(json.loads)
        for metric in METRICS:
            found[metric] = [result.get(metric) for result in found["result"]]
        return found.astype(dict.fromkeys(METRICS, float))

    def note_plan(self, experiments: Iterable[str], scope: Mapping[str, Any]) -> None:
        """Keep which experiments were asked for, and how much of them."""
        text = json.dumps(dict(scope), sort_keys=True)
        with self._connected() as connection:
            rows = [(name, text) for name in experiments]
            connection.executemany("INSERT OR IGNORE INTO plans VALUES (?, ?)", rows)

    def plans(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the experiments that were asked for, each with its scope."""
        with self._connected() as connection:
            found = connection.execute("SELECT experiment, scope FROM plans").fetchall()
        return [(name, json.loads(scope)) for name, scope in found]

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection of this call's own, and commit at its end."""
        try:
            with closing(sqlite3.connect(self.file, timeout=PATIENCE)) as connection, connection:
                yield connection
        except sqlite3.Error as error:
            raise StoreError(_explained(self.file, str(error))) from error


def versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    machine = f"{platform.system()} {platform.machine()}"
    python = platform.python_version()
    return {"grople": grople.__version__, **packages, "python": python, "machine": machine}


def _explained(file: Path, reason: str) -> str:
    if "full" in reason or "disk I/O" in reason:
        return (
            f"{file}: cannot write ({reason}). Every run stored so far is kept: make room and run "
            "the same command again"
        )
    if "locked" in reason:
        return f"{file}: another process has kept the store locked for {PATIENCE:g} s; try again"
    if "readonly" in reason or "unable to open" in reason:
        return f"{file}: cannot be opened for writing ({reason})"
    return (
        f"{file}: not a readable store ({reason}). It was not changed; "
        f"`sqlite3 {file.name} .recover` may save its rows, or choose another --store"
    )
