"""Python values to JSON and arrays, and back: what is read can only become what can be written.

Numbers, texts, None, lists, tuples, dicts, arrays, CSR matrices and the dataclasses of one table
(:mod:`grople.io._storable`), nested as they come. A value that JSON has no word for is an object
with the key ``$``, which says what it is. Nothing else is written, nothing else is read.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.errors import ModelFileError
from grople.files import csr_complaint
from grople.io._container import DTYPES, NAMES, Container
from grople.io._json import parse_json, write_json
from grople.io._storable import RECORDS, is_stored_as, stored_class

__all__ = ["DEEPEST", "MISFITS", "Decoder", "Encoder"]

Array = NDArray[Any]

#: Levels of nesting that are written and read.
DEEPEST = 40
#: Arrays of so many bytes are packed where that saves a tenth; larger ones stay as they are, to be
#: mapped into memory.
PACKED_BYTES = range(64, 1 << 27)
#: Numbers that JSON cannot write.
ODD_FLOATS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
LAST_CHARACTER = 0x10FFFF
#: What values that do not fit together raise.
MISFITS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, zlib.error)
#: The arrays of a sparse matrix.
SPARSE_PARTS = ("data", "indices", "indptr")


class Encoder:
    """Turns values into JSON, and collects their arrays by name.

    Examples
    --------
    >>> encoder = Encoder()
    >>> encoder.encode({"a": np.arange(3.0)}, "x")
    {'$': 'dict', 'items': [['a', {'$': 'array', 'at': 'x.a'}]]}
    >>> encoder.arrays["x.a"]
    array([0., 1., 2.])
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        #: What was stored, by identity; the values are kept so that no identity is used twice.
        self._stored: dict[int, tuple[Any, Any]] = {}
        self._depth = 0

    def encode(self, value: Any, where: str) -> Any:
        """Return the JSON of a value; ``where`` says what it is, in names and in errors."""
        if value is None or isinstance(value, bool | str):
            return str(value) if isinstance(value, str) else value
        if isinstance(value, np.bool_):
            return bool(value)
        if isinstance(value, int | np.integer):
            return int(value)
        if isinstance(value, float | np.floating):
            number = float(value)
            return number if np.isfinite(number) else {"$": "float", "value": str(number)}
        if self._depth >= DEEPEST:
            raise TypeError(f"{where[:80]} is nested too deep for a model file")
        self._depth += 1
        try:
            return self._encode_nested(value, where)
        finally:
            self._depth -= 1

    def _encode_nested(self, value: Any, where: str) -> Any:
        if isinstance(value, list):
            return self._each(value, where)
        if isinstance(value, tuple):
            return {"$": "tuple", "items": self._each(value, where)}
        if isinstance(value, dict):
            pairs = []
            for i, (key, item) in enumerate(value.items()):
                name = key if isinstance(key, str | int | float) else i
                pairs.append([self.encode(key, where), self.encode(item, f"{where}.{name}")])
            return {"$": "dict", "items": pairs}
        if id(value) not in self._stored:
            self._stored[id(value)] = (value, self._encode_object(value, where))
        return self._stored[id(value)][1]

    def _each(self, values: Any, where: str) -> list[Any]:
        return [self.encode(item, f"{where}.{i}") for i, item in enumerate(values)]

    def _fields(self, value: Any, names: Iterable[str], where: str) -> dict[str, Any]:
        return {name: self.encode(getattr(value, name), f"{where}.{name}") for name in names}

    def _encode_object(self, value: Any, where: str) -> dict[str, Any]:
        kind = type(value).__name__
        if isinstance(value, np.ndarray):
            return self._encode_array(value, where)
        if sp.issparse(value) and value.format == "csr":
            kind = "csr_array" if isinstance(value, sp.sparray) else "csr_matrix"
            shape = [int(size) for size in value.shape]
            return {"$": kind, "shape": shape, **self._fields(value, SPARSE_PARTS, where)}
        if not is_stored_as(RECORDS, value):
            raise TypeError(f"{where} is a {kind}, which a model file cannot hold")
        names = [field.name for field in dataclasses.fields(value)]
        return {"$": "record", "class": kind, "fields": self._fields(value, names, where)}

    def _encode_array(self, values: Array, where: str) -> dict[str, Any]:
        if values.dtype.kind == "O":
            if values.ndim != 1:
                raise TypeError(f"{where} is a matrix of objects, which a model file cannot hold")
            text = write_json({"items": self._each(values.tolist(), where)}).encode()
            return {"$": "objects", "at": self._add(where, np.frombuffer(text, np.uint8))}
        node: dict[str, Any] = {"$": "array"}
        # Rows or columns, the way they lie in memory is part of what a product computes.
        if values.ndim > 1 and abs(values.strides[0]) < abs(values.strides[-1]):
            node["columns_first"] = True
            values = values.T
        stored = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
        stored = stored.reshape(values.shape)  # a single value would have become a row
        if values.dtype.kind == "U":
            node["text"] = "U"
            codes = stored.reshape(-1).view("<u4")
            stored = codes.reshape(*stored.shape, stored.dtype.itemsize // 4)
        if stored.dtype not in NAMES:
            raise TypeError(f"{where} has values of type {values.dtype}, unknown to model files")
        packed = _packed(stored)
        if packed is not None:
            node |= {"packed": NAMES[stored.dtype], "shape": list(stored.shape)}
        node["at"] = self._add(where, stored if packed is None else packed)
        return node

    def _add(self, where: str, values: Array) -> str:
        name = where
        while name in self.arrays:
            name += "'"
        self.arrays[name] = values
        return name


class Decoder:
    """Turns JSON into values again, taking arrays from a container.

    Everything is checked on the way: what a field should hold, the places of sparse entries, the
    characters of texts. Whatever is wrong raises :class:`~grople.ModelFileError`.
    """

    def __init__(self, container: Container) -> None:
        self._container = container
        #: What was packed, so that arrays that are shared stay so.
        self._unpacked: dict[Any, Array] = {}
        self._depth = 0

    def decode(self, node: Any) -> Any:
        """Return the value of a piece of JSON."""
        if node is None or isinstance(node, bool | int | float | str):
            return node
        self._depth += 1
        if self._depth > DEEPEST:
            raise ModelFileError("its content is nested too deep")
        try:
            return self._decode_nested(node)
        except ModelFileError:
            raise
        except MISFITS as error:
            raise ModelFileError(f"its content does not fit together ({error})") from error
        finally:
            self._depth -= 1

    def _decode_nested(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        match node.get("$"):
            case "array":
                return self._decode_array(node)
            case "csr_array":
                return sp.csr_array(*self._decode_csr(node))
            case "csr_matrix":
                return sp.csr_matrix(*self._decode_csr(node))
            case "dict":
                pairs = _list(node["items"])
                return {self.decode(key): self.decode(value) for key, value in pairs}
            case "float":
                return ODD_FLOATS[node["value"]]
            case "objects":
                return self._decode_objects(node)
            case "record":
                return self._decode_record(node)
            case "tuple":
                return tuple(self.decode(_list(node["items"])))
            case kind:
                raise ModelFileError(f"its content holds an unknown kind of value, {kind!r}")

    def _decode_array(self, node: dict[str, Any]) -> Array:
        name = node["at"]
        values = self._container.array(name)
        if "packed" in node:
            form = (name, node["packed"], tuple(node["shape"]))
            if form not in self._unpacked:
                self._unpacked[form] = _unpacked(values, node["packed"], node["shape"])
            values = self._unpacked[form]
        if "text" in node:
            values = _characters(values, node["text"])
        elif "dtype" in node:  # as files had whole numbers before arrays were packed
            values = values.astype(DTYPES[node["dtype"]])
        return values.T if node.get("columns_first") else values

    def _decode_objects(self, node: dict[str, Any]) -> Array:
        text = self._container.array(node["at"])
        if text.dtype != np.uint8 or text.ndim != 1:
            raise ModelFileError(f"{node['at']!r} is not a list of names")
        items = self.decode(_list(parse_json(text.tobytes(), f"the list {node['at']!r}")["items"]))
        values = np.empty(len(items), dtype=object)
        values[:] = items
        return values

    def _decode_csr(self, node: dict[str, Any]) -> tuple[Any, tuple[int, int]]:
        parts = [self._decode_array(node[name]) for name in SPARSE_PARTS]
        if any(part.ndim != 1 or part.dtype.kind not in "iufb" for part in parts):
            raise ModelFileError("a sparse matrix is not made of numbers")
        rows, columns = (int(size) for size in _list(node["shape"]))
        _check_sparse(parts, rows, columns)
        return tuple(parts), (rows, columns)

    def _decode_record(self, node: dict[str, Any]) -> Any:
        name, given = node["class"], node["fields"]
        cls = stored_class(RECORDS, name)
        hints = _field_types(cls)
        for field in given:
            if field not in hints:
                raise ModelFileError(
                    f"{field!r} of its {name} is unknown: a newer version of grople wrote it"
                )
        values = {field: self.decode(value) for field, value in given.items()}
        for field, value in values.items():
            if not _fits(value, hints[field]):
                raise ModelFileError(f"{field!r} of its {name} cannot be a {type(value).__name__}")
        return cls(**values)


def _packed(values: Array) -> Array | None:
    """Return compressed bytes, the first ones of all values first, or None if they save little."""
    if values.nbytes not in PACKED_BYTES or values.dtype.kind == "b":
        return None
    planes = values.reshape(-1, 1).view(np.uint8).T
    packed = zlib.compress(planes.tobytes(), 1)
    return np.frombuffer(packed, np.uint8) if len(packed) < 0.9 * values.nbytes else None


def _unpacked(packed: Array, type_name: Any, shape: Any) -> Array:
    """Return what was packed; no more is unpacked than the shape says."""
    dtype = np.dtype(DTYPES[type_name])
    if packed.dtype != np.uint8 or packed.ndim != 1 or dtype.kind == "b":
        raise ModelFileError("a packed array is not made of bytes")
    if not all(type(size) is int and size > 0 for size in _list(shape)):
        raise ModelFileError("a packed array has an impossible shape")
    size = math.prod(shape) * dtype.itemsize
    if size not in PACKED_BYTES:
        raise ModelFileError(f"a packed array claims {size:,} bytes")
    engine = zlib.decompressobj()
    content = engine.decompress(packed.data, size + 1)
    if len(content) != size or not engine.eof or engine.unused_data:
        raise ModelFileError("a packed array does not have the size of its shape")
    planes = np.frombuffer(content, np.uint8).reshape(dtype.itemsize, -1)
    values = np.ascontiguousarray(planes.T).view(dtype).reshape(shape)
    values.flags.writeable = False
    return values


def _characters(codes: Array, kind: Any) -> Array:
    if kind != "U" or codes.dtype != np.uint32 or codes.ndim < 1 or codes.shape[-1] < 1:
        raise ModelFileError("an array of texts is not made of characters")
    if codes.max(initial=0) > LAST_CHARACTER:
        raise ModelFileError("an array of texts holds something that is no character")
    *shape, length = codes.shape
    return codes.reshape(-1).view(f"<U{length}").reshape(shape)


def _check_sparse(parts: list[Array], rows: int, columns: int) -> None:
    """Refuse places outside the matrix, which compiled code would follow anywhere."""
    data, indices, indptr = parts
    complaint = csr_complaint(data, indices, indptr, (rows, columns))
    if complaint is not None:
        raise ModelFileError(f"a sparse matrix does not fit together: {complaint}")


@functools.cache
def _field_types(cls: type) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def _fits(value: Any, hint: Any) -> bool:
    """Tell whether a value is what a field is declared to hold."""
    if hint is Any:
        return True
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, choice) for choice in typing.get_args(hint))
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    expected = type(None) if hint is None else origin or hint
    return isinstance(value, expected) if isinstance(expected, type) else True


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ModelFileError("its content does not fit together (a list is missing)")
    return value
