"""What every format yields: rows as they stand in the file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grople.datasets._matrices import stacked
from grople.datasets._reading import Reading
from grople.datasets._tags import TagColumn
from grople.files import Source

__all__ = ["Batch", "Reader", "stack"]


@dataclass(frozen=True)
class Batch:
    """Some rows.

    Parameters
    ----------
    X : array, csr_array, list of str or dict of arrays
        Features, or texts, or columns of mixed kinds.
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
        rows = next(iter(self.X.values())) if isinstance(self.X, dict) else self.X
        return len(rows) if isinstance(rows, list) else int(rows.shape[0])


class Reader:
    """An open file of some format: names, and rows that are gone through once.

    What only all rows tell (labels that occur, say) is known when ``batches()`` has ended;
    ``finish`` then puts a batch, of this pass or another, in the columns of the names. Reading
    whole finishes all batches stacked, reading in blocks goes through the file once for the names,
    and prediction finishes each batch as it comes.

    Parameters
    ----------
    source : Source
        The open file.
    reading : Reading
        How to read it.
    only : sequence of str, optional
        Where labels are not wanted: the names of the features that are; none for texts.
    """

    #: Whether rows are texts.
    texts: bool = False
    #: Whether the names are known before all rows are.
    declared: bool = True
    #: Where the data came from, if the file says so.
    origin: str | None = None
    feature_names: Sequence[str] = ()
    label_names: Sequence[str] = ()
    #: What was done that a user should know.
    notes: Sequence[str] = ()
    #: How cells of tags were understood.
    tag_column: TagColumn | None = None

    def __init__(self, source: Source, reading: Reading, only: Sequence[str] | None = None) -> None:
        self._source = source
        self._file = source.path
        self._labelled = only is None
        #: How the file is read, with what the file itself decided.
        self.reading = reading

    def batches(self) -> Iterator[Batch]:
        """Yield the rows as they stand in the file."""
        raise NotImplementedError

    def finish(self, batch: Batch) -> Batch:
        """Return rows in the columns of the names."""
        return batch


def stack(batches: Sequence[Batch]) -> Batch:
    """Put batches below each other."""
    first = batches[0]
    if len(batches) == 1:
        return first
    X: Any
    if isinstance(first.X, list):
        X = list(itertools.chain.from_iterable(batch.X for batch in batches))
    elif isinstance(first.X, dict):
        X = {name: np.concatenate([batch.X[name] for batch in batches]) for name in first.X}
    else:
        X = stacked([batch.X for batch in batches])
    Y = None if first.Y is None else stacked([batch.Y for batch in batches])
    named = [batch.row_names for batch in batches if batch.row_names is not None]
    names = list(itertools.chain.from_iterable(named)) if len(named) == len(batches) else None
    return Batch(X, Y, names)
