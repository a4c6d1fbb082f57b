"""Which dimensions of the latent space should have similar maps: the matrix R of stage 3."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.optim import Spectrum

__all__ = ["CORRELATIONS", "correlation_matrix"]

Array = NDArray[Any]

#: What ``correlation`` accepts.
CORRELATIONS = ("laplacian", "psd", "published", None)


def correlation_matrix(point_gram: Array, form: str | None) -> Array:
    """Return R for the points whose Gram matrix is given.

    ``"laplacian"``: diag(A1) − A with A the positive correlations; ``"psd"``: the paper's 1 − C
    without its negative part; None: zero.

    Examples
    --------
    >>> import numpy as np
    >>> correlation_matrix(np.array([[1.0, 0.5], [0.5, 1.0]]), "laplacian")
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    d = len(point_gram)
    if form is None or form == "published":
        return np.zeros((d, d))
    length = np.sqrt(np.maximum(np.diagonal(point_gram), 0.0))
    inverse = np.divide(1.0, length, out=np.zeros(d), where=length > 0)
    correlation = np.clip(point_gram * np.multiply.outer(inverse, inverse), -1.0, 1.0)
    if form == "laplacian":
        affinity = np.maximum(correlation, 0.0)
        np.fill_diagonal(affinity, 0.0)
        return np.diag(affinity.sum(axis=1)) - affinity
    np.fill_diagonal(correlation, 1.0)
    spectrum = Spectrum.of(1.0 - correlation)
    return (spectrum.vectors * np.maximum(spectrum.values, 0.0)) @ spectrum.vectors.T
