"""Arrays from files, checked before compiled code follows their indices."""

from __future__ import annotations

from typing import Any

__all__ = ["csr_complaint", "indptr_complaint"]


def csr_complaint(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> str | None:
    """Return why three arrays are not the parts of a CSR array, or None if they are.

    Parameters
    ----------
    data, indices, indptr : ndarray
        As in :class:`scipy.sparse.csr_array`.
    shape : (int, int)
        What they claim to be.

    Examples
    --------
    >>> import numpy as np
    >>> csr_complaint(np.ones(1), np.array([3]), np.array([0, 1]), (1, 3))
    'an index is out of range: 3 columns'
    """
    rows, columns = shape
    if indices.dtype.kind not in "iu" or indices.ndim != 1:
        return "indices must be a list of integers"
    if min(rows, columns) < 0:
        return f"claims to be {rows:,} × {columns:,}"
    if data.ndim != 1 or data.size != indices.size:
        return f"{data.size} values but {indices.size} indices"
    complaint = indptr_complaint(indptr, rows, indices.size)
    if complaint is not None:
        return complaint
    if indices.size and (indices.min() < 0 or indices.max() >= columns):
        return f"an index is out of range: {columns:,} columns"
    return None


def indptr_complaint(indptr: Any, rows: int, count: int) -> str | None:
    """Return why an array does not say where each of the rows of so many entries ends.

    Examples
    --------
    >>> import numpy as np
    >>> indptr_complaint(np.array([0, 2, 1]), 2, 1)
    'indptr does not describe 2 rows'
    """
    if indptr.dtype.kind not in "iu" or indptr.ndim != 1:
        return "indptr must be a list of integers"
    fits = indptr.size == rows + 1 and indptr[0] == 0 and indptr[-1] == count
    if not fits or (indptr[1:] < indptr[:-1]).any():
        return f"indptr does not describe {rows:,} rows"
    return None
