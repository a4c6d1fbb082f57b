"""Examples: what a file holds, as records with labels, and embeddings of the records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.datasets import (
    Bundle,
    MixedTable,
    NumberedNames,
    Records,
    TagColumn,
    TextTable,
    label_matrix,
)
from grople.decision import LabelHierarchy
from grople.errors import DataError

__all__ = ["EMBEDDINGS", "RECORDS", "Examples", "Found", "load_embeddings", "with_embeddings"]

Array = NDArray[Any]
#: What a file holds.
Found = Bundle | TextTable | MixedTable

#: The parts of records with embeddings.
RECORDS, EMBEDDINGS = "records", "embeddings"
#: What may stand between the levels of label names.
SEPARATORS = ("::", "/", " > ", ">")


@dataclass(frozen=True)
class Examples:
    """What a file holds: records with labels.

    Attributes
    ----------
    records : list of str, matrix or dict of columns
        Texts, rows of numbers, or the columns of a table of mixed kinds.
    Y : csr_array of shape (n_rows, n_labels)
        Labels.
    label_names : list of str
        Their names.
    feature_names : list of str, optional
        The names of columns of numbers, where the file has any.
    embeddings : ndarray of shape (n_rows, n_dimensions), optional
        Dense features of the same records.
    source : str
        The file.
    row_names : sequence of str
        What the rows are called, where they have names.
    notes : tuple of str
        What a person should know of how the file was read.
    tag_column : TagColumn, optional
        How the cells of a column of tags were understood.
    """

    records: Any
    Y: Any
    label_names: list[str]
    feature_names: list[str] | None = None
    embeddings: Array | None = None
    source: str = ""
    row_names: Sequence[str] = ()
    notes: tuple[str, ...] = ()
    tag_column: TagColumn | None = None

    @classmethod
    def of(cls, found: Found | Examples) -> Examples:
        """Return what was read from a file."""
        if isinstance(found, Examples):
            return found
        about: dict[str, Any] = {
            "source": found.source,
            "notes": tuple(found.notes),
            "tag_column": found.tag_column,
        }
        if isinstance(found, TextTable):
            Y, labels = label_matrix(found.tags)
            if not labels:
                raise DataError("no row has a label: nothing to learn from", file=found.source)
            return cls(list(found.texts), Y, labels, row_names=found.ids, **about)
        labels = list(map(str, found.label_names))
        if isinstance(found, MixedTable):
            return cls(found.columns, found.Y, labels, row_names=found.row_names, **about)
        numbered = isinstance(found.feature_names, NumberedNames)
        names = None if numbered else list(map(str, found.feature_names))
        return cls(found.X, found.Y, labels, names, row_names=found.row_names, **about)

    @property
    def kind(self) -> str:
        """What the records are: ``"texts"``, ``"numbers"`` or ``"columns"``."""
        if isinstance(self.records, list):
            return "texts"
        return "columns" if isinstance(self.records, dict) else "numbers"

    @property
    def content(self) -> Any:
        """The records as a map of features takes them."""
        if self.embeddings is None:
            return self.records
        return {RECORDS: self.records, EMBEDDINGS: self.embeddings}

    @property
    def level_separator(self) -> str | None:
        """What seems to stand between the levels of label names; None if they have one."""
        for separator in SEPARATORS:
            above = [name.rpartition(separator)[0] for name in self.label_names]
            levels = [name for name in above if name]
            if set(levels) <= set(self.label_names):
                continue  # labels are closed already
            if 2 * len(levels) > len(above) and 2 * len(set(levels)) <= len(levels):
                return separator
        return None

    def closed(self, separator: str) -> Examples:
        """Return the examples with all labels that theirs imply, by the levels of their names."""
        hierarchy = LabelHierarchy.of_names(self.label_names, separator)
        return replace(self, Y=hierarchy.close(self.Y), label_names=list(hierarchy.names))

    def first_rows(self, count: int = 3) -> list[tuple[str, list[str]]]:
        """Return the first rows as they were understood: text, cells or name, and labels."""
        shown = []
        for row in range(min(count, self.Y.shape[0])):
            what = self.row_names[row] if len(self.row_names) else f"row {row + 1}"
            if self.kind == "texts":
                what = " ".join(self.records[row].split())
            elif self.kind == "columns":
                what = ", ".join(str(cells[row]) for cells in self.records.values())
            columns = self.Y.indices[slice(*self.Y.indptr[row : row + 2])]
            shown.append((str(what), [self.label_names[column] for column in columns]))
        return shown

    def take(self, rows: Array) -> Examples:
        """Return some of the examples."""
        if self.kind == "texts":
            records: Any = [self.records[i] for i in rows]
        elif self.kind == "columns":
            records = {name: cells[rows] for name, cells in self.records.items()}
        else:
            records = self.records[rows]
        embeddings = None if self.embeddings is None else self.embeddings[rows]
        return replace(self, records=records, Y=self.Y[rows], embeddings=embeddings, row_names=())


def load_embeddings(path: str | Path, n_rows: int | None = None) -> Array:
    """Return the embeddings in a ``.npy`` file: a row of numbers for each record, in their order.

    Parameters
    ----------
    path : path
        The file.
    n_rows : int, optional
        How many rows it must have.
    """
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"not a file of numpy.save ({error})", file=path) from error
    if not isinstance(found, np.ndarray) or found.ndim != 2 or found.dtype.kind != "f":
        raise DataError("embeddings are a matrix of real numbers, a row a record", file=path)
    if n_rows is not None and len(found) != n_rows:
        raise DataError(f"{len(found):,} embeddings for {n_rows:,} records", file=path)
    if not np.isfinite(found).all():
        raise DataError("some embeddings are not finite", file=path)
    return found


def with_embeddings(blocks: Iterable[Records], embeddings: Array) -> Iterator[Records]:
    """Yield blocks of records with the embeddings of their rows."""
    start = 0
    for block in blocks:
        stop = start + len(block)
        if stop > len(embeddings):
            raise DataError(f"there are more records than the {len(embeddings):,} embeddings")
        content = {RECORDS: block.content, EMBEDDINGS: embeddings[start:stop]}
        yield Records(content, block.names)
        start = stop
    if start < len(embeddings):
        raise DataError(f"{len(embeddings):,} embeddings for {start:,} records")
