"""JSON lines with texts and tags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from grople.datasets.text import TextTable, read_jsonl, read_texts, tfidf, vectorise
from grople.errors import DataError
from tests.datasets.reader_samples import JSONL


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "x.jsonl"
    path.write_bytes(JSONL)
    return path


def test_read_texts(file: Path) -> None:
    table = read_texts(file)
    assert len(table) == 2
    assert table.texts == ("a chess game", "a chess clock")
    assert table.tags == (("game",), ("clock", "game"))
    assert table.name == "x"


def test_fields(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"body": "hello", "topics": ["b", "a", "b"], "key": "k1"}\n\n')
    table = read_texts(file, text="body", labels="topics", ids="key")
    assert table == TextTable(("hello",), (("b", "a"),), ("k1",), "x", str(file))
    bundle = read_jsonl(file, text="body", labels="topics", ids="key", min_df=1)
    assert (bundle.row_names, bundle.label_names) == (("k1",), ("a", "b"))


def test_vectorised_as_scikit_learn_does(file: Path) -> None:
    table = read_texts(file)
    bundle, vectoriser = vectorise(table, tfidf(min_df=1))
    expected = TfidfVectorizer(sublinear_tf=True).fit(table.texts)
    assert bundle.feature_names == tuple(expected.get_feature_names_out())
    assert np.array_equal(bundle.X.toarray(), expected.transform(table.texts).toarray())
    assert bundle.label_names == ("clock", "game")
    assert bundle.Y.toarray().tolist() == [[0, 1], [1, 1]]
    fresh = ["a game of chess"]
    assert np.array_equal(
        vectoriser.transform(fresh).toarray(), expected.transform(fresh).toarray()
    )


def test_one_call_with_settings_or_a_vectoriser(file: Path) -> None:
    assert read_jsonl(file).feature_names == ("chess",)  # the only word in two documents
    assert read_jsonl(file, min_df=1, ngram_range=(2, 2)).feature_names == (
        "chess clock",
        "chess game",
    )
    counts = CountVectorizer()
    assert read_jsonl(file, vectoriser=counts).n_features == len(counts.vocabulary_) == 3
    with pytest.raises(TypeError, match="either a vectoriser or settings"):
        read_jsonl(file, vectoriser=counts, min_df=1)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text": "a", "tags": ["b"]', "not JSON: .* at position 28"),
        (b"[]", "expected a JSON object"),
        (b'{"tags": []}', "no field 'text'; there is 'tags'"),
        (b'{"text": 1, "tags": []}', "field 'text' must be text"),
        (b'{"text": "a", "tags": "b"}', "field 'tags' must be a list of texts"),
        (b'{"text": "a", "tags": ["b", 1]}', "field 'tags' must be a list of texts"),
        (b'{"text": "\\ud83d", "tags": []}', "half a character"),
        (b'{"text": "a", "tags": ["\\udc00"]}', "half a character"),
        (b'{"text": "\xe9", "tags": []}', "byte 0xe9"),
        (b'{"text": ' + b"[" * 100_000, "unreadable JSON"),
        (b'{"text": ' + b"9" * 10_000 + b"}", "unreadable JSON"),
    ],
)
def test_refused(tmp_path: Path, line: bytes, reason: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(JSONL + line + b"\n")
    with pytest.raises(DataError, match=reason) as caught:
        read_texts(file)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\n", "no documents"),
        (b'{"text": "a", "tags": ["b"]}\n', "the texts give no features"),
        (JSONL.replace(b'"game"', b"").replace(b'"clock", ', b""), "no labels"),
    ],
)
def test_nothing_to_learn_from(tmp_path: Path, content: Any, reason: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(content)
    with pytest.raises(DataError, match=reason):
        read_jsonl(file)
