"""``read`` a file of any known format into a bundle, ``write`` a bundle into a file."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from grople.datasets._mat5 import is_mat5
from grople.datasets._matrices import NUMBER
from grople.datasets._streams import DEFAULT_LIMIT, opened
from grople.datasets.arff import read_arff, write_arff
from grople.datasets.bundle import Bundle
from grople.datasets.extreme import read_extreme, read_libsvm, write_extreme
from grople.datasets.matlab import is_hdf5, read_matlab
from grople.datasets.npz import read_npz, write_npz
from grople.datasets.tables import read_parquet, read_table
from grople.datasets.text import read_jsonl
from grople.errors import DataError

__all__ = ["READERS", "WRITERS", "detect", "read", "write"]

#: The reader of each format.
READERS: dict[str, Callable[..., Bundle]] = {
    "arff": read_arff,
    "extreme": read_extreme,
    "libsvm": read_libsvm,
    "matlab": read_matlab,
    "npz": read_npz,
    "csv": read_table,
    "tsv": partial(read_table, delimiter="\t"),
    "parquet": read_parquet,
    "jsonl": read_jsonl,
}
#: The writer of each format that can be written.
WRITERS: dict[str, Callable[[Bundle, Path], Any]] = {
    "npz": write_npz,
    "extreme": write_extreme,
    "arff": write_arff,
}

_SELF_LABELLED = ("extreme", "libsvm", "npz")
_EXTENSIONS = {".npz": "npz", ".arff": "arff", ".txt": "extreme", ".xc": "extreme"}
_HEAD_BYTES = 1 << 16
_NUMBER = NUMBER.encode()
_EXTREME_HEADER = re.compile(rb"\s*\d+\s+\d+\s+\d+\s*(?:\n|$)")
_LIBSVM_ROW = re.compile(
    rb"(?:%b(?:,%b)*)?[ \t]*\d+:%b(?:\s|$)" % (_NUMBER, _NUMBER, _NUMBER), re.ASCII
)


def read(
    path: str | Path,
    *,
    format: str | None = None,
    labels: str | Path | int | Sequence[str] | None = None,
    name: str | None = None,
    max_bytes: int = DEFAULT_LIMIT,
    **options: Any,
) -> Bundle:
    r"""Read a multi-label data set from a file.

    Parameters
    ----------
    path : path
        The file. Any format may be compressed with gzip.
    format : str, optional
        ``"arff"``, ``"extreme"``, ``"libsvm"``, ``"matlab"``, ``"npz"``, ``"csv"``, ``"tsv"``,
        ``"parquet"`` or ``"jsonl"``; by default what the content looks like.
    labels : path, int, str or sequence of str, optional
        Where the labels are. ARFF: an XML header, a count or names. Tables: names, ``"prefix*"``
        or a column of tags. MATLAB: a variable. JSON lines: a field. The other formats say so
        themselves.
    name : str, optional
        What to call the data set; by default the file's name without extension.
    max_bytes : int
        The most a compressed file may unpack to (4 GiB unless you say otherwise).
    **options
        Options of the format's own reader, such as ``missing="zero"`` for ARFF and tables.

    Returns
    -------
    Bundle

    Raises
    ------
    DataError
        If the file cannot be read as what it claims to be; with file, line and reason.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "films.csv"
    ...     _ = file.write_text("length,war,drama\n95,1,1\n80,0,1\n")
    ...     read(file, labels=["war", "drama"])
    Bundle('films': 2 rows, 1 dense features, 2 labels, 1.500 a row)
    """
    format = detect(path, max_bytes) if format is None else _known(format, READERS)
    if labels is not None:
        if format in _SELF_LABELLED:
            raise ValueError(f"labels= does not apply: a {format} file holds its own labels")
        options["labels"] = labels
    return READERS[format](path, name=name, max_bytes=max_bytes, **options)


def write(bundle: Bundle, path: str | Path, format: str | None = None) -> tuple[Path, ...]:
    """Write a bundle to a file, which appears whole or not at all.

    Parameters
    ----------
    bundle : Bundle
        What to write.
    path : path
        The file; a name ending in ``.gz`` is compressed.
    format : {"npz", "extreme", "arff"}, optional
        By default what the name's ending says: ``.npz``, ``.txt`` or ``.xc``, ``.arff``. Only
        ``npz`` and ``arff`` keep names; ``arff`` writes Mulan's XML header beside the file.

    Returns
    -------
    tuple of Path
        The files written.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write(Bundle(np.eye(2), np.array([[1], [0]])), f"{folder}/tiny.npz")
    ...     read(files[0]).n_rows
    2
    """
    path = Path(path)
    if format is None:
        ending = Path(path.name.removesuffix(".gz")).suffix.lower()
        if ending not in _EXTENSIONS:
            raise ValueError(
                f"cannot tell the format from the name {path.name!r}: end it in "
                f"{', '.join(_EXTENSIONS)}, or pass format= ({', '.join(WRITERS)})"
            )
        format = _EXTENSIONS[ending]
    written = WRITERS[_known(format, WRITERS)](bundle, path)
    return written if isinstance(written, tuple) else (path,)


def detect(path: str | Path, max_bytes: int = DEFAULT_LIMIT) -> str:
    r"""Return the format of a file, judged by its content, not its name.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "what"
    ...     _ = file.write_text("% comment\n@RELATION x\n")
    ...     detect(file)
    'arff'
    """
    with opened(path, max_bytes) as source:
        head = source.read(_HEAD_BYTES)
        file = source.path
    if not head:
        raise DataError("an empty file", file=file)
    if head.startswith(b"PK"):
        return "npz"
    if head.startswith(b"PAR1"):
        return "parquet"
    if is_hdf5(head) or is_mat5(head):
        return "matlab"
    found = _detect_text(head.removeprefix(codecs.BOM_UTF8), file)
    if found is None:
        raise DataError(
            f"not a format that can be told from its content; pass format= ({', '.join(READERS)})",
            file=file,
        )
    return found


def _detect_text(head: bytes, file: str) -> str | None:
    head = head.replace(b"\r\n", b"\n")
    # Comments: % in ARFF, # in LIBSVM.
    head = re.sub(rb"\A(?:[ \t]*(?:[%#][^\n]*)?\n)+", b"", head)
    first = head.partition(b"\n")[0]
    start = first.lstrip()
    if start.startswith(b"@"):
        return "arff"
    if start.startswith(b"<"):
        raise DataError("XML; a label header goes with its ARFF file, as labels=", file=file)
    if re.match(rb"\{\s*\"", start):
        return "jsonl"
    if _EXTREME_HEADER.fullmatch(first):
        return "extreme"
    if _LIBSVM_ROW.match(first):
        return "libsvm"
    if b"\0" in head:
        return None
    if b"\t" in first:
        return "tsv"
    return "csv" if any(mark in first for mark in (b",", b";", b"|")) else None


def _known(format: str, formats: dict[str, Any]) -> str:
    if format not in formats:
        raise ValueError(f"unknown format {format!r}: choose from {', '.join(formats)}")
    return format
