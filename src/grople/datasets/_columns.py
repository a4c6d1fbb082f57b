"""Columns of a table become features and labels, a batch of rows at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from grople.datasets._matrices import (
    compact,
    label_matrix,
    number_or_reason,
    one_hot,
    stacked,
)
from grople.errors import DataError

__all__ = ["Layout", "TableBuilder"]

_MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})
_WORDS = {"true": 1.0, "false": 0.0}
_LABEL_WORDS = {**_WORDS, "yes": 1.0, "no": 0.0}
_TAG_COLUMNS = ("tags", "labels")
_LABEL_PREFIX = "label_"
_SEPARATORS = (";", "|", ",")


@dataclass(frozen=True)
class Layout:
    """Which column plays which part; all are positions."""

    names: tuple[str, ...]
    features: tuple[int, ...]
    categories: tuple[int, ...]
    labels: tuple[int, ...]
    tags: int | None
    notes: tuple[str, ...]

    @staticmethod
    def of(
        names: Sequence[str],
        labels: str | Sequence[str] | None,
        ignore: Sequence[str],
        categories: Sequence[str],
        file: str,
    ) -> Layout:
        """Find the parts among the column names, or say which name is not there."""
        position = {name: index for index, name in enumerate(names)}
        if len(position) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise DataError(f"two columns are called {twice!r}", file=file, line=1)

        def place(name: str, what: str) -> int:
            if name not in position:
                there = ", ".join(map(repr, names[:8]))
                raise DataError(f"no column {name!r} for {what}; there are {there}", file=file)
            return position[name]

        tags, marks = _label_columns(names, labels, place, file)
        dropped = {place(name, "ignore") for name in ignore}
        notes = []
        if "" in position:
            dropped.add(position[""])
            notes.append("column without a name left out (taken for row numbers)")
        taken = dropped | set(marks) | ({tags} if tags is not None else set())
        grouped = [place(name, "categories") for name in categories]
        return Layout(
            names=tuple(names),
            features=tuple(i for i in range(len(names)) if i not in taken and i not in grouped),
            categories=tuple(i for i in grouped if i not in taken),
            labels=tuple(marks),
            tags=tags,
            notes=tuple(notes),
        )


def _label_columns(
    names: Sequence[str], labels: str | Sequence[str] | None, place: Any, file: str
) -> tuple[int | None, list[int]]:
    """Return the column of tags or the columns of 0/1 labels."""
    if labels is None:
        for name in _TAG_COLUMNS:
            if name in names:
                return place(name, "labels"), []
        if not any(name.startswith(_LABEL_PREFIX) for name in names):
            raise DataError(
                "which columns are labels? Pass labels=['a', 'b'] (0/1 columns), labels='tag_*' "
                "(all with that prefix) or labels='tags' (one column of separated tags)",
                file=file,
            )
        labels = f"{_LABEL_PREFIX}*"
    if not isinstance(labels, str):
        return None, [place(name, "labels") for name in dict.fromkeys(labels)]
    if not labels.endswith("*"):
        return place(labels, "labels"), []
    found = [index for index, name in enumerate(names) if name.startswith(labels[:-1])]
    if not found:
        raise DataError(f"no column starts with {labels[:-1]!r}", file=file)
    return None, found


class TableBuilder:
    """Collects batches of columns; a cell is a text, or None, or a number already."""

    def __init__(self, layout: Layout, file: str, missing: str, separator: str) -> None:
        self._layout = layout
        self._file = file
        self._missing = missing
        self._separator = separator
        self._features: list[Any] = []
        self._labels: list[Any] = []
        self._tags: list[list[str]] = []
        self._groups: dict[int, list[str | None]] = {index: [] for index in layout.categories}
        self._rows = 0
        self._lines: Sequence[int] | None = None
        self._separators_seen: set[str] = set()

    def add(self, columns: Sequence[Any], n_rows: int, lines: Sequence[int] | None = None) -> None:
        """Take a batch: one sequence a column, and the line of each row if there are lines."""
        self._lines = lines
        layout = self._layout
        block = np.empty((n_rows, len(layout.features)))
        for target, index in enumerate(layout.features):
            block[:, target] = self._numbers(columns[index], index)
        self._features.append(compact(block))
        if layout.labels:
            marks = np.empty((n_rows, len(layout.labels)))
            for target, index in enumerate(layout.labels):
                marks[:, target] = self._marks(columns[index], index)
            self._labels.append(sp.csr_array(marks))
        if layout.tags is not None:
            self._tags.extend(
                self._split(cell, row) for row, cell in enumerate(columns[layout.tags])
            )
        for index, cells in self._groups.items():
            cells.extend(
                self._category(cell, row, index) for row, cell in enumerate(columns[index])
            )
        self._rows += n_rows

    def finish(self) -> dict[str, Any]:
        """Return the fields of the bundle."""
        layout = self._layout
        X = stacked(self._features, len(layout.features))
        names = [layout.names[index] for index in layout.features]
        pieces = [X]
        for index, cells in self._groups.items():
            values = sorted({cell for cell in cells if cell is not None})
            code = {value: float(number) for number, value in enumerate(values)}
            codes = np.array([np.nan if cell is None else code[cell] for cell in cells])
            pieces.append(one_hot(codes, len(values)))
            names.extend(f"{layout.names[index]}={value}" for value in values)
        if len(pieces) > 1:
            X = sp.csr_array(sp.hstack([sp.csr_array(piece) for piece in pieces], format="csr"))
        if layout.tags is None:
            Y = stacked(self._labels, len(layout.labels))
            label_names = [layout.names[index] for index in layout.labels]
        else:
            Y, label_names = label_matrix(self._tags)
        return {
            "X": compact(X),
            "Y": Y,
            "feature_names": names,
            "label_names": label_names,
            "notes": [*layout.notes, *self._separator_note()],
        }

    def _separator_note(self) -> list[str]:
        seen = self._separators_seen
        if not seen or self._separator in seen:
            return []
        other = next(mark for mark in _SEPARATORS if mark in seen)
        return [
            f"no tag cell holds the separator {self._separator!r}, but some hold {other!r}: "
            f"pass separator={other!r} if it separates tags"
        ]

    def _numbers(self, cells: Any, index: int, words: dict[str, float] = _WORDS) -> Any:
        if isinstance(cells, np.ndarray):
            return self._checked(cells, index)
        try:
            numbers = np.fromiter(map(float, cells), np.float64, len(cells))
            plain = np.isfinite(numbers).all() and not any("_" in cell for cell in cells)
        except (TypeError, ValueError):
            plain = False
        # float() takes more than a table should hold: what is not plain is looked at cell by cell.
        if plain and all(map(str.isascii, cells)):
            return numbers
        return [self._number(cell, row, index, words) for row, cell in enumerate(cells)]

    def _checked(self, numbers: Any, index: int) -> Any:
        if np.isinf(numbers).any():
            row = int(np.flatnonzero(np.isinf(numbers))[0])
            self._fail(f"column {self._layout.names[index]!r} is infinite", row)
        unknown = np.flatnonzero(np.isnan(numbers))
        if unknown.size:
            numbers = numbers.copy()
            numbers[unknown] = self._missing_value(int(unknown[0]), index)
        return numbers

    def _number(self, cell: Any, row: int, index: int, words: dict[str, float]) -> float:
        text = "" if cell is None else str(cell).strip()
        word = text.lower()
        if word in _MISSING:
            return self._missing_value(row, index)
        if word in words:
            return words[word]
        number = number_or_reason(text)
        if isinstance(number, str):
            name = self._layout.names[index]
            self._fail(
                f"column {name!r}: {number}; pass ignore=[{name!r}] or categories=[{name!r}] "
                "if it is not a feature to calculate with",
                row,
            )
        return number

    def _missing_value(self, row: int, index: int) -> float:
        if self._missing == "error":
            self._fail(
                f"column {self._layout.names[index]!r} is missing a value; "
                "fill it in, or pass missing='zero' to take it for 0",
                row,
            )
        return 0.0 if self._missing == "zero" else np.nan

    def _marks(self, cells: Any, index: int) -> Any:
        values = np.array(self._numbers(cells, index, _LABEL_WORDS))
        values[values == -1] = 0
        wrong = np.flatnonzero((values != 0) & (values != 1))
        if wrong.size:
            row = int(wrong[0])
            name = self._layout.names[index]
            held = str(cells[row]).strip() or "nothing"
            self._fail(f"label column {name!r} holds {held}, not 0 or 1", row)
        return values

    def _category(self, cell: Any, row: int, index: int) -> str | None:
        text = "" if cell is None else str(cell).strip()
        if text.lower() in _MISSING:
            self._missing_value(row, index)
            return None
        return text

    def _split(self, cell: Any, row: int) -> list[str]:
        if cell is None:
            return []
        if isinstance(cell, str):
            self._separators_seen.update(mark for mark in _SEPARATORS if mark in cell)
            parts = cell.split(self._separator)
        elif isinstance(cell, list) and all(isinstance(tag, str) for tag in cell):
            parts = cell
        else:
            self._fail("a cell of tags must be text or a list of texts", row)
        return [tag for part in parts if (tag := part.strip())]

    def _fail(self, reason: str, row: int) -> NoReturn:
        if self._lines is not None:
            raise DataError(reason, file=self._file, line=self._lines[row])
        raise DataError(f"row {self._rows + row + 1}: {reason}", file=self._file)
