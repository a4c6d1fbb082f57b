"""Counts of labels and pairs of labels: what stages 1 and 2 learn from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.optim import ThreadedProduct

__all__ = ["DENSE_LABELS", "LabelMoments"]

Array = NDArray[Any]

#: Labels beyond which BᵀB stays sparse.
DENSE_LABELS = 4096


@dataclass(frozen=True)
class LabelMoments:
    """What stages 1 and 2 learn from: n, label counts and co-occurrence counts.

    All are whole numbers (in float64) unless rows are weighted.

    Attributes
    ----------
    n : float
        Rows, or their total weight.
    counts : ndarray of shape (L,)
        Bᵀ1.
    cooccurrence : ndarray or csr_array of shape (L, L)
        BᵀB.

    Examples
    --------
    >>> import numpy as np
    >>> labels = LabelMoments.of(np.array([[1, 0], [1, 1]]))
    >>> labels.counts, labels.signed_gram().tolist()
    (array([2., 1.]), [[2.0, 0.0], [0.0, 2.0]])
    """

    n: float
    counts: Array
    cooccurrence: Any

    @classmethod
    def of(cls, B: Any, weights: Array | None = None) -> LabelMoments:
        """Count labels and pairs of labels."""
        B = sp.csr_array(B, dtype=np.float64)
        weighted = B if weights is None else sp.csr_array(B.multiply(weights[:, None]))
        n = float(B.shape[0] if weights is None else weights.sum())
        pairs = sp.csr_array(weighted.T @ B)
        pairs.sort_indices()
        dense = B.shape[1] <= DENSE_LABELS
        counts = np.asarray(weighted.sum(axis=0), dtype=np.float64)
        return cls(n, counts, pairs.toarray() if dense else pairs)

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
        """‖Y‖² = n·L."""
        return float(self.n) * self.n_labels

    @property
    def varying(self) -> NDArray[np.intp]:
        """The labels that some but not all rows carry."""
        return np.flatnonzero((self.counts > 0) & (self.counts < self.n))

    @property
    def constant_scores(self) -> Array:
        """The score of each label if it does not vary: 1 where it occurs, −1 where it does not."""
        return np.where(self.counts > 0, 1.0, -1.0)

    def signed_product(self, W: Array) -> Array:
        """Return YᵀY W = (4BᵀB − 2(s1ᵀ + 1sᵀ) + n11ᵀ) W, sparse and low-rank parts apart."""
        totals = W.sum(axis=0)
        result = self._pairs @ W
        result *= 4.0
        result -= 2.0 * np.multiply.outer(self.counts, totals)
        result += self.n * totals - 2.0 * (self.counts @ W)
        return result

    @cached_property
    def _pairs(self) -> Any:
        pairs = self.cooccurrence
        return ThreadedProduct(pairs) if sp.issparse(pairs) else pairs

    def __getstate__(self) -> dict[str, Any]:
        # What is only there to multiply faster is made again where it is needed.
        return {name: value for name, value in self.__dict__.items() if name[0] != "_"}

    def pairs(self) -> Array:
        """Return BᵀB as a dense matrix."""
        return self.cooccurrence.toarray() if sp.issparse(self.cooccurrence) else self.cooccurrence

    def signed_gram(self) -> Array:
        """Return YᵀY as a dense matrix."""
        s = self.counts
        return np.asarray(4.0 * self.pairs() - 2.0 * (s[:, None] + s[None, :]) + self.n)

    def squared_distances(self) -> Array:
        """Return ‖Y_i − Y_j‖² between label columns, 4(s_i + s_j − 2(BᵀB)_ij)."""
        s = self.counts
        squared = 4.0 * (s[:, None] + s[None, :] - 2.0 * self.pairs())
        return np.maximum(squared, 0.0)  # weighted sums may leave rounding below zero

    def select(self, columns: Array) -> LabelMoments:
        """Keep the given labels, in the given order."""
        if len(columns) == self.n_labels and np.array_equal(columns, np.arange(self.n_labels)):
            return self
        pairs = self.cooccurrence[columns][:, columns]
        return replace(self, counts=self.counts[columns], cooccurrence=pairs)
