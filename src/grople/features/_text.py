"""TF-IDF of words or characters, with a vocabulary and weights that are fixed when first seen."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b
from itertools import chain
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from grople.errors import Choice, DataError, Parameter, Portion, Whole, check_parameters
from grople.features._checks import check_names
from grople.features._tokens import character_terms, letter_words, word_terms

__all__ = ["TextFeatures", "fit_text", "scan_text"]

Array = NDArray[Any]

UNITS = ("words", "characters")
PARAMETERS: dict[str, Parameter] = {
    "max_features": Whole(1),
    "min_df": Portion(),
    "unit": Choice(UNITS),
}
#: Texts that a vocabulary is learnt from at most, so that it fits into memory.
MAX_TEXTS = 50_000
#: Texts whose terms are counted at a time.
BLOCK_SIZE = 2000


@dataclass(frozen=True)
class TextFeatures:
    """TF-IDF of lower-case terms, in rows of unit length; made by :func:`fit_text`.

    A text has the same row, to the last bit, whenever and with whichever others it is transformed.

    Parameters
    ----------
    terms : ndarray of str
        The vocabulary, in the order of the columns.
    idf : ndarray of float
        The weight of each term.
    ngrams : (int, int)
        Shortest and longest run of words, or of characters, that is a term.
    sublinear : bool
        Whether a term that stands t times in a text counts 1 + log t instead of t.
    unit : {"words", "characters"}
        What terms are made of.
    """

    #: Whether records are texts.
    texts: ClassVar[bool] = True

    terms: Array
    idf: Array
    ngrams: tuple[int, ...] = (1, 1)
    sublinear: bool = True
    unit: str = "words"

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
        if self.unit not in UNITS:
            raise ValueError(f"terms are made of words or characters, not of {self.unit!r}")

    def __len__(self) -> int:
        return len(self.terms)

    @property
    def names(self) -> Array:
        """The terms; runs of characters in quotation marks, so that no word has such a name."""
        if self.unit == "words":
            return self.terms
        return np.array([f'"{term}"' for term in self.terms], dtype=object)

    def transform(self, records: Iterable[str]) -> Any:
        """Return the rows of texts; terms outside the vocabulary count for nothing.

        Parameters
        ----------
        records : iterable of str
            The texts.

        Returns
        -------
        csr_array of shape (n_texts, n_terms)
        """
        _, rows = _counted(_listed(records), self.unit, self.ngrams, self._columns)
        if self.sublinear:
            rows.data = 1 + np.log(rows.data)
        rows.data *= self.idf[rows.indices]
        return normalize(rows, copy=False) if rows.shape[0] else rows

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {term: column for column, term in enumerate(self.terms)}


def fit_text(documents: Iterable[str], **settings: Any) -> tuple[TextFeatures, Any]:
    """Learn a vocabulary from texts, and return their rows as well.

    For scripts with spaces between words, both are those of scikit-learn's ``TfidfVectorizer`` with
    the same settings.

    Parameters
    ----------
    documents : iterable of str
        The texts.
    **settings
        Parameters of :func:`scan_text`.

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
    texts = _listed(documents)
    features = scan_text([texts], **settings)
    return features, features.transform(texts)


