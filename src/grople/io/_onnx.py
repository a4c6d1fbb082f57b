"""From a fitted model to an ONNX file: scores and probabilities.

The graph takes rows as 32-bit floats and computes in 64 bits, as the library does (the networks of
a re-ranker in 32, as there); what it returns is 32 bits again. Only standard operators are used,
and for trees those of ``ai.onnx.ml``.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.decision import Decision
from grople.errors import DataError, ModelFileError
from grople.estimators import LabelClassifier
from grople.experts import Stack
from grople.features import Features, PlainFeatures
from grople.files import written
from grople.io._graph import Graph, Value
from grople.io._onnx_experts import stack_scores
from grople.io._onnx_reranker import one_for_zero, reranked, tables_fit
from grople.solver import LinearScores

__all__ = ["export_onnx"]

Array = NDArray[Any]


def export_onnx(
    model: Any,
    path: str | Path,
    *,
    features: Features | None = None,
    probabilities: bool = True,
) -> None:
    """Write a fitted model as an ONNX graph.

    Input ``X`` (n_rows × n_features, float32): rows as the model takes them; of texts, and
    with interaction features, the rows that ``features.transform`` returns. Outputs ``scores`` and
    ``probabilities`` (float32), as ``decision_function`` and ``predict_proba``. The names of labels
    and features are in the metadata of the file, as JSON.

    Rows that repeat training rows get the probabilities of new ones: the standard has no operator
    that compares rows with known ones. A warning says so where it makes a difference, and where a
    re-ranker is left out because its tables are too large.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this library, other than those that wrap a classifier of another one.
    path : path
        The file; one that is there is replaced.
    features : Features, optional
        How records become rows. Rows of unit length are made in the graph; the words of a
        vocabulary become the names of the features.
    probabilities : bool, default=True
        Whether to export them too.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from grople import GroPLE
    >>> from grople.datasets import make_grouped_multilabel
    >>> data = make_grouped_multilabel(100, random_state=0)
    >>> model = GroPLE().fit(data.X, data.Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "tags.onnx"
    ...     export_onnx(model, file)
    ...     import onnxruntime
    ...     session = onnxruntime.InferenceSession(file)
    ...     scores, found = session.run(None, {"X": data.X.toarray().astype(np.float32)})
    >>> bool(abs(found - model.predict_proba(data.X)).max() < 1e-5)
    True
    """
    if not isinstance(model, LabelClassifier):
        raise ModelFileError(f"a {type(model).__name__} is no model of grople")
    fitted, targets = model.fitted_model_, model._targets
    graph = Graph()
    rows = graph.rows()
    if isinstance(features, PlainFeatures) and features.unit_rows:
        rows = _unit_rows(graph, rows)
    scores = _scores(graph, rows, fitted.scorer)
    binary = targets.kind == "binary"
    shown = graph.add("Reshape", scores, np.array([-1])) if binary else scores
    graph.output("scores", shown, [None] if binary else [None, targets.n_columns])
    if probabilities and targets.kind == "multilabel":
        found = _label_probabilities(graph, rows, scores, fitted.decision)
        graph.output("probabilities", found, [None, targets.n_columns])
    elif probabilities:
        found = _class_probabilities(graph, scores, fitted.steepness, targets)
        graph.output("probabilities", found, [None, len(targets.classes)])
    _write(path, graph.model(model.n_features_in_, _metadata(model, features)))


def _unit_rows(graph: Graph, rows: Value) -> Value:
    length = graph.add("ReduceL2", rows, axes=[1], keepdims=1)
    return rows / one_for_zero(graph, length)


def _scores(graph: Graph, rows: Value, scorer: Any) -> Value:
    if hasattr(scorer, "links"):
        return _chain_scores(graph, _scores(graph, rows, scorer.linear), scorer)
    if isinstance(scorer, Stack):
        return stack_scores(graph, rows, scorer, _scores, _curve)
    if not isinstance(scorer, LinearScores):
        raise ModelFileError(f"{type(scorer).__name__} cannot be exported to ONNX")
    found = graph.add("MatMul", rows, graph.value(scorer.Z).to(np.float64)) + scorer.b
    if scorer.V is not None:
        found = graph.add("MatMul", found, scorer.V)
    return found if scorer.offset is None else found + scorer.offset


def _chain_scores(graph: Graph, scores: Value, chains: Any) -> Value:
    """Add what each label, once predicted, says of those behind it, place by place."""
    links = graph.value(chains.links.toarray())
    for place in range(int(chains.position.max(initial=0))):
        here = (chains.position == place).astype(np.float64)
        given = graph.add("Greater", scores, 0.0, dtype=bool).to(np.float64) * here
        scores = scores + graph.add("MatMul", given, links)
    return scores


def _class_probabilities(graph: Graph, scores: Value, steepness: float, targets: Any) -> Value:
    """Return the probability of each class of a 1-d target."""
    if len(targets.classes) == 1:
        return graph.filled(scores, np.array([1.0]))
    steep = scores * steepness
    if targets.kind == "multiclass":
        return graph.add("Softmax", steep, axis=1)
    second = graph.add("Sigmoid", steep)
    return graph.add("Concat", 1.0 - second, second, axis=1)


def _label_probabilities(graph: Graph, rows: Value, scores: Value, decision: Decision) -> Value:
    """Return the calibrated probabilities, those of candidates corrected by the re-ranker."""
    if decision.copies is not None:
        _warn(
            "this model knows rows that repeat each other; ONNX cannot compare rows with them, so "
            "the exported probabilities are those of new rows"
        )
    found = _curve(graph, scores, decision.curve_scores, decision.curve_probabilities)
    reranker = decision.reranker
    if reranker is None:
        return found
    if not tables_fit(graph, reranker):
        _warn(
            "the re-ranker of this model has tables that are too large for ONNX: the exported "
            "probabilities are those of the scores alone"
        )
        return found
    return reranked(graph, rows, scores, found, reranker)


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=4)


def _curve(graph: Graph, scores: Value, at: Array, values: Array) -> Value:
    """Interpolate between the knots of a curve, found by halving: log₂ m steps for m knots."""
    inside = scores.clip(at[0], at[-1])
    halvings = (len(at) - 1).bit_length()
    # Knots that no score reaches fill up the last half.
    knots = graph.value(np.append(at, np.full((1 << halvings) - len(at), np.inf)))
    place = graph.filled(scores, np.array([0]))
    for step in (1 << power for power in reversed(range(halvings))):
        further = place + step
        passed = graph.add("GreaterOrEqual", inside, graph.add("Gather", knots, further))
        place = graph.add("Where", passed, further, place, dtype=np.int64)
    slopes = np.append(np.diff(values) / np.diff(at), 0.0)
    beyond = inside - graph.add("Gather", knots, place)
    return graph.add("Gather", values, place) + graph.add("Gather", slopes, place) * beyond


def _metadata(model: Any, features: Features | None) -> dict[str, str]:
    names = getattr(model, "feature_names_in_", None) if features is None else features.names
    texts: dict[str, Any] = {
        "class": type(model).__name__,
        "kind": model._targets.kind,
        "label_names": [str(name) for name in model.classes_],
    }
    if names is not None:
        texts["feature_names"] = [str(name) for name in names]
    return {key: json.dumps(value) for key, value in texts.items()}


def _write(path: str | Path, model: Any) -> None:
    try:
        with written(path) as (stream,):
            stream.write(model.SerializeToString())
    except DataError as error:
        raise ModelFileError(str(error)) from error
