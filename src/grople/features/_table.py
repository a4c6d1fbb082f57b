"""Columns of mixed kinds as numbers of like size: a fitted map, and a transformer that fits it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from grople.errors import DataError, Parameter, Whole, check_parameters
from grople.features._cells import as_dates, as_numbers, as_texts, column_kind, named_columns
from grople.features._checks import check_names

__all__ = ["CategoryColumn", "NumberColumn", "TableColumns", "TableFeatures"]

Array = NDArray[Any]

#: The interquartile range of a normal distribution of variance one.
NORMAL_RANGE = 1.349
#: Numbers are cut off at so many standard deviations of such a distribution.
CLIP = 4.0
#: Values between which ranks are drawn as lines.
QUANTILES = 100
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers, centred and scaled, and cut off far out.

    Parameters
    ----------
    source, part : str
        The column of the table and, of a date, the part.
    knots, heights : ndarray
        The value at each of some numbers, on a line between them, the same beyond them.
    missing : bool
        Whether a second feature says that there is no value; the first is zero then.
    """

    source: str
    part: str
    knots: Array
    heights: Array
    missing: bool

    def __post_init__(self) -> None:
        fine = self.knots.shape == self.heights.shape and self.knots.ndim == 1
        if not fine or len(self.knots) < 2 or not (np.diff(self.knots) > 0).all():
            raise ValueError("the knots of a column must increase and have a height each")
        if not np.isfinite([self.knots, self.heights]).all():
            raise ValueError("the knots of a column and their heights must be finite")

    @property
    def names(self) -> list[str]:
        """The name of the column and, of a date, the part; that of missing values."""
        name = f"{self.source} {self.part}".strip()
        return [name, f"{name} missing"] if self.missing else [name]

    def rows(self, values: Any) -> Array:
        """Return the features of some numbers."""
        absent = np.isnan(values)
        scaled = np.where(absent, 0.0, np.interp(values, self.knots, self.heights))
        return np.column_stack([scaled, absent] if self.missing else [scaled])


@dataclass(frozen=True)
class CategoryColumn:
    """A column of words: a feature for each that is frequent; others have none.

    Parameters
    ----------
    source, part : str
        The column of the table and, of a date, the part.
    values : ndarray of str
        The words.
    missing : bool
        Whether one more feature says that there is no value.
    """

    source: str
    part: str
    values: Array
    missing: bool

    def __post_init__(self) -> None:
        check_names(self.values)

    @property
    def names(self) -> list[str]:
        """``column=word`` for each word; that of missing values."""
        name = f"{self.source} {self.part}".strip()
        words = [f"{name}={value}" for value in self.values]
        return [*words, f"{name} missing"] if self.missing else words

    def rows(self, values: Any) -> Array:
        """Return the features of some words, None where there is none."""
        place = {value: i for i, value in enumerate(self.values)}
        if self.missing:
            place[None] = len(place)
        found = np.zeros((len(values), len(place)))
        known = [(row, place[value]) for row, value in enumerate(values) if value in place]
        if known:
            found[tuple(np.array(known).T)] = 1.0
        return found


