"""Downloads that are complete and right, or do not happen: checked, atomic, retried."""

from __future__ import annotations

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from grople.errors import DataError
from grople.files import written

__all__ = ["Progress", "download", "git_blob_id"]

#: Called with the file's name, the bytes received so far and the bytes expected (None: unknown).
Progress = Callable[[str, int, int | None], None]

CHUNK = 1 << 16
MAX_BYTES = 1 << 30
#: How often to try in all; the wait before the second attempt, which doubles with each further one.
ATTEMPTS = 3
BACKOFF_S = 1.0
#: Give up an attempt after this long without a byte, or in all.
STALL_S = 30.0
TOTAL_S = 1800.0


class _Temporary(Exception):
    """A failure that another attempt may not meet."""


def git_blob_id(path: str | os.PathLike[str]) -> str:
    r"""Return the id that git gives a file's content: SHA-1 of ``"blob " + size + "\0" + content``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as empty:
    ...     git_blob_id(empty.name)
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    with open(path, "rb") as stream:
        return _blob_id(stream)


def _blob_id(stream: IO[bytes]) -> str:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    while chunk := stream.read(CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def download(url: str, target: Path, *, blob_id: str, progress: Progress | None = None) -> Path:
    """Download a file and put it in its place only if it is the one expected.

    The bytes go to a temporary file next to the target, are compared with the git blob id, and
    take the target's name in one step. So the target is absent or right at every moment, also
    with several processes at work.

    Parameters
    ----------
    url : str
        ``https``, ``http`` or ``file`` address.
    target : Path
        Where to put the file; the folder is created.
    blob_id : str
        The git blob id that the content must have.
    progress : callable, optional
        Called as ``progress(name, received, expected)``; ``expected`` is None if unknown.

    Returns
    -------
    Path
        The target.

    Raises
    ------
    DataError
        If the file could not be had. Nothing is left behind.
    """
    if not url.lower().startswith(("https://", "http://", "file://")):
        raise DataError(f"cannot download {url}: the address must begin with https://")
    target.parent.mkdir(parents=True, exist_ok=True)
    reason = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(BACKOFF_S * 2 ** (attempt - 1))
        try:
            return _attempt(url, target, blob_id, progress)
        except _Temporary as failure:
            reason = str(failure)
    raise DataError(f"could not download {url} (tried {ATTEMPTS} times): {reason}")


def _attempt(url: str, target: Path, blob_id: str, progress: Progress | None) -> Path:
    received = 0
    with written(target, pack=False) as (stream,):
        for chunk, expected in _chunks(url):
            stream.write(chunk)
            received += len(chunk)
            if progress is not None:
                progress(target.name, received, expected)
        found = _blob_id(stream)
        if found != blob_id:
            raise _Temporary(
                f"the content is not the expected one (git blob id {found}, expected {blob_id})"
            )
    return target


def _chunks(url: str) -> Iterator[tuple[bytes, int | None]]:
    """Yield the answer in pieces; ``_Temporary`` if trying again may help, else ``DataError``."""
    request = urllib.request.Request(url, headers={"User-Agent": "grople"})
    give_up = time.monotonic() + TOTAL_S
    received = 0
    try:
        with urllib.request.urlopen(request, timeout=STALL_S) as answer:
            length = answer.headers.get("Content-Length") or ""
            expected = int(length) if length.isdecimal() else None
            # read1 returns what has arrived, so that progress moves and the clock is looked at.
            while chunk := answer.read1(CHUNK):
                received += len(chunk)
                if received > MAX_BYTES:
                    raise DataError(f"could not download {url}: longer than {MAX_BYTES} bytes")
                if time.monotonic() > give_up:
                    raise _Temporary(f"not finished after {TOTAL_S:g} seconds")
                yield chunk, expected
    except urllib.error.HTTPError as error:
        error.close()
        reason = f"the server answered {error.code} {error.reason}"
        if error.code < 500 and error.code not in (408, 425, 429):
            raise DataError(f"could not download {url}: {reason}") from None
        raise _Temporary(reason) from None
    except TimeoutError:
        raise _Temporary(f"nothing arrived for {STALL_S:g} seconds") from None
    except (http.client.HTTPException, OSError) as error:
        raise _Temporary(f"no connection ({getattr(error, 'reason', error)})") from None
    if expected is not None and received != expected:
        raise _Temporary(f"the connection ended after {received} of {expected} bytes")
