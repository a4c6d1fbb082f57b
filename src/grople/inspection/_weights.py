"""The weights of a linear model, read: strongest features, labels treated alike, a map of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from grople.moments import LabelMoments
from grople.optim import single_threaded
from grople.solver import FittedModel, LinearScores

__all__ = ["Ranked", "Weights", "labels_seen_together", "linear_weights", "strongest"]

Array = NDArray[Any]

#: Values of a dense block of effects or similarities.
BLOCK = 1 << 22
#: Labels beyond which the map is a plain projection: a neighbour embedding takes too long.
MOST_MAPPED = 2500
#: Neighbours that the map tries to keep together.
NEIGHBOURS = 15
#: Steps of the map: later ones only widen the gaps.
STEPS = 500


class Ranked(NamedTuple):
    """The first of a ranking for each label: what they are and what they are worth.

    Attributes
    ----------
    numbers : ndarray of int of shape (L, T)
        Features or labels by their number, the first first.
    values : ndarray of shape (L, T)
        What ranks them.
    """

    numbers: Array
    values: Array

    def of(self, label: int, names: Sequence[str]) -> list[tuple[str, float]]:
        """Return the names and values of one label's ranking."""
        pairs = zip(self.numbers[label], self.values[label], strict=True)
        return [(names[int(number)], float(value)) for number, value in pairs]


@dataclass(frozen=True)
class Weights:
    """Effects of features on labels: ``Z V``, a feature's weight times its spread.

    Parameters
    ----------
    Z : ndarray of shape (D, d)
        Effects of features on latent dimensions (on labels, where ``V`` is None).
    V : ndarray of shape (d, L), optional
        From latent dimensions to labels.
    """

    Z: Array
    V: Array | None = None

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return int(self.Z.shape[1] if self.V is None else self.V.shape[1])

    def top_features(self, n: int) -> Ranked:
        """Return for each label the features with the largest effects, and the effects."""
        numbers, effects = [], []
        for labels in self._blocks(len(self.Z)):
            block = (self.Z[:, labels] if self.V is None else self.Z @ self.V[:, labels]).T
            found = strongest(np.abs(block), n)
            numbers.append(found)
            effects.append(np.take_along_axis(block, found, axis=1))
        return Ranked(np.concatenate(numbers), np.concatenate(effects))

    def distinctive_features(self, labels: Array, n: int) -> tuple[Array, Array]:
        """Return the features that speak for some labels more than for labels at large.

        Each label counts alike: its effects are taken relative to their length.
        """
        coefficients = np.full(self.n_labels, -1.0 / self.n_labels)
        coefficients[labels] += 1.0 / len(labels)
        coefficients *= self._inverse_lengths
        effects = self.Z @ (coefficients if self.V is None else self.V @ coefficients)
        top = strongest(effects[None], n)[0]
        return top, effects[top]

    def directions(self) -> Array:
        """Return a unit vector for each label, shape (L, r); their products are cosines.

        They are those of the columns of effects, in as few coordinates as there are.
        """
        return self._points * self._inverse_lengths[:, None]

    @cached_property
    def _points(self) -> Array:
        # ZV = Q(RV): the columns of RV have the same lengths and angles as those of ZV.
        return self.Z.T if self.V is None else (np.linalg.qr(self.Z, mode="r") @ self.V).T

    @cached_property
    def _inverse_lengths(self) -> Array:
        length = np.linalg.norm(self._points, axis=1)
        return np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)

    def nearest_labels(self, n: int) -> Ranked:
        """Return for each label those with the most alike effects, and the cosines."""
        points = self.directions()
        numbers, cosines = [], []
        for labels in self._blocks(self.n_labels):
            block = points[labels] @ points.T
            block[np.arange(len(block)), np.arange(labels.start, labels.stop)] = -np.inf  # itself
            found = strongest(block, min(n, self.n_labels - 1))
            numbers.append(found)
            cosines.append(np.take_along_axis(block, found, axis=1))
        return Ranked(np.concatenate(numbers), np.concatenate(cosines))

    def label_map(self) -> Array:
        """Return a place in the unit square for each label: labels with alike effects are near."""
        points = self.directions()
        L = len(points)
        if L < 3 or min(points.shape) < 2:
            places = np.column_stack([np.arange(L, dtype=np.float64), np.zeros(L)])
        elif L < 10 or L > MOST_MAPPED:
            places = PCA(2, random_state=0).fit_transform(points)
        else:
            perplexity = min(NEIGHBOURS, (L - 1) / 3)
            tsne = TSNE(init="pca", perplexity=perplexity, max_iter=STEPS, random_state=0)
            # Its threads wait for each other at every step: on a busy machine, several times as
            # long as one thread takes.
            with single_threaded():
                places = tsne.fit_transform(points)
        low = places.min(axis=0)
        extent = np.maximum(places.max(axis=0) - low, np.finfo(np.float32).tiny)
        return (places - low) / extent

    def _blocks(self, height: int) -> Iterator[slice]:
        width = max(1, BLOCK // max(height, 1))
        for start in range(0, self.n_labels, width):
            yield slice(start, min(start + width, self.n_labels))


def linear_weights(fitted: FittedModel) -> Weights | None:
    """Return the effects of features on labels, of the linear expert; None where there is none."""
    linear = fitted.linear
    if not isinstance(linear, LinearScores):
        return None
    if fitted.outline is None:
        return Weights(linear.Z, linear.V)
    return Weights(linear.Z * fitted.outline.feature_spread[:, None], linear.V)


def labels_seen_together(labels: LabelMoments, n_top: int) -> Ranked:
    """Return the labels most correlated with each, and the share of its rows that carry them."""
    n, L = max(float(labels.n), 1e-300), labels.n_labels
    share = labels.counts / n
    spread = np.sqrt(np.maximum(share * (1 - share), 0.0))
    numbers, shares = [], []
    height = max(1, BLOCK // max(L, 1))
    for start in range(0, L, height):
        rows = np.arange(start, min(start + height, L))
        pairs = labels.cooccurrence[rows]
        both = (pairs.toarray() if sp.issparse(pairs) else pairs) / n
        size = np.multiply.outer(spread[rows], spread)
        excess = both - np.multiply.outer(share[rows], share)
        correlation = np.divide(excess, size, out=np.full_like(excess, -1.0), where=size > 0)
        correlation[np.arange(len(rows)), rows] = -np.inf
        found = strongest(correlation, min(n_top, L - 1))
        of_rows = np.divide(
            both, share[rows, None], out=np.zeros_like(both), where=share[rows, None] > 0
        )
        values = np.take_along_axis(of_rows, found, axis=1)
        order = strongest(values, values.shape[1])
        numbers.append(np.take_along_axis(found, order, axis=1))
        shares.append(np.take_along_axis(values, order, axis=1))
    return Ranked(np.concatenate(numbers), np.concatenate(shares))


def strongest(values: Array, n: int) -> Array:
    """Return the places of the n largest values of each row, the largest first.

    Examples
    --------
    >>> import numpy as np
    >>> strongest(np.array([[1, 3, 2], [5, 4, 6]]), 2).tolist()
    [[1, 2], [2, 0]]
    """
    n = max(0, min(n, values.shape[1]))
    if n < values.shape[1]:
        chosen = np.sort(np.argpartition(-values, n, axis=1)[:, :n], axis=1)
    else:
        chosen = np.broadcast_to(np.arange(n), values.shape)
    order = np.argsort(-np.take_along_axis(values, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)
