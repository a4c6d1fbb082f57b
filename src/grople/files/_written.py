"""Files that appear whole or not at all."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from grople.errors import DataError

__all__ = ["written"]


@contextmanager
def written(*paths: str | Path, pack: bool = True) -> Iterator[tuple[IO[bytes], ...]]:
    """Open one stream a path; the files take their places together when the block ends well.

    Whatever goes wrong, no half-written file is left under the final names. A name ending in
    ``.gz`` is compressed, unless `pack` is False.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "note.txt"
    ...     with written(file) as (stream,):
    ...         _ = stream.write(b"all of it")
    ...     file.read_text()
    'all of it'
    """
    finals = [Path(path) for path in paths]
    for final in finals:
        if final.exists() and not final.is_file():  # taking its place would remove it
            raise DataError("cannot be written (not a regular file)", file=final)
    temporary: list[str] = []
    try:
        with ExitStack() as stack:
            yield tuple(stack.enter_context(_stream(final, temporary, pack)) for final in finals)
        for name, final in zip(temporary, finals, strict=True):
            os.replace(name, final)
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror})", file=finals[-1]) from error
    finally:
        for name in temporary:
            with suppress(FileNotFoundError):
                os.unlink(name)


@contextmanager
def _stream(final: Path, temporary: list[str], pack: bool) -> Iterator[Any]:
    """Open a temporary file next to the final one; its content is on the disk afterwards."""
    handle, name = tempfile.mkstemp(dir=final.parent, prefix=f".{final.name[:64]}.", suffix=".part")
    temporary.append(name)
    with os.fdopen(handle, "w+b") as stream:
        if pack and final.suffix == ".gz":
            with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
                yield packed
        else:
            yield stream
        stream.flush()
        os.fsync(stream.fileno())
    os.chmod(name, 0o666 & ~_umask())


def _umask() -> int:
    """Return the process's umask; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
