"""Texts and their tags, and what separates tags in a cell."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grople.datasets import (
    Reading,
    TextTable,
    find_separator,
    label_matrix,
    read,
    read_blocks,
    read_examples,
    spread_labels,
)
from grople.errors import DataError
from grople.features import fit_text
from tests.datasets.samples import JSONL

# -- texts ---------------------------------------------------------------------------------------


def test_texts_of_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(JSONL)
    table, _ = read_examples(file)
    assert table.texts == ("a chess game", "a chess clock")
    assert table.tags == (("game",), ("clock", "game"))
    assert (len(table), table.name) == (2, "x")
    bundle = read(file)
    features, X = fit_text(table.texts)
    assert bundle.feature_names == tuple(features.names)
    assert np.array_equal(bundle.X.toarray(), X.toarray())
    assert bundle.Y.toarray().tolist() == [[0, 1], [1, 1]]


def test_fields(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"body": "hello", "topics": ["b", "a", "b"], "key": "k1"}\n\n')
    table = read_examples(file, Reading(text="Body", tags="topics", ids="key"))[0]
    assert (table.texts, table.tags, table.ids) == (("hello",), (("a", "b"),), ("k1",))
    assert isinstance(read_examples(file, Reading(text="body", labels="topics"))[0], TextTable)


@pytest.mark.parametrize("key", ["tags", "Tags", "LABELS", "categories"])
def test_tags_are_cleaned_and_counted(tmp_path: Path, key: str) -> None:
    file = tmp_path / "x.json"
    cells = ["7", '[" a ", "", null, 3, true]', "null", '["a", 2.0, " "]', '"a|b"', "[]", '"a"']
    objects = ", ".join(f'{{"Text": "word", "{key}": {cell}}}' for cell in cells)
    for content in (f"[{objects}]", objects.replace("}, {", "}\n{")):
        file.write_text(content)
        table, _ = read_examples(file)
        assert table.tags == (("7",), ("3", "a", "true"), (), ("2", "a"), ("a", "b"), (), ("a",))
        assert [cell for cell, _ in table.tag_column.rows] == ["7", " a , , None, 3, True", ""]
        empty, converted = table.notes
        assert empty.startswith("3 tags were empty")
        assert converted.startswith("4 tags were numbers")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text": "a", "tags": ["b"]', "not JSON: .* at position 28"),
        (b"[]", "expected a JSON object"),
        (b'{"tags": []}', "no field 'text'; there are 'tags'"),
        (b'{"text": 1, "tags": []}', "field 'text' must be text"),
        (b'{"text": "a", "tags": [["b"]]}', "tags must be text or a list of texts"),
        (b'{"text": "a", "tags": {"b": 1}}', "tags must be text or a list of texts"),
        (b'{"text": "\\ud83d", "tags": []}', "half a character"),
        (b'{"text": "a", "tags": ["\\udc00"]}', "half a character"),
        (b'{"text": "a", "tags": "\\udc00"}', "half a character"),
        (b'{"text": "\xe9", "tags": []}', "byte 0xe9"),
        (b'{"text": ' + b"[" * 100_000, "unreadable JSON"),
        (b'{"text": ' + b"9" * 10_000 + b"}", "unreadable JSON"),
    ],
)
def test_refused(tmp_path: Path, line: bytes, reason: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(JSONL + line + b"\n")
    with pytest.raises(DataError, match=reason) as caught:
        read_examples(file)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\n", "no rows"),
        (b"[]", "no rows"),
        (b'[{"text": "a", "tags": []}, 3]', "item 2 of the array is no JSON object"),
        (b'[{"text": "a", "tags": []}, {"text": 3, "tags": []}]', "item 2: field 'text' must be"),
        (b'[\n{"text": "a",\n]', "line 3: not JSON"),
        (b'{"text": "a", "tags": ["b"]}\n', "the texts give no features"),
        (JSONL.replace(b'"game"', b"").replace(b'"clock", ', b""), "no labels"),
    ],
)
def test_nothing_to_learn_from(tmp_path: Path, content: Any, reason: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(content)
    with pytest.raises(DataError, match=reason):
        read(file, format="jsonl")


# -- separators ----------------------------------------------------------------------------------

TAGS = [
    "game::board",
    "use::game playing",
    "role: program",
    "made-of/wood",
    "implemented in c",
    "x",
]


def rows_of_tags(tags: list[str], n_rows: int = 80) -> list[list[str]]:
    rng = np.random.default_rng(0)
    sizes = 1 + rng.integers(3, size=n_rows)
    return [[str(tag) for tag in rng.choice(tags, size, replace=False)] for size in sizes]


@pytest.mark.parametrize("mark", ["|", ";", ",", "\t", " | ", ", ", " "])
def test_the_separator_is_what_makes_tags_repeat(tmp_path: Path, mark: str) -> None:
    tags = [tag.replace(" ", "") for tag in TAGS] if mark == " " else TAGS
    rows = rows_of_tags(tags)
    file = tmp_path / "x.csv"
    lines = [f'a chess game;"{mark.join(row)}"' for row in rows]
    file.write_text("\n".join(["text;tags", *lines]) + "\n")
    table, reading = read_examples(file)
    assert table.tags == tuple(tuple(sorted(row)) for row in rows)
    found = table.tag_column
    assert (found.separator, found.found, found.warning) == (mark.strip(" ") or " ", True, None)
    assert reading.separator == found.separator
    assert found.rows == tuple((mark.join(row), tuple(row)) for row in rows[:3])
    assert found.labels_a_row == pytest.approx(np.mean([len(row) for row in rows]))
    assert repr(found.separator) in str(found)
    # A later file is read as the first was, whatever it looks like; blocks like a whole file.
    file.write_text("text;tags\nword;a,b\n")
    assert read_examples(file, reading)[1].separator == found.separator
    assert read_blocks(file, reading).tag_column.separator == found.separator


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["science fiction", "drama", "science fiction", "war film", "drama"] * 5, ";"),
        (["Lyon, France", "Rome, Italy"] * 20 + ["Nice, France"], ","),
        (["a;b", "c"], ";"),
        (["a, b; c", "c; d, e", "a, b"], ";"),
        (["x|y", "y|x"], "|"),
        (["one two", "two one", "one", "two three one", "three"] * 9, " "),
        ([None, ["a", "b"], 3, ""], ";"),
        (["A; first"] * 9 + ["A", "B"] * 4, ""),
        ([], ";"),
    ],
)
def test_cells_that_could_be_either(cells: list[Any], separator: str) -> None:
    if separator == "":
        # The whole cell repeats nine times, its parts hardly more often.
        assert find_separator(cells) in ("", ";")
    else:
        assert find_separator(cells) == separator


def test_no_separator_and_a_wrong_one(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("text,tags\nword,a|b\nword,b|c\n")
    whole, reading = read_examples(file, Reading(separator=""))
    assert (whole.tags, reading.separator) == ((("a|b",), ("b|c",)), "")
    assert str(whole.tag_column) == "each cell is one tag"
    assert not whole.tag_column.found
    assert "pass separator='|'" in whole.tag_column.warning
    assert Reading.from_dict(reading.to_dict()) == reading
    file.write_text("text,tags\nword,a\nword,b c\n")
    assert read_examples(file)[1].separator is None, "no sign of any: a later file may have one"
    assert Reading(separator="|").overridden(separator="", text=None, features=()).separator == ""


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=3), min_size=1, max_size=6))
def test_label_matrices(rows: list[list[str]]) -> None:
    Y, names = label_matrix(rows)
    assert names == sorted(set(itertools.chain.from_iterable(rows)))
    dense = Y.toarray()
    assert [[names[j] for j in np.flatnonzero(row)] for row in dense] == [
        sorted(set(row)) for row in rows
    ]
    known = ["d", "z", "a"]
    wide = spread_labels(Y, names, known)
    assert wide.shape[1] == len({*known, *names})
    assert (wide.toarray()[:, 0] == [("d" in row) for row in rows]).all()
    assert not wide.toarray()[:, 1].any()


def test_a_reading_comes_back_from_json() -> None:
    reading = Reading(
        "csv", "a,b", "topics", "body", "id", ("x*",), ("y",), "|", "zero", 0, 5, ids_optional=True
    )
    values = reading.to_dict()
    assert all(isinstance(v, str | int | list | None) for v in values.values())
    assert Reading.from_dict(values | {"from a later version": 1}) == reading
    for wrong in ({"missing": "guess"}, {"first_index": 2}, {"n_features": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Reading(**wrong)  # type: ignore[arg-type]
