"""Tables: CSV and TSV, Parquet with the optional pyarrow, Excel with the optional openpyxl.

A table has a line of column names. Labels are 0/1 columns, named one by one or by a common
prefix, or one column of tags. A column ``text`` makes rows texts; otherwise all other columns are
features and must be numbers, unless they are to be ignored.
"""

from __future__ import annotations

import csv
import itertools
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from grople.datasets._formats._batch import Batch, Reader
from grople.datasets._formats._columns import (
    Columns,
    TableCells,
    labelled_roles,
    predicted_roles,
    raw_cells,
)
from grople.datasets._matrices import compact, number_or_reason
from grople.datasets._names import refuse_repeated
from grople.datasets._reading import Reading
from grople.datasets._tags import TagCells
from grople.errors import DataError, require
from grople.files import Source, too_large

__all__ = ["TableFile"]

_ROWS_AT_ONCE = 2048
_DELIMITERS = (",", "\t", ";", "|")

#: A batch of columns, how many rows they have, and the line of each.
Part = tuple[Columns, int, Sequence[int] | None]


class TableFile(Reader):
    """An open table."""

    def __init__(self, source: Source, reading: Reading, only: Sequence[str] | None = None) -> None:
        super().__init__(source, reading, only)
        names, self._parts = _OPENERS[str(reading.format)](source)
        refuse_repeated(names, self._file)
        roles, self.reading = (
            labelled_roles(names, reading, self._file)
            if only is None
            else predicted_roles(names, reading, only, self._file)
        )
        self._names, self._roles = names, roles
        self._cells = TableCells(names, self._file, reading.missing)
        self._tags = TagCells(reading.separator, self._file)
        self.texts = roles.text is not None
        self.declared = roles.tags is None
        self.feature_names = [names[index] for index in roles.features]
        self.label_names = [names[index] for index in roles.labels]
        self.notes = roles.notes

    def batches(self) -> Iterator[Batch]:
        """Yield some rows at a time; tags in columns as they came."""
        roles, cells = self._roles, self._cells
        for columns, n_rows, lines in self._parts:
            cells.begin(n_rows, lines)
            X: Any
            if self.texts:
                X = cells.texts(columns, roles.text or 0)
            elif self.reading.mixed:
                X = {self._names[index]: raw_cells(columns[index]) for index in roles.features}
            else:
                X = cells.features(columns, roles.features, n_rows)
            Y = None
            if roles.tags is not None:
                Y = self._tags.matrix(list(columns[roles.tags]), lines)
            elif self._labelled:
                Y = cells.labels(columns, roles.labels, n_rows)
            names = None if roles.ids is None else list(map(str, columns[roles.ids]))
            yield Batch(X, Y, names)
        if roles.tags is not None:
            self.label_names = self._tags.index.names
            self.tag_column = self._tags.column
            self.notes = [*roles.notes, *self.tag_column.notes]
            self.reading = replace(self.reading, separator=self._tags.decided)

    def finish(self, batch: Batch) -> Batch:
        """Return tags in the order of their names."""
        if self._roles.tags is not None:
            batch = replace(batch, Y=self._tags.index.in_order(batch.Y))
        if self.texts or self.reading.mixed:
            return batch
        return replace(batch, X=compact(batch.X))


# -- one function a format: the names, and the rows in batches of columns ------------------------


def _open_csv(source: Source, delimiter: str | None = None) -> tuple[list[str], Iterator[Part]]:
    records = _records(source, delimiter)
    names = _header(next(records, (1, []))[1], source.path)
    return names, _in_batches(records, len(names), source.path)


def _open_tsv(source: Source) -> tuple[list[str], Iterator[Part]]:
    return _open_csv(source, "\t")


def _header(cells: Sequence[str], file: str) -> list[str]:
    """Return the names in the first row, which must not be a row of numbers."""
    names = [cell.strip() for cell in cells]
    if not names:
        raise DataError("no line of column names: an empty file", file=file)
    if all(isinstance(number_or_reason(name), float) for name in names):
        raise DataError("the first line must name the columns", file=file, line=1)
    return names


