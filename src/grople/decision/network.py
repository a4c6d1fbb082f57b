"""A small network with two hidden layers, learnt from many pairs: log loss, Adam, a falling step.

scikit-learn's does the same, but for matrices this small nearly all of its time goes into looking
after each batch, not into the batch: this takes a fifth of it. Towards the end steps get shorter,
so that the network does not depend on which pairs came last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["Net", "forward", "train"]

Array = NDArray[Any]
#: Weights and biases, layer by layer.
Net = tuple[Array, ...]

#: Length of a step, the same for all weights but for Adam's scaling, and how much weights shrink.
STEP, SHRINK = 1e-2, 1e-4
#: Adam's memory of slopes and of their squares.
SLOPES, SQUARES = 0.9, 0.999


def train(
    inputs: Array,
    targets: Array,
    weights: Array | None,
    *,
    hidden: int,
    batch: int,
    passes: int,
    seed: int,
) -> Net:
    """Learn the log-odds of targets from inputs; the first layer takes them as they are, unscaled.

    Parameters
    ----------
    inputs : ndarray of shape (n, f)
        What is known of each pair.
    targets : ndarray of shape (n,)
        Whether it holds.
    weights : ndarray of shape (n,), optional
        How much each counts.
    hidden, batch, passes : int
        Units of each hidden layer, pairs a step, passes over all pairs.
    seed : int
        Seed of the first weights and of the order.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 2))
    >>> holds = X[:, 0] * X[:, 1] > 0
    >>> net = train(X, holds, None, hidden=16, batch=100, passes=30, seed=0)
    >>> bool(np.mean((forward(net, X) > 0) == holds) > 0.95)
    True
    """
    rng = np.random.default_rng(seed)
    n, width = inputs.shape
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0) + 1e-6
    X = ((inputs - mean) / spread).astype(np.float32)
    t = targets.astype(np.float32)
    w = np.ones(n, dtype=np.float32) if weights is None else weights.astype(np.float32)
    values, net = _flat(width, hidden)
    slopes, parts = _flat(width, hidden)
    for layer in net[::2]:  # Glorot's start
        bound = np.sqrt(6.0 / sum(layer.shape))
        layer[...] = rng.uniform(-bound, bound, layer.shape)
    shrink, kept = _flat(width, hidden)
    for layer in kept[::2]:  # biases are free
        layer[...] = SHRINK
    batch = min(batch, n)
    starts = range(0, n - n % batch, batch)
    adam = _Adam(values, passes * len(starts))
    for _ in range(passes):
        order = rng.permutation(n)
        X, t, w = X[order], t[order], w[order]
        for start in starts:
            here = slice(start, start + batch)
            _slopes(net, parts, X[here], t[here], w[here])
            slopes += shrink * values / batch
            adam.step(values, slopes)
    first = net[0] / spread[:, None]
    layers = (first, net[1] - mean @ first, *net[2:])
    return tuple(np.array(layer, dtype=np.float32) for layer in layers)


def forward(net: Net, inputs: Array) -> Array:
    """Return the log-odds that a network gives to inputs."""
    values = inputs
    for matrix, shift in zip(net[::2], net[1::2], strict=True):
        if values is not inputs:
            np.maximum(values, 0.0, out=values)
        values = values @ matrix
        values += shift
    return np.asarray(values[:, 0])


def _flat(width: int, hidden: int) -> tuple[Array, Net]:
    """Return zeros for all layers in one array, and the layers as views of it."""
    shapes = [(width, hidden), (hidden,), (hidden, hidden), (hidden,), (hidden, 1), (1,)]
    sizes = [int(np.prod(shape)) for shape in shapes]
    values = np.zeros(sum(sizes), dtype=np.float32)
    cuts = np.split(values, np.cumsum(sizes)[:-1])
    return values, tuple(part.reshape(shape) for part, shape in zip(cuts, shapes, strict=True))


def _slopes(net: Net, slopes: Net, X: Array, targets: Array, weights: Array) -> None:
    """Write the slopes of the mean log loss of a batch along every weight and bias."""
    W1, b1, W2, b2, W3, b3 = net
    one = X @ W1
    one += b1
    np.maximum(one, 0.0, out=one)
    two = one @ W2
    two += b2
    np.maximum(two, 0.0, out=two)
    odds = two @ W3
    odds += b3
    error = expit(odds[:, 0])
    error -= targets
    error *= weights / max(float(weights.sum()), 1e-30)
    ones = np.ones(len(X), dtype=np.float32)
    np.dot(error, two, out=slopes[4][:, 0])
    slopes[5][0] = error.sum()
    back = np.multiply.outer(error, W3[:, 0])
    back *= two > 0.0
    np.matmul(one.T, back, out=slopes[2])
    np.dot(ones, back, out=slopes[3])
    back = back @ W2.T
    back *= one > 0.0
    np.matmul(X.T, back, out=slopes[0])
    np.dot(ones, back, out=slopes[1])


class _Adam:
    """Steps along remembered slopes, scaled by their size, that get shorter to the end."""

    def __init__(self, values: Array, n_steps: int) -> None:
        self.slopes, self.squares = np.zeros_like(values), np.zeros_like(values)
        self.taken, self.n_steps = 0, n_steps

    def step(self, values: Array, slopes: Array) -> None:
        self.slopes += (1.0 - SLOPES) * (slopes - self.slopes)
        self.squares += (1.0 - SQUARES) * (slopes * slopes - self.squares)
        left = 1.0 - self.taken / self.n_steps
        self.taken += 1
        length = STEP * left * np.sqrt(1.0 - SQUARES**self.taken) / (1.0 - SLOPES**self.taken)
        values -= np.float32(length) * self.slopes / (np.sqrt(self.squares) + 1e-8)
