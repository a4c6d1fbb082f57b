"""Scores of a fitted model: linear in the features, in factored form, computed in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.arrays import Place, returned, to_numpy
from grople.moments import Moments

__all__ = ["LinearScores", "PlacedScores", "ScoreMoments", "row_blocks"]

Array = NDArray[Any]

#: Scores held at a time when a caller works through rows in blocks.
BLOCK_SCORES = 1 << 22


@dataclass(frozen=True)
class LinearScores:
    """Scores ``(x Z + b) V + offset``, one a label.

    Parameters
    ----------
    Z : ndarray of shape (D, d)
        Map to the latent space, in double or single precision.
    b : ndarray of shape (d,)
        Its intercept.
    V : ndarray of shape (d, L), optional
        Map to the labels; the identity where None (then d = L).
    offset : ndarray of shape (L,), optional
        Added to the scores.
    """

    Z: Array
    b: Array
    V: Array | None = None
    offset: Array | None = None

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return int(self.Z.shape[1] if self.V is None else self.V.shape[1])

    def points(self, X: Any) -> Array:
        """Return the rows in the latent space."""
        if isinstance(self.Z, np.ndarray) and self.Z.dtype == np.float32:
            # A wider X would widen the whole of Z as well.
            X = X.astype(np.float32, copy=False)
        return X @ self.Z + self.b

    def __call__(self, X: Any) -> Array:
        """Return the scores of rows."""
        return self.of_points(self.points(X))

    def of_points(self, points: Array) -> Array:
        """Return the scores of rows given by their points in the latent space."""
        scores = points if self.V is None else points @ self.V
        return scores if self.offset is None else scores + self.offset

    def coefficients(self) -> Array:
        """Return the D×L matrix of weights of each feature for each label."""
        return self.Z if self.V is None else self.Z @ self.V

    def intercepts(self) -> Array:
        """Return the scores of an all-zero row."""
        bias = self.b if self.V is None else self.b @ self.V
        return bias if self.offset is None else bias + self.offset

    def expanded(self, columns: Array, constants: Array) -> LinearScores:
        """Place these labels at ``columns`` of a wider set; the others get constant scores."""
        offset = constants.astype(np.float64)
        offset[columns] = 0.0 if self.offset is None else self.offset

        def placed(matrix: Array) -> Array:
            wide = np.zeros((*matrix.shape[:-1], len(constants)))
            wide[..., columns] = matrix
            return wide

        if self.V is None:
            return LinearScores(placed(self.Z), placed(self.b), None, offset)
        return LinearScores(self.Z, self.b, placed(self.V), offset)

    def at(self, place: Place, kind: Any) -> LinearScores:
        """Return the same scores with arrays at a place."""
        V, offset = (
            None if part is None else place.array(part, kind) for part in (self.V, self.offset)
        )
        return LinearScores(place.array(self.Z, kind), place.array(self.b, kind), V, offset)

    def in_blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of rows with their scores, so that no N×L array is ever held."""
        for rows in row_blocks(X.shape[0], self.n_labels):
            yield rows, self(X[rows])


@dataclass(frozen=True)
class PlacedScores:
    """Scores that are computed at a place, in the precision of the rows, and go where those lie."""

    scores: LinearScores
    place: Place

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return self.scores.n_labels

    def points(self, X: Any) -> Any:
        """Return the rows in the latent space."""
        kind = self._kind(X)
        return returned(self.scores.at(self.place, kind).points(self.place.array(X, kind)), X)

    def __call__(self, X: Any) -> Any:
        """Return the scores of rows."""
        kind = self._kind(X)
        return returned(self.scores.at(self.place, kind)(self.place.array(X, kind)), X)

    def in_blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of rows with their scores, at home."""
        kind = self._kind(X)
        scores = self.scores.at(self.place, kind)
        # Sparse rows are dense at a place, so their width counts as well.
        for rows in row_blocks(X.shape[0], max(self.n_labels, X.shape[1])):
            yield rows, to_numpy(scores(self.place.array(X[rows, :], kind)))

    def _kind(self, X: Any) -> Any:
        narrow = "float32" in str(X.dtype) or "float16" in str(X.dtype)
        return self.place.floats(wide=not narrow)


@dataclass(frozen=True)
class ScoreMoments:
    """Mean score of the rows with and without each label, and the spread around those means.

    They follow from the moments of the training rows, so a calibration that needs only them
    needs no rows; being those of training rows, they are too good where D exceeds N.
    """

    share: Array
    mean_with: Array
    mean_without: Array
    spread: Array

    @classmethod
    def of(cls, scores: LinearScores, moments: Moments) -> ScoreMoments:
        """Compute them from the moments that the scores were learnt from."""
        n = max(float(moments.n), np.finfo(float).tiny)
        counts = moments.labels.counts.astype(np.float64)
        bias, Z, V = scores.intercepts(), scores.Z, scores.V
        mean = moments.feature_sum / n @ Z
        centred_gram = moments.view(centre=True).gram(Z)
        if V is None:
            variance = np.einsum("ij,ij->j", Z, centred_gram) / n
            with_sum = moments.cross_diagonal(Z)
        else:
            mean = mean @ V
            variance = np.einsum("ij,ij->j", V, (Z.T @ centred_gram) @ V) / n
            with_sum = np.einsum("ij,ij->j", V, moments.cross_transposed(Z).T)
        mean = mean + bias
        share = counts / n
        have, lack = counts > 0, counts < n
        mean_with = np.where(have, with_sum / np.where(have, counts, 1.0) + bias, mean)
        rest = (mean - share * mean_with) / np.where(lack, 1.0 - share, 1.0)
        mean_without = np.where(lack, rest, mean)
        spread = variance - share * (1 - share) * (mean_with - mean_without) ** 2
        return cls(share, mean_with, mean_without, np.maximum(spread, 1e-12))


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Yield slices of rows whose blocks hold a bounded number of values."""
    size = max(1, BLOCK_SCORES // max(width, 1))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def as_rows(X: Any) -> Any:
    """Return X ready for row slicing."""
    return sp.csr_array(X) if sp.issparse(X) else X
