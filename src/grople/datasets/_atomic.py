"""Files that appear whole or not at all."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from grople.errors import DataError

__all__ = ["written"]


@contextmanager
def written(*paths: str | Path) -> Iterator[tuple[IO[bytes], ...]]:
    """Open one stream a path; the files take their places together when the block ends well.

    Whatever goes wrong, no half-written file is left under the final names. A name ending in
    ``.gz`` is compressed.
    """
    finals = [Path(path) for path in paths]
    temporary: list[str] = []
    streams: list[IO[bytes]] = []
    try:
        try:
            for final in finals:
                handle, name = tempfile.mkstemp(
                    dir=final.parent, prefix=f".{final.name[:64]}.", suffix=".part"
                )
                temporary.append(name)
                streams.append(os.fdopen(handle, "wb"))
        except OSError as error:
            raise DataError(f"cannot be written ({error.strerror})", file=final) from error
        outer: Any = tuple(
            gzip.GzipFile("", "wb", fileobj=stream, mtime=0) if final.suffix == ".gz" else stream
            for stream, final in zip(streams, finals, strict=True)
        )
        yield outer
        for packed, stream, name in zip(outer, streams, temporary, strict=True):
            if packed is not stream:
                packed.close()
            stream.flush()
            os.fsync(stream.fileno())
            stream.close()
            os.chmod(name, 0o666 & ~_umask())
        for name, final in zip(temporary, finals, strict=True):
            try:
                os.replace(name, final)
            except OSError as error:
                raise DataError(f"cannot be written ({error.strerror})", file=final) from error
    finally:
        for stream in streams:
            with suppress(OSError):
                stream.close()
        for name in temporary:
            with suppress(FileNotFoundError):
                os.unlink(name)


def _umask() -> int:
    """Return the process's umask; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
