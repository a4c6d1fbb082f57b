"""The container of a model file: named arrays and a few texts, in the safetensors format.

Eight bytes give the length of a JSON header, the header the place of every array, and the arrays
follow without gaps. Reading and writing it here, rather than through a library, is what lets every
size be checked against the file before anything is allocated, and every byte against a checksum:
each array has one (SHA-256), and the header, which holds those, has one of its own.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.errors import DataError, ModelFileError
from grople.files import written
from grople.io._json import parse_json, write_json

__all__ = ["DTYPES", "NAMES", "Container", "open_container", "write_container"]

Array = NDArray[Any]

#: Types of values by their name in the format.
DTYPES = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "F16": "<f2",
    "U32": "<u4", "I32": "<i4", "F32": "<f4", "U64": "<u8", "I64": "<i8", "F64": "<f8",
}  # fmt: skip
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
#: Longest header that is read, in bytes; names and other long lists are stored as arrays.
LONGEST_HEADER = 1 << 24
#: Largest number in a shape: an array without values may claim any.
LARGEST_DIMENSION = 1 << 40
MOST_DIMENSIONS = 8
#: The arrays start at a multiple of this.
ALIGNMENT = 64
#: What stands for the header's checksum while it is computed.
NO_DIGEST = "0" * 64


@dataclass(frozen=True)
class Entry:
    """Where an array lies, and what it is; checked against the size of the file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int
    digest: str


class Container:
    """Arrays of a file, each checked when it is first asked for.

    Attributes
    ----------
    metadata : dict of str to str
        The texts of the header.
    entries : dict of str to Entry
        What arrays there are.
    """

    def __init__(self, metadata: dict[str, str], entries: dict[str, Entry], buffer: Any) -> None:
        self.metadata = metadata
        self.entries = entries
        self._buffer = buffer
        self._read: dict[str, Array] = {}

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self._buffer)

    def array(self, name: Any) -> Array:
        """Return an array, read-only, after comparing its content with its checksum."""
        if not isinstance(name, str) or name not in self.entries:
            raise ModelFileError(f"there is no array {name!r}")
        if name not in self._read:
            entry = self.entries[name]
            data = memoryview(self._buffer)[entry.begin : entry.end]
            if hashlib.sha256(data).hexdigest() != entry.digest:
                raise ModelFileError(f"the values of {name!r} are damaged (checksum differs)")
            values = np.frombuffer(data, np.uint8) if len(data) else np.empty(0, np.uint8)
            if entry.dtype == bool and values.max(initial=0) > 1:
                raise ModelFileError(f"{name!r} holds something else than true and false")
            # Copied only where another program wrote it to an odd address.
            values = np.require(values.view(entry.dtype).reshape(entry.shape), requirements="A")
            values.flags.writeable = False
            self._read[name] = values
        return self._read[name]

    def unread(self) -> list[str]:
        """Return the arrays that nobody asked for."""
        return [name for name in self.entries if name not in self._read]


def write_container(
    path: str | Path, arrays: Mapping[str, Array], metadata: Mapping[str, str]
) -> None:
    """Write a file that appears whole or not at all.

    Parameters
    ----------
    path : path
        The file; one that is there is replaced.
    arrays : mapping of str to C-contiguous array
        Of booleans, integers or floats.
    metadata : mapping of str to str
        Texts for the header; ``sha256`` and ``checksums`` are added.
    """
    # Wide types first, so that each array starts at a multiple of the size of its values.
    ordered = dict(sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize))
    header: dict[str, Any] = {}
    digests: dict[str, str] = {}
    place = 0
    for name, values in ordered.items():
        header[name] = {
            "dtype": NAMES[values.dtype],
            "shape": list(values.shape),
            "data_offsets": [place, place + values.nbytes],
        }
        digests[name] = hashlib.sha256(_bytes(values)).hexdigest()
        place += values.nbytes
    texts = {**metadata, "checksums": write_json(digests), "sha256": NO_DIGEST}
    text = write_json({"__metadata__": texts, **header}).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    if len(text) > LONGEST_HEADER:
        raise ModelFileError(
            f"{path}: the header would take {len(text):,} bytes, {LONGEST_HEADER:,} at most"
        )
    start = len(text).to_bytes(8, "little") + text
    digest = hashlib.sha256(start).hexdigest()
    # Nothing else can look like it: inside a text its quotation marks are escaped.
    before, _, behind = start.partition(_digest_mark(NO_DIGEST))
    try:
        with written(path) as (stream,):
            stream.write(before + _digest_mark(digest) + behind)
            for values in ordered.values():
                stream.write(_bytes(values))
    except DataError as error:
        raise ModelFileError(str(error)) from error


