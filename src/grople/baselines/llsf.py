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
from sklearn.callback import CallbackContext
from sklearn.exceptions import ConvergenceWarning

from grople.active import learn_active_labels
from grople.baselines.design import Design, target_problem
from grople.baselines.linear_embedding import Path, active_path, step
from grople.baselines.settings import published_setting
from grople.linear import LinearScores
from grople.moments import Moments
from grople.optim import largest_eigenvalue
from grople.parameters import Choice, Number, Parameter, Whole
from grople.published import cosine_distance, published_descent
from grople.relation import CORRELATIONS
from grople.ridge import choose_ridge
from grople.streaming import MomentClassifier

__all__ = ["LLSF", "PublishedLLSF", "llsf_path"]

Array = NDArray[Any]

#: The most steps of the published scheme.
PUBLISHED_STEPS = 100
#: The γ of its start where none is given.
PUBLISHED_START = 0.01


@dataclass(frozen=True)
class LLSFModel:
    """Scores, the γ they were learnt with, and the steps it took."""

    scores: LinearScores
    gamma: float
    n_iter: int


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
    >>> X, B = np.eye(3), np.array([[1, 0], [0, 1], [1, 1]])
    >>> problem = PublishedLLSF(Design(Moments.from_data(X, B), fit_intercept=False))
    >>> problem.solve(alpha=0.0, beta=0.1, gamma=0.01).scores(X).round(2).tolist()
    [[0.8, -1.0], [-1.0, 0.8], [0.8, 0.8]]
    """

    design: Design
    gram: Callable[[Array], Array] | None = None
    dtype: Any = np.float64

    @cached_property
    def cross(self) -> Array:
        """XᵀB."""
        signed = self.design.view.target(np.eye(self.design.moments.n_labels))
        return (signed + self.design.sums[:, None]) / 2.0

    @cached_property
    def distance(self) -> Array:
        """R, one minus the cosine of the label columns."""
        pairs = self.design.moments.labels.cooccurrence
        return cosine_distance(pairs if isinstance(pairs, np.ndarray) else pairs.toarray())

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

    def solve(self, alpha: float, beta: float, gamma: float) -> LLSFModel:
        """Return the scores where the published scheme halts."""
        design = self.design
        counts = design.moments.labels.counts.astype(np.float64)
        size = float(counts.sum())
        if design.centred:
            size -= float(np.square(counts).sum()) / float(design.moments.n)
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
        return LLSFModel(design.scores(2.0 * W, offset=offset), gamma, len(losses))


def llsf_path(
    moments: Moments,
    alphas: Sequence[float],
    betas: Sequence[float],
    gammas: Sequence[float],
    *,
    correlation: str | None = "laplacian",
    fit_intercept: bool = True,
    scale: bool = False,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> Path:
    """Yield settings of :class:`LLSF` with their scores, from one set of moments.

    All settings share the products and decompositions, and each β starts from its neighbour's
    solution (not with ``correlation="published"``, whose result depends on the start).

    Parameters
    ----------
    moments : Moments
        Moments of the training rows.
    alphas, betas, gammas : sequence of float
        Values of ``alpha``, ``beta`` and ``gamma``.
    correlation, fit_intercept, scale, tol, max_iter
        As in :class:`LLSF`.

    Yields
    ------
    setting : dict
        ``alpha``, ``beta`` and ``gamma``.
    scores : LinearScores
        What ``LLSF(**setting)`` scores.

    Examples
    --------
    >>> from grople.datasets import load
    >>> data = load("debtags-mini")
    >>> moments = Moments.from_data(data.X[:, :100], data.Y)
    >>> [setting["beta"] for setting, scores in llsf_path(moments, [0.0], [1.0, 0.1], [1.0])]
    [1.0, 0.1]
    """

    def solve(active: Moments) -> Path:
        settings = (
            {"alpha": alpha, "gamma": gamma, "beta": beta}
            for alpha, gamma, beta in itertools.product(alphas, gammas, betas)
        )
        if correlation == "published":
            published = PublishedLLSF(Design(active, fit_intercept, scale))
            for setting in settings:
                yield setting, published.solve(**setting).scores
            return
        every = np.eye(active.n_labels)
        problem = target_problem(active, every, correlation, fit_intercept, scale)
        start = None
        for setting in settings:
            mapping = problem.solve(
                setting["alpha"], 4.0 * setting["beta"], setting["gamma"],
                start=start, tol=tol, max_iter=max_iter,
            )  # fmt: skip
            start = mapping.viewed
            yield setting, LinearScores(mapping.Z, mapping.intercept)

    return active_path(moments, solve)


class LLSF(MomentClassifier):
    """Learning label-specific features: sparse weights, alike for correlated labels.

    Parameters
    ----------
    alpha : float, default=0.1
        Weight of the correlation between labels (α).
    beta : float, default=0.0
        Weight of ‖W‖₁ (β); zero has a closed form.
    gamma : float or "auto", default="auto"
        Weight of ‖W‖² (γ); ``"auto"`` by generalised cross-validation. With
        ``correlation="published"`` it only makes the start (``"auto"``: 0.01).
    correlation : {"laplacian", "psd", "published", None}, default="laplacian"
        Form of the correlation term. ``"published"`` is the paper's, unbounded below, with 0/1
        labels and the reference start, step and stop.
    fit_intercept : bool, default=True
        Whether there is an intercept, without penalty. Without one the labels are ±1 (0/1 with
        ``correlation="published"``).
    scale : bool, default=False
        Whether features are divided by their standard deviation (from moments, training rows only).
    decision : "sign", float, name or Rule, default="example_f1"
        How scores become labels; see :class:`grople.GroPLE`. Scores are those of ±1 labels, so
        that ``"sign"`` is the paper's threshold of ½ on 0/1.
    reservoir_size : int, default=20000
        Rows kept, at most, to fit such a decision on out-of-fold scores.
    row_check : bool, default=False
        Whether to keep a fingerprint of every row, so that ``forget`` refuses rows never added.
    form : {"auto", "explicit", "implicit"}, default="auto"
        Form of the moments: matrices, or (for many features) the sparse rows themselves.
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
    coef_, intercept_ : ndarray
        The scores as a linear function of the features.
    moments_ : Moments
        What the model was learnt from.
    classes_, label_names_in_, n_features_in_, feature_names_in_
        As in scikit-learn; ``label_names_in_`` are the column names of a DataFrame of labels.

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
        "tol": Number(),
        "max_iter": Whole(1),
    }
    _published: ClassVar[dict[str, dict[str, float]]] = {
        "genbase": {"alpha": 1e-4, "beta": 0.1, "gamma": 0.1},
        "medical": {"alpha": 0.01, "beta": 1.0, "gamma": 0.01},
        "CAL500": {"alpha": 1.0, "beta": 1e-4, "gamma": 0.01},
        "corel5k": {"alpha": 1e3, "beta": 10.0, "gamma": 0.1},
        "rcv1subset1": {"alpha": 1e4, "beta": 10.0, "gamma": 0.1},
    }

    def __init__(
        self,
        alpha: float = 0.1,
        beta: float = 0.0,
        gamma: float | str = "auto",
        *,
        correlation: str | None = "laplacian",
        fit_intercept: bool = True,
        scale: bool = False,
        decision: str | float = "example_f1",
        reservoir_size: int = 20_000,
        row_check: bool = False,
        form: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.correlation = correlation
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.decision = decision
        self.reservoir_size = reservoir_size
        self.row_check = row_check
        self.form = form
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
        return cls(**(reference | published_setting(cls._published, name) | parameters))

    @property
    def gamma_(self) -> float:
        """The γ used."""
        return self._model().gamma

    @property
    def n_iter_(self) -> int:
        """Steps taken, at least one."""
        return max(1, self._model().n_iter)

    def _learn(
        self,
        moments: Moments,
        reference: LLSFModel | None = None,
        context: CallbackContext | None = None,
    ) -> LLSFModel:
        def solve(active: Moments) -> tuple[LLSFModel, LinearScores]:
            with step(self, context, "weights"):
                if self.correlation == "published" and active.n_labels:
                    model = self._solve_published(active)
                else:
                    model = self._solve_certified(active, reference)
            return model, model.scores

        model, scores, _ = learn_active_labels(moments, solve)
        return LLSFModel(scores, model.gamma, model.n_iter)

    def _solve_published(self, moments: Moments) -> LLSFModel:
        problem = PublishedLLSF(Design(moments, self.fit_intercept, self.scale))
        if problem.unbounded(self.alpha):
            warnings.warn(
                "The published correlation term makes the objective unbounded below here "
                "(λ_min(XᵀX) + α·λ_min(R) < 0): the weights are where the published stopping rule "
                "halts, not a minimum. correlation='laplacian' is the convex form.",
                UserWarning,
                stacklevel=2,
            )
        gamma = PUBLISHED_START if isinstance(self.gamma, str) else float(self.gamma)
        return problem.solve(float(self.alpha), float(self.beta), gamma)

    def _solve_certified(self, moments: Moments, reference: LLSFModel | None) -> LLSFModel:
        correlation = None if self.correlation == "published" else self.correlation
        every = np.eye(moments.n_labels)
        problem = target_problem(moments, every, correlation, bool(self.fit_intercept), self.scale)
        if not isinstance(self.gamma, str):
            gamma = float(self.gamma)
        else:
            gamma = choose_ridge(problem) if reference is None else reference.gamma
        mapping = problem.solve(
            self.alpha, 4.0 * self.beta, gamma, tol=self.tol, max_iter=self.max_iter
        )
        if not mapping.converged:
            warnings.warn(
                f"LLSF stopped after {mapping.n_iter} steps at a relative gap of "
                f"{mapping.gap:.1e} (tol={self.tol:g}): raise max_iter, gamma, or scale features",
                ConvergenceWarning,
                stacklevel=2,
            )
        return LLSFModel(LinearScores(mapping.Z, mapping.intercept), gamma, mapping.n_iter)
