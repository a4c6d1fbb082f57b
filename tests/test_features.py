"""Rows of texts against scikit-learn's TF-IDF and against the definition, word by word."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from grople.errors import DataError
from grople.features import Features, PairedFeatures, PlainFeatures, TextFeatures
from grople.fingerprints import row_fingerprints
from grople.pairs import FeaturePairs

TEXTS = [
    "A fast, small HTTP server with CGI support",
    "HTTP client: fast downloads, fast",
    "small chess game",
    "Chess server; play chess with others",
    "Größe überall: the support library",
    "",
    "! ? x",
]
#: Sums of a handful of terms in another order.
ROUNDING = {"rtol": 1e-13, "atol": 0}

words = st.sampled_from(["red", "green", "blue", "Red", "naïve", "x", "co-op", "42", "über"])
documents = st.lists(st.lists(words, max_size=8).map(" ".join), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(
    texts=documents,
    more=documents,
    min_df=st.sampled_from([1, 2, 0.4]),
    most=st.none() | st.integers(1, 6),
    ngrams=st.sampled_from([(1, 1), (1, 2), (2, 3)]),
    sublinear=st.booleans(),
)
def test_rows_are_those_of_scikit_learn(
    texts: list[str], more: list[str], min_df: Any, most: Any, ngrams: Any, sublinear: bool
) -> None:
    theirs = TfidfVectorizer(
        min_df=min_df, max_features=most, ngram_range=ngrams, sublinear_tf=sublinear
    )
    try:
        expected = theirs.fit_transform(texts)
    except ValueError:
        assume(False)
    features, rows = Features.fit_text(
        texts, min_df=min_df, max_features=most, ngrams=ngrams, sublinear=sublinear
    )
    assert features.names.tolist() == theirs.get_feature_names_out().tolist()
    scanned = Features.scan_text(
        [texts[:2], texts[2:]], min_df=min_df, max_features=most, ngrams=ngrams, sublinear=sublinear
    )
    assert scanned.names.tolist() == features.names.tolist()
    np.testing.assert_array_equal(scanned.idf, features.idf)
    np.testing.assert_allclose(features.idf, theirs.idf_, **ROUNDING)
    np.testing.assert_allclose(rows.toarray(), expected.toarray(), **ROUNDING)
    later = theirs.transform(more).toarray()
    np.testing.assert_allclose(features.transform(more).toarray(), later, **ROUNDING)


def test_rows_by_definition() -> None:
    features, rows = Features.fit_text(TEXTS, min_df=2)
    split = [re.findall(r"\b\w\w+\b", text.lower()) for text in TEXTS]
    texts_with = Counter(word for found in split for word in set(found))
    kept = sorted(word for word, count in texts_with.items() if count >= 2)
    assert features.names.tolist() == kept
    for row, found in zip(rows.toarray(), split, strict=True):
        weights = [
            (1 + math.log(found.count(word))) * (1 + math.log(8 / (1 + texts_with[word])))
            if word in found
            else 0.0
            for word in kept
        ]
        length = math.sqrt(sum(weight**2 for weight in weights)) or 1.0
        np.testing.assert_allclose(row, np.array(weights) / length, **ROUNDING)


def test_a_text_has_the_same_row_whenever_it_comes() -> None:
    # Rows are removed from a model by their fingerprints, so every bit counts.
    features, rows = Features.fit_text(iter(TEXTS), min_df=1, ngrams=(1, 2))
    assert isinstance(rows, sp.csr_array)
    again = features.transform(TEXTS)
    alone = sp.vstack([features.transform([text]) for text in TEXTS], format="csr")
    for other in (again, alone, features.transform(iter(TEXTS))):
        assert other.dtype == np.float64
        assert np.array_equal(row_fingerprints(other), row_fingerprints(rows))
        assert other.has_canonical_format


def test_words_never_seen_count_for_nothing() -> None:
    features, _ = Features.fit_text(TEXTS, min_df=1)
    rows = features.transform(["zebra", "chess zebra"]).toarray()
    assert not rows[0].any()
    assert rows[1].sum() == 1.0
    assert features.transform([]).shape == (0, len(features.names))


def test_texts_without_words() -> None:
    with pytest.raises(DataError, match="no features"):
        Features.fit_text(["", "!"])
    with pytest.raises(DataError, match="no features"):
        Features.fit_text(["one", "two"], min_df=2)
    with pytest.raises(TypeError, match="put it into a list"):
        Features.fit_text(TEXTS)[0].transform("chess")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"idf": np.ones(1)}, "2 terms, but 1 weights"),
        ({"idf": np.array([1.0, np.nan])}, "finite"),
        ({"idf": np.array(["a", "b"])}, "finite"),
        ({"terms": np.array(["a", 3], dtype=object)}, "must be texts"),
        ({"terms": np.array(["a", "a"], dtype=object)}, "twice"),
        ({"ngrams": (2, 1)}, "shortest"),
        ({"ngrams": (1, 2, 3)}, "shortest"),
    ],
)
def test_impossible_vocabularies(change: dict[str, Any], message: str) -> None:
    fine: dict[str, Any] = {"terms": np.array(["a", "b"], dtype=object), "idf": np.ones(2)}
    TextFeatures(**fine)
    with pytest.raises(ValueError, match=message):
        TextFeatures(**(fine | change))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csr_matrix, sp.coo_array])
@pytest.mark.parametrize("unit_rows", [False, True])
def test_plain_features(kind: Any, unit_rows: bool) -> None:
    X = np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    features = Features.plain(["a", "b", "c"], unit_rows=unit_rows)
    assert isinstance(features, PlainFeatures)
    expected = normalize(X) if unit_rows else X
    given = kind(X)
    for rows in (features.transform(given), features.transform(given, names=["a", "b", "c"])):
        dense = rows.toarray() if sp.issparse(rows) else rows
        np.testing.assert_array_equal(dense, expected)
    wide = kind(np.column_stack([X[:, 2], np.ones(2), X[:, 0], X[:, 1]]))
    rows = features.transform(wide, names=["c", "other", "a", "b"])
    np.testing.assert_array_equal(rows.toarray() if sp.issparse(rows) else rows, expected)
    np.testing.assert_array_equal(given.toarray() if sp.issparse(given) else given, X)


def test_columns_that_do_not_fit() -> None:
    features = Features.plain(["a", "b", "c"])
    with pytest.raises(DataError, match="2 features, but the model was fitted on 3"):
        features.transform(np.zeros((1, 2)))
    with pytest.raises(DataError, match="no column 'b' and 1 others"):
        features.transform(np.zeros((1, 2)), names=["a", "x"])
    with pytest.raises(DataError, match="same name"):
        features.transform(np.zeros((1, 4)), names=["a", "a", "b", "c"])
    with pytest.raises(ValueError, match="must be texts"):
        PlainFeatures(np.array([1, 2]))


def test_pairs_stand_beside_words_and_columns():
    texts = ["sea of java", "java sea", "java code", "code of java"]
    features, X = Features.fit_text(texts, min_df=1)
    paired = features.with_pairs(X)
    transformer = FeaturePairs().fit(X)
    assert paired.names.tolist() == transformer.get_feature_names_out(features.names).tolist()
    assert (paired.transform(texts) != transformer.transform(X)).nnz == 0
    assert paired.texts
    assert paired.own is features
    numbers = np.array([[3.0, 4.0, 0.0], [1.0, 1.0, 0.0], [0.0, 2.0, 1.0]])
    columns = Features.plain(["a", "b", "c"], unit_rows=True)
    paired = columns.with_pairs(columns.transform(numbers), weight=1.0)
    assert paired.names.tolist() == ["a", "b", "c", "a & b"]
    assert not paired.texts
    # One pair, so it is as long as the row, which has unit length.
    assert paired.transform(numbers).toarray()[0].tolist() == pytest.approx([0.6, 0.8, 0.0, 1.0])


def test_pairs_of_pairs_are_those_of_the_single_features():
    columns = Features.plain(["a", "b"])
    once = columns.with_pairs(np.ones((3, 2)))
    assert once.with_pairs(np.ones((3, 2))).names.tolist() == once.names.tolist()


def test_pairs_are_of_amounts():
    columns = Features.plain(["a", "b"])
    with pytest.raises(DataError, match="negative"):
        columns.with_pairs(np.array([[1.0, -1.0]]))
    with pytest.raises(DataError, match="negative"):
        columns.with_pairs(np.ones((2, 2))).transform(np.array([[1.0, -1.0]]))


def test_options_of_pairs_are_checked():
    columns = Features.plain(["a", "b"])
    with pytest.raises(ValueError, match="max_pairs must be"):
        columns.with_pairs(np.ones((2, 2)), max_pairs=0)
    assert len(Features.plain([]).with_pairs(np.ones((2, 0)))) == 0
    many = Features.plain([f"c{i}" for i in range(30)])
    with pytest.warns(UserWarning, match="nearly all"):
        many.with_pairs(np.ones((5, 30)))


def test_pairs_are_counted_without_being_named():
    paired = Features.plain(["a", "b"]).with_pairs(np.ones((2, 2)))
    assert len(paired) == 3
    assert "names" not in vars(paired)


def test_pairs_fit_their_features():
    columns, others = Features.plain(["a", "b"]), Features.plain(["a", "b", "c"])
    paired = columns.with_pairs(np.ones((2, 2)))
    with pytest.raises(ValueError, match="other features"):
        PairedFeatures(others, paired.table)
    with pytest.raises(ValueError, match="words or of columns"):
        PairedFeatures(paired, paired.table)
    with pytest.raises(ValueError, match="table"):
        PairedFeatures(columns, None)
