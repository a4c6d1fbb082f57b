"""The features as a ridge regression on moments sees them, and its solutions.

Three kinds of intercept behind one interface, X̃ the features that are regressed on:

- ``True``: X̃ is X with its mean removed, so that the intercept carries no penalty;
- ``"penalised"``: X̃ = [X 1], the intercept is penalised like a weight (the published choice);
- ``False``: X̃ = X, no intercept.

Labels are Y = 2B − 1 with means ȳ, Yc = Y − 1ȳᵀ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.embedding import Embedding
from grople.linear import LinearScores
from grople.mapping import FULL_WORK, MappingProblem
from grople.moments import ExplicitMoments, FeatureView, ImplicitMoments, Moments
from grople.optim import (
    Spectrum,
    by_diagonal,
    conjugate_gradient,
    leading_part,
    low_rank,
)
from grople.ridge import choose_ridge
from grople.row_space import preconditioner_rank

__all__ = ["Design", "target_problem", "with_constant"]

Array = NDArray[Any]

#: Cholesky factors that cost as much as one eigendecomposition.
FACTORS_PER_SPECTRUM = 12
#: Relative residual of large implicit systems.
LARGE_TOL = 1e-4


def with_constant(moments: Moments) -> Moments:
    """Return the moments of the features with a further one that is always 1.

    Examples
    --------
    >>> import numpy as np
    >>> moments = Moments.from_data(np.array([[2.0], [3.0]]), np.array([[1], [0]]))
    >>> with_constant(moments).gram_matrix().tolist()
    [[13.0, 5.0], [5.0, 2.0]]
    """
    n, sums = float(moments.n), moments.feature_sum
    if isinstance(moments, ExplicitMoments):
        return replace(
            moments,
            feature_sum=np.append(sums, n),
            feature_squares=np.append(moments.feature_squares, n),
            xtx=np.block([[moments.xtx, sums[:, None]], [sums[None, :], np.full((1, 1), n)]]),
            xtb=np.vstack([moments.xtb, moments.labels.counts]),
        )
    assert isinstance(moments, ImplicitMoments)
    ones = np.ones((moments.rows.shape[0], 1))
    rows = sp.hstack([moments.rows, ones], format="csr")
    return Moments.from_data(rows, moments.marks, moments.weights, form="implicit")


def target_problem(
    moments: Moments, W: Array, correlation: str | None, fit_intercept: bool, scale: bool
) -> MappingProblem:
    """Return the mapping problem whose targets are YW, decoded by Wᵀ."""
    embedding = Embedding(W.T, W, np.zeros(1), 0.0, 0, True)
    return MappingProblem(moments, embedding, correlation, fit_intercept, scale)


@dataclass(frozen=True)
class Design:
    """X̃ᵀX̃ and X̃ᵀY, what ridge regressions on them share, and the way back to raw features.

    Parameters
    ----------
    moments : Moments
        Of labels that all vary.
    fit_intercept : bool or "penalised"
        The kind of intercept.
    scale : bool
        Whether features are divided by their standard deviation.

    Examples
    --------
    >>> import numpy as np
    >>> X, B = np.array([[0.0], [1.0], [2.0]]), np.array([[0], [0], [1]])
    >>> design = Design(Moments.from_data(X, B))
    >>> ((_, Z),) = design.solutions(design.cross(np.eye(1)), [1.0])
    >>> design.scores(Z)(X).round(3).tolist()
    [[-1.0], [-0.333], [0.333]]
    """

    moments: Moments
    fit_intercept: bool | str = True
    scale: bool = False

    @cached_property
    def view(self) -> FeatureView:
        """X̃."""
        seen = with_constant(self.moments) if self.penalised else self.moments
        return seen.view(centre=self.centred, scale=self.scale)

    @property
    def centred(self) -> bool:
        """Whether X̃ has mean zero."""
        return bool(self.fit_intercept) and not self.penalised

    @property
    def penalised(self) -> bool:
        """Whether X̃ has a constant column."""
        return self.fit_intercept == "penalised"

    @cached_property
    def without_constant(self) -> Design:
        """The same design without its constant column, if it has one; decompositions are kept."""
        return replace(self, fit_intercept=False) if self.penalised else self

    @cached_property
    def gram_matrix(self) -> Array | None:
        """X̃ᵀX̃, or None in the implicit form."""
        return self.view.gram_matrix()

    @cached_property
    def gram_spectrum(self) -> Spectrum:
        """The eigendecomposition of X̃ᵀX̃ (explicit form)."""
        assert self.gram_matrix is not None
        return Spectrum.of(self.gram_matrix)

    @cached_property
    def label_cross(self) -> Array:
        """X̃ᵀY."""
        return self.view.target(np.eye(self.moments.n_labels))

    @cached_property
    def rotated_cross(self) -> Array:
        """QᵀX̃ᵀY, Q the eigenvectors of X̃ᵀX̃ (explicit form)."""
        return self.gram_spectrum.vectors.T @ self.label_cross

    @cached_property
    def sums(self) -> Array:
        """X̃ᵀ1."""
        view = self.view
        return (view.moments.feature_sum - view.moments.n * view.mean) * view.scale

    @cached_property
    def label_means(self) -> Array:
        """Return ȳ."""
        return self.moments.labels.sums / self.moments.n

    @property
    def shared_means(self) -> Array:
        """ȳ where X̃ is centred, else zero: for methods that centre both or neither."""
        return self.label_means if self.centred else np.zeros(self.moments.n_labels)

    def gram(self, Z: Array) -> Array:
        """Return X̃ᵀX̃ Z."""
        return self.view.gram(Z) if self.gram_matrix is None else self.gram_matrix @ Z

    def cross(self, W: Array) -> Array:
        """Return X̃ᵀYc W."""
        product = self.view.target(W)
        if not self.centred:
            product -= np.multiply.outer(self.sums, self.label_means @ W)
        return product

    def label_gram(self) -> Array:
        """Return YcᵀYc."""
        sums = self.moments.labels.sums
        return self.moments.labels.signed_gram() - np.multiply.outer(sums, self.label_means)

    def solve(
        self,
        right: Array,
        shifts: Array,
        *,
        start: Array | None = None,
        tol: float = 1e-10,
        max_iter: int = 1000,
    ) -> Array:
        """Solve ``(X̃ᵀX̃ + shift_j I) z_j = right_j`` for every column j.

        ``start``, ``tol`` and ``max_iter`` concern the implicit form, which goes there by conjugate
        gradients; large systems in single precision, to four digits.
        """
        if self.gram_matrix is None and self._is_large(right) and shifts.min() > 0:
            rank = preconditioner_rank(len(right))
            nearby = low_rank(*leading_part(self.view.gram, len(right), rank, np.float32), shifts)
            first = None if start is None else start.astype(np.float32)
            Z = conjugate_gradient(
                self.view.gram,
                right.astype(np.float32),
                shifts,
                start=first,
                precondition=nearby,
                tol=max(tol, LARGE_TOL),
                max_iter=max_iter,
            )
            return Z.astype(np.float64)
        if self.gram_matrix is None:
            nearby = by_diagonal(self.view.gram_diagonal(), shifts)
            return conjugate_gradient(
                self.view.gram,
                right,
                shifts,
                start=start,
                precondition=nearby,
                tol=tol,
                max_iter=max_iter,
            )
        return self.gram_spectrum.solve(right, shifts)

    def _is_large(self, right: Array) -> bool:
        rows = getattr(self.view.moments, "rows", None)
        return rows is not None and rows.nnz * right.shape[1] > FULL_WORK

    def solutions(self, right: Array, ridges: Iterable[float]) -> Iterator[tuple[float, Array]]:
        """Yield each ridge weight λ with ``(X̃ᵀX̃ + λI)^{-1} right``.

        Many weights share one eigendecomposition; for a few a Cholesky factor each is cheaper.
        """
        ridges = list(ridges)
        few = len(ridges) < FACTORS_PER_SPECTRUM and "gram_spectrum" not in vars(self)
        Z = None
        for ridge in ridges:
            if few and self.gram_matrix is not None and ridge > 0:
                Z = self._solve_by_factor(right, ridge)
            else:
                Z = self.solve(right, np.full(right.shape[1], float(ridge)), start=Z)
            yield ridge, Z

    def _solve_by_factor(self, right: Array, ridge: float) -> Array:
        try:
            factor = self._factor(ridge)
        except np.linalg.LinAlgError:  # a weight lost in rounding: take the minimum-norm solution
            return self.solve(right, np.full(right.shape[1], ridge))
        return scipy.linalg.cho_solve(factor, right, check_finite=False)

    def _factor(self, ridge: float) -> Any:
        """Return the Cholesky factor of X̃ᵀX̃ + λI, which several targets in a row may share."""
        if self._last_factor.get("ridge") != ridge:
            assert self.gram_matrix is not None
            self._last_factor.clear()
            shifted = self.gram_matrix.T.copy(order="F")  # as LAPACK wants it, to save a copy
            shifted[np.diag_indices_from(shifted)] += ridge
            factor = scipy.linalg.cho_factor(shifted, overwrite_a=True, check_finite=False)
            self._last_factor.update(ridge=ridge, factor=factor)
        return self._last_factor["factor"]

    @cached_property
    def _last_factor(self) -> dict[str, Any]:
        return {}

    def best_ridge(self, W: Array) -> float:
        """Return the ridge weight for the targets YW by generalised cross-validation."""
        problem = target_problem(self.view.moments, W, None, self.centred, self.scale)
        if self.gram_matrix is not None:
            vars(problem).update(gram_matrix=self.gram_matrix)
        if "gram_spectrum" in vars(self):  # decomposed once, here and there
            vars(problem).update(gram_spectrum=self.gram_spectrum)
        return choose_ridge(problem)

    def scores(self, Z: Array, V: Array | None = None, offset: Array | None = None) -> LinearScores:
        """Return the scores of the map Z from X̃ to points of mean zero, in raw features.

        Parameters
        ----------
        Z : ndarray
            The map, a row a column of X̃.
        V : ndarray, optional
            From points to labels; the identity where None.
        offset : ndarray, optional
            What all rows score besides; ȳ where None.
        """
        Z = self.view.in_raw_units(Z)
        Z, b = (Z[:-1], Z[-1]) if self.penalised else (Z, -self.view.mean @ Z)
        return LinearScores(Z, b, V, self.label_means if offset is None else offset)
