"""CPLST: conditional principal label space transformation (Chen and Lin, 2012).

    max_E  tr(Eᵀ YcᵀH Yc E),   EᵀE = I          H = X (XᵀX + λI)^{-1} Xᵀ
    min_Z  ‖X̃ Z − Yc E‖² + λ ‖Z‖²               scores  x̃ Z Eᵀ + ȳ

PLST along the axes of the labels that the features can predict. With P = (XᵀX + λI)^{-1}XᵀYc, the
regression of all labels, YcᵀHYc is YcᵀX P, and Z is P E.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.baselines._design import Design
from grople.baselines._label_embedding import CodeEmbedding, Size, embedding_path
from grople.baselines._linear import Path
from grople.moments import RealMoments
from grople.optim import top_eigenvectors

__all__ = ["CPLST", "cplst_path", "predictable_axes"]

Array = NDArray[Any]


def predictable_axes(cross: Array, P: Array, size: int) -> Array:
    """Return the leading eigenvectors of YcᵀHYc as columns, from XᵀYc and the regression P.

    Examples
    --------
    >>> import numpy as np
    >>> cross = np.array([[2.0, 0.0], [0.0, 1.0]])
    >>> predictable_axes(cross, cross / 2.0, 1).ravel().tolist()
    [1.0, 0.0]
    """
    gram = cross.T @ P
    return top_eigenvectors(gram.__matmul__, len(gram), size)[1]


def cplst(design: Design, size: int, ridges: Sequence[float]) -> Path:
    """Yield the scores for each ridge weight.

    Where the intercept is penalised, H has none, as published; so there are two regressions.
    """
    every = np.eye(design.moments.n_labels)
    seen = design.without_constant
    cross = seen.cross(every)
    predicted = seen.solutions(cross, ridges)
    biased = design.solutions(design.cross(every), ridges) if design.penalised else repeat(None)
    for (ridge, P), pair in zip(predicted, biased, strict=False):
        axes = predictable_axes(cross, P, size)
        Z = P @ axes if pair is None else pair[1] @ axes
        yield {"ridge": ridge}, design.scores(Z, axes.T)


def cplst_path(
    moments: RealMoments,
    sizes: Sequence[Size],
    ridges: Sequence[float],
    *,
    fit_intercept: bool | str = True,
) -> Path:
    """Yield settings of :class:`CPLST` with their scores; see :func:`plst_path`.

    Each ridge weight has its own axes, those of fewer dimensions being the first of more.
    """
    return embedding_path(
        moments, sizes, fit_intercept, lambda design, size: cplst(design, size, ridges)
    )


class CPLST(CodeEmbedding):
    """Conditional principal label space transformation: the predictable axes of the labels.

    Parameters
    ----------
    n_components, decision, max_kept_rows
        As in :class:`PLST`.
    ridge : float or "auto", default="auto"
        Weight of the squared map (λ), in the regression and in what counts as predictable;
        ``"auto"`` by the error expected on unseen rows.
    fit_intercept : bool or "penalised", default=True
        As in :class:`PLST`; a penalised constant feature is left out of H.

    Attributes
    ----------
    components_, mapping_, ridge_, coef_, intercept_, summary_, fitted_model_
        As in :class:`PLST`; the components are Eᵀ, the axes.

    Examples
    --------
    >>> from grople.baselines import CPLST
    >>> from grople.datasets import load
    >>> from grople.metrics import example_f1
    >>> data = load("debtags-mini")
    >>> X, Y = data.X[:, :500], data.Y
    >>> model = CPLST(decision="sign").fit(X[:3000], Y[:3000])
    >>> example_f1(Y[3000:], model.predict(X[3000:])) > 0.3
    True
    """

    def _path(self, design: Design, size: int, ridges: Sequence[float]) -> Path:
        return cplst(design, size, ridges)
