"""TF-IDF of words with a vocabulary and weights that are fixed when first seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from grople.errors import DataError, Parameter, Portion, Whole, check_parameters
from grople.features._checks import check_names

__all__ = ["TextFeatures", "fit_text", "scan_text"]

Array = NDArray[Any]

PARAMETERS: dict[str, Parameter] = {"max_features": Whole(1), "min_df": Portion()}


@dataclass(frozen=True)
class TextFeatures:
    """TF-IDF of lower-case words, in rows of unit length; made by :func:`fit_text`.

    A text has the same row, to the last bit, whenever and with whichever others it is transformed.

    Parameters
    ----------
    terms : ndarray of str
        The vocabulary, in the order of the columns.
    idf : ndarray of float
        The weight of each term.
    ngrams : (int, int)
        Shortest and longest run of words that is a term.
    sublinear : bool
        Whether a term that stands t times in a text counts 1 + log t instead of t.
    """

    #: Whether records are texts.
    texts: ClassVar[bool] = True

    terms: Array
    idf: Array
    ngrams: tuple[int, ...] = (1, 1)
    sublinear: bool = True

    def __post_init__(self) -> None:
        check_names(self.terms)
        if len(set(self.terms)) < len(self.terms):
            raise ValueError("a term stands twice in the vocabulary")
        if self.idf.shape != self.terms.shape:
            raise ValueError(f"{len(self.terms)} terms, but {self.idf.size} weights")
        if not np.issubdtype(self.idf.dtype, np.floating) or not np.isfinite(self.idf).all():
            raise ValueError("the weights of terms must be finite numbers")
        if len(self.ngrams) != 2 or not 1 <= self.ngrams[0] <= self.ngrams[1]:
            raise ValueError(f"ngrams must be a shortest and a longest run, not {self.ngrams!r}")

    def __len__(self) -> int:
        return len(self.terms)

    @property
    def names(self) -> Array:
        """The terms."""
        return self.terms

    def transform(self, records: Iterable[str]) -> Any:
        """Return the rows of texts; words outside the vocabulary count for nothing.

        Parameters
        ----------
        records : iterable of str
            The texts.

        Returns
        -------
        csr_array of shape (n_texts, n_terms)
        """
        if isinstance(records, str):
            raise TypeError("expected several texts, got one: put it into a list")
        texts = list(records)
        if not texts:
            return sp.csr_array((0, len(self)), dtype=np.float64)
        return sp.csr_array(self._vectorizer.transform(texts))

    @cached_property
    def _vectorizer(self) -> TfidfVectorizer:
        vectorizer = TfidfVectorizer(
            vocabulary={term: column for column, term in enumerate(self.terms)},
            ngram_range=self.ngrams,
            sublinear_tf=self.sublinear,
        )
        vectorizer.idf_ = self.idf
        return vectorizer


def fit_text(
    documents: Iterable[str],
    *,
    max_features: int | None = None,
    min_df: int | float = 2,
    ngrams: tuple[int, int] = (1, 1),
    sublinear: bool = True,
) -> tuple[TextFeatures, Any]:
    """Learn a vocabulary from texts, and return their rows as well.

    Both are those of scikit-learn's ``TfidfVectorizer`` with the same settings.

    Parameters
    ----------
    documents : iterable of str
        The texts.
    max_features : int, optional
        Keep only so many terms, the most frequent ones.
    min_df : int or float, default=2
        Keep only terms in so many texts (a float: in such a share of them).
    ngrams : (int, int), default=(1, 1)
        Shortest and longest run of words that is a term.
    sublinear : bool, default=True
        Whether a term that stands t times in a text counts 1 + log t instead of t.

    Returns
    -------
    features : TextFeatures
        The vocabulary and its weights.
    X : csr_array of shape (n_texts, n_terms)
        The rows.

    Examples
    --------
    >>> features, X = fit_text(["a chess game", "a chess clock"], min_df=1)
    >>> features.names.tolist(), X.shape
    (['chess', 'clock', 'game'], (2, 3))
    """
    texts = list(documents)
    features = scan_text(
        [texts], max_features=max_features, min_df=min_df, ngrams=ngrams, sublinear=sublinear
    )
    return features, features.transform(texts)


def scan_text(
    blocks: Iterable[Iterable[str]],
    *,
    max_features: int | None = None,
    min_df: int | float = 2,
    ngrams: tuple[int, int] = (1, 1),
    sublinear: bool = True,
) -> TextFeatures:
    """Learn the vocabulary of :func:`fit_text` with only a block of texts in memory at a time.

    What is kept grows with the terms, not with the texts.

    Parameters
    ----------
    blocks : iterable of iterables of str
        The texts.
    max_features, min_df, ngrams, sublinear
        As in :func:`fit_text`.

    Examples
    --------
    >>> scan_text([["a chess game"], ["a chess clock"]]).names.tolist()
    ['chess']
    """
    given = {"min_df": min_df} | ({} if max_features is None else {"max_features": max_features})
    check_parameters("fit_text", PARAMETERS, given)
    shortest, longest = (int(length) for length in ngrams)
    terms_of = CountVectorizer(ngram_range=(shortest, longest)).build_analyzer()
    occurrences: Counter[str] = Counter()
    texts_with: Counter[str] = Counter()
    n_texts = 0
    for block in blocks:
        for text in block:
            terms = terms_of(text)
            occurrences.update(terms)
            texts_with.update(set(terms))
            n_texts += 1
    fewest = min_df if isinstance(min_df, Integral) else min_df * n_texts
    kept = np.array(sorted(t for t, n in texts_with.items() if n >= fewest), dtype=object)
    if max_features is not None and len(kept) > max_features:
        frequency = np.array([occurrences[term] for term in kept], dtype=np.float64)
        # The sort that scikit-learn uses, so that it keeps the same ones of equally frequent terms.
        kept = kept[np.sort((-frequency).argsort()[:max_features])]
    if not len(kept):
        raise DataError("the texts give no features (no word is in enough of them)")
    # Smoothed as scikit-learn does: as if one more text held every term.
    idf = np.log((1 + n_texts) / (1 + np.array([texts_with[term] for term in kept]))) + 1.0
    return TextFeatures(kept, idf, (shortest, longest), bool(sublinear))
