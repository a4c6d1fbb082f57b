"""Files as guarded streams: opened, unpacked and decoded, every failure a :class:`DataError`.

Readers of text see whole lines in blocks of about a megabyte, with the number of the first line,
so that a fast path can take a block at once and an error can still name its line.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from grople.datasets.bundle import Bundle
from grople.errors import DataError

__all__ = [
    "DEFAULT_LIMIT",
    "Source",
    "bundle_or_error",
    "check_encoding",
    "decode",
    "numbered_lines",
    "opened",
    "stem",
    "too_large",
]

#: The most bytes a compressed file may unpack to, unless the caller says otherwise.
DEFAULT_LIMIT = 4 << 30
BLOCK_BYTES = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"


def too_large(file: str, max_bytes: int) -> DataError:
    """Return the error for a file that unpacks to more than it may."""
    return DataError(
        f"unpacks to more than {max_bytes:,} bytes; raise max_bytes if the file can be trusted",
        file=file,
    )


class Source:
    """An open file that counts what it unpacks and speaks only :class:`DataError`."""

    def __init__(self, path: str, raw: IO[bytes], max_bytes: int) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self._raw = raw
        self.packed = raw.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        raw.seek(0)
        self._stream: Any = gzip.GzipFile(fileobj=raw) if self.packed else raw
        self._taken = 0

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, nothing at the end of the file."""
        try:
            data = self._stream.read(size)
        except EOFError as error:
            raise DataError("the gzip stream ends early: truncated file", file=self.path) from error
        except (OSError, zlib.error) as error:
            what = "damaged gzip stream" if self.packed else "cannot be read"
            raise DataError(f"{what} ({error})", file=self.path) from error
        self._taken += len(data)
        if self.packed and self._taken > self.max_bytes:
            raise too_large(self.path, self.max_bytes)
        return data

    def read_all(self) -> bytes:
        """Return everything that is left."""
        return b"".join(iter(lambda: self.read(BLOCK_BYTES), b""))

    def seekable(self) -> IO[bytes]:
        """Return a seekable stream, for formats that need one."""
        return io.BytesIO(self.read_all()) if self.packed else self._raw

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        r"""Yield (number of the first line, whole lines ending in ``\n``)."""
        number, rest = 1, [b""]
        for data in iter(lambda: self.read(BLOCK_BYTES), b""):
            head, newline, tail = data.rpartition(b"\n")
            if not newline:
                rest.append(data)
                continue
            block = self._clean(b"".join([*rest, head, newline]), number)
            yield number, block
            number += block.count(b"\n")
            rest = [tail]
        last = b"".join(rest)
        if last:
            yield number, self._clean(last + b"\n", number)

    def _clean(self, block: bytes, number: int) -> bytes:
        if number == 1:
            if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise DataError("UTF-16 text; save it as UTF-8", file=self.path, line=1)
            block = block.removeprefix(codecs.BOM_UTF8)
        return block.replace(b"\r\n", b"\n") if b"\r" in block else block


@contextmanager
def opened(path: str | os.PathLike[str], max_bytes: int = DEFAULT_LIMIT) -> Iterator[Source]:
    """Open a regular file, gzip or not, or say in a :class:`DataError` why it cannot be opened."""
    name = os.fspath(path)
    try:
        # Without blocking, so that a pipe nobody writes to is refused instead of waited for.
        raw = open(name, "rb", opener=lambda p, flags: os.open(p, flags | _NONBLOCK))  # noqa: SIM115
    except FileNotFoundError as error:
        raise DataError("no such file", file=name) from error
    except IsADirectoryError as error:
        raise DataError("a directory, not a file", file=name) from error
    except PermissionError as error:
        reason = "a directory, not a file" if os.path.isdir(name) else "no permission to read it"
        raise DataError(reason, file=name) from error
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be opened ({error})", file=name) from error
    with raw:
        if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
            raise DataError("not a regular file", file=name)
        yield Source(name, raw, max_bytes)


_NONBLOCK = getattr(os, "O_NONBLOCK", 0)


def numbered_lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line without its end)."""
    for first, block in source.blocks():
        yield from enumerate(block[:-1].split(b"\n"), first)


def check_encoding(encoding: str) -> str:
    """Refuse an encoding in which ASCII does not stand for itself: structure is read as bytes."""
    ascii_bytes = bytes(range(128))
    try:
        known = ascii_bytes.decode(encoding) == ascii_bytes.decode("ascii")
    except (LookupError, UnicodeError, TypeError, ValueError):
        known = False
    if not known:
        raise ValueError(f"encoding must be a superset of ASCII such as 'utf-8', not {encoding!r}")
    return encoding


def decode(line: bytes, encoding: str, file: str, number: int) -> str:
    """Return the text of a line, or name the byte that is not in the encoding."""
    try:
        return line.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"byte 0x{line[error.start]:02x} at position {error.start + 1} is not {encoding}; "
            "pass encoding='latin-1' (or what the file is written in)",
            file=file,
            line=number,
        ) from error


def stem(path: str | Path) -> str:
    """Return the file's name without folder, ``.gz`` and extension."""
    name = Path(path).name
    return Path(name.removesuffix(".gz")).stem or name


def bundle_or_error(file: str, X: Any, Y: Any, **fields: Any) -> Bundle:
    """Build the bundle of a file, refusing one without rows, features or labels."""
    for what, size in (("rows", X.shape[0]), ("features", X.shape[1]), ("labels", Y.shape[1])):
        if size == 0:
            raise DataError(f"no {what}: nothing to learn from", file=file)
    fields["name"] = fields.get("name") or stem(file)
    fields.setdefault("source", file)
    try:
        return Bundle(X, Y, **fields)
    except ValueError as error:
        raise DataError(str(error), file=file) from error
