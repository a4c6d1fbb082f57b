"""What a measure may be given: label matrices, scores, weights, the value of 0/0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

__all__ = ["label_indicator", "mean_of_defined", "ratio", "row_weights", "score_blocks"]

# Dense input is read this many cells at a time, so that a check never costs a second N×L array.
BLOCK_CELLS = 1 << 20


def label_indicator(y: Any, name: str = "y") -> Any:
    """Return a label matrix as a canonical CSR array of ones.

    Parameters
    ----------
    y : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        Zeros and ones of any dtype.
    name : str
        What to call it in an error.

    Returns
    -------
    csr_array of int64
        Sorted, unique indices and no stored zeros. The data are 64-bit because products of narrow
        integers overflow silently. The caller's arrays are never changed, but may be shared.

    Examples
    --------
    >>> label_indicator([[0, 1], [1, 1]]).indices.tolist()
    [1, 0, 1]
    """
    if hasattr(y, "sparse"):  # a DataFrame whose columns are all sparse
        y = y.sparse.to_coo()
    y = y if sp.issparse(y) else np.asarray(y)
    if y.ndim != 2:
        raise ValueError(
            f"{name} must have one row an example and one column a label, not {y.ndim}-d"
        )
    if 0 in y.shape:
        raise ValueError(f"{name} is empty: its shape is {y.shape}")
    return _from_sparse(y, name) if sp.issparse(y) else _from_dense(y, name)


def _from_sparse(y: Any, name: str) -> Any:
    matrix = sp.csr_array(y)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    _require_ones(matrix.data, name)
    if matrix.dtype == np.int64:
        return matrix
    return _ones(matrix.indices, matrix.indptr, matrix.shape)


def _from_dense(array: Any, name: str) -> Any:
    if array.dtype.kind not in "biuf":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name} must hold zeros and ones, not {array.dtype} values"
            ) from error
    n_rows, n_labels = array.shape
    step = max(1, BLOCK_CELLS // max(n_labels, 1))
    indices, counts = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
    for start in range(0, n_rows, step):
        block = array[start : start + step]
        marked = block != 0
        if not (block == marked).all():
            _require_ones(block[marked], name)
        indices.append((np.flatnonzero(marked) % n_labels).astype(np.int32))
        counts.append(np.count_nonzero(marked, axis=1))
    return _ones(np.concatenate(indices), np.cumsum(np.concatenate(counts)), (n_rows, n_labels))


def _ones(indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
    matrix = sp.csr_array((np.ones(len(indices), np.int64), indices, indptr), shape=shape)
    matrix.has_canonical_format = True
    return matrix


def _require_ones(values: NDArray[Any], name: str) -> None:
    wrong = values[values != 1]
    if len(wrong) == 0:
        return
    if np.isnan(wrong).any():
        raise ValueError(f"{name} holds NaN; labels are 0 or 1")
    hint = f"; for labels in {{-1, 1}} pass {name} > 0" if (wrong == -1).all() else ""
    raise ValueError(f"{name} holds {wrong[0]}; labels are 0 or 1{hint}")


def row_weights(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    """Return checked weights, one a row, or None where all rows weigh the same."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}; expected ({n_rows},)")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError("sample_weight must be finite and non-negative, and not all zero")
    return weights


def score_blocks(
    scores: Any, shape: tuple[int, int], name: str = "scores"
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield (first row, checked block of scores) for consecutive blocks of rows."""
    if sp.issparse(scores):
        raise TypeError(f"{name} must be dense: make them so, or pass a function of row numbers")
    n_rows, n_labels = shape
    whole = None if callable(scores) else np.asarray(scores)
    if whole is not None and whole.shape != shape:
        raise ValueError(f"y_true has shape {shape} but {name} have {whole.shape}")
    step = max(1, BLOCK_CELLS // n_labels)
    for start in range(0, n_rows, step):
        stop = min(start + step, n_rows)
        block = np.asarray(scores(start, stop)) if whole is None else whole[start:stop]
        if block.shape != (stop - start, n_labels):
            raise ValueError(
                f"{name}({start}, {stop}) must return shape {(stop - start, n_labels)}, "
                f"not {block.shape}"
            )
        if block.dtype.kind != "f":
            block = block.astype(np.float64)
        if np.isnan(block).any():
            raise ValueError(f"{name} hold NaN in rows {start} to {stop - 1}")
        yield start, block


def ratio(part: Any, whole: Any, zero_division: float) -> NDArray[np.float64]:
    """Return part / whole, and for 0/0 what that is to be: 0, 1, or NaN, "leave it out"."""
    if isinstance(zero_division, str) or not (zero_division in (0, 1) or np.isnan(zero_division)):
        raise ValueError(f"zero_division must be 0.0, 1.0 or numpy.nan, not {zero_division!r}")
    result = np.full(np.shape(whole), float(zero_division))
    return np.divide(part, whole, out=result, where=np.asarray(whole) > 0)


def mean_of_defined(
    values: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> float:
    """Return the weighted mean of the values that are not NaN; NaN where nothing is left."""
    defined = ~np.isnan(values)
    if weights is None:
        return float(values[defined].mean()) if defined.any() else float("nan")
    total = weights[defined].sum()
    return float(weights[defined] @ values[defined] / total) if total > 0 else float("nan")
