"""PLST: principal label space transformation (Tai and Lin, 2012).

    min_E  ‖Yc − Yc E Eᵀ‖²,   EᵀE = I          E: the d leading eigenvectors of YcᵀYc
    min_Z  ‖X̃ Z − Yc E‖² + λ ‖Z‖²              scores  x̃ Z Eᵀ + ȳ

Y is ±1, Yc = Y − 1ȳᵀ, and X̃ the features with their intercept. Only YᵀY, X̃ᵀX̃ and X̃ᵀY are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.baselines._design import Design
from grople.baselines._label_embedding import CodeEmbedding, Size, embedding_path
from grople.baselines._linear import Path
from grople.moments import LabelMoments, RealMoments
from grople.optim import top_eigenvectors

__all__ = ["PLST", "plst_path", "principal_axes"]

Array = NDArray[Any]


def principal_axes(labels: LabelMoments, size: int) -> Array:
    """Return the leading eigenvectors of YcᵀYc as columns.

    Examples
    --------
    >>> import numpy as np
    >>> labels = LabelMoments.of(np.array([[1, 1, 0], [0, 0, 0], [1, 1, 1], [0, 0, 1]]))
    >>> principal_axes(labels, 1).ravel().round(3) + 0.0
    array([0.707, 0.707, 0.   ])
    """
    means = labels.sums / labels.n

    def centred(W: Array) -> Array:
        return labels.signed_product(W) - np.multiply.outer(labels.sums, means @ W)

    return top_eigenvectors(centred, labels.n_labels, size)[1]


def plst(design: Design, size: int, ridges: Sequence[float]) -> Path:
    """Yield the scores for each ridge weight."""
    axes = principal_axes(design.moments.labels, size)
    for ridge, Z in design.solutions(design.cross(axes), ridges):
        yield {"ridge": ridge}, design.scores(Z, axes.T)


def plst_path(
    moments: RealMoments,
    sizes: Sequence[Size],
    ridges: Sequence[float],
    *,
    fit_intercept: bool | str = True,
) -> Path:
    """Yield settings of :class:`PLST` with their scores, from one set of moments.

    The axes of the labels are found once, those of fewer dimensions being the first of more; the
    ridge weights share the products with the features and, if they are many, one
    eigendecomposition of XᵀX.

    Parameters
    ----------
    moments : RealMoments
        Moments of the training rows: ``summarise(X, B).matrices()``, say.
    sizes, ridges : sequence
        Values of ``n_components`` and ``ridge``.
    fit_intercept : bool or "penalised"
        As in :class:`PLST`.

    Yields
    ------
    setting : dict
        The parameters that vary.
    scores : LinearScores
        What a fit with that setting scores.

    Examples
    --------
    >>> from grople import summarise
    >>> from grople.datasets import load
    >>> data = load("debtags-mini")
    >>> moments = summarise(data.X, data.Y).moments
    >>> [setting for setting, scores in plst_path(moments, [0.1, 0.2], [1.0])]
    [{'n_components': 0.1, 'ridge': 1.0}, {'n_components': 0.2, 'ridge': 1.0}]
    """
    return embedding_path(
        moments, sizes, fit_intercept, lambda design, size: plst(design, size, ridges)
    )


class PLST(CodeEmbedding):
    """Principal label space transformation: the label matrix by its principal axes.

    Parameters
    ----------
    n_components : int, float or "auto", default=100
        Latent dimensions (d), clipped to the number of labels; a float is a share of the labels,
        rounded up; ``"auto"`` takes as many as hold the spread of the labels, as in
        :class:`grople.GroPLE`.
    ridge : float or "auto", default="auto"
        Weight of the squared map (λ); ``"auto"`` by the error expected on unseen rows.
    fit_intercept : bool or "penalised", default=True
        Whether the regression has an intercept, without penalty. ``"penalised"`` is the published
        choice, a constant feature that is penalised like the others.
    decision : "sign", float, name or Rule, default="example_f1"
        How scores become labels; see :class:`grople.GroPLE`.
    max_kept_rows : int, default=20000
        Distinct rows kept, at most, to fit such a decision on held-out scores; see
        :class:`grople.GroPLE`.

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
    summary_, fitted_model_, classes_, label_names_in_, n_features_in_, feature_names_in_
        As in :class:`grople.GroPLE`.

    Examples
    --------
    >>> from grople.baselines import PLST
    >>> from grople.datasets import load
    >>> from grople.metrics import example_f1
    >>> data = load("debtags-mini")
    >>> X, Y = data.X[:, :500], data.Y
    >>> model = PLST(decision="sign").fit(X[:3000], Y[:3000])
    >>> example_f1(Y[3000:], model.predict(X[3000:])) > 0.3
    True
    """

    def _path(self, design: Design, size: int, ridges: Sequence[float]) -> Path:
        return plst(design, size, ridges)

    def _ridge_targets(self, labels: LabelMoments, size: int) -> Array:
        return principal_axes(labels, size)
