"""The re-ranker in an ONNX graph: :func:`candidate_inputs` of graph values, and the networks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.decision import CooccurrenceFeature, Networks, Reranker, candidate_inputs
from grople.decision._calibration import LEAST
from grople.decision._context import LEAST_PROBABILITY
from grople.decision._reranker import DENSE_LABELS
from grople.io._graph import Graph, Value

__all__ = ["one_for_zero", "reranked", "tables_fit"]

Array = NDArray[Any]


def tables_fit(graph: Graph, reranker: Reranker) -> bool:
    """Tell whether the tables of a re-ranker fit into the file as plain matrices."""
    n_labels, feature = len(reranker.frequency), reranker.cooccurrence
    n_bytes = 4 * n_labels**2 + (0 if feature is None else 4 * int(np.prod(feature.weights.shape)))
    return n_labels <= DENSE_LABELS and graph.has_room(n_bytes)


def reranked(
    graph: Graph, rows: Value, scores: Value, calibrated: Value, reranker: Reranker
) -> Value:
    """Correct the probabilities of the candidates of each row."""
    # Ranked in single precision, as in the library: scores that differ by rounding alone tie.
    labels = graph.top(scores.to(np.float32), reranker.n_candidates)
    top, probabilities = (
        graph.add("GatherElements", values, labels, axis=1) for values in (scores, calibrated)
    )
    cooccurrence = None
    if reranker.cooccurrence is not None:
        every = _cooccurrence(graph, rows, reranker.cooccurrence)
        cooccurrence = graph.add("GatherElements", every, labels, axis=1)
    n_labels = len(reranker.frequency)
    pairs = labels.expand(2) * n_labels + labels.expand(1)
    conditional = graph.add("Gather", reranker.conditional.toarray().ravel(), pairs)
    inputs = candidate_inputs(
        GraphOps(graph), reranker, conditional, labels, top, probabilities, cooccurrence
    )
    columns = [graph.stretched(value, top).to(np.float32).expand(2) for value in inputs.values()]
    corrected = _network_probabilities(
        graph, graph.add("Concat", *columns, axis=2), reranker.networks
    )
    seen = graph.add("Greater", probabilities, LEAST_PROBABILITY, dtype=bool)
    corrected = graph.add("Where", seen, corrected, probabilities, dtype=np.float64)
    return graph.add("ScatterElements", calibrated, labels, corrected, axis=1)


def _cooccurrence(graph: Graph, rows: Value, feature: CooccurrenceFeature) -> Value:
    """Return the co-occurrence feature of rows, one value a label."""
    total = one_for_zero(graph, graph.add("Abs", rows).sum(1, keepdims=True))
    weights = graph.value(feature.weights.toarray()).to(np.float64)
    return graph.add("MatMul", rows, weights) / total + feature.base


def _network_probabilities(graph: Graph, inputs: Value, networks: Networks | None) -> Value:
    """Return the probabilities of candidates, by the mean log-odds of all networks."""
    assert networks is not None
    # Shapes are (n_rows, networks, T, units).
    first = graph.add("MatMul", inputs.expand(1), networks.weights1)
    first = graph.add("Relu", first + networks.biases1[:, None, :])
    second = graph.add("MatMul", first, networks.weights2) + networks.biases2[:, None, :]
    second = graph.add("Relu", second) * networks.weights3[:, None, :]
    log_odds = second.sum(3) + networks.biases3[:, None]
    mean = log_odds.to(np.float64).sum(1) / float(len(networks.biases3))
    return graph.add("Sigmoid", mean)


class GraphOps:
    """The functions that inputs are computed with, as :class:`grople.decision.NumpyOps`."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def log(self, values: Value) -> Value:
        """Return logarithms."""
        return self._graph.add("Log", values)

    def log_odds(self, probabilities: Value) -> Value:
        """Return ln(p / (1 − p)), finite."""
        inside = probabilities.clip(LEAST, 1.0 - LEAST)
        return self.log(inside) - self.log(1.0 - inside)

    def clip(self, values: Value, low: float, high: float) -> Value:
        """Return values between two bounds."""
        return values.clip(low, high)

    def take(self, table: Array, labels: Value) -> Value:
        """Return the entry of each label."""
        return self._graph.add("Gather", table, labels)

    def columns(self, values: Value, start: int, stop: int) -> Value:
        """Return some columns."""
        return values[start:stop]

    def join(self, left: Value, right: Value) -> Value:
        """Put columns side by side."""
        return self._graph.add("Concat", left, right, axis=1)

    def expand(self, values: Value, axis: int) -> Value:
        """Add an axis."""
        return values.expand(axis)

    def single(self, values: Value) -> Value:
        """Return values in single precision."""
        return values.to(np.float32)

    def equal(self, left: Value, right: Value) -> Value:
        """Return one where values are equal, zero elsewhere."""
        return self._graph.add("Equal", left, right, dtype=bool).to(np.float32)

    def total(self, values: Value) -> Value:
        """Return the sum of each row."""
        return values.sum(1, keepdims=True)

    def largest(self, values: Value) -> Value:
        """Return the largest value of each row."""
        return values.max(1, keepdims=True)

    def running_total(self, values: Value) -> Value:
        """Return the sum of each value and those before it in its row."""
        return self._graph.add("CumSum", values, np.array(1))

    def sum_over_given(self, values: Value) -> Value:
        """Return the sums over k of values of shape (n_rows, k, j)."""
        return values.sum(1)

    def max_over_given(self, values: Value) -> Value:
        """Return the largest over k of values of shape (n_rows, k, j)."""
        return values.max(1)


def one_for_zero(graph: Graph, values: Value) -> Value:
    """Return values, with ones in place of zeros."""
    return graph.add("Where", graph.add("Equal", values, 0.0, dtype=bool), 1.0, values,
                     dtype=values.dtype)  # fmt: skip
