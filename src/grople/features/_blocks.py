"""Rows as a few blocks of features side by side, each of one kind with a fitted map of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.errors import DataError
from grople.features._columns import PlainFeatures
from grople.features._table import TableColumns
from grople.features._text import TextFeatures

__all__ = [
    "KINDS",
    "BlockFeatures",
    "BlockRange",
    "FeatureBlock",
    "block_ranges",
    "join_blocks",
    "union_blocks",
]

#: Kinds of features.
KINDS = ("words", "characters", "embeddings", "columns", "interactions")


class BlockRange(NamedTuple):
    """Which columns of the rows are a block: its name, its kind, its first column and its end."""

    name: str
    kind: str
    start: int
    stop: int


@dataclass(frozen=True)
class FeatureBlock:
    """One kind of features of the rows, with its fitted map.

    Parameters
    ----------
    name : str
        What to call it.
    kind : {"words", "characters", "embeddings", "columns"}
        What its features are.
    features : TextFeatures, PlainFeatures or TableColumns
        How records become features.
    column : str, optional
        The column of the records that it is made of; by default it takes the records as they are.
    """

    name: str
    kind: str
    features: TextFeatures | PlainFeatures | TableColumns
    column: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind!r} is no kind of features: {', '.join(KINDS)}")

    def transform(self, records: Any) -> Any:
        """Return the features of records."""
        if self.column is None:
            return self.features.transform(records)
        try:
            cells = records[self.column]
        except (KeyError, TypeError, IndexError):
            raise DataError(
                f"the records have no column {self.column!r}, which the model learnt from"
            ) from None
        return self.features.transform(np.stack(cells) if self.kind == "embeddings" else cells)


@dataclass(frozen=True)
class BlockFeatures:
    """Blocks of features side by side; sparse as soon as one of them is.

    Parameters
    ----------
    parts : tuple of FeatureBlock
        The blocks.

    Examples
    --------
    >>> from grople.features import fit_text
    >>> texts = ["chess", "chessboard"]
    >>> words, _ = fit_text(texts, min_df=1)
    >>> characters, _ = fit_text(texts, unit="characters", ngrams=(5, 5))
    >>> features = BlockFeatures((
    ...     FeatureBlock("words", "words", words),
    ...     FeatureBlock("characters", "characters", characters),
    ... ))
    >>> features.names.tolist()
    ['chess', 'chessboard', '" ches"', '"chess"']
    >>> features.transform(["a chess game"]).toarray().round(1)
    array([[1. , 0. , 0.7, 0.7]])
    """

    parts: tuple[FeatureBlock, ...]

    def __post_init__(self) -> None:
        if not self.parts or not all(isinstance(part, FeatureBlock) for part in self.parts):
            raise ValueError("rows are made of one block of features or more")
        if len({part.name for part in self.parts}) < len(self.parts):
            raise ValueError("two blocks of features have the same name")

    def __len__(self) -> int:
        return sum(len(part.features) for part in self.parts)

    @property
    def texts(self) -> bool:
        """Whether records are texts."""
        return all(part.column is None and part.features.texts for part in self.parts)

    @cached_property
    def names(self) -> NDArray[Any]:
        """The names of the features; after that of the block where an earlier one has the same."""
        names: dict[str, None] = {}
        for part in self.parts:
            own = [str(name) for name in part.features.names]
            names |= {f"{part.name}: {name}" if name in names else name: None for name in own}
        return np.array(list(names), dtype=object)

    def transform(self, records: Any) -> Any:
        """Return the rows of records.

        Parameters
        ----------
        records : iterable of str, or DataFrame or dict of columns
            Texts, or a table where blocks are made of its columns.

        Returns
        -------
        csr_array or ndarray of shape (n_rows, n_features)
        """
        if self.texts:
            records = records if isinstance(records, str) else list(records)
        return _side_by_side([part.transform(records) for part in self.parts])


def join_blocks(blocks: Mapping[str, Any]) -> tuple[Any, tuple[BlockRange, ...]]:
    """Return matrices side by side as rows, and which columns are which.

    Parameters
    ----------
    blocks : dict of str to array or sparse array
        The blocks by name, with the same rows. A name such as ``"words"`` or ``"embeddings"`` is
        also the kind; of other names sparse blocks are words, dense ones columns.

    Returns
    -------
    X : csr_array or ndarray
        The rows, sparse as soon as a block is.
    ranges : tuple of BlockRange
        Which columns are which block.

    Examples
    --------
    >>> words = sp.csr_array([[0, 1, 0], [1, 0, 0.0]])
    >>> X, ranges = join_blocks({"words": words, "embeddings": np.ones((2, 2))})
    >>> X.shape, [tuple(block) for block in ranges]
    ((2, 5), [('words', 'words', 0, 3), ('embeddings', 'embeddings', 3, 5)])
    """
    if not blocks:
        raise DataError("there is no block of features")
    if len({matrix.shape[0] for matrix in blocks.values()}) > 1:
        rows = ", ".join(f"{name!r} {matrix.shape[0]}" for name, matrix in blocks.items())
        raise DataError(f"blocks of features need the same rows, but have {rows}")
    kinds = [
        name if name in KINDS else "words" if sp.issparse(matrix) else "columns"
        for name, matrix in blocks.items()
    ]
    widths = [matrix.shape[1] for matrix in blocks.values()]
    return (
        _side_by_side(list(blocks.values())),
        block_ranges(list(zip(blocks, kinds, widths, strict=True))),
    )


def union_blocks(union: Any) -> tuple[BlockRange, ...]:
    """Return which columns of a fitted scikit-learn ``FeatureUnion`` are which block.

    Parameters
    ----------
    union : FeatureUnion
        Fitted; the names of its steps name the blocks.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import FeatureUnion
    >>> characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3))
    >>> union = FeatureUnion([("terms", TfidfVectorizer()), ("within", characters)])
    >>> [tuple(block) for block in union_blocks(union.fit(["go", "ludo"]))]
    [('terms', 'words', 0, 2), ('within', 'characters', 2, 8)]
    """
    found = []
    for name, step in union.transformer_list:
        if step == "drop":
            continue
        width = union.n_features_in_ if step == "passthrough" else len(step.get_feature_names_out())
        analyzer = getattr(step, "analyzer", None)
        of_texts = "characters" if analyzer in ("char", "char_wb") else "words"
        kind = name if name in KINDS else "columns" if analyzer is None else of_texts
        found.append((name, kind, width))
    return block_ranges(found)


def block_ranges(widths: Sequence[tuple[str, str, int]]) -> tuple[BlockRange, ...]:
    """Return the ranges of blocks of some names, kinds and widths."""
    ends = np.cumsum([0, *(width for *_, width in widths)]).tolist()
    return tuple(
        BlockRange(name, kind, start, stop)
        for (name, kind, _), start, stop in zip(widths, ends[:-1], ends[1:], strict=True)
    )


def _side_by_side(matrices: Sequence[Any]) -> Any:
    if any(sp.issparse(matrix) for matrix in matrices):
        return sp.csr_array(sp.hstack([sp.csr_array(matrix) for matrix in matrices], format="csr"))
    return np.hstack(matrices)
