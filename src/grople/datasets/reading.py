"""``read`` a file of any known format into a bundle, ``write`` a bundle into a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grople.datasets._streams import DEFAULT_LIMIT, opened
from grople.datasets.arff import read_arff, write_arff
from grople.datasets.bundle import Bundle
from grople.datasets.npz import read_npz, write_npz
from grople.errors import DataError

__all__ = ["FORMATS", "detect", "read", "write"]

FORMATS: dict[str, Callable[..., Bundle]] = {"arff": read_arff, "npz": read_npz}


def detect(path: str | Path) -> str:
    """Return the format of a file, judged by its content."""
    with opened(path) as source:
        head = source.read(1 << 16)
    if head.startswith(b"PK"):
        return "npz"
    if re.search(rb"(?im)^\s*@(relation|attribute)\b", head):
        return "arff"
    raise DataError("unknown format", file=path)


def read(
    path: str | Path,
    *,
    format: str | None = None,
    labels: Any = None,
    name: str | None = None,
    max_bytes: int = DEFAULT_LIMIT,
    **options: Any,
) -> Bundle:
    """Read a data set."""
    format = format or detect(path)
    if labels is not None:
        options["labels"] = labels
    return FORMATS[format](path, name=name, max_bytes=max_bytes, **options)


def write(bundle: Bundle, path: str | Path, format: str | None = None) -> tuple[Path, ...]:
    """Write a bundle; return the files written."""
    path = Path(path)
    if (format or path.suffix.removeprefix(".")) == "npz":
        write_npz(bundle, path)
        return (path,)
    return write_arff(bundle, path)
