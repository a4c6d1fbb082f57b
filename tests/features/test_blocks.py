"""Blocks of features side by side: which columns are which, and the same rows as each alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import FeatureUnion

from grople.baselines import Ridge
from grople.errors import DataError
from grople.features import (
    BlockFeatures,
    FeatureBlock,
    TableFeatures,
    feature_blocks,
    fit_text,
    join_blocks,
    plain_columns,
    union_blocks,
    with_interactions,
)
from grople.io import read_model, save_model

TABLE = pd.DataFrame(
    {
        "text": ["chess game", "chess clock", "wall clock"],
        "price": [3.0, 5.0, 4.0],
        "chess": [1, 1, 0],
        "vector": [np.array([1.0, 0.5]), np.array([0.2, 0.0]), np.array([0.0, 3.0])],
    }
)


@pytest.fixture
def mixed():
    words, _ = fit_text(TABLE["text"], min_df=1)
    columns = TableFeatures().fit(TABLE[["price", "chess"]]).table_
    vectors = plain_columns(["v0", "v1"], unit_rows=True)
    return BlockFeatures(
        (
            FeatureBlock("words", "words", words, "text"),
            FeatureBlock("columns", "columns", columns),
            FeatureBlock("vector", "embeddings", vectors, "vector"),
        )
    )


def test_each_block_is_what_its_map_gives(mixed):
    rows = mixed.transform(TABLE)
    assert sp.issparse(rows)
    words, columns, vectors = (rows[:, b.start : b.stop].toarray() for b in feature_blocks(mixed))
    np.testing.assert_array_equal(words, mixed.parts[0].features.transform(TABLE["text"]).toarray())
    np.testing.assert_array_equal(columns[:, 1], TABLE["chess"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1)
    assert [tuple(b) for b in feature_blocks(mixed)] == [
        ("words", "words", 0, 4), ("columns", "columns", 4, 6), ("vector", "embeddings", 6, 8),
    ]  # fmt: skip
    assert not mixed.texts
    assert len(mixed) == rows.shape[1]


def test_a_name_that_an_earlier_block_has_says_its_block(mixed):
    assert mixed.names.tolist() == [
        "chess", "clock", "game", "wall", "price", "columns: chess", "v0", "v1",
    ]  # fmt: skip


def test_texts_in_words_and_characters():
    texts = ["chess game", "chessboard"]
    blocks = {unit: fit_text(texts, min_df=1, unit=unit)[0] for unit in ("words", "characters")}
    features = BlockFeatures(tuple(FeatureBlock(unit, unit, map) for unit, map in blocks.items()))
    assert features.texts
    expected = sp.hstack([map.transform(texts) for map in blocks.values()])
    assert (features.transform(iter(texts)) != expected).nnz == 0
    paired, rows = with_interactions(features, features.transform(texts), n_rarest=50)
    *_, last = feature_blocks(paired)
    assert last == ("interactions", "interactions", len(features), rows.shape[1])


def test_records_without_a_column_are_refused(mixed):
    with pytest.raises(DataError, match="no column 'vector'"):
        mixed.transform(TABLE.drop(columns="vector"))


def test_they_are_stored_with_a_model(mixed, tmp_path):
    rows = mixed.transform(TABLE)
    model = Ridge(1.0, decision="sign").fit(rows, np.eye(3, 2, dtype=int))
    save_model(tmp_path / "m", model, features=mixed)
    saved = read_model(tmp_path / "m").features
    assert feature_blocks(saved) == feature_blocks(mixed)
    assert (saved.transform(TABLE) != rows).nnz == 0


def test_matrices_side_by_side():
    sparse = sp.random_array((5, 3), rng=0, format="csr", density=0.5)
    X, ranges = join_blocks(
        {"titles": sparse, "embeddings": np.ones((5, 2)), "ages": np.ones((5, 1))}
    )
    np.testing.assert_array_equal(X.toarray(), np.hstack([sparse.toarray(), np.ones((5, 3))]))
    assert [(b.kind, b.start, b.stop) for b in ranges] == [
        ("words", 0, 3), ("embeddings", 3, 5), ("columns", 5, 6),
    ]  # fmt: skip
    dense, _ = join_blocks({"a": np.ones((5, 2)), "b": np.zeros((5, 1))})
    assert isinstance(dense, np.ndarray)
    with pytest.raises(DataError, match="'a' 5, 'b' 4"):
        join_blocks({"a": np.ones((5, 2)), "b": np.zeros((4, 1))})
    with pytest.raises(DataError, match="no block"):
        join_blocks({})


def test_ranges_of_a_union_are_where_its_names_change():
    texts = TABLE["text"]
    union = FeatureUnion(
        [
            ("title", TfidfVectorizer()),
            ("none", "drop"),
            ("within", TfidfVectorizer(analyzer="char")),
        ]
    ).fit(texts)
    names = union.get_feature_names_out()
    for name, _, start, stop in union_blocks(union):
        assert [n.partition("__")[0] == name for n in names] == [
            start <= i < stop for i in range(len(names))
        ]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((), "one block"),
        (("words",), "one block"),
        ((FeatureBlock("a", "words", plain_columns("ab")),) * 2, "same name"),
    ],
)
def test_impossible_blocks(parts, message):
    with pytest.raises(ValueError, match=message):
        BlockFeatures(parts)
    with pytest.raises(ValueError, match="no kind"):
        FeatureBlock("a", "smells", plain_columns("ab"))
