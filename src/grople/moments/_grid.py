"""A grid for each column, on which features are whole numbers.

The grid is part of the feature map: frozen when a model first sees rows, and handed on to models
that are to be compared with it bit by bit.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments._keys import canonical_rows

__all__ = ["Grid"]

Array = NDArray[Any]

#: Bits of a column's largest magnitude, at most; exponents of steps come in multiples of the
#: second number, so that blocks of the same data rarely disagree on a grid.
BITS, EXPONENTS = 24, 8
#: Bits of the roots of weights.
ROOT_BITS = 20
#: Bits of the largest magnitude below which a grid is too coarse for the rows it meets, where
#: these have a feature often enough for its largest value to mean something.
COARSE_BITS, OFTEN = 16, 30
#: Whole numbers are rounded to so many leading bits, and refused from so many bits on.
LEADING_BITS, LARGEST_BITS = 26, 39
#: A column is shifted if its values lie this many times their range away from zero.
FAR = 4.0
#: Sparse rows of more features are kept themselves instead of the products of all pairs, as long
#: as the first of them have less than such a share of the entries of that matrix.
MANY_FEATURES, SMALL_SHARE = 1000, 0.2
#: Exponents of steps beyond which squares would leave the range of float64.
LARGEST_EXPONENT = 472
#: Features of which the matrix of all pairs is not to be formed.
MOST_FEATURES = 16_384


@dataclass(frozen=True)
class Grid:
    """Steps and shifts of the columns, the step of weights, and in which form rows are kept.

    Attributes
    ----------
    steps : ndarray of shape (D,)
        Powers of two; a value is the shift plus a whole number of steps.
    shifts : ndarray of shape (D,)
        Multiples of the steps, zero but for columns of dense rows far from zero.
    weight_scale : float
        A power of two above the roots of the first weights.
    sparse : bool
        Whether kept rows are sparse arrays, as the first rows were.
    keeps_rows : bool
        Whether all sparse rows are kept themselves: many features, few of them in a row.

    Examples
    --------
    >>> import numpy as np
    >>> grid = Grid.of(np.array([[0.5, 3.0], [0.25, -1.0]]))
    >>> whole, _ = grid.whole(np.array([[0.5, 3.0]]))
    >>> whole * grid.steps
    array([[0.5, 3. ]])
    """

    steps: Array
    shifts: Array
    weight_scale: float = 2.0
    sparse: bool = False
    keeps_rows: bool = False

    @classmethod
    def of(cls, X: Any, weights: Array | None = None, *, streamed: bool = False) -> Self:
        """Choose a grid by the first rows.

        Parameters
        ----------
        X : array or sparse array of shape (n_rows, D)
            The rows.
        weights : ndarray of shape (n_rows,), optional
            Their weights.
        streamed : bool
            Whether many more rows are to come: matrices are then better than rows where they fit.
        """
        low, high = _range(X)
        shifts = np.zeros(X.shape[1])
        if not sp.issparse(X):
            spread = high - low
            far = np.minimum(np.abs(low), np.abs(high)) > FAR * spread
            far &= np.sign(low) == np.sign(high)
            # A constant column has no scale but its size.
            unit = _step(np.where(spread > 0, spread, np.maximum(np.abs(high), np.abs(low))), 0)
            shifts = np.where(far & (spread > 0), np.rint(low / unit) * unit, 0.0)
        largest = np.maximum(np.abs(low - shifts), np.abs(high - shifts))
        heaviest = 1.0 if weights is None or not len(weights) else float(np.sqrt(weights.max()))
        scale = float(2.0 ** np.frexp(heaviest)[1])
        D, in_rows = X.shape[1], False
        if sp.issparse(X) and D > MANY_FEATURES:
            in_rows = D > MOST_FEATURES or (not streamed and X.nnz < SMALL_SHARE * D * D)
        return cls(_step(largest, BITS), shifts, scale, sp.issparse(X), in_rows)

    @property
    def n_features(self) -> int:
        """Number of features (D)."""
        return len(self.steps)

    def whole(self, X: Any, weights: Array | None = None) -> tuple[Any, Array | None]:
        """Return rows as whole numbers, and the roots of their weights.

        Weighted rows are multiplied by the roots, and are in units of ``steps · weight_scale``;
        the roots are in units of :attr:`root_unit`.
        """
        if weights is None:
            return self._whole(X, None), None
        roots = np.maximum(np.rint(np.sqrt(weights) / self.root_unit), 1.0)
        if roots.max(initial=0.0) >= 2.0**LARGEST_BITS:
            raise ValueError(
                f"a weight of {weights.max():g} is far beyond those of the first rows: scale the "
                "weights, or fit again with such rows first"
            )
        roots = _leading_bits(roots)
        # The root that counts is the one on the grid.
        return self._whole(X, roots * (self.root_unit / self.weight_scale)), roots

    @property
    def root_unit(self) -> float:
        """The step of the roots of weights."""
        return self.weight_scale * 2.0**-ROOT_BITS

    def _whole(self, X: Any, roots: Array | None) -> Any:
        if sp.issparse(X) and not self.shifts.any():
            X = canonical_rows(X)
            values = X.data.astype(np.float64)
            if roots is not None:
                values *= np.repeat(roots, np.diff(X.indptr))
            values = self._rounded(values / self.steps[X.indices], X.indices)
            return sp.csr_array((values, X.indices, X.indptr), shape=X.shape)
        values = _dense(X)
        values -= self.shifts
        if roots is not None:
            values *= roots[:, None]
        values /= self.steps
        return self._rounded(values, None)

    def warn_of_misfit(self, X: Any) -> None:
        """Warn of columns whose values this grid is too coarse for, or which it has to cut."""
        low, high = _range(X)
        if self.keeps_rows:  # as they are
            return
        largest = np.maximum(np.abs(low - self.shifts), np.abs(high - self.shifts)) / self.steps
        seen = X.shape[0]
        if sp.issparse(X):
            seen = np.bincount(X.indices, minlength=X.shape[1])
        coarse = (largest > 0) & (largest < 2.0**COARSE_BITS) & (low != high) & (seen >= OFTEN)
        if coarse.any():
            values = _dense(X[:, np.flatnonzero(coarse)])
            values = (values - self.shifts[coarse]) / self.steps[coarse]
            coarse &= bool((values != np.rint(values)).any())  # unless no value is rounded
        for columns, what in (
            (coarse, "small for the grid that the first rows set, and lose digits"),
            (largest >= 2.0**LEADING_BITS, "large for the grid that the first rows set, and are "
             "rounded"),
        ):  # fmt: skip
            numbers = np.flatnonzero(columns)
            if len(numbers):
                shown = ", ".join(map(str, numbers[:5])) + (", …" if len(numbers) > 5 else "")
                warnings.warn(
                    f"the values of feature {shown} are {what}: fit again with like=None on rows "
                    "that are like those to come",
                    UserWarning,
                    stacklevel=5,
                )

    def _rounded(self, values: Array, columns: Array | None) -> Array:
        np.rint(values, out=values)
        size = np.abs(values)
        if not size.max(initial=0.0) >= 2.0**LEADING_BITS:
            return values
        if size.max() >= 2.0**LARGEST_BITS:
            at = np.unravel_index(size.argmax(), size.shape)
            feature = int(at[-1]) if columns is None else int(columns[at[0]])
            raise ValueError(
                f"feature {feature} has values far beyond those of the first rows (more than "
                "32,000 times the largest of them): scale it, or fit again with such rows first"
            )
        return _leading_bits(values)


def _leading_bits(values: Array) -> Array:
    """Round whole numbers to leading bits, in place."""
    large = np.abs(values) >= 2.0**LEADING_BITS
    unit = 2.0 ** (np.frexp(values[large])[1] - LEADING_BITS)
    values[large] = np.rint(values[large] / unit) * unit
    return values


def _range(X: Any) -> tuple[Array, Array]:
    """Return the smallest and largest value of each column, in float64."""
    if not X.shape[0]:
        return np.zeros(X.shape[1]), np.zeros(X.shape[1])
    if sp.issparse(X):
        low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    else:
        low, high = np.min(X, axis=0), np.max(X, axis=0)
    low, high = low.astype(np.float64), high.astype(np.float64)
    fine = (np.abs(low) < 1e150) & (np.abs(high) < 1e150)
    if not fine.all():
        raise ValueError(
            f"feature {int(np.argmin(fine))} has values too large to be squared (beyond 1e150, "
            "infinite or not a number): scale it, or mark such values as missing and fill them in"
        )
    return low, high


def _dense(X: Any) -> Array:
    """Return rows as an array in double precision, a copy."""
    return (X.toarray() if sp.issparse(X) else np.asarray(X)).astype(np.float64)


def _step(largest: Array, bits: int) -> Array:
    """Return powers of two so that no value is more than ``bits`` bits of them."""
    _, exponent = np.frexp(np.where(largest > 0, largest, 1.0))
    wanted = EXPONENTS * np.ceil((exponent - bits) / EXPONENTS)
    return np.ldexp(1.0, np.clip(wanted, -LARGEST_EXPONENT, LARGEST_EXPONENT).astype(int))
