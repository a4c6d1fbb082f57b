"""MATLAB files as scipy and h5py write them, and damaged ones."""

from __future__ import annotations

import io
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grople.datasets import Bundle, read
from grople.errors import DataError, MissingExtraError
from tests.datasets.samples import dense, mat5, mat73

X = np.array([[1.0, 0, 2], [0, 0, 3], [4, 5, 0]])
Y = np.array([[1, 0], [0, 1], [1, 1]])


@pytest.fixture
def matlab(tmp_path: Path) -> Any:
    def read_content(content: bytes | dict[str, Any], **options: Any) -> Bundle:
        file = tmp_path / "x.mat"
        if isinstance(content, dict):
            scipy.io.savemat(file, content)
        else:
            file.write_bytes(content)
        return read(file, format="matlab", **options)

    return read_content


@pytest.mark.parametrize(
    "content",
    [mat5(), mat5(sparse=True), mat5(compress=True), mat73(), mat73(sparse=True)],
    ids=["v5", "v5 sparse", "v5 compressed", "v7.3", "v7.3 sparse"],
)
def test_read(matlab: Any, content: bytes) -> None:
    bundle = matlab(content)
    assert np.array_equal(dense(bundle.X), X)
    assert np.array_equal(bundle.Y.toarray(), Y)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    values=hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.int8, np.uint16, np.int64, np.bool_]),
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=5),
        elements={"allow_nan": False, "allow_infinity": False},
    ),
    sparse=st.booleans(),
    compress=st.booleans(),
)
def test_agrees_with_scipy(tmp_path: Path, values: Any, sparse: bool, compress: bool) -> None:
    """Any real matrix scipy writes comes back as scipy reads it."""
    file = tmp_path / "x.mat"
    matrix = sp.csc_array(values.astype(np.float64)) if sparse else values
    target = np.ones((len(values), 1 + len(values)))
    scipy.io.savemat(file, {"X": matrix, "Y": target}, do_compression=compress)
    theirs = scipy.io.loadmat(file)["X"]
    assert np.array_equal(dense(read(file).X), dense(theirs))


def test_big_endian(matlab: Any) -> None:
    def element(kind: int, data: bytes) -> bytes:
        return struct.pack(">II", kind, len(data)) + data + bytes(-len(data) % 8)

    def variable(name: bytes, values: Any) -> bytes:
        parts = [
            element(6, struct.pack(">II", 6, 0)),
            element(5, struct.pack(">ii", *values.shape)),
            element(1, name),
            element(9, values.astype(">f8").tobytes("F")),
        ]
        return element(14, b"".join(parts))

    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI"
    bundle = matlab(header + variable(b"data", X) + variable(b"target", Y.T))
    assert np.array_equal(dense(bundle.X), X)
    assert np.array_equal(bundle.Y.toarray(), Y)


def test_orientation(matlab: Any) -> None:
    for target in (Y, Y.T, sp.csc_array(Y), sp.csc_array(Y.T), 2 * Y - 1):
        assert np.array_equal(matlab({"data": X, "target": target}).Y.toarray(), Y)
    square = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 0]])
    with pytest.raises(DataError, match="pass transposed=True"):
        matlab({"data": X, "target": square})
    for transposed in (True, False):
        bundle = matlab({"data": X, "target": square}, transposed=transposed)
        assert np.array_equal(bundle.Y.toarray(), square.T if transposed else square)


def test_variables_by_name(matlab: Any) -> None:
    content = {"words": X, "topics": Y, "note": "text", "cells": np.array([1, "a"], dtype=object)}
    bundle = matlab(content, variable="words", labels="topics")
    assert np.array_equal(dense(bundle.X), X)
    with pytest.raises(
        DataError, match=r"no numeric matrix 'data' or .* the file has 'words', 'top"
    ):
        matlab(content)
    with pytest.raises(DataError, match="no numeric matrix 'note'"):
        matlab(content, variable="note", labels="topics")


def test_integers_become_float64_and_single_stays(matlab: Any) -> None:
    assert matlab({"data": X.astype(np.uint8), "target": Y}).X.dtype == np.float64
    assert matlab({"data": X.astype(np.float32), "target": Y}).X.dtype == np.float32


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"data": np.where(X == 5, np.nan, X), "target": Y}, "NaN or infinite"),
        ({"data": X, "target": 2 * Y}, "labels are 0 or 1"),
        ({"data": X, "target": Y[:2]}, r"3 rows of features, but labels of 2 × 2"),
        ({"data": X + 1j, "target": Y}, "complex"),
        ({"data": np.zeros((3, 2, 2)), "target": Y}, "not a matrix"),
        (mat5()[:200], "truncated"),
        (mat5(compress=True)[:-8], "truncated"),
        (mat73()[:3000], "damaged HDF5"),
        (b"MATLAB 5.0 MAT-file, but not really", "not a MATLAB file"),
        (b"", "not a MATLAB file"),
    ],
)
def test_refused(matlab: Any, content: Any, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        matlab(content)


def test_a_wrong_type_code_is_an_error_not_a_crash(matlab: Any) -> None:
    """Scipy's own reader ends the process on this file."""
    content = mat5()
    numbers = struct.pack("<II", 9, X.size * 8)
    assert content.count(numbers) == 1
    with pytest.raises(DataError, match="unknown number type 257"):
        matlab(content.replace(numbers, struct.pack("<II", 0x101, X.size * 8)))


def test_a_bomb_in_a_variable(matlab: Any) -> None:
    packed = zlib.compress(bytes(10_000_000))
    content = mat5()[:128] + struct.pack("<II", 15, len(packed)) + packed
    with pytest.raises(DataError, match="unpacks to more than 1,000,000 bytes"):
        matlab(content, max_bytes=1_000_000)
    with pytest.raises(DataError, match="no numeric matrix"):
        matlab(content)  # millions of empty elements, none of which is looked at twice


def test_rows_that_only_a_header_vouches_for(matlab: Any) -> None:
    content = mat5(sparse=True)
    sizes = struct.pack("<iiii", 5, 8, 3, 3)
    assert content.count(sizes) == 1
    target = np.zeros((1, 1))
    with pytest.raises(DataError, match="rows"):
        matlab(content.replace(sizes, struct.pack("<iiii", 5, 8, 2_000_000_000, 3)))
    stream = io.BytesIO()
    with h5py.File(stream, "w", userblock_size=512) as archive:
        archive.create_dataset("data", shape=(10**6, 10**6), chunks=(100, 100), dtype="f8")
        archive["target"] = target
    with pytest.raises(DataError, match="truncated"):
        matlab(stream.getvalue())


def test_links_to_other_files_are_not_followed(matlab: Any, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["data"] = X.T
    with h5py.File(tmp_path / "link.mat", "w", userblock_size=512) as archive:
        archive["data"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/data")
        archive["target"] = Y
    with pytest.raises(DataError, match="points to another file"):
        read(tmp_path / "link.mat")


def test_without_h5py(matlab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    content = mat73()
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtraError, match=r"grople\[matlab\]"):
        matlab(content)
    assert matlab(mat5()).n_rows == 3
