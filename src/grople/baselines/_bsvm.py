"""BSVM: one linear support vector machine a label.

    min_{w,b}  ½‖w‖² + C Σ_i ℓ(y_i (x_i w + b)),   y_i = ±1

ℓ is the hinge loss (LIBSVM, the published one) or its square (LIBLINEAR, faster). LIBSVM's
intercept b carries no penalty; LIBLINEAR's, a hundredth of that of a weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.extmath import row_norms

from grople.baselines._linear import PublishedSettings
from grople.errors import Choice, Number, Parameter, Whole
from grople.estimators import RowClassifier
from grople.estimators._per_label import (
    binary_models,
    linear_part,
    ready_rows,
    varying_labels,
)
from grople.solver import LinearScores
from grople.solver._solve import Progress

__all__ = ["BSVM", "SVM_PARAMETERS", "count_steps", "linear_svm"]

Array = NDArray[Any]

#: What the parameters of an SVM may be.
SVM_PARAMETERS: dict[str, Parameter] = {
    "C": Number(np.finfo(float).tiny, words=("auto",)),
    "solver": Choice(("liblinear", "libsvm")),
    "tol": Number(np.finfo(float).tiny),
    "max_iter": Whole(1),
}
#: The most steps of LIBSVM, as in the original; scikit-learn sets none, and features of very
#: different scales can keep it busy for hours.
LIBSVM_STEPS = 10_000_000
#: C times the mean squared length of a row where C is left to us.
AUTO_C = 0.3


def linear_svm(
    solver: str, C: float | str, tol: float, max_iter: int, X: Any, weights: Array | None = None
) -> Any:
    """Return a linear SVM of scikit-learn for two classes and rows like these, not yet fitted.

    Examples
    --------
    >>> linear_svm("libsvm", "auto", tol=1e-3, max_iter=1000, X=np.full((3, 2), 5.0))
    SVC(C=0.006, kernel='linear', max_iter=10000000)
    """
    square = float(np.average(row_norms(X, squared=True), weights=weights)) or 1.0
    if isinstance(C, str):
        C = AUTO_C / square
    if solver == "libsvm":
        # LIBSVM counts steps on pairs of rows, not passes over all rows: it has its own limit.
        return SVC(kernel="linear", C=C, tol=tol, max_iter=max(LIBSVM_STEPS, 100 * X.shape[0]))
    # A constant feature ten times as large as the others carries a hundredth of the penalty.
    # Solved in the primal, which takes no offence at it and needs no random numbers.
    size = 10.0 * math.sqrt(square)
    return LinearSVC(C=C, tol=tol, max_iter=max_iter, dual=False, intercept_scaling=size)


class BSVM(PublishedSettings, RowClassifier):
    """Binary relevance with linear support vector machines: one SVM a label.

    Parameters
    ----------
    C : float or "auto", default="auto"
        Weight of the loss against ½‖w‖². ``"auto"`` is 0.3 over the mean squared length of a row,
        so that the unit of the features does not matter.
    solver : {"liblinear", "libsvm"}, default="liblinear"
        ``"liblinear"`` minimises the squared hinge loss and is fast; ``"libsvm"`` the hinge loss
        itself with an intercept that carries no penalty, the published choice.
    tol : float, default=1e-3
        Where the solver stops.
    max_iter : int, default=1000
        The most passes of LIBLINEAR (LIBSVM takes ten million steps at most).
    decision : "sign", float, name or Rule, default="example_f1"
        How scores become labels; see :class:`grople.GroPLE`. What maximises a measure is fitted on
        held-out scores (five further fits).
    n_jobs : int, optional
        Labels learnt at a time, in processes that share the features.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        Weights; zero for a label that never or always occurs (its score is −1 or +1).
    intercept_ : ndarray of shape (n_labels,)
        Intercepts.
    n_iter_ : int
        The most iterations that a label took.
    fitted_model_, classes_, label_names_in_, n_features_in_, feature_names_in_
        As in :class:`grople.GroPLE`.

    Examples
    --------
    >>> from grople.baselines import BSVM
    >>> from grople.datasets import load
    >>> from grople.metrics import example_f1
    >>> data = load("debtags-mini")
    >>> model = BSVM(decision="sign").fit(data.X[:3000], data.Y[:3000])
    >>> example_f1(data.Y[3000:], model.predict(data.X[3000:])) > 0.4
    True
    """

    _parameters: ClassVar[dict[str, Parameter]] = SVM_PARAMETERS

    def __init__(
        self,
        C: float | str = "auto",
        *,
        solver: str = "liblinear",
        tol: float = 1e-3,
        max_iter: int = 1000,
        decision: Any = "example_f1",
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.decision = decision
        self.n_jobs = n_jobs

    @property
    def coef_(self) -> Array:
        """Weights of the features for each label, shape (n_labels, n_features)."""
        return self.fitted_model_.scorer.coefficients().T

    @property
    def intercept_(self) -> Array:
        """Score of an all-zero row for each label."""
        return self.fitted_model_.scorer.intercepts()

    @property
    def n_iter_(self) -> int:
        """The most iterations that a label took."""
        return self.fitted_model_.report["n_iter"]

    def _learn_rows(
        self, X: Any, B: Any, weights: Array | None, progress: Progress
    ) -> tuple[LinearScores, dict[str, Any]]:
        X = ready_rows(X)
        varying, constants = varying_labels(B)
        models = binary_models(
            linear_svm(self.solver, self.C, self.tol, self.max_iter, X, weights),
            X,
            B[:, varying],
            None if weights is None else {"sample_weight": weights},
            keep=linear_part,
            n_jobs=self.n_jobs,
            progress=count_steps(progress, "labels", len(varying)),
        )
        Z, most = np.zeros((X.shape[1], len(constants))), 1
        for label, (coefficients, intercept, n_iter) in zip(varying, models, strict=True):
            Z[:, label], constants[label] = coefficients, intercept
            most = max(most, n_iter)
        return LinearScores(Z, constants), {"n_iter": most}


def count_steps(progress: Progress, step: str, total: int) -> Callable[[], None]:
    """Return what reports one more piece of work each time it is called."""
    numbers = count(1)
    return lambda: progress(step, next(numbers), total)
