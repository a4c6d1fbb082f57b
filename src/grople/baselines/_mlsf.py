"""MLSF: meta-labels, each with features of its own and a chain of SVMs on them.

1. Labels i and j are alike by ``S_ij = ω·Jaccard_ij + (1 − ω)·exp(−‖c_i − c_j‖)``, c_i the mean
   of the rows with label i, zero below ε; spectral clustering of S gives K = ⌈L/size⌉ meta-labels.
2. Meta-label k of a row is the number of its combination of the labels in k among those seen,
   scaled to [0, 1]: a column of Z.
3. ``min_V ½‖XV − Z‖² + α/2 tr(R VᵀV) + γ‖V‖₁`` selects for each meta-label the features whose
   weight is not zero. Without α it is the Lasso; R says which meta-labels are alike.
4. Inside a meta-label, a chain of linear SVMs in random order: each sees the selected features
   and the labels before it (the true ones in training, the predicted ones afterwards).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from grople.baselines._bsvm import SVM_PARAMETERS, count_steps, linear_svm
from grople.baselines._chains import Chain, ChainScores, fit_chain
from grople.baselines._linear import PublishedSettings
from grople.baselines._llsf import CORRELATIONS
from grople.baselines._meta_labels import (
    group_meta_labels,
    label_similarity,
    largest_gamma,
    meta_columns,
    select_features,
)
from grople.errors import Choice, Flag, Number, Parameter, Whole
from grople.estimators import RowClassifier
from grople.estimators._base import seed_of
from grople.estimators._per_label import in_parallel, ready_rows, varying_labels
from grople.solver import Groups, LinearScores
from grople.solver._solve import Progress

__all__ = ["MLSF"]

Array = NDArray[Any]

#: γ where it is left to us, as a share of the γ from which on no feature is selected.
AUTO_GAMMA = 0.002


class MLSF(PublishedSettings, RowClassifier):
    """Multi-label classification with meta-label-specific features.

    Parameters
    ----------
    meta_label_size : int, default=10
        Labels to a meta-label on average; there are K = ⌈L/size⌉ meta-labels.
    gamma : float or "auto", default="auto"
        Weight of ‖V‖₁ in the selection of features (γ); larger selects fewer. ``"auto"`` is 0.002
        of the γ from which on none is selected, whatever the unit of the features.
    alpha : float, default=0.0
        Weight of the correlation between meta-labels in the selection (α); zero is the Lasso.
    C : float or "auto", default="auto"
        Weight of the loss of the SVMs, as in :class:`BSVM`; published 1.
    solver : {"liblinear", "libsvm"}, default="liblinear"
        Solver of the SVMs, as in :class:`BSVM`; published ``"libsvm"``.
    similarity_weight : float in [0, 1], default=0.8
        Weight of the Jaccard index in the similarity of labels (ω).
    epsilon : float, default=0.01
        Similarities below it are taken for zero (ε).
    correlation : {"laplacian", "psd", "published", None}, default="laplacian"
        Form of the correlation term: of the graph of positive correlations (convex); ``1 −
        cosine`` without its negative part; as it is (unbounded below, stopped early); none.
    fit_intercept : bool, default=True
        Whether the selection of features has an intercept (the SVMs always have one).
    tol : float, default=1e-3
        Where the SVMs stop; the selection of features is certified to a tenth of it.
    max_iter : int, default=1000
        The most steps of the selection and passes of LIBLINEAR.
    decision : "sign", float, name or Rule, default="example_f1"
        As in :class:`BSVM`. Labels along a chain are always predicted by sign.
    n_jobs : int, optional
        Meta-labels learnt at a time, in processes.
    random_state : int, RandomState or None, default=None
        Seed of the clustering and of the order of chains; None is a seed too, always the same.

    Attributes
    ----------
    meta_labels_ : ndarray of shape (n_labels,)
        The meta-label of each label (−1 for a label that never or always occurs).
    feature_weights_ : ndarray of shape (n_features, K)
        V; the features of a meta-label are those whose weight is not zero.
    chains_ : list of ndarray
        The labels of each meta-label in the order of its chain.
    gamma_ : float
        The γ used.
    n_iter_ : int
        The most iterations of an SVM.
    fitted_model_, classes_, label_names_in_, n_features_in_, feature_names_in_
        As in :class:`grople.GroPLE`.

    References
    ----------
    L. Sun, M. Kudo, K. Kimura, "Multi-label classification with meta-label-specific features",
    ICPR 2016.

    Examples
    --------
    >>> from grople.baselines import MLSF
    >>> from grople.datasets import make_grouped_multilabel
    >>> from grople.metrics import example_f1
    >>> data = make_grouped_multilabel(300, random_state=0)
    >>> model = MLSF(random_state=0).fit(data.X[:200], data.Y[:200])
    >>> example_f1(data.Y[200:], model.predict(data.X[200:])) > 0.5
    True
    """

    _parameters: ClassVar[dict[str, Parameter]] = SVM_PARAMETERS | {
        "meta_label_size": Whole(1),
        "gamma": Number(np.finfo(float).tiny, words=("auto",)),
        "alpha": Number(),
        "similarity_weight": Number(high=1.0),
        "epsilon": Number(),
        "correlation": Choice(CORRELATIONS),
        "fit_intercept": Flag(),
    }

    def __init__(
        self,
        meta_label_size: int = 10,
        gamma: float | str = "auto",
        alpha: float = 0.0,
        C: float | str = "auto",
        *,
        solver: str = "liblinear",
        similarity_weight: float = 0.8,
        epsilon: float = 0.01,
        correlation: str | None = "laplacian",
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 1000,
        decision: Any = "example_f1",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.meta_label_size = meta_label_size
        self.gamma = gamma
        self.alpha = alpha
        self.C = C
        self.solver = solver
        self.similarity_weight = similarity_weight
        self.epsilon = epsilon
        self.correlation = correlation
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def meta_labels_(self) -> Array:
        """The meta-label of each label."""
        return self.fitted_model_.report["meta_labels"]

    @property
    def feature_weights_(self) -> Array:
        """V, shape (n_features, K)."""
        return self.fitted_model_.report["feature_weights"]

    @property
    def chains_(self) -> list[Array]:
        """The labels of each meta-label in the order of its chain."""
        groups, position = self.meta_labels_, self.fitted_model_.scorer.position
        order = np.argsort(position, kind="stable")
        return [order[groups[order] == k] for k in range(self.feature_weights_.shape[1])]

    @property
    def gamma_(self) -> float:
        """The γ used."""
        return self.fitted_model_.report["gamma"]

    @property
    def n_iter_(self) -> int:
        """The most iterations of an SVM."""
        return self.fitted_model_.report["n_iter"]

    def _learn_rows(
        self, X: Any, B: Any, weights: Array | None, progress: Progress
    ) -> tuple[ChainScores, dict[str, Any]]:
        rng = np.random.RandomState(seed_of(self.random_state))
        X = ready_rows(X)
        varying, constants = varying_labels(B)
        labels = sp.csr_array(B[:, varying])
        groups = self._group(X, labels, weights, rng)
        members = groups.members() if len(varying) else []
        orders = [rng.permutation(len(part)) for part in members]
        gamma, V = self._select(X, meta_columns(labels, groups), weights)
        svm = linear_svm(self.solver, self.C, self.tol, self.max_iter, X, weights)
        jobs = (
            (X[:, np.flatnonzero(V[:, k])], labels[:, part], order, svm, weights)
            for k, (part, order) in enumerate(zip(members, orders, strict=True))
        )
        done = count_steps(progress, "meta-labels", len(members))
        chains = in_parallel(fit_chain, jobs, n_jobs=self.n_jobs, progress=done)
        return _assemble(gamma, V, [varying[part] for part in members], constants, chains)

    def _group(self, X: Any, B: Any, weights: Array | None, rng: Any) -> Groups:
        n_meta_labels = math.ceil(B.shape[1] / self.meta_label_size)
        if n_meta_labels <= 1:
            return Groups(np.zeros(B.shape[1], dtype=np.intp))
        similarity = label_similarity(
            X, B, weights, share=self.similarity_weight, epsilon=self.epsilon
        )
        return group_meta_labels(similarity, n_meta_labels, rng)

    def _select(self, X: Any, Z: Array, weights: Array | None) -> tuple[float, Array]:
        gamma = self.gamma
        if isinstance(gamma, str):
            gamma = AUTO_GAMMA * largest_gamma(X, Z, weights, self.fit_intercept) or 1.0
        V, converged = select_features(
            X, Z, weights, gamma=gamma, alpha=self.alpha, correlation=self.correlation,
            fit_intercept=self.fit_intercept, tol=self.tol / 10, max_iter=self.max_iter,
        )  # fmt: skip
        if not converged:
            warnings.warn(
                f"the selection of features stopped after {self.max_iter} steps short of its "
                f"tolerance (tol={self.tol:g}): raise max_iter or gamma, or scale the features",
                ConvergenceWarning,
                stacklevel=2,
            )
        return gamma, V


def _assemble(
    gamma: float, V: Array, members: list[Array], constants: Array, chains: Iterator[Chain]
) -> tuple[ChainScores, dict[str, Any]]:
    """Return the chains of all meta-labels as one scorer."""
    L = len(constants)
    Z, intercepts = np.zeros((len(V), L)), constants.copy()
    membership, position = np.full(L, -1), np.zeros(L, dtype=np.intp)
    links, most = sp.lil_array((L, L)), 1
    for k, (labels, chain) in enumerate(zip(members, chains, strict=True)):
        Z[np.ix_(np.flatnonzero(V[:, k]), labels)] = chain.weights
        intercepts[labels] = chain.intercepts
        links[np.ix_(labels, labels)] = chain.links
        membership[labels] = k
        position[labels[chain.order]] = np.arange(len(labels))
        most = max(most, chain.n_iter)
    scores = ChainScores(LinearScores(Z, intercepts), links.tocsr(), position)
    report = {"gamma": gamma, "meta_labels": membership, "feature_weights": V, "n_iter": most}
    return scores, report