@dataclass(frozen=True)
class TableColumns:
    """Columns of a table as features; :class:`TableFeatures` finds them.

    Parameters
    ----------
    columns : tuple of NumberColumn and CategoryColumn
        What becomes of the columns, those of dates more than once.
    """

    #: Whether records are texts.
    texts: ClassVar[bool] = False

    columns: tuple[NumberColumn | CategoryColumn, ...]

    def __post_init__(self) -> None:
        if not all(isinstance(column, NumberColumn | CategoryColumn) for column in self.columns):
            raise ValueError("columns are of numbers or of categories")

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def names(self) -> Array:
        """The names of the features."""
        names = [name for column in self.columns for name in column.names]
        return np.array(names, dtype=object)

    def transform(self, records: Any) -> Any:
        """Return the rows of a table; its columns are found by name, and it may have more.

        Parameters
        ----------
        records : DataFrame, dict of columns or array
            The table.

        Returns
        -------
        ndarray, or csr_array where most features are of categories
        """
        found = named_columns(records)
        n_rows = len(next(iter(found.values()), ()))
        parts: dict[tuple[str, str], Any] = {}
        for column in self.columns:
            if column.source not in found:
                there = ", ".join(map(repr, list(found)[:8]))
                raise DataError(
                    f"no column {column.source!r}, which the model learnt from; there are {there}"
                )
            if (column.source, column.part) not in parts:
                parts |= _parts(column, column.source, found[column.source])
        blocks = [column.rows(parts[column.source, column.part]) for column in self.columns]
        if self._sparse:
            return sp.csr_array(sp.hstack([sp.csr_array(block) for block in blocks], format="csr"))
        return np.hstack([np.empty((n_rows, 0)), *blocks])

    @property
    def _sparse(self) -> bool:
        of_words = sum(len(c.names) for c in self.columns if isinstance(c, CategoryColumn))
        return of_words > 10 * (len(self) - of_words) + 100


def _parts(column: NumberColumn | CategoryColumn, source: str, cells: Array) -> dict[Any, Any]:
    """Return a column as it is, or the parts of its dates, as the fitted column takes them."""
    if column.part:
        return {(source, part): values for part, values in _date_parts(cells, source).items()}
    if isinstance(column, NumberColumn):
        return {(source, ""): as_numbers(cells, source)}
    return {(source, ""): as_texts(cells)}


def _date_parts(cells: Array, name: str) -> dict[str, Any]:
    """Return the parts of dates: numbers, and names for what has no order that says much."""
    moments = as_dates(cells, name)
    absent = np.isnat(moments)
    days, years = moments.astype("datetime64[D]"), moments.astype("datetime64[Y]")
    months = moments.astype("datetime64[M]").astype(int) % 12 + 1
    weekdays = (days.astype(int) + 3) % 7  # the epoch began on a Thursday
    numbers = {
        "year": years.astype(int) + 1970,
        "day of year": (days - years).astype(int) + 1,
        "hour": (moments - days) / np.timedelta64(1, "h"),
        "days": moments.astype(np.int64) / 86_400e6,
    }
    return {
        **{part: np.where(absent, np.nan, values) for part, values in numbers.items()},
        "month": [None if a else f"{m:02}" for a, m in zip(absent, months, strict=True)],
        "weekday": [None if a else DAYS[d] for a, d in zip(absent, weekdays, strict=True)],
    }


def _scale(values: Array) -> tuple[Array, Array]:
    """Return where a column of sorted numbers is cut off and what becomes of it in between."""
    low, high = values[0], values[-1]
    if low == high:
        return np.array([low, np.nextafter(low, np.inf)]), np.zeros(2)
    inner = values[(values > low) & (values < high)]
    if not len(inner):  # two values
        return np.array([low, high]), np.array([0.0, 1.0])
    lower, center, upper = np.quantile(values, [0.25, 0.5, 0.75])
    if lower == upper:  # mostly one value
        return _ranks(values)
    ends = np.array([-CLIP, CLIP])
    return center + (upper - lower) / NORMAL_RANGE * ends, ends


def _ranks(values: Array) -> tuple[Array, Array]:
    """Return some of the numbers and the normal quantiles of their mean ranks."""
    distinct = np.unique(values)
    knots = distinct[np.unique(np.linspace(0, len(distinct) - 1, QUANTILES + 1).astype(int))]
    below, upto = (np.searchsorted(values, knots, side) for side in ("left", "right"))
    heights = ndtri((below + upto) / (2 * len(values)))
    return knots, np.clip(heights, -CLIP, CLIP)


PARAMETERS: dict[str, Parameter] = {"max_values": Whole(1), "min_rows": Whole(1)}


