"""Data sets by name: in the package, in ``$GROPLE_DATA``, in the user's cache, or downloaded."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from grople.datasets._bundle import Bundle
from grople.datasets._catalogue import Entry, RemoteFile, find
from grople.datasets._download import Progress, download, git_blob_id
from grople.datasets._read import read, read_file
from grople.datasets._reading import Reading
from grople.errors import DataError

__all__ = ["Location", "cache_dir", "fetch", "is_a_file", "load", "locate", "read_examples"]

#: Where the files of a data set may lie in ``$GROPLE_DATA``: sorted by kind, or all in one folder.
ARCHIVE_FOLDERS = ("npz", "")
ORIGINAL_FOLDERS = ("mulan", "mat", "")


@dataclass(frozen=True)
class Location:
    """Where a data set was found: the place in words, and the data file before its header."""

    place: str
    files: tuple[Path, ...]


def load(name: str | Entry, *, download: bool = True, progress: Progress | None = None) -> Bundle:
    """Load a data set of the catalogue.

    It is taken from the package (``debtags-mini``), from the folder ``$GROPLE_DATA``, from the
    user's cache, or from the network, whichever has it first.

    Parameters
    ----------
    name : str
        A name of the catalogue, in any case. For a file of your own use :func:`read`.
    download : bool
        Whether the network may be used.
    progress : callable, optional
        Called as ``progress(file, received, expected)`` during a download.

    Returns
    -------
    Bundle
        The data set.

    Raises
    ------
    DataError
        If there is no such name, or the data set cannot be had; the message says where it was
        looked for and what to do.

    Examples
    --------
    >>> load("debtags-mini")
    Bundle('debtags-mini': 3998 rows, 2091 sparse features, 169 labels, 4.632 a row)
    """
    entry = find(name)
    location = locate(entry)
    if location is None:
        if not download:
            raise DataError(f"{entry.name} is not on this machine. {_what_to_do(entry)}")
        location = fetch(entry, progress=progress)
    return _read(entry, location)


def read_examples(
    name_or_file: str | Path,
    reading: Reading | None = None,
    *,
    progress: Progress | None = None,
    mixed: bool = False,
) -> tuple[Any, Reading]:
    r"""Read a file with labels, or a data set of the catalogue.

    Parameters
    ----------
    name_or_file : str or path
        A file of any format, or a name of the catalogue.
    reading : Reading, optional
        How to read it.
    progress : callable, optional
        Told about downloads.
    mixed : bool
        Whether a table with a feature that is no number is read as a mixed table, not refused.

    Returns
    -------
    examples : Bundle, TextTable or MixedTable
        What was read.
    reading : Reading
        How it was read, for files to come.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "notes.csv"
    ...     _ = file.write_text("text,tags\na chess game,game|board\na clock,tool\n")
    ...     table, reading = read_examples(file)
    >>> table.tags, reading.text, reading.separator
    ((('board', 'game'), ('tool',)), 'text', '|')
    """
    reading = reading or Reading()
    name = os.fspath(name_or_file)
    if reading.format or reading.labels or reading.tags or is_a_file(name):
        return read_file(name, reading, mixed=mixed)
    return load(name, progress=progress), reading


def is_a_file(name: str) -> bool:
    """Tell a file, there or not, from a name of the catalogue.

    Examples
    --------
    >>> is_a_file("medical"), is_a_file("mine.arff")
    (False, True)
    """
    path = Path(name)
    return os.path.isfile(path) or bool(path.suffix) or path.name != name


def locate(name: str | Entry) -> Location | None:
    """Return where a data set lies on this machine, or None.

    Examples
    --------
    >>> locate("debtags-mini").place
    'the package'
    """
    entry = find(name)
    if entry.embedded:
        embedded = resources.files("grople.datasets") / "bundled" / f"{entry.name}.npz"
        return Location("the package", (Path(str(embedded)),))
    folder = _data_dir()
    if folder is not None and (files := _in_folder(entry, folder)):
        return Location(f"$GROPLE_DATA ({folder})", files)
    cached = tuple(cache_dir() / file.name for file in entry.files)
    if cached and all(map(_is_right, cached, entry.files)):
        return Location(f"the cache ({cache_dir()})", cached)
    return None


def fetch(name: str | Entry, *, progress: Progress | None = None) -> Location:
    """Download a data set into the user's cache, unless this machine has it already.

    Each file comes from its pinned address, or by its name from ``$GROPLE_MIRROR`` if that is
    set; the content must have the recorded git blob id wherever it comes from.

    Parameters
    ----------
    name : str
        A name of the catalogue.
    progress : callable, optional
        Called as ``progress(file, received, expected)``.

    Returns
    -------
    Location
        Where it lies now.

    Examples
    --------
    >>> fetch("debtags-mini").place
    'the package'
    """
    entry = find(name)
    location = locate(entry)
    if location is not None:
        return location
    if not entry.files:
        raise DataError(
            f"{entry.name} is not on this machine and not for download. {_what_to_do(entry)}"
        )
    folder = cache_dir()
    try:
        for file in entry.files:
            if not _is_right(folder / file.name, file):
                target = folder / file.name
                download(_address(file), target, blob_id=file.blob_id, progress=progress)
    except DataError as error:
        raise DataError(
            f"{entry.name} is not on this machine: {error}. {_what_to_do(entry)}"
        ) from None
    except OSError as error:
        raise DataError(
            f"cannot write to the cache {folder} ({error.strerror or error}): "
            "set GROPLE_CACHE to a folder you can write to"
        ) from None
    return Location(f"the cache ({folder})", tuple(folder / file.name for file in entry.files))


def cache_dir(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the folder for downloads: ``$GROPLE_CACHE``, or the platform's usual place.

    Examples
    --------
    >>> cache_dir({"XDG_CACHE_HOME": "/var/cache/me"}, "linux").as_posix()
    '/var/cache/me/grople'
    """
    if chosen := environ.get("GROPLE_CACHE"):
        return Path(chosen).expanduser()
    if platform == "win32":
        local = environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "grople" / "Cache"
    if platform == "darwin":
        return Path.home() / "Library" / "Caches" / "grople"
    # The XDG rule: a relative path is to be ignored.
    xdg = environ.get("XDG_CACHE_HOME", "")
    return (Path(xdg) if xdg.startswith("/") else Path.home() / ".cache") / "grople"


