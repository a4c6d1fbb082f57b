"""The experts of a stack as ONNX: similarities to landmarks, trees, and how they are joined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.decision._calibration import LEAST
from grople.experts import FARTHEST, ForestScores, KernelScores, Landmarks, Stack
from grople.io._graph import Graph, Value
from grople.io._onnx_reranker import one_for_zero

__all__ = ["stack_scores"]

Array = NDArray[Any]
#: From scores to what a curve makes of them.
Curve = Callable[[Graph, Value, Array, Array], Value]


def stack_scores(
    graph: Graph, rows: Value, stack: Stack, linear: Callable[[Graph, Value, Any], Value],
    curve: Curve,
) -> Value:  # fmt: skip
    """Return the joined scores of rows.

    Parameters
    ----------
    graph : Graph
        What is added to.
    rows : Value
        The rows.
    stack : Stack
        The experts.
    linear : callable
        Adds linear scores.
    curve : callable
        Adds the interpolation between the knots of a curve.
    """
    found: Any = stack.base[None, :]
    for expert in stack.experts:
        if isinstance(expert.scores, KernelScores):
            scores = _kernel_scores(graph, rows, expert.scores)
        elif isinstance(expert.scores, ForestScores):
            scores = _forest_scores(graph, rows, expert.scores)
        else:
            scores = linear(graph, rows, expert.scores)
        chance = curve(graph, scores, expert.curve_scores, expert.curve_probabilities)
        chance = chance.clip(LEAST, 1.0 - LEAST)
        odds = graph.add("Log", chance / (1.0 - chance))
        found = found + odds * (expert.weight * ~stack.constant)[None, :]
    return found


def _kernel_scores(graph: Graph, rows: Value, scores: KernelScores) -> Value:
    similarity = graph.add(
        "Exp", _distances(graph, rows, scores.landmarks) / -scores.landmarks.width
    )
    return graph.add("MatMul", graph.add("MatMul", similarity, scores.A) + scores.b, scores.V)


def _distances(graph: Graph, rows: Value, landmarks: Landmarks) -> Value:
    if landmarks.middle is None:
        length = graph.add("ReduceL2", rows, axes=[1], keepdims=1)
        unit = rows / one_for_zero(graph, length)
        columns = landmarks.rows.T.toarray() if sp.issparse(landmarks.rows) else landmarks.rows.T
        return (2.0 - 2.0 * graph.add("MatMul", unit, columns)).clip(0.0, np.inf)
    from_middle = (rows - landmarks.middle) / landmarks.spread
    apart = from_middle.clip(-FARTHEST, FARTHEST).expand(1) - landmarks.rows[None]
    return graph.add("Abs", apart).sum(2)


def _forest_scores(graph: Graph, rows: Value, forest: ForestScores) -> Value:
    n_nodes = len(forest.left)
    tree = np.searchsorted(forest.roots, np.arange(n_nodes), side="right") - 1
    leaf = forest.left == np.arange(n_nodes)
    place = np.arange(n_nodes) - forest.roots[tree]
    shares = forest.shares.tocoo()
    values = graph.add("Gather", rows.to(np.float32), forest.columns, axis=1)
    found = graph.add(
        "TreeEnsembleRegressor",
        values,
        domain="ai.onnx.ml",
        n_targets=forest.shares.shape[1],
        aggregate_function="SUM",
        nodes_treeids=tree.tolist(),
        nodes_nodeids=place.tolist(),
        nodes_featureids=forest.feature.tolist(),
        nodes_values=_rounded_down(forest.threshold).tolist(),
        nodes_modes=np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_truenodeids=np.where(leaf, 0, forest.left - forest.roots[tree]).tolist(),
        nodes_falsenodeids=np.where(leaf, 0, forest.right - forest.roots[tree]).tolist(),
        target_treeids=tree[shares.row].tolist(),
        target_nodeids=place[shares.row].tolist(),
        target_ids=shares.col.tolist(),
        target_weights=shares.data.tolist(),
    )
    return found.to(np.float64) * (2.0 / len(forest.roots)) - 1.0


def _rounded_down(values: Array) -> Array:
    """Return the largest single-precision numbers that are no larger."""
    narrow = values.astype(np.float32)
    return np.where(narrow > values, np.nextafter(narrow, np.float32(-np.inf)), narrow)
