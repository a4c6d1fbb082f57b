"""The features as a ridge regression on moments sees them, and its solutions.

Three kinds of intercept, X̃ the features that are regressed on:

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

from grople.moments import MatrixMoments, RealMoments, RowMoments
from grople.optim import Spectrum, by_diagonal, conjugate_gradient, leading_part, low_rank
from grople.solver import Embedding, LinearScores, MappingProblem, choose_gamma
from grople.solver._row_space import preconditioner_rank

__all__ = ["Design", "target_problem", "with_constant"]

Array = NDArray[Any]

#: Cholesky factors that cost as much as one eigendecomposition.
FACTORS_PER_SPECTRUM = 12
#: Multiplications of kept rows from which on systems are solved in single precision, and the
#: relative residual of those.
LARGE_WORK, LARGE_TOL = 1_000_000, 1e-4


def with_constant(moments: RealMoments) -> RealMoments:
    """Return the moments of the features with a further one that is always 1.

    Examples
    --------
    >>> import numpy as np
    >>> from grople.moments import summarise
    >>> moments = summarise(np.array([[2.0], [3.0]]), np.array([[1], [0]])).moments
    >>> with_constant(moments).gram_matrix(centre=False).tolist()
    [[13.0, 5.0], [5.0, 2.0]]
    """
    if isinstance(moments, RowMoments):
        ones = np.ones((moments.X.shape[0], 1))
        return replace(moments, X=sp.csr_array(sp.hstack([moments.X, ones], format="csr")))
    n, sums = np.full(1, moments.n), moments.shifted_sum
    return MatrixMoments(
        moments.labels,
        np.append(sums, n),
        np.block([[moments.xtx, sums[:, None]], [sums, n]]),
        np.vstack([moments.xtb, moments.labels.counts]),
        np.append(moments.shifts, 0.0),
    )


def target_problem(
    moments: RealMoments, W: Array, correlation: str | None, fit_intercept: bool
) -> MappingProblem:
    """Return the mapping problem whose targets are YW, decoded by Wᵀ."""
    embedding = Embedding(W.T, W, np.zeros(1), 0.0, 0, True)
    return MappingProblem(moments, embedding, correlation, fit_intercept)


@dataclass(frozen=True)
class Design:
    """X̃ᵀX̃ and X̃ᵀY, what ridge regressions on them share, and the way back to raw features.

    Parameters
    ----------
    moments : RealMoments
        Of labels that all vary.
    fit_intercept : bool or "penalised"
        The kind of intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from grople.moments import summarise
    >>> X, B = np.array([[0.0], [1.0], [2.0]]), np.array([[0], [0], [1]])
    >>> design = Design(summarise(X, B).moments)
    >>> ((_, Z),) = design.solutions(design.cross(np.eye(1)), [1.0])
    >>> design.scores(Z)(X).round(3).tolist()
    [[-1.0], [-0.333], [0.333]]
    """

    moments: RealMoments
    fit_intercept: bool | str = True

    @property
    def centred(self) -> bool:
        """Whether X̃ has mean zero."""
        return bool(self.fit_intercept) and not self.penalised

    @property
    def penalised(self) -> bool:
        """Whether X̃ has a constant column."""
        return self.fit_intercept == "penalised"

    @cached_property
    def seen(self) -> RealMoments:
        """Moments of X̃ before it is centred."""
        return with_constant(self.moments) if self.penalised else self.moments

    @cached_property
    def without_constant(self) -> Design:
        """The same design without its constant column, if it has one; decompositions are kept."""
        return replace(self, fit_intercept=False) if self.penalised else self

    @cached_property
    def gram_matrix(self) -> Array | None:
        """X̃ᵀX̃, or None where rows are kept instead."""
        seen = self.seen
        return None if isinstance(seen, RowMoments) else seen.gram_matrix(self.centred)

    @cached_property
    def gram_spectrum(self) -> Spectrum:
        """The eigendecomposition of X̃ᵀX̃ (of matrices only)."""
        assert self.gram_matrix is not None
        return Spectrum.of(self.gram_matrix)

    @cached_property
    def label_cross(self) -> Array:
        """X̃ᵀY."""
        return self.seen.signed_cross(np.eye(self.moments.n_labels), self.centred)

    @cached_property
    def rotated_cross(self) -> Array:
        """QᵀX̃ᵀY, Q the eigenvectors of X̃ᵀX̃ (of matrices only)."""
        return self.gram_spectrum.vectors.T @ self.label_cross

    @cached_property
    def mean(self) -> Array:
        """What is taken from the features to centre them."""
        mean = self.seen.mean
        return mean if self.centred else np.zeros_like(mean)

    @cached_property
    def sums(self) -> Array:
        """X̃ᵀ1."""
        sums = self.seen.feature_sum
        return np.zeros_like(sums) if self.centred else sums

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
        if isinstance(self.seen, RowMoments):
            return self.seen.gram(Z, self.centred)
        assert self.gram_matrix is not None
        return self.gram_matrix @ Z

    def cross(self, W: Array) -> Array:
        """Return X̃ᵀYc W."""
        product = self.seen.signed_cross(W, self.centred)
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

        ``start``, ``tol`` and ``max_iter`` concern kept rows, where it takes conjugate gradients;
        large systems in single precision, to four digits.
        """
        if not isinstance(self.seen, RowMoments):
            return self.gram_spectrum.solve(right, shifts)
        if self.seen.X.nnz * right.shape[1] > LARGE_WORK and shifts.min() > 0:
            dtype: Any = np.float32
            tol = max(tol, LARGE_TOL)
            rank = preconditioner_rank(len(right))
            nearby = low_rank(*leading_part(self.gram, len(right), rank, dtype), shifts)
        else:
            dtype = np.float64
            nearby = by_diagonal(self.seen.gram_diagonal(self.centred), shifts)
        Z = conjugate_gradient(
            self.gram,
            right.astype(dtype),
            shifts,
            start=None if start is None else start.astype(dtype),
            precondition=nearby,
            tol=tol,
            max_iter=max_iter,
        )
        return Z.astype(np.float64, copy=False)

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
        if ridge not in self._last_factor:
            assert self.gram_matrix is not None
            self._last_factor.clear()
            shifted = self.gram_matrix.T.copy(order="F")  # as LAPACK wants it, to save a copy
            shifted[np.diag_indices_from(shifted)] += ridge
            self._last_factor[ridge] = scipy.linalg.cho_factor(
                shifted, overwrite_a=True, check_finite=False
            )
        return self._last_factor[ridge]

    @cached_property
    def _last_factor(self) -> dict[float, Any]:
        return {}

    def best_ridge(self, W: Array) -> float:
        """Return the ridge weight expected to be best for the targets YW."""
        problem = target_problem(self.seen, W, None, self.centred)
        # Formed and decomposed once, here and there.
        vars(problem).update(gram_matrix=self.gram_matrix)
        if "gram_spectrum" in vars(self):
            vars(problem).update(gram_spectrum=self.gram_spectrum)
        return choose_gamma(problem)

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
        Z, b = (Z[:-1], Z[-1]) if self.penalised else (Z, -self.mean @ Z)
        return LinearScores(
            np.ascontiguousarray(Z), b, V, self.label_means if offset is None else offset
        )
