"""Small valid files of every format, and bundles to write, for the tests of the readers."""

from __future__ import annotations

import gzip
import io
import re
from typing import Any

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import strategies as st

from grople.datasets import Bundle

DENSE_ARFF = b"""% made by hand
@relation 'tiny: -C 2'
@attribute first {0,1}
@attribute 'second one' {NO, YES}
@attribute x numeric
@attribute "colour" {red,green,'light blue'}
@data
0,YES,1.5,red
1,NO,-2e3,'light blue'
"""

SPARSE_ARFF = b"""@relation 'tiny: -C -1'
@attribute x numeric
@attribute y {0,1}
@attribute z real
@attribute good {0,1}

@data
{0 1.5,3 1}
{}
{1 1,2 4}
"""

LABELS_XML = b"""<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="first"></label>
<label name="second one"></label>
</labels>
"""

EXTREME = b"3 4 2\n0,1 0:1.5 3:2\n 1:1\n1\n"
LIBSVM = b"# tags\n3,7 1:0.5 4:2\n7 2:1 # end\n 1:3\n"
CSV = b'x,y,tags\n1,2.5,a;b\n3,0,"b; c"\n'
TSV = b"x\tlabel_a\tlabel_b\n1\t0\t1\n2\t1\t0\n"
JSONL = (
    b'{"text": "a chess game", "tags": ["game"]}\n'
    b'{"text": "a chess clock", "tags": ["clock", "game"]}\n'
)
JSON = b'[{"text": "a chess game", "tags": "game"},\n {"text": "a chess clock", "tags": null}]\n'


def mat5(*, sparse: bool = False, compress: bool = False) -> bytes:
    """A MATLAB 5 file as scipy writes it."""
    X = np.array([[1.0, 0, 2], [0, 0, 3], [4, 5, 0]])
    stream = io.BytesIO()
    scipy.io.savemat(
        stream,
        {"data": sp.csc_array(X) if sparse else X, "target": np.array([[1, -1, 1], [-1, 1, 1]])},
        do_compression=compress,
    )
    return stream.getvalue()


def mat73(*, sparse: bool = False) -> bytes:
    """A MATLAB 7.3 file as MATLAB lays it out: HDF5 with columns as rows, after 512 bytes."""
    X = np.array([[1.0, 0, 2], [0, 0, 3], [4, 5, 0]])
    stream = io.BytesIO()
    with h5py.File(stream, "w", userblock_size=512) as archive:
        if sparse:
            columns = sp.csc_array(X)
            group = archive.create_group("data")
            group.attrs["MATLAB_sparse"] = np.uint64(3)
            group["data"] = columns.data
            group["ir"] = columns.indices.astype(np.uint64)
            group["jc"] = columns.indptr.astype(np.uint64)
        else:
            archive.create_dataset("data", data=X.T, compression="gzip")
        archive["target"] = np.array([[1, 0, 1], [0, 1, 1]], dtype=np.uint8).T
    content = bytearray(stream.getvalue())
    content[:19] = b"MATLAB 7.3 MAT-file"
    return bytes(content)


def npz_arrays() -> dict[str, Any]:
    """The arrays of a valid ``.npz`` file."""
    return {
        "X_data": np.array([1.0, 2.0, 3.0], dtype=np.float32),
        "X_indices": np.array([0, 2, 1], dtype=np.int32),
        "X_indptr": np.array([0, 2, 3]),
        "X_shape": np.array([2, 4]),
        "Y_indices": np.array([0, 0, 1], dtype=np.int32),
        "Y_indptr": np.array([0, 1, 3]),
        "Y_shape": np.array([2, 2]),
        "label_names": np.array(["a", "b"]),
        "feature_names": np.array(["w", "x", "y", "z"]),
        "source": np.array("by hand"),
    }


def npz(arrays: dict[str, Any] | None = None) -> bytes:
    """An ``.npz`` archive."""
    stream = io.BytesIO()
    np.savez_compressed(stream, **(npz_arrays() if arrays is None else arrays))
    return stream.getvalue()


def parquet() -> bytes:
    """A Parquet table with a list of tags."""
    table = pyarrow.table({"x": [1.5, 2.5], "n": [True, False], "tags": [["a", "b"], ["b"]]})
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


def valid_files() -> dict[str, list[bytes]]:
    """Valid files of every format."""
    return {
        "arff": [DENSE_ARFF, SPARSE_ARFF, SPARSE_ARFF.replace(b"\n", b"\r\n")],
        "extreme": [EXTREME],
        "libsvm": [LIBSVM],
        "matlab": [mat5(), mat5(sparse=True), mat5(compress=True), mat73(), mat73(sparse=True)],
        "npz": [npz()],
        "csv": [CSV],
        "tsv": [TSV],
        "parquet": [parquet()],
        "jsonl": [JSONL, JSON, gzip.compress(JSONL, mtime=0)],
    }


# A name may hold anything but half a character; .npz drops NULs at the end of a text.
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=12).filter(
    lambda name: not name.endswith("\0")
)
# XML has no way to write the other control characters, nor the last two of the basic plane.
_WRITABLE = re.compile(r"[\t\n\r\x20-\ufffd\U00010000-\U0010ffff]*")
xml_names = names.filter(lambda name: _WRITABLE.fullmatch(name) is not None)
finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


@st.composite
def bundles(draw: st.DrawFn) -> Bundle:
    """Small bundles with odd names and odd numbers, dense or sparse."""
    n_rows, n_features, n_labels = (draw(st.integers(1, 4)) for _ in range(3))
    cells = st.one_of(st.just(0.0), st.just(1.0), finite)
    X = np.array(draw(st.lists(cells, min_size=n_rows * n_features, max_size=n_rows * n_features)))
    X = X.reshape(n_rows, n_features)
    Y = np.array(
        draw(st.lists(st.booleans(), min_size=n_rows * n_labels, max_size=n_rows * n_labels))
    ).reshape(n_rows, n_labels)
    every = draw(
        st.lists(
            xml_names, min_size=n_features + n_labels, max_size=n_features + n_labels, unique=True
        )
    )
    return Bundle(
        sp.csr_array(X) if draw(st.booleans()) else X,
        Y.astype(np.int64),
        feature_names=every[:n_features],
        label_names=every[n_features:],
        name=draw(names),
    )


def dense(matrix: Any) -> Any:
    """A matrix as an array."""
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def workbook(rows: list[list[Any]]) -> bytes:
    """An Excel file; skips the test where openpyxl is not installed."""
    openpyxl = pytest.importorskip("openpyxl")
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(stream)
    return stream.getvalue()
