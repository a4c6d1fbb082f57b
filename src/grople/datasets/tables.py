"""Tables: CSV and TSV, Parquet with the optional pyarrow.

A table has a line of column names. Labels are 0/1 columns, named one by one or by a common
prefix, or one column of tags. All other columns are features and must be numbers, unless they
are to be ignored or taken as categories.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grople.datasets._columns import Layout, TableBuilder
from grople.datasets._matrices import check_missing_rule, number_or_reason
from grople.datasets._streams import (
    DEFAULT_LIMIT,
    Source,
    bundle_or_error,
    check_encoding,
    decode,
    numbered_lines,
    opened,
    too_large,
)
from grople.datasets.bundle import Bundle
from grople.errors import DataError, require

__all__ = ["read_parquet", "read_table", "table_batches"]

_ROWS_AT_ONCE = 2048
_DELIMITERS = (",", "\t", ";", "|")


def read_table(
    path: str | Path,
    *,
    labels: str | Sequence[str] | None = None,
    separator: str = ";",
    ignore: Sequence[str] = (),
    categories: Sequence[str] = (),
    delimiter: str | None = None,
    missing: str = "error",
    encoding: str = "utf-8",
    name: str | None = None,
    max_bytes: int = DEFAULT_LIMIT,
) -> Bundle:
    r"""Read a CSV or TSV file with a line of column names.

    Parameters
    ----------
    path : path
        The file, gzip or not.
    labels : str or sequence of str, optional
        The labels: names of 0/1 columns; a prefix and a star (``"genre_*"``) for all columns that
        start so; or the name of one column of tags. By default the column ``tags`` or ``labels``,
        else the columns ``label_*``.
    separator : str
        What stands between tags. Labels from tags are sorted by name.
    ignore : sequence of str
        Columns to leave out.
    categories : sequence of str
        Columns of words, each to become one 0/1 feature a word (``column=word``).
    delimiter : str, optional
        What stands between cells; by default the most frequent in the first line of comma, tab,
        semicolon and bar.
    missing : {"error", "zero", "nan"}
        What an empty cell (also ``?``, ``NA``, ``NaN``, ``null``) of a feature is.
    encoding : str
        How text is encoded.
    name : str, optional
        What to call the data set; by default the file's name without extension.
    max_bytes : int
        The most a gzip file may unpack to.

    Returns
    -------
    Bundle
        With float64 features.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "films.csv"
    ...     _ = file.write_text("length,tags\n95,war;drama\n80,comedy\n")
    ...     bundle = read_table(file)
    >>> bundle.label_names, bundle.Y.toarray().tolist(), bundle.X.tolist()
    (('comedy', 'drama', 'war'), [[0, 1, 1], [1, 0, 0]], [[95.0], [80.0]])
    """
    _check_options(missing, separator)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise ValueError(f"delimiter must be one character, not {delimiter!r}")
    check_encoding(encoding)
    file = os.fspath(path)
    with opened(path, max_bytes) as source:
        records = _records(source, encoding, delimiter)
        _, names = next(records, (1, []))
        names = [column.strip() for column in names]
        if not names:
            raise DataError("no line of column names: an empty file", file=file)
        if not any(isinstance(number_or_reason(column), str) for column in names):
            raise DataError("the first line must name the columns", file=file, line=1)
        layout = Layout.of(names, labels, ignore, categories, file)
        builder = TableBuilder(layout, file, missing, separator)
        for lines, rows in _batches(records, len(names), file):
            builder.add(list(zip(*rows, strict=True)), len(rows), lines)
    return bundle_or_error(file, name=name, **builder.finish())


def read_parquet(
    path: str | Path,
    *,
    labels: str | Sequence[str] | None = None,
    separator: str = ";",
    ignore: Sequence[str] = (),
    categories: Sequence[str] = (),
    missing: str = "error",
    name: str | None = None,
    max_bytes: int = DEFAULT_LIMIT,
) -> Bundle:
    """Read a Parquet file; this needs pyarrow.

    A column of tags may hold separated text or lists of text. All else is as in
    :func:`read_table`; `max_bytes` also bounds the table in memory, eight bytes a cell.

    Examples
    --------
    >>> import tempfile, pyarrow, pyarrow.parquet
    >>> table = pyarrow.table({"length": [95, 80], "tags": [["war", "drama"], ["comedy"]]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pyarrow.parquet.write_table(table, f"{folder}/films.parquet")
    ...     read_parquet(f"{folder}/films.parquet")
    Bundle('films': 2 rows, 1 dense features, 3 labels, 1.500 a row)
    """
    _check_options(missing, separator)
    file = os.fspath(path)
    pyarrow, parquet = (
        require(module, "tables", "reading a Parquet file")
        for module in ("pyarrow", "pyarrow.parquet")
    )
    with opened(path, max_bytes) as source:
        batches = _parquet_batches(pyarrow, parquet, source, max_bytes)
        names = next(batches)
        builder = TableBuilder(
            Layout.of(names, labels, ignore, categories, file), file, missing, separator
        )
        for columns in batches:
            builder.add(columns, len(columns[0]))
    return bundle_or_error(file, name=name, **builder.finish())


@contextmanager
def table_batches(
    source: Source, format: str
) -> Iterator[tuple[list[str], Iterator[tuple[Sequence[Any], int, Sequence[int] | None]]]]:
    """Open a table as its column names and batches of (columns, rows, line of each row)."""
    if format == "parquet":
        pyarrow, parquet = (
            require(module, "tables", "reading a Parquet file")
            for module in ("pyarrow", "pyarrow.parquet")
        )
        batches = _parquet_batches(pyarrow, parquet, source, source.max_bytes)
        yield next(batches), ((columns, len(columns[0]), None) for columns in batches)
        return
    records = _records(source, "utf-8", "\t" if format == "tsv" else None)
    names = [column.strip() for column in next(records, (1, []))[1]]
    if not names:
        raise DataError("no line of column names: an empty file", file=source.path)
    yield (
        names,
        (
            (list(zip(*rows, strict=True)), len(rows), lines)
            for lines, rows in _batches(records, len(names), source.path)
        ),
    )


def _check_options(missing: str, separator: str) -> None:
    check_missing_rule(missing)
    if not separator:
        raise ValueError("separator must not be empty")


def _records(
    source: Source, encoding: str, delimiter: str | None
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of each row, the names first; blank lines are skipped."""
    number = 0

    def texts() -> Iterator[str]:
        nonlocal number
        for number, line in numbered_lines(source):
            yield decode(line, encoding, source.path, number) + "\n"

    lines = texts()
    first = next(lines, "")
    mark = delimiter or max(_DELIMITERS, key=first.count)
    reader = csv.reader(_chain(first, lines), delimiter=mark, strict=True)
    try:
        for cells in reader:
            if cells:
                yield number, cells
    except csv.Error as error:
        raise DataError(f"damaged table ({error})", file=source.path, line=number) from error


def _chain(first: str, rest: Iterable[str]) -> Iterator[str]:
    yield first
    yield from rest


def _batches(
    records: Iterator[tuple[int, list[str]]], width: int, file: str
) -> Iterator[tuple[list[int], list[list[str]]]]:
    lines: list[int] = []
    rows: list[list[str]] = []
    for line, cells in records:
        if len(cells) != width:
            raise DataError(f"expected {width} columns, found {len(cells)}", file=file, line=line)
        lines.append(line)
        rows.append(cells)
        if len(rows) == _ROWS_AT_ONCE:
            yield lines, rows
            lines, rows = [], []
    if rows:
        yield lines, rows


def _parquet_batches(pyarrow: Any, parquet: Any, source: Source, max_bytes: int) -> Iterator[Any]:
    """Yield the column names, then lists of columns, numbers as float64 arrays."""
    file = source.path
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
                yield columns
    except DataError:
        raise
    except Exception as error:  # pyarrow reports damage in many ways
        raise DataError(f"damaged Parquet file ({str(error)[:200]})", file=file) from error


def _parquet_column(pyarrow: Any, column: Any) -> Any:
    kind = column.type
    numeric = (
        pyarrow.types.is_floating(kind)
        or pyarrow.types.is_integer(kind)
        or pyarrow.types.is_boolean(kind)
    )
    if numeric:
        return column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return column.to_pylist()
