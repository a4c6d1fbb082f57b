"""Feature maps with interaction features after the others."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import scipy.sparse as sp
from numpy.typing import NDArray

from grople.errors import DataError
from grople.features._blocks import BlockFeatures, BlockRange, block_ranges
from grople.features._columns import PlainFeatures
from grople.features._interactions import InteractionTable, interaction_names
from grople.features._table import TableColumns
from grople.features._text import TextFeatures
from grople.features._transformer import InteractionFeatures

__all__ = [
    "Features",
    "FeaturesWithInteractions",
    "feature_blocks",
    "with_interactions",
    "without_interactions",
]

#: Maps from records to rows that look at nothing but single features.
SingleFeatures = TextFeatures | PlainFeatures | TableColumns | BlockFeatures


@dataclass(frozen=True)
class FeaturesWithInteractions:
    """Features, then interaction features; made by :func:`with_interactions`.

    Parameters
    ----------
    single : TextFeatures, PlainFeatures, TableColumns or BlockFeatures
        The features themselves.
    table : InteractionTable
        The pairs of them.
    """

    single: SingleFeatures
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
        """The names of the features, then of the pairs, ``"a & b"``."""
        return interaction_names(self.single.names, self.table)

    def transform(self, records: Any) -> Any:
        """Return the rows of records, with their interaction features.

        Parameters
        ----------
        records : iterable of str, array, sparse array or table
            As the single features take them; no feature may be negative.

        Returns
        -------
        csr_array of shape (n_rows, n_features + n_pairs)
        """
        return self.table.append_to(_amounts(self.single.transform(records)))


#: Any of the maps from records to rows.
Features = SingleFeatures | FeaturesWithInteractions


def with_interactions(
    features: SingleFeatures, X: Any, **options: Any
) -> tuple[FeaturesWithInteractions, Any]:
    """Find the pairs of features that occur together, and return the training rows with them.

    Parameters
    ----------
    features : TextFeatures, PlainFeatures, TableColumns or BlockFeatures
        The features.
    X : array or sparse array of shape (n_rows, n_features)
        Training rows, as ``features.transform`` returns them.
    **options
        Parameters of :class:`InteractionFeatures`.

    Returns
    -------
    features : FeaturesWithInteractions
        The features, then the pairs.
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


def without_interactions(features: Features) -> SingleFeatures:
    """Return the map of what records hold themselves.

    Examples
    --------
    >>> from grople.features import fit_text
    >>> words, X = fit_text(["sea of java", "java sea", "java code"], min_df=1)
    >>> features, X = with_interactions(words, X)
    >>> len(features), len(without_interactions(features))
    (5, 4)
    """
    return features.single if isinstance(features, FeaturesWithInteractions) else features


def feature_blocks(features: Features) -> tuple[BlockRange, ...]:
    """Return which columns of the rows are which block: name, kind, start and stop.

    Examples
    --------
    >>> from grople.features import fit_text
    >>> words, X = fit_text(["sea of java", "java sea", "java code"], min_df=1)
    >>> features, X = with_interactions(words, X)
    >>> [tuple(block) for block in feature_blocks(features)]
    [('words', 'words', 0, 4), ('interactions', 'interactions', 4, 5)]
    """
    if isinstance(features, FeaturesWithInteractions):
        *_, last = found = feature_blocks(features.single)
        return (*found, BlockRange("interactions", "interactions", last.stop, len(features)))
    if isinstance(features, BlockFeatures):
        return block_ranges([(p.name, p.kind, len(p.features)) for p in features.parts])
    kind = features.unit if isinstance(features, TextFeatures) else "columns"
    return block_ranges([(kind, kind, len(features))])


def _amounts(X: Any) -> Any:
    """Return rows as a sparse array, or say that some of their features are no amounts."""
    rows = sp.csr_array(X)
    if rows.data.min(initial=0) < 0:
        raise DataError(
            "interaction features are of amounts, but some features are negative: "
            "fit without interactions"
        )
    return rows
