"""The second look at the candidates of each row (:class:`grople.decision.ContextDecoder`) in ONNX.

Operator by operator what the decoder computes, in the precision that it computes it in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from grople.affinity import Affinity
from grople.decision import Decision
from grople.decision.calibration import LEAST
from grople.decision.context import LEAST_CHANCE
from grople.onnx.graph import Graph

__all__ = ["can_decode", "decoded", "log_odds"]


def can_decode(decision: Decision) -> bool:
    """Tell whether a decision has a decoder whose table of pairs is a plain matrix."""
    return decision.decoder is not None and not sp.issparse(decision.decoder.together)


def log_odds(graph: Graph, chances: str) -> str:
    """Return ln(p / (1 − p)), finite."""
    inside = graph.add("Min", graph.add("Max", chances, LEAST), 1.0 - LEAST)
    against = graph.add("Log", graph.add("Sub", 1.0, inside))
    return graph.add("Sub", graph.add("Log", inside), against)


def decoded(graph: Graph, rows: str, scores: str, calibrated: str, decision: Decision) -> str:
    """Correct the probabilities of the candidates of each row."""
    decoder: Any = decision.decoder
    size = np.array([decision.n_candidates])
    # Ranked in single precision, as in the library: scores that differ by rounding alone tie.
    narrow = graph.single(scores)
    _, labels = graph.add_several(2, "TopK", narrow, size, axis=1, largest=1, sorted=1)
    top = graph.add("GatherElements", scores, labels, axis=1)
    chances = graph.add("GatherElements", calibrated, labels, axis=1)
    second = () if decoder.affinity is None else _affinity(graph, rows, decoder.affinity, labels)
    seen = _inputs(graph, decoder, labels, top, chances, second, decision.n_candidates)
    odds = [_network(graph, net, seen) for net in decoder.nets]
    mean = graph.add("Mul", graph.add("Sum", *odds), np.float32(1 / len(odds)))
    corrected = graph.add("Sigmoid", graph.double(mean))
    looked_at = graph.add("Greater", chances, LEAST_CHANCE)
    corrected = graph.add("Where", looked_at, corrected, chances)
    return graph.add("ScatterElements", calibrated, labels, corrected, axis=1)


def _affinity(graph: Graph, rows: str, affinity: Affinity, labels: str) -> tuple[str, str]:
    """Return what the second opinion says of the candidates, and by how much less than at best."""
    total = graph.add("ReduceSum", graph.add("Abs", rows), np.array([1]), keepdims=1)
    total = graph.add("Where", graph.add("Equal", total, 0.0), 1.0, total)
    found = graph.add("MatMul", rows, affinity.weights.toarray().astype(np.float64))
    found = graph.add("Add", graph.add("Div", found, total), affinity.base)
    found = graph.add("GatherElements", found, labels, axis=1)
    best = graph.add("ReduceMax", found, axes=[1], keepdims=1)
    return found, graph.add("Sub", best, found)


def _inputs(
    graph: Graph,
    decoder: Any,
    labels: str,
    scores: str,
    chances: str,
    second: tuple[str, ...],
    size: int,
) -> str:
    """Return what the networks see of each candidate, shape (n_rows, T, features)."""

    def of_label(values: Any) -> str:
        return graph.add("Gather", values, labels)

    def less(left: Any, right: Any) -> str:
        return graph.add("Sub", left, right)

    best, next_best = (_columns(graph, scores, i, i + 1) for i in (0, min(1, size - 1)))
    before = graph.add("Concat", best, _columns(graph, scores, 0, size - 1), axis=1)
    last = _columns(graph, scores, size - 1, size)
    after = graph.add("Concat", _columns(graph, scores, 1, size), last, axis=1)
    up_to = graph.add("CumSum", chances, np.array(1))
    columns = (
        scores,
        log_odds(graph, chances),
        graph.constant(np.log1p(np.arange(size))[None]),
        less(best, scores),
        best,
        next_best,
        less(scores, before),
        less(scores, after),
        graph.add("ReduceSum", chances, np.array([1]), keepdims=1),
        less(up_to, chances),
        graph.add("Log", of_label(decoder.frequency)),
        less(scores, of_label(decoder.mean_positive)),
        graph.add("Div", less(scores, of_label(decoder.mean)), of_label(decoder.spread)),
        of_label(decoder.spread),
        of_label(decoder.mean_positive),
    )
    shape = graph.add("Shape", scores)
    every = [graph.single(graph.add("Expand", column, shape)) for column in columns]
    every += _support(graph, decoder, labels, graph.single(chances), size)
    every += [graph.single(column) for column in second]
    return graph.add("Concat", *(_with_axis(graph, column, 2) for column in every), axis=2)


def _support(graph: Graph, decoder: Any, labels: str, chances: str, size: int) -> list[str]:
    """Return what the other candidates k of a row say of each candidate j."""
    others = 1 - np.eye(size, dtype=np.float32)[None]
    first, second = _with_axis(graph, labels, 2), _with_axis(graph, labels, 1)
    n_labels = len(decoder.frequency)
    pairs = graph.add("Add", graph.add("Mul", first, n_labels), second)
    together = graph.add("Gather", decoder.together.astype(np.float32).ravel(), pairs)
    together = graph.add("Mul", together, others)
    frequency = graph.add("Gather", decoder.frequency.astype(np.float32), second)
    small = np.float32(1e-4)
    ratio = graph.add("Div", graph.add("Add", together, small), graph.add("Add", frequency, small))
    lift = graph.add("Mul", graph.add("Log", ratio), others)
    groups = (graph.add("Gather", decoder.groups.astype(np.int64), at) for at in (first, second))
    alike = graph.single(graph.add("Equal", *groups))
    weighted = graph.add("Mul", together, _with_axis(graph, chances, 2))
    row = _with_axis(graph, chances, 1)
    by_lift, by_group = (
        graph.add("Squeeze", graph.add("MatMul", row, matrix), np.array([1]))
        for matrix in (lift, alike)
    )
    return [
        graph.add("ReduceSum", weighted, np.array([1]), keepdims=0),
        graph.add("ReduceMax", weighted, axes=[1], keepdims=0),
        by_lift,
        graph.add("Sub", by_group, chances),
    ]


def _network(graph: Graph, net: Any, inputs: str) -> str:
    """Return the log-odds that a network gives to inputs."""
    values = inputs
    for matrix, shift in zip(net[::2], net[1::2], strict=True):
        if values is not inputs:
            values = graph.add("Relu", values)
        values = graph.add("Add", graph.add("MatMul", values, matrix), shift)
    return graph.add("Squeeze", values, np.array([2]))


def _columns(graph: Graph, values: str, start: int, stop: int) -> str:
    return graph.add("Slice", values, np.array([start]), np.array([stop]), np.array([1]))


def _with_axis(graph: Graph, values: str, axis: int) -> str:
    return graph.add("Unsqueeze", values, np.array([axis]))
