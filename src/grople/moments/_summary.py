"""What rows leave behind: exact moments and a sample. It adds and subtracts over blocks."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments._grid import Grid
from grople.moments._labels import LabelMoments
from grople.moments._moments import Moments
from grople.moments._real import MatrixMoments, RealMoments, RowMoments
from grople.moments._rows import Sample

__all__ = ["Outline", "RowSummary", "summarise"]

Array = NDArray[Any]

#: Largest value in rows that are kept instead of matrices: their maps are in single precision.
LARGEST_KEPT = 1e15
#: Rows kept unless said otherwise.
KEPT_ROWS = 20_000


@dataclass(frozen=True)
class RowSummary:
    """All that a model knows of its rows: a function of the set of rows alone.

    Attributes
    ----------
    grid : Grid
        The grid of the features, frozen when the first rows came.
    sums : Moments or None
        Exact moments; None where all rows are kept instead.
    sample : Sample
        The rows that decisions are fitted on; all rows where they are kept.
    n_labels : int
        Number of labels (L).

    Examples
    --------
    >>> import numpy as np
    >>> X, B = np.arange(12.0).reshape(6, 2), np.eye(6)
    >>> whole = summarise(X, B)
    >>> parts = summarise(X[3:], B[3:], grid=whole.grid) + summarise(X[:3], B[:3], grid=whole.grid)
    >>> parts.checksum() == whole.checksum()
    True
    """

    grid: Grid
    sums: Moments | None
    sample: Sample
    n_labels: int

    @property
    def n_features(self) -> int:
        """Number of features (D)."""
        return self.grid.n_features

    @property
    def n_rows(self) -> int:
        """Rows, whatever their weights."""
        return int(self.sample.copies.sum()) if self.sums is None else self.sums.n_rows

    @property
    def complete(self) -> bool:
        """Whether a fresh summary of the same rows holds the same sample."""
        return self.sample.sufficient

    def __add__(self, other: RowSummary) -> Self:
        mine, theirs = self._alike(other)
        sums = None if mine.sums is None or theirs.sums is None else mine.sums + theirs.sums
        return replace(mine, sums=sums, sample=mine.sample + theirs.sample)

    def __sub__(self, other: RowSummary) -> Self:
        if other.n_labels > self.n_labels:
            raise ValueError("cannot remove rows with labels that no added row had")
        mine, theirs = self._alike(other)
        sample = mine.sample - theirs.sample
        sums = None if mine.sums is None or theirs.sums is None else mine.sums - theirs.sums
        return replace(mine, sums=sums, sample=sample)

    def padded(self, n_labels: int) -> Self:
        """Add labels that no row has carried so far."""
        if n_labels == self.n_labels:
            return self
        sums = None if self.sums is None else self.sums.padded(n_labels)
        return replace(self, sums=sums, sample=self.sample.padded(n_labels), n_labels=n_labels)

    @cached_property
    def moments(self) -> RealMoments:
        """The moments of all rows, as models are solved from them."""
        if self.sums is None:
            return RowMoments.of(self.sample)
        return self.sums.real(self.grid, self.n_labels)

    def moments_without(self, held: Array) -> RealMoments:
        """Return the moments of all rows but some of the sample.

        Parameters
        ----------
        held : ndarray of bool
            Which rows of :attr:`sample` are left out, with all their copies.
        """
        if self.sums is None:
            return RowMoments.of(self.sample.take(np.flatnonzero(~held)))
        return self.matrices(held)

    def matrices(self, without: Array | None = None) -> MatrixMoments:
        """Return the moments as matrices, where rows are kept too.

        Parameters
        ----------
        without : ndarray of bool, optional
            Rows of the sample to leave out.
        """
        sums = self._sums_of(slice(None)) if self.sums is None else self.sums
        if without is not None:
            sums = sums - self._sums_of(without)
        return sums.real(self.grid, self.n_labels)

    def _sums_of(self, rows: Any) -> Moments:
        """Return the exact moments of some rows of the sample with all their copies."""
        part = self.sample.take(rows)
        return Moments.of(part.X, part.B, part.weights, self.grid, part.copies)

    @cached_property
    def labels(self) -> LabelMoments:
        """Counts of labels and pairs of labels."""
        return self.moments.labels

    def checksum(self) -> str:
        """Return a digest of everything here; equal sets of rows have equal ones."""
        digest = hashlib.sha256()
        arrays: list[Any] = [self.grid.steps, self.grid.shifts]
        arrays += [self.sample.keys, self.sample.copies]
        arrays += [] if self.sums is None else self.sums.arrays()
        for values in arrays:
            parts = [values]
            if sp.issparse(values):
                parts = [part.astype(np.int64) for part in (values.indices, values.indptr)]
                parts.append(values.data)
            for part in parts:
                part = part + 0.0 if part.dtype.kind == "f" else part  # −0.0 is 0.0
                digest.update(str(part.shape).encode() + np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def outline(self) -> Outline:
        """Return counts and spreads: enough to describe a model, not to learn again."""
        moments = self.moments
        n = max(moments.n, np.finfo(float).tiny)
        spread = np.sqrt(moments.gram_diagonal() / n)
        return Outline(self.n_rows, moments.labels, np.asarray(moments.mean), spread)

    def _alike(self, other: RowSummary) -> tuple[Self, RowSummary]:
        if other.n_features != self.n_features:
            raise ValueError(f"blocks have {self.n_features} and {other.n_features} features")
        same = (
            np.array_equal(self.grid.steps, other.grid.steps)
            and np.array_equal(self.grid.shifts, other.grid.shifts)
            and self.grid.weight_scale == other.grid.weight_scale
            and (self.sums is None) == (other.sums is None)
        )
        if not same:
            raise ValueError("these rows were summed up on another grid: pass the first one's grid")
        width = max(self.n_labels, other.n_labels)
        return self.padded(width), other.padded(width)


@dataclass(frozen=True)
class Outline:
    """What is remembered of the rows of a model that is stored without them.

    Attributes
    ----------
    n_rows : int
        Rows.
    labels : LabelMoments
        Counts of labels and pairs of labels.
    feature_mean, feature_spread : ndarray of shape (D,)
        Mean and standard deviation of each feature.
    """

    n_rows: int
    labels: LabelMoments
    feature_mean: Array
    feature_spread: Array


def summarise(
    X: Any,
    B: Any,
    weights: Array | None = None,
    *,
    grid: Grid | None = None,
    max_kept_rows: int | None = KEPT_ROWS,
) -> RowSummary:
    """Sum up rows.

    Parameters
    ----------
    X : array or sparse array of shape (n_rows, D)
        Features.
    B : array or sparse array of shape (n_rows, L)
        Labels, zeros and ones.
    weights : ndarray of shape (n_rows,), optional
        Positive weights.
    grid : Grid, optional
        That of the rows it is to be added to; by default one for these rows.
    max_kept_rows : int or None
        Distinct rows to keep for decisions (twice as many, as a reserve); None keeps all, for
        rows that are to be removed.
    """
    grid = grid or Grid.of(X, weights)
    B = sp.csr_array(B, dtype=np.float64)
    if X.shape[0] != B.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows but the labels have {B.shape[0]}")
    if X.shape[1] != grid.n_features:
        raise ValueError(f"X has {X.shape[1]} features, but the grid {grid.n_features}")
    if grid.sparse != sp.issparse(X):
        X = sp.csr_array(X) if grid.sparse else X.toarray()
    if not grid.keeps_rows:
        sums = Moments.of(X, B, weights, grid)
        return RowSummary(grid, sums, Sample.of(X, B, weights, max_kept_rows), B.shape[1])
    size = np.abs(X.data)
    if size.max(initial=0.0) > LARGEST_KEPT:  # their products would leave single precision
        raise ValueError(
            f"feature {int(X.indices[size.argmax()])} has values too large for rows of so many "
            f"features (beyond {LARGEST_KEPT:g}): scale it"
        )
    return RowSummary(grid, None, Sample.of(X, B, weights, None), B.shape[1])
