"""LLSF: learning label-specific features (Huang, Li, Huang and Wu, 2015).

    min_W  ½‖X W − B‖² + (α/2) tr(R WᵀW) + (γ/2) ‖W‖² + β ‖W‖₁          scores  2xW − 1

B is 0/1 and R says which labels should rely on similar features. The paper has no γ, and its
R = 1 − cosine of the label columns has negative eigenvalues, so that its objective has no minimum;
the default is the graph Laplacian of the positive correlations, solved to a certificate. GroPLE's
mapping is the same problem with other targets: this is that mapping with the labels Y = 2B − 1
themselves for targets, where Z = 2W minimises ‖XZ − Y‖² + α tr(RZᵀZ) + γ‖Z‖² + 4β‖Z‖₁.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from grople.baselines._design import Design, target_problem
from grople.baselines._linear import LinearBaseline, Path, Report, varying_path
from grople.errors import Choice, Number, Parameter, Whole
from grople.moments import RealMoments
from grople.optim import largest_eigenvalue
from grople.published import cosine_distance, published_descent, published_setting
from grople.solver import LinearScores, choose_gamma

__all__ = ["CORRELATIONS", "LLSF", "PublishedLLSF", "llsf_path"]

Array = NDArray[Any]

#: Forms of the correlation term.
CORRELATIONS = ("laplacian", "psd", "published", None)
#: The most steps of the published scheme.
PUBLISHED_STEPS = 100
#: The γ of its start where none is given.
PUBLISHED_START = 0.01


@dataclass(frozen=True)
class PublishedLLSF:
    """LLSF as published, without γ in the objective: a start, a step and a stopping rule.

    From ``(XᵀX + γI)^{-1}XᵀB`` at most 100 accelerated steps, which halt when the loss moves by at
    most 1e-4 or is not positive, as in the published stage 3 of GroPLE. Settings share what does
    not depend on them.

    Parameters
    ----------
    design : Design
        Features and labels.
    gram : callable, optional
        ``W ↦ XᵀXW`` in the precision of W, where the caller has a faster one than the design.
    dtype : dtype
        Precision of the steps.

    Examples
    --------
    >>> import numpy as np
    >>> from grople.moments import summarise
    >>> X, B = np.eye(3), np.array([[1, 0], [0, 1], [1, 1]])
    >>> problem = PublishedLLSF(Design(summarise(X, B).moments, fit_intercept=False))
    >>> scores, steps = problem.solve(alpha=0.0, beta=0.1, gamma=0.01)
    >>> scores(X).round(2).tolist()
    [[0.8, -1.0], [-1.0, 0.8], [0.8, 0.8]]
    """

    design: Design
    gram: Callable[[Array], Array] | None = None
    dtype: Any = np.float64

    @cached_property
    def cross(self) -> Array:
        """XᵀB."""
        return (self.design.label_cross + self.design.sums[:, None]) / 2.0

    @cached_property
    def distance(self) -> Array:
        """R, one minus the cosine of the label columns."""
        return cosine_distance(self.design.moments.labels.pairs())

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """The smallest (a bound from below) and largest eigenvalue of XᵀX."""
        matrix = self.design.gram_matrix
        if matrix is None:
            return 0.0, largest_eigenvalue(self.design.gram, len(self.cross))
        values = scipy.linalg.eigvalsh(matrix, check_finite=False)
        return max(float(values[0]), 0.0), float(values[-1])

    @cached_property
    def distance_extremes(self) -> tuple[float, float]:
        """The smallest and largest eigenvalue of R."""
        values = np.linalg.eigvalsh(self.distance)
        return float(values[0]), float(values[-1])

    def unbounded(self, alpha: float) -> bool:
        """Tell whether the objective falls below every value."""
        return self.extremes[0] + alpha * self.distance_extremes[0] < 0.0

    @cached_property
    def _starts(self) -> dict[float, Array]:
        return {}

    def _start(self, gamma: float) -> Array:
        if gamma not in self._starts:
            ((_, self._starts[gamma]),) = self.design.solutions(self.cross, [gamma])
        return self._starts[gamma]

    def solve(self, alpha: float, beta: float, gamma: float) -> tuple[LinearScores, int]:
        """Return the scores where the published scheme halts, and after how many steps."""
        design = self.design
        counts = design.moments.labels.counts
        size = float(counts.sum())
        if design.centred:
            size -= float(np.square(counts).sum()) / design.moments.n
        steepest = alpha * max(map(abs, self.distance_extremes))
        W, losses = published_descent(
            self.gram or design.gram,
            self.cross.astype(self.dtype),
            (alpha * self.distance).astype(self.dtype),
            beta,
            constant=size,
            lipschitz=math.sqrt(2.0 * (self.extremes[1] ** 2 + steepest**2)),
            start=self._start(gamma).astype(self.dtype),
            max_iter=PUBLISHED_STEPS,
        )
        offset = design.label_means if design.centred else np.full(len(counts), -1.0)
        return design.scores(2.0 * W, offset=offset), len(losses)


def llsf_path(
    moments: RealMoments,
    alphas: Sequence[float],
    betas: Sequence[float],
    gammas: Sequence[float],
    *,
    correlation: str | None = "laplacian",
    fit_intercept: bool = True,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> Path:
    """Yield settings of :class:`LLSF` with their scores; see :func:`plst_path`.

    All settings share the products and decompositions, and each β starts from its neighbour's
    solution (not with ``correlation="published"``, whose result depends on the start).
    """

    def solve(varying: RealMoments) -> Path:
        settings = (
            {"alpha": alpha, "gamma": gamma, "beta": beta}
            for alpha, gamma, beta in itertools.product(alphas, gammas, betas)
        )
        if correlation == "published":
            published = PublishedLLSF(Design(varying, fit_intercept))
            for setting in settings:
                yield setting, published.solve(**setting)[0]
            return
        problem = target_problem(varying, np.eye(varying.n_labels), correlation, fit_intercept)
        start = None
        for setting in settings:
            mapping = problem.solve(
                setting["alpha"], 4.0 * setting["beta"], setting["gamma"],
                start=start, tol=tol, max_iter=max_iter,
            )  # fmt: skip
            start = mapping.Z
            yield setting, LinearScores(mapping.Z, mapping.intercept)

    return varying_path(moments, solve)


class LLSF(LinearBaseline):
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
    decision : "sign", float, name or Rule, default="example_f1"
        How scores become labels; see :class:`grople.GroPLE`. Scores are those of ±1 labels, so
        that ``"sign"`` is the paper's threshold of ½ on 0/1.
    max_kept_rows : int, default=20000
        As in :class:`PLST`.
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

    _parameters: ClassVar[dict[str, Parameter]] = {
        "alpha": Number(),
        "beta": Number(),
        "gamma": Number(words=("auto",)),
        "correlation": Choice(CORRELATIONS),
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

    @classmethod
    def published(cls, name: str, **parameters: Any) -> Self:
        """Return the setting behind the published table for a data set.

        Parameters
        ----------
        name : str
            One of the paper's data sets (a suffix as in ``"genbase-authors"`` is fine).
        **parameters
            Parameters to set otherwise.

        Examples
        --------
        >>> LLSF.published("corel5k").alpha
        1000.0
        """
        reference: dict[str, Any] = {
            "correlation": "published",
            "fit_intercept": False,
            "decision": "sign",
        }
        return cls(**(reference | published_setting("LLSF", name) | parameters))

    @property
    def gamma_(self) -> float:
        """The γ used."""
        return self.fitted_model_.report.get("gamma", 0.0)

    @property
    def n_iter_(self) -> int:
        """Steps taken, at least one."""
        return max(1, self.fitted_model_.report.get("n_iter", 1))

    def _learn(self, moments: RealMoments, chosen: Report | None) -> tuple[LinearScores, Report]:
        if self.correlation == "published":
            return self._learn_as_published(moments, warn=chosen is None)
        every, intercept = np.eye(moments.n_labels), bool(self.fit_intercept)
        problem = target_problem(moments, every, self.correlation, intercept)
        gamma = chosen["gamma"] if chosen else self.gamma
        gamma = choose_gamma(problem) if isinstance(gamma, str) else float(gamma)
        mapping = problem.solve(
            self.alpha, 4.0 * self.beta, gamma, tol=self.tol, max_iter=self.max_iter
        )
        if not mapping.converged and chosen is None:
            warnings.warn(
                f"LLSF stopped after {mapping.n_iter} steps at a relative gap of "
                f"{mapping.gap:.1e} (tol={self.tol:g}): raise max_iter, gamma, or scale features",
                ConvergenceWarning,
                stacklevel=2,
            )
        report = {"gamma": gamma, "n_iter": mapping.n_iter}
        return LinearScores(mapping.Z, mapping.intercept), report

    def _learn_as_published(
        self, moments: RealMoments, *, warn: bool
    ) -> tuple[LinearScores, Report]:
        problem = PublishedLLSF(Design(moments, bool(self.fit_intercept)))
        if warn and problem.unbounded(self.alpha):
            warnings.warn(
                "The published correlation term makes the objective unbounded below here "
                "(λ_min(XᵀX) + α·λ_min(R) < 0): the weights are where the published stopping rule "
                "halts, not a minimum. correlation='laplacian' is the convex form.",
                UserWarning,
                stacklevel=2,
            )
        gamma = PUBLISHED_START if isinstance(self.gamma, str) else float(self.gamma)
        scores, n_iter = problem.solve(float(self.alpha), float(self.beta), gamma)
        return scores, {"gamma": gamma, "n_iter": n_iter}
