"""What rows leave behind: moments, a bounded sample, fingerprints. It adds up over blocks.

Fitting at once, adding rows, reading a file in blocks and reducing over a cluster are all sums of
this; which rows were in which block changes nothing but rounding.
"""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.arrays import Place, is_foreign, to_numpy
from grople.clusters import as_blocks
from grople.fingerprints import match_rows, row_fingerprints
from grople.moments import Moments
from grople.reservoir import Reservoir

__all__ = ["Gathered", "joined", "taken_in", "telling", "warn_of_offsets"]

Array = NDArray[Any]
#: Variance relative to the mean square below which less than six of its digits are known.
FAR = 1e-10
#: Share of what stays that rounding may hide when rows are removed.
LOST = 1e-8
#: An estimator that takes in rows (:class:`grople.streaming.MomentClassifier`).
Taker = Any


@dataclass(frozen=True)
class Gathered:
    """All that an estimator keeps of rows.

    Attributes
    ----------
    moments : Moments
        What models are learnt from.
    reservoir : Reservoir, optional
        Rows kept to fit decisions on.
    fingerprints : ndarray of uint64, optional
        One a row, to tell whether a row was ever added.

    Examples
    --------
    >>> X, B = np.arange(12.0).reshape(6, 2), np.eye(6)
    >>> whole = Gathered.of(X, B, capacity=3)
    >>> parts = Gathered.of(X[:2], B[:2], capacity=3) + Gathered.of(X[2:], B[2:], capacity=3)
    >>> parts.moments.n, sorted(parts.reservoir.keys) == sorted(whole.reservoir.keys)
    (6, True)
    """

    moments: Moments
    reservoir: Reservoir | None = None
    fingerprints: NDArray[np.uint64] | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        B: Any,
        weights: Array | None = None,
        *,
        form: str = "auto",
        capacity: int = 0,
        row_check: bool = False,
        place: Place | None = None,
    ) -> Self:
        """Gather one block.

        Parameters
        ----------
        X, B, weights
            The rows: features, labels as zeros and ones, weights.
        form : {"auto", "explicit", "implicit"}
            Form of the moments.
        capacity : int
            Rows to keep, at most.
        row_check : bool
            Whether to keep fingerprints.
        place : Place, optional
            Where to compute the moments.
        """
        moments = Moments.from_data(X, B, weights, form=form, place=place)
        X = to_numpy(X) if capacity or row_check else X
        return cls(
            moments,
            Reservoir.of(X, B, weights, capacity=capacity) if capacity else None,
            row_fingerprints(X, B, weights) if row_check else None,
        )

    def added(
        self, X: Any, B: Any, weights: Array | None = None, place: Place | None = None
    ) -> Self:
        """Return this with one more block, which may bring new labels behind the known ones."""
        block = Moments.from_data(X, B, weights, form=self.moments.form, place=place)
        X = to_numpy(X)
        reservoir, fingerprints = self.reservoir, self.fingerprints
        if reservoir is not None:
            reservoir = reservoir.added(X, B, weights)
        if fingerprints is not None:
            fingerprints = np.concatenate([fingerprints, row_fingerprints(X, B, weights)])
        return type(self)(
            self.moments.padded(block.n_labels) + block,
            reservoir,
            fingerprints,
        )

    def removed(
        self, X: Any, B: Any, weights: Array | None = None, place: Place | None = None
    ) -> Self:
        """Return this without rows that were added."""
        block = Moments.from_data(X, B, weights, form=self.moments.form, place=place)
        X = to_numpy(X)
        reservoir, fingerprints = self.reservoir, self.fingerprints
        if fingerprints is not None:
            keep = np.ones(len(fingerprints), dtype=bool)
            keep[match_rows(fingerprints, row_fingerprints(X, B, weights))] = False
            fingerprints = fingerprints[keep]
        moments = self.moments - block
        _check_rest(self.moments, moments)
        if reservoir is not None:
            held = len(reservoir)
            reservoir = reservoir.removed(X, B, weights)
            # Where all rows are in the sample, it tells which were never added.
            strange = X.shape[0] - (held - len(reservoir))
            if strange and weights is None and self.moments.n == held:
                raise ValueError(f"cannot remove {strange} rows that were never added")
        return type(self)(moments, reservoir, fingerprints)

    def __add__(self, other: Gathered) -> Self:
        reservoir = fingerprints = None
        if self.reservoir is not None and other.reservoir is not None:
            reservoir = self.reservoir + other.reservoir
        if self.fingerprints is not None and other.fingerprints is not None:
            fingerprints = np.concatenate([self.fingerprints, other.fingerprints])
        mine, theirs = self.moments, other.moments
        if mine.form != theirs.form:  # one has outgrown its rows
            mine, theirs = mine.in_matrices(), theirs.in_matrices()
        return type(self)(mine + theirs, reservoir, fingerprints)


def _check_rest(before: Moments, after: Moments) -> None:
    """Refuse to remove rows so large that the rounding of their sums hides the rows that stay."""
    if after.form == "implicit" or not after.n > 0:
        return
    rounding = np.finfo(np.float64).eps * before.feature_squares.max(initial=0.0)
    if rounding > LOST * after.feature_squares.max(initial=0.0):
        feature = int(np.argmax(before.feature_squares))
        raise ValueError(
            f"cannot remove these rows: their values (feature {feature}) are so much larger than "
            "those of the rows that stay that these are lost in rounding; fit again on the rows "
            "that stay"
        )


def warn_of_offsets(moments: Moments, X: Any) -> None:
    """Tell of features whose spread is lost in the squares of their mean."""
    if sp.issparse(X) or is_foreign(X) or not moments.n > 0:
        return
    mean_square = moments.feature_squares / moments.n
    variance = mean_square - (moments.feature_sum / moments.n) ** 2
    # Constant features look the same in the sums, not in the rows.
    far = [j for j in np.flatnonzero(variance < FAR * mean_square) if np.ptp(X[:, j]) > 0]
    if far:
        shown = ", ".join(map(str, far[:5])) + (", …" if len(far) > 5 else "")
        warnings.warn(
            f"the values of feature {shown} lie so far from zero for their spread that sums of "
            "squares lose it: subtract their mean first (StandardScaler does)",
            UserWarning,
            stacklevel=6,
        )


def taken_in(model: Taker, classes: Any, part: Any) -> Taker | None:
    """Return an estimator that has taken in the blocks of a partition, None if there are none."""
    model = model._unfitted()
    empty = True
    for X, y, weights in as_blocks(part):
        model.partial_fit(X, y, classes, weights)
        empty = False
    return None if empty else model


def joined(models: Sequence[Taker | None]) -> Taker | None:
    """Return an estimator that has taken in the rows of several."""
    there = [model for model in models if model is not None]
    if not there:
        return None
    first = there[0]
    for other in there[1:]:
        if not np.array_equal(first.classes_, other.classes_):
            raise ValueError(
                "blocks have different labels: give them the same columns, or declare all labels "
                "or classes with fit_blocks(blocks, classes=...)"
            )
        if first.n_features_in_ != other.n_features_in_:
            raise ValueError(
                f"blocks have {first.n_features_in_} and {other.n_features_in_} features"
            )
    whole = copy(first)
    whole._hold(functools.reduce(operator.add, (model._gathered() for model in there)))
    return whole


def telling(blocks: Iterable[Any], done: Callable[[], None]) -> Iterator[Any]:
    """Yield blocks, and tell when each has been dealt with."""
    for block in blocks:
        yield block
        done()
