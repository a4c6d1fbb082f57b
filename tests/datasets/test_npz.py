"""Archives of arrays: exact, and hostile ones refused."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from grople.datasets import Bundle, read, write
from grople.errors import DataError
from tests.datasets.samples import npz, npz_arrays


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def read_content(content: bytes, **options: Any) -> Bundle:
        (tmp_path / "x.npz").write_bytes(content)
        return read(tmp_path / "x.npz", format="npz", **options)

    return read_content


def changed(**arrays: Any) -> bytes:
    return npz({**npz_arrays(), **arrays})


def test_read(load: Any) -> None:
    bundle = load(npz())
    assert bundle.X.toarray().tolist() == [[1, 0, 2, 0], [0, 3, 0, 0]]
    assert bundle.Y.toarray().tolist() == [[1, 0], [1, 1]]
    assert bundle.X.dtype == np.float32
    assert (bundle.label_names, bundle.source) == (("a", "b"), "by hand")


def test_names_are_optional(load: Any) -> None:
    arrays = {key: a for key, a in npz_arrays().items() if not key.endswith(("names", "source"))}
    assert load(npz(arrays)).feature_names == ("feature0", "feature1", "feature2", "feature3")


def test_byte_order_and_integers(load: Any) -> None:
    arrays = {key: a.astype(a.dtype.newbyteorder(">")) for key, a in npz_arrays().items()}
    arrays["X_data"] = np.array([1, 2, 3], dtype=np.uint8)
    bundle = load(npz(arrays))
    assert bundle.X.toarray().tolist() == [[1, 0, 2, 0], [0, 3, 0, 0]]
    assert bundle.X.dtype == np.float64


def test_round_trip_keeps_precision_and_layout(tmp_path: Path) -> None:
    for dtype in (np.float32, np.float64):
        X = sp.random_array((20, 9), density=0.2, random_state=0, dtype=dtype, format="csr")
        bundle = Bundle(X, np.eye(20, 3, dtype=int), source="here")
        write(bundle, tmp_path / "x.npz")
        with np.load(tmp_path / "x.npz", allow_pickle=False) as arrays:
            assert set(arrays) == set(npz_arrays())
        again = read(tmp_path / "x.npz")
        assert again.X.dtype == dtype
        assert (again.X != bundle.X).nnz == 0
        assert again.source == "here"
        assert again.row_names == ()


def test_row_names(tmp_path: Path) -> None:
    bundle = Bundle(np.eye(2), np.eye(2), row_names=["first", "second"])
    write(bundle, tmp_path / "x.npz")
    assert read(tmp_path / "x.npz").row_names == ("first", "second")


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"X_indices": np.array([0, 4, 1])}, "X: an index is out of range: 4 columns"),
        ({"X_indices": np.array([0, -1, 1])}, "out of range"),
        ({"X_indices": np.array([0.0, 1.0, 1.0])}, "list of integers"),
        ({"X_indices": np.array([[0, 1, 1]])}, "list of integers"),
        ({"X_indices": np.array([0, 1])}, "3 values but 2 indices"),
        ({"X_indptr": np.array([0, 5, 3])}, "indptr does not describe"),
        ({"X_indptr": np.array([1, 2, 3])}, "indptr does not describe"),
        ({"X_indptr": np.array([0, 3])}, "indptr does not describe"),
        ({"X_indptr": np.array([0, -2, 3])}, "indptr does not describe"),
        ({"X_indptr": np.array([], dtype=int)}, "indptr does not describe"),
        ({"X_shape": np.array([2, 10**13])}, "X claims to be"),
        ({"X_shape": np.array([10**13, 4])}, "X has 10000000000000 rows but Y has 2"),
        ({"X_shape": np.array([-2, 4])}, "X claims to be"),
        ({"X_shape": np.array([2, 4, 1])}, "two sizes"),
        ({"X_shape": np.array([2.0, 4.0])}, "two sizes"),
        ({"X_data": np.array([1, np.nan, 3])}, "NaN or infinite"),
        ({"X_data": np.array(["a", "b", "c"])}, "not real numbers"),
        ({"X_data": np.array([1j, 2, 3])}, "unsupported type complex128"),
        ({"Y_indices": np.array([0, 2, 1])}, "Y: an index is out of range"),
        ({"Y_indices": np.array([0, 1, 1])}, "labels are 0 or 1"),
        ({"Y_shape": np.array([3, 2]), "Y_indptr": np.array([0, 1, 3, 3])}, "X has 2 rows but Y"),
        ({"label_names": np.array(["a"])}, "1 label names for 2 columns"),
        ({"row_names": np.array(["a"])}, "1 row names for 2 rows"),
        ({"feature_names": np.arange(4)}, "feature_names must be a list of texts"),
    ],
)
def test_hostile_arrays(load: Any, arrays: dict[str, Any], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        load(changed(**arrays))


def test_nothing_is_unpickled(load: Any, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "sprung",))

    stream = io.BytesIO()
    trapped = np.array([Trap()], dtype=object)
    np.savez(stream, **{**npz_arrays(), "label_names": trapped})
    with pytest.raises(DataError, match="'label_names' has the unsupported type object"):
        load(stream.getvalue())
    assert not (tmp_path / "sprung").exists()
    assert pickle.dumps(Trap())


def archive(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        with zipfile.ZipFile(io.BytesIO(npz())) as valid:
            for name in valid.namelist():
                if name not in members:
                    target.writestr(name, valid.read(name))
        for name, content in members.items():
            target.writestr(name, content)
    return stream.getvalue()


def npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}"), "header lies"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}"), "header lies"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", bytes(20)), "header lies"),
        (npy("{'descr': '<U0', 'fortran_order': False, 'shape': (3,)}"), "no size"),
        (npy("{'descr': 'nonsense'}"), "damaged header"),
        (npy("[" * 5000), "damaged header"),
        (b"", "damaged header"),
    ],
)
def test_headers_that_lie(load: Any, content: bytes, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        load(archive(**{"X_data.npy": content}))


def test_damaged_archives(load: Any) -> None:
    content = npz()
    for cut in (10, len(content) // 2, len(content) - 4):
        with pytest.raises(DataError, match="archive"):
            load(content[:cut])
    with pytest.raises(DataError, match="no array 'X_data'"):
        load(npz({"a": np.zeros(3)}))
    with pytest.raises(DataError, match="unpacks to more than 100 bytes"):
        load(content, max_bytes=100)


def test_empty_matrices(load: Any) -> None:
    empty = np.array([], dtype=np.int32)
    bundle = load(changed(Y_indices=empty, Y_indptr=np.zeros(3, dtype=int)))
    assert bundle.Y.nnz == 0
    with pytest.raises(DataError, match="2 label names for 0 columns"):
        load(changed(Y_indices=empty, Y_indptr=np.zeros(3, int), Y_shape=np.array([2, 0])))
