"""Every format in its three uses, whole, in blocks and to predict: the same rows and rules."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.io
import scipy.sparse as sp

from grople import GroPLE
from grople.datasets import (
    Bundle,
    MixedTable,
    Reading,
    aligned_features,
    make_grouped_multilabel,
    open_records,
    read,
    read_blocks,
    read_examples,
    write,
)
from grople.errors import DataError
from grople.features import TableFeatures
from tests.datasets.samples import dense, workbook

DATA = make_grouped_multilabel(240, 12, 6, n_groups=2, random_state=3)
X, Y = DATA.X.toarray(), DATA.Y.toarray()
#: Small blocks: several hundred rows make many of them.
SMALL = 2000
TEXTS = [f"text {i} of a {'chess' if i % 3 else 'card'} game" for i in range(60)]
#: Tags in an order of their own: those of a block are not those of the file.
TEXT_TAGS = [[f"t{9 - j}" for j in range(1 + i % 4)] for i in range(60)]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """Text comes in pieces of a megabyte, tables in thousands of rows; here in a few lines."""
    monkeypatch.setattr("grople.files._sources.BLOCK_BYTES", 700)
    monkeypatch.setattr("grople.datasets._formats._tables._ROWS_AT_ONCE", 9)
    monkeypatch.setattr("grople.datasets._formats._npz._BATCH_BYTES", 3000)
    monkeypatch.setattr("os.fsync", lambda _: None)


def table(mark=",", tags=False):
    head = ["id", *(f"f{j}" for j in range(12))]
    head += ["tags"] if tags else [f"label_{j}" for j in range(6)]
    lines = [mark.join(head)]
    for i, (row, marks) in enumerate(zip(X, Y, strict=True)):
        cells = ["|".join(f"t{9 - j}" for j in np.flatnonzero(marks))] if tags else map(str, marks)
        lines.append(mark.join([f"r{i}", *(repr(float(value)) for value in row), *cells]))
    return ("\n".join(lines) + "\n").encode()


def libsvm(base):
    lines = []
    for row, marks in zip(X, Y, strict=True):
        labels = ",".join(str(3 * j + 5) for j in np.flatnonzero(marks))
        pairs = "".join(f" {j + base}:{float(row[j])!r}" for j in np.flatnonzero(row))
        lines.append(labels + pairs)
    return ("\n".join(lines) + "\n").encode()


def arff():
    """ARFF with a nominal attribute that names rows, and one that does not."""
    names = ",".join(f"row{i}" for i in range(len(X)))
    head = ["@relation 'x: -C 6'", *(f"@attribute l{j} {{0,1}}" for j in range(6))]
    head += [f"@attribute id {{{names}}}", "@attribute kind {a,b,c}"]
    head += [f"@attribute f{j} numeric" for j in range(12)]
    rows = [
        ",".join([*map(str, Y[i]), f"row{i}", "abc"[i % 3], *map(repr, map(float, X[i]))])
        for i in range(len(X))
    ]
    return ("\n".join([*head, "@data", *rows]) + "\n").encode()


def parquet(columns):
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), stream)
    return stream.getvalue()


def matlab():
    stream = io.BytesIO()
    scipy.io.savemat(stream, {"data": sp.csc_array(X), "target": 2 * Y.T - 1})
    return stream.getvalue()


def written(folder, ending):
    (path,) = write(Bundle(DATA.X, DATA.Y), folder / f"made{ending}")
    return path.read_bytes()


def arrays(folder):
    stream = io.BytesIO()
    np.save(stream, X)
    np.save(folder / "Y.npy", 2 * Y.astype(np.int8) - 1)
    return stream.getvalue()


NUMBERS = {
    "csv": (lambda folder: table(), Reading(ids="id")),
    "tsv": (lambda folder: table("\t"), Reading(ids="id")),
    "csv of tags": (lambda folder: table(tags=True), Reading(ids="id")),
    "parquet": (
        lambda folder: parquet({f"f{j}": X[:, j] for j in range(12)}
                               | {f"label_{j}": Y[:, j] for j in range(6)}),
        Reading(),
    ),
    "arff": (lambda folder: arff(), Reading()),
    "extreme": (lambda folder: written(folder, ".txt"), Reading()),
    "packed": (lambda folder: gzip.compress(written(folder, ".txt")), Reading()),
    "libsvm": (lambda folder: libsvm(1), Reading()),
    "libsvm from 0": (lambda folder: libsvm(0), Reading()),
    "npz": (lambda folder: written(folder, ".npz"), Reading()),
    "npy": (arrays, Reading(labels="Y.npy")),
    "matlab": (lambda folder: matlab(), Reading()),
    "UTF-16": (lambda folder: table().decode().encode("utf-16"), Reading(ids="id")),
}  # fmt: skip


@pytest.fixture(params=NUMBERS)
def numbers(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make, reading = NUMBERS[request.param]
    (tmp_path / "data").write_bytes(make(tmp_path))
    return request.param, Path("data"), reading


def whole_of(blocks):
    parts = list(blocks)
    names = [name for part in parts for name in part.row_names]
    return (
        sp.vstack([sp.csr_array(part.X) for part in parts]).toarray(),
        sp.vstack([part.Y for part in parts]).toarray(),
        names,
        parts,
    )


def test_numbers_are_the_same_in_every_use(numbers):
    kind, path, reading = numbers
    examples, how = read_examples(path, reading)
    columns = [j for j, name in enumerate(examples.feature_names) if "kind" not in name]
    assert np.array_equal(dense(examples.X)[:, columns], X)
    backwards = [5, 4, 3, 2, 1, 0] if kind == "csv of tags" else list(range(6))
    assert np.array_equal(examples.Y.toarray(), Y[:, backwards])
    blocks = read_blocks(path, reading, block_bytes=SMALL)
    found, labels, names, parts = whole_of(blocks)
    assert len(parts) >= 3
    assert blocks.reading == how
    assert np.array_equal(found, dense(examples.X))
    assert np.array_equal(labels, examples.Y.toarray())
    for part in (blocks, *parts):
        assert tuple(part.feature_names) == tuple(examples.feature_names)
        assert tuple(part.label_names) == tuple(examples.label_names)
    assert tuple(names) == examples.row_names
    if kind in ("csv", "arff"):
        assert names[:2] == (["r0", "r1"] if kind == "csv" else ["row0", "row1"])
    assert len(list(blocks)) == len(parts), "once more from the start"
    # A model knows its features by name, in whatever order.
    named = kind not in ("extreme", "packed", "libsvm", "libsvm from 0", "npy", "matlab", "npz")
    order = np.random.default_rng(0).permutation(12) if named else np.arange(12)
    wanted = [f"f{j}" for j in order] if named else [f"feature{j}" for j in range(12)]
    with open_records(path, how.for_records(None), feature_names=wanted, n_features=12) as records:
        rows = list(records)
    assert np.array_equal(np.vstack([dense(part.content) for part in rows]), X[:, order])
    if reading.ids:
        assert [name for part in rows for name in part.names] == names
    assert sum(map(len, rows)) == 240


FORMS = {
    "json lines": b"\n".join(
        json.dumps({"Text": text, "TAGS": tags, "id": str(i)}).encode()
        for i, (text, tags) in enumerate(zip(TEXTS, TEXT_TAGS, strict=True))
    ),
    "json array": json.dumps(
        [{"text": text, "tags": tags, "id": i}
         for i, (text, tags) in enumerate(zip(TEXTS, TEXT_TAGS, strict=True))], indent=1
    ).encode(),
    "csv": "\n".join(
        ["id,text,Labels", *(f"{i},{text},{' | '.join(tags)}"
                             for i, (text, tags) in enumerate(zip(TEXTS, TEXT_TAGS, strict=True)))]
    ).encode(),
    "parquet": parquet({"id": list(map(str, range(60))), "text": TEXTS, "tags": TEXT_TAGS}),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_texts_are_the_same_in_every_use(tmp_path, form):
    path = tmp_path / "texts"
    path.write_bytes(FORMS[form])
    examples, how = read_examples(path, Reading(ids="id"))
    assert examples.texts == tuple(TEXTS)
    assert examples.tags == tuple(tuple(sorted(tags)) for tags in TEXT_TAGS)
    assert examples.ids == tuple(map(str, range(60)))
    blocks = read_blocks(path, Reading(ids="id"), block_bytes=300)
    assert blocks.texts
    assert blocks.reading == how
    assert tuple(blocks.label_names) == ("t6", "t7", "t8", "t9")
    parts = list(blocks)
    assert len(parts) >= 3
    for field in ("texts", "tags", "ids"):
        assert sum((getattr(part, field) for part in parts), ()) == getattr(examples, field)
    with open_records(path, how.for_records(None), feature_names=None) as records:
        rows = list(records)
    assert [text for part in rows for text in part.content] == TEXTS
    assert [name for part in rows for name in part.names] == list(map(str, range(60)))
    # As a bundle, with the words of the texts as features.
    bundle = read(path)
    assert "chess" in bundle.feature_names
    assert bundle.label_names == ("t6", "t7", "t8", "t9")
    assert bundle.Y.sum() == sum(map(len, TEXT_TAGS))


# -- one rule each, the same everywhere ----------------------------------------------------------


def use_whole(path, reading, names):
    return dense(read_examples(path, reading)[0].X)


def use_blocks(path, reading, names):
    return whole_of(read_blocks(path, reading))[0]


def use_predict(path, reading, names):
    with open_records(path, reading, feature_names=names, n_features=len(names)) as records:
        return np.vstack([dense(part.content) for part in records])


USES = [use_whole, use_blocks, use_predict]
TWICE = {
    "csv": b"a,a,b,tags\n1,2,3,x\n",
    "tsv": b"a\tb\ta\tlabel_x\n1\t2\t3\t1\n",
    "arff": b"@attribute a real\n@attribute a real\n@attribute b {0,1}\n@data\n1,2,1\n",
}
HEAD = b"@relation 'x: -C -1'\n@attribute a numeric\n@attribute y numeric\n@data\n"


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("format", [*TWICE, "parquet", "excel"])
def test_a_name_that_occurs_twice_is_refused(tmp_path, use, format):
    stream = io.BytesIO()
    if format == "parquet":
        columns = [pyarrow.array([1.0])] * 3
        pyarrow.parquet.write_table(pyarrow.Table.from_arrays(columns, ["a", "a", "tags"]), stream)
    elif format == "excel":
        stream.write(workbook([["a", "a", "tags"], [1, 2, "x"]]))
    (tmp_path / "x").write_bytes(TWICE.get(format) or stream.getvalue())
    with pytest.raises(DataError, match="two columns are called 'a'"):
        use(tmp_path / "x", Reading(), ["a", "b"])


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("content", [b"1,2,3\n4,5,6\n", b"1\t2\n3\t4\n", b'"1";"2"\n1;2\n'])
def test_a_table_without_names_never_loses_its_first_row(tmp_path, use, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DataError, match="line 1: the first line must name the columns"):
        use(tmp_path / "x", Reading(labels="1"), ["1", "2"])


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("format", ["csv", "arff", "npy", "matlab"])
@pytest.mark.parametrize("label", [-1, 2, 0.5])
def test_labels_are_zeros_and_ones_and_predictions_ignore_them(tmp_path, use, format, label):
    path, reading, names = tmp_path / "x", Reading(), ["a"]
    if format == "csv":
        path.write_text(f"a,label_y\n5,1\n6,{label}\n")
    elif format == "arff":
        path.write_bytes(HEAD + f"5,1\n6,{label}\n".encode())
    elif format == "npy":
        with path.open("wb") as stream:
            np.save(stream, np.array([[5.0], [6.0]]))
        np.save(tmp_path / "y.npy", np.array([[1], [label]]))
        reading = Reading(labels=tmp_path / "y.npy")
    else:
        scipy.io.savemat(path, {"X": np.array([[5.0], [6.0]]), "Y": np.array([[1], [label]])},
                         appendmat=False)  # fmt: skip
    if label == -1 or use is use_predict:
        assert use(path, reading, names).tolist() == [[5], [6]]
    else:
        with pytest.raises(DataError, match=rf"{label}.*0 or 1|0 or 1.*{label}"):
            use(path, reading, names)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("content", "line"), [(b"a,label_y\n5,1\n?,0\n", 3), (HEAD + b"5,1\n?,0\n", 6)]
)
def test_a_missing_value_is_an_error_zero_or_nan(tmp_path, use, content, line):
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"line {line}: .*'a' is missing.*missing='zero'"):
        use(path, Reading(), ["a"])
    assert use(path, Reading(missing="zero"), ["a"]).tolist() == [[5], [0]]
    assert np.isnan(use(path, Reading(missing="nan"), ["a"])[1, 0])


@pytest.mark.parametrize("use", USES[:2])
@pytest.mark.parametrize("content", [b"a,label_y\n5,1\n6,?\n", HEAD + b"5,1\n6,?\n"])
def test_a_missing_label_is_an_error_or_no_label(tmp_path, use, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    for rule in ("error", "nan"):
        with pytest.raises(DataError, match=r"line \d: .*'y'|line \d: .*'label_y'"):
            use(path, Reading(missing=rule), ["a"])
    assert use(path, Reading(missing="zero"), ["a"]).tolist() == [[5], [6]]
    # Nobody knows the labels of rows to predict.
    assert use_predict(path, Reading(), ["a"]).tolist() == [[5], [6]]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"3 2 2\n0 0:1\n1 1:1\n", "promises 3 rows, the file has 2"),
        (b"1 2 2\n0 0:1\n1 1:1\n", "the file has more"),
        (b"2 2 2\n0 0:1\n1 5:1\n", "line 3: feature index 5 is out of range"),
        (b"a,b,tags\n1,2,u\nx,2,v\n", "line 3: column 'a': 'x' is not a number"),
        (b"a,b,tags\n1,2,u\n1,2\n", "line 3: expected 3 columns, found 2"),
        (b"0 1:1 2:1\n0 1:1 9:1\n", "line 2: feature index 9"),
        (written(Path("/tmp"), ".npz")[:-30], "archive"),
        (b"", "an empty file"),
    ],
)  # fmt: skip
def test_damage_is_named_alike(tmp_path, use, content, message):
    path = tmp_path / "data"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        use(path, Reading(n_features=2) if b"9:1" in content else Reading(), ["a", "b"])


# -- files that hold other things ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "reading", "message"),
    [
        (b"f,tags\n1,\n2,\n", Reading(), "no labels"),
        (b"tags\na\n", Reading(format="csv"), "no features"),
        (b"f,tags\n", Reading(), "no rows"),
        (b"0 2 2\n", Reading(), "no rows"),
        (b"text,tags\nhello,\n", Reading(), "no labels"),
        (b"hello\n", Reading(format="lines"), "holds no labels"),
        (b"1 2 1\n0 0:1\n", Reading(features=("a",)), "no names to choose by"),
        (b"1 2 1\n0 0:1\n", Reading(text="a"), "leave out text="),
        (b'{"text": "a", "tags": []}\n', Reading(features=("a",)), "leave out features="),
    ],
)
def test_nothing_to_learn_from(tmp_path, content, reading, message):
    path = tmp_path / "data"
    path.write_bytes(content)
    for use in USES[:2]:
        with pytest.raises(DataError, match=message):
            use(path, reading, [])


@pytest.mark.parametrize(
    ("content", "names", "said"),
    [
        ("b,c\n1,2\n", ["a", "b", "d"], "no feature 'a' and 1 more"),
        ("name,body\nx,y\n", None, "no column 'text' for the text; there are 'name', 'body'"),
        ('{"text": "x"}\n', ["a"], "learnt from columns of numbers"),
        ("1 3 1\n0 0:1\n", ["a", "b"], "3 features, but the model has 2"),
        ("1 1:1 5:1\n", ["a", "b"], "line 1.*out of range"),
        ("@relation x\n@attribute a numeric\n@data\n1\n", None, "from texts"),
        ("@relation x\n@attribute a numeric\n@data\n1\n", ["b"], "no feature 'b'"),
        ('{"text": 3}\n', None, "line 1: field 'text' must be text"),
    ],
)
def test_records_that_do_not_fit_say_why(tmp_path, content, names, said):
    (tmp_path / "x").write_text(content)
    with (
        pytest.raises(DataError, match=said),
        open_records(tmp_path / "x", Reading(), feature_names=names, n_features=2) as records,
    ):
        list(records)


def test_nominal_attributes_are_found_by_value(tmp_path):
    file = tmp_path / "c.arff"
    file.write_text(
        "@relation x\n@attribute colour {red,green,blue}\n@attribute a numeric\n"
        "@attribute note string\n@data\ngreen,2,?\nred,0,'x y'\n"
    )
    names = ["a", "colour=red", "colour=blue"]
    assert use_predict(file, Reading(), names).tolist() == [[2, 0, 0], [0, 1, 0]]


def test_columns_are_chosen_by_name_prefix_and_exclusion(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("id,a1,a2,b,good,bad\nr1,1,2,x,1,0\nr2,3,4,y,0,1\n")
    bundle, _ = read_examples(file, Reading(labels="good,bad", features=("a*",), ids="ID"))
    assert bundle.feature_names == ("a1", "a2")
    assert bundle.row_names == ("r1", "r2")
    assert bundle.X.tolist() == [[1, 2], [3, 4]]
    ignoring, _ = read_examples(file, Reading(labels="good,bad", ignore=("b", "a2"), ids="id"))
    assert ignoring.feature_names == ("a1",)
    for wrong, said in (
        ({"features": ("c",)}, "no column 'c' for features; there are 'id', 'a1', 'a2'"),
        ({"ids": "nope"}, "no column 'nope' for the row names; there are 'id', 'a1'"),
        ({"text": "nope"}, "no column 'nope' for the text"),
        ({"text": "b", "features": ("a1",)}, "leave out features="),
    ):
        with pytest.raises(DataError, match=said):
            read_examples(file, Reading(labels="good,bad", **wrong))


def test_columns_of_mixed_kinds(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("city,x,day,tags\nRome,1,2024-05-01,a|b\n,2,,b\n")
    with pytest.raises(DataError, match="line 2: column 'city': 'Rome' is not a number"):
        read_examples(file)
    table, reading = read_examples(file, mixed=True)
    assert isinstance(table, MixedTable)
    assert {name: list(column) for name, column in table.columns.items()} == {
        "city": ["Rome", None], "x": ["1", "2"], "day": ["2024-05-01", None],
    }  # fmt: skip
    assert (len(table), table.label_names) == (2, ("a", "b"))
    assert table.Y.toarray().tolist() == [[1, 1], [0, 1]]
    assert TableFeatures(min_rows=1).fit_transform(table.columns).shape[0] == 2
    # Later files are read so too, also where all cells are numbers.
    file.write_text("x,city,tags\n1,2,a\n")
    assert isinstance(read_examples(file, reading)[0], MixedTable)
    with open_records(file, reading, feature_names=None, columns=["city", "x"]) as records:
        (block,) = records
    assert (len(block), {key: list(cells) for key, cells in block.content.items()}) == (
        1, {"city": ["2"], "x": ["1"]},
    )  # fmt: skip
    with pytest.raises(DataError, match="not read in blocks"):
        read_blocks(file, reading)
    file.write_text("1 2 1\n0 0:1\n")
    with (
        pytest.raises(DataError, match="learnt from a table"),
        open_records(file, Reading(), feature_names=None, columns=["x"]) as records,
    ):
        list(records)


def test_features_are_chosen_by_name_in_other_formats(tmp_path):
    named = Bundle(DATA.X[:, :4], DATA.Y, feature_names=["a", "b", "c", "d"])
    (file,) = write(named, tmp_path / "x.npz")
    chosen, _ = read_examples(file, Reading(features=("d", "b")))
    assert chosen.feature_names == ("b", "d")
    found, _, _, _ = whole_of(read_blocks(file, Reading(features=("d", "b")), block_bytes=SMALL))
    assert np.array_equal(found, X[:, [1, 3]])


def test_a_single_column_is_a_label_or_holds_tags(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,y\n1,1\n2,0\n")
    assert read_examples(file, Reading(labels="y"))[0].Y.toarray().tolist() == [[1], [0]]
    assert read_examples(file, Reading(tags="y"))[0].label_names == ("0", "1")
    assert read(file, labels="y").label_names == ("0", "1")


@pytest.mark.parametrize("first", [0, 1])
def test_a_libsvm_file_has_the_columns_of_an_earlier_one(tmp_path, first):
    file = tmp_path / "t.svm"
    file.write_text(f"3,7 {first}:0.5 {first + 3}:2\n7 {first + 1}:1\n")
    bundle, reading = read_examples(file)
    assert (reading.first_index, reading.n_features) == (first, 4)
    assert dense(bundle.X).tolist() == [[0.5, 0, 0, 2], [0, 1, 0, 0]]
    # A later file need not have the first feature, nor the last.
    file.write_text(f"3 {first + 1}:9\n")
    assert dense(read_examples(file, reading)[0].X).tolist() == [[0, 9, 0, 0]]


def test_how_one_file_was_read_serves_others(tmp_path):
    """Rows may be added to a model from a file of another format, with tags elsewhere."""
    first, numbers, texts = (tmp_path / name for name in ("a.svm", "b.csv", "c.jsonl"))
    first.write_text("3,7 1:0.5 2:2\n7 2:1\n")
    numbers.write_text("x,y,tags\n1,2,a;b\n3,4,b\n")
    texts.write_text('{"text": "a chess game", "labels": ["x"]}\n')
    (archive,) = write(Bundle(np.eye(2), np.eye(2)), tmp_path / "d.npz")
    for earlier in (first, numbers):
        reading = read_examples(earlier)[1].for_records(None)
        for later in (first, numbers, archive):
            assert read_examples(later, reading)[0].n_features == 2
    reading = read_examples(texts)[1].for_records(None)
    numbers.write_text("Text,Tags\na chess game,x|y\n")
    assert read_examples(numbers, reading)[0].tags == (("x", "y"),)
    mixed = Reading(mixed=True)
    assert isinstance(read_examples(archive, mixed)[0], Bundle)


def test_features_are_aligned_by_name_or_number():
    bundle = Bundle(np.eye(3), np.ones((3, 1)))
    assert aligned_features(bundle, ["x", "y", "z"], 3).tolist() == np.eye(3).tolist()
    with pytest.raises(DataError, match="3 features, but the model has 2"):
        aligned_features(bundle, ["x", "y"], 2)


def test_a_model_of_blocks_is_that_of_the_file(tmp_path):
    path = write(DATA, tmp_path / "data.txt")[0]
    model = GroPLE(random_state=0).fit_blocks(read_blocks(path, block_bytes=SMALL))
    expected = GroPLE(random_state=0).fit(DATA.X, DATA.Y)
    # The same sums in another order.
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_single_precision_stays(tmp_path, dtype):
    np.save(tmp_path / "X.npy", (8 * X).astype(dtype))
    np.save(tmp_path / "Y.npy", Y.astype(np.int8))
    bundle = read(tmp_path / "X.npy", labels=tmp_path / "Y.npy")
    assert bundle.X.dtype == (np.float32 if dtype == np.float32 else np.float64)
    (path,) = write(bundle, tmp_path / "data.npz")
    assert {part.X.dtype for part in read_blocks(path)} == {bundle.X.dtype}


def test_arrays_that_are_no_data(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(3))
    np.save(tmp_path / "Y.npy", np.eye(2))
    np.save(tmp_path / "O.npy", np.array([None]), allow_pickle=True)
    for name, labels, said in (
        ("X.npy", None, "name the file of its labels as labels="),
        ("X.npy", tmp_path / "Y.npy", "3 rows but Y has 2"),
        ("O.npy", tmp_path / "Y.npy", "not a readable array"),
    ):
        with pytest.raises(DataError, match=said):
            read(tmp_path / name, labels=labels)
    with pytest.raises(ValueError, match="block_bytes"):
        read_blocks(tmp_path / "X.npy", labels=tmp_path / "X.npy", block_bytes=0)


def test_a_file_that_changes_is_noticed(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,tags\n1,x\n")
    blocks = read_blocks(path)
    path.write_text("a,tags\n1,x\n2,y\n")
    with pytest.raises(DataError, match="changed while it was read"):
        list(blocks)


# -- the standard input --------------------------------------------------------------------------


class SlowInput:
    """A standard input that gives a few bytes at a time."""

    closed = False

    def __init__(self, data: bytes) -> None:
        self.buffer = self
        self._data = io.BytesIO(data)

    def read1(self, size: int) -> bytes:
        return self._data.read(min(size, 7))


def from_input(monkeypatch, data, reading=None, names=None):
    monkeypatch.setattr(sys, "stdin", SlowInput(data) if data is not None else None)
    n_features = len(names or ())
    with open_records(
        "-", reading or Reading(), feature_names=names, n_features=n_features
    ) as records:
        return list(records)


def test_the_standard_input_is_answered_as_it_comes(monkeypatch):
    lines = "\n".join(TEXTS[:5])
    blocks = from_input(monkeypatch, lines.encode())
    assert [text for block in blocks for text in block.content] == TEXTS[:5]
    assert len(blocks) == 5  # each as soon as its line has ended
    objects = "\n".join(json.dumps({"text": text, "id": i}) for i, text in enumerate(TEXTS[:5]))
    blocks = from_input(monkeypatch, objects.encode(), Reading(ids="id"))
    assert [text for block in blocks for text in block.content] == TEXTS[:5]
    assert blocks[0].names == ["0"]
    (block,) = from_input(monkeypatch, b"b,a\n1,2\n3,4\n", names=["a", "b"])
    assert block.content.tolist() == [[2, 1], [4, 3]]
    assert len(from_input(monkeypatch, FORMS["parquet"])) > 3
    assert from_input(monkeypatch, b"") == []


def test_wrong_standard_input(monkeypatch):
    for data, names, said in (
        (None, None, "closed"),
        (b"\x1f\x8b\x08\x00", None, "zcat"),
        (b"hello", ["a"], "pass format="),
    ):
        with pytest.raises(DataError, match=said):
            from_input(monkeypatch, data, names=names)
