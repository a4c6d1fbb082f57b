"""What every format yields: rows as they stand in the file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from grople.datasets._matrices import stacked
from grople.datasets._reading import Reading
from grople.datasets._tags import TagColumn

__all__ = ["Batch", "Reader", "stack"]


@dataclass(frozen=True)
class Batch:
    """Some rows.

    Parameters
    ----------
    X : array, csr_array or list of str
        Features, or texts.
    Y : csr_array or None
        Labels; None where nobody asked for them.
    row_names : list of str or None
        What the rows are called.
    """

    X: Any
    Y: Any = None
    row_names: list[str] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.X) if isinstance(self.X, list) else int(self.X.shape[0])


class Reader(Protocol):
    """An open file of some format: names, and rows that are gone through once.

    A reader is made of a source, a :class:`Reading` and, where labels are not wanted, the names of
    the features that are. What only all rows tell (labels that occur, say) is known when
    ``batches()`` has ended; ``finish`` then puts a batch, of this or another pass, in the columns
    of the names. Reading whole finishes all batches stacked, reading in blocks goes through the
    file once for the names, and prediction finishes each batch as it comes.

    Attributes
    ----------
    reading : Reading
        How the file is read, with what the file itself decided.
    feature_names, label_names : sequence of str
        The columns; no features where rows are texts.
    texts : bool
        Whether rows are texts.
    declared : bool
        Whether the names are known before all rows are.
    notes : list of str
        What was done that a user should know.
    tag_column : TagColumn or None
        How cells of tags were understood.
    """

    reading: Reading
    texts: bool
    declared: bool

    @property
    def feature_names(self) -> Sequence[str]: ...
    @property
    def label_names(self) -> Sequence[str]: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def tag_column(self) -> TagColumn | None: ...

    def batches(self) -> Iterator[Batch]:
        """Yield the rows as they stand in the file."""
        ...

    def finish(self, batch: Batch) -> Batch:
        """Return rows in the columns of the names."""
        ...


def stack(batches: Sequence[Batch]) -> Batch:
    """Put batches below each other."""
    first = batches[0]
    if len(batches) == 1:
        return first
    X: Any
    if isinstance(first.X, list):
        X = list(itertools.chain.from_iterable(batch.X for batch in batches))
    else:
        X = stacked([batch.X for batch in batches])
    Y = None if first.Y is None else stacked([batch.Y for batch in batches])
    named = [batch.row_names for batch in batches if batch.row_names is not None]
    names = list(itertools.chain.from_iterable(named)) if len(named) == len(batches) else None
    return Batch(X, Y, names)
