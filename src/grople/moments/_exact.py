"""Whole numbers in float64, summed exactly in any order, with a carry where they grow large.

Products and sums of whole numbers below 2⁵³ are exact in float64. A sum that could pass that is
split into ``high · 2⁵² + low`` with ``−2⁵¹ ≤ low < 2⁵¹``, which is one pair of numbers for each
value: equal sums are equal arrays, whatever was added and removed on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["LARGEST_SUM", "ExactSum"]

Array = NDArray[Any]

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
    def of(cls, values: Any) -> Self:
        """Split whole numbers below 2⁵³."""
        return cls(values)._carried(None)

    def __add__(self, other: ExactSum) -> Self:
        return type(self)(self.low + other.low)._carried(_added(self.high, other.high))

    def __sub__(self, other: ExactSum) -> Self:
        negative = None if other.high is None else -other.high
        return type(self)(self.low - other.low)._carried(_added(self.high, negative))

    def plus_large(self, products: Any) -> Self:
        """Add whole numbers of any size that are exact in float64."""
        above = products / LARGEST_SUM
        above = above.floor() if sp.issparse(above) else np.floor(above)
        rest = products - above * LARGEST_SUM
        return type(self)(self.low + rest)._carried(_added(self.high, above))

    def real(self) -> Any:
        """Return the numbers in float64, rounded once."""
        return self.low if self.high is None else self.high * LARGEST_SUM + self.low

    def map(self, change: Any) -> Self:
        """Return the same change (of shape or order) of both parts."""
        return type(self)(change(self.low), None if self.high is None else change(self.high))

    def parts(self) -> list[Any]:
        """Return the arrays that there are."""
        return [self.low] if self.high is None else [self.low, self.high]

    def _carried(self, high: Any) -> Self:
        values = self.low
        data = values.data if sp.issparse(values) else values
        if data.size and (data.min() < -HALF or data.max() >= HALF):
            above = np.floor((data + HALF) / LARGEST_SUM)
            data = data - above * LARGEST_SUM
            if sp.issparse(values):
                above = sp.csr_array((above, values.indices, values.indptr), shape=values.shape)
                values = sp.csr_array((data, values.indices, values.indptr), shape=values.shape)
            else:
                values = data
            high = _added(high, above)
        if high is not None:
            data = high.data if sp.issparse(high) else high
            if data.size and np.abs(data).max() >= LARGEST_SUM:
                raise ValueError("sums of products have grown beyond 104 bits: scale the features")
            if not data.any():
                high = None
        if sp.issparse(values):
            values = _without_zeros(values)
            high = None if high is None else _without_zeros(high)
        return type(self)(values, high)


def _without_zeros(values: Any) -> Any:
    if not values.data.all():
        values = values.copy()
        values.eliminate_zeros()
    values.sort_indices()
    return values


def _added(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return one + other
