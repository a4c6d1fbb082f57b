"""Stage 3: from features to points, correlated and sparse, from second moments alone.

    min_Z  ‖XZ − U‖² + α tr(R ZᵀZ) + γ ‖Z‖² + β ‖Z‖₁

X is centred, so that the intercept carries no penalty. R says which dimensions should have
similar maps. The paper's ``R = 1 − C`` (C the correlation of U's columns) has zero diagonal and
negative eigenvalues, so its objective is unbounded below; the default is the graph Laplacian of
the positive correlations, which is convex and says what the paper means.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.moments import RealMoments, RowMoments
from grople.optim import (
    L1,
    Quadratic,
    Solution,
    Spectrum,
    TwoSidedQuadratic,
    block_proximal,
    blocks_of_rows,
    largest_eigenvalue,
    objective,
    proximal_gradient,
    solve_ridge_systems,
)
from grople.solver._embedding import Embedding
from grople.solver._row_space import RowSpace

__all__ = ["Mapping", "MappingProblem", "dimension_laplacian"]

Array = NDArray[Any]

#: Tolerance from which on sweeps run in single precision.
NARROW_TOL = 1e-3
#: Maps of kept rows end, like the embedding, at so many times the tolerance: they are solved by
#: iterations, and the last of these change no prediction.
LOOSER = 10.0
#: Residuals: what rounding leaves, and what will do to score rows that were held out.
ROUNDING, ENOUGH = 1e-12, 1e-6
#: Ratio of shifts up to which rows have the same leverage in all dimensions, and up to which their
#: leverages follow from each other.
ALIKE, NEAR = 1.2, 4.0


@dataclass(frozen=True)
class Mapping:
    """The map from features to points: ``u = x Z + intercept``.

    Attributes
    ----------
    Z : ndarray of shape (D, d)
        In single precision where it was found so.
    intercept : ndarray of shape (d,)
        The intercept.
    gap : float
        Bound on the objective's distance to its minimum, relative to ‖U‖² (0: solved exactly).
    n_iter : int
        Proximal steps.
    converged : bool
        Whether the bound fell below the tolerance.
    """

    Z: Array
    intercept: Array
    gap: float = 0.0
    n_iter: int = 0
    converged: bool = True


def dimension_laplacian(point_gram: Array, form: str | None) -> Array:
    """Return R: which dimensions of the latent space should have similar maps.

    ``"laplacian"``: diag(A1) − A with A the positive correlations; ``"psd"``: the paper's 1 − C
    without its negative part; None: zero.

    Examples
    --------
    >>> import numpy as np
    >>> dimension_laplacian(np.array([[1.0, 0.5], [0.5, 1.0]]), "laplacian")
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    d = len(point_gram)
    if form is None:
        return np.zeros((d, d))
    length = np.sqrt(np.maximum(np.diagonal(point_gram), 0.0))
    inverse = np.divide(1.0, length, out=np.zeros(d), where=length > 0)
    correlation = np.clip(point_gram * np.multiply.outer(inverse, inverse), -1.0, 1.0)
    if form == "laplacian":
        affinity = np.maximum(correlation, 0.0)
        np.fill_diagonal(affinity, 0.0)
        return np.diag(affinity.sum(axis=1)) - affinity
    np.fill_diagonal(correlation, 1.0)
    spectrum = Spectrum.of(1.0 - correlation)
    return (spectrum.vectors * np.maximum(spectrum.values, 0.0)) @ spectrum.vectors.T


