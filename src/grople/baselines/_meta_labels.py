"""Meta-labels: groups of labels, their combinations as numbers, and the features they need.

The first three steps of MLSF (:mod:`grople.baselines._mlsf`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from grople.baselines._design import Design
from grople.moments import RealMoments
from grople.optim import (
    L1,
    Quadratic,
    Solution,
    largest_eigenvalue,
    proximal_gradient,
    top_eigenvectors,
)
from grople.published import published_mapping
from grople.solver import Groups
from grople.solver._mapping import dimension_laplacian

__all__ = [
    "SpecificFeatures",
    "combination_codes",
    "label_similarity",
    "meta_columns",
    "meta_labels",
]

Array = NDArray[Any]

#: Features up to which XᵀX stands for the rows.
MOST_FEATURES = 4000

# -- 1. meta-labels ----------------------------------------------------------------------------


def label_similarity(moments: RealMoments, weight: float = 0.8, epsilon: float = 0.01) -> Array:
    """Return S, how alike labels are: on which rows they occur, and where those rows lie.

    Parameters
    ----------
    moments : RealMoments
        Moments of rows whose labels all occur.
    weight : float
        Weight of the Jaccard index (ω); the nearness of the mean rows has the rest.
    epsilon : float
        Similarities below it are zero, as is the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from grople.moments import summarise
    >>> X, B = np.array([[0.0], [0.0], [1.0]]), np.array([[1, 1], [0, 1], [1, 0]])
    >>> label_similarity(summarise(X, B).moments).round(3)  # 0.8 / 3 + 0.2 exp(-1/2)
    array([[0.   , 0.388],
           [0.388, 0.   ]])
    """
    counts, pairs = moments.labels.counts, moments.labels.pairs()
    jaccard = pairs / (counts[:, None] + counts[None, :] - pairs)
    means = moments.occurrences().toarray() / counts
    inner = means.T @ means
    squares = inner.diagonal()
    distances = np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2.0 * inner, 0.0))
    similarity = weight * jaccard + (1.0 - weight) * np.exp(-distances)
    similarity[similarity < epsilon] = 0.0
    np.fill_diagonal(similarity, 0.0)
    return similarity


def meta_labels(similarity: Array, n_meta_labels: int, random_state: Any = None) -> Groups:
    """Partition the labels by spectral clustering of their similarity.

    Labels that are like no other share a point of their own.

    Examples
    --------
    >>> import numpy as np
    >>> S = np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6)
    >>> meta_labels(S, 2, random_state=0).membership
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


# -- 2. combinations ---------------------------------------------------------------------------


