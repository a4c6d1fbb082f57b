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
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from grople.errors import DataError

__all__ = ["DEFAULT_LIMIT", "NO_LIMIT", "Source", "decode", "opened", "standard_input", "too_large"]

#: The most bytes a compressed file may unpack to, unless the caller says otherwise.
DEFAULT_LIMIT = 4 << 30
#: More than any file unpacks to; less than what C counts in, so that one more can be asked for.
NO_LIMIT = 1 << 62
BLOCK_BYTES = 1 << 20
HEAD_BYTES = 1 << 16
GZIP_MAGIC = b"\x1f\x8b"
#: Encodings that open with a mark of their own; that of UTF-32 begins like that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def too_large(file: str, max_bytes: int) -> DataError:
    """Return the error for a file that unpacks to more than it may."""
    return DataError(
        f"unpacks to more than {max_bytes:,} bytes; raise max_bytes if the file can be trusted",
        file=file,
    )


class Source:
    """An open file that counts what it unpacks and raises nothing but :class:`DataError`.

    Parameters
    ----------
    path : str
        What to call it in errors.
    raw : binary stream
        The file; seekable unless it is live.
    max_bytes : int
        The most it may unpack to.
    live : bool
        Whether to take what has arrived, so that a slow pipe is answered line by line.
    """

    def __init__(self, path: str, raw: Any, max_bytes: int, *, live: bool = False) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self._raw = raw
        self._live = live
        self._take = raw.read1 if live else raw.read
        self._head = b""
        self._taken = 0
        self._copy: io.BytesIO | None = None
        self.packed = False
        self.packed = self.head().startswith(GZIP_MAGIC)
        if self.packed:
            if live:
                reason = "packed with gzip; unpack it on the way: zcat FILE | grople …"
                raise DataError(reason, file=path)
            raw.seek(0)
            self._head, self._taken = b"", 0
            self._take = gzip.GzipFile(fileobj=raw).read

    def head(self) -> bytes:
        """Return the first bytes without taking them; UTF-16 as UTF-8."""
        if not self._head:
            self._head = self._read(HEAD_BYTES)
        encoding = _marked_encoding(self._head)
        if encoding is None:
            return self._head.removeprefix(codecs.BOM_UTF8)
        return self._head.decode(encoding, "ignore").encode()

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, nothing at the end of the file."""
        if self._head:
            data, self._head = self._head[:size], self._head[size:]
            return data
        return self._read(size)

    def read_all(self) -> bytes:
        """Return everything that is left."""
        return b"".join(iter(lambda: self.read(BLOCK_BYTES), b""))

    def seekable(self) -> IO[bytes]:
        """Return a seekable stream of the whole file, for formats that need one."""
        if self.packed or self._live:
            if self._copy is None:
                self._copy = io.BytesIO(self.read_all())
            self._copy.seek(0)
            return self._copy
        self._raw.seek(0)
        return self._raw

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        r"""Yield (number of the first line, whole lines of UTF-8 ending in ``\n``)."""
        number, rest = 1, [b""]
        for data in self._text():
            head, newline, tail = data.rpartition(b"\n")
            if not newline:
                rest.append(data)
                continue
            block = b"".join([*rest, head, newline])
            yield number, block.replace(b"\r\n", b"\n") if b"\r" in block else block
            number += block.count(b"\n")
            rest = [tail]
        last = b"".join(rest)
        if last:
            yield number, (last + b"\n").replace(b"\r\n", b"\n")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield (number, text of the line without its end)."""
        for first, block in self.blocks():
            for number, line in enumerate(block[:-1].split(b"\n"), first):
                yield number, decode(line, self.path, number)

    def _text(self) -> Iterator[bytes]:
        """Yield what is left as UTF-8 without a byte order mark."""
        data = self.read(BLOCK_BYTES)
        while 0 < len(data) < 4 and (more := self.read(BLOCK_BYTES)):
            data += more
        encoding = _marked_encoding(data)
        if encoding is None and 4 * data[:HEAD_BYTES].count(0) > len(data[:HEAD_BYTES]):
            raise DataError(
                "half of it is NUL: perhaps UTF-16 without its byte order mark",
                file=self.path,
                hint="convert the file first: iconv -f utf-16le -t utf-8",
            )
        if encoding is None:
            yield data.removeprefix(codecs.BOM_UTF8)
            yield from iter(lambda: self.read(BLOCK_BYTES), b"")
            return
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            while data:
                yield decoder.decode(data).encode()
                data = self.read(BLOCK_BYTES)
            decoder.decode(b"", final=True)
        except UnicodeError as error:
            raise DataError(f"damaged {encoding.upper()} text", file=self.path) from error

    def _read(self, size: int) -> bytes:
        try:
            data: bytes = self._take(size)
        except EOFError as error:
            raise DataError("the gzip stream ends early: truncated file", file=self.path) from error
        except (OSError, ValueError, zlib.error) as error:
            what = "damaged gzip stream" if self.packed else "cannot be read"
            raise DataError(f"{what} ({error})", file=self.path) from error
        self._taken += len(data)
        if self.packed and self._taken > self.max_bytes:
            raise too_large(self.path, self.max_bytes)
        return data


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


def standard_input() -> Source:
    """Return the standard input: as much at a time as there is."""
    if sys.stdin is None or sys.stdin.closed:
        raise DataError("there is none: it is closed", file="standard input")
    return Source("standard input", sys.stdin.buffer, DEFAULT_LIMIT, live=True)


def decode(line: bytes, file: str, number: int) -> str:
    """Return the text of a line, or name the byte that is not UTF-8 and what it may be."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        # Two bytes a character leave a NUL next to every letter of ASCII.
        likely = "UTF-16" if b"\0" in line else "Windows-1252 or Latin-1"
        code = "utf-16" if b"\0" in line else "cp1252"
        raise DataError(
            f"byte 0x{line[error.start]:02x} at position {error.start + 1} is not UTF-8, perhaps "
            f"{likely}",
            file=file,
            line=number,
            hint=f"convert the file first: iconv -f {code} -t utf-8",
        ) from error


def _marked_encoding(data: bytes) -> str | None:
    return next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), None)
