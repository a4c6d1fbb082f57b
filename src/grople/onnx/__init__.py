"""Models for other programs: scores and probabilities as an ONNX graph.

The graph takes rows as 32-bit floats and computes in 64 bits, as the library does; what it
returns is 32 bits again. Only standard operators are used.
"""

from grople.onnx.export import export_onnx

__all__ = ["export_onnx"]
