"""How records become the rows that a model takes, in a form that can be stored with it.

Texts become TF-IDF rows with a vocabulary and weights that are fixed when first seen, so that rows
of texts to come mean the same (and rows can be added to a model and removed exactly). Numbers stay
as they are, or have their rows scaled to unit length. Pairs of features may stand beside either.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from grople.errors import DataError
from grople.pairs import PARAMETERS, FeaturePairs, PairTable, find_pairs, names_beside
from grople.parameters import check_parameters

__all__ = ["Features", "PairedFeatures", "PlainFeatures", "TextFeatures"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Features(ABC):
    """What turns records into rows. Make one with :meth:`fit_text` or :meth:`plain`."""

    @property
    @abstractmethod
    def names(self) -> Array:
        """The names of the features, in order."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def own(self) -> Features:
        """What records hold themselves: words or columns, without pairs of them."""
        return self

    @property
    def texts(self) -> bool:
        """Whether records are texts."""
        return isinstance(self.own, TextFeatures)

    @abstractmethod
    def transform(self, records: Any) -> Any:
        """Return the rows of records."""

    @staticmethod
    def fit_text(
        documents: Iterable[str],
        *,
        max_features: int | None = None,
        min_df: int | float = 2,
        ngrams: tuple[int, int] = (1, 1),
        sublinear: bool = True,
    ) -> tuple[TextFeatures, Any]:
        """Learn a vocabulary from texts, in one pass, and return their rows as well.

        The rows are those of scikit-learn's ``TfidfVectorizer`` with the same settings, and to the
        last bit those that :meth:`transform` returns for the same texts.

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
        >>> features, X = Features.fit_text(["a chess game", "a chess clock"], min_df=1)
        >>> features.names.tolist(), X.shape
        (['chess', 'clock', 'game'], (2, 3))
        """
        low, high = ngrams
        counter = CountVectorizer(
            max_features=max_features, min_df=min_df, ngram_range=(low, high), dtype=np.float64
        )
        try:
            counts = counter.fit_transform(documents)
        except ValueError as error:
            raise DataError(f"the texts give no features ({error})") from error
        terms = np.array(counter.get_feature_names_out(), dtype=object)
        texts_with = np.bincount(counts.indices, minlength=len(terms))
        # As if one more text held every term.
        idf = np.log((1 + counts.shape[0]) / (1 + texts_with)) + 1.0
        features = TextFeatures(terms, idf, (int(low), int(high)), bool(sublinear))
        return features, features._weighted(counts)

    @staticmethod
    def scan_text(
        blocks: Iterable[Iterable[str]],
        *,
        max_features: int | None = None,
        min_df: int | float = 2,
        ngrams: tuple[int, int] = (1, 1),
        sublinear: bool = True,
    ) -> TextFeatures:
        """Learn a vocabulary from texts of which only a block is in memory at a time.

        It is that of :meth:`fit_text`; what is kept grows with the words, not with the texts.

        Parameters
        ----------
        blocks : iterable of iterables of str
            The texts.
        max_features, min_df, ngrams, sublinear
            As in :meth:`fit_text`.

        Examples
        --------
        >>> Features.scan_text([["a chess game"], ["a chess clock"]]).names.tolist()
        ['chess']
        """
        low, high = ngrams
        terms_of = CountVectorizer(ngram_range=(low, high)).build_analyzer()
        total: Counter[str] = Counter()
        texts_with: Counter[str] = Counter()
        n_texts = 0
        for block in blocks:
            for text in block:
                terms = terms_of(text)
                total.update(terms)
                texts_with.update(set(terms))
                n_texts += 1
        terms = np.array(sorted(total), dtype=object)
        within = np.array([texts_with[term] for term in terms], dtype=np.int64)
        least = min_df if isinstance(min_df, int | np.integer) else min_df * n_texts
        kept = np.flatnonzero(within >= least)
        if max_features is not None and len(kept) > max_features:
            often = np.array([total[term] for term in terms[kept]], dtype=np.float64)
            # Of equally frequent terms scikit-learn's order decides, as in fit_text.
            kept = np.sort(kept[(-often).argsort()[:max_features]])
        if not len(kept):
            raise DataError("the texts give no features (no word is in enough of them)")
        idf = np.log((1 + n_texts) / (1 + within[kept])) + 1.0
        return TextFeatures(terms[kept], idf, (int(low), int(high)), bool(sublinear))

    @staticmethod
    def plain(names: Sequence[str] | Array, *, unit_rows: bool = False) -> PlainFeatures:
        """Return features that are numbers already.

        Parameters
        ----------
        names : sequence of str
            The names of the columns.
        unit_rows : bool, default=False
            Whether rows are divided by their length.

        Examples
        --------
        >>> Features.plain(["x", "y"], unit_rows=True).transform(np.array([[3.0, 4.0]]))
        array([[0.6, 0.8]])
        """
        columns = np.empty(len(names), dtype=object)
        columns[:] = [str(name) for name in names]
        return PlainFeatures(columns, unit_rows)

    def with_pairs(self, X: Any, **options: Any) -> PairedFeatures:
        """Return these features with pairs of them beside them (:mod:`grople.pairs`).

        Parameters
        ----------
        X : array or sparse array of shape (n_rows, n_features)
            Training rows in which pairs are looked for, as :meth:`transform` of :attr:`own`
            returns them.
        **options
            Parameters of :class:`~grople.pairs.FeaturePairs`.

        Examples
        --------
        >>> features, X = Features.fit_text(["sea of java", "java sea", "java code"], min_df=1)
        >>> features.with_pairs(X).names.tolist()[4:]
        ['java & sea']
        """
        settings = FeaturePairs(**options).get_params()
        check_parameters("FeaturePairs", PARAMETERS, settings)
        rows = _amounts(X)
        if rows.nnz > rows.shape[0] * rows.shape[1] / 2 and rows.shape[1] > settings["n_rarest"]:
            warnings.warn(
                "pairs are of the rarest features of a row, but here rows have nearly all: of "
                f"those that are equally rare the first {settings['n_rarest']} count",
                UserWarning,
                stacklevel=2,
            )
        return PairedFeatures(self.own, find_pairs(rows, **settings))


