"""Rows of a matrix as text, exact to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["check_finite", "dense_rows", "sparse_rows"]

_ROWS_AT_ONCE = 4096


def check_finite(X: Any) -> None:
    """Refuse to write what no reader would take back."""
    if not np.isfinite(X.data if sp.issparse(X) else X).all():
        raise ValueError("X holds NaN or infinity: fill in missing values before writing")


def number_texts(values: Any) -> list[str]:
    """Return the shortest text of each number that reads back as the same float64."""
    return [repr(value).removesuffix(".0") for value in values.astype(np.float64).tolist()]


def sparse_rows(matrix: Any) -> Iterator[tuple[list[int], list[str]]]:
    """Yield (columns, texts) of the non-zeros of each row."""
    for start in range(0, matrix.shape[0], _ROWS_AT_ONCE):
        part = sp.csr_array(matrix[start : start + _ROWS_AT_ONCE])
        if (part.data == 0).any():
            part.eliminate_zeros()
        columns, texts = part.indices.tolist(), number_texts(part.data)
        bounds = part.indptr.tolist()
        for begin, end in pairwise(bounds):
            yield columns[begin:end], texts[begin:end]


def dense_rows(matrix: Any) -> Iterator[list[str]]:
    """Yield the texts of each row."""
    for row in matrix:
        yield number_texts(row.toarray().ravel() if sp.issparse(row) else row)
