"""How a file is read: one value for all formats, stored with a model for files to come."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from grople.errors import DataError

__all__ = ["MAX_COLUMNS", "TABLES", "Reading", "does_not_apply", "label_names_of", "refuse_others"]

#: Column indices are 32-bit integers, as in scipy and scikit-learn.
MAX_COLUMNS = 2**31 - 1
TABLES = ("csv", "tsv", "parquet", "excel")
MISSING_RULES = ("error", "zero", "nan")
#: The fields that must not be said of other formats.
_APPLY = {
    "labels": (*TABLES, "arff", "matlab", "npy"),
    "tags": (*TABLES, "jsonl"),
    "text": (*TABLES, "jsonl"),
    "ids": (*TABLES, "jsonl"),
    "features": (*TABLES, "arff", "npz", "extreme", "libsvm", "matlab", "npy"),
    "ignore": (*TABLES, "arff", "npz"),
}


@dataclass(frozen=True)
class Reading:
    """How a file is read.

    Parameters
    ----------
    format : str, optional
        One of :data:`grople.datasets.READERS`; by default what the content looks like.
    labels : str, int, path or sequence of str, optional
        Where the labels are. Tables: the names of 0/1 columns (one text separates them by commas)
        or ``"prefix*"``. ARFF: names, an XML header, or a number of columns (negative: the last
        ones). MATLAB: a variable. Arrays: the file of the labels.
    tags : str, optional
        The column or field of tags; by default ``tags``, ``labels`` or ``categories``.
    text : str, optional
        The column or field of the text; by default ``text``, if there is one.
    ids : str, optional
        The column or field that names each row.
    features, ignore : sequence of str
        Columns to calculate with (names or ``prefix*``; none: all), and columns to leave out.
    separator : str, optional
        What stands between tags in a cell: ``""`` for nothing, each cell being one tag; by default
        what makes tags repeat most (:func:`grople.datasets.find_separator`).
    missing : {"error", "zero", "nan"}
        What a missing value is; a missing label is an error or, with ``"zero"``, no label.
    first_index : {0, 1}, optional
        LIBSVM: the number of the first feature; by default 0 if that index occurs, else 1.
    n_features, n_labels : int, optional
        LIBSVM: how many there are; by default as many as occur.
    variable : str, optional
        MATLAB: the variable of the features.
    transposed : bool, optional
        MATLAB: whether the labels are stored labels × rows; needed only for a square matrix.
    ids_optional : bool
        Whether a file need not have the `ids`: another had.
    mixed : bool
        Tables: whether features are columns of mixed kinds, not a matrix of numbers.

    Examples
    --------
    >>> Reading.from_dict(Reading(format="csv", features=("a", "b")).to_dict()).features
    ('a', 'b')
    """

    format: str | None = None
    labels: str | int | Path | Sequence[str] | None = None
    tags: str | None = None
    text: str | None = None
    ids: str | None = None
    features: Sequence[str] = ()
    ignore: Sequence[str] = ()
    separator: str | None = None
    missing: str = "error"
    first_index: int | None = None
    n_features: int | None = None
    n_labels: int | None = None
    variable: str | None = None
    transposed: bool | None = None
    ids_optional: bool = False
    mixed: bool = False

    def __post_init__(self) -> None:
        if self.missing not in MISSING_RULES:
            raise ValueError(f"missing must be one of {MISSING_RULES}, not {self.missing!r}")
        for field in ("n_features", "n_labels"):
            number = getattr(self, field)
            if number is not None and not 0 < number <= MAX_COLUMNS:
                raise ValueError(f"{field} must be between 1 and {MAX_COLUMNS:,}, not {number}")
        if self.first_index not in (None, 0, 1):
            raise ValueError(f"first_index must be 0 or 1, not {self.first_index!r}")
        for field in ("features", "ignore"):
            object.__setattr__(self, field, tuple(map(str, getattr(self, field))))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        values = asdict(self)
        if isinstance(self.labels, os.PathLike):
            values["labels"] = os.fspath(self.labels)
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in values.items()
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Reading:
        """Return what :meth:`to_dict` wrote; fields of later versions are left out."""
        return cls(**{key: values[key] for key in cls.__dataclass_fields__ if key in values})

    def overridden(self, **values: Any) -> Reading:
        """Return this with every value that is given: neither None nor an empty list of names."""
        given = {key: value for key, value in values.items() if value is not None and value != ()}
        return replace(self, **given)

    def for_records(self, format: str | None) -> Reading:
        """Return this for another file: its format is what the person says, names are a gift."""
        return replace(self, format=format, ids_optional=True)


def refuse_others(reading: Reading, file: str) -> None:
    """Refuse a reading that says something which means nothing in this format."""
    for field, formats in _APPLY.items():
        if reading.format not in formats and getattr(reading, field) not in (None, ()):
            raise does_not_apply(field, f"a file of the format {reading.format!r}", file)


def does_not_apply(field: str, what: str, file: str) -> DataError:
    """Return the error for an option that means nothing for a file."""
    return DataError(
        f"{what} has nothing to do with an option",
        file=file,
        hint="leave out {" + field + "}",
        options={field: None},
    )


def label_names_of(labels: Any) -> str | int | os.PathLike[str] | list[str]:
    """Return where labels are: a text of names separated by commas as the list of them."""
    if isinstance(labels, str):
        return labels.split(",") if "," in labels else labels
    return labels if isinstance(labels, int | os.PathLike) else [str(label) for label in labels]
