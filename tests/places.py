"""Namespaces that tests of device code run over, as far as they are installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grople.arrays import Place


def places() -> list[Any]:
    """Return a parameter for PyTorch on the processor and one for the strict namespace."""
    return [pytest.param(library, id=library) for library in ("torch", "array_api_strict")]


def place(library: str) -> Place:
    """Return the place, or skip the test where its library is not installed."""
    pytest.importorskip("array_api_compat")
    module = pytest.importorskip(library)
    return Place(library, module.asarray(np.zeros(1)).device)