@dataclass(frozen=True)
class MappingProblem:
    """Stage 3 for one set of moments and one embedding; what settings share is computed once."""

    moments: RealMoments
    embedding: Embedding
    correlation: str | None = "laplacian"
    fit_intercept: bool = True

    @cached_property
    def target(self) -> Array:
        """XᵀU."""
        return self.moments.signed_cross(self.embedding.W, self.fit_intercept)

    @cached_property
    def point_gram(self) -> Array:
        """UᵀU, centred with an intercept."""
        gram = self.embedding.point_gram(self.moments.labels)
        if self.fit_intercept and self.moments.n:
            mean = self.embedding.point_mean(self.moments.labels)
            gram = gram - self.moments.n * np.multiply.outer(mean, mean)
        return gram

    @cached_property
    def relation(self) -> Array:
        """R."""
        return dimension_laplacian(self.point_gram, self.correlation)

    @cached_property
    def relation_spectrum(self) -> Spectrum:
        """The eigendecomposition of R."""
        return Spectrum.of(self.relation)

    @cached_property
    def gram_matrix(self) -> Array | None:
        """XᵀX, where it is to be formed."""
        if isinstance(self.moments, RowMoments):
            return None
        return self.moments.gram_matrix(self.fit_intercept)

    @cached_property
    def gram_spectrum(self) -> Spectrum:
        """The eigendecomposition of XᵀX."""
        if isinstance(self.moments, RowMoments):
            return Spectrum.of(self.gram(np.eye(self.moments.n_features)), overwrite=True)
        return Spectrum.of(self.moments.gram_matrix(self.fit_intercept), overwrite=True)

    @cached_property
    def row_space(self) -> RowSpace:
        """The space of kept rows, where their systems are solved."""
        assert isinstance(self.moments, RowMoments)
        return RowSpace(self.moments, self.fit_intercept)

    def gram(self, Z: Array) -> Array:
        """Return XᵀX Z."""
        if isinstance(self.moments, RowMoments):
            return self.moments.gram(Z, self.fit_intercept)
        assert self.gram_matrix is not None
        return self.gram_matrix @ Z

    @cached_property
    def curvature(self) -> float:
        """The largest eigenvalue of XᵀX."""
        return largest_eigenvalue(self.gram, self.moments.n_features)

    def solve(
        self,
        alpha: float,
        beta: float,
        gamma: float,
        *,
        start: Array | None = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        residual: float = ROUNDING,
    ) -> Mapping:
        """Solve for one setting.

        Parameters
        ----------
        alpha, beta, gamma : float
            Weights of the correlation, the absolute values and the squares.
        start : ndarray of shape (D, d), optional
            Where to start (the map of a neighbouring setting), unless the exact solution at β = 0
            is better.
        tol : float
            Stop when the objective is certified to lie within this share of ‖U‖² of its minimum;
            ten times as much where rows are kept.
        max_iter : int
            The most proximal steps (sweeps over all features).
        residual : float
            Relative residual of the closed form; larger takes less time.

        Examples
        --------
        >>> import numpy as np
        >>> from grople.moments import summarise
        >>> from grople.solver import Groups, MappingProblem, embed_labels
        >>> X = np.eye(4)[[0, 0, 1, 1, 2]]
        >>> B = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 0]])
        >>> moments = summarise(X, B).moments
        >>> embedding = embed_labels(moments.labels, Groups.of([0, 1]), n_components=2)
        >>> mapping = MappingProblem(moments, embedding).solve(0.0, 0.0, 0.01)
        >>> scores = (X @ mapping.Z + mapping.intercept) @ embedding.V
        >>> (scores > 0).astype(int).tolist() == B.tolist()
        True
        """
        if not self.embedding.n_components:
            return self._finish(self.target)
        alpha = alpha if self.correlation else 0.0
        if beta == 0:
            exact, gap = self._solve_exactly(alpha, gamma, tol, start, residual)
            return self._finish(exact, gap, converged=gap <= LOOSER * tol)
        found = self._minimise(alpha, beta, gamma, start, tol, max_iter)
        size = float(np.trace(self.point_gram))
        gap = found.gap / size if size else 0.0
        return self._finish(found.point.astype(np.float64), gap, found.n_iter, found.converged)

    def leave_one_out(self, mapping: Mapping, alpha: float, gamma: float) -> Array | None:
        """Return where each kept row would be placed by a map learnt without it and its copies.

        By arithmetic, where learning again without a fold would take as long as the fit; None for
        few rows, and for weights so unlike each other that leverages do not follow.
        """
        turn, shifts = self._shifts(alpha if self.correlation else 0.0, gamma)
        few = not isinstance(self.moments, RowMoments) or self.row_space.few
        if few or not 0 < shifts.max() <= NEAR * shifts.min():
            return None
        if turn is None or shifts.max() <= ALIKE * shifts.min():
            shifts = np.full_like(shifts, shifts.mean())
            found = self.row_space.leave_one_out(self.embedding.W, mapping.Z, shifts)
        else:
            W, Z = self.embedding.W @ turn, mapping.Z @ turn.astype(mapping.Z.dtype)
            found = self.row_space.leave_one_out(W, Z, shifts) @ turn.T
        if self.fit_intercept:
            found += self.embedding.point_mean(self.moments.labels)
        return found

    def _shifts(self, alpha: float, gamma: float) -> tuple[Array | None, Array]:
        """Return the eigenvectors of R, None where α = 0, and what is added to XᵀX along each."""
        if alpha == 0:
            return None, np.full(self.embedding.n_components, float(gamma))
        spectrum = self.relation_spectrum
        return spectrum.vectors, gamma + alpha * np.maximum(spectrum.values, 0.0)

    def _solve_exactly(
        self,
        alpha: float,
        gamma: float,
        tol: float,
        start: Array | None = None,
        residual: float = ROUNDING,
    ) -> tuple[Array, float]:
        """Solve ``XᵀX Z + α Z R + γ Z = XᵀU``, a Sylvester equation; return its gap too.

        In the eigenvectors of R every column is a system of its own, ``XᵀX + (αρ_j + γ) I``.
        """
        turn, shifts = self._shifts(alpha, gamma)
        gap = 0.0
        if isinstance(self.moments, RowMoments) and shifts.min() > 0:
            W = self.embedding.W if turn is None else self.embedding.W @ turn
            if turn is not None and start is not None:
                start = start @ turn.astype(start.dtype)
            Z, gap = self.row_space.solve(W, shifts, LOOSER * tol, start)
        else:
            right = self.target if turn is None else self.target @ turn
            if self.gram_matrix is None:  # kept rows without a ridge
                Z = self.gram_spectrum.solve(right, shifts)
            else:
                Z = solve_ridge_systems(
                    self.gram_matrix, right, shifts, lambda: self.gram_spectrum, tol=residual
                )
        return Z if turn is None else Z @ turn.T.astype(Z.dtype), gap

    def _minimise(
        self,
        alpha: float,
        beta: float,
        gamma: float,
        start: Array | None,
        tol: float,
        max_iter: int,
    ) -> Solution:
        """Minimise with β > 0, from the given start or the solution at β = 0, the better one.

        By sweeps over blocks of features where XᵀX is a matrix, else by steps over all at once.
        """
        known = self.__dict__.setdefault("_exact", {})
        if (alpha, gamma) not in known:
            known.clear()  # a path along β asks for one of these again and again
            known[alpha, gamma] = self._solve_exactly(alpha, gamma, tol)[0].astype(np.float64)
        size, penalty = float(np.trace(self.point_gram)), L1(beta)
        relation, target, gram = self.relation, self.target, self.gram_matrix
        starts = [known[alpha, gamma], *([] if start is None else [start])]
        if gram is None:

            def product(Z: Array) -> Array:
                image = self.gram(Z) + gamma * Z
                return image + alpha * (Z @ relation) if alpha else image

            largest = float(self.relation_spectrum.values[-1]) if alpha else 0.0
            curvature = self.curvature + alpha * largest + gamma
            smooth = Quadratic(product, target, size, curvature, convexity=gamma)
            best = _lowest(smooth, penalty, starts)
            return proximal_gradient(smooth, penalty, best, tol=tol, max_iter=max_iter, scale=size)
        if tol >= NARROW_TOL:
            # A search asks for three digits, which single precision certifies in half the time.
            gram, relation, target, *starts = (
                part.astype(np.float32) for part in (gram, relation, target, *starts)
            )
        blocks = self._row_blocks
        quadratic = TwoSidedQuadratic(gram, relation, target, size, alpha, gamma, blocks)
        best = _lowest(quadratic.smooth(), penalty, starts)
        return block_proximal(quadratic, penalty, best, tol=tol, max_iter=max_iter, scale=size)

    @cached_property
    def _row_blocks(self) -> list[tuple[slice, float]]:
        assert self.gram_matrix is not None
        return blocks_of_rows(self.gram_matrix)

    def _finish(
        self, Z: Array, gap: float = 0.0, n_iter: int = 0, converged: bool = True
    ) -> Mapping:
        Z = np.ascontiguousarray(Z)  # by rows, as products with sparse rows want it
        if not self.fit_intercept or not self.moments.n:
            return Mapping(Z, np.zeros(Z.shape[1]), gap, n_iter, converged)
        mean = self.moments.mean.astype(Z.dtype, copy=False)
        intercept = self.embedding.point_mean(self.moments.labels) - mean @ Z
        return Mapping(Z, intercept, gap, n_iter, converged)


def _lowest(smooth: Quadratic, penalty: L1, starts: list[Array]) -> Array:
    """Return the start with the lowest objective: the nearer neighbour along β."""
    if len(starts) == 1:
        return starts[0]
    return min(starts, key=lambda W: objective(smooth, penalty, W, smooth.product(W)))