def _records(source: Source, delimiter: str | None) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of each row, the names first; blank lines are skipped."""
    number = 0

    def texts() -> Iterator[str]:
        nonlocal number
        for at, line in source.lines():
            number = at
            yield line + "\n"

    lines = texts()
    first = next(lines, "")
    mark = delimiter or max(_DELIMITERS, key=first.count)
    reader = csv.reader(itertools.chain([first], lines), delimiter=mark, strict=True)
    try:
        for cells in reader:
            if cells:
                yield number, cells
    except csv.Error as error:
        raise DataError(f"damaged table ({error})", file=source.path, line=number) from error


def _in_batches(
    records: Iterator[tuple[int, Sequence[Any]]], width: int, file: str
) -> Iterator[Part]:
    while batch := list(itertools.islice(records, _ROWS_AT_ONCE)):
        for line, cells in batch:
            if len(cells) != width:
                reason = f"expected {width} columns, found {len(cells)}"
                raise DataError(reason, file=file, line=line)
        rows = [cells for _, cells in batch]
        yield list(zip(*rows, strict=True)), len(rows), [line for line, _ in batch]


def _open_parquet(source: Source) -> tuple[list[str], Iterator[Part]]:
    pyarrow, parquet = (
        require(module, "tables", "reading a Parquet file")
        for module in ("pyarrow", "pyarrow.parquet")
    )
    parts = _parquet_parts(pyarrow, parquet, source)
    return next(parts), parts


def _parquet_parts(pyarrow: Any, parquet: Any, source: Source) -> Iterator[Any]:
    """Yield the column names, then lists of columns, numbers as float64 arrays."""
    file, max_bytes = source.path, source.max_bytes
    try:
        table = parquet.ParquetFile(source.seekable())
        names = list(table.schema_arrow.names)
        groups = range(table.metadata.num_row_groups)
        unpacked = sum(table.metadata.row_group(group).total_byte_size for group in groups)
        cells_left = max_bytes // 8
        if unpacked > max_bytes or table.metadata.num_rows * len(names) > cells_left:
            raise too_large(file, max_bytes)
        yield names
        for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE):
            cells_left -= batch.num_rows * len(names)
            if cells_left < 0:
                raise too_large(file, max_bytes)
            columns = [_parquet_column(pyarrow, column) for column in batch.columns]
            if columns and batch.num_rows:
                yield columns, batch.num_rows, None
    except DataError:
        raise
    except Exception as error:  # pyarrow reports damage in many ways
        raise DataError(f"damaged Parquet file ({str(error)[:200]})", file=file) from error


def _parquet_column(pyarrow: Any, column: Any) -> Any:
    types, kind = pyarrow.types, column.type
    if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind):
        return column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return column.to_pylist()


def _open_excel(source: Source) -> tuple[list[str], Iterator[Part]]:
    openpyxl = require("openpyxl", "tables", "reading an Excel file")
    records = _excel_records(openpyxl, source)
    names = _header(next(records, (1, []))[1], source.path)
    while names and not names[-1]:  # cells that were only formatted
        del names[-1]
    width = len(names)
    cut = ((line, cells if any(cells[width:]) else cells[:width]) for line, cells in records)
    return names, _in_batches(cut, width, source.path)


def _excel_records(openpyxl: Any, source: Source) -> Iterator[tuple[int, list[Any]]]:
    """Yield (row, cells) of the first sheet; what is no text is as Python writes it."""
    try:
        stream = source.seekable()
        with zipfile.ZipFile(stream) as archive:
            if sum(info.file_size for info in archive.infolist()) > source.max_bytes:
                raise too_large(source.path, source.max_bytes)
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        for number, row in enumerate(book.worksheets[0].iter_rows(values_only=True), 1):
            if any(cell is not None for cell in row):
                yield number, ["" if cell is None else _as_text(cell) for cell in row]
    except DataError:
        raise
    except Exception as error:  # a zip file of XML, which may be damaged in many ways
        raise DataError(f"damaged Excel file ({str(error)[:200]})", file=source.path) from error


def _as_text(cell: Any) -> str:
    return str(cell).removesuffix(".0") if isinstance(cell, float) else str(cell)


_OPENERS = {
    "csv": _open_csv,
    "tsv": _open_tsv,
    "parquet": _open_parquet,
    "excel": _open_excel,
}
