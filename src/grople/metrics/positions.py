"""Where the true labels stand in each row's ranking: what every ranking measure is made of.

For a true label with score s in its row let ``above`` be the labels that score more than s,
``upto`` those that score at least s, and ``true_upto`` the true ones among the latter. A tie shares
the positions ``above .. upto - 1``: measures of the first k positions take the mean over the orders
of tied labels, so they depend neither on the order of the columns nor on a sort's whims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from grople.metrics.inputs import (
    BLOCK_CELLS,
    check_zero_division,
    label_indicator,
    mean_of_defined,
    row_weights,
)

__all__ = ["Ranks", "ranks", "score_blocks"]


@dataclass(frozen=True, eq=False)
class Ranks:
    """Positions of the true labels, one entry for each true label of each row.

    Made by :func:`ranks`; its methods are the measures.

    Attributes
    ----------
    indptr : ndarray of shape (n_rows + 1,)
        Row i owns the entries ``indptr[i] .. indptr[i + 1] - 1``.
    labels, above, upto, true_upto : ndarray of shape (n_entries,)
        The label, and the counts described at the top of the module.
    n_labels : int
        Labels a row ranks.
    weights : ndarray of shape (n_rows,) or None
        Row weights.

    Examples
    --------
    >>> r = ranks([[1, 0, 1]], [[0.9, 0.8, 0.1]])
    >>> r.upto, r.precision_at_k(1), r.ranking_loss()
    (array([1, 3]), 1.0, 0.5)
    """

    indptr: NDArray[Any]
    labels: NDArray[Any]
    above: NDArray[Any]
    upto: NDArray[Any]
    true_upto: NDArray[Any]
    n_labels: int
    weights: NDArray[np.float64] | None = None

    @property
    def n_true(self) -> NDArray[Any]:
        """Number of true labels of each row."""
        return np.diff(self.indptr)

    def precision_at_k(self, k: int) -> float:
        """See :func:`grople.metrics.precision_at_k`."""
        return mean_of_defined(
            self._row_sums(self._gains(np.ones(self._depth(k)))) / k, self.weights
        )

    def ndcg_at_k(self, k: int | None = None, zero_division: float = 0.0) -> float:
        """See :func:`grople.metrics.ndcg_at_k`."""
        k = self.n_labels if k is None else self._depth(k)
        discounts = 1 / np.log2(np.arange(2, k + 2))
        best = np.append(0.0, np.cumsum(discounts))[np.minimum(self.n_true, k)]
        return self._mean_ratio(self._row_sums(self._gains(discounts)), best, zero_division)

    def propensity_scored_precision_at_k(
        self, k: int, propensities: ArrayLike, zero_division: float = 0.0
    ) -> float:
        """See :func:`grople.metrics.propensity_scored_precision_at_k`."""
        worth = 1 / _checked_propensities(propensities, self.n_labels)[self.labels]
        found = self._row_sums(worth * self._gains(np.ones(self._depth(k))))
        place = _tie_spans(self._rows(), worth, self.indptr, break_ties=True)[0]
        best = self._row_sums(worth * (place < k))
        weights = np.ones(len(best)) if self.weights is None else self.weights
        total = float(weights @ best)
        return float(weights @ found) / total if total > 0 else check_zero_division(zero_division)

    def one_error(self) -> float:
        """See :func:`grople.metrics.one_error`."""
        return 1.0 - self.precision_at_k(1)

    def coverage(self) -> float:
        """See :func:`grople.metrics.coverage`."""
        depth = np.zeros(len(self.n_true))
        labelled = self.n_true > 0
        if labelled.any():
            depth[labelled] = np.maximum.reduceat(self.upto, self.indptr[:-1][labelled])
        return mean_of_defined(depth, self.weights)

    def ranking_loss(self, zero_division: float = 0.0) -> float:
        """See :func:`grople.metrics.ranking_loss`."""
        wrong = self._row_sums((self.upto - self.true_upto).astype(np.float64))
        return self._mean_ratio(wrong, self.n_true * (self.n_labels - self.n_true), zero_division)

    def label_ranking_average_precision(self, zero_division: float = 1.0) -> float:
        """See :func:`grople.metrics.label_ranking_average_precision`."""
        precisions = self._row_sums(self.true_upto / self.upto)
        return self._mean_ratio(precisions, self.n_true, zero_division)

    def _depth(self, k: int) -> int:
        if not 1 <= index(k) <= self.n_labels:
            raise ValueError(f"k must lie between 1 and the {self.n_labels} labels, not {k}")
        return index(k)

    def _gains(self, position_values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each true label earns: the mean value of the positions its tie shares."""
        k = len(position_values)
        earned = np.append(0.0, np.cumsum(position_values))
        share = earned[np.minimum(self.upto, k)] - earned[np.minimum(self.above, k)]
        return share / (self.upto - self.above)

    def _rows(self) -> NDArray[Any]:
        return np.repeat(np.arange(len(self.n_true)), self.n_true)

    def _row_sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = np.bincount(self._rows(), weights=values, minlength=len(self.n_true))
        return sums.astype(np.float64, copy=False)

    def _mean_ratio(self, part: NDArray[Any], whole: NDArray[Any], zero_division: float) -> float:
        result = np.full(len(part), check_zero_division(zero_division))
        np.divide(part, whole, out=result, where=whole > 0)
        return mean_of_defined(result, self.weights)