def combination_codes(B: Any) -> Array:
    """Return the number of each row's label set among those seen, scaled to [0, 1].

    Sets are numbered in the order of the binary numbers that they spell (the first label being
    the last digit) but never turned into such numbers: any number of labels will do.

    Parameters
    ----------
    B : csr_array of shape (n_rows, n_labels)
        Zeros and ones.

    Examples
    --------
    >>> combination_codes(sp.csr_array([[0, 0], [1, 0], [0, 1], [1, 0], [1, 1]]))
    array([0.        , 0.33333333, 0.66666667, 0.33333333, 1.        ])
    """
    n_rows, n_labels = B.shape
    marks = sp.coo_array(B)
    place = n_labels - 1 - marks.col
    width = -(-n_labels // 8)
    packed = np.zeros((n_rows, width), dtype=np.uint8)
    np.bitwise_or.at(packed, (marks.row, place // 8), (128 >> (place % 8)).astype(np.uint8))
    # Byte strings of one length are compared byte by byte, as the sets are.
    _, index = np.unique(packed.view(f"S{width}").ravel(), return_inverse=True)
    return index / max(int(index.max(initial=0)), 1)


def meta_columns(B: Any, groups: Groups) -> Any:
    """Return Z as a sparse matrix: the empty combination, if seen, is number zero."""
    if not B.shape[1]:
        return sp.csc_array((B.shape[0], 0))
    columns = [sp.csc_array(combination_codes(B[:, m])[:, None]) for m in groups.members()]
    return sp.hstack(columns, format="csc")


# -- 3. features -------------------------------------------------------------------------------


@dataclass(frozen=True)
class SpecificFeatures:
    """The selection of features for one set of meta-labels; settings share what they can.

    Parameters
    ----------
    X : array or csr_array of shape (n_rows, D)
        Features, float64.
    Z : csc_array of shape (n_rows, K)
        Meta-labels.
    moments : RealMoments
        Moments of X.
    weights : ndarray of shape (n_rows,), optional
        Weights of the rows.
    correlation : {"laplacian", "psd", "published", None}
        Form of R; ``"published"`` is ``1 − cosine``, unbounded below.
    fit_intercept : bool
        Whether X and Z are centred.

    Examples
    --------
    >>> import numpy as np
    >>> from grople.moments import summarise
    >>> X, Z = np.eye(3), sp.csc_array([[1.0], [0.5], [0.0]])
    >>> selection = SpecificFeatures(X, Z, summarise(X, Z > 0).moments, fit_intercept=False)
    >>> selection.solve(gamma=0.25).point.ravel()
    array([0.75, 0.25, 0.  ])
    """

    X: Any
    Z: Any
    moments: RealMoments
    weights: Array | None = None
    correlation: str | None = "laplacian"
    fit_intercept: bool = True

    def solve(
        self,
        gamma: float,
        alpha: float = 0.0,
        *,
        start: Array | None = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> Solution:
        """Solve ``½‖XV − Z‖² + α/2 tr(R VᵀV) + γ‖V‖₁``.

        Without α the columns of V are Lassos of their own, solved by coordinate descent; with it
        all are solved together by accelerated proximal gradient.

        Parameters
        ----------
        gamma, alpha : float
            Weights of the absolute values (positive) and of the correlation between meta-labels.
        start : ndarray of shape (D, K), optional
            Where to start: the solution of a neighbouring setting. By default zero, or the
            Lasso where there is an α.
        tol : float
            Stop when the objective is certified to lie within this share of ‖Z‖² of its minimum.
        max_iter : int
            The most steps.
        """
        if not alpha or self.correlation is None:
            return self._lasso(gamma, start, tol, max_iter)
        if self.correlation == "published":
            return self._as_published(gamma, alpha)
        if start is None:
            start = self._lasso(gamma, None, tol, max_iter).point
        return self._correlated(gamma, alpha, start, tol, max_iter)

    @cached_property
    def largest_gamma(self) -> float:
        """The γ from which on no feature is selected, ``max |XᵀZ|``."""
        return float(np.abs(self._products[0]).max(initial=0.0))

    @cached_property
    def _by_column(self) -> Any:
        return sp.csc_array(self.X) if sp.issparse(self.X) else np.asfortranarray(self.X)

    def _lasso(self, gamma: float, start: Array | None, tol: float, max_iter: int) -> Solution:
        V = np.zeros((self.X.shape[1], self.Z.shape[1])) if start is None else start.copy()
        gap, steps = 0.0, 0
        n, model, rows, targets, weights = self._regressions
        # scikit-learn's Lasso divides the squares by the (total weight of the) rows.
        model.set_params(alpha=gamma / n, tol=tol, max_iter=max_iter)
        for k in range(V.shape[1]):
            model.coef_ = V[:, k].copy()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(rows, targets(k), sample_weight=weights)
            V[:, k] = model.coef_
            gap, steps = gap + 2.0 * n * float(model.dual_gap_), max(steps, int(model.n_iter_))
        return Solution(V, np.array([]), gap, steps, steps < max_iter)

    @cached_property
    def _regressions(self) -> tuple[float, Lasso, Any, Callable[[int], Array], Array | None]:
        """The weight of the rows, the model, rows, the target of each meta-label, row weights.

        With fewer features than rows a triangular root of XᵀX stands for the rows: a Lasso depends
        on XᵀX and XᵀZ alone, and a step over a feature that stays out is then free.
        """
        matrix = None
        if self.X.shape[1] < min(self.X.shape[0], MOST_FEATURES):
            matrix = self._design.gram_matrix
        if matrix is None:
            model = Lasso(fit_intercept=self.fit_intercept, warm_start=True)
            columns = self._by_column
            return (
                float(self.moments.n), model, columns,
                lambda k: self.Z[:, [k]].toarray().ravel(), self.weights,
            )  # fmt: skip
        matrix = matrix.copy()
        # A hair of ridge: features may be copies of each other.
        matrix[np.diag_indices_from(matrix)] += 1e-10 * np.trace(matrix) / len(matrix) + 1e-300
        root = scipy.linalg.cholesky(matrix, check_finite=False)
        targets = scipy.linalg.solve_triangular(root, self._products[0], trans=1)
        model = Lasso(fit_intercept=False, precompute=matrix, warm_start=True)
        return float(len(root)), model, np.asfortranarray(root), lambda k: targets[:, k], None

    @cached_property
    def _design(self) -> Design:
        """X, centred with an intercept."""
        return Design(self.moments, self.fit_intercept)

    @cached_property
    def _products(self) -> tuple[Array, Array]:
        """XᵀZ and ZᵀZ, centred with an intercept."""
        weights = self.weights
        weighted = self.Z if weights is None else sp.csc_array(self.Z * weights[:, None])
        # Z is the left factor, so that neither X nor Z is made dense.
        cross = weighted.T @ self.X
        target = (cross.toarray() if sp.issparse(cross) else cross).T
        gram = (weighted.T @ self.Z).toarray()
        sums = np.asarray(weighted.sum(axis=0))
        if self.fit_intercept:
            gram = gram - np.multiply.outer(sums, sums / self.moments.n)
        return target - np.multiply.outer(self._design.mean, sums), gram

    @cached_property
    def _curvature(self) -> float:
        return largest_eigenvalue(self._design.gram, self.moments.n_features)

    @cached_property
    def _relation(self) -> Array:
        return dimension_laplacian(self._products[1], self.correlation)

    def _correlated(
        self, gamma: float, alpha: float, start: Array, tol: float, max_iter: int
    ) -> Solution:
        target, gram = self._products
        R = self._relation

        def product(V: Array) -> Array:
            return self._design.gram(V) + alpha * (V @ R)

        size = float(np.trace(gram))
        curvature = self._curvature + alpha * float(np.linalg.norm(R, 2))
        # The solver's sum of squares has no factor ½, so the penalty counts twice.
        return proximal_gradient(
            Quadratic(product, target, constant=size, curvature=curvature),
            L1(2.0 * gamma),
            start,
            tol=tol,
            max_iter=max_iter,
            scale=size,
        )

    def _as_published(self, gamma: float, alpha: float) -> Solution:
        target, gram = self._products
        matrix = self._design.gram_matrix
        if matrix is None:
            raise ValueError(
                "correlation='published' needs XᵀX as a matrix, which is too large for these "
                "features: choose correlation='laplacian'"
            )
        found = published_mapping(matrix, target, gram, alpha, gamma)
        return Solution(found.Z, found.loss_path, np.nan, found.n_iter, True)