def open_container(path: str | Path) -> Container:
    """Open a file and check everything in it but the values of the arrays, which stay in it."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ModelFileError("not a file")
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size < 10:
                raise ModelFileError(f"not a model file: {size} bytes are too few")
            buffer = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise ModelFileError(f"cannot be read ({error.strerror})") from error
    size = len(buffer)
    length = int.from_bytes(buffer[:8], "little")
    if buffer[8:9] != b"{":
        raise ModelFileError("not a model file: no header at its start")
    if length > size - 8:
        raise ModelFileError(
            f"cut short: its header should have {length:,} bytes, the whole file has {size:,}"
        )
    if length > LONGEST_HEADER:
        raise ModelFileError(f"a header of {length:,} bytes; {LONGEST_HEADER:,} are the most")
    start = bytes(buffer[: 8 + length])
    header = parse_json(start[8:], "its header")
    metadata = _texts(header.pop("__metadata__", None))
    _check_digest(start, metadata)
    digests = parse_json(metadata.get("checksums", "{}").encode(), "its list of checksums")
    if digests.keys() != header.keys():
        raise ModelFileError("the checksums are not those of its arrays")
    entries = {
        name: _entry(name, about, digests[name], len(start)) for name, about in header.items()
    }
    _check_places(entries, len(start), size)
    return Container(metadata, entries, buffer)


def _digest_mark(digest: str) -> bytes:
    return f'"sha256":"{digest}"'.encode()


def _bytes(values: Array) -> Any:
    return values.reshape(-1).view(np.uint8).data


def _texts(metadata: Any) -> dict[str, str]:
    if not isinstance(metadata, dict):
        raise ModelFileError("not a grople model: its header has no metadata")
    if not all(isinstance(text, str) for text in metadata.values()):
        raise ModelFileError("its metadata are not texts")
    return metadata


def _check_digest(start: bytes, metadata: dict[str, str]) -> None:
    digest = metadata.get("sha256")
    if digest is None:
        raise ModelFileError("not a grople model: its header has no checksum")
    mark = _digest_mark(digest)
    if start.count(mark) != 1 or len(digest) != len(NO_DIGEST):
        raise ModelFileError("its header is damaged (checksum differs)")
    blank = start.replace(mark, _digest_mark(NO_DIGEST))
    if hashlib.sha256(blank).hexdigest() != digest:
        raise ModelFileError("its header is damaged (checksum differs)")


def _entry(name: str, about: Any, digest: Any, start: int) -> Entry:
    if not isinstance(about, dict) or about.keys() != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"the entry of {name!r} is not one of an array")
    dtype, shape, offsets = about["dtype"], about["shape"], about["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ModelFileError(f"{name!r} holds values of an unknown type, {dtype!r}")
    if not _whole_numbers(shape, LARGEST_DIMENSION) or len(shape) > MOST_DIMENSIONS:
        raise ModelFileError(f"{name!r} has an impossible shape")
    if not _whole_numbers(offsets, 1 << 62) or len(offsets) != 2:
        raise ModelFileError(f"{name!r} has an impossible place")
    if not isinstance(digest, str):
        raise ModelFileError(f"{name!r} has no checksum")
    begin, end = offsets
    kind = np.dtype(DTYPES[dtype])
    if math.prod(shape) * kind.itemsize != end - begin:
        raise ModelFileError(
            f"{name!r} should take {math.prod(shape) * kind.itemsize} bytes by its shape, but "
            f"{end - begin} by its place"
        )
    return Entry(kind, tuple(shape), start + begin, start + end, digest)


def _check_places(entries: dict[str, Entry], start: int, size: int) -> None:
    """Refuse gaps, overlaps and arrays beyond the end."""
    place = start
    for entry in sorted(entries.values(), key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != place:
            raise ModelFileError("its arrays overlap or leave gaps")
        place = entry.end
    if place != size:
        what = "cut short" if place > size else "too long"
        raise ModelFileError(f"{what}: {place:,} bytes expected, {size:,} found")


def _whole_numbers(values: Any, largest: int) -> bool:
    return isinstance(values, list) and all(
        type(value) is int and 0 <= value <= largest for value in values
    )
