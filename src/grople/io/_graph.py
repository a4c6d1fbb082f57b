"""An ONNX graph under construction, and values in it that compute as arrays do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople import __version__
from grople.errors import ModelFileError, require

__all__ = ["Graph", "Value"]

Array = NDArray[Any]

#: Versions of the operators and of the file, old enough for runtimes of the last years.
OPERATORS, TREE_OPERATORS, FILE_VERSION = 17, 3, 8
#: Bytes that an ONNX file can hold (it is one protobuf message), less some for the graph itself.
LARGEST = (1 << 31) - (1 << 20)
#: Types of values in a graph, by the names that ONNX has for them.
TYPES = {"float64": "DOUBLE", "float32": "FLOAT", "int64": "INT64", "bool": "BOOL"}


@dataclass(frozen=True, eq=False)
class Value:
    """A value in a graph: ``+ − * /`` with values, arrays and numbers add to the graph.

    As with arrays, the result of two types has the wider one; a plain number takes on that of the
    value.
    """

    graph: Graph
    name: str
    dtype: np.dtype[Any]

    #: Has arrays leave operators to values.
    __array_ufunc__ = None

    def __add__(self, other: Any) -> Value:
        return self._combined("Add", self, other)

    def __sub__(self, other: Any) -> Value:
        return self._combined("Sub", self, other)

    def __mul__(self, other: Any) -> Value:
        return self._combined("Mul", self, other)

    def __truediv__(self, other: Any) -> Value:
        return self._combined("Div", self, other)

    def __radd__(self, other: Any) -> Value:
        return self._combined("Add", other, self)

    def __rsub__(self, other: Any) -> Value:
        return self._combined("Sub", other, self)

    def __rmul__(self, other: Any) -> Value:
        return self._combined("Mul", other, self)

    def __rtruediv__(self, other: Any) -> Value:
        return self._combined("Div", other, self)

    def to(self, dtype: Any) -> Value:
        """Return the value in another type."""
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        return self.graph.add("Cast", self, dtype=dtype, to=self.graph.type_number(dtype))

    def __getitem__(self, columns: slice) -> Value:
        """Return some columns of a value of shape (n_rows, n_columns)."""
        ends = (np.array([end]) for end in (columns.start, columns.stop, 1))
        return self.graph.add("Slice", self, *ends)

    def expand(self, axis: int) -> Value:
        """Add an axis."""
        return self.graph.add("Unsqueeze", self, np.array([axis]))

    def sum(self, axis: int, keepdims: bool = False) -> Value:
        """Return sums along an axis."""
        return self.graph.add("ReduceSum", self, np.array([axis]), keepdims=int(keepdims))

    def max(self, axis: int, keepdims: bool = False) -> Value:
        """Return the largest values along an axis."""
        return self.graph.add("ReduceMax", self, axes=[axis], keepdims=int(keepdims))

    def clip(self, low: Any, high: Any) -> Value:
        """Return the values between two bounds."""
        return self._combined("Min", self._combined("Max", self, low), high)

    def _combined(self, operator: str, left: Any, right: Any) -> Value:
        types = [part.dtype if isinstance(part, Value | np.ndarray | np.generic) else self.dtype
                 for part in (left, right)]  # fmt: skip
        dtype = np.result_type(*types)
        parts = (self.graph.value(part).to(dtype) if isinstance(part, Value)
                 else self.graph.value(np.asarray(part, dtype=dtype))
                 for part in (left, right))  # fmt: skip
        return self.graph.add(operator, *parts, dtype=dtype)


class Graph:
    """Nodes and constants, named as they come.

    Examples
    --------
    >>> graph = Graph()
    >>> graph.output("twice", graph.rows() * 2.0, [None, 3])
    >>> [node.op_type for node in graph.model(3, {}).graph.node]
    ['Cast', 'Mul', 'Cast']
    """

    def __init__(self) -> None:
        self._onnx = require("onnx", "onnx", "exporting a model")
        self._numpy = require("onnx.numpy_helper", "onnx", "exporting a model")
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outputs: list[Any] = []
        self._bytes = 0

    def rows(self) -> Value:
        """Return the input, X, in 64 bits."""
        return Value(self, "X", np.dtype(np.float32)).to(np.float64)

    def has_room(self, n_bytes: int) -> bool:
        """Tell whether constants of this size still fit into an ONNX file."""
        return self._bytes + n_bytes <= LARGEST

    def value(self, values: Any) -> Value:
        """Return a value as it is, an array or a number as a constant."""
        if isinstance(values, Value):
            return values
        values = np.ascontiguousarray(values).reshape(np.shape(values))
        if not self.has_room(values.nbytes):
            raise ModelFileError("the model is too large for an ONNX file (2 GiB)")
        self._bytes += values.nbytes
        name = f"c{len(self._constants)}"
        self._constants.append(self._numpy.from_array(values, name))
        return Value(self, name, values.dtype)

    def add(self, operator: str, *inputs: Any, dtype: Any = None, **attributes: Any) -> Value:
        """Apply an operator; the result has the type of the first input unless said otherwise."""
        given = [self.value(value) for value in inputs]
        (name,) = self._node(operator, given, 1, attributes)
        return Value(self, name, given[0].dtype if dtype is None else np.dtype(dtype))

    def top(self, values: Value, size: int) -> Value:
        """Return the places of the largest values of each row, in descending order."""
        given = [values, self.value(np.array([size]))]
        _, places = self._node("TopK", given, 2, {"axis": 1, "largest": 1, "sorted": 1})
        return Value(self, places, np.dtype(np.int64))

    def filled(self, like: Value, value: Array) -> Value:
        """Return one value in every place of an array of the same shape."""
        constant = self._numpy.from_array(value)
        return self.add("ConstantOfShape", self._shape(like), dtype=value.dtype, value=constant)

    def stretched(self, values: Any, like: Value) -> Value:
        """Return values in the shape of others."""
        return self.add("Expand", values, self._shape(like))

    def output(self, name: str, value: Value, shape: list[int | None]) -> None:
        """Make a value an output, in 32 bits."""
        helper, single = self._onnx.helper, self._onnx.TensorProto.FLOAT
        self._nodes.append(helper.make_node("Cast", [value.name], [name], to=single))
        self._outputs.append(helper.make_tensor_value_info(name, single, shape))

    def model(self, n_features: int, metadata: dict[str, str]) -> Any:
        """Return the graph as a model with one input, X, and texts about it."""
        helper, single = self._onnx.helper, self._onnx.TensorProto.FLOAT
        rows = helper.make_tensor_value_info("X", single, [None, n_features])
        graph = helper.make_graph(self._nodes, "grople", [rows], self._outputs, self._constants)
        model = helper.make_model(
            graph,
            opset_imports=[
                helper.make_opsetid("", OPERATORS),
                helper.make_opsetid("ai.onnx.ml", TREE_OPERATORS),
            ],
            ir_version=FILE_VERSION,
            producer_name="grople",
            producer_version=__version__,
        )
        helper.set_model_props(model, metadata)
        return model

    def type_number(self, dtype: np.dtype[Any]) -> int:
        """Return ONNX's number for a type of values."""
        return int(getattr(self._onnx.TensorProto, TYPES[dtype.name]))

    def _shape(self, like: Value) -> Value:
        return self.add("Shape", like, dtype=np.int64)

    def _node(
        self, operator: str, given: list[Value], n_results: int, attributes: dict[str, Any]
    ) -> list[str]:
        names = [f"n{len(self._nodes)}.{i}" for i in range(n_results)]
        inputs = [value.name for value in given]
        self._nodes.append(self._onnx.helper.make_node(operator, inputs, names, **attributes))
        return names
