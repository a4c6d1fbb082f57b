"""Any value that can be written comes back as it was; anything else is refused by name."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grople import Solver
from grople.decision import Decision
from grople.errors import ModelFileError
from grople.io._codec import DEEPEST, Decoder, Encoder
from grople.io._container import open_container, write_container
from grople.io._storable import ESTIMATORS, RECORDS, stored_class
from grople.moments import Grid
from grople.solver import LinearScores


def stored(value: Any, path: Path) -> tuple[Any, Any]:
    """Return what a value is after writing and reading it, and its JSON."""
    encoder = Encoder()
    node = json.loads(json.dumps(encoder.encode(value, "it"), allow_nan=False))
    write_container(path, encoder.arrays, {})
    container = open_container(path)
    decoded = Decoder(container).decode(node)
    assert container.unread() == []
    return decoded, node


def same(left: Any, right: Any) -> bool:
    """Tell whether two values are the same in type, shape, order in memory and every bit."""
    if isinstance(right, np.ndarray) and right.dtype == object:
        return left.dtype == object and all(map(same, left.tolist(), right.tolist()))
    if isinstance(right, np.ndarray):
        alike = (left.dtype, left.shape) == (right.dtype.newbyteorder("="), right.shape)
        return alike and left.tobytes() == right.astype(left.dtype).tobytes()
    if sp.issparse(right):
        parts = ("data", "indices", "indptr")
        return (type(left), left.shape) == (type(right), right.shape) and all(
            same(getattr(left, part), getattr(right, part)) for part in parts
        )
    if type(left) is not type(right):
        return False
    if isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(right, dict):
        pairs = zip(left.items(), right.items(), strict=True)
        return all(same(mine, theirs) for mine, theirs in pairs)
    if isinstance(right, float):
        return np.array(left).tobytes() == np.array(right).tobytes()
    if hasattr(right, "__dataclass_fields__"):
        return all(same(getattr(left, f.name), getattr(right, f.name)) for f in fields(right))
    return bool(left == right)


plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
numbers = st.sampled_from(["?", "u1", "i2", "<i4", ">i4", "i8", "u8", "f2", "f4", "<f8", ">f8"])
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
arrays = st.one_of(
    hnp.arrays(numbers, shapes),
    hnp.arrays(st.sampled_from(["U1", "U7"]), shapes),
    hnp.arrays(np.float64, shapes, elements=st.integers(0, 70000).map(float)),
    hnp.arrays(object, st.integers(0, 4), elements=plain | st.tuples(plain, plain)),
)
values = st.recursive(
    plain | arrays | st.just(float("nan")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3) | st.floats(allow_nan=False), inner, max_size=3),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(value=values)
def test_values_come_back(tmp_path_factory: Any, value: Any) -> None:
    decoded, _ = stored(value, tmp_path_factory.mktemp("v") / "f")
    assert same(decoded, value)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_matrices_come_back(tmp_path: Path, kind: Any, index: Any) -> None:
    rng = np.random.default_rng(0)
    matrix = kind(sp.random_array((7, 5), density=0.4, random_state=rng))
    matrix = kind(
        (matrix.data, matrix.indices.astype(index), matrix.indptr.astype(index)), shape=(7, 5)
    )
    decoded, _ = stored({"x": matrix, "none": kind((3, 0))}, tmp_path / "f")
    assert same(decoded["x"], matrix)
    assert decoded["none"].shape == (3, 0)


def test_the_order_in_memory_stays(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(4, 6))
    cut = np.asfortranarray(values)[:, :3]
    for matrix in (values, values.T, np.asfortranarray(values), cut, values[:, ::2]):
        decoded, _ = stored(matrix, tmp_path / "f")
        assert np.array_equal(decoded, matrix)
        columns_first = matrix.strides[0] < matrix.strides[1]
        assert decoded.flags.f_contiguous if columns_first else decoded.flags.c_contiguous


def test_arrays_are_packed_where_that_saves_room(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = {
        "counts": rng.integers(0, 7, 1000).astype(np.float64),
        "indices": np.sort(rng.integers(0, 5000, 1000)),
        "sparse": np.where(rng.random(1000) < 0.1, rng.normal(size=1000), 0.0),
        "noise": rng.integers(0, 2**63, 1000),
        "few": np.zeros(3),
    }
    encoder = Encoder()
    encoder.encode(arrays, "it")
    sizes = {name: encoder.arrays[f"it.{name}"].nbytes for name in arrays}
    assert sizes["counts"] < 1000
    assert sizes["indices"] < 2500
    assert sizes["sparse"] < 2500
    assert (sizes["noise"], sizes["few"]) == (8000, 24)
    decoded, _ = stored(arrays, tmp_path / "f")
    assert same(decoded, arrays)
    assert not any(values.flags.writeable for values in decoded.values())


def test_what_was_whole_numbers_in_older_files(tmp_path: Path) -> None:
    write_container(tmp_path / "f", {"a": np.array([1, 7], np.uint8)}, {})
    node = {"$": "array", "at": "a", "dtype": "F64"}
    assert same(Decoder(open_container(tmp_path / "f")).decode(node), np.array([1.0, 7.0]))


PACKED = {"$": "array", "at": "z", "packed": "F64", "shape": [100]}


@pytest.mark.parametrize(
    "change",
    [
        {"packed": "F63"}, {"packed": "BOOL"}, {"packed": None}, {"packed": ["F64"]},
        {"packed": "F32"}, {"shape": [99]}, {"shape": [101]}, {"shape": [2**40]}, {"shape": [0]},
        {"shape": [-100]}, {"shape": [100.0]}, {"shape": "100"}, {"shape": []}, {"at": "cut"},
        {"at": "more"}, {"at": "noise"}, {"at": "wide"}, {"at": "two"}, {"at": ["z"]}, {"at": "?"},
        {"text": "U"}, {"text": "X"},
    ],
)  # fmt: skip
def test_hostile_packed_arrays(tmp_path: Path, change: dict[str, Any]) -> None:
    packed = np.frombuffer(zlib.compress(bytes(800)), np.uint8)
    arrays = {
        "z": packed,
        "cut": packed[:-3],
        "more": np.append(packed, packed),
        "noise": np.arange(100, dtype=np.uint8),
        "wide": packed.astype(np.int64),
        "two": packed[:, None],
    }
    write_container(tmp_path / "f", arrays, {})
    container = open_container(tmp_path / "f")
    assert same(Decoder(container).decode(PACKED), np.zeros(100))
    with pytest.raises(ModelFileError):
        Decoder(container).decode(PACKED | change)


def test_shared_arrays_are_stored_once(tmp_path: Path) -> None:
    Z = np.random.default_rng(0).normal(size=(3, 2))
    decoded, _ = stored((LinearScores(Z, np.zeros(2)), Z), tmp_path / "f")
    assert decoded[0].Z is decoded[1]


def test_arrays_whose_names_collide(tmp_path: Path) -> None:
    value = {"a": {"b": np.zeros(2) - 0.5}, "a.b": np.ones(2) + 0.5}
    decoded, _ = stored(value, tmp_path / "f")
    assert same(decoded, value)


def test_a_field_that_came_later_has_its_default(tmp_path: Path) -> None:
    curve = np.array([-1.0, 1.0]), np.array([0.0, 1.0])
    decision = Decision(*curve, 0.0, np.zeros(2), 0.0, 1, ("accuracy",))
    encoder = Encoder()
    node = encoder.encode(decision, "it")
    del node["fields"]["signed_rules"]
    write_container(tmp_path / "f", encoder.arrays, {})
    container = open_container(tmp_path / "f")
    assert Decoder(container).decode(node).signed_rules == ()
    del node["fields"]["curve_scores"]
    with pytest.raises(ModelFileError, match="curve_scores"):
        Decoder(container).decode(node)
    node["fields"]["colour"] = "red"
    with pytest.raises(ModelFileError, match="'colour' of its Decision is unknown: a newer"):
        Decoder(container).decode(node)


def test_what_its_own_class_refuses(tmp_path: Path) -> None:
    encoder = Encoder()
    node = encoder.encode(Solver(tol=0.5), "it")
    node["fields"]["tol"] = -0.5
    write_container(tmp_path / "f", encoder.arrays, {})
    with pytest.raises(ModelFileError, match="Solver: tol"):
        Decoder(open_container(tmp_path / "f")).decode(node)


@dataclass(frozen=True)
class LinearScoresLookalike:
    Z: Any


class Subclass(LinearScores):
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (print, "it is a builtin_function_or_method"),
        ({"a": [lambda: None]}, r"it\.a\.0 is a function"),
        (np.random.RandomState(0), "it is a RandomState"),
        (1j, "it is a complex"),
        (np.array([1j]), "complex128"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "datetime64"),
        (np.zeros(2, dtype=[("a", "f8")]), "unknown to model files"),
        (np.array([print]), r"it\.0 is a builtin"),
        (np.empty((2, 2), dtype=object), "matrix of objects"),
        (sp.coo_array((2, 2)), "it is a coo_array"),
        (LinearScoresLookalike(1), "LinearScoresLookalike"),
        (Subclass(np.zeros((1, 1)), np.zeros(1)), "it is a Subclass"),
        ({1, 2}, "it is a set"),
        (b"bytes", "it is a bytes"),
        (Path("x"), "Path"),
    ],
)
def test_what_cannot_be_written(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Encoder().encode(value, "it")


ARRAY = {"$": "array", "at": "i8"}


@pytest.mark.parametrize(
    "node",
    [
        {},
        {"a": 1},
        {"$": None},
        {"$": ["array"]},
        {"$": "eval", "code": "1"},
        {"$": "array"},
        {"$": "array", "at": 3},
        {"$": "array", "at": ["i8"]},
        {"$": "array", "at": "nowhere"},
        {"$": "array", "at": "i8", "dtype": "F63"},
        {"$": "array", "at": "i8", "text": "U"},
        {"$": "array", "at": "i8", "text": "X"},
        {"$": "array", "at": "u4", "text": "U"},  # no character has these numbers
        {"$": "array", "at": "none", "text": "U"},
        {"$": "objects", "at": "i8"},
        {"$": "objects", "at": "u1"},
        {"$": "float", "value": "1"},
        {"$": "float"},
        {"$": "tuple", "items": "ab"},
        {"$": "tuple"},
        {"$": "dict", "items": {"a": 1}},
        {"$": "dict", "items": [["a"]]},
        {"$": "dict", "items": [[["a"], 1]]},
        {"$": "dict", "items": [3]},
        {"$": "record", "class": "Popen", "fields": {}},
        {"$": "record", "class": "os.system", "fields": {}},
        {"$": "record", "class": ["Grid"], "fields": {}},
        {"$": "record", "class": "Grid"},
        {"$": "record", "class": "Grid", "fields": []},
        {"$": "record", "class": "Grid", "fields": {"steps": 3}},
        {"$": "record", "class": "Grid", "fields": {"steps": None}},
        {"$": "record", "class": "Grid", "fields": {"__class__": ARRAY, "steps": ARRAY}},
        {"$": "record", "class": "GroPLE", "fields": {}},
    ],
)
def test_hostile_content(tmp_path: Path, node: Any) -> None:
    arrays = {
        "i8": np.arange(3),
        "u1": np.frombuffer(b'{"items": [NaN]}', np.uint8),
        "u4": np.full((1, 2), 0x110000, np.uint32),
        "none": np.zeros((2, 0), np.uint32),
    }
    write_container(tmp_path / "f", arrays, {})
    with pytest.raises(ModelFileError):
        Decoder(open_container(tmp_path / "f")).decode(node)


@pytest.mark.parametrize(
    "change",
    [
        {"indices": np.array([0, 9, 1])},
        {"indices": np.array([0, -1, 1])},
        {"indices": np.array([0, 1])},
        {"indices": np.array([0.0, 1.0, 1.0])},
        {"indptr": np.array([0, 5, 3])},
        {"indptr": np.array([0, 1, 4])},
        {"indptr": np.array([1, 1, 3])},
        {"indptr": np.array([-1, 1, 3])},
        {"indptr": np.array([0, 3])},
        {"indptr": np.array([], dtype=np.int64)},
        {"indptr": np.array([[0, 1, 3]])},
        {"data": np.zeros(2)},
        {"data": np.array(["a", "b", "c"])},
        {"shape": [2]},
        {"shape": [3, 4]},
        {"shape": [2, 1]},
        {"shape": [2, -4]},
        {"shape": "22"},
        {"shape": [None, 4]},
    ],
)
def test_hostile_sparse_matrices(tmp_path: Path, change: dict[str, Any]) -> None:
    parts = {"data": np.ones(3), "indices": np.array([0, 3, 1]), "indptr": np.array([0, 2, 3])}
    encoder = Encoder()
    node = {"$": "csr_array", "shape": change.get("shape", [2, 4])}
    for name, values in parts.items():
        node[name] = encoder.encode(change.get(name, values), name)
    write_container(tmp_path / "f", encoder.arrays, {})
    with pytest.raises(ModelFileError):
        Decoder(open_container(tmp_path / "f")).decode(node)


def test_deep_content_is_refused(tmp_path: Path) -> None:
    write_container(tmp_path / "f", {}, {})
    decoder = Decoder(open_container(tmp_path / "f"))
    nested: Any = []
    for _ in range(DEEPEST - 1):
        nested = [nested]
    assert decoder.decode(Encoder().encode(nested, "it")) == nested
    with pytest.raises(ModelFileError, match="too deep"):
        decoder.decode([nested])
    endless: list[Any] = []
    endless.append(endless)
    for value in ([nested], endless):
        with pytest.raises(TypeError, match="too deep"):
            Encoder().encode(value, "it")


def test_the_tables_name_what_exists() -> None:
    for name in RECORDS:
        cls = stored_class(RECORDS, name)
        assert cls.__name__ == name
        assert cls.__dataclass_params__.frozen
    for name in ESTIMATORS:
        assert stored_class(ESTIMATORS, name).__name__ == name
    assert same(Grid(np.ones(3), np.zeros(3)), Grid(np.ones(3), np.zeros(3)))
