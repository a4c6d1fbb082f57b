"""A plain multi-output ridge regression on moments: what a user would try first.

    min_Z  ‖X̃ Z − Yc‖² + λ ‖Z‖²          scores  x̃ Z + ȳ

Y is ±1, Yc = Y − 1ȳᵀ, and X̃ the features with their intercept.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from grople.baselines._design import Design
from grople.baselines._linear import RIDGE_PARAMETERS, LinearBaseline, Report
from grople.errors import Parameter
from grople.solver import LinearScores

__all__ = ["Ridge"]


class Ridge(LinearBaseline):
    """Ridge regression of every label, learnt from moments.

    Parameters
    ----------
    ridge : float or "auto", default="auto"
        Weight of the squared coefficients (λ), for all labels together.
    fit_intercept, decision, max_kept_rows
        As in :class:`PLST`.

    Attributes
    ----------
    ridge_ : float
        The λ used.
    coef_, intercept_, summary_, fitted_model_
        As in :class:`PLST`.

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

    def _learn(self, design: Design, weight: float) -> tuple[LinearScores, Report]:
        every = np.eye(design.moments.n_labels)
        return design.scores(design.solve(design.cross(every), weight)), {}
