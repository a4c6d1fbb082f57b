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
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from grople.baselines._bsvm import SOLVERS, each_done, linear_svm
from grople.baselines._chains import Chain, ChainScores, fit_chain
from grople.baselines._linear import with_matrices
from grople.baselines._llsf import CORRELATIONS
from grople.baselines._meta_labels import (
    MOST_FEATURES,
    SpecificFeatures,
    label_similarity,
    meta_columns,
    meta_labels,
)
from grople.errors import Choice, Flag, Number, Parameter, Whole
from grople.estimators import RowClassifier
from grople.estimators._base import no_progress, seed_of
from grople.estimators._per_label import in_parallel, ready_rows, varying_labels
from grople.moments import RealMoments, summarise
from grople.published import published_setting
from grople.solver import Groups, LinearScores
from grople.solver._solve import Progress

__all__ = ["MLSF", "mlsf_path"]

Array = NDArray[Any]

#: γ where it is left to us, as a share of the γ from which on no feature is selected.
AUTO_GAMMA = 0.002


class MLSF(RowClassifier):
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

    _parameters: ClassVar[dict[str, Parameter]] = {
        "meta_label_size": Whole(1),
        "gamma": Number(np.finfo(float).tiny, words=("auto",)),
        "alpha": Number(),
        "C": Number(np.finfo(float).tiny, words=("auto",)),
        "solver": Choice(SOLVERS),
        "similarity_weight": Number(high=1.0),
        "epsilon": Number(),
        "correlation": Choice(CORRELATIONS),
        "fit_intercept": Flag(),
        "tol": Number(np.finfo(float).tiny),
        "max_iter": Whole(1),
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

    @classmethod
    def published(cls, name: str, **parameters: Any) -> Self:
        """Return the setting for a data set as in the published comparison.

        LIBSVM with C = 1, no intercept in the selection of features, sign. The γ of each data set
        was not published: where a search found which comes nearest to the published cells it is
        that one, otherwise the 0.01 of the method's own authors.

        Parameters
        ----------
        name : str
            One of the paper's data sets (a suffix as in ``"genbase-authors"`` is fine).
        **parameters
            Parameters to set otherwise.

        Examples
        --------
        >>> MLSF.published("medical").solver
        'libsvm'
        """
        reference: dict[str, Any] = {
            "C": 1.0,
            "solver": "libsvm",
            "fit_intercept": False,
            "max_iter": 10_000,
            "decision": "sign",
        }
        return cls(**(reference | published_setting("MLSF", name) | parameters))

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
        return next(iter(self._along([self.gamma], X, B, weights, progress)))

    def _along(
        self,
        gammas: Sequence[float | str],
        X: Any,
        B: Any,
        weights: Array | None,
        progress: Progress,
    ) -> Iterator[tuple[ChainScores, dict[str, Any]]]:
        """Yield the scores of several γ, which share meta-labels, chains and products."""
        rng = np.random.RandomState(seed_of(self.random_state))
        X = ready_rows(X)
        varying, constants = varying_labels(B)
        marks = sp.csr_array(B[:, varying])
        moments = self._moments(X, marks, weights)
        groups = self._meta_labels(moments, rng)
        selection = SpecificFeatures(
            X, meta_columns(marks, groups), moments, weights, self.correlation, self.fit_intercept
        )
        members = groups.members() if len(varying) else []
        orders = [rng.permutation(len(labels)) for labels in members]
        svm = linear_svm(self.solver, self.C, self.tol, self.max_iter, X, weights)
        V = None
        for gamma in gammas:
            if isinstance(gamma, str):
                gamma = AUTO_GAMMA * selection.largest_gamma or 1.0
            V = self._select(selection, gamma, V)
            jobs = (
                (X[:, np.flatnonzero(V[:, k])], marks[:, labels], order, svm, weights)
                for k, (labels, order) in enumerate(zip(members, orders, strict=True))
            )
            chains = in_parallel(
                fit_chain, jobs,
                n_jobs=self.n_jobs, progress=each_done(progress, "meta-labels", len(members)),
            )  # fmt: skip
            numbers = [varying[labels] for labels in members]
            yield _assemble(gamma, V, numbers, constants, chains)

    def _moments(self, X: Any, marks: Any, weights: Array | None) -> RealMoments:
        """Return matrices where they stand for the rows in the selection, else the rows."""
        summary = summarise(X, marks, weights, max_kept_rows=0)
        if X.shape[1] < min(X.shape[0], MOST_FEATURES) or self.alpha:
            summary = with_matrices(summary)
        return summary.moments

    def _meta_labels(self, moments: RealMoments, rng: Any) -> Groups:
        n_meta_labels = math.ceil(moments.n_labels / self.meta_label_size)
        if n_meta_labels <= 1:
            return Groups(np.zeros(moments.n_labels, dtype=np.intp))
        similarity = label_similarity(moments, self.similarity_weight, self.epsilon)
        return meta_labels(similarity, n_meta_labels, rng)

    def _select(self, selection: SpecificFeatures, gamma: float, start: Array | None) -> Array:
        found = selection.solve(
            gamma, self.alpha, start=start, tol=self.tol / 10, max_iter=self.max_iter
        )
        if not found.converged:
            warnings.warn(
                f"the selection of features stopped after {found.n_iter} steps short of its "
                f"tolerance (tol={self.tol:g}): raise max_iter or gamma, or scale the features",
                ConvergenceWarning,
                stacklevel=2,
            )
        return found.point


def mlsf_path(
    X: Any,
    B: Any,
    gammas: Sequence[float | str],
    sample_weight: Array | None = None,
    **parameters: Any,
) -> Iterator[tuple[dict[str, Any], ChainScores]]:
    """Yield the scores for several γ; meta-labels and products are computed once.

    Parameters
    ----------
    X : array or sparse array of shape (n_rows, n_features)
        Features.
    B : array or sparse array of shape (n_rows, n_labels)
        Labels, zeros and ones.
    gammas : sequence of float or "auto"
        Values of γ; each selection starts where the one before ended, so descending values are
        the fastest.
    sample_weight : ndarray of shape (n_rows,), optional
        Weights.
    **parameters
        Parameters of :class:`MLSF`.

    Yields
    ------
    setting : dict
        The parameters that differ along the path.
    scores : ChainScores
        The scores of a fit with that setting.

    Examples
    --------
    >>> from grople.datasets import make_grouped_multilabel
    >>> data = make_grouped_multilabel(100, random_state=0)
    >>> path = mlsf_path(data.X, data.Y, [10.0, 1.0], random_state=0)
    >>> [(setting, scores(data.X).shape == data.Y.shape) for setting, scores in path]
    [({'gamma': 10.0}, True), ({'gamma': 1.0}, True)]
    """
    found = MLSF(**parameters)._along(gammas, X, sp.csr_array(B), sample_weight, no_progress)
    for gamma, (scores, _) in zip(gammas, found, strict=True):
        yield {"gamma": gamma}, scores


def _assemble(
    gamma: float, V: Array, members: list[Array], constants: Array, chains: Iterator[Chain]
) -> tuple[ChainScores, dict[str, Any]]:
    """Put the chains of the meta-labels side by side."""
    L = len(constants)
    Z, intercepts = np.zeros((len(V), L)), constants.copy()
    membership, position = np.full(L, -1), np.zeros(L, dtype=np.intp)
    parts, most = [sp.coo_array((L, L))], 1
    for k, (labels, chain) in enumerate(zip(members, chains, strict=True)):
        Z[np.ix_(np.flatnonzero(V[:, k]), labels)] = chain.weights
        intercepts[labels] = chain.intercepts
        links = sp.coo_array(chain.links)
        parts.append(
            sp.coo_array((links.data, (labels[links.row], labels[links.col])), shape=(L, L))
        )
        membership[labels] = k
        position[labels[chain.order]] = np.arange(len(labels))
        most = max(most, chain.n_iter)
    scores = ChainScores(LinearScores(Z, intercepts), sp.csr_array(sum(parts)), position)
    report = {"gamma": gamma, "meta_labels": membership, "feature_weights": V, "n_iter": most}
    return scores, report