@dataclass(frozen=True)
class TextFeatures(Features):
    """TF-IDF of words with a fixed vocabulary: lower case, unit-length rows.

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

    terms: Array
    idf: Array
    ngrams: tuple[int, ...] = (1, 1)
    sublinear: bool = True

    def __post_init__(self) -> None:
        _check_names(self.terms)
        if len(set(self.terms)) < len(self.terms):
            raise ValueError("a term stands twice in the vocabulary")
        if self.idf.shape != self.terms.shape:
            raise ValueError(f"{len(self.terms)} terms, but {self.idf.size} weights")
        if not np.issubdtype(self.idf.dtype, np.floating) or not np.isfinite(self.idf).all():
            raise ValueError("the weights of terms must be finite numbers")
        if len(self.ngrams) != 2 or not 1 <= self.ngrams[0] <= self.ngrams[1]:
            raise ValueError(f"ngrams must be a shortest and a longest run, not {self.ngrams!r}")

    @property
    def names(self) -> Array:
        """The terms."""
        return self.terms

    @cached_property
    def _counter(self) -> CountVectorizer:
        columns = {term: column for column, term in enumerate(self.terms)}
        return CountVectorizer(vocabulary=columns, ngram_range=self.ngrams, dtype=np.float64)

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
        return self._weighted(self._counter.transform(records))

    def _weighted(self, counts: Any) -> Any:
        """Turn counts of terms, which are changed in place, into rows."""
        X = sp.csr_array(counts)
        # Lengths are sums: in one order, so that a text has the same row whenever it comes.
        X.sort_indices()
        if self.sublinear:
            X.data = 1.0 + np.log(X.data)
        X.data *= self.idf[X.indices]
        return _unit_rows(X, copy=False)


@dataclass(frozen=True)
class PlainFeatures(Features):
    """Columns of numbers, as they are or with rows of unit length.

    Parameters
    ----------
    columns : ndarray of str
        The names of the columns.
    unit_rows : bool
        Whether rows are divided by their length.
    """

    columns: Array
    unit_rows: bool = False

    def __post_init__(self) -> None:
        _check_names(self.columns)

    @property
    def names(self) -> Array:
        """The names of the columns."""
        return self.columns

    def transform(self, records: Any, names: Sequence[str] | None = None) -> Any:
        """Return rows for the model.

        Parameters
        ----------
        records : array or sparse array of shape (n_rows, n_columns)
            Numbers.
        names : sequence of str, optional
            The names of the columns, where they may stand in another order or be among others.

        Returns
        -------
        array or csr_array
        """
        X = sp.csr_array(records) if sp.issparse(records) else np.asarray(records)
        if names is not None and list(names) != self.columns.tolist():
            X = X[:, self._places(names)]
        if X.ndim != 2 or X.shape[1] != len(self.columns):
            raise DataError(
                f"rows have {X.shape[-1]} features, but the model was fitted on {len(self.columns)}"
            )
        return _unit_rows(X) if self.unit_rows else X

    def _places(self, names: Sequence[str]) -> NDArray[np.intp]:
        place = {name: i for i, name in enumerate(names)}
        if len(place) < len(names) or len(set(self.columns)) < len(self.columns):
            raise DataError("two columns have the same name, so they cannot be told by name")
        missing = [name for name in self.columns if name not in place]
        if missing:
            others = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
            raise DataError(f"no column {missing[0]!r}{others}, which the model was fitted on")
        return np.array([place[name] for name in self.columns], dtype=np.intp)


@dataclass(frozen=True)
class PairedFeatures(Features):
    """Words or columns with pairs of them beside them: what occurs together.

    Parameters
    ----------
    single : TextFeatures or PlainFeatures
        The features that form pairs.
    table : PairTable
        The pairs.
    """

    single: Features
    table: PairTable

    def __post_init__(self) -> None:
        if not isinstance(self.single, TextFeatures | PlainFeatures):
            raise ValueError("pairs are of words or of columns")
        if not isinstance(self.table, PairTable):
            raise ValueError("the table of pairs is none")
        if len(self.table.rows_with) != len(self.single.names):
            raise ValueError("the pairs are those of other features")

    def __len__(self) -> int:
        return len(self.single) + len(self.table.pairs)  # without naming them

    @cached_property
    def names(self) -> Array:
        """The names of the features, then of the pairs, ``"a & b"``."""
        return names_beside(self.single.names, self.table.pairs)

    @property
    def own(self) -> Features:
        """The features that form pairs."""
        return self.single

    def transform(self, records: Any) -> Any:
        """Return the rows of records, with their pairs.

        Parameters
        ----------
        records : iterable of str, or array or sparse array of shape (n_rows, n_columns)
            Texts or numbers, as the single features take them; numbers not negative.

        Returns
        -------
        csr_array of shape (n_rows, n_features + n_pairs)
        """
        return self.table.beside(_amounts(self.single.transform(records)))


def _amounts(X: Any) -> Any:
    """Return rows as a sparse array, or say that some of their features are no amounts."""
    rows = sp.csr_array(X)
    if rows.data.min(initial=0) < 0:
        raise DataError("pairs are of amounts, but some features are negative: fit without pairs")
    return rows


def _unit_rows(X: Any, *, copy: bool = True) -> Any:
    return normalize(X, copy=copy) if X.shape[0] else X


def _check_names(names: Array) -> None:
    values = names.tolist()
    if names.ndim != 1 or not all(isinstance(name, str) for name in values):
        raise ValueError("the names of features must be texts")
