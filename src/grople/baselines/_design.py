"""The features as a ridge regression on moments sees them, and its solutions.

Three kinds of intercept, X̃ the features that are regressed on:

- ``True``: X̃ is X with its mean removed, so that the intercept carries no penalty;
- ``"penalised"``: X̃ = [X 1], the intercept is penalised like a weight (the published choice);
- ``False``: X̃ = X, no intercept.

Labels are Y = 2B − 1 with means ȳ, Yc = Y − 1ȳᵀ.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments import MatrixMoments, RealMoments, RowMoments
from grople.optim import Spectrum, by_diagonal, conjugate_gradient, leading_part, low_rank
from grople.solver import Embedding, LinearScores, MappingProblem, choose_gamma

__all__ = ["Design"]

Array = NDArray[Any]

#: Multiplications of kept rows from which on systems are solved in single precision, the relative
#: residual of those.
LARGE_WORK, LARGE_TOL = 1_000_000, 1e-4


@dataclass(frozen=True)
class Design:
    """X̃ᵀX̃ and X̃ᵀY, what regressions on them share, and the way back to raw features.

    Parameters
    ----------
    moments : RealMoments
        Of labels that all vary.
    fit_intercept : bool or "penalised"
        The kind of intercept.

    Examples
    --------
    >>> from grople.moments import summarise
    >>> X, B = np.array([[0.0], [1.0], [2.0]]), np.array([[0], [0], [1]])
    >>> design = Design(summarise(X, B).moments)
    >>> Z = design.solve(design.cross(np.eye(1)), 1.0)
    >>> design.scores(Z)(X).round(3).tolist()
    [[-1.0], [-0.333], [0.333]]
    """

    moments: RealMoments
    fit_intercept: bool | str = True
    _kept: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, name: Hashable, make: Callable[[], Any]) -> Any:
        """Return what ``make`` makes, made only once under this name."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    # -- the features ----------------------------------------------------------------------

    @property
    def centred(self) -> bool:
        """Whether X̃ has mean zero."""
        return self.fit_intercept is True

    @property
    def penalised(self) -> bool:
        """Whether X̃ has a constant column."""
        return self.fit_intercept == "penalised"

    @cached_property
    def seen(self) -> RealMoments:
        """Moments of X̃ before it is centred."""
        return _with_constant(self.moments) if self.penalised else self.moments

    @cached_property
    def without_constant(self) -> Design:
        """The same design without its constant column, if it has one."""
        return Design(self.moments, False) if self.penalised else self

    @cached_property
    def gram_matrix(self) -> Array | None:
        """X̃ᵀX̃, or None where rows are kept instead."""
        return None if isinstance(self.seen, RowMoments) else self.seen.gram_matrix(self.centred)

    @cached_property
    def gram_spectrum(self) -> Spectrum:
        """The eigendecomposition of X̃ᵀX̃ (of matrices only)."""
        assert self.gram_matrix is not None
        return Spectrum.of(self.gram_matrix)

    @cached_property
    def mean(self) -> Array:
        """What is taken from the features to centre them."""
        mean = self.seen.mean
        return mean if self.centred else np.zeros_like(mean)

    def gram(self, Z: Array) -> Array:
        """Return X̃ᵀX̃ Z."""
        if isinstance(self.seen, RowMoments):
            return self.seen.gram(Z, self.centred)
        assert self.gram_matrix is not None
        return self.gram_matrix @ Z

    # -- the labels ------------------------------------------------------------------------

    @cached_property
    def label_means(self) -> Array:
        """Return ȳ."""
        return self.moments.labels.sums / self.moments.n

    @property
    def shared_means(self) -> Array:
        """ȳ where X̃ is centred, else zero: for methods that centre both or neither."""
        return self.label_means if self.centred else np.zeros(self.moments.n_labels)

    @cached_property
    def shared_gram(self) -> Array:
        """YᵀY, centred where X̃ is."""
        sums = self.moments.labels.sums
        return self.moments.labels.signed_gram() - np.multiply.outer(sums, self.shared_means)

    @cached_property
    def label_cross(self) -> Array:
        """X̃ᵀY."""
        return self.seen.signed_cross(np.eye(self.moments.n_labels), self.centred)

    def cross(self, W: Array) -> Array:
        """Return X̃ᵀYc W."""
        product = self.seen.signed_cross(W, self.centred)
        if not self.centred:
            product -= np.multiply.outer(self.seen.feature_sum, self.label_means @ W)
        return product

    # -- regressions -----------------------------------------------------------------------

    def solve(self, right: Array, ridge: float) -> Array:
        """Return ``(X̃ᵀX̃ + ridge I)^{-1} right``; targets of one weight share a factor."""
        if self.gram_matrix is not None and ridge > 0:
            factor = self._factor(ridge)
            if factor is not None:
                return np.asarray(scipy.linalg.cho_solve(factor, right, check_finite=False))
        return self.solve_each(right, np.full(right.shape[1], float(ridge)))

    def solve_each(
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
        dtype: Any = np.float64
        if self.seen.X.nnz * right.shape[1] > LARGE_WORK and shifts.min() > 0:
            dtype, tol = np.float32, max(tol, LARGE_TOL)
            rank = min(500, max(100, len(right) // 100), max(len(right) // 10, 1))
            nearby = low_rank(*leading_part(self.gram, len(right), rank, dtype), shifts)
        else:
            nearby = by_diagonal(self.seen.gram_diagonal(self.centred), shifts)
        start = None if start is None else start.astype(dtype)
        Z = conjugate_gradient(
            self.gram, right.astype(dtype), shifts,
            start=start, precondition=nearby, tol=tol, max_iter=max_iter,
        )  # fmt: skip
        return Z.astype(np.float64, copy=False)

    def _factor(self, ridge: float) -> Any:
        """Return the Cholesky factor of X̃ᵀX̃ + λI, None if λ is lost in rounding."""
        last, factor = self._kept.get("factor", (None, None))
        if last != ridge:
            assert self.gram_matrix is not None
            shifted = self.gram_matrix.T.copy(order="F")  # as LAPACK wants it, to save a copy
            shifted[np.diag_indices_from(shifted)] += ridge
            try:
                factor = scipy.linalg.cho_factor(shifted, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError:
                factor = None
            self._kept["factor"] = ridge, factor
        return factor

    def mapping(self, W: Array, correlation: str | None = None) -> MappingProblem:
        """Return GroPLE's mapping problem with the targets YW, decoded by Wᵀ."""
        embedding = Embedding(W.T, W, np.zeros(1), 0.0, 0, True)
        return MappingProblem(self.seen, embedding, correlation, self.centred)

    def best_ridge(self, W: Array) -> float:
        """Return the ridge weight expected to be best for the targets YW."""
        return choose_gamma(self.mapping(W))

    def scores(self, Z: Array, V: Array | None = None, offset: Array | None = None) -> LinearScores:
        """Return the scores of the map Z from X̃ to points of mean zero, in raw features.

        Parameters
        ----------
        Z : ndarray
            The map, a row a column of X̃.
        V : ndarray, optional
            From points to labels; the identity where None.
        offset : ndarray, optional
            What is added to the scores of all rows; ȳ where None.
        """
        Z, b = (Z[:-1], Z[-1]) if self.penalised else (Z, -self.mean @ Z)
        return LinearScores(
            np.ascontiguousarray(Z), b, V, self.label_means if offset is None else offset
        )


def _with_constant(moments: RealMoments) -> RealMoments:
    """Return the moments of the features with a further one that is always 1."""
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
