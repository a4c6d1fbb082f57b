"""Python values to JSON and arrays, and back.

Numbers, texts, None, lists, tuples, dicts, arrays, CSR matrices and the dataclasses of one table
(:mod:`grople.modelfile.storable`), nested as they come. A value that JSON has no word for is an
object with the key ``$``, which says what it is. Nothing else is written, and what is read can
only ever become one of these.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Collection
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.errors import ModelFileError
from grople.modelfile.container import DTYPES, NAMES, Container, parse_json, write_json
from grople.modelfile.storable import RECORDS, is_in, record_class

__all__ = ["Decoder", "Encoder"]

Array = NDArray[Any]

#: Arrays of whole numbers up to so many bytes are stored in the narrowest integers that hold them;
#: larger ones stay as they are, to be mapped into memory.
NARROWED = 1 << 26
#: Levels of nesting that are read.
DEEPEST = 40
#: Numbers that JSON cannot write.
ODD_FLOATS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
#: The parts of texts in arrays, by numpy's letter for them.
CHARACTERS: dict[str, np.dtype[Any]] = {"U": np.dtype("<u4"), "S": np.dtype("|u1")}
LAST_CHARACTER = 0x10FFFF


class Encoder:
    """Turns values into JSON, and collects their arrays by name.

    Parameters
    ----------
    leave_out : collection of str
        Dataclasses in whose place None is written.

    Examples
    --------
    >>> encoder = Encoder()
    >>> encoder.encode({"a": np.arange(3.0)}, "x")
    {'$': 'dict', 'items': [['a', {'$': 'array', 'at': 'x.a', 'dtype': 'F64'}]]}
    >>> encoder.arrays["x.a"]
    array([0, 1, 2], dtype=uint8)
    """

    def __init__(self, leave_out: Collection[str] = ()) -> None:
        self.arrays: dict[str, Array] = {}
        self._leave_out = leave_out
        #: What was stored, by identity; the values are kept so that no identity is used twice.
        self._stored: dict[int, tuple[Any, Any]] = {}
        #: Dataclasses that are being written, to notice one that holds itself.
        self._open: set[int] = set()

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
        if isinstance(value, list):
            return self._each(value, where)
        if isinstance(value, tuple):
            return {"$": "tuple", "items": self._each(value, where)}
        if isinstance(value, dict):
            pairs = [
                [self.encode(key, where), self.encode(item, f"{where}.{_short(key, i)}")]
                for i, (key, item) in enumerate(value.items())
            ]
            return {"$": "dict", "items": pairs}
        if id(value) not in self._stored:
            self._stored[id(value)] = (value, self._encode_object(value, where))
        return self._stored[id(value)][1]

    def _each(self, values: Any, where: str) -> list[Any]:
        return [self.encode(item, f"{where}.{i}") for i, item in enumerate(values)]

    def _encode_object(self, value: Any, where: str) -> Any:
        if isinstance(value, np.ndarray):
            return self._encode_array(value, where)
        if sp.issparse(value) and value.format == "csr":
            parts = {
                name: self._encode_array(getattr(value, name), f"{where}.{name}")
                for name in ("data", "indices", "indptr")
            }
            kind = "csr_array" if isinstance(value, sp.sparray) else "csr_matrix"
            return {"$": kind, "shape": [int(size) for size in value.shape], **parts}
        if is_in(RECORDS, value):
            return self._encode_record(value, where)
        name = type(value).__name__
        raise TypeError(f"{where} is a {name}, which a model file cannot hold")

    def _encode_record(self, value: Any, where: str) -> Any:
        name = type(value).__name__
        if name in self._leave_out:
            return None
        if id(value) in self._open:
            raise TypeError(f"{where} is a {name} inside itself, which a model file cannot hold")
        self._open.add(id(value))
        fields = {}
        for field in dataclasses.fields(value):
            part = getattr(value, field.name)
            if not field.compare and isinstance(part, dict):
                # Only a cache takes no part in comparisons: what cannot be stored is found again.
                part = {key: item for key, item in part.items() if self._can_store(item)}
            fields[field.name] = self.encode(part, f"{where}.{field.name}")
        self._open.remove(id(value))
        return {"$": "record", "class": name, "fields": fields}

    def _can_store(self, value: Any) -> bool:
        """Tell whether a value can be stored, leaving nothing behind of one that cannot."""
        trial = Encoder(self._leave_out)
        trial._open = set(self._open)
        try:
            trial.encode(value, "")
        except TypeError:
            return False
        return True

    def _encode_array(self, values: Array, where: str) -> dict[str, Any]:
        kind = values.dtype.kind
        if kind == "O":
            if values.ndim != 1:
                raise TypeError(f"{where} is a matrix of objects, which a model file cannot hold")
            text = write_json({"items": self._each(values.tolist(), where)}).encode()
            return {"$": "objects", "at": self._add(where, np.frombuffer(text, np.uint8))}
        # Rows or columns, the way they lie in memory is part of what a product computes.
        columns_first = values.ndim > 1 and abs(values.strides[0]) < abs(values.strides[-1])
        values = values.T if columns_first else values
        stored = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
        stored = stored.reshape(values.shape)  # a single value would have become a row
        node: dict[str, Any] = {"$": "array"}
        if columns_first:
            node["columns_first"] = True
        if kind in "US":
            node["text"] = kind
            length = stored.dtype.itemsize // CHARACTERS[kind].itemsize
            codes = stored.reshape(-1).view(CHARACTERS[kind])
            stored = codes.reshape(*stored.shape, length)
        elif stored.dtype not in NAMES:
            raise TypeError(f"{where} has values of type {values.dtype}, unknown to model files")
        else:
            narrow = _narrowed(stored)
            if narrow is not None:
                node["dtype"] = NAMES[stored.dtype]
                stored = narrow
        node["at"] = self._add(where, stored)
        return dict(sorted(node.items()))

    def _add(self, where: str, values: Array) -> str:
        name = where
        while name in self.arrays:
            name += "'"
        self.arrays[name] = values
        return name


class Decoder:
    """Turns JSON into values again, taking arrays from a container.

    Everything is checked on the way: what a field should hold, the places of sparse entries, the
    characters of texts. Whatever is wrong raises :class:`~grople.ModelFileError`. Dataclasses that
    are to be left out are None, and their arrays are not read.
    """

    def __init__(self, container: Container, leave_out: Collection[str] = ()) -> None:
        self._container = container
        self._leave_out = leave_out
        self._depth = 0

    def decode(self, node: Any) -> Any:
        """Return the value of a piece of JSON."""
        if node is None or isinstance(node, bool | int | float | str):
            return node
        self._depth += 1
        if self._depth > DEEPEST:
            raise ModelFileError("its content is nested too deep")
        try:
            if isinstance(node, list):
                return [self.decode(item) for item in node]
            kind = node.get("$")
            decoder = self._KINDS.get(kind) if isinstance(kind, str) else None
            if decoder is None:
                raise ModelFileError(f"its content holds an unknown kind of value, {kind!r}")
            return decoder(self, node)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(f"its content does not fit together ({error})") from error
        finally:
            self._depth -= 1

    def _decode_float(self, node: dict[str, Any]) -> float:
        return ODD_FLOATS[node["value"]]

    def _decode_tuple(self, node: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self.decode(_list(node["items"])))

    def _decode_dict(self, node: dict[str, Any]) -> dict[Any, Any]:
        pairs = [(self.decode(key), self.decode(value)) for key, value in _list(node["items"])]
        return dict(pairs)

    def _decode_array(self, node: dict[str, Any]) -> Array:
        values = self._container.array(node["at"])
        kind = node.get("text")
        if kind is not None:
            values = _texts(values, kind)
        elif "dtype" in node:
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

    def _decode_csr(self, node: dict[str, Any]) -> Any:
        parts = [self._decode_array(node[name]) for name in ("data", "indices", "indptr")]
        if any(part.ndim != 1 or part.dtype.kind not in "iufb" for part in parts):
            raise ModelFileError("a sparse matrix is not made of numbers")
        rows, columns = (int(size) for size in _list(node["shape"]))
        _check_sparse(parts, rows, columns)
        kind = sp.csr_array if node["$"] == "csr_array" else sp.csr_matrix
        return kind(tuple(parts), shape=(rows, columns))

    def _decode_record(self, node: dict[str, Any]) -> Any:
        name, given = node["class"], node["fields"]
        cls = record_class(name)
        if name in self._leave_out:
            return None
        hints = typing.get_type_hints(cls)
        fields = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(given.keys() - fields)
        if unknown:
            raise ModelFileError(
                f"{unknown[0]!r} of its {name} is unknown: a newer version of grople wrote it"
            )
        values = {field: self.decode(value) for field, value in given.items()}
        for field, value in values.items():
            if not _fits(value, hints[field]):
                raise ModelFileError(f"{field!r} of its {name} cannot be a {type(value).__name__}")
        return cls(**values)

    _KINDS: typing.ClassVar[dict[str, Any]] = {
        "array": _decode_array,
        "csr_array": _decode_csr,
        "csr_matrix": _decode_csr,
        "dict": _decode_dict,
        "float": _decode_float,
        "objects": _decode_objects,
        "record": _decode_record,
        "tuple": _decode_tuple,
    }


def _short(key: Any, place: int) -> str:
    """Return what to call an entry of a dict in the names of its arrays."""
    return str(key) if isinstance(key, str | int | float) else str(place)


def _narrowed(values: Array) -> Array | None:
    """Return whole numbers in fewer bytes, None where there is nothing to save."""
    if values.dtype.itemsize == 1 or not 0 < values.nbytes <= NARROWED:
        return None
    if values.dtype.kind == "f":
        # A negative zero is not a whole number: its sign would be lost.
        whole = np.isfinite(values).all() and not np.signbit(values).any()
        if not whole or (values != np.floor(values)).any():
            return None
    low, high = values.min(), values.max()
    for narrow in (np.uint8, np.uint16, np.uint32):
        smaller = np.dtype(narrow).itemsize < values.dtype.itemsize
        if smaller and low >= 0 and high <= np.iinfo(narrow).max:
            return values.astype(narrow)
    return None


def _texts(codes: Array, kind: Any) -> Array:
    if codes.dtype != CHARACTERS[kind] or codes.ndim < 1 or codes.shape[-1] < 1:
        raise ModelFileError("an array of texts is not made of characters")
    if kind == "U" and codes.max(initial=0) > LAST_CHARACTER:
        raise ModelFileError("an array of texts holds something that is no character")
    *shape, length = codes.shape
    return codes.reshape(-1).view(f"<{kind}{length}").reshape(shape)


def _check_sparse(parts: list[Array], rows: int, columns: int) -> None:
    """Refuse places outside the matrix, which compiled code would follow anywhere."""
    data, indices, indptr = parts
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise ModelFileError("the places of a sparse matrix are not whole numbers")
    fits = 0 <= rows == len(indptr) - 1 and len(data) == len(indices) == indptr[-1]
    if not fits or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ModelFileError("the rows of a sparse matrix do not fit its size")
    if len(indices) and (indices.min() < 0 or indices.max() >= columns):
        raise ModelFileError("a sparse matrix has entries outside of it")


def _fits(value: Any, hint: Any) -> bool:
    """Tell whether a value is what a field is declared to hold."""
    if hint is Any:
        return True
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, choice) for choice in typing.get_args(hint))
    if hint is None or hint is type(None):
        return value is None
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    expected = origin or hint
    return isinstance(value, expected) if isinstance(expected, type) else True


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ModelFileError("its content does not fit together (a list is missing)")
    return value
