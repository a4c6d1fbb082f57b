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

from grople.errors import DataError
from grople.features import TextFeatures, fit_text, scan_text

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
    features, rows = fit_text(
        texts, min_df=min_df, max_features=most, ngrams=ngrams, sublinear=sublinear
    )
    assert features.names.tolist() == theirs.get_feature_names_out().tolist()
    scanned = scan_text(
        [texts[:2], texts[2:]], min_df=min_df, max_features=most, ngrams=ngrams, sublinear=sublinear
    )
    assert scanned.names.tolist() == features.names.tolist()
    np.testing.assert_array_equal(scanned.idf, features.idf)
    np.testing.assert_allclose(features.idf, theirs.idf_, **ROUNDING)
    np.testing.assert_allclose(rows.toarray(), expected.toarray(), **ROUNDING)
    later = theirs.transform(more).toarray()
    np.testing.assert_allclose(features.transform(more).toarray(), later, **ROUNDING)


def test_rows_by_definition() -> None:
    features, rows = fit_text(TEXTS, min_df=2)
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
    # Rows are found in a model by their content, so every bit counts.
    features, rows = fit_text(iter(TEXTS), min_df=1, ngrams=(1, 2))
    assert isinstance(rows, sp.csr_array)
    again = features.transform(TEXTS)
    alone = sp.vstack([features.transform([text]) for text in TEXTS], format="csr")
    for other in (again, alone, features.transform(iter(TEXTS))):
        assert other.dtype == np.float64
        assert other.has_canonical_format
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(other, part), getattr(rows, part))


def test_words_never_seen_count_for_nothing() -> None:
    features, _ = fit_text(TEXTS, min_df=1)
    rows = features.transform(["zebra", "chess zebra"]).toarray()
    assert not rows[0].any()
    assert rows[1].sum() == 1.0
    assert features.transform([]).shape == (0, len(features.names))


def test_texts_without_words() -> None:
    with pytest.raises(DataError, match="no features"):
        fit_text(["", "!"])
    with pytest.raises(DataError, match="no features"):
        fit_text(["one", "two"], min_df=2)
    with pytest.raises(DataError, match="no features"):
        fit_text([])
    with pytest.raises(TypeError, match="put it into a list"):
        fit_text(TEXTS)[0].transform("chess")


@pytest.mark.parametrize("settings", [{"min_df": 0}, {"min_df": 1.5}, {"max_features": 0}])
def test_settings_are_checked(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(settings))} must be"):
        fit_text(TEXTS, **settings)


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
