"""BSVM: one linear support vector machine a label.

    min_{w,b}  ½‖w‖² + C Σ_i ℓ(y_i (x_i w + b)),   y_i = ±1

ℓ is the hinge loss (LIBSVM, the published one) or its square (LIBLINEAR, faster). LIBSVM's
intercept b carries no penalty; LIBLINEAR's, a hundredth of that of a weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.svm import SVC, LinearSVC

from grople.errors import Choice, Number, Parameter, Whole
from grople.estimators import RowClassifier
from grople.estimators._per_label import (
    binary_models,
    linear_part,
    ready_rows,
    varying_labels,
)
from grople.published import published_setting
from grople.solver import LinearScores
from grople.solver._solve import Progress

__all__ = ["BSVM", "linear_svm"]

Array = NDArray[Any]

#: Solvers by name.
SOLVERS = ("liblinear", "libsvm")
#: The most steps of LIBSVM, as in the original; scikit-learn sets none, and features of very
#: different scales can keep it busy for hours.
LIBSVM_STEPS = 10_000_000
#: C times the mean squared length of a row where C is left to us.
AUTO_C = 0.3


def mean_square(X: Any, weights: Array | None = None) -> float:
    """Return the mean squared length of a row (of float64, dense or CSR).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[3.0, 4.0], [0.0, 1.0]])
    >>> mean_square(X), mean_square(sp.csr_array(X), np.array([0.0, 2.0]))
    (13.0, 1.0)
    """
    values = X.data if sp.issparse(X) else X
    if weights is None:
        return float(np.vdot(values, values)) / X.shape[0]
    if sp.issparse(X):
        total = np.dot(values**2, np.repeat(weights, np.diff(X.indptr)))
    else:
        total = np.dot(np.einsum("ij,ij->i", X, X), weights)
    return float(total / weights.sum())


def linear_svm(
    solver: str,
    C: float | str,
    tol: float,
    max_iter: int,
    X: Any,
    weights: Array | None = None,
) -> Any:
    """Return a linear SVM of scikit-learn for two classes and rows like these, not yet fitted.

    Examples
    --------
    >>> import numpy as np
    >>> linear_svm("libsvm", "auto", tol=1e-3, max_iter=1000, X=np.full((3, 2), 5.0))
    SVC(C=0.006, kernel='linear', max_iter=10000000)
    """
    square = mean_square(X, weights) or 1.0
    if isinstance(C, str):
        C = AUTO_C / square
    if solver == "libsvm":
        # LIBSVM counts steps on pairs of rows, not passes over all rows: it has its own limit.
        return SVC(kernel="linear", C=C, tol=tol, max_iter=max(LIBSVM_STEPS, 100 * X.shape[0]))
    # A constant feature ten times as large as the others carries a hundredth of the penalty.
    # Solved in the primal, which takes no offence at it and needs no random numbers.
    size = 10.0 * math.sqrt(square)
    return LinearSVC(C=C, tol=tol, max_iter=max_iter, dual=False, intercept_scaling=size)


class BSVM(RowClassifier):
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

    _parameters: ClassVar[dict[str, Parameter]] = {
        "C": Number(np.finfo(float).tiny, words=("auto",)),
        "solver": Choice(SOLVERS),
        "tol": Number(np.finfo(float).tiny),
        "max_iter": Whole(1),
    }

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

    @classmethod
    def published(cls, name: str, **parameters: Any) -> Self:
        """Return the paper's setting, the same for all its data sets: LIBSVM, C = 1, sign.

        Parameters
        ----------
        name : str
            One of the paper's data sets.
        **parameters
            Parameters to set otherwise.

        Examples
        --------
        >>> BSVM.published("medical")
        BSVM(C=1.0, decision='sign', solver='libsvm')
        """
        reference: dict[str, Any] = {"solver": "libsvm", "decision": "sign"}
        return cls(**(reference | published_setting("BSVM", name) | parameters))

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
            progress=each_done(progress, "labels", len(varying)),
        )
        Z = np.zeros((X.shape[1], len(constants)))
        most = 1
        for label, (coefficients, intercept, n_iter) in zip(varying, models, strict=True):
            Z[:, label], constants[label] = coefficients, intercept
            most = max(most, n_iter)
        return LinearScores(Z, constants), {"n_iter": most}


def each_done(progress: Progress, step: str, total: int) -> Callable[[], None]:
    """Return what tells of one more piece that is done each time it is called."""
    numbers = count(1)
    return lambda: progress(step, next(numbers), total)
