"""Records to tag, in blocks, so that a file may be larger than memory.

A block holds texts, or features in the order of the model's. Labels that a file also holds are
passed over.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from grople.datasets import read
from grople.datasets._streams import DEFAULT_LIMIT, GZIP_MAGIC, Source, opened
from grople.datasets.bundle import Bundle, NumberedNames
from grople.datasets.reading import _HEAD_BYTES, _detect_text, detect
from grople.errors import DataError
from grople.tagging.reading import TABLES, Reading, which_labels
from grople.tagging.record_formats import (
    RECORD_READERS,
    Records,
    Wanted,
    check_width,
    feature_places,
)

__all__ = ["LARGE_FILE", "Records", "aligned_features", "open_records"]

#: Bytes from which reading a file whole is worth a remark.
LARGE_FILE = 256 << 20
#: What the standard input is called.
STANDARD_INPUT = "-"

Blocks = Iterator["Records"]


class StandardInput(Source):
    """The standard input: as much at a time as there is, so that a slow pipe is answered."""

    def __init__(self, raw: IO[bytes]) -> None:
        self.path = "standard input"
        self.max_bytes = DEFAULT_LIMIT
        self.packed = False
        self._raw = raw
        self._head = b""

    def head(self) -> bytes:
        """Return the first bytes without taking them."""
        if not self._head:
            self._head = self._take(_HEAD_BYTES)
        return self._head

    def read(self, size: int) -> bytes:
        """Return some bytes, nothing at the end."""
        head, self._head = self._head, b""
        return head or self._take(size)

    def seekable(self) -> IO[bytes]:
        """Return a seekable copy."""
        return io.BytesIO(self.read_all())

    def _take(self, size: int) -> bytes:
        try:
            return self._raw.read1(size)  # type: ignore[attr-defined]
        except (OSError, ValueError) as error:
            raise DataError(f"cannot be read ({error})", file=self.path) from error


@contextmanager
def open_records(
    path: str | Path,
    reading: Reading,
    *,
    feature_names: Sequence[str] | None,
    n_features: int,
    label_names: Sequence[str] = (),
    remark: Callable[[str], None] = lambda text: None,
) -> Iterator[Blocks]:
    r"""Open a file, or ``"-"`` for the standard input, as blocks of records.

    Parameters
    ----------
    path : path or "-"
        The file. The standard input may hold one text a line, JSON lines, or any format that is
        read in blocks.
    reading : Reading
        How the model's own data were read; `format` only where the person asks for one.
    feature_names : sequence of str, optional
        The model's features, to find columns by name; None for texts.
    n_features : int
        How many features the model has.
    label_names : sequence of str
        The model's labels, which may also be columns of the file.
    remark : callable
        Told what the person should know.

    Yields
    ------
    iterator of Records

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "new.csv"
    ...     _ = file.write_text("b,a,name\n1,2,x\n3,4,y\n")
    ...     how = Reading(ids="name")
    ...     with open_records(file, how, feature_names=["a", "b"], n_features=2) as blocks:
    ...         [(block.content.tolist(), block.names) for block in blocks]
    [([[2.0, 1.0], [4.0, 3.0]], ['x', 'y'])]
    """
    names = None if feature_names is None else [str(name) for name in feature_names]
    wanted = Wanted(reading, names, n_features, frozenset(label_names))
    name = os.fspath(path)
    if name == STANDARD_INPUT:
        stream = StandardInput(_standard_input())
        wanted = replace(wanted, reading=_with_format(wanted, stream.head(), stream.path))
        yield _blocks(stream, wanted)
        return
    format = reading.format or _file_format(name, wanted)
    wanted = replace(wanted, reading=replace(reading, format=format))
    if format not in RECORD_READERS:
        if os.path.getsize(name) > LARGE_FILE:
            remark(f"{name}: {format} files are read whole, which takes memory and a while")
        yield _whole(name, wanted)
        return
    with opened(name, sys.maxsize) as source:
        yield _blocks(source, wanted)


def _standard_input() -> IO[bytes]:
    if sys.stdin is None or sys.stdin.closed:
        raise DataError("there is none: it is closed", file="standard input")
    return sys.stdin.buffer


def _with_format(wanted: Wanted, head: bytes, file: str) -> Reading:
    """Return the reading for the standard input, its format told from the first bytes."""
    if wanted.reading.format:
        return wanted.reading
    if head.startswith(GZIP_MAGIC):
        raise DataError("packed with gzip; unpack it on the way: zcat FILE | grople …", file=file)
    format: str | None = "lines"
    if not wanted.texts or head.lstrip().startswith(b"{"):
        format = _detect_text(head, file) if head else "csv"
    if format not in RECORD_READERS:
        raise DataError("cannot tell the format; pass --format", file=file)
    return replace(wanted.reading, format=format)


def _file_format(name: str, wanted: Wanted) -> str:
    """Return the format of a file; texts without any other structure are lines."""
    if not wanted.texts:
        return detect(name)
    with opened(name) as source:
        first = source.read(_HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    if name.lower().removesuffix(".gz").endswith(".txt") and not first.lstrip().startswith(b"{"):
        return "lines"
    return detect(name)


def _blocks(source: Source, wanted: Wanted) -> Blocks:
    format = str(wanted.reading.format)
    if wanted.texts and format not in ("jsonl", "lines", *TABLES):
        raise DataError(
            f"looks like {format}, but the model learnt from texts: give JSON lines, a table with "
            "a column of text, or one text a line (--format lines)",
            file=source.path,
        )
    if not wanted.texts and format in ("jsonl", "lines"):
        raise DataError(
            "holds texts, but the model learnt from columns of numbers", file=source.path
        )
    return RECORD_READERS[format](source, wanted)


def _whole(name: str, wanted: Wanted) -> Blocks:
    format = str(wanted.reading.format)
    if wanted.texts:
        raise DataError(f"a {format} file, but the model learnt from texts", file=name)
    bundle = read(name, format=format, labels=which_labels(wanted.reading.labels, format))
    yield Records(
        aligned_features(bundle, wanted.feature_names, wanted.n_features),
        list(bundle.row_names) or None,
    )


def aligned_features(bundle: Bundle, names: Sequence[str] | None, n_features: int) -> Any:
    """Return the features of a bundle in the order of the model's.

    Features with names are found by name; a file may have more. Numbered ones must be as many.

    Examples
    --------
    >>> bundle = Bundle([[1.0, 2.0, 3.0]], [[1]], feature_names=["c", "b", "a"])
    >>> aligned_features(bundle, ["a", "b"], 2).tolist()
    [[3.0, 2.0]]
    """
    numbered = isinstance(bundle.feature_names, NumberedNames)
    if names is None or numbered or tuple(bundle.feature_names) == tuple(names):
        check_width(bundle.n_features, n_features, bundle.source)
        return bundle.X
    place = {feature: index for index, feature in enumerate(bundle.feature_names)}
    return bundle.X[:, feature_places(place, names, bundle.source)]
