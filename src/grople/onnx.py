"""Models for other programs: scores and probabilities as an ONNX graph.

The graph takes rows as 32-bit floats and computes in 64 bits, as the library does; what it
returns is 32 bits again. Only standard operators are used.
"""

from __future__ import annotations

import dataclasses
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
from grople.errors import DataError, ModelFileError, require
from grople.features import Features, PlainFeatures
from grople.linear import LinearScores

__all__ = ["export_onnx"]

Array = NDArray[Any]

#: Versions of the operators and of the file, old enough for runtimes of the last years.
OPERATORS, FILE_VERSION = 17, 8
#: Bytes that an ONNX file can hold (it is one protobuf message), less some for the graph itself.
LARGEST = (1 << 31) - (1 << 20)
#: Fields of a decision that the shared curve is made of, or that only turn scores into labels.
PLAIN_DECISION = {"rule", "curve_scores", "curve_probabilities", "thresholds"}


def export_onnx(
    model: Any,
    path: str | Path,
    *,
    features: Features | None = None,
    probabilities: bool = True,
) -> None:
    """Write a fitted model as an ONNX graph.

    Input ``X`` (n_rows × n_features, float32): rows as the model takes them; of texts, the rows
    that ``features.transform`` returns. Outputs ``scores`` and ``probabilities`` (float32), as
    ``decision_function`` and ``predict_proba``. The names of labels and features are in the
    metadata of the file, as JSON.

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
    graph = _Graph()
    rows = graph.add("Cast", "X", to=graph.DOUBLE)
    if isinstance(features, PlainFeatures) and features.unit_rows:
        rows = _unit_rows(graph, rows)
    scores = _scores(graph, rows, model._model().scores)
    binary = model._targets.kind == "binary"
    shown = graph.add("Reshape", scores, graph.constant(np.array([-1]))) if binary else scores
    graph.output("scores", shown, [None] if binary else [None, model._targets.n_columns])
    if probabilities:
        chances, width = _probabilities(graph, scores, model)
        graph.output("probabilities", chances, [None, width])
    _write(path, graph.model(model.n_features_in_, _metadata(model, features)))


def _scores(graph: _Graph, rows: str, scores: Any) -> str:
    if isinstance(scores, ChainScores):
        return _chain_scores(graph, rows, scores)
    if not isinstance(scores, LinearScores):
        raise ModelFileError("only models whose scores are linear can be exported to ONNX")
    points = graph.add("MatMul", rows, graph.constant(scores.Z))
    points = graph.add("Add", points, graph.constant(scores.b))
    if scores.V is not None:
        points = graph.add("MatMul", points, graph.constant(scores.V))
    if scores.offset is not None:
        points = graph.add("Add", points, graph.constant(scores.offset))
    return points


def _chain_scores(graph: _Graph, rows: str, scores: ChainScores) -> str:
    """Add what each label, once predicted, says of those behind it, place by place."""
    current = _scores(graph, rows, scores.linear)
    links = graph.constant(scores.links.toarray())
    zero = graph.constant(np.array(0.0))
    for place in range(int(scores.position.max(initial=0))):
        here = graph.constant((scores.position == place).astype(np.float64))
        above = graph.add("Cast", graph.add("Greater", current, zero), to=graph.DOUBLE)
        told = graph.add("MatMul", graph.add("Mul", above, here), links)
        current = graph.add("Add", current, told)
    return current


def _unit_rows(graph: _Graph, rows: str) -> str:
    length = graph.add("ReduceL2", rows, axes=[1], keepdims=1)
    empty = graph.add("Equal", length, graph.constant(np.array(0.0)))
    return graph.add("Div", rows, graph.add("Where", empty, graph.constant(np.array(1.0)), length))


def _probabilities(graph: _Graph, scores: str, model: Any) -> tuple[str, int]:
    """Return the probabilities and how many there are of a row."""
    targets = model._targets
    if targets.kind == "multilabel":
        decision = model.decision_
        _warn_of_more_than_a_curve(decision)
        knots = decision.curve_scores, decision.curve_probabilities
        return _curve(graph, scores, *knots), targets.n_columns
    if len(targets.classes) == 1:
        return graph.filled(scores, np.array([1.0])), 1
    steep = graph.add("Mul", scores, graph.constant(np.array(model._class_steepness())))
    if targets.kind == "multiclass":
        return graph.add("Softmax", steep, axis=1), targets.n_columns
    second = graph.add("Sigmoid", steep)
    first = graph.add("Sub", graph.constant(np.array(1.0)), second)
    return graph.add("Concat", first, second, axis=1), 2


def _curve(graph: _Graph, scores: str, at: Array, values: Array) -> str:
    """Interpolate between the knots of a curve, found by halving: log₂ m steps for m knots."""
    low, high = graph.constant(at[0]), graph.constant(at[-1])
    inside = graph.add("Min", graph.add("Max", scores, low), high)
    halvings = (len(at) - 1).bit_length()
    # Knots that no score reaches fill up the last half.
    knots = graph.constant(np.append(at, np.full((1 << halvings) - len(at), np.inf)))
    place = graph.filled(scores, np.array([0]))
    for step in (1 << power for power in reversed(range(halvings))):
        further = graph.add("Add", place, graph.constant(np.array(step)))
        passed = graph.add("GreaterOrEqual", inside, graph.add("Gather", knots, further))
        place = graph.add("Where", passed, further, place)
    slopes = graph.constant(np.append(np.diff(values) / np.diff(at), 0.0))
    beyond = graph.add("Sub", inside, graph.add("Gather", knots, place))
    rise = graph.add("Mul", graph.add("Gather", slopes, place), beyond)
    return graph.add("Add", graph.add("Gather", graph.constant(values), place), rise)


def _warn_of_more_than_a_curve(decision: Decision) -> None:
    more = [
        field.name
        for field in dataclasses.fields(decision)
        if field.name not in PLAIN_DECISION and getattr(decision, field.name) is not None
    ]
    if more:
        warnings.warn(
            f"the decision of this model looks at more than the score of a label ({more[0]}), "
            "which ONNX has no operators for: the exported probabilities are those of the score "
            "alone",
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


class _Graph:
    """Nodes and constants, named as they come."""

    def __init__(self) -> None:
        self._onnx = require("onnx", "onnx", "exporting a model")
        self._numpy = require("onnx.numpy_helper", "onnx", "exporting a model")
        self.DOUBLE = self._onnx.TensorProto.DOUBLE
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outputs: list[Any] = []
        self._bytes = 0

    def constant(self, values: Any) -> str:
        values = np.ascontiguousarray(values).reshape(np.shape(values))
        self._bytes += values.nbytes
        if self._bytes > LARGEST:
            raise ModelFileError("the model is too large for an ONNX file (2 GiB)")
        name = f"c{len(self._constants)}"
        self._constants.append(self._numpy.from_array(values, name))
        return name

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"n{len(self._nodes)}"
        make = self._onnx.helper.make_node
        self._nodes.append(make(operator, list(inputs), [name], **attributes))
        return name

    def filled(self, like: str, value: Array) -> str:
        """Return one value in every place of an array of the same shape."""
        shape = self.add("Shape", like)
        return self.add("ConstantOfShape", shape, value=self._numpy.from_array(value))

    def output(self, name: str, value: str, shape: list[int | None]) -> None:
        helper, single = self._onnx.helper, self._onnx.TensorProto.FLOAT
        self._nodes.append(helper.make_node("Cast", [value], [name], to=single))
        self._outputs.append(helper.make_tensor_value_info(name, single, shape))

    def model(self, n_features: int, metadata: dict[str, str]) -> Any:
        from grople import __version__

        helper, single = self._onnx.helper, self._onnx.TensorProto.FLOAT
        rows = helper.make_tensor_value_info("X", single, [None, n_features])
        graph = helper.make_graph(self._nodes, "grople", [rows], self._outputs, self._constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPERATORS)],
            ir_version=FILE_VERSION,
            producer_name="grople",
            producer_version=__version__,
        )
        helper.set_model_props(model, metadata)
        return model


def _write(path: str | Path, model: Any) -> None:
    try:
        with written(path) as (stream,):
            stream.write(model.SerializeToString())
    except DataError as error:
        raise ModelFileError(str(error)) from error
