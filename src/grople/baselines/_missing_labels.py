"""Rows of which some labels are not known: what LEML needs of them, block by block.

No dense array of the size of the label matrix is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.baselines._design import Design
from grople.baselines._linear import with_matrices
from grople.decision import HeldOut, HeldOutBlock
from grople.moments import RealMoments, fold_of, row_keys, summarise
from grople.solver import LinearScores
from grople.solver._held_out import HELD_OUT_FOLDS
from grople.solver._model import row_blocks

__all__ = ["ObservedRows", "has_missing", "held_out_entries", "without_missing"]

Array = NDArray[Any]

#: A score below all others, for entries that are not observed.
UNSEEN = -1e300


def has_missing(Y: Any) -> bool:
    """Tell whether a label matrix has missing entries.

    Examples
    --------
    >>> has_missing([[1, 0], [float("nan"), 1]]), has_missing([[1, 0]])
    (True, False)
    """
    if hasattr(Y, "isna"):
        return Y.ndim == 2 and bool(Y.isna().to_numpy().any())
    values = Y.tocoo().data if sp.issparse(Y) else np.asarray(Y)
    is_matrix = sp.issparse(Y) or values.ndim == 2
    return is_matrix and values.dtype.kind == "f" and bool(np.isnan(values).any())


def without_missing(Y: Any) -> tuple[Any, Any]:
    """Return a label matrix with missing labels absent, and which they are (CSR).

    Examples
    --------
    >>> filled, missing = without_missing([[1.0, float("nan")]])
    >>> filled.tolist(), missing.toarray().tolist()
    ([[1.0, 0.0]], [[False, True]])
    """
    if hasattr(Y, "isna"):
        return Y.fillna(0), sp.csr_array(Y.isna().to_numpy())
    if not sp.issparse(Y):
        values = np.asarray(Y)
        missing = np.isnan(values)
        return np.where(missing, 0.0, values), sp.csr_array(missing)
    filled = Y.tocsr(copy=True)
    missing = sp.csr_array((np.isnan(filled.data), filled.indices, filled.indptr), filled.shape)
    filled.data = np.where(missing.data, 0.0, filled.data)
    return filled, missing


@dataclass(frozen=True)
class ObservedRows:
    """Rows with their labels, of which some are missing.

    Attributes
    ----------
    X : array or csr_array of shape (n_rows, n_features)
        Features.
    B, missing : csr_array of shape (n_rows, n_labels)
        Labels known to be there, and entries that are not known.
    weights : ndarray of shape (n_rows,), optional
        Weights of the rows.
    """

    X: Any
    B: Any
    missing: Any
    weights: Array | None = None

    @cached_property
    def moments(self) -> RealMoments:
        """Moments as if missing labels were absent."""
        summary = summarise(self.X, self.B, self.weights, max_kept_rows=0)
        return with_matrices(summary).moments

    def take(self, rows: Array) -> ObservedRows:
        """Keep the given rows."""
        weights = None if self.weights is None else self.weights[rows]
        return ObservedRows(self.X[rows], self.B[rows], self.missing[rows], weights)

    def select(self, labels: Array) -> ObservedRows:
        """Keep the given labels."""
        return replace(self, B=self.B[:, labels], missing=self.missing[:, labels])

    def blocks(self) -> Iterator[slice]:
        """Yield blocks of rows that may be dense."""
        yield from row_blocks(*self.B.shape)

    def pull(self, design: Design, W: Array, H: Array, c: Array) -> tuple[float, Array, Array]:
        """Return ‖R‖², X̃ᵀR and Rᵀ1 of the errors R = Y − X̃WH − 1cᵀ, 0 where not observed.

        Weights count once in each.
        """
        Z, b = (W[:-1], W[-1]) if design.penalised else (W, -design.mean @ W)
        squares, total = 0.0, np.zeros(H.shape[1])
        pulled = np.zeros((len(Z), H.shape[1]))
        for rows in self.blocks():
            X = self.X[rows]
            errors = 2.0 * self.B[rows].toarray() - 1.0 - c - np.asarray(X @ Z + b) @ H
            errors[self.missing[rows].toarray()] = 0.0
            weighted = errors if self.weights is None else errors * self.weights[rows, None]
            squares += float(np.vdot(weighted, errors))
            pulled += np.asarray(X.T @ weighted)
            total += weighted.sum(axis=0)
        if design.penalised:
            return squares, np.vstack([pulled, total]), total
        return squares, pulled - np.multiply.outer(design.mean, total), total


def held_out_entries(
    rows: ObservedRows, learn: Callable[[ObservedRows], LinearScores]
) -> HeldOut | None:
    """Count held-out scores of the observed entries."""
    folds = fold_of(row_keys(rows.X), HELD_OUT_FOLDS)
    unseen = np.zeros(rows.B.shape[1])
    # Shares stand for proportions: at least one a row on average.
    weights = rows.weights
    counted = np.ones(len(folds)) if weights is None else weights / min(1.0, weights.mean())

    def scored() -> Iterator[HeldOutBlock]:
        for fold in range(HELD_OUT_FOLDS):
            held, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            if not len(held) or not len(rest):
                continue
            scores, part = learn(rows.take(rest)), rows.take(held)
            for block in part.blocks():
                at, missing = held[block], part.missing[block].toarray()
                values = scores(part.X[block])
                values[missing] = UNSEEN
                unseen[:] += counted[at] @ missing
                # Keys of their own: labels of copies are not all known.
                yield HeldOutBlock(values, part.B[block], counted[at], at.astype(np.uint64))

    found = HeldOut.from_blocks(scored(), rows.B.shape[1])
    if found is None:
        return None
    counts = found.counts.times(1.0)
    # Entries that were not observed fell into the lowest bin: take them out again.
    counts.shared[0, 0] -= unseen.sum()
    counts.by_label[0, :, 0] -= unseen
    return replace(found, counts=counts) if counts.shared[0].any() else None
