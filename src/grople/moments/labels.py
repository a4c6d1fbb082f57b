"""Counts of labels and pairs of labels: what stages 1 and 2 learn from."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments.products import ThreadedProduct

__all__ = ["LabelMoments"]

Array = NDArray[Any]

#: Labels beyond which BᵀB stays sparse.
DENSE_LABELS = 4096
#: Marks in a block of rows, at least.
LEAST_MARKS = 1 << 15
#: Rounding that a difference of sums may leave, relative to the sums.
ROUNDING = 1e-9


@dataclass(frozen=True)
class LabelMoments:
    """What stages 1 and 2 learn from: n, label counts and co-occurrence counts.

    Parameters
    ----------
    n : int or float
        Rows, or their total weight.
    counts : ndarray of shape (L,)
        Bᵀ1. Integers unless rows are weighted, so that adding and subtracting is exact.
    cooccurrence : ndarray or csr_array of shape (L, L)
        BᵀB.

    Examples
    --------
    >>> import numpy as np
    >>> labels = LabelMoments.from_labels(np.array([[1, 0], [1, 1]]))
    >>> labels.counts, labels.signed_gram().tolist()
    (array([2, 1]), [[2.0, 0.0], [0.0, 2.0]])
    """

    n: int | float
    counts: Array
    cooccurrence: Any

    @classmethod
    def from_labels(cls, B: Any, weights: Array | None = None) -> LabelMoments:
        """Count labels and pairs of labels."""
        B = sp.csr_array(B)
        n_rows, L = B.shape
        # Blocks of as many marks as there are pairs: a sum of matrices costs no more than a block.
        size = max(1, int(max(L**2, LEAST_MARKS) * n_rows / max(B.nnz, 1)))
        if size >= n_rows:
            return cls._of_block(B, weights)
        blocks = (slice(i, i + size) for i in range(0, n_rows, size))
        parts = (cls._of_block(B[i], None if weights is None else weights[i]) for i in blocks)
        return functools.reduce(operator.add, parts)

    @classmethod
    def _of_block(cls, B: Any, weights: Array | None) -> LabelMoments:
        if weights is None:
            B = B.astype(np.int64)
            n: int | float = int(B.shape[0])
            weighted = B
        else:
            B = B.astype(np.float64)
            n = float(weights.sum())
            weighted = sp.csr_array(B * weights[:, None])
        pairs = sp.csr_array(B.T @ weighted)
        dense = B.shape[1] <= DENSE_LABELS
        return cls(n, np.asarray(weighted.sum(axis=0)), pairs.toarray() if dense else pairs)

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return len(self.counts)

    @property
    def sums(self) -> Array:
        """Yᵀ1."""
        return 2.0 * self.counts - self.n

    @property
    def total(self) -> float:
        """Return ‖Y‖² = n·L."""
        return float(self.n) * self.n_labels

    def signed_product(self, W: Array) -> Array:
        """Return YᵀY W = (4BᵀB − 2(s1ᵀ + 1sᵀ) + n11ᵀ) W, sparse and low-rank parts apart."""
        totals = W.sum(axis=0)
        result = self._pairs_in_floats @ W
        result *= 4.0
        result -= 2.0 * np.multiply.outer(self.counts, totals)
        result += self.n * totals - 2.0 * (self.counts @ W)
        return result

    def __getstate__(self) -> dict[str, Any]:
        # What is only there to multiply faster is made again where it is needed.
        return {name: value for name, value in self.__dict__.items() if name[0] != "_"}

    @cached_property
    def _pairs_in_floats(self) -> Any:
        # Products of whole numbers are not those of BLAS.
        pairs = self.cooccurrence.astype(np.float64, copy=False)
        return ThreadedProduct(pairs) if sp.issparse(pairs) else pairs

    def pairs(self) -> Array:
        """Return BᵀB as a dense matrix."""
        return self.cooccurrence.toarray() if sp.issparse(self.cooccurrence) else self.cooccurrence

    def signed_gram(self) -> Array:
        """Return YᵀY as a dense matrix."""
        s = self.counts
        return (4 * self.pairs() - 2 * (s[:, None] + s[None, :]) + self.n).astype(np.float64)

    def squared_distances(self) -> Array:
        """Return ‖Y_i − Y_j‖² between label columns, 4(s_i + s_j − 2(BᵀB)_ij)."""
        s = self.counts
        squared = (4 * (s[:, None] + s[None, :] - 2 * self.pairs())).astype(np.float64)
        return np.maximum(squared, 0.0)  # weighted sums may leave rounding below zero

    def select(self, columns: Array) -> LabelMoments:
        """Keep the given labels, in the given order."""
        pairs = self.cooccurrence[columns][:, columns]
        return replace(self, counts=self.counts[columns], cooccurrence=pairs)

    def padded(self, n_labels: int) -> LabelMoments:
        """Add labels that no row has carried so far."""
        extra = n_labels - self.n_labels
        if extra == 0:
            return self
        pairs = self.cooccurrence
        if sp.issparse(pairs) or n_labels > DENSE_LABELS:
            pairs = sp.csr_array(pairs)
            pairs.resize((n_labels, n_labels))
        else:
            pairs = np.pad(pairs, (0, extra))
        return replace(self, counts=np.pad(self.counts, (0, extra)), cooccurrence=pairs)

    def __add__(self, other: LabelMoments) -> LabelMoments:
        return LabelMoments(
            self.n + other.n,
            self.counts + other.counts,
            self.cooccurrence + other.cooccurrence,
        )

    def __sub__(self, other: LabelMoments) -> LabelMoments:
        n = self.n - other.n
        counts = self.counts - other.counts
        exact = np.issubdtype(counts.dtype, np.integer)
        slack = 0.0 if exact else ROUNDING * float(abs(self.n))
        if n < -slack:
            raise ValueError(f"cannot remove {other.n:g} rows: only {self.n:g} were added")
        if np.any(counts < -slack):
            label = int(np.argmin(counts))
            raise ValueError(
                f"cannot remove these rows: label {label} would be left with a count of "
                f"{counts[label]:g}; they were not all added before"
            )
        if np.any(counts > n + slack):
            label = int(np.argmax(counts))
            raise ValueError(
                f"cannot remove these rows: label {label} would be left on {counts[label]:g} of "
                f"{n:g} rows; they were not all added before"
            )
        pairs = self.cooccurrence - other.cooccurrence
        if (pairs.min() if np.prod(pairs.shape) else 0) < -slack:
            raise ValueError(
                "cannot remove these rows: two labels would be left together on a negative "
                "number of rows; they were not all added before"
            )
        if n <= slack:  # nothing is left but rounding
            return LabelMoments(type(self.n)(0), np.zeros_like(counts), pairs * 0)
        return LabelMoments(n, counts, pairs)