def _data_dir() -> Path | None:
    """Return ``$GROPLE_DATA``, or None if it is not set; a folder that is not there is an error."""
    chosen = os.environ.get("GROPLE_DATA")
    if not chosen:
        return None
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        raise DataError(
            f"GROPLE_DATA is set to {chosen!r}, which is not a folder: correct or unset it"
        )
    return folder


def _in_folder(entry: Entry, folder: Path) -> tuple[Path, ...]:
    """Return the data set's files below ``folder``: its archive, or all of its original files."""
    archive = _first(folder, ARCHIVE_FOLDERS, f"{entry.name}.npz")
    if archive is not None:
        return (archive,)
    originals = [_first(folder, ORIGINAL_FOLDERS, file.name) for file in entry.files]
    return tuple(path for path in originals if path) if all(originals) else ()


def _first(folder: Path, below: Iterable[str], name: str) -> Path | None:
    return next((path for sub in below if (path := folder / sub / name).is_file()), None)


def _is_right(path: Path, file: RemoteFile) -> bool:
    """Whether a cached file is there and still what was downloaded."""
    return path.is_file() and git_blob_id(path) == file.blob_id


def _address(file: RemoteFile) -> str:
    mirror = os.environ.get("GROPLE_MIRROR")
    return f"{mirror.rstrip('/')}/{file.name}" if mirror else file.url


def _what_to_do(entry: Entry) -> str:
    folder = _data_dir()
    places = [f"$GROPLE_DATA ({folder if folder is not None else 'not set'})"]
    wanted = [f"{entry.name}.npz"]
    if entry.files:
        places.append(f"the cache ({cache_dir()})")
        wanted.append(" with ".join(file.name for file in entry.files))
    advice = f"Put {' or '.join(wanted)} into a folder and set GROPLE_DATA to that folder"
    if entry.files:
        advice += f", or run `grople data fetch {entry.name}` where there is a network"
    return f"Searched: {', '.join(places)}. {advice}."


def _read(entry: Entry, location: Location) -> Bundle:
    data, *header = location.files
    bundle = read(data, labels=header[0] if header else None)
    notes = list(bundle.notes)
    found = (bundle.n_rows, bundle.n_features, bundle.n_labels)
    expected = (entry.instances, entry.features, entry.labels)
    if found != expected:
        notes.append(
            f"this copy has {_shape(*found)}; the catalogue's data set has {_shape(*expected)}"
        )
    return dataclasses.replace(bundle, name=entry.name, notes=notes)


def _shape(rows: int, features: int, labels: int) -> str:
    return f"{rows} rows, {features} features and {labels} labels"