def ranks(
    y_true: Any,
    scores: Any | Callable[[int, int], Any],
    sample_weight: ArrayLike | None = None,
) -> Ranks:
    """Rank the labels of every row and note where the true ones stand.

    Parameters
    ----------
    y_true : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True labels, zeros and ones.
    scores : array-like, sparse matrix or callable
        The larger, the more likely. Dense scores are read in blocks of rows. In sparse scores the
        stored entries, zeros among them, come first; the absent ones follow, all tied. A callable
        ``scores(start, stop)`` returns those rows, dense or sparse, so that no more than a block
        of scores need ever exist: ``lambda i, j: clf.decision_function(X[i:j])``.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Returns
    -------
    Ranks
        Its methods are the measures.

    Examples
    --------
    >>> r = ranks([[0, 1, 0], [1, 0, 1]], [[0.2, 0.7, 0.1], [0.3, 0.3, 0.9]])
    >>> r.one_error(), r.coverage(), r.label_ranking_average_precision()
    (0.0, 2.0, 0.9166666666666666)
    """
    true = label_indicator(y_true, "y_true")
    weights = row_weights(sample_weight, true.shape[0])
    indptr = true.indptr.astype(np.int64)
    found = [np.empty((3, 0), np.int64)]
    for start, block in score_blocks(scores, *true.shape):
        begin, end = indptr[start], indptr[start + block.shape[0]]
        own_indptr = indptr[start : start + block.shape[0] + 1] - begin
        rows = np.repeat(np.arange(block.shape[0]), np.diff(own_indptr))
        locate = _positions_sparse if sp.issparse(block) else _positions_dense
        above, upto, own_scores = locate(block, rows, true.indices[begin:end])
        true_upto = _tie_spans(rows, own_scores, own_indptr)[1]
        found.append(np.stack([above, upto, true_upto]))
    above, upto, true_upto = np.concatenate(found, axis=1)
    return Ranks(indptr, true.indices, above, upto, true_upto, true.shape[1], weights)


