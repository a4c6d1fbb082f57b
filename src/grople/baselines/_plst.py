"""PLST: principal label space transformation (Tai and Lin, 2012).

    min_E  ‖Yc − Yc E Eᵀ‖²,   EᵀE = I          E: the d leading eigenvectors of YcᵀYc
    min_Z  ‖X̃ Z − Yc E‖² + λ ‖Z‖²              scores  x̃ Z Eᵀ + ȳ

Y is ±1, Yc = Y − 1ȳᵀ, and X̃ the features with their intercept. Only YᵀY, X̃ᵀX̃ and X̃ᵀY are needed.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from grople.baselines._design import Design
from grople.baselines._label_embedding import CodeEmbedding
from grople.moments import LabelMoments
from grople.optim import top_eigenvectors
from grople.solver import LinearScores

__all__ = ["PLST"]

Array = NDArray[Any]


def principal_axes(labels: LabelMoments, size: int) -> Array:
    """Return the leading eigenvectors of YcᵀYc as columns."""
    means = labels.sums / labels.n

    def centred(W: Array) -> Array:
        return labels.signed_product(W) - labels.sums[:, None] * (means @ W)

    return top_eigenvectors(centred, labels.n_labels, size)[1]


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

    def _embed(self, design: Design, size: int, ridge: float) -> LinearScores:
        E = design.once(("axes", size), lambda: principal_axes(design.moments.labels, size))
        Z = design.solve(design.cross(E), ridge)
        return design.scores(Z, E.T)

    def _best_weight(self, design: Design) -> float:
        labels = design.moments.labels
        return design.best_ridge(principal_axes(labels, self._size(labels)))
