"""What every reader returns: a bundle of numbers, or a table of texts; both immutable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import scipy.sparse as sp

from grople.datasets._tags import TagColumn
from grople.metrics import label_indicator

__all__ = ["Bundle", "MixedTable", "NumberedNames", "TextTable"]


@dataclass(frozen=True, eq=False)
class Bundle:
    """A multi-label data set.

    Parameters
    ----------
    X : csr_array or ndarray of shape (n_rows, n_features)
        Features.
    Y : csr_array of shape (n_rows, n_labels)
        Labels, ones where a row carries the label. Any 0/1 array is converted.
    feature_names, label_names : sequence of str
        Names, one a column; without them, ``feature0, feature1, …`` and ``label0, label1, …``.
    name : str
        What to call the data set.
    source : str
        Where it came from.
    notes : sequence of str
        What a reader did that a user should know (an identifier column left out, say).
    row_names : sequence of str
        What the rows are called, one a row, or nothing where they have no names.
    tag_column : TagColumn, optional
        How the cells of a column of tags were understood, if the labels came from one.

    Examples
    --------
    >>> import numpy as np
    >>> bundle = Bundle(np.eye(3), np.array([[1, 0], [0, 1], [1, 1]]), name="tiny")
    >>> bundle.n_rows, bundle.n_features, bundle.n_labels, round(bundle.cardinality, 2)
    (3, 3, 2, 1.33)
    """

    X: Any
    Y: Any
    feature_names: Sequence[str] = ()
    label_names: Sequence[str] = ()
    name: str = "data"
    source: str = ""
    notes: Sequence[str] = ()
    row_names: Sequence[str] = ()
    tag_column: TagColumn | None = None

    def __post_init__(self) -> None:
        X = _canonical_csr(self.X) if sp.issparse(self.X) else np.asarray(self.X).view()
        Y = _canonical_csr(label_indicator(self.Y, "Y"))
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, not {X.ndim}")
        if X.shape[0] != Y.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows but Y has {Y.shape[0]}")
        if not sp.issparse(X):
            X.flags.writeable = False
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "Y", Y)
        for kind, names, width in (
            ("feature", self.feature_names, X.shape[1]),
            ("label", self.label_names, Y.shape[1]),
        ):
            if not isinstance(names, NumberedNames):
                names = tuple(map(str, names)) or NumberedNames(kind, width)
            if len(names) != width:
                raise ValueError(f"{len(names)} {kind} names for {width} columns")
            object.__setattr__(self, f"{kind}_names", names)
        row_names = tuple(map(str, self.row_names))
        if row_names and len(row_names) != X.shape[0]:
            raise ValueError(f"{len(row_names)} row names for {X.shape[0]} rows")
        object.__setattr__(self, "row_names", row_names)
        object.__setattr__(self, "notes", tuple(self.notes))

    @property
    def n_rows(self) -> int:
        """Number of rows (N)."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features (D)."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return int(self.Y.shape[1])

    @property
    def cardinality(self) -> float:
        """Labels a row, on average."""
        return float(self.Y.nnz / max(self.n_rows, 1))

    @property
    def density(self) -> float:
        """Share of the label matrix that is one."""
        return self.cardinality / max(self.n_labels, 1)

    def __repr__(self) -> str:
        kind = "sparse" if sp.issparse(self.X) else "dense"
        return (
            f"Bundle({self.name!r}: {self.n_rows} rows, {self.n_features} {kind} features, "
            f"{self.n_labels} labels, {self.cardinality:.3f} a row)"
        )


@dataclass(frozen=True)
class TextTable:
    """Texts with their tags.

    Parameters
    ----------
    texts : tuple of str
        One text a document.
    tags : tuple of tuple of str
        The tags of each.
    ids : tuple of str
        What each document is called, if asked for; else empty.
    name, source : str
        What to call the data set, and where it came from.
    notes : tuple of str
        What a reader did that a user should know.
    tag_column : TagColumn, optional
        How the cells of tags were understood.

    Examples
    --------
    >>> len(TextTable(("a chess game", "a clock"), (("game",), ("tool",))))
    2
    """

    texts: tuple[str, ...]
    tags: tuple[tuple[str, ...], ...]
    ids: tuple[str, ...] = ()
    name: str = "texts"
    source: str = ""
    notes: tuple[str, ...] = ()
    tag_column: TagColumn | None = None

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, eq=False)
class MixedTable:
    """Columns of mixed kinds (numbers, dates, words) with labels, as a file holds them.

    Parameters
    ----------
    columns : dict of str to ndarray
        Numbers, or objects with None where a cell is empty.
    Y : csr_array of shape (n_rows, n_labels)
        Labels.
    label_names, row_names : tuple of str
        Names of labels and rows; the latter are empty where rows have none.
    name, source, notes, tag_column
        As in :class:`Bundle`.

    Examples
    --------
    >>> import numpy as np
    >>> len(MixedTable({"city": np.array(["Rome", None], object)}, np.eye(2), ("a", "b")))
    2
    """

    columns: dict[str, Any]
    Y: Any
    label_names: tuple[str, ...]
    row_names: tuple[str, ...] = ()
    name: str = "table"
    source: str = ""
    notes: tuple[str, ...] = ()
    tag_column: TagColumn | None = None

    def __len__(self) -> int:
        return int(self.Y.shape[0])


class NumberedNames(Sequence[str]):
    """``kind0, kind1, …``, made when asked for: a file may claim more columns than memory holds."""

    def __init__(self, kind: str, count: int) -> None:
        self._kind = kind
        self._range = range(count)

    def __len__(self) -> int:
        return len(self._range)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(f"{self._kind}{i}" for i in self._range[index])
        return f"{self._kind}{self._range[index]}"

    def __iter__(self) -> Iterator[str]:
        return (f"{self._kind}{i}" for i in self._range)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumberedNames):
            return (self._kind, self._range) == (other._kind, other._range)
        return isinstance(other, tuple) and len(other) == len(self) and other == tuple(self)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"NumberedNames({self._kind!r}, {len(self)})"


def _canonical_csr(matrix: Any) -> Any:
    """Return a read-only CSR view with sorted, unique indices; the caller's array stays."""
    matrix = sp.csr_array(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    parts = [part.view() for part in (matrix.data, matrix.indices, matrix.indptr)]
    for part in parts:
        part.flags.writeable = False
    frozen = sp.csr_array(tuple(parts), shape=matrix.shape)
    frozen.has_canonical_format = True
    return frozen
