"""From a fitted model to an ONNX file: scores, curve, classes."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.base import LabelClassifier
from grople.baselines.chains import ChainScores
from grople.datasets._atomic import written
from grople.decision import Decision
from grople.errors import DataError, ModelFileError
from grople.features import Features, PlainFeatures
from grople.linear import LinearScores
from grople.onnx.context import can_decode, decoded, log_odds
from grople.onnx.graph import Graph

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

    Input ``X`` (n_rows × n_features, float32): rows as the model takes them; of texts, and of
    features with pairs, the rows that ``features.transform`` returns. Outputs ``scores`` and
    ``probabilities`` (float32), as ``decision_function`` and ``predict_proba``. The names of labels
    and features are in the metadata of the file, as JSON.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this library with linear scores (or chains of them).
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
    >>> from grople.baselines import Ridge
    >>> from grople.datasets import make_grouped_multilabel
    >>> data = make_grouped_multilabel(100, random_state=0)
    >>> model = Ridge().fit(data.X, data.Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "tags.onnx"
    ...     export_onnx(model, file)
    ...     import onnxruntime
    ...     session = onnxruntime.InferenceSession(file)
    ...     scores, chances = session.run(None, {"X": data.X.toarray().astype(np.float32)})
    >>> bool(abs(chances - model.predict_proba(data.X)).max() < 1e-5)
    True
    """
    if not isinstance(model, LabelClassifier):
        raise ModelFileError(f"a {type(model).__name__} is no model of grople")
    graph = Graph()
    rows = graph.double("X")
    if isinstance(features, PlainFeatures) and features.unit_rows:
        rows = _unit_rows(graph, rows)
    scores = _scores(graph, rows, model._model().scores)
    binary = model._targets.kind == "binary"
    shown = graph.add("Reshape", scores, np.array([-1])) if binary else scores
    graph.output("scores", shown, [None] if binary else [None, model._targets.n_columns])
    if probabilities:
        chances, width = _probabilities(graph, rows, scores, model)
        graph.output("probabilities", chances, [None, width])
    _write(path, graph.model(model.n_features_in_, _metadata(model, features)))


def _scores(graph: Graph, rows: str, scores: Any) -> str:
    if isinstance(scores, ChainScores):
        return _chain_scores(graph, rows, scores)
    if not isinstance(scores, LinearScores):
        raise ModelFileError("only models whose scores are linear can be exported to ONNX")
    points = graph.add("Add", graph.add("MatMul", rows, scores.Z.astype(np.float64)), scores.b)
    if scores.V is not None:
        points = graph.add("MatMul", points, scores.V)
    if scores.offset is not None:
        points = graph.add("Add", points, scores.offset)
    return points


def _chain_scores(graph: Graph, rows: str, scores: ChainScores) -> str:
    """Add what each label, once predicted, says of those behind it, place by place."""
    current = _scores(graph, rows, scores.linear)
    links = graph.constant(scores.links.toarray())
    for place in range(int(scores.position.max(initial=0))):
        here = (scores.position == place).astype(np.float64)
        above = graph.double(graph.add("Greater", current, 0.0))
        told = graph.add("MatMul", graph.add("Mul", above, here), links)
        current = graph.add("Add", current, told)
    return current


def _unit_rows(graph: Graph, rows: str) -> str:
    length = graph.add("ReduceL2", rows, axes=[1], keepdims=1)
    empty = graph.add("Equal", length, 0.0)
    return graph.add("Div", rows, graph.add("Where", empty, 1.0, length))


def _probabilities(graph: Graph, rows: str, scores: str, model: Any) -> tuple[str, int]:
    """Return the probabilities and how many there are of a row."""
    targets = model._targets
    if targets.kind == "multilabel":
        decision = model.decision_
        _warn_of_large_context(decision)
        found = _curve(graph, scores, decision.curve_scores, decision.curve_probabilities)
        found = _bent(graph, found, decision)
        if can_decode(decision):
            found = decoded(graph, rows, scores, found, decision)
        return found, targets.n_columns
    if len(targets.classes) == 1:
        return graph.filled(scores, np.array([1.0])), 1
    steep = graph.add("Mul", scores, model._class_steepness())
    if targets.kind == "multiclass":
        return graph.add("Softmax", steep, axis=1), targets.n_columns
    second = graph.add("Sigmoid", steep)
    first = graph.add("Sub", 1.0, second)
    return graph.add("Concat", first, second, axis=1), 2


def _curve(graph: Graph, scores: str, at: Array, values: Array) -> str:
    """Interpolate between the knots of a curve, found by halving: log₂ m steps for m knots."""
    inside = graph.add("Min", graph.add("Max", scores, at[0]), at[-1])
    halvings = (len(at) - 1).bit_length()
    # Knots that no score reaches fill up the last half.
    knots = graph.constant(np.append(at, np.full((1 << halvings) - len(at), np.inf)))
    place = graph.filled(scores, np.array([0]))
    for step in (1 << power for power in reversed(range(halvings))):
        further = graph.add("Add", place, step)
        passed = graph.add("GreaterOrEqual", inside, graph.add("Gather", knots, further))
        place = graph.add("Where", passed, further, place)
    slopes = np.append(np.diff(values) / np.diff(at), 0.0)
    beyond = graph.add("Sub", inside, graph.add("Gather", knots, place))
    rise = graph.add("Mul", graph.add("Gather", slopes, place), beyond)
    return graph.add("Add", graph.add("Gather", values, place), rise)


def _bent(graph: Graph, chances: str, decision: Decision) -> str:
    """Bend the curve for each label, in log-odds."""
    if decision.bend_slope is None:
        return chances
    bent = graph.add("Mul", log_odds(graph, chances), decision.bend_slope)
    return graph.add("Sigmoid", graph.add("Add", bent, decision.bend_intercept))


def _warn_of_large_context(decision: Decision) -> None:
    if decision.decoder is not None and not can_decode(decision):
        warnings.warn(
            "this model looks twice at the likeliest labels of each row, in a table of pairs of "
            "labels that is too large for ONNX: the exported probabilities are those of the "
            "scores alone",
            UserWarning,
            stacklevel=4,
        )


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
