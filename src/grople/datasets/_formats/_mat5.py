"""Numeric variables of a MATLAB version 5 file.

scipy's reader trusts the type codes in the file and ends the whole process on a bad one, so this
small one stands in its place: every size and code is checked before it is used. It knows real
numeric matrices, dense and sparse; other variables are skipped.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from grople.datasets._matrices import checked_csr
from grople.errors import DataError
from grople.files import too_large

__all__ = ["is_mat5", "read_variables"]

_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_SPARSE = 5
_NUMERIC_CLASSES = range(6, 16)
_COMPLEX = 0x08
_ELEMENT_TYPES = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"
}  # fmt: skip


def is_mat5(head: bytes) -> bool:
    """Whether a file that starts like this is a MATLAB version 5 file."""
    return head[124:128] in (b"\x00\x01IM", b"\x01\x00MI")


def read_variables(
    content: bytes, file: str, max_bytes: int, wanted: frozenset[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return the wanted matrices by name (sparse ones as CSC), and the names of all variables."""
    reader = _Mat5(file, "<" if content[126:128] == b"IM" else ">", max_bytes)
    found: dict[str, Any] = {}
    names: list[str] = []
    for kind, data in reader.elements(memoryview(content)[_HEADER:]):
        if kind == _COMPRESSED:
            kind, data = next(reader.elements(memoryview(reader.inflated(data))), (0, data))
        if kind != _MATRIX:
            continue
        name, matrix = reader.matrix(data, wanted)
        names.append(name)
        if matrix is not None:
            found[name] = matrix
    return found, names


class _Mat5:
    """The format's grammar, with what is needed to complain."""

    def __init__(self, file: str, order: str, max_bytes: int) -> None:
        self._file = file
        self._order = order
        self._left = self._limit = max_bytes

    def elements(self, data: memoryview) -> Iterator[tuple[int, memoryview]]:
        """Yield (type, content) of one data element after another."""
        position = 0
        while position < len(data):
            if len(data) - position < 8:
                # Some writers pad the end of the file.
                if any(data[position:]):
                    self.fail("the file ends within a tag: truncated")
                return
            kind, size = struct.unpack_from(self._order + "II", data, position)
            start = position + 8
            if kind >> 16:
                kind, size, start = kind & 0xFFFF, kind >> 16, position + 4
                if size > 4:
                    self.fail("a short element claims more than four bytes")
            if size > len(data) - start:
                self.fail("an element reaches past the end of the file: truncated")
            yield kind, data[start : start + size]
            end = start + size
            position = end if kind == _COMPRESSED else end + (-end % 8)

    def inflated(self, data: memoryview) -> bytes:
        """Return the content of a compressed element, within what may still be unpacked."""
        unpacker = zlib.decompressobj()
        try:
            content = unpacker.decompress(data, self._left + 1)
        except zlib.error as error:
            raise DataError(f"damaged variable ({error})", file=self._file) from error
        self._left -= len(content)
        if self._left < 0:
            raise too_large(self._file, self._limit)
        if not unpacker.eof:
            self.fail("a compressed variable ends early: truncated")
        return content

    def matrix(self, data: memoryview, wanted: frozenset[str]) -> tuple[str, Any | None]:
        """Return a variable's name and, if it is wanted and numeric, its matrix."""
        parts = self.elements(data)
        flags, dimensions, label = next(parts, None), next(parts, None), next(parts, None)
        if flags is None or dimensions is None or label is None or len(flags[1]) != 8:
            self.fail("a variable without flags, size or name")
        word, _ = struct.unpack(self._order + "II", flags[1])
        name = bytes(label[1]).decode("ascii", "replace")
        kind = word & 0xFF
        if name not in wanted or not (kind == _SPARSE or kind in _NUMERIC_CLASSES):
            return name, None
        if (word >> 8) & _COMPLEX:
            self.fail(f"variable {name!r} holds complex numbers")
        shape = self._array(dimensions).tolist()
        if len(shape) != 2 or min(shape) < 0 or dimensions[0] != 5:
            self.fail(f"variable {name!r} is not a matrix")
        rows, columns = shape
        if kind == _SPARSE:
            # Stored by column: the transpose by row.
            ir, jc, values = (self._next(parts, name) for _ in range(3))
            used = int(jc[-1]) if jc.size and jc.dtype.kind in "iu" else 0
            transpose = checked_csr(name, values[:used], ir[:used], jc, (columns, rows), self._file)
            return name, transpose.T
        values = self._next(parts, name)
        if values.size != rows * columns:
            self.fail(f"variable {name!r} is not the {rows} × {columns} matrix it claims to be")
        return name, values.reshape((rows, columns), order="F")

    def _next(self, parts: Iterator[tuple[int, memoryview]], name: str) -> Any:
        element = next(parts, None)
        if element is None:
            self.fail(f"variable {name!r} lacks a part: truncated")
        return self._array(element)

    def _array(self, element: tuple[int, memoryview]) -> Any:
        kind, data = element
        if kind not in _ELEMENT_TYPES:
            self.fail(f"unknown number type {kind}")
        dtype = np.dtype(self._order + _ELEMENT_TYPES[kind])
        if len(data) % dtype.itemsize:
            self.fail("an element is not a whole count of numbers")
        return np.frombuffer(data, dtype).astype(dtype.newbyteorder("="), copy=False)

    def fail(self, reason: str) -> NoReturn:
        raise DataError(reason, file=self._file)
