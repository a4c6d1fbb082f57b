"""Labels as columns of a sparse matrix, by their names."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["LabelIndex", "label_matrix", "spread_labels", "tags_of"]


class LabelIndex:
    """Labels that are numbered as they come, and sorted in the end."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def names(self) -> list[str]:
        """The labels in order: numbers by size, texts by their letters."""
        return [str(label) for label in sorted(self._numbers)]

    def numbers(self, labels: Iterable[Any]) -> list[int]:
        """Return the numbers of labels; unknown ones get the next."""
        known = self._numbers
        return [known.setdefault(label, len(known)) for label in labels]

    def matrix(self, rows: Iterable[Iterable[str]]) -> Any:
        """Return the labels of rows as a CSR array of ones, in columns as they came."""
        known = self._numbers
        indices: list[int] = []
        indptr = [0]
        for row in rows:
            indices += [known.setdefault(label, len(known)) for label in row]
            indptr.append(len(indices))
        ones = np.ones(len(indices), dtype=np.int64)
        columns = np.array(indices, dtype=np.int32)
        return sp.csr_array((ones, columns, indptr), shape=(len(indptr) - 1, len(self)))

    def in_order(self, Y: Any) -> Any:
        """Return labels in columns as they came with the columns of the names."""
        place = np.empty(len(self), dtype=np.int32)
        place[[self._numbers[label] for label in sorted(self._numbers)]] = np.arange(len(self))
        ordered = sp.csr_array((Y.data, place[Y.indices], Y.indptr), shape=(Y.shape[0], len(self)))
        ordered.sum_duplicates()
        ordered.data[:] = 1  # a label named twice in a row is still one label
        return ordered


def label_matrix(rows: Iterable[Iterable[str]]) -> tuple[Any, list[str]]:
    """Return the tags of each row as a CSR array of ones, and their names in order.

    Examples
    --------
    >>> Y, names = label_matrix([["game", "board"], ["game"]])
    >>> Y.toarray().tolist(), names
    ([[1, 1], [0, 1]], ['board', 'game'])
    """
    index = LabelIndex()
    Y = index.matrix(rows)
    return index.in_order(Y), index.names


def spread_labels(Y: Any, names: Sequence[str], known: Sequence[str]) -> Any:
    """Return labels with the columns of those known; others stand behind.

    Examples
    --------
    >>> spread_labels([[1, 0], [1, 1]], ["b", "z"], ["a", "b"]).toarray().tolist()
    [[0, 1, 0], [0, 1, 1]]
    """
    place = {name: i for i, name in enumerate(dict.fromkeys([*known, *names]))}
    columns = np.array([place[name] for name in names], dtype=np.intp)
    Y = sp.coo_array(Y)
    return sp.csr_array((Y.data, (Y.row, columns[Y.col])), shape=(Y.shape[0], len(place)))


def tags_of(Y: Any, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the names of each row's labels."""
    bounds = Y.indptr.tolist()
    labels = [names[column] for column in Y.indices.tolist()]
    return tuple(tuple(labels[start:end]) for start, end in itertools.pairwise(bounds))
