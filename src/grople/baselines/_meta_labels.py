"""Meta-labels: groups of labels, their combinations as numbers, and the features they need.

The first three steps of MLSF (:mod:`grople.baselines._mlsf`).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.metrics.pairwise import euclidean_distances

from grople.moments import LabelMoments
from grople.optim import L1, Quadratic, proximal_gradient, top_eigenvectors
from grople.published import published_mapping
from grople.solver import Groups
from grople.solver._mapping import dimension_laplacian

__all__ = [
    "combination_codes",
    "group_meta_labels",
    "label_similarity",
    "largest_gamma",
    "meta_columns",
    "select_features",
]

Array = NDArray[Any]


def label_similarity(
    X: Any, B: Any, weights: Array | None = None, *, share: float = 0.8, epsilon: float = 0.01
) -> Array:
    """Return S, how alike labels are: on which rows they occur, and where those rows lie.

    ``S_ij = ω·Jaccard_ij + (1 − ω)·exp(−‖c_i − c_j‖)``, c_i the mean of the rows with label i; what
    is below ε is zero, as is the diagonal.

    Examples
    --------
    >>> X, B = np.array([[0.0], [0.0], [1.0]]), sp.csr_array([[1, 1], [0, 1], [1, 0]])
    >>> label_similarity(X, B).round(3)  # 0.8 / 3 + 0.2 exp(-1/2)
    array([[0.   , 0.388],
           [0.388, 0.   ]])
    """
    labels = LabelMoments.of(B, weights)
    counts, pairs = labels.counts, labels.pairs()
    jaccard = pairs / (counts[:, None] + counts - pairs)
    sums = _weighted(B, weights).T @ X
    means = (sums.toarray() if sp.issparse(sums) else sums) / counts[:, None]
    similarity = share * jaccard + (1.0 - share) * np.exp(-euclidean_distances(means))
    similarity[similarity < epsilon] = 0.0
    np.fill_diagonal(similarity, 0.0)
    return np.asarray(similarity)


def group_meta_labels(similarity: Array, n_meta_labels: int, random_state: Any = None) -> Groups:
    """Partition the labels by spectral clustering of their similarity.

    Labels that are like no other share a point of their own.

    Examples
    --------
    >>> S = np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6)
    >>> group_meta_labels(S, 2, random_state=0).membership
    array([0, 0, 0, 1, 1, 1])
    """
    L = len(similarity)
    if n_meta_labels >= L:
        return Groups(np.arange(L))
    degree = similarity.sum(axis=1)
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros(L), where=degree > 0)
    affinity = similarity * root * root[:, None]
    # The largest eigenvalues, not the largest in size: two labels that are like each other alone
    # have −1 among theirs, with a vector that tears them apart.
    _, points = top_eigenvectors(affinity.__matmul__, L, n_meta_labels)
    points[degree == 0] = 0.0
    length = np.linalg.norm(points, axis=1, keepdims=True)
    points /= np.where(length > 0, length, 1.0)
    # k-means cannot make more clusters than there are points.
    distinct = len(np.unique(points.round(10), axis=0))
    model = KMeans(min(n_meta_labels, distinct), n_init=10, random_state=random_state)
    return Groups.of(model.fit_predict(points))


def combination_codes(B: Any) -> Array:
    """Return the number of each row's label set among those seen, scaled to [0, 1].

    Sets are numbered in the order of the binary numbers that they spell (the first label being the
    last digit), as rows of digits, so any number of labels will do.

    Examples
    --------
    >>> combination_codes(sp.csr_array([[0, 0], [1, 0], [0, 1], [1, 0], [1, 1]]))
    array([0.        , 0.33333333, 0.66666667, 0.33333333, 1.        ])
    """
    digits = np.packbits(B.toarray()[:, ::-1] != 0, axis=1)
    _, number = np.unique(digits, axis=0, return_inverse=True)
    return np.ravel(number) / max(int(number.max(initial=0)), 1)


def meta_columns(B: Any, groups: Groups) -> Array:
    """Return Z, a column of codes for each meta-label."""
    members = groups.members() if B.shape[1] else []
    codes = [combination_codes(B[:, labels]) for labels in members]
    return np.column_stack(codes) if codes else np.zeros((B.shape[0], 0))


def largest_gamma(X: Any, Z: Array, weights: Array | None, fit_intercept: bool) -> float:
    """Return the γ from which on no feature is selected, ``max |XᵀZ|``."""
    return float(np.abs(_products(X, Z, weights, fit_intercept)[0]).max(initial=0.0))


def select_features(
    X: Any,
    Z: Array,
    weights: Array | None = None,
    *,
    gamma: float,
    alpha: float = 0.0,
    correlation: str | None = "laplacian",
    fit_intercept: bool = True,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> tuple[Array, bool]:
    """Solve ``min_V ½‖XV − Z‖² + α/2 tr(R VᵀV) + γ‖V‖₁``; return V, and whether it converged.

    Without α the columns of V are Lassos of their own; with it all are solved together by
    accelerated proximal gradient. ``correlation="published"`` is ``R = 1 − cosine`` of Z's columns,
    unbounded below and stopped as published.

    Examples
    --------
    >>> V, _ = select_features(np.eye(3), np.c_[1.0, 0.5, 0.0].T, gamma=0.25, fit_intercept=False)
    >>> V.ravel()
    array([0.75, 0.25, 0.  ])
    """
    if not Z.shape[1]:
        return np.zeros((X.shape[1], 0)), True
    if not alpha or correlation is None:
        n = X.shape[0] if weights is None else float(weights.sum())
        lasso = Lasso(gamma / n, fit_intercept=fit_intercept, tol=tol, max_iter=max_iter,
                      precompute=not sp.issparse(X) and X.shape[1] < X.shape[0])  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the caller says it in its words
            lasso.fit(X, Z, sample_weight=weights)
        V = lasso.coef_.reshape(Z.shape[1], -1).T
        return np.ascontiguousarray(V), bool(np.max(lasso.n_iter_) < max_iter)
    target, gram = _products(X, Z, weights, fit_intercept)
    matrix, _ = _products(X, X, weights, fit_intercept)
    if correlation == "published":
        return published_mapping(matrix, target, gram, alpha, gamma).Z, True
    R = dimension_laplacian(gram, correlation)
    size, top = float(np.trace(gram)), float(np.linalg.norm(matrix, 2))
    # The solver's sum of squares has no factor ½, so the penalty counts twice.
    found = proximal_gradient(
        Quadratic(
            lambda V: matrix @ V + alpha * (V @ R), target,
            constant=size, curvature=top + alpha * float(np.linalg.norm(R, 2)),
        ),
        L1(2.0 * gamma), np.zeros_like(target), tol=tol, max_iter=max_iter, scale=size,
    )  # fmt: skip
    return found.point, found.converged


def _products(X: Any, Z: Any, weights: Array | None, fit_intercept: bool) -> tuple[Array, Array]:
    """Return XᵀZ and ZᵀZ, centred with an intercept."""
    weighted = _weighted(Z, weights)
    cross, gram = X.T @ weighted, Z.T @ weighted
    cross, gram = (P.toarray() if sp.issparse(P) else np.asarray(P) for P in (cross, gram))
    if fit_intercept:
        total = float(X.shape[0] if weights is None else weights.sum())
        means = np.asarray(weighted.sum(axis=0)) / total
        cross = cross - np.outer(np.asarray(_weighted(X, weights).sum(axis=0)), means)
        gram = gram - total * np.outer(means, means)
    return cross, gram


def _weighted(matrix: Any, weights: Array | None) -> Any:
    """Return rows times their weights."""
    if weights is None:
        return matrix
    product = matrix * weights[:, None]
    return sp.csr_array(product) if sp.issparse(product) else product
