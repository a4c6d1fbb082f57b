"""Read a file in blocks: rows enough for a product of matrices, few enough for any memory.

A first pass finds what only all rows tell (which labels occur); then the batches of the reader are
passed on as often as they are asked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from grople.datasets._formats import Batch, stack
from grople.datasets._read import (
    asked,
    chosen_columns,
    examples_of,
    open_reader,
    refuse_nothing,
)
from grople.datasets._reading import Reading
from grople.datasets._tags import TagColumn
from grople.errors import DataError
from grople.files import NO_LIMIT, opened

__all__ = ["Blocks", "read_blocks"]

#: About how many bytes the features, or texts, of a block take.
BLOCK_BYTES = 32 << 20


class Blocks:
    """A file as bundles, or tables of texts, of some of its rows; may be gone through again.

    Attributes
    ----------
    feature_names, label_names : sequence of str
        The columns of every block.
    source : str
        The file.
    reading : Reading
        How it is read, for files to come.
    texts : bool
        Whether blocks are tables of texts.
    notes : list of str
        What the reader did that a user should know.
    tag_column : TagColumn or None
        How the cells of a column of tags were understood.
    """

    def __init__(self, path: str | Path, reading: Reading, block_bytes: int = BLOCK_BYTES) -> None:
        if block_bytes < 1:
            raise ValueError(f"block_bytes must be at least 1, not {block_bytes}")
        self.source = os.fspath(path)
        if reading.mixed:
            raise DataError("columns of mixed kinds are not read in blocks", file=self.source)
        self._block_bytes = block_bytes
        with opened(path, NO_LIMIT) as source:
            reader = open_reader(source, reading)
            if not reader.declared and not sum(batch.n_rows for batch in reader.batches()):
                raise DataError("no rows: nothing to learn from", file=self.source)
        self._reader = reader
        self._columns = chosen_columns(reader, self.source)
        self.texts = reader.texts
        self.reading = reader.reading
        self.label_names = reader.label_names
        self.notes = list(reader.notes)
        self.tag_column: TagColumn | None = reader.tag_column
        self.feature_names: Sequence[str] = reader.feature_names
        if self._columns is not None:
            self.feature_names = [self.feature_names[column] for column in self._columns]
        refuse_nothing(reader, self.source)

    def __iter__(self) -> Iterator[Any]:
        empty = True
        with opened(self.source, NO_LIMIT) as source:
            batches = map(self._finished, open_reader(source, self.reading).batches())
            for batch in _in_blocks(batches, self._block_bytes):
                empty = False
                yield examples_of(self._reader, self._columns, batch, self.source)
        if empty:
            raise DataError("no rows: nothing to learn from", file=self.source)

    def _finished(self, batch: Batch) -> Batch:
        if batch.Y is not None and batch.Y.shape[1] > len(self.label_names):
            raise DataError("was changed while it was read", file=self.source)
        return self._reader.finish(batch)


def read_blocks(
    path: str | Path,
    reading: Reading | None = None,
    *,
    format: str | None = None,
    labels: str | Path | int | Sequence[str] | None = None,
    block_bytes: int = BLOCK_BYTES,
    **options: Any,
) -> Blocks:
    r"""Open a data set that need not fit into memory.

    Put one below the other, the blocks are what :func:`read` returns.

    Parameters
    ----------
    path : path
        The file, gzip or not.
    reading : Reading, optional
        How to read it, in place of what follows.
    format, labels, **options
        As in :func:`read`.
    block_bytes : int
        About how many bytes the features of a block may take.

    Returns
    -------
    Blocks
        An iterable of bundles; of tables of texts, if rows are texts.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from grople.baselines import Ridge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "large.txt"
    ...     _ = file.write_text("4 2 2\n0 0:1\n1 1:1\n0 0:2\n1 1:2 0:1\n")
    ...     blocks = read_blocks(file, block_bytes=16)
    ...     len(list(blocks)), Ridge().fit_blocks(blocks).summary_.n_rows
    (4, 4)
    """
    if reading is None:
        reading = asked(path, format, labels, options)
    return Blocks(path, reading, block_bytes)


def _in_blocks(batches: Iterable[Batch], block_bytes: int) -> Iterator[Batch]:
    """Cut large batches, and put small ones together, until a block is full."""
    waiting: list[Batch] = []
    size = 0
    for batch in batches:
        pieces = max(1, -(-_bytes(batch.X) // block_bytes))
        step = max(1, -(-batch.n_rows // pieces))
        for start in range(0, batch.n_rows, step):
            piece = batch if step >= batch.n_rows else _cut(batch, slice(start, start + step))
            waiting.append(piece)
            size += _bytes(piece.X)
            if size >= block_bytes:
                yield stack(waiting)
                waiting, size = [], 0
    if waiting:
        yield stack(waiting)


def _cut(batch: Batch, rows: slice) -> Batch:
    names = None if batch.row_names is None else batch.row_names[rows]
    return Batch(batch.X[rows], batch.Y[rows], names)


def _bytes(X: Any) -> int:
    if isinstance(X, list):
        return sum(map(len, X))
    if sp.issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)