def score_blocks(
    scores: Any, n_rows: int, n_labels: int, name: str = "scores"
) -> Iterator[tuple[int, Any]]:
    """Yield (first row, checked block of scores) for consecutive blocks of rows."""
    # Sparse scores cost what they store: one block. Dense ones cost a sorted copy of the block.
    step = n_rows if sp.issparse(scores) else max(1, BLOCK_CELLS // n_labels)
    if not callable(scores):
        whole = sp.csr_array(scores) if sp.issparse(scores) else np.asarray(scores)
        if whole.shape != (n_rows, n_labels):
            raise ValueError(f"y_true has shape {(n_rows, n_labels)} but {name} have {whole.shape}")
    for start in range(0, n_rows, step):
        stop = min(start + step, n_rows)
        block = scores(start, stop) if callable(scores) else whole[start:stop]
        block = sp.csr_array(block) if sp.issparse(block) else np.asarray(block)
        if block.shape != (stop - start, n_labels):
            raise ValueError(
                f"{name}({start}, {stop}) must return shape {(stop - start, n_labels)}, "
                f"not {block.shape}"
            )
        if block.dtype.kind != "f":
            block = block.astype(np.float64)
        if np.isnan(block.data if sp.issparse(block) else block).any():
            raise ValueError(f"{name} hold NaN in rows {start} to {stop - 1}")
        yield start, block


def _positions_dense(block: Any, rows: NDArray[Any], labels: NDArray[Any]) -> tuple[Any, Any, Any]:
    """Return ``above``, ``upto`` and the score of each true label of a dense block."""
    own = block[rows, labels]
    ordered = np.sort(block, axis=1)
    n_labels = block.shape[1]
    return (
        n_labels - _count_in_sorted_rows(ordered, rows, own, np.less_equal),
        n_labels - _count_in_sorted_rows(ordered, rows, own, np.less),
        own,
    )


def _count_in_sorted_rows(
    ordered: NDArray[Any], rows: NDArray[Any], values: NDArray[Any], compare: Any
) -> NDArray[np.int64]:
    """Count the cells c of each value's row with ``compare(c, value)``, by bisection."""
    width = ordered.shape[1]
    count = np.zeros(len(rows), np.int64)
    for bit in reversed(range(width.bit_length())):
        probe = count + (1 << bit)
        inside = np.minimum(probe, width)
        count = np.where(
            (probe == inside) & compare(ordered[rows, inside - 1], values), probe, count
        )
    return count


def _positions_sparse(block: Any, rows: NDArray[Any], labels: NDArray[Any]) -> tuple[Any, Any, Any]:
    """Return the same for a sparse block, where what is not stored comes last, tied."""
    if not block.has_canonical_format:
        block = block.copy()
        block.sum_duplicates()
    n_rows, n_labels = block.shape
    stored = np.diff(block.indptr).astype(np.int64)
    stored_rows = np.repeat(np.arange(n_rows), stored)
    spans = _tie_spans(stored_rows, block.data, block.indptr)
    # Cells in row-major order are sorted in both matrices, so one search finds every true label.
    cells, wanted = stored_rows * n_labels + block.indices, rows * n_labels + labels
    at = np.searchsorted(cells, wanted)
    present = np.append(cells, -1)[at] == wanted
    at = at[present]
    above, upto = stored[rows], np.full(len(rows), n_labels)
    own = np.full(len(rows), -np.inf)
    above[present], upto[present], own[present] = spans[0][at], spans[1][at], block.data[at]
    return above, upto, own


def _tie_spans(
    rows: NDArray[Any], values: NDArray[Any], indptr: NDArray[Any], break_ties: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for entries grouped by row, how many of the row's are larger, and as large."""
    order = np.lexsort((-values, rows))
    sorted_rows, sorted_values = rows[order], values[order]
    opens = np.ones(len(order), bool)
    if not break_ties:
        opens[1:] = (np.diff(sorted_rows) != 0) | (sorted_values[1:] != sorted_values[:-1])
    first = np.flatnonzero(opens)
    group = np.cumsum(opens) - 1
    last = np.append(first[1:], len(order))
    larger, as_large = np.empty((2, len(order)), np.int64)
    larger[order] = first[group] - indptr[sorted_rows]
    as_large[order] = last[group] - indptr[sorted_rows]
    return larger, as_large


def _checked_propensities(propensities: ArrayLike, n_labels: int) -> NDArray[np.float64]:
    values = np.asarray(propensities, dtype=np.float64)
    if values.shape != (n_labels,):
        raise ValueError(f"propensities have shape {values.shape}; expected ({n_labels},)")
    if not ((values > 0) & (values <= 1)).all():
        raise ValueError("propensities must lie in (0, 1]")
    return values
