"""Matrices from files: numbers checked before anything trusts them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.errors import DataError

__all__ = [
    "MAX_COLUMNS",
    "NUMBER",
    "binary_labels",
    "check_missing_rule",
    "checked_csr",
    "compact",
    "finite_features",
    "label_matrix",
    "number_or_reason",
    "one_hot",
    "rises_within_rows",
    "spread_labels",
    "stacked",
]

#: Column indices are 32-bit integers, as in scipy and scikit-learn.
MAX_COLUMNS = 2**31 - 1
#: A number as data files write it; Python's own ``float`` also takes ``1_000`` and ``nan``.
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBER = re.compile(NUMBER, re.ASCII)
_MISSING_RULES = ("error", "zero", "nan")
_NOT_FINITE = ("nan", "inf", "infinity")


def check_missing_rule(rule: str) -> None:
    """Refuse an unknown rule for missing values."""
    if rule not in _MISSING_RULES:
        raise ValueError(f"missing must be one of {_MISSING_RULES}, not {rule!r}")


def number_or_reason(text: str) -> float | str:
    """Return the finite number a text stands for, or why it stands for none."""
    if not _NUMBER.fullmatch(text):
        finite = text.lower().lstrip("+-") not in _NOT_FINITE
        return f"{text[:40]!r} is not a {'number' if finite else 'finite number'}"
    number = float(text)
    return number if np.isfinite(number) else f"{text[:40]!r} is not a finite number"


def rises_within_rows(columns: Any, counts: Any) -> bool:
    """Whether the columns rise within each row, so that none occurs twice."""
    if columns.size == 0:
        return True
    rising = np.diff(columns) > 0
    ends = np.cumsum(counts)[:-1]
    rising[ends[(ends > 0) & (ends < columns.size)] - 1] = True
    return bool(rising.all())


def compact(X: Any) -> Any:
    """Return X as CSR or dense, whichever suits its content.

    A dense array with fewer than one non-zero in ten becomes CSR; a CSR array more than two
    thirds full becomes dense, which then takes less memory.
    """
    cells = X.shape[0] * X.shape[1]
    if sp.issparse(X):
        return X.toarray() if 3 * X.nnz > 2 * cells else X
    return sp.csr_array(X) if 10 * np.count_nonzero(X) < cells else X


def stacked(parts: list[Any], width: int) -> Any:
    """Return blocks of rows as one matrix, sparse if any block is."""
    if not parts:
        return np.empty((0, width))
    if any(map(sp.issparse, parts)):
        return sp.csr_array(sp.vstack([sp.csr_array(part) for part in parts], format="csr"))
    return np.concatenate(parts)


def one_hot(codes: Any, n_values: int) -> Any:
    """Return one column a value, with a one where the code says so and nothing where it is NaN."""
    known = np.flatnonzero(~np.isnan(codes))
    columns = codes[known].astype(np.int32)
    return sp.csr_array((np.ones(known.size), (known, columns)), shape=(codes.size, n_values))


def label_matrix(rows: Iterable[Iterable[str]]) -> tuple[Any, list[str]]:
    """Return the tags of each row as a CSR array of ones, and their names in order."""
    position: dict[str, int] = {}
    indices: list[int] = []
    indptr = [0]
    for tags in rows:
        indices.extend(position.setdefault(tag, len(position)) for tag in dict.fromkeys(tags))
        indptr.append(len(indices))
    names = sorted(position)
    rank = np.empty(len(names), dtype=np.int32)
    rank[[position[name] for name in names]] = np.arange(len(names))
    columns = rank[np.array(indices, dtype=np.int64)]
    ones = np.ones(columns.size, dtype=np.int64)
    return sp.csr_array((ones, columns, indptr), shape=(len(indptr) - 1, len(names))), names


def spread_labels(Y: Any, names: Sequence[str], known: Sequence[str]) -> Any:
    """Return labels with the columns of those known; others stand behind."""
    place = {name: i for i, name in enumerate([*known, *(n for n in names if n not in set(known))])}
    columns = np.array([place[name] for name in names], dtype=np.intp)
    Y = sp.coo_array(Y)
    return sp.csr_array((Y.data, (Y.row, columns[Y.col])), shape=(Y.shape[0], len(place)))


def checked_csr(
    part: str, data: Any, indices: Any, indptr: Any, shape: tuple[int, int], file: str
) -> Any:
    """Assemble a CSR array from parts of a file, refusing any that do not fit together."""
    rows, columns = shape
    for key, array in (("indices", indices), ("indptr", indptr)):
        if array.dtype.kind not in "iu" or array.ndim != 1:
            raise DataError(f"{part}: {key} must be a list of integers", file=file)
    if not (rows >= 0 and 0 <= columns <= MAX_COLUMNS):
        raise DataError(f"{part} claims to be {rows:,} × {columns:,}", file=file)
    if data.ndim != 1 or data.size != indices.size:
        raise DataError(f"{part}: {data.size} values but {indices.size} indices", file=file)
    if (
        indptr.size != rows + 1
        or indptr[0] != 0
        or indptr[-1] != indices.size
        or (indptr[1:] < indptr[:-1]).any()
    ):
        raise DataError(f"{part}: indptr does not describe {rows:,} rows", file=file)
    if indices.size and (indices.min() < 0 or indices.max() >= columns):
        raise DataError(f"{part}: an index is out of range: {columns:,} columns", file=file)
    narrow = np.int32 if indices.size <= MAX_COLUMNS else np.int64
    return sp.csr_array(
        (data, indices.astype(narrow, copy=False), indptr.astype(narrow, copy=False)), shape=shape
    )


def finite_features(X: Any, file: str) -> Any:
    """Return X as finite floating-point numbers in the layout that suits it."""
    values = X.data if sp.issparse(X) else X
    if values.dtype.kind not in "fiub":
        raise DataError(f"features are {values.dtype}, not real numbers", file=file)
    if not np.isfinite(values).all():
        raise DataError("a feature is NaN or infinite", file=file)
    X = compact(X)
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def binary_labels(Y: Any, file: str) -> Any:
    """Return labels given as 0/1 or −1/1 as a sparse array of ones."""
    values = Y.data if sp.issparse(Y) else Y
    if values.dtype.kind not in "fiub" or not np.isin(values, (-1, 0, 1)).all():
        raise DataError("labels must be 0 and 1, or -1 and 1", file=file)
    ones = Y == 1
    return ones if sp.issparse(ones) else sp.csr_array(ones)
