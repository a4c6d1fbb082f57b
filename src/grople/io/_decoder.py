"""JSON and arrays to Python values: what is read can only become what can be written."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.errors import ModelFileError
from grople.io._container import DTYPES, Container
from grople.io._encoder import CHARACTERS, DEEPEST
from grople.io._json import parse_json
from grople.io._storable import record_class

__all__ = ["MISFITS", "Decoder"]

Array = NDArray[Any]

#: Numbers that JSON cannot write.
ODD_FLOATS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
LAST_CHARACTER = 0x10FFFF
#: What values that do not fit together raise.
MISFITS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Decoder:
    """Turns JSON into values again, taking arrays from a container.

    Everything is checked on the way: what a field should hold, the places of sparse entries, the
    characters of texts. Whatever is wrong raises :class:`~grople.ModelFileError`.
    """

    def __init__(self, container: Container) -> None:
        self._container = container
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
        except ModelFileError:
            raise
        except MISFITS as error:
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
        hints = _field_types(cls)
        unknown = sorted(given.keys() - hints.keys())
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
