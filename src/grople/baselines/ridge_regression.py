"""A plain multi-output ridge regression on moments: what a user would try first.

    min_Z  ‖X̃ Z − Yc‖² + λ ‖Z‖²          scores  x̃ Z + ȳ

Y is ±1, Yc = Y − 1ȳᵀ, and X̃ the features with their intercept.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import numpy as np
from sklearn.callback import CallbackContext

from grople.active import learn_active_labels
from grople.baselines.design import Design
from grople.baselines.linear_embedding import EmbeddingModel, Path, active_path, ridge_weight, step
from grople.linear import LinearScores
from grople.moments import Moments
from grople.parameters import Flag, Number, Parameter
from grople.streaming import MomentClassifier

__all__ = ["Ridge", "ridge_path"]


def ridge_scores(design: Design, ridges: Sequence[float]) -> Path:
    """Yield the scores for each ridge weight."""
    cross = design.cross(np.eye(design.moments.n_labels))
    for ridge, Z in design.solutions(cross, ridges):
        yield {"ridge": ridge}, design.scores(Z)


def ridge_path(
    moments: Moments,
    ridges: Sequence[float],
    *,
    fit_intercept: bool | str = True,
    scale: bool = False,
) -> Path:
    """Yield settings of :class:`Ridge` with their scores, from one set of moments.

    Parameters
    ----------
    moments : Moments
        Moments of the training rows.
    ridges : sequence of float
        Values of ``ridge``.
    fit_intercept, scale
        As in :class:`Ridge`.

    Yields
    ------
    setting : dict
        ``ridge``.
    scores : LinearScores
        What ``Ridge(**setting)`` scores.

    Examples
    --------
    >>> from grople.datasets import load
    >>> data = load("debtags-mini")
    >>> moments = Moments.from_data(data.X[:, :100], data.Y)
    >>> [setting for setting, scores in ridge_path(moments, [1.0, 10.0])]
    [{'ridge': 1.0}, {'ridge': 10.0}]
    """
    return active_path(
        moments, lambda active: ridge_scores(Design(active, fit_intercept, scale), ridges)
    )


class Ridge(MomentClassifier):
    """Ridge regression of every label, learnt from moments.

    Parameters
    ----------
    ridge : float or "auto", default="auto"
        Weight of the squared coefficients (λ); ``"auto"`` by generalised cross-validation over all
        labels together.
    fit_intercept : bool or "penalised", default=True
        Whether there is an intercept, without penalty. ``"penalised"``: a constant feature that
        is penalised like the others.
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
    >>> from grople.baselines import Ridge
    >>> from grople.datasets import load
    >>> from grople.metrics import example_f1
    >>> data = load("debtags-mini")
    >>> X, Y = data.X[:, :500], data.Y
    >>> model = Ridge(decision="sign").fit(X[:3000], Y[:3000])
    >>> example_f1(Y[3000:], model.predict(X[3000:])) > 0.3
    True
    """

    _parameters: ClassVar[dict[str, Parameter]] = {
        "ridge": Number(words=("auto",)),
        "fit_intercept": Flag(words=("penalised",)),
    }

    def __init__(
        self,
        ridge: float | str = "auto",
        *,
        fit_intercept: bool | str = True,
        scale: bool = False,
        decision: str | float = "example_f1",
        reservoir_size: int = 20_000,
        row_check: bool = False,
        form: str = "auto",
    ) -> None:
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.decision = decision
        self.reservoir_size = reservoir_size
        self.row_check = row_check
        self.form = form

    @property
    def ridge_(self) -> float:
        """The λ used."""
        return self._model().ridge

    def _learn(
        self,
        moments: Moments,
        reference: EmbeddingModel | None = None,
        context: CallbackContext | None = None,
    ) -> EmbeddingModel:
        def solve(active: Moments) -> tuple[float, LinearScores]:
            design = Design(active, self.fit_intercept, self.scale)
            with step(self, context, "ridge weight"):
                every = partial(np.eye, active.n_labels)
                ridge = ridge_weight(design, self.ridge, reference, every)
            with step(self, context, "regression"):
                ((_, scores),) = ridge_scores(design, [ridge])
            return ridge, scores

        ridge, scores, _ = learn_active_labels(moments, solve)
        return EmbeddingModel(scores, ridge)
