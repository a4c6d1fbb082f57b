"""Whole numbers in float64, summed exactly in any order, with a carry where they grow large.

Products and sums of whole numbers below 2⁵³ are exact in float64. A sum that could pass that is
split into ``high · 2⁵² + low`` with ``−2⁵¹ ≤ low < 2⁵¹``, which is one pair of numbers for each
value: equal sums are equal arrays, whatever was added and removed on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

__all__ = ["LARGEST_SUM", "ExactSum", "added"]

#: What one block of products may add to an entry at most.
LARGEST_SUM = 2.0**52
HALF = LARGEST_SUM / 2


@dataclass(frozen=True)
class ExactSum:
    """An array (or CSR array) of whole numbers, known exactly.

    Attributes
    ----------
    low : ndarray or csr_array
        The lower 52 bits of each number, signed.
    high : ndarray, csr_array or None
        What is above, in units of 2⁵²; None where there is nothing.

    Examples
    --------
    >>> import numpy as np
    >>> large = ExactSum.of(np.array([2.0**52 - 1]))
    >>> both = large + large + large - large - large
    >>> np.array_equal(both.low, large.low) and np.array_equal(both.high, large.high)
    True
    """

    low: Any
    high: Any = None

    @classmethod
    def of(cls, low: Any, high: Any = None) -> Self:
        """Return ``high · 2⁵² + low``, whole numbers below 2⁵³ each, as the one pair there is."""
        data = low.data if sp.issparse(low) else low
        if data.size and (data.min() < -HALF or data.max() >= HALF):
            above = np.floor((data + HALF) / LARGEST_SUM)
            data = data - above * LARGEST_SUM
            if sp.issparse(low):  # each with indices of its own: zeros go from either apart
                above, low = (
                    sp.csr_array((part, low.indices.copy(), low.indptr.copy()), shape=low.shape)
                    for part in (above, data)
                )
            else:
                low = data
            high = added(high, above)
        if high is not None:
            data = high.data if sp.issparse(high) else high
            if data.size and np.abs(data).max() >= LARGEST_SUM:
                raise ValueError("sums of products have grown beyond 104 bits: scale the features")
            high = high if data.any() else None
        for part in (low, high):
            if sp.issparse(part):
                part.eliminate_zeros()
                part.sort_indices()
        return cls(low, high)

    def __add__(self, other: ExactSum) -> Self:
        return self.of(self.low + other.low, added(self.high, other.high))

    def __sub__(self, other: ExactSum) -> Self:
        negative = None if other.high is None else -other.high
        return self.of(self.low - other.low, added(self.high, negative))

    def plus_large(self, products: Any) -> Self:
        """Add whole numbers of any size that are exact in float64."""
        above = products / LARGEST_SUM
        above = above.floor() if sp.issparse(above) else np.floor(above)
        return self.of(self.low + (products - above * LARGEST_SUM), added(self.high, above))

    def real(self) -> Any:
        """Return the numbers in float64, rounded once."""
        return self.low if self.high is None else self.high * LARGEST_SUM + self.low

    def map(self, change: Callable[[Any], Any]) -> Self:
        """Return the same change (of shape or order) of both parts."""
        return type(self)(change(self.low), None if self.high is None else change(self.high))

    def parts(self) -> list[Any]:
        """Return the arrays that there are."""
        return [self.low] if self.high is None else [self.low, self.high]


def added(one: Any, other: Any) -> Any:
    """Return a sum of which either term may be missing (None)."""
    if one is None or other is None:
        return other if one is None else one
    return one + other
