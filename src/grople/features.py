"""How records become the rows that a model takes, in a form that can be stored with it.

Texts become TF-IDF rows with a vocabulary and weights that are fixed when first seen, so that rows
of texts to come mean the same (and rows can be added to a model and removed exactly). Numbers stay
as they are, or have their rows scaled to unit length.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from grople.errors import DataError

__all__ = ["Features", "PlainFeatures", "TextFeatures"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Features(ABC):
    """What turns records into rows. Make one with :meth:`fit_text` or :meth:`plain`."""

    @property
    @abstractmethod
    def names(self) -> Array:
        """The names of the features, in order."""

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

        The rows are those of scikit-learn's ``TfidfVectorizer`` with the same settings.

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
        vectoriser = TfidfVectorizer(
            max_features=max_features,
            min_df=min_df,
            ngram_range=tuple(ngrams),
            sublinear_tf=sublinear,
            dtype=np.float64,
        )
        try:
            X = vectoriser.fit_transform(documents)
        except ValueError as error:
            raise DataError(f"the texts give no features ({error})") from error
        terms = np.array(vectoriser.get_feature_names_out(), dtype=object)
        low, high = ngrams
        features = TextFeatures(terms, vectoriser.idf_, (int(low), int(high)), bool(sublinear))
        return features, sp.csr_array(X)

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

    @property
    def names(self) -> Array:
        """The terms."""
        return self.terms

    @cached_property
    def _vectoriser(self) -> TfidfVectorizer:
        vectoriser = TfidfVectorizer(
            vocabulary={term: column for column, term in enumerate(self.terms)},
            ngram_range=self.ngrams,
            sublinear_tf=self.sublinear,
            dtype=np.float64,
        )
        vectoriser.idf_ = self.idf
        return vectoriser

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
        return sp.csr_array(self._vectoriser.transform(records))


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
        return normalize(X) if self.unit_rows else X

    def _places(self, names: Sequence[str]) -> NDArray[np.intp]:
        place = {name: i for i, name in enumerate(names)}
        missing = [name for name in self.columns if name not in place]
        if missing:
            others = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
            raise DataError(f"no column {missing[0]!r}{others}, which the model was fitted on")
        return np.array([place[name] for name in self.columns], dtype=np.intp)
