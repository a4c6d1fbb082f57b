"""A file in blocks is the file: below each other they are what ``read`` returns."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.sparse as sp

from grople import GroPLE
from grople.datasets import Bundle, make_grouped_multilabel, read, read_blocks, write
from grople.errors import DataError

DATA = make_grouped_multilabel(240, 12, 6, n_groups=2, random_state=3)
#: Small blocks: several hundred rows make many of them.
SMALL = 2000


def libsvm(bundle, base=1):
    lines = []
    for i in range(bundle.n_rows):
        labels = ",".join(str(3 * j + 5) for j in bundle.Y[[i]].indices)
        row = bundle.X[[i]]
        pairs = zip(row.indices, row.data, strict=True)
        lines.append(labels + "".join(f" {j + base}:{float(v)!r}" for j, v in pairs))
    return "\n".join(lines) + "\n"


def table(bundle, tags):
    X, Y = bundle.X.toarray(), bundle.Y.toarray()
    features = [f"f{j}" for j in range(X.shape[1])]
    labels = ["tags"] if tags else [f"label_{j}" for j in range(Y.shape[1])]
    lines = [",".join([*features, *labels])]
    for row, marks in zip(X, Y, strict=True):
        # Tags in an order of their own: those of a block are not those of the file.
        cells = [";".join(f"t{9 - j}" for j in np.flatnonzero(marks))] if tags else map(str, marks)
        lines.append(",".join([*(repr(float(value)) for value in row), *cells]))
    return "\n".join(lines) + "\n"


def arff(bundle):
    """ARFF with a nominal attribute that names rows, and one that does not."""
    X, Y = bundle.X.toarray(), bundle.Y.toarray()
    n = len(X)
    names = ",".join(f"row{i}" for i in range(n))
    kinds = ",".join("abcdefghijkl")
    head = [f"@relation 'x: -C {Y.shape[1]}'"]
    head += [f"@attribute l{j} {{0,1}}" for j in range(Y.shape[1])]
    head += [f"@attribute id {{{names}}}", f"@attribute kind {{{kinds}}}"]
    head += [f"@attribute f{j} numeric" for j in range(X.shape[1])]
    rows = [
        ",".join(
            [
                *map(str, Y[i]),
                f"row{n - 1 - i}",
                "abcdefghijkl"[i % 12],
                *map(repr, map(float, X[i])),
            ]
        )
        for i in range(n)
    ]
    return "\n".join([*head, "@data", *rows]) + "\n"


def whole(blocks):
    parts = list(blocks)
    X = sp.vstack([sp.csr_array(part.X) for part in parts], format="csr")
    Y = sp.vstack([part.Y for part in parts], format="csr")
    return X.toarray(), Y.toarray(), parts


@pytest.fixture(
    params=["extreme", "libsvm", "libsvm0", "csv", "tags", "arff", "npz", "parquet", "gzip"]
)
def file(request, tmp_path, monkeypatch):
    # Text comes in pieces of a megabyte; here in pieces of a few lines.
    monkeypatch.setattr("grople.datasets._streams.BLOCK_BYTES", 700)
    monkeypatch.setattr("grople.datasets.tables._ROWS_AT_ONCE", 9)
    path = tmp_path / "data"
    if request.param == "extreme":
        write(DATA, path, "extreme")
    elif request.param == "npz":
        write(DATA, path, "npz")
    elif request.param == "gzip":
        write(DATA, tmp_path / "data.txt", "extreme")
        path.write_bytes(gzip.compress((tmp_path / "data.txt").read_bytes()))
    elif request.param == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        X, Y = DATA.X.toarray(), DATA.Y.toarray()
        columns = {f"f{j}": X[:, j] for j in range(X.shape[1])}
        columns["tags"] = [[f"t{9 - j}" for j in np.flatnonzero(marks)] for marks in Y]
        parquet.write_table(pyarrow.table(columns), path)
    else:
        made = {
            "libsvm": lambda: libsvm(DATA),
            "libsvm0": lambda: libsvm(DATA, 0),
            "csv": lambda: table(DATA, False),
            "tags": lambda: table(DATA, True),
            "arff": lambda: arff(DATA),
        }
        path.write_text(made[request.param]())
    return path


def test_the_blocks_of_a_file_are_the_file(file):
    expected = read(file)
    blocks = read_blocks(file, block_bytes=SMALL)
    X, Y, parts = whole(blocks)
    assert len(parts) > 3
    features = expected.X.toarray() if sp.issparse(expected.X) else expected.X
    np.testing.assert_array_equal(X, features)
    np.testing.assert_array_equal(Y, expected.Y.toarray())
    assert tuple(blocks.feature_names) == tuple(expected.feature_names)
    assert tuple(blocks.label_names) == tuple(expected.label_names)
    for part in parts:
        assert tuple(part.label_names) == tuple(expected.label_names)
        assert part.name == expected.name
    assert len(list(blocks)) == len(parts), "once more from the start"


def test_a_model_of_blocks_is_that_of_the_file(tmp_path):
    path = tmp_path / "data.txt"
    write(DATA, path)
    data = read(path)
    model = GroPLE(random_state=0).fit_blocks(read_blocks(path, block_bytes=SMALL))
    expected = GroPLE(random_state=0).fit(data.X, data.Y)
    # The same sums in another order.
    np.testing.assert_allclose(
        model.decision_function(data.X), expected.decision_function(data.X), atol=1e-8
    )
    assert (model.predict(data.X) != expected.predict(data.X)).nnz == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_arrays_in_files_are_mapped(tmp_path, dtype):
    X = (8 * DATA.X.toarray()).astype(dtype)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "Y.npy", DATA.Y.toarray().astype(np.int8))
    blocks = read_blocks(tmp_path / "X.npy", labels=tmp_path / "Y.npy", block_bytes=SMALL)
    found, labels, parts = whole(blocks)
    assert len(parts) > 1
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, DATA.Y.toarray())


def test_single_precision_stays(tmp_path):
    bundle = Bundle(DATA.X.astype(np.float32), DATA.Y)
    write(bundle, tmp_path / "data.npz")
    assert {part.X.dtype for part in read_blocks(tmp_path / "data.npz")} == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"3 2 2\n0 0:1\n1 1:1\n", "promises 3 rows, the file has 2"),
        (b"1 2 2\n0 0:1\n1 1:1\n", "the file has more"),
        (b"2 2 2\n0 0:1\n1 5:1\n", "line 3: feature index 5 is out of range"),
        (b"0 2 2\n", "no rows"),
        (b"f,tags\n1,a\nx,b\n", "line 3: column 'f'"),
        (b"f,tags\n1,\n2,\n", "no labels"),
        (b"tags\na\n", "no features"),
    ],
)
def test_mistakes_are_named_as_in_a_whole_file(tmp_path, content, message):
    path = tmp_path / "data"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        list(read_blocks(path, format="csv" if b"," in content or b"tags" in content else None))


def test_what_cannot_be_read_in_blocks_says_so(tmp_path):
    text = tmp_path / "notes.jsonl"
    text.write_text('{"text": "a", "tags": ["b"]}\n')
    with pytest.raises(DataError, match="cannot be read in blocks"):
        read_blocks(text)
    np.save(tmp_path / "X.npy", np.eye(3))
    np.save(tmp_path / "Y.npy", np.eye(2))
    with pytest.raises(DataError, match="name the file of its labels"):
        read_blocks(tmp_path / "X.npy")
    with pytest.raises(DataError, match="3 rows but Y has 2"):
        read_blocks(tmp_path / "X.npy", labels=tmp_path / "Y.npy")
    np.save(tmp_path / "O.npy", np.array([None]), allow_pickle=True)
    with pytest.raises(DataError, match="not a readable array"):
        read_blocks(tmp_path / "O.npy", labels=tmp_path / "Y.npy")
    with pytest.raises(ValueError, match="block_bytes"):
        read_blocks(text, block_bytes=0)
    write(DATA, tmp_path / "data.txt")
    with pytest.raises(ValueError, match="does not apply"):
        read_blocks(tmp_path / "data.txt", labels="tags")


def test_a_damaged_archive_is_refused(tmp_path):
    path = tmp_path / "data.npz"
    write(DATA, path)
    content = path.read_bytes()
    for cut in (len(content) // 2, len(content) - 30):
        path.write_bytes(content[:cut])
        with pytest.raises(DataError):
            list(read_blocks(path))
    write(DATA, tmp_path / "whole.npz")
    arrays = dict(np.load(tmp_path / "whole.npz"))
    for key, value in [
        ("X_indptr", arrays["X_indptr"][::-1].copy()),
        ("X_data", arrays["X_data"][:-1]),
        ("X_indices", arrays["X_indices"] + 50),
        ("Y_shape", arrays["Y_shape"] + [1, 0]),
    ]:
        np.savez(path, **(arrays | {key: value}))
        with pytest.raises(DataError):
            list(read_blocks(path))
