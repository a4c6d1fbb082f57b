"""The container against the safetensors library, and against files made to break it."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from grople.errors import ModelFileError
from grople.io._container import DTYPES, open_container, write_container
from grople.io._json import parse_json
from tests.io.forge import container, sealed, stamped, taken_apart

KINDS = st.sampled_from([np.dtype(dtype) for dtype in DTYPES.values()])


@st.composite
def some_arrays(draw: Any) -> dict[str, np.ndarray]:
    names = draw(st.lists(st.text(max_size=5), max_size=5, unique=True))
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    return {name: draw(hnp.arrays(draw(KINDS), draw(shapes))) for name in names}


@settings(max_examples=60, deadline=None)
@given(
    arrays=some_arrays(),
    texts=st.dictionaries(st.text(max_size=4).map("t{}".format), st.text(max_size=20), max_size=3),
)
def test_what_is_written_is_read(
    tmp_path_factory: Any, arrays: dict[str, np.ndarray], texts: dict[str, str]
) -> None:
    path = tmp_path_factory.mktemp("c") / "file"
    arrays.pop("__metadata__", None)
    write_container(path, arrays, texts)
    found = open_container(path)
    assert found.entries.keys() == arrays.keys()
    assert {key: found.metadata[key] for key in texts} == texts
    for name, values in arrays.items():
        read = found.array(name)
        assert read.dtype == values.dtype
        assert read.shape == values.shape
        assert read.tobytes() == values.tobytes()  # also the bits of every NaN
        assert not read.flags.writeable
        assert read.flags.aligned
    assert found.unread() == []


def test_the_safetensors_library_reads_it(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    from safetensors.numpy import load_file

    rng = np.random.default_rng(0)
    arrays = {
        "odd": np.arange(3, dtype=np.uint8),
        "flags": np.array([True, False]),
        "reals": rng.normal(size=(3, 4)),
        "narrow": rng.normal(size=5).astype(np.float32),
        "none": np.zeros((0, 3)),
        "keys": rng.integers(0, 2**63, size=4, dtype=np.uint64),
        "one": np.array(7),
    }
    path = tmp_path / "a.safetensors"
    write_container(path, arrays, {"format": "test"})
    theirs = load_file(path)
    assert theirs.keys() == arrays.keys()
    for name, values in arrays.items():
        assert_array_equal(theirs[name], values, strict=True)
    with safetensors.safe_open(path, framework="numpy") as opened:
        assert opened.metadata()["format"] == "test"


def test_a_file_of_the_safetensors_library_without_checksums_is_refused(tmp_path: Path) -> None:
    save_file = pytest.importorskip("safetensors.numpy").save_file
    save_file({"a": np.zeros(3)}, tmp_path / "a")
    with pytest.raises(ModelFileError, match="not a grople model"):
        open_container(tmp_path / "a")


def test_files_made_by_hand_are_read(tmp_path: Path) -> None:
    # The cases below differ from this one by a single defect each.
    (tmp_path / "f").write_bytes(container({"a": np.arange(4.0), "b": np.zeros((2, 0))}))
    found = open_container(tmp_path / "f")
    assert_array_equal(found.array("a"), np.arange(4.0))
    assert found.array("b").shape == (2, 0)


def test_arrays_at_odd_addresses_are_moved(tmp_path: Path) -> None:
    content = container({"u": np.zeros(3, np.uint8), "x": np.arange(4.0)})
    (tmp_path / "f").write_bytes(content)
    values = open_container(tmp_path / "f").array("x")
    assert values.flags.aligned
    assert_array_equal(values, np.arange(4.0))


def entry(dtype: Any = "F64", shape: Any = (4,), offsets: Any = (0, 32)) -> dict[str, Any]:
    listed = list(shape) if isinstance(shape, tuple) else shape
    return {"dtype": dtype, "shape": listed, "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (entry(dtype="F65"), "unknown type"),
        (entry(dtype="O"), "unknown type"),
        (entry(dtype=8), "unknown type"),
        (entry(dtype=["F64"]), "unknown type"),
        (entry(dtype="F32"), "by its shape"),
        (entry(shape=(5,)), "by its shape"),
        (entry(shape=(2**40, 2**40)), "by its shape"),
        (entry(shape=(2**62, 4)), "impossible shape"),
        (entry(shape=(2**64, 0), offsets=(0, 0)), "impossible shape"),
        (entry(shape=(-1, -4)), "impossible shape"),
        (entry(shape=(4.0,)), "impossible shape"),
        (entry(shape=(True, 4)), "impossible shape"),
        (entry(shape="4"), "impossible shape"),
        (entry(shape=(1,) * 40 + (4,)), "impossible shape"),
        (entry(offsets=(0, 31)), "by its shape"),
        (entry(offsets=(8, 40)), "gaps"),
        (entry(shape=(5,), offsets=(0, 40)), "overlap"),
        (entry(offsets=(32, 0)), "by its shape"),
        (entry(offsets=(-32, 0)), "impossible place"),
        (entry(offsets=(0, 32, 64)), "impossible place"),
        (entry(shape=(3,), offsets=(0, 24)), "gaps"),
        ({"dtype": "F64", "shape": [4]}, "not one of an array"),
        (entry() | {"extra": 1}, "not one of an array"),
        ([1, 2], "not one of an array"),
        (None, "not one of an array"),
    ],
)
def test_hostile_entries(tmp_path: Path, changed: Any, message: str) -> None:
    header, data = taken_apart(container({"a": np.arange(4.0), "b": np.arange(2)}))
    text = json.dumps(header | {"a": changed}, separators=(",", ":"))
    (tmp_path / "f").write_bytes(stamped(text, data))
    with pytest.raises(ModelFileError, match=message):
        open_container(tmp_path / "f")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"a":{"dtype"', '"a":{"dtype":"F64","dtype"', "twice"),
        ('"shape":[4]', '"shape":[NaN]', "NaN"),
        ('"shape":[4]', '"shape":[Infinity]', "Infinity"),
        ('"shape":[4]', '"shape":[4e999]', "too large"),
        ('"shape":[4]', '"shape":[' + "9" * 5000 + "]", "damaged"),
        ('"shape":[4]', '"shape":' + "[" * 200_000, "damaged"),
        ('"shape":[4]', '"shape":' + '{"a":' * 100_000, "damaged"),
        ('"shape":[4]', '"shape":[4', "damaged"),
        ('"format":"test"', '"format":3', "not texts"),
        ('"format":"test"', '"format":["test"]', "not texts"),
        ('"checksums":"{', '"checksums":"[{', "damaged"),
        ('"checksums":"{', '"checksums":"{\\"c\\":0,', "not those of its arrays"),
    ],
)
def test_hostile_headers(tmp_path: Path, old: str, new: str, message: str) -> None:
    header, data = taken_apart(container({"a": np.arange(4.0)}))
    text = json.dumps(header, separators=(",", ":"))
    assert old in text
    (tmp_path / "f").write_bytes(stamped(text.replace(old, new), data))
    with pytest.raises(ModelFileError, match=message):
        open_container(tmp_path / "f")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"\0" * 8,
        b"\0" * 100,
        struct.pack("<Q", 2**63) + b"{" + b" " * 100,
        struct.pack("<Q", 2**64 - 1) + b"{}" + b" " * 100,
        struct.pack("<Q", 0) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 3) + b"{\xff}",
        b"PK\3\4" + b"\0" * 100,
        b"\x93NUMPY" + b"\0" * 100,
    ],
)
def test_what_is_no_container(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(ModelFileError):
        open_container(tmp_path / "f")


def test_no_file_or_none_that_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="No such file"):
        open_container(tmp_path / "missing")
    with pytest.raises(ModelFileError, match="not a file"):
        open_container(tmp_path)
    with pytest.raises(ModelFileError, match="not a file"):
        open_container(os.devnull)


def test_a_long_header_is_not_parsed(tmp_path: Path) -> None:
    with open(tmp_path / "f", "wb") as stream:
        stream.write(struct.pack("<Q", 1 << 34) + b"{")
        stream.truncate((1 << 34) + 100)  # sparse on disk
    with pytest.raises(ModelFileError, match="are the most"):
        open_container(tmp_path / "f")


def test_booleans_are_zero_or_one(tmp_path: Path) -> None:
    header, _ = taken_apart(container({"a": np.array([True, False])}))
    (tmp_path / "f").write_bytes(sealed(header, b"\2\0"))
    with pytest.raises(ModelFileError, match="true and false"):
        open_container(tmp_path / "f").array("a")


def test_damage_in_one_array_shows_when_it_is_used(tmp_path: Path) -> None:
    content = bytearray(container({"a": np.arange(4.0), "b": np.arange(2)}))
    content[-1] ^= 1
    (tmp_path / "f").write_bytes(content)
    found = open_container(tmp_path / "f")
    assert_array_equal(found.array("a"), np.arange(4.0))
    with pytest.raises(ModelFileError, match="'b' are damaged"):
        found.array("b")
    with pytest.raises(ModelFileError, match="no array 'c'"):
        found.array("c")


def test_swapped_arrays_show(tmp_path: Path) -> None:
    header, data = taken_apart(container({"a": np.arange(4.0), "b": np.ones(4)}))
    header["a"], header["b"] = header["b"], header["a"]
    text = json.dumps(header, separators=(",", ":"))
    (tmp_path / "f").write_bytes(stamped(text, data))
    with pytest.raises(ModelFileError, match="damaged"):
        open_container(tmp_path / "f").array("a")


def test_json_has_one_reading() -> None:
    assert parse_json(b'{"a": [1, 2.5, "x", null]}', "it") == {"a": [1, 2.5, "x", None]}
    with pytest.raises(ModelFileError, match="not a JSON object"):
        parse_json(b"[1]", "it")


@pytest.mark.skipif(os.name != "posix", reason="limits of a process are POSIX's")
def test_nothing_is_left_of_a_write_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_container(path, {"a": np.zeros(3)}, {})
    before = path.read_bytes()
    # A limit on the size of files stands for a full disk.
    script = (
        "import resource, signal, numpy as np\n"
        "from grople.io._container import write_container\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        f"write_container({str(path)!r}, {{'a': np.zeros(100_000)}}, {{}})\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode != 0
    assert "ModelFileError" in done.stderr
    assert "cannot be written" in done.stderr
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc to ask for memory")
def test_claims_cost_no_memory(tmp_path: Path) -> None:
    """Open files that claim terabytes with little memory to give."""
    claims = {
        "shape": container({"a": np.arange(4.0)}, a=entry(shape=(2**38,), offsets=(0, 2**41))),
        "header": struct.pack("<Q", 1 << 40) + b"{" + b" " * 1000,
        "empty": container({"a": np.arange(4.0)}, b=entry(shape=(2**39, 0), offsets=(32, 32))),
    }
    for name, content in claims.items():
        (tmp_path / name).write_bytes(content)
    script = (
        "import resource, sys\n"
        "from grople.errors import ModelFileError\n"
        "from grople.io._container import open_container\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20),) * 2)\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        found = open_container(path)\n"
        "        print([found.array(name).nbytes for name in found.entries])\n"
        "    except ModelFileError:\n"
        "        print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *(str(tmp_path / name) for name in claims)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["refused", "refused", "[32, 0]"]
