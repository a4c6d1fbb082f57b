"""Checksummed, code-free model files; ONNX."""

from grople.io._model_file import FORMAT_VERSION, SavedModel, load_model, read_model, save_model
from grople.io._onnx import export_onnx

__all__ = [
    "FORMAT_VERSION",
    "SavedModel",
    "export_onnx",
    "load_model",
    "read_model",
    "save_model",
]
