"""Feature maps with interaction features after the words or columns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import scipy.sparse as sp
from numpy.typing import NDArray

from grople.errors import DataError
from grople.features._columns import PlainFeatures
from grople.features._interactions import InteractionTable, interaction_names
from grople.features._text import TextFeatures
from grople.features._transformer import InteractionFeatures

__all__ = ["Features", "FeaturesWithInteractions", "with_interactions", "without_interactions"]


@dataclass(frozen=True)
class FeaturesWithInteractions:
    """Words or columns, then interaction features; made by :func:`with_interactions`.

    Parameters
    ----------
    single : TextFeatures or PlainFeatures
        The words or columns.
    table : InteractionTable
        The pairs of them.
    """

    single: TextFeatures | PlainFeatures
    table: InteractionTable

    def __post_init__(self) -> None:
        if len(self.table.rows_with) != len(self.single):
            raise ValueError("the pairs are those of other features")

    def __len__(self) -> int:
        return len(self.single) + len(self.table)  # without naming them

    @property
    def texts(self) -> bool:
        """Whether records are texts."""
        return self.single.texts

    @cached_property
    def names(self) -> NDArray[Any]:
        """The names of the words or columns, then of the pairs, ``"a & b"``."""
        return interaction_names(self.single.names, self.table)

    def transform(self, records: Any) -> Any:
        """Return the rows of records, with their interaction features.

        Parameters
        ----------
        records : iterable of str, or array or sparse array of shape (n_rows, n_columns)
            Texts or numbers, as the single features take them; numbers not negative.

        Returns
        -------
        csr_array of shape (n_rows, n_features + n_pairs)
        """
        return self.table.append_to(_amounts(self.single.transform(records)))


#: Any of the maps from records to rows.
Features = TextFeatures | PlainFeatures | FeaturesWithInteractions


def with_interactions(
    features: TextFeatures | PlainFeatures, X: Any, **options: Any
) -> tuple[FeaturesWithInteractions, Any]:
    """Find the pairs of features that occur together, and return the training rows with them.

    Parameters
    ----------
    features : TextFeatures or PlainFeatures
        The words or columns.
    X : array or sparse array of shape (n_rows, n_features)
        Training rows, as ``features.transform`` returns them.
    **options
        Parameters of :class:`InteractionFeatures`.

    Returns
    -------
    features : FeaturesWithInteractions
        The words or columns, then the pairs.
    X : csr_array of shape (n_rows, n_features + n_pairs)
        The rows.

    Examples
    --------
    >>> from grople.features import fit_text
    >>> words, X = fit_text(["sea of java", "java sea", "java code"], min_df=1)
    >>> features, X = with_interactions(words, X)
    >>> features.names.tolist(), X.shape
    (['code', 'java', 'of', 'sea', 'java & sea'], (3, 5))
    """
    rows = _amounts(X)
    table = InteractionFeatures(**options).fit(rows).table_
    n_rows, n_features = rows.shape
    if rows.nnz > n_rows * n_features / 2 and n_features > table.n_rarest:
        warnings.warn(
            "interaction features are of the rarest features of a row, but here rows have nearly "
            f"all: of those that are equally rare the first {table.n_rarest} count",
            UserWarning,
            stacklevel=2,
        )
    return FeaturesWithInteractions(features, table), table.append_to(rows)


def without_interactions(features: Features) -> TextFeatures | PlainFeatures:
    """Return what records hold themselves: words or columns.

    Examples
    --------
    >>> from grople.features import fit_text
    >>> words, X = fit_text(["sea of java", "java sea", "java code"], min_df=1)
    >>> features, X = with_interactions(words, X)
    >>> len(features), len(without_interactions(features))
    (5, 4)
    """
    return features.single if isinstance(features, FeaturesWithInteractions) else features


def _amounts(X: Any) -> Any:
    """Return rows as a sparse array, or say that some of their features are no amounts."""
    rows = sp.csr_array(X)
    if rows.data.min(initial=0) < 0:
        raise DataError(
            "interaction features are of amounts, but some features are negative: "
            "fit without interactions"
        )
    return rows
