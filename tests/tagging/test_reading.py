"""Files with labels are read as the person, or the model's memory, says."""

from __future__ import annotations

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from grople.datasets import Bundle, make_grouped_multilabel, write
from grople.datasets.text import TextTable
from grople.errors import DataError
from grople.tagging.reading import Reading, read_examples


def test_texts_are_the_same_from_every_format(folder, tmp_path, documents):
    texts = tuple(document["text"] for document in documents)
    tags = [set(document["tags"]) for document in documents]
    names = [document["name"] for document in documents]
    table = pyarrow.table(
        {key: [document[key] for document in documents] for key in ("name", "text", "tags")}
    )
    pyarrow.parquet.write_table(table, tmp_path / "things.parquet")
    for file in (folder / "things.jsonl", folder / "things.csv", tmp_path / "things.parquet"):
        examples, reading = read_examples(file, Reading(ids="name"))
        assert isinstance(examples, TextTable)
        assert examples.texts == texts
        assert list(map(set, examples.tags)) == tags
        assert list(examples.ids) == names
        assert reading.text == "text"


def test_a_reading_comes_back_from_json():
    reading = Reading("csv", "a,b", "topics", "body", "id", ("x*",), ("y",), "|", "zero", 0, True)
    values = reading.to_dict()
    assert all(isinstance(v, str | int | list | None) for v in values.values())
    assert Reading.from_dict(values | {"from a later version": 1}) == reading


def test_columns_are_chosen_by_name_prefix_and_exclusion(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("id,a1,a2,b,good,bad\nr1,1,2,x,1,0\nr2,3,4,y,0,1\n")
    how = Reading(labels="good,bad", features=("a*",), ids="id")
    bundle, _ = read_examples(file, how)
    assert isinstance(bundle, Bundle)
    assert tuple(bundle.feature_names) == ("a1", "a2")
    assert bundle.row_names == ("r1", "r2")
    assert bundle.X.tolist() == [[1, 2], [3, 4]]
    ignoring, _ = read_examples(file, Reading(labels="good,bad", ignore=("b", "a2"), ids="id"))
    assert tuple(ignoring.feature_names) == ("a1",)
    for wrong, said in (
        (Reading(labels="good,bad", features=("c",)), "no column 'c' for features"),
        (Reading(labels="good,bad", ids="nope"), "no column 'nope' for the row names"),
        (Reading(labels="good,bad", text="nope"), "no column 'nope' for the text"),
        (Reading(labels="good,bad", text="b", features=("a1",)), "--features does not apply"),
    ):
        with pytest.raises(DataError, match=said):
            read_examples(file, wrong)


def test_a_single_column_is_a_label_or_holds_tags(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,y\n1,1\n2,0\n")
    marks, _ = read_examples(file, Reading(labels="y"))
    assert (tuple(marks.label_names), marks.Y.toarray().tolist()) == (("y",), [[1], [0]])
    tags, _ = read_examples(file, Reading(tags="y"))
    assert tuple(tags.label_names) == ("0", "1")


@pytest.mark.parametrize("first", [0, 1])
def test_libsvm_remembers_where_features_start(tmp_path, first):
    file = tmp_path / "t.svm"
    file.write_text(f"3,7 {first}:0.5 {first + 3}:2\n7 {first + 1}:1\n")
    bundle, reading = read_examples(file)
    assert reading.first_index == first
    assert sp.csr_array(bundle.X).toarray().tolist() == [[0.5, 0, 0, 2], [0, 1, 0, 0]]
    assert tuple(bundle.label_names) == ("3", "7")


def test_features_are_chosen_after_reading_where_they_have_names(tmp_path):
    data = make_grouped_multilabel(20, 4, 3, n_groups=2, random_state=0)
    (file,) = write(Bundle(data.X, data.Y, feature_names=["a", "b", "c", "d"]), tmp_path / "x.npz")
    chosen, _ = read_examples(file, Reading(features=("d", "b")))
    assert tuple(chosen.feature_names) == ("b", "d")
    assert np.array_equal(chosen.X, data.X[:, [1, 3]].toarray())
    numbered = write(data, tmp_path / "x.txt")[0]
    with pytest.raises(DataError, match="no names to choose by"):
        read_examples(numbered, Reading(features=("d",)))


def test_what_holds_no_labels_says_so(tmp_path):
    lines = tmp_path / "x.txt"
    lines.write_text("hello\n")
    with pytest.raises(DataError, match="holds no labels"):
        read_examples(lines, Reading(format="lines"))
    table = tmp_path / "x.csv"
    table.write_text("text,tags\nhello,\n")
    with pytest.raises(DataError, match="no labels"):
        read_examples(table)
