"""Records to tag: every format in blocks, the same rows as when read whole."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from grople.datasets import Bundle, make_grouped_multilabel, write
from grople.datasets._streams import BLOCK_BYTES
from grople.errors import DataError
from grople.tagging.reading import Reading
from grople.tagging.records import aligned_features, open_records


def rows_of(path, reading=None, **wanted):
    wanted = {"feature_names": None, "n_features": 0} | wanted
    with open_records(path, reading or Reading(), **wanted) as blocks:
        return list(blocks)


def matrix(blocks):
    return sp.vstack([sp.csr_array(block.content) for block in blocks]).toarray()


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """The same numbers in every format, more than one block of each."""
    folder = tmp_path_factory.mktemp("numbers")
    data = make_grouped_multilabel(5000, 12, 4, n_groups=2, random_state=0)
    X = np.round(np.asarray(sp.csr_array(data.X).toarray()), 6)
    features, labels = [f"f{i}" for i in range(12)], [f"l{i}" for i in range(4)]
    bundle = Bundle(X, data.Y, feature_names=features, label_names=labels)
    write(bundle, folder / "n.arff")
    write(bundle, folder / "n.txt")
    write(bundle, folder / "n.npz")
    header = ",".join([*labels[:2], *reversed(features)])
    cells = "\n".join(",".join(["0", "1", *map(repr, row[::-1].tolist())]) for row in X)
    (folder / "n.csv").write_text(f"{header}\n{cells}\n")
    (folder / "n.tsv").write_text(f"{header}\n{cells}\n".replace(",", "\t"))
    svm = "\n".join("1 " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(r.tolist())) for r in X)
    (folder / "n.svm").write_text(svm + "\n")
    return folder, X, features, labels


@pytest.mark.parametrize("ending", ["arff", "txt", "npz", "csv", "tsv", "svm"])
def test_numbers_are_the_same_from_every_format(numbers, ending):
    folder, X, features, labels = numbers
    blocks = rows_of(
        folder / f"n.{ending}", feature_names=features, n_features=12, label_names=labels
    )
    assert np.array_equal(matrix(blocks), X)
    if ending != "npz":  # which is read whole
        assert len(blocks) > 1 or (folder / f"n.{ending}").stat().st_size < BLOCK_BYTES


def test_nominal_attributes_are_found_by_value(tmp_path):
    file = tmp_path / "c.arff"
    file.write_text(
        "@relation x\n@attribute colour {red,green,blue}\n@attribute a numeric\n"
        "@attribute y {0,1}\n@data\ngreen,2,1\nred,0,0\n"
    )
    names = ["a", "colour=red", "colour=green", "colour=blue"]
    blocks = rows_of(file, feature_names=names, n_features=4, label_names=["y"])
    assert matrix(blocks).tolist() == [[2, 0, 1, 0], [0, 1, 0, 0]]


def test_texts_are_the_same_from_every_format(folder, documents, tmp_path):
    texts = [document["text"] for document in documents]
    names = [document["name"] for document in documents]
    (tmp_path / "t.txt").write_text("\n".join(texts) + "\n")
    for file in (folder / "things.jsonl", folder / "things.csv"):
        blocks = rows_of(file, Reading(ids="name"))
        assert [text for block in blocks for text in block.content] == texts
        assert [name for block in blocks for name in block.names] == names
    assert [text for block in rows_of(tmp_path / "t.txt") for text in block.content] == texts


class SlowInput:
    """A standard input that gives a few bytes at a time."""

    closed = False

    def __init__(self, data: bytes) -> None:
        self.buffer = self
        self._data = io.BytesIO(data)

    def read1(self, size: int) -> bytes:
        return self._data.read(min(size, 7))


def test_the_standard_input_is_answered_as_it_comes(monkeypatch, documents):
    lines = "\n".join(document["text"] for document in documents[:5])
    monkeypatch.setattr(sys, "stdin", SlowInput(lines.encode()))
    blocks = rows_of("-")
    assert [text for block in blocks for text in block.content] == lines.split("\n")
    assert len(blocks) == 5  # each as soon as its line has ended
    objects = "\n".join(json.dumps(document) for document in documents[:5])
    monkeypatch.setattr(sys, "stdin", SlowInput(objects.encode()))
    blocks = rows_of("-", Reading(ids="name"))
    assert [text for block in blocks for text in block.content] == lines.split("\n")
    assert blocks[0].names == [documents[0]["name"]]
    monkeypatch.setattr(sys, "stdin", SlowInput(b"b,a\n1,2\n3,4\n"))
    assert matrix(rows_of("-", feature_names=["a", "b"], n_features=2)).tolist() == [[2, 1], [4, 3]]
    monkeypatch.setattr(sys, "stdin", SlowInput(b""))
    assert rows_of("-") == []


def test_wrong_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match="closed"):
        rows_of("-")
    monkeypatch.setattr(sys, "stdin", SlowInput(b"\x1f\x8b\x08\x00"))
    with pytest.raises(DataError, match="zcat"):
        rows_of("-")
    monkeypatch.setattr(sys, "stdin", SlowInput(b"hello"))
    with pytest.raises(DataError, match="--format"):
        rows_of("-", feature_names=["a"], n_features=1)


@pytest.mark.parametrize(
    ("content", "wanted", "said"),
    [
        ("b,c\n1,2\n", {"feature_names": ["a", "b", "d"]}, "no feature 'a' and 1 more"),
        ("name,body\nx,y\n", {"feature_names": None}, "no column 'text'.*--text"),
        ('{"text": "x"}\n', {"feature_names": ["a"]}, "learnt from columns of numbers"),
        ("2 3 1\n0 0:1\n", {"feature_names": ["a", "b"], "n_features": 2}, "3 features, but"),
        ("2 2 1\n0 0:1\n", {"feature_names": ["a", "b"], "n_features": 2}, "truncated"),
        (
            "1 2 1\n0 0:1\n0 0:1\n",
            {"feature_names": ["a", "b"], "n_features": 2},
            "line 3: .*more",
        ),
        ("1 1:1 5:1\n", {"feature_names": ["a", "b"], "n_features": 2}, "line 1.*out of range"),
        ("@relation x\n@attribute a numeric\n@data\n1\n", {"feature_names": None}, "from texts"),
        ('{"text": 3}\n', {"feature_names": None}, "line 1: field 'text' must be text"),
        ("a,b\n1,x\n", {"feature_names": ["a", "b"]}, "line 2: column 'b': 'x' is not a number"),
    ],
)
def test_records_that_do_not_fit_say_why(tmp_path, content, wanted, said):
    file = tmp_path / "x"
    file.write_text(content)
    with pytest.raises(DataError, match=said):
        rows_of(file, **wanted)


def test_large_files_that_are_read_whole_are_remarked_on(numbers, monkeypatch):
    folder, _, features, _ = numbers
    monkeypatch.setattr("grople.tagging.records.LARGE_FILE", 10)
    said: list[str] = []
    rows_of(folder / "n.npz", feature_names=features, n_features=12, remark=said.append)
    rows_of(folder / "n.csv", feature_names=features, n_features=12, remark=said.append)
    assert len(said) == 1
    assert "n.npz" in said[0]


def test_features_are_aligned_by_name_or_number():
    bundle = Bundle(np.eye(3), np.ones((3, 1)))
    assert aligned_features(bundle, ["x", "y", "z"], 3).tolist() == np.eye(3).tolist()
    with pytest.raises(DataError, match="3 features, but the model has 2"):
        aligned_features(bundle, ["x", "y"], 2)
