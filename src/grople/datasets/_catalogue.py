"""The catalogue: what is known about data sets without reading them."""

from __future__ import annotations

import csv
import difflib
import functools
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources

from grople.errors import DataError

__all__ = ["Entry", "RemoteFile", "find", "names"]


@dataclass(frozen=True)
class RemoteFile:
    """One file of a data set: its name, its pinned address, the git blob id of its content."""

    name: str
    url: str
    blob_id: str


@dataclass(frozen=True)
class Entry:
    """What is known about a data set without reading it.

    Parameters
    ----------
    name : str
        Its name.
    instances, features, labels : int
        Its shape.
    cardinality : float
        Labels a row.
    domain, about : str
        What it is about, in a word and in a sentence.
    files : tuple of RemoteFile
        The data file and, where it needs one, its label header; empty if not for download.
    embedded : bool
        Whether it is part of this package.
    """

    name: str
    instances: int
    features: int
    labels: int
    cardinality: float
    domain: str = ""
    about: str = ""
    files: tuple[RemoteFile, ...] = ()
    embedded: bool = False


def names() -> tuple[str, ...]:
    """Return the names of the catalogue.

    Examples
    --------
    >>> names()[:3]
    ('debtags-mini', 'genbase', 'genbase-authors')
    """
    return tuple(_entries())


def find(name: str | Entry) -> Entry:
    """Return the catalogue's entry of that name; ``DataError`` with a suggestion if there is none.

    Examples
    --------
    >>> find("Cal500").name
    'CAL500'
    >>> find("delicous")
    Traceback (most recent call last):
    ...
    grople.errors.DataError: no data set is called 'delicous'; did you mean 'delicious'?
    """
    if isinstance(name, Entry):
        return name
    known = {_plain(entry): entry for entry in _entries()}
    if _plain(name) in known:
        return _entries()[known[_plain(name)]]
    if os.path.isfile(name):
        raise DataError(f"{name!r} is a file, not a name: use grople.datasets.read({name!r})")
    near = difflib.get_close_matches(_plain(name), known, n=3, cutoff=0.7)
    hint = (
        f"did you mean {' or '.join(repr(known[match]) for match in near)}?"
        if near
        else f"the names are {', '.join(_entries())}"
    )
    raise DataError(f"no data set is called {name!r}; {hint}")


@functools.cache
def _entries() -> Mapping[str, Entry]:
    """Return the catalogue, from the two tables next to the embedded data set."""
    files: dict[str, list[RemoteFile]] = {}
    for row in _table("sources.csv"):
        files.setdefault(row["dataset"], []).append(
            RemoteFile(row["file"], row["url"], row["git_blob_sha1"])
        )
    return {
        row["dataset"]: Entry(
            name=row["dataset"],
            instances=int(row["instances"]),
            features=int(row["features"]),
            labels=int(row["labels"]),
            cardinality=float(row["cardinality"]),
            domain=row["domain"],
            about=row["about"],
            files=tuple(files.get(row["dataset"], ())),
            embedded=row["dataset"] == "debtags-mini",
        )
        for row in _table("catalogue.csv")
    }


def _table(name: str) -> Iterable[dict[str, str]]:
    text = (resources.files("grople.datasets") / "bundled" / name).read_text(encoding="utf-8")
    return csv.DictReader(text.splitlines())


def _plain(name: str) -> str:
    return name.strip().casefold().replace("_", "-").replace(" ", "-")