def scan_text(
    blocks: Iterable[Iterable[str]],
    *,
    max_features: int | None = None,
    min_df: int | float = 2,
    ngrams: tuple[int, int] | None = None,
    sublinear: bool = True,
    unit: str = "words",
) -> TextFeatures:
    """Learn a vocabulary with no more than a block and 50,000 texts in memory.

    Of more texts the vocabulary is that of 50,000, chosen by their content.

    Parameters
    ----------
    blocks : iterable of iterables of str
        The texts.
    max_features : int, optional
        Keep only so many terms, the most frequent ones.
    min_df : int or float, default=2
        Keep only terms in so many texts (a float: in such a share of them).
    ngrams : (int, int), optional
        Shortest and longest run of words, or of characters, that is a term; by default single
        words, and three to five characters.
    sublinear : bool, default=True
        Whether a term that stands t times in a text counts 1 + log t instead of t.
    unit : {"words", "characters"}, default="words"
        What terms are made of. Words are those of any script; where there is no space between
        words, one to three characters take their place. Characters are those within words, with
        the spaces around them.

    Returns
    -------
    TextFeatures

    Examples
    --------
    >>> scan_text([["a chess game"], ["a chess clock"]]).names.tolist()
    ['chess']
    >>> scan_text([["chess"], ["chessboard"]], unit="characters", ngrams=(5, 5)).names.tolist()
    ['" ches"', '"chess"']
    """
    given = {"min_df": min_df, "unit": unit}
    given |= {} if max_features is None else {"max_features": max_features}
    check_parameters("fit_text", PARAMETERS, given)
    shortest, longest = ngrams or ((1, 1) if unit == "words" else (3, 5))
    # A choice that the order of texts does not change.
    texts = heapq.nsmallest(MAX_TEXTS, chain.from_iterable(map(_listed, blocks)), key=_digest)
    occurrences: Counter[str] = Counter()
    texts_with: Counter[str] = Counter()
    for start in range(0, len(texts), BLOCK_SIZE):
        block = texts[start : start + BLOCK_SIZE]
        terms, counts = _counted(block, unit, (shortest, longest))
        occurrences.update(dict(zip(terms, np.asarray(counts.sum(axis=0)).tolist(), strict=True)))
        n_texts_with = np.bincount(counts.indices, minlength=len(terms)).tolist()
        texts_with.update(dict(zip(terms, n_texts_with, strict=True)))
    fewest = min_df if isinstance(min_df, Integral) else min_df * len(texts)
    kept = np.array(sorted(t for t, n in texts_with.items() if n >= fewest), dtype=object)
    if max_features is not None and len(kept) > max_features:
        frequency = np.array([occurrences[term] for term in kept], dtype=np.float64)
        # The sort that scikit-learn uses, so that it keeps the same ones of equally frequent terms.
        kept = kept[np.sort((-frequency).argsort()[:max_features])]
    if not len(kept):
        raise DataError(f"the texts give no features (none of their {unit} is in enough of them)")
    # Smoothed as scikit-learn does: as if one more text held every term.
    idf = np.log((1 + len(texts)) / (1 + np.array([texts_with[term] for term in kept]))) + 1.0
    return TextFeatures(kept, idf, (int(shortest), int(longest)), bool(sublinear), unit)


def _listed(records: Iterable[str]) -> list[str]:
    """Return several texts as a list, or say which is none."""
    if isinstance(records, str):
        raise TypeError("expected several texts, got one: put it into a list")
    texts = list(records)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"text {place} is no text but a {type(text).__name__}: {text!r:.60}")
    return texts


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _counted(
    texts: list[str],
    unit: str,
    ngrams: tuple[int, ...],
    columns: Mapping[str, int] | None = None,
) -> tuple[list[str], Any]:
    """Return the terms of texts, or those of a vocabulary, and how often each text has each."""
    shortest, longest = ngrams
    if unit == "words":
        return _count(texts, partial(word_terms, ngrams=(shortest, longest)), columns)
    # The characters of a word are looked at once, however many texts have it.
    words, in_texts = _count(texts, letter_words)
    terms, in_words = _count(words, partial(character_terms, ngrams=(shortest, longest)), columns)
    counts = in_texts @ in_words
    counts.sort_indices()
    return terms, counts


def _count(
    texts: list[str],
    analyze: Callable[[str], list[str]],
    columns: Mapping[str, int] | None = None,
) -> tuple[list[str], Any]:
    if columns is None:
        columns = defaultdict()
        columns.default_factory = columns.__len__
        rows = [[columns[term] for term in analyze(text)] for text in texts]
    else:
        rows = [[columns[term] for term in analyze(text) if term in columns] for text in texts]
    ends = np.cumsum([0, *map(len, rows)])
    indices = np.fromiter(chain.from_iterable(rows), np.int32, ends[-1])
    counts = sp.csr_array((np.ones(len(indices)), indices, ends), shape=(len(texts), len(columns)))
    counts.sum_duplicates()
    return list(columns), counts
