"""CPLST: conditional principal label space transformation (Chen and Lin, 2012).

    max_E  tr(Eᵀ YcᵀH Yc E),   EᵀE = I          H = X (XᵀX + λI)^{-1} Xᵀ
    min_Z  ‖X̃ Z − Yc E‖² + λ ‖Z‖²               scores  x̃ Z Eᵀ + ȳ

PLST along the axes of the labels that the features can predict. With P = (XᵀX + λI)^{-1}XᵀYc, the
regression of all labels, YcᵀHYc is YcᵀX P, and Z is P E.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.baselines._design import Design
from grople.baselines._label_embedding import CodeEmbedding
from grople.optim import top_eigenvectors
from grople.solver import LinearScores

__all__ = ["CPLST", "predictable_axes"]

Array = NDArray[Any]


def predictable_axes(cross: Array, P: Array, size: int) -> Array:
    """Return the leading eigenvectors of YcᵀHYc as columns, from XᵀYc and the regression P."""
    gram = cross.T @ P
    return top_eigenvectors(gram.__matmul__, len(gram), size)[1]


class CPLST(CodeEmbedding):
    """Conditional principal label space transformation: the predictable axes of the labels.

    Parameters
    ----------
    n_components, decision, max_kept_rows
        As in :class:`PLST`.
    ridge : float or "auto", default="auto"
        Weight of the squared map (λ), in the regression and in what counts as predictable.
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

    def _embed(self, design: Design, size: int, ridge: float) -> LinearScores:
        every = np.eye(design.moments.n_labels)
        free = design.without_constant  # H has no constant feature
        cross = free.cross(every)
        P = free.solve(cross, ridge)
        E = predictable_axes(cross, P, size)
        Z = P @ E if free is design else design.solve(design.cross(E), ridge)
        return design.scores(Z, E.T)
