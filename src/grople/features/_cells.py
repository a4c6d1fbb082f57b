"""The columns of a table of any library, and their cells as numbers, dates or texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.errors import DataError

__all__ = ["MISSING_WORDS", "as_dates", "as_numbers", "as_texts", "column_kind", "named_columns"]

Array = NDArray[Any]

#: What cells without a value hold, in lower case.
MISSING_WORDS = frozenset({"", "?", "na", "n/a", "nan", "null", "none", "nat", "<na>"})


def named_columns(records: Any) -> dict[str, Array]:
    """Return the columns of a frame (pandas, polars, pyarrow), a dict of columns or an array."""
    if isinstance(records, np.ndarray):
        if records.ndim != 2:
            raise DataError(f"a table has rows and columns, not {records.ndim} dimensions")
        return {f"x{i}": column for i, column in enumerate(records.T)}
    names: Any = records if isinstance(records, Mapping) else None
    if names is None:
        names = getattr(records, "column_names", getattr(records, "columns", None))
        if names is None:
            raise DataError(
                f"expected a table (pandas, polars, pyarrow, a dict of columns or an array), got "
                f"a {type(records).__name__}"
            )
    found = {str(name): _values(records[name], str(name)) for name in names}
    if len(found) < len(names):
        raise DataError("two columns of the table have the same name")
    if len({len(column) for column in found.values()}) > 1:
        raise DataError("the columns of the table are not equally long")
    return found


def column_kind(cells: Array) -> str:
    """Return what a column holds: ``"number"``, ``"date"``, ``"category"`` or ``"nothing"``."""
    if cells.dtype.kind in "biufm":
        return "number"
    if cells.dtype.kind == "M":
        return "date"
    present = [cell for cell in cells.tolist() if not _is_missing(cell)]
    if not present:
        return "nothing"
    if any(isinstance(cell, _Category) for cell in present):
        return "category"
    for kind, parse in (("number", _number), ("date", _date)):
        if all(_parses(parse, cell) for cell in present):
            return kind
    return "category"


def as_numbers(cells: Array, name: str) -> Array:
    """Return a column as numbers, durations as days; nan where there is none."""
    if cells.dtype.kind == "m":
        return cells / np.timedelta64(1, "D")
    if cells.dtype.kind in "biuf":
        return cells.astype(np.float64)
    return np.array(_parsed(cells, _number, np.nan, "no number", name), dtype=np.float64)


def as_dates(cells: Array, name: str) -> Array:
    """Return a column as moments in UTC, NaT where there is none."""
    if cells.dtype.kind == "M":
        return cells.astype("datetime64[us]")
    found = _parsed(cells, _date, np.datetime64("NaT"), "no date such as 2024-12-31", name)
    return np.array(found, dtype="datetime64[us]")


def as_texts(cells: Array) -> list[str | None]:
    """Return a column as texts, None where there is none."""
    return [None if _is_missing(cell) else _text(cell) for cell in cells.tolist()]


class _Category(str):
    """A value that is said to be a category, whatever it looks like."""


def _values(column: Any, name: str) -> Array:
    kind = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    # As pandas, polars and pyarrow call them.
    if kind.startswith(("categor", "enum", "dictionary")):
        cells = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
        return _objects([None if _is_missing(c) else _Category(_text(c)) for c in cells])
    values = np.asarray(column) if not isinstance(column, list | tuple) else _objects(column)
    if values.ndim != 1:
        raise DataError(f"column {name!r} holds more than one value a row")
    return values


def _objects(cells: Any) -> Array:
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    return values


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING_WORDS
    # pandas has values of its own for this, which do not compare.
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or bool(cell != cell)


def _number(cell: Any) -> float:
    if (isinstance(cell, str) and "_" not in cell) or isinstance(cell, Real | Decimal):
        return float(cell)
    raise ValueError(cell)


def _date(cell: Any) -> np.datetime64:
    moment = datetime.fromisoformat(cell.strip()) if isinstance(cell, str) else cell
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    if not isinstance(moment, date):
        raise ValueError(cell)
    return np.datetime64(moment, "us")


def _text(cell: Any) -> str:
    whole = isinstance(cell, float) and cell.is_integer()
    return str(int(cell)) if whole else str(cell).strip()


def _parses(parse: Callable[[Any], Any], cell: Any) -> bool:
    try:
        parse(cell)
    except (ValueError, OverflowError):
        return False
    return True


def _parsed(
    cells: Array, parse: Callable[[Any], Any], missing: Any, wanted: str, name: str
) -> list[Any]:
    found = []
    for row, cell in enumerate(cells.tolist()):
        try:
            found.append(missing if _is_missing(cell) else parse(cell))
        except (ValueError, OverflowError):
            raise DataError(
                f"column {name!r}, row {row + 1}: {str(cell)[:60]!r} is {wanted}, "
                "as the model learnt it"
            ) from None
    return found
