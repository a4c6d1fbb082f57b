"""Small networks with two hidden layers, several at a time: log loss, Adam, a falling step.

scikit-learn's does the same, but for matrices this small nearly all of its time goes into looking
after each batch. Here networks that learn from different rows of one table share every call, and
towards the end steps get shorter, so that a network does not depend on which rows came last.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["Networks", "joined_networks", "network_log_odds", "train_networks"]

Array = NDArray[Any]

#: Length of a step, the same for all weights but for Adam's scaling, and how much weights shrink.
STEP, WEIGHT_DECAY = 1e-2, 1e-4
#: Adam's memory of gradients and of their squares.
BETA1, BETA2 = 0.9, 0.999
#: Rows that pass through networks at a time. Always so many, some of them zero: products of
#: matrices of other heights are rounded otherwise, and a row's answer is its own.
HEIGHT = 240


@dataclass(frozen=True)
class Networks:
    """Weights and biases of m networks with f inputs and two layers of h hidden units.

    Attributes
    ----------
    weights1, biases1 : ndarray of shape (m, f, h) and (m, h), float32
        The first layer; it takes inputs as they are, unscaled.
    weights2, biases2 : ndarray of shape (m, h, h) and (m, h), float32
        The second layer.
    weights3, biases3 : ndarray of shape (m, h) and (m,), float32
        The log-odds.
    """

    weights1: Array
    biases1: Array
    weights2: Array
    biases2: Array
    weights3: Array
    biases3: Array

    @property
    def n_inputs(self) -> int:
        """Number of inputs (f)."""
        return int(self.weights1.shape[1])


def joined_networks(parts: Sequence[Networks]) -> Networks:
    """Return all networks of some parts."""
    return Networks(*(np.concatenate(same) for same in zip(*map(_layers, parts), strict=True)))


def network_log_odds(networks: Networks, inputs: Array) -> Array:
    """Return the log-odds that each network gives to each row, shape (m, n).

    They are the same to the bit whatever rows stand around a row.

    Parameters
    ----------
    networks : Networks
        The networks.
    inputs : ndarray of shape (n, f), float32
        The rows.
    """
    kind = _narrowest_type()
    W1, b1, W2, b2, w3, b3 = (part.astype(kind, copy=False) for part in _layers(networks))
    n, (m, width, hidden) = len(inputs), W1.shape
    found = np.empty((m, n), kind)
    block = np.zeros((HEIGHT, width), kind)
    one, two, zeros = (np.zeros((m, HEIGHT, hidden), kind) for _ in range(3))
    for start in range(0, n, HEIGHT):
        stop = min(start + HEIGHT, n)
        block[: stop - start] = inputs[start:stop]
        block[stop - start :] = 0.0
        np.matmul(block, W1, out=one)
        one += b1[:, None, :]
        np.maximum(one, zeros, out=one)
        np.matmul(one, W2, out=two)
        two += b2[:, None, :]
        np.maximum(two, zeros, out=two)
        two *= w3[:, None, :]
        found[:, start:stop] = (two.sum(axis=2) + b3[:, None])[:, : stop - start]
    return found


@functools.cache
def _narrowest_type() -> Any:
    """Return single precision where this BLAS rounds a row the same anywhere in a block.

    Some kernels do not; in double precision all that are known do.
    """
    rng = np.random.default_rng(0)
    order = rng.permutation(HEIGHT)
    for width in (19, 21, 32):
        rows = rng.standard_normal((HEIGHT, width)).astype(np.float32)
        layer = rng.standard_normal((width, 32)).astype(np.float32)
        if not np.array_equal((rows @ layer)[order], rows[order] @ layer):
            return np.float64
    return np.float32


def train_networks(
    inputs: Array,
    targets: Array,
    weights: Array | None,
    samples: Sequence[Array],
    *,
    hidden: int,
    batch: int,
    n_steps: int,
    seeds: Sequence[int],
) -> Networks:
    """Learn the log-odds of targets from inputs, one network from each sample of the rows.

    A network does not depend on which others are learnt at the same time.

    Parameters
    ----------
    inputs : ndarray of shape (n, f), float32
        What is known of each row.
    targets : ndarray of shape (n,)
        Zeros and ones.
    weights : ndarray of shape (n,), optional
        How much each row counts.
    samples : sequence of m ndarray of int
        The rows that each network learns from.
    hidden, batch, n_steps : int
        Units of each hidden layer, rows a step, number of steps.
    seeds : sequence of m int
        Seeds of the first weights and of the order of each network.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 2)).astype(np.float32)
    >>> holds = X[:, 0] * X[:, 1] > 0
    >>> nets = train_networks(
    ...     X, holds, None, [np.arange(2000)], hidden=16, batch=100, n_steps=600, seeds=[0]
    ... )
    >>> bool(np.mean((network_log_odds(nets, X)[0] > 0) == holds) > 0.95)
    True
    """
    n, width = inputs.shape
    m = len(samples)
    mean = inputs.mean(axis=0, dtype=np.float64)
    spread = inputs.std(axis=0, dtype=np.float64) + 1e-6
    scaled = ((inputs - mean) / spread).astype(np.float32)
    # Target and weight of a row travel with its inputs: one look-up a batch.
    counted = np.ones(n) if weights is None else weights
    table = np.column_stack([scaled, np.ones(n), targets, counted]).astype(np.float32)
    values, layers = _flat_layers(m, width, hidden)
    gradient, parts = _flat_layers(m, width, hidden)
    decay, kept = _flat_layers(m, width, hidden)
    generators = [np.random.default_rng(seed) for seed in seeds]
    for layer, shrunk, fan in (
        (layers[0][:, :-1], kept[0][:, :-1], width + hidden),
        (layers[1], kept[1], 2 * hidden),
        (layers[3], kept[3], hidden + 1),
    ):  # Glorot's start; biases are zero and free
        bound = np.sqrt(6.0 / fan)
        for i, rng in enumerate(generators):
            layer[i] = rng.uniform(-bound, bound, layer.shape[1:])
        shrunk[...] = WEIGHT_DECAY / batch
    order = np.stack(
        [
            _shuffled(rows, n_steps * batch, rng).reshape(n_steps, batch)
            for rows, rng in zip(samples, generators, strict=True)
        ],
        axis=1,
    )
    first, second = np.zeros_like(values), np.zeros_like(values)
    room = _Room((m, batch, hidden))
    for step in range(n_steps):
        rows = table.take(order[step], axis=0)
        _gradients(layers, parts, rows[..., :-2], rows[..., -2], rows[..., -1], room)
        gradient += decay * values
        first += (1.0 - BETA1) * (gradient - first)
        second += (1.0 - BETA2) * (gradient * gradient - second)
        length = STEP * (1.0 - step / n_steps)
        length *= np.sqrt(1.0 - BETA2 ** (step + 1)) / (1.0 - BETA1 ** (step + 1))
        values -= np.float32(length) * first / (np.sqrt(second) + 1e-8)
    W1 = layers[0][:, :-1] / spread[:, None]
    b1 = layers[0][:, -1] - mean @ W1
    return Networks(*(np.array(part, dtype=np.float32) for part in (W1, b1, *layers[1:])))


def _shuffled(rows: Array, size: int, rng: np.random.Generator) -> Array:
    """Return so many rows: all of them in random order, again and again."""
    times = -(-size // len(rows))
    return np.concatenate([rng.permutation(rows) for _ in range(times)])[:size]


class _Room:
    """Arrays that every step writes to."""

    def __init__(self, shape: tuple[int, int, int], kind: Any = np.float32) -> None:
        self.one, self.two, self.back = (np.empty(shape, kind) for _ in range(3))
        self.zeros = np.zeros(shape, kind)  # NumPy compares with an array faster than with 0.0
        self.ones = np.ones((shape[0], 1, shape[1]), kind)


def _gradients(
    layers: tuple[Array, ...],
    parts: tuple[Array, ...],
    X: Array,
    targets: Array,
    weights: Array,
    room: _Room,
) -> None:
    """Write the gradients of the mean log loss of each network's batch along its weights.

    The last column of X is one: its weights are the biases of the first layer.
    """
    W1, W2, b2, w3, b3 = layers
    one, two, back, ones = room.one, room.two, room.back, room.ones
    np.matmul(X, W1, out=one)
    np.maximum(one, room.zeros, out=one)
    np.matmul(one, W2, out=two)
    two += b2[:, None, :]
    np.maximum(two, room.zeros, out=two)
    odds = np.matmul(two, w3[:, :, None])[..., 0] + b3[:, None]
    error = expit(odds)
    error -= targets
    error *= weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-30)
    np.matmul(error[:, None, :], two, out=parts[3][:, None, :])
    np.sum(error, axis=1, out=parts[4])
    # w3 belongs into what goes back, but it is cheaper to scale the small matrices by it.
    np.multiply(two > 0.0, error[:, :, None], out=back)
    np.matmul(one.transpose(0, 2, 1), back, out=parts[1])
    parts[1][...] *= w3[:, None, :]
    np.matmul(ones, back, out=parts[2][:, None, :])
    parts[2][...] *= w3
    np.matmul(back, np.ascontiguousarray((W2 * w3[:, None, :]).transpose(0, 2, 1)), out=two)
    two *= one > 0.0
    np.matmul(X.transpose(0, 2, 1), two, out=parts[0])


def _layers(networks: Networks) -> tuple[Array, ...]:
    n = networks
    return n.weights1, n.biases1, n.weights2, n.biases2, n.weights3, n.biases3


def _flat_layers(m: int, width: int, hidden: int) -> tuple[Array, tuple[Array, ...]]:
    """Return zeros for all layers in one array, and the layers as views of it.

    They are the first with its biases, the second, its biases, the third, its bias.
    """
    shapes = [(width + 1, hidden), (hidden, hidden), (hidden,), (hidden,), ()]
    ends = np.cumsum([m * int(np.prod(shape)) for shape in shapes])
    values = np.zeros(ends[-1], dtype=np.float32)
    parts = np.split(values, ends[:-1])
    layers = (part.reshape(m, *shape) for part, shape in zip(parts, shapes, strict=True))
    return values, tuple(layers)
