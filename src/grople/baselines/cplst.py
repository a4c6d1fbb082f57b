"""CPLST: conditional principal label space transformation (Chen and Lin, 2012).

    max_E  tr(Eᵀ YcᵀH Yc E),   EᵀE = I          H = X (XᵀX + λI)^{-1} Xᵀ
    min_Z  ‖X̃ Z − Yc E‖² + λ ‖Z‖²               scores  x̃ Z Eᵀ + ȳ

PLST along the axes of the labels that the features can predict. With P = (XᵀX + λI)^{-1}XᵀYc, the
regression of all labels, YcᵀHYc is YcᵀX P, and Z is P E.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from grople.baselines.design import Design
from grople.baselines.linear_embedding import CodeEmbedding, Path, Size, embedding_path
from grople.linear import LinearScores
from grople.moments import Moments
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
    moments: Moments,
    sizes: Sequence[Size],
    ridges: Sequence[float],
    *,
    fit_intercept: bool | str = True,
    scale: bool = False,
) -> Path:
    """Yield settings of :class:`CPLST` with their scores, from one set of moments.

    Each ridge weight has its own axes, those of fewer dimensions being the first of more.

    Parameters
    ----------
    moments : Moments
        Moments of the training rows.
    sizes : sequence
        Values of ``n_components``.
    ridges : sequence of float
        Values of ``ridge``.
    fit_intercept, scale
        As in :class:`CPLST`.

    Yields
    ------
    setting : dict
        ``n_components`` and ``ridge``.
    scores : LinearScores
        What ``CPLST(**setting)`` scores.

    Examples
    --------
    >>> from grople.datasets import load
    >>> data = load("debtags-mini")
    >>> moments = Moments.from_data(data.X, data.Y)
    >>> [setting for setting, scores in cplst_path(moments, [10, 20], [1.0])]
    [{'n_components': 10, 'ridge': 1.0}, {'n_components': 20, 'ridge': 1.0}]
    """
    return embedding_path(
        moments, sizes, fit_intercept, scale, lambda design, size: cplst(design, size, ridges)
    )


class CPLST(CodeEmbedding):
    """Conditional principal label space transformation: the predictable axes of the labels.

    Parameters
    ----------
    n_components : int, float or "auto", default=100
        Latent dimensions (d), clipped to the number of labels; a float is a share of the labels,
        rounded up; ``"auto"`` takes as many as hold 95 % of the spread of the labels.
    ridge : float or "auto", default="auto"
        Weight of the squared map (λ), in the regression and in what counts as predictable;
        ``"auto"`` by generalised cross-validation.
    fit_intercept : bool or "penalised", default=True
        Whether the regression has an intercept, without penalty. ``"penalised"`` is the published
        choice, a constant feature that is penalised like the others and left out of H.
    scale : bool, default=False
        Whether features are divided by their standard deviation (from moments, training rows only).
    decision : "sign", float, name or Rule, default="example_f1"
        How scores become labels; see :class:`grople.GroPLE`.
    reservoir_size : int, default=20000
        Rows kept, at most, to fit such a decision on out-of-fold scores.
    row_check : bool, default=False
        Whether to keep a fingerprint of every row, so that ``forget`` refuses rows never added.
    form : {"auto", "explicit", "implicit"}, default="auto"
        Form of the moments: matrices, or (for many features) the sparse rows themselves.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_labels)
        Eᵀ, the axes.
    mapping_ : ndarray of shape (n_features, d)
        Z, the map from features to points.
    ridge_ : float
        The λ used.
    coef_, intercept_ : ndarray
        The scores as a linear function of the features.
    moments_ : Moments
        What the model was learnt from.
    classes_, label_names_in_, n_features_in_, feature_names_in_
        As in scikit-learn; ``label_names_in_`` are the column names of a DataFrame of labels.

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

    _published: ClassVar[dict[str, dict[str, Any]]] = {
        "genbase": {"n_components": 0.8, "ridge": 0.1},
        "medical": {"n_components": 0.8, "ridge": 1.0},
        "CAL500": {"n_components": 0.2, "ridge": 1e-3},
        "corel5k": {"n_components": 0.4, "ridge": 1e-4},
        "rcv1subset1": {"n_components": 0.6, "ridge": 0.1},
        "rcv1subset2": {"n_components": 0.7, "ridge": 0.1},
        "rcv1subset3": {"n_components": 0.5, "ridge": 1e-4},
        "bibtex": {"n_components": 0.8, "ridge": 1e-4},
        "corel16k001": {"n_components": 0.5, "ridge": 0.1},
        "delicious": {"n_components": 0.3, "ridge": 1e-4},
    }

    def _embed(self, design: Design, size: int, ridge: float) -> LinearScores:
        ((_, scores),) = cplst(design, size, [ridge])
        return scores