class TableFeatures(TransformerMixin, BaseEstimator):
    """Turn a table as people have them into numbers of like size, without a look at the labels.

    Numbers are centred at their median, divided by their interquartile range and cut off far out;
    where most are one value, their ranks count instead. Categories become a feature for each
    frequent value. Dates become year, month, weekday, day of the year, hour and days passed. Where
    values are missing, a feature says so. Constant columns are left out.

    Parameters
    ----------
    max_values : int, default=50
        Values of a category that become features at most: the most frequent ones.
    min_rows : int, default=2
        Values that fewer rows have are left out.

    Attributes
    ----------
    table_ : TableColumns
        What becomes of each column.
    column_kinds_ : dict
        The columns by name: ``"number"``, ``"date"``, ``"category"`` or ``"nothing"``.
    n_features_in_ : int
        Columns of the table.

    Examples
    --------
    >>> from grople.features import TableFeatures
    >>> table = {"price": [10, 12, None, 11], "city": ["Bonn", "Ulm", "Ulm", "Bonn"]}
    >>> features = TableFeatures().fit(table)
    >>> features.get_feature_names_out().tolist()
    ['price', 'price missing', 'city=Bonn', 'city=Ulm']
    >>> features.transform({"price": [11], "city": ["Rome"]})
    array([[0., 0., 0., 0.]])
    """

    def __init__(self, max_values: int = 50, *, min_rows: int = 2) -> None:
        self.max_values = max_values
        self.min_rows = min_rows

    def fit(self, X: Any, y: Any = None) -> TableFeatures:
        """Find what becomes of each column.

        Parameters
        ----------
        X : DataFrame, dict of columns or array
            The table.
        y : ignored

        Returns
        -------
        TableFeatures
        """
        check_parameters("TableFeatures", PARAMETERS, self.get_params())
        found = named_columns(X)
        self.n_features_in_ = len(found)
        self.column_kinds_ = {name: column_kind(cells) for name, cells in found.items()}
        self.table_ = TableColumns(
            tuple(
                column
                for name, kind in self.column_kinds_.items()
                for column in self._columns_of(name, kind, found[name])
            )
        )
        return self

    def transform(self, X: Any) -> Any:
        """Return the features of a table.

        Parameters
        ----------
        X : DataFrame, dict of columns or array
            The table; columns are found by name, in any order.

        Returns
        -------
        ndarray of shape (n_rows, n_features), or csr_array where most features are of categories
        """
        check_is_fitted(self)
        return self.table_.transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features.

        Parameters
        ----------
        input_features : ignored
        """
        check_is_fitted(self)
        return self.table_.names

    def _columns_of(
        self, name: str, kind: str, cells: Array
    ) -> Iterator[NumberColumn | CategoryColumn]:
        """Yield what becomes of a column; nothing of a constant."""
        if kind == "nothing":
            return
        parts: dict[str, Any] = (
            _date_parts(cells, name)
            if kind == "date"
            else {"": as_numbers(cells, name) if kind == "number" else as_texts(cells)}
        )
        for part, values in parts.items():
            column = (
                self._number_column(name, part, values)
                if isinstance(values, np.ndarray)
                else self._categories(name, part, values)
            )
            if column is not None:
                yield column

    def _number_column(self, name: str, part: str, values: Array) -> NumberColumn | None:
        finite = np.sort(values[np.isfinite(values)])
        missing = bool(np.isnan(values).any())
        varies = len(finite) > 0 and finite[0] < finite[-1]
        if not (varies or (missing and len(finite))):
            return None
        knots, heights = _scale(finite)
        return NumberColumn(name, part, knots, heights, missing)

    def _categories(self, name: str, part: str, values: list[str | None]) -> CategoryColumn | None:
        rows_with = Counter(value for value in values if value is not None)
        missing = None in values
        if len(rows_with) < 2 and not missing:
            return None
        frequent = sorted(rows_with, key=lambda value: (-rows_with[value], value))
        kept = sorted(v for v in frequent[: self.max_values] if rows_with[v] >= self.min_rows)
        if not kept and not missing:
            return None
        return CategoryColumn(name, part, np.array(kept, dtype=object), missing)
