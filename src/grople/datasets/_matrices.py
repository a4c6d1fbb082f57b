"""Matrices from files: numbers checked before anything trusts them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.datasets._reading import MAX_COLUMNS
from grople.errors import DataError
from grople.files import csr_complaint
from grople.metrics import label_indicator

__all__ = [
    "NUMBER",
    "binary_labels",
    "checked_csr",
    "compact",
    "finite_features",
    "number_or_reason",
    "rises_within_rows",
    "stacked",
    "zeros_and_ones",
]

#: A number as data files write it; Python's own ``float`` also takes ``1_000`` and ``nan``.
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBER = re.compile(NUMBER, re.ASCII)
_NOT_FINITE = ("nan", "inf", "infinity")


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


def stacked(parts: list[Any]) -> Any:
    """Return blocks of rows as one matrix as wide as the widest, sparse if any block is."""
    if len(parts) == 1:
        return parts[0]
    if not any(map(sp.issparse, parts)):
        return np.concatenate(parts)
    parts = [sp.csr_array(part) for part in parts]
    shape = sum(part.shape[0] for part in parts), max(part.shape[1] for part in parts)
    counts = np.concatenate([np.diff(part.indptr) for part in parts])
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    data, indices = (
        np.concatenate([getattr(part, field) for part in parts]) for field in ("data", "indices")
    )
    return sp.csr_array((data, indices, indptr), shape=shape)


def checked_csr(
    part: str, data: Any, indices: Any, indptr: Any, shape: tuple[int, int], file: str
) -> Any:
    """Assemble a CSR array from parts of a file, refusing any that do not fit together."""
    complaint = csr_complaint(data, indices, indptr, shape)
    if shape[1] > MAX_COLUMNS:
        complaint = f"claims to be {shape[0]:,} × {shape[1]:,}"
    if complaint is not None:
        raise DataError(f"{part}: {complaint}", file=file)
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


def zeros_and_ones(values: Any) -> tuple[Any, int | None]:
    """Return labels as written with −1 as 0, and the place of the first that is no label."""
    values = np.where(values == -1, 0, values)
    wrong = np.flatnonzero((values != 0) & (values != 1))
    return values, int(wrong[0]) if wrong.size else None


def binary_labels(Y: Any, file: str) -> Any:
    """Return labels given as 0/1 or −1/1 as a sparse array of ones."""
    if Y.dtype.kind not in "fiub":
        raise DataError(f"labels are {Y.dtype}, not zeros and ones", file=file)
    if sp.issparse(Y):
        Y = sp.csr_array(Y)
        Y.data = zeros_and_ones(Y.data)[0]
    else:
        Y = zeros_and_ones(Y)[0]
    try:
        return label_indicator(Y, "the label matrix") if 0 not in Y.shape else sp.csr_array(Y)
    except ValueError as error:
        raise DataError(str(error), file=file) from error
