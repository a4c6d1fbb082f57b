"""The format of a file, judged by its content."""

from __future__ import annotations

import os
import re
import zipfile

from grople.datasets._formats._mat5 import is_mat5
from grople.datasets._formats._matlab import is_hdf5
from grople.datasets._matrices import NUMBER
from grople.errors import DataError
from grople.files import DEFAULT_LIMIT, Source, opened

__all__ = ["READERS", "detect", "detected", "known_format"]

#: The formats that can be read; ``lines``, one text a line, only where no labels are needed.
READERS = (
    "arff", "extreme", "libsvm", "matlab", "npz", "npy", "csv", "tsv", "parquet", "excel", "jsonl",
    "lines",
)  # fmt: skip

_NUMBER = NUMBER.encode()
_EXTREME_HEADER = re.compile(rb"\s*\d+\s+\d+\s+\d+\s*(?:\n|$)")
_LIBSVM_ROW = re.compile(
    rb"(?:%b(?:,%b)*)?[ \t]*\d+:%b(?:\s|$)" % (_NUMBER, _NUMBER, _NUMBER), re.ASCII
)


def detect(path: str | os.PathLike[str], max_bytes: int = DEFAULT_LIMIT) -> str:
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
        return detected(source)


def detected(source: Source, *, texts: bool = False) -> str:
    """Return the format of an open file; texts without any other structure are lines."""
    head, file = source.head(), source.path
    if not head:
        raise DataError("an empty file", file=file)
    if head.startswith(b"PK"):
        return _detect_archive(source)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if is_hdf5(head) or is_mat5(head):
        return "matlab"
    first = head.partition(b"\n")[0].lstrip()
    named_lines = file.lower().removesuffix(".gz").endswith(".txt") or file == "standard input"
    if texts and named_lines and not first.startswith((b"{", b"[")):
        return "lines"
    found = _detect_text(head, file)
    if found is None:
        raise DataError(
            "not a format that can be told from its content",
            file=file,
            hint=f"pass {{format}} ({', '.join(READERS)})",
            options={"format": None},
        )
    return found


def known_format(format: str) -> str:
    """Return the format, or say which there are."""
    if format not in READERS:
        raise ValueError(f"unknown format {format!r}: choose from {', '.join(READERS)}")
    return format


def _detect_archive(source: Source) -> str:
    """Tell a workbook of Excel from an archive of arrays."""
    try:
        stream = source.seekable()
        with zipfile.ZipFile(stream) as archive:
            return "excel" if "xl/workbook.xml" in archive.namelist() else "npz"
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError, NotImplementedError):
        return "npz"  # whose reader says what is wrong


def _detect_text(head: bytes, file: str) -> str | None:
    head = head.replace(b"\r\n", b"\n")
    # Comments: % in ARFF, # in LIBSVM.
    head = re.sub(rb"\A(?:[ \t]*(?:[%#][^\n]*)?\n)+", b"", head)
    first = head.partition(b"\n")[0]
    start = first.lstrip()
    if start.startswith(b"@"):
        return "arff"
    if start.startswith(b"<"):
        raise DataError(
            "XML, which is no data",
            file=file,
            hint="a label header goes with its ARFF file, as {labels}",
            options={"labels": None},
        )
    if re.match(rb"\{\s*\"|\[\s*\{", head.lstrip()):
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
