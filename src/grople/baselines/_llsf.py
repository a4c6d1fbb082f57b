"""LLSF: learning label-specific features (Huang, Li, Huang and Wu, 2015).

    min_W  ½‖X W − B‖² + (α/2) tr(R WᵀW) + (γ/2) ‖W‖² + β ‖W‖₁          scores  2xW − 1

B is 0/1 and R says which labels should rely on similar features. The paper has no γ, and its
R = 1 − cosine of the label columns has negative eigenvalues, so that its objective has no minimum;
the default is the graph Laplacian of the positive correlations, solved to a certificate. GroPLE's
mapping is the same problem with other targets: this is that mapping with the labels Y = 2B − 1
themselves for targets, where Z = 2W minimises ‖XZ − Y‖² + α tr(RZᵀZ) + γ‖Z‖² + 4β‖Z‖₁.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from grople.baselines._design import Design
from grople.baselines._linear import LinearBaseline, PublishedSettings, Report
from grople.errors import Choice, Flag, Number, Parameter, Whole
from grople.optim import largest_eigenvalue
from grople.published import PublishedProblem, cosine_distance
from grople.solver import LinearScores, choose_gamma

__all__ = ["CORRELATIONS", "LLSF"]

#: Forms of the correlation term.
CORRELATIONS = ("laplacian", "psd", "published", None)
#: The most steps of the published scheme, and the γ of its start where none is given.
PUBLISHED_STEPS, PUBLISHED_START = 100, 0.01


def published_problem(design: Design) -> PublishedProblem:
    """Return the published objective, without γ, of 0/1 labels."""
    labels = design.moments.labels
    sums = np.zeros(len(design.mean)) if design.centred else design.seen.feature_sum
    cross = (design.label_cross + sums[:, None]) / 2.0  # XᵀB
    squares = float(labels.counts.sum())
    if design.centred:
        squares -= float(np.square(labels.counts).sum()) / labels.n
    matrix = design.gram_matrix
    if matrix is None:
        extremes = 0.0, largest_eigenvalue(design.gram, len(cross))
    else:
        values = scipy.linalg.eigvalsh(matrix, check_finite=False)
        extremes = max(float(values[0]), 0.0), float(values[-1])
    return PublishedProblem(design.gram, cross, cosine_distance(labels.pairs()), squares, extremes)


class LLSF(PublishedSettings, LinearBaseline):
    """Learning label-specific features: sparse weights, alike for correlated labels.

    Parameters
    ----------
    alpha : float, default=0.1
        Weight of the correlation between labels (α).
    beta : float, default=0.0
        Weight of ‖W‖₁ (β); zero has a closed form.
    gamma : float or "auto", default="auto"
        Weight of ‖W‖² (γ); ``"auto"`` by the error expected on unseen rows. With
        ``correlation="published"`` it only makes the start (``"auto"``: 0.01).
    correlation : {"laplacian", "psd", "published", None}, default="laplacian"
        Form of the correlation term. ``"published"`` is the paper's, unbounded below, with 0/1
        labels and the reference start, step and stop.
    fit_intercept : bool, default=True
        Whether there is an intercept, without penalty. Without one the labels are ±1 (0/1 with
        ``correlation="published"``).
    decision, max_kept_rows
        As in :class:`PLST`. Scores are those of ±1 labels, so that ``"sign"`` is the paper's
        threshold of ½ on 0/1.
    tol : float, default=1e-4
        Certified relative accuracy at which the solver stops.
    max_iter : int, default=1000
        The most steps.

    Attributes
    ----------
    gamma_ : float
        The γ used.
    n_iter_ : int
        Steps taken, at least one.
    coef_, intercept_, summary_, fitted_model_
        As in :class:`PLST`.

    Notes
    -----
    The method's authors scale rows to unit length, the published comparison did not:
    :class:`sklearn.preprocessing.Normalizer` in a pipeline does.

    Examples
    --------
    >>> from grople.baselines import LLSF
    >>> from grople.datasets import load
    >>> from grople.metrics import example_f1
    >>> data = load("debtags-mini")
    >>> X, Y = data.X[:, :500], data.Y
    >>> model = LLSF(decision="sign").fit(X[:3000], Y[:3000])
    >>> example_f1(Y[3000:], model.predict(X[3000:])) > 0.3
    True
    """

    _weight = "gamma"
    _parameters: ClassVar[dict[str, Parameter]] = {
        "alpha": Number(),
        "beta": Number(),
        "gamma": Number(words=("auto",)),
        "correlation": Choice(CORRELATIONS),
        "fit_intercept": Flag(),
        "max_kept_rows": Whole(0),
        "tol": Number(),
        "max_iter": Whole(1),
    }

    def __init__(
        self,
        alpha: float = 0.1,
        beta: float = 0.0,
        gamma: float | str = "auto",
        *,
        correlation: str | None = "laplacian",
        fit_intercept: bool = True,
        decision: Any = "example_f1",
        max_kept_rows: int = 20_000,
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.correlation = correlation
        self.fit_intercept = fit_intercept
        self.decision = decision
        self.max_kept_rows = max_kept_rows
        self.tol = tol
        self.max_iter = max_iter

    @property
    def gamma_(self) -> float:
        """The γ used."""
        return self.fitted_model_.report.get("gamma", 0.0)

    @property
    def n_iter_(self) -> int:
        """Steps taken, at least one."""
        return max(1, self.fitted_model_.report.get("n_iter", 1))

    def _learn(self, design: Design, weight: float) -> tuple[LinearScores, Report]:
        if self.correlation == "published":
            return self._learn_as_published(design, weight)
        found = self._problem(design).solve(
            self.alpha, 4.0 * self.beta, weight, tol=self.tol, max_iter=self.max_iter
        )
        report = {"n_iter": found.n_iter, "gap": found.gap, "converged": found.converged}
        return LinearScores(found.Z, found.intercept), report

    def _problem(self, design: Design) -> Any:
        return design.once(
            ("mapping", self.correlation),
            lambda: design.mapping(np.eye(design.moments.n_labels), self.correlation),
        )

    def _learn_as_published(self, design: Design, gamma: float) -> tuple[LinearScores, Report]:
        problem = design.once("published", lambda: published_problem(design))
        start = design.once(("start", gamma), lambda: design.solve(problem.target, gamma))
        found = problem.solve(float(self.alpha), float(self.beta), start, PUBLISHED_STEPS)
        offset = design.label_means if design.centred else np.full(design.moments.n_labels, -1.0)
        report = {"n_iter": found.n_iter, "unbounded": found.unbounded}
        return design.scores(2.0 * found.Z, offset=offset), report

    def _best_weight(self, design: Design) -> float:
        if self.correlation == "published":
            return PUBLISHED_START
        return choose_gamma(self._problem(design))

    def _warn(self, report: Report) -> None:
        if report.get("unbounded", False):
            warnings.warn(
                "The published correlation term makes the objective unbounded below here "
                "(λ_min(XᵀX) + α·λ_min(R) < 0): the weights are where the published stopping rule "
                "halts, not a minimum. correlation='laplacian' is the convex form.",
                UserWarning,
                stacklevel=2,
            )
        if not report.get("converged", True):
            warnings.warn(
                f"LLSF stopped after {report['n_iter']} steps at a relative gap of "
                f"{report['gap']:.1e} (tol={self.tol:g}): raise max_iter, gamma, or scale features",
                ConvergenceWarning,
                stacklevel=2,
            )
