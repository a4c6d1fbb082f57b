"""Columns of a table: which part each plays, and cells as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from grople.datasets._matrices import compact, number_or_reason, zeros_and_ones
from grople.datasets._names import (
    TAGS,
    TEXT,
    feature_places,
    find_name,
    known_name,
    listed,
    matching_names,
)
from grople.datasets._reading import Reading, does_not_apply, label_names_of
from grople.errors import DataError

__all__ = [
    "ColumnRoles",
    "Columns",
    "NoNumberError",
    "TableCells",
    "labelled_roles",
    "predicted_roles",
    "raw_cells",
]

_MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})
_WORDS = {"true": 1.0, "false": 0.0}
_LABEL_WORDS = {**_WORDS, "yes": 1.0, "no": 0.0}
_LABEL_PREFIX = "label_"

#: A cell is a text, a number, a truth value, a list, or None; a column of numbers is an array.
Columns = Sequence[Any]


@dataclass(frozen=True)
class ColumnRoles:
    """Which column plays which part; all are positions."""

    features: tuple[int, ...] = ()
    labels: tuple[int, ...] = ()
    tags: int | None = None
    text: int | None = None
    ids: int | None = None
    notes: tuple[str, ...] = ()


def labelled_roles(
    names: Sequence[str], reading: Reading, file: str
) -> tuple[ColumnRoles, Reading]:
    """Find the parts of a table with labels, and note in the reading what was found."""
    place: dict[str | None, int] = {name: index for index, name in enumerate(names)}
    text, ids = reading.text, _row_names(names, reading, file)
    if text is not None:
        text = known_name(names, text, (), "the text", option="text", file=file)
    elif not reading.features:
        text = find_name([name for name in names if name not in reading.ignore], TEXT)
    if text is not None and reading.features:
        raise does_not_apply("features", "a text", file)
    tags, labels = _label_columns(names, reading, file)
    ignored = [known_name(names, name, (), "ignore", file=file) for name in reading.ignore]
    taken = {place[name] for name in ignored} | {*labels, tags, place.get(ids), place.get("")}
    features = tuple(i for i in range(len(names)) if i not in taken)
    if text is not None:
        features = ()
    elif reading.features:
        offered = [names[index] for index in features]
        features = tuple(place[name] for name in matching_names(offered, reading.features, file))
    unnamed = "column without a name left out (taken for row numbers)"
    notes = (unnamed,) if "" in place else ()
    roles = ColumnRoles(features, tuple(labels), tags, place.get(text), place.get(ids), notes)
    return roles, replace(reading, text=text, ids=ids)


def predicted_roles(
    names: Sequence[str], reading: Reading, only: Sequence[str], file: str
) -> tuple[ColumnRoles, Reading]:
    """Find the features of rows without labels, or their text where no features are wanted."""
    ids, text = _row_names(names, reading, file), None
    if not only:
        text = known_name(names, reading.text, TEXT, "the text", option="text", file=file)
    features = tuple(feature_places(names, only, file))
    place: dict[str | None, int] = {name: index for index, name in enumerate(names)}
    roles = ColumnRoles(features, text=place.get(text), ids=place.get(ids))
    return roles, replace(reading, text=text, ids=ids)


def _row_names(names: Sequence[str], reading: Reading, file: str) -> str | None:
    """Return the column that names the rows."""
    if reading.ids is None or reading.ids_optional:
        return find_name(names, (reading.ids,)) if reading.ids else None
    return known_name(names, reading.ids, (), "the row names", file=file)


def _label_columns(
    names: Sequence[str], reading: Reading, file: str
) -> tuple[int | None, list[int]]:
    """Return the column of tags or the columns of 0/1 labels."""
    place = {name: index for index, name in enumerate(names)}
    labels: Any = label_names_of(reading.labels) if reading.labels is not None else None
    if labels is None:
        tags = find_name(names, TAGS)
        if reading.tags is not None:
            tags = known_name(names, reading.tags, (), "labels", file=file)
        if tags is not None:
            return place[tags], []
        if not any(name.startswith(_LABEL_PREFIX) for name in names):
            raise DataError(
                f"which columns are labels? In the file {listed(names)}",
                file=file,
                hint="pass {labels} (0/1 columns, or prefix*) or {tags} (a column of tags)",
                options={"labels": ["a", "b"], "tags": "NAME"},
            )
        labels = f"{_LABEL_PREFIX}*"
    if isinstance(labels, str) and labels.endswith("*"):
        found = [index for index, name in enumerate(names) if name.startswith(labels[:-1])]
        if not found:
            raise DataError(f"no column starts with {labels[:-1]!r}; {listed(names)}", file=file)
        return None, found
    wanted = [labels] if isinstance(labels, str) else labels
    return None, [
        place[known_name(names, name, (), "labels", file=file)] for name in dict.fromkeys(wanted)
    ]


class NoNumberError(DataError):
    """A cell of a feature that is no number."""


def raw_cells(cells: Any) -> Any:
    """Return a column as it stands: numbers as float64, else objects with None where empty."""
    if isinstance(cells, np.ndarray):
        return cells
    column = np.empty(len(cells), dtype=object)
    column[:] = [None if isinstance(cell, str) and not cell.strip() else cell for cell in cells]
    return column


class TableCells:
    """Turns cells into numbers, and says in which line one is not what it should be."""

    def __init__(self, names: Sequence[str], file: str, missing: str) -> None:
        self._names = names
        self._file = file
        self._missing = missing
        self._rows = 0
        self._lines: Sequence[int] | None = None

    def begin(self, n_rows: int, lines: Sequence[int] | None) -> None:
        """Go on to a batch of rows, with the line of each if there are lines."""
        self._lines = lines
        self._rows += n_rows
        self._start = self._rows - n_rows

    def features(self, columns: Columns, wanted: Sequence[int], n_rows: int) -> Any:
        """Return the numbers of some columns."""
        block = np.empty((n_rows, len(wanted)))
        for target, index in enumerate(wanted):
            block[:, target] = self._numbers(columns[index], index)
        return compact(block)

    def labels(self, columns: Columns, wanted: Sequence[int], n_rows: int) -> Any:
        """Return the labels of some columns of zeros and ones."""
        marks = np.empty((n_rows, len(wanted)))
        for target, index in enumerate(wanted):
            values = np.asarray(self._numbers(columns[index], index, _LABEL_WORDS))
            marks[:, target], wrong = zeros_and_ones(values)
            if wrong is not None:
                held = columns[index][wrong]
                shown = "nothing" if np.isnan(values[wrong]) else str(held).strip()
                shown = shown.removesuffix(".0")
                self.fail(f"label column {self._names[index]!r} holds {shown}, not 0 or 1", wrong)
        return sp.csr_array(marks)

    def texts(self, columns: Columns, index: int) -> list[str]:
        """Return the texts of a column; an empty cell is an empty text."""
        cells = columns[index]
        if isinstance(cells, np.ndarray):
            self.fail(f"column {self._names[index]!r} holds numbers, not text", 0)
        texts = ["" if cell is None else cell for cell in cells]
        for row, text in enumerate(texts):
            if not isinstance(text, str):
                self.fail(f"column {self._names[index]!r} must be text", row)
        return texts

    def fail(
        self, reason: str, row: int, error: type[DataError] = DataError, **hint: Any
    ) -> NoReturn:
        """Raise an error that names the row."""
        if self._lines is not None:
            raise error(reason, file=self._file, line=self._lines[row], **hint)
        raise error(f"row {self._start + row + 1}: {reason}", file=self._file, **hint)

    def _numbers(self, cells: Any, index: int, words: dict[str, float] = _WORDS) -> Any:
        if isinstance(cells, np.ndarray):
            return self._checked(cells, index)
        try:
            numbers = np.fromiter(map(float, cells), np.float64, len(cells))
            joined = "".join(cells)
            # float() takes more than a table should hold: "1_000", "nan", digits of other scripts.
            if np.isfinite(numbers).all() and joined.isascii() and "_" not in joined:
                return numbers
        except (TypeError, ValueError):
            pass
        return [self._number(cell, row, index, words) for row, cell in enumerate(cells)]

    def _checked(self, numbers: Any, index: int) -> Any:
        if np.isinf(numbers).any():
            row = int(np.flatnonzero(np.isinf(numbers))[0])
            self.fail(f"column {self._names[index]!r} is infinite", row)
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
            name = self._names[index]
            self.fail(
                f"column {name!r}: {number}",
                row,
                NoNumberError,
                hint="pass {ignore} if it is not a feature to calculate with",
                options={"ignore": [name]},
            )
        return number

    def _missing_value(self, row: int, index: int) -> float:
        if self._missing == "error":
            self.fail(
                f"column {self._names[index]!r} is missing a value",
                row,
                hint="fill it in, or pass {missing} to take it for 0",
                options={"missing": "zero"},
            )
        return 0.0 if self._missing == "zero" else np.nan
