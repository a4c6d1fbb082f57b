"""Text files that appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

from grople.files import written

__all__ = ["write_text"]


def write_text(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8."""
    with written(path) as (stream,):
        stream.write(text.encode("utf-8"))
