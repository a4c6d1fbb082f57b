"""Downloads that are complete and right, or do not happen: checked, atomic, retried."""

from __future__ import annotations

import hashlib
import http.client
import os
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grople.errors import DataError

__all__ = ["Patience", "Progress", "download", "git_blob_id"]

#: Called with the file's name, the bytes received so far and the bytes expected (None: unknown).
Progress = Callable[[str, int, int | None], None]

CHUNK = 1 << 16
MAX_BYTES = 1 << 30


@dataclass(frozen=True)
class Patience:
    """How long to wait, and how often to try again.

    Parameters
    ----------
    attempts : int
        How often to try in all.
    stall_s : float
        Give up an attempt after this long without a connection or a byte.
    total_s : float
        Give up an attempt that takes longer than this altogether.
    backoff_s : float
        Wait this long before the second attempt, twice as long before each further one.
    """

    attempts: int = 3
    stall_s: float = 30.0
    total_s: float = 1800.0
    backoff_s: float = 1.0


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
        digest = hashlib.sha1(
            b"blob %d\0" % os.fstat(stream.fileno()).st_size, usedforsecurity=False
        )
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def download(
    url: str,
    target: Path,
    *,
    blob_id: str,
    progress: Progress | None = None,
    patience: Patience | None = None,
) -> Path:
    """Download a file and put it in its place only if it is the one expected.

    The bytes go to a temporary file beside the target, are compared with the git blob id, and
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
    patience : Patience, optional
        Time limits and attempts.

    Returns
    -------
    Path
        The target.

    Raises
    ------
    DataError
        If the file could not be had. Nothing is left behind.
    """
    patience = patience or Patience()
    if not url.lower().startswith(("https://", "http://", "file://")):
        raise DataError(f"cannot download {url}: the address must begin with https://")
    target.parent.mkdir(parents=True, exist_ok=True)
    reason = ""
    for attempt in range(patience.attempts):
        if attempt:
            time.sleep(patience.backoff_s * 2 ** (attempt - 1))
        try:
            return _attempt(url, target, blob_id, progress, patience)
        except _Temporary as failure:
            reason = str(failure)
    times = "once" if patience.attempts == 1 else f"{patience.attempts} times"
    raise DataError(f"could not download {url} (tried {times}): {reason}")


def _attempt(
    url: str, target: Path, blob_id: str, progress: Progress | None, patience: Patience
) -> Path:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    part = Path(name)
    try:
        received = 0
        with os.fdopen(handle, "wb") as stream:
            for chunk, expected in _chunks(url, patience):
                stream.write(chunk)
                received += len(chunk)
                if progress is not None:
                    progress(target.name, received, expected)
            stream.flush()
            os.fsync(stream.fileno())
        found = git_blob_id(part)
        if found != blob_id:
            raise _Temporary(
                f"the content is not the expected one (git blob id {found}, expected {blob_id})"
            )
        part.chmod(0o644)  # temporary files are private; a cache may be shared
        os.replace(part, target)
        return target
    finally:
        part.unlink(missing_ok=True)


def _chunks(url: str, patience: Patience) -> Iterator[tuple[bytes, int | None]]:
    """Yield the answer in pieces; ``_Temporary`` if trying again may help, else ``DataError``."""
    request = urllib.request.Request(url, headers={"User-Agent": "grople"})
    give_up = time.monotonic() + patience.total_s
    received = 0
    try:
        with urllib.request.urlopen(request, timeout=patience.stall_s) as answer:
            length = answer.headers.get("Content-Length") or ""
            expected = int(length) if length.isdecimal() else None
            # read1 returns what has arrived, so that progress moves and the clock is looked at.
            while chunk := answer.read1(CHUNK):
                received += len(chunk)
                if received > MAX_BYTES:
                    raise DataError(f"could not download {url}: longer than {MAX_BYTES} bytes")
                if time.monotonic() > give_up:
                    raise _Temporary(f"not finished after {patience.total_s:g} seconds")
                yield chunk, expected
    except urllib.error.HTTPError as error:
        error.close()
        reason = f"the server answered {error.code} {error.reason}"
        if error.code < 500 and error.code not in (408, 425, 429):
            raise DataError(f"could not download {url}: {reason}") from None
        raise _Temporary(reason) from None
    except (http.client.HTTPException, OSError) as error:
        raise _Temporary(_explain(error, patience)) from None
    if expected is not None and received != expected:
        raise _Temporary(f"the connection ended after {received} of {expected} bytes")


def _explain(error: Exception, patience: Patience) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"nothing arrived for {patience.stall_s:g} seconds"
    if isinstance(cause, ConnectionRefusedError):
        return "the connection was refused"
    if isinstance(cause, http.client.IncompleteRead):
        return "the connection ended too early"
    if isinstance(cause, OSError) and cause.strerror:
        return f"no connection ({cause.strerror})"
    return f"no connection ({cause})"
