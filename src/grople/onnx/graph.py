"""An ONNX graph under construction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople import __version__
from grople.errors import ModelFileError, require

__all__ = ["Graph"]

Array = NDArray[Any]

#: Versions of the operators and of the file, old enough for runtimes of the last years.
OPERATORS, FILE_VERSION = 17, 8
#: Bytes that an ONNX file can hold (it is one protobuf message), less some for the graph itself.
LARGEST = (1 << 31) - (1 << 20)


class Graph:
    """Nodes and constants, named as they come; a value is known by its name.

    Examples
    --------
    >>> graph = Graph()
    >>> graph.output("twice", graph.add("Mul", graph.double("X"), 2.0), [None, 3])
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

    def constant(self, values: Any) -> str:
        """Add an array or a number, and return its name."""
        values = np.ascontiguousarray(values).reshape(np.shape(values))
        self._bytes += values.nbytes
        if self._bytes > LARGEST:
            raise ModelFileError("the model is too large for an ONNX file (2 GiB)")
        name = f"c{len(self._constants)}"
        self._constants.append(self._numpy.from_array(values, name))
        return name

    def add(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Apply an operator to values, arrays and numbers, and return the name of its result."""
        return self.add_several(1, operator, *inputs, **attributes)[0]

    def add_several(self, n: int, operator: str, *inputs: Any, **attributes: Any) -> list[str]:
        """Apply an operator with several results."""
        given = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        names = [f"n{len(self._nodes)}.{i}" for i in range(n)]
        self._nodes.append(self._onnx.helper.make_node(operator, given, names, **attributes))
        return names

    def double(self, value: str) -> str:
        """Return a value in 64 bits."""
        return self.add("Cast", value, to=self._onnx.TensorProto.DOUBLE)

    def single(self, value: str) -> str:
        """Return a value in 32 bits."""
        return self.add("Cast", value, to=self._onnx.TensorProto.FLOAT)

    def filled(self, like: str, value: Array) -> str:
        """Return one value in every place of an array of the same shape."""
        shape = self.add("Shape", like)
        return self.add("ConstantOfShape", shape, value=self._numpy.from_array(value))

    def output(self, name: str, value: str, shape: list[int | None]) -> None:
        """Make a value an output, in 32 bits."""
        helper, single = self._onnx.helper, self._onnx.TensorProto.FLOAT
        self._nodes.append(helper.make_node("Cast", [value], [name], to=single))
        self._outputs.append(helper.make_tensor_value_info(name, single, shape))

    def model(self, n_features: int, metadata: dict[str, str]) -> Any:
        """Return the graph as a model with one input, X, and texts about it."""
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
