"""Python values to JSON and arrays.

Numbers, texts, None, lists, tuples, dicts, arrays, CSR matrices and the dataclasses of one table
(:mod:`grople.io._storable`), nested as they come. A value that JSON has no word for is an object
with the key ``$``, which says what it is. Nothing else is written.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.io._container import NAMES
from grople.io._json import write_json
from grople.io._storable import RECORDS, is_in

__all__ = ["CHARACTERS", "DEEPEST", "Encoder"]

Array = NDArray[Any]

#: Arrays of whole numbers up to so many bytes are stored in the narrowest integers that hold them;
#: larger ones stay as they are, to be mapped into memory.
NARROWED = 1 << 26
#: Levels of nesting that are written and read.
DEEPEST = 40
#: The parts of texts in arrays, by numpy's letter for them.
CHARACTERS: dict[str, np.dtype[Any]] = {"U": np.dtype("<u4"), "S": np.dtype("|u1")}


class Encoder:
    """Turns values into JSON, and collects their arrays by name.

    Examples
    --------
    >>> encoder = Encoder()
    >>> encoder.encode({"a": np.arange(3.0)}, "x")
    {'$': 'dict', 'items': [['a', {'$': 'array', 'at': 'x.a', 'dtype': 'F64'}]]}
    >>> encoder.arrays["x.a"]
    array([0, 1, 2], dtype=uint8)
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
        name = type(value).__name__
        if not is_in(RECORDS, value):
            raise TypeError(f"{where} is a {name}, which a model file cannot hold")
        fields = {
            field.name: self.encode(getattr(value, field.name), f"{where}.{field.name}")
            for field in dataclasses.fields(value)
        }
        return {"$": "record", "class": name, "fields": fields}

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
