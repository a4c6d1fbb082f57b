"""A plain multi-output ridge regression on moments: what a user would try first.

    min_Z  ‖X̃ Z − Yc‖² + λ ‖Z‖²          scores  x̃ Z + ȳ

Y is ±1, Yc = Y − 1ȳᵀ, and X̃ the features with their intercept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from grople.baselines._design import Design
from grople.baselines._linear import RIDGE_PARAMETERS, LinearBaseline, Path, Report, varying_path
from grople.errors import Parameter
from grople.moments import RealMoments
from grople.solver import LinearScores

__all__ = ["Ridge", "ridge_path"]


def ridge_regression(design: Design, ridges: Sequence[float]) -> Path:
    """Yield the scores for each ridge weight."""
    cross = design.cross(np.eye(design.moments.n_labels))
    for ridge, Z in design.solutions(cross, ridges):
        yield {"ridge": ridge}, design.scores(Z)


def ridge_path(
    moments: RealMoments, ridges: Sequence[float], *, fit_intercept: bool | str = True
) -> Path:
    """Yield settings of :class:`Ridge` with their scores; see :func:`plst_path`."""
    return varying_path(
        moments, lambda varying: ridge_regression(Design(varying, fit_intercept), ridges)
    )


class Ridge(LinearBaseline):
    """Ridge regression of every label, learnt from moments.

    Parameters
    ----------
    ridge : float or "auto", default="auto"
        Weight of the squared coefficients (λ); ``"auto"`` by the error expected on unseen rows,
        for all labels together.
    fit_intercept : bool or "penalised", default=True
        Whether there is an intercept, without penalty. ``"penalised"``: a constant feature that
        is penalised like the others.
    decision, max_kept_rows
        As in :class:`grople.GroPLE`.

    Attributes
    ----------
    ridge_ : float
        The λ used.
    coef_, intercept_ : ndarray
        The scores as a linear function of the features.
    summary_, fitted_model_, classes_, label_names_in_, n_features_in_, feature_names_in_
        As in :class:`grople.GroPLE`.

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

    _parameters: ClassVar[dict[str, Parameter]] = RIDGE_PARAMETERS

    def __init__(
        self,
        ridge: float | str = "auto",
        *,
        fit_intercept: bool | str = True,
        decision: Any = "example_f1",
        max_kept_rows: int = 20_000,
    ) -> None:
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.decision = decision
        self.max_kept_rows = max_kept_rows

    @property
    def ridge_(self) -> float:
        """The λ used."""
        return self.fitted_model_.report.get("ridge", 0.0)

    def _learn(self, moments: RealMoments, chosen: Report | None) -> tuple[LinearScores, Report]:
        design = Design(moments, self.fit_intercept)
        ridge = chosen["ridge"] if chosen else self.ridge
        if isinstance(ridge, str):
            ridge = design.best_ridge(np.eye(moments.n_labels))
        ((_, scores),) = ridge_regression(design, [float(ridge)])
        return scores, {"ridge": float(ridge)}
