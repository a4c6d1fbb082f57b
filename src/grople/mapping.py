"""Stage 3: from features to points, correlated and sparse, from second moments alone.

    min_Z  ‖XZ − U‖² + α tr(R ZᵀZ) + γ ‖Z‖² + β ‖Z‖₁

X is centred, so that the intercept carries no penalty. R says which dimensions should have
similar maps. The paper's ``R = 1 − C`` (C the correlation of U's columns) has zero diagonal and
negative eigenvalues, so its objective is unbounded below; the default is the graph Laplacian of
the positive correlations, which is convex and says what the paper means.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.embedding import Embedding
from grople.moments import FeatureView, Moments
from grople.optim import (
    L1,
    Quadratic,
    RowBlocks,
    Solution,
    Spectrum,
    TwoSidedQuadratic,
    block_proximal,
    blocks_of_rows,
    largest_eigenvalue,
    objective,
    proximal_gradient,
)
from grople.published import nudged_gram, published_mapping
from grople.relation import CORRELATIONS, correlation_matrix
from grople.row_space import RowSpace, turn_rows
from grople.shifted import ROUNDING, multiplied, solve_shifted

__all__ = ["Mapping", "MappingProblem", "fit_mapping"]

Array = NDArray[Any]

#: Tolerance from which on sweeps run in single precision.
NARROW_TOL = 1e-3
#: Entries of X times columns up to which implicit systems are solved to rounding.
FULL_WORK = 1_000_000
#: Larger ones end, like the embedding, at so many times the tolerance: they are solved by
#: iterations, and the last of these change no prediction.
LARGE = 10.0
#: Ratio of shifts up to which rows have the same leverage in all dimensions, and up to which their
#: leverages follow from each other.
ALIKE, NEAR = 1.2, 4.0


@dataclass(frozen=True)
class Mapping:
    """The map from features to points: ``u = x Z + intercept``.

    Attributes
    ----------
    Z : ndarray of shape (D, d)
        In the units of the raw features; in single precision where it was found so.
    intercept : ndarray of shape (d,)
        The intercept.
    gap : float
        Bound on the objective's distance to its minimum, relative to ‖U‖² (0: solved exactly).
    n_iter : int
        Proximal steps.
    converged : bool
        Whether the bound fell below the tolerance.
    viewed : ndarray of shape (D, d)
        Z in the units of the centred and scaled features, to start a neighbouring problem from.
    """

    Z: Array
    intercept: Array
    gap: float
    n_iter: int
    converged: bool
    viewed: Array


def fit_mapping(
    moments: Moments,
    embedding: Embedding,
    *,
    alpha: float = 0.0,
    beta: float = 0.0,
    gamma: float = 1.0,
    correlation: str | None = "laplacian",
    fit_intercept: bool = True,
    scale: bool = False,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> Mapping:
    """Solve stage 3 once; see :class:`MappingProblem` for many settings on the same moments.

    Examples
    --------
    >>> import numpy as np
    >>> from grople.groups import Groups
    >>> from grople.embedding import fit_embedding
    >>> X = np.eye(4)[[0, 0, 1, 1, 2]]
    >>> B = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 0]])
    >>> moments = Moments.from_data(X, B)
    >>> embedding = fit_embedding(moments.labels, Groups.of([0, 1]), n_components=2)
    >>> mapping = fit_mapping(moments, embedding, gamma=0.01)
    >>> scores = (X @ mapping.Z + mapping.intercept) @ embedding.V
    >>> (scores > 0).astype(int).tolist() == B.tolist()
    True
    """
    problem = MappingProblem(
        moments, embedding, correlation=correlation, fit_intercept=fit_intercept, scale=scale
    )
    return problem.solve(alpha, beta, gamma, tol=tol, max_iter=max_iter)


@dataclass(frozen=True)
class MappingProblem:
    """Stage 3 for one set of moments and one embedding; what settings share is computed once."""

    moments: Moments
    embedding: Embedding
    correlation: str | None = "laplacian"
    fit_intercept: bool = True
    scale: bool = False

    def __post_init__(self) -> None:
        if self.correlation not in CORRELATIONS:
            raise ValueError(f"correlation must be one of {CORRELATIONS}, not {self.correlation!r}")

    @cached_property
    def view(self) -> FeatureView:
        """The centred and scaled features."""
        return self.moments.view(centre=self.fit_intercept, scale=self.scale)

    @cached_property
    def target(self) -> Array:
        """XᵀU."""
        return self.view.target(self.embedding.W)

    @cached_property
    def point_gram(self) -> Array:
        """UᵀU, centred with an intercept."""
        gram = self.embedding.point_gram(self.moments.labels)
        if self.fit_intercept and self.moments.n:
            mean = self.point_mean
            gram = gram - self.moments.n * np.multiply.outer(mean, mean)
        return gram

    @cached_property
    def relation(self) -> Array:
        """R."""
        return correlation_matrix(self.point_gram, self.correlation)

    @cached_property
    def relation_spectrum(self) -> Spectrum:
        """The eigendecomposition of R."""
        return Spectrum.of(self.relation)

    @property
    def explicit(self) -> bool:
        """Whether XᵀX is at hand as a matrix."""
        return self.moments.form == "explicit"

    @cached_property
    def gram_matrix(self) -> Array | None:
        """XᵀX of the viewed features, where it is to be formed."""
        return self.view.gram_matrix()

    @cached_property
    def gram_spectrum(self) -> Spectrum:
        """The eigendecomposition of XᵀX (explicit moments only)."""
        matrix = self.view.gram_matrix()  # a fresh copy, to be destroyed
        assert matrix is not None
        return Spectrum.of(matrix, overwrite=True)

    @cached_property
    def curvature(self) -> float:
        """The largest eigenvalue of XᵀX."""
        gram = self.view.gram if self.gram_matrix is None else self.gram_matrix.__matmul__
        return largest_eigenvalue(gram, self.moments.n_features)

    @cached_property
    def point_mean(self) -> Array:
        """The mean of the points."""
        return self.embedding.point_mean(self.moments.labels)

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
            Where to start (:attr:`Mapping.viewed` of a neighbouring setting), unless the exact
            solution at β = 0 is better.
        tol : float
            Stop when the objective is certified to lie within this share of ‖U‖² of its minimum;
            ten times as much where a closed form is too large.
        max_iter : int
            The most proximal steps (sweeps over all features).
        residual : float
            Relative residual of the closed form; larger takes less time.
        """
        if not self.embedding.n_components:
            return self._finish(self.target, 0.0, 0, True)
        if self.correlation == "published":
            return self._solve_published(alpha, beta)
        if self.correlation is None:
            alpha = 0.0
        if beta == 0:
            exact = self._solve_exactly(alpha, gamma, tol, start, residual)
            return self._finish(exact, 0.0 if self.in_full else LARGE * tol, 0, True)
        size = float(np.trace(self.point_gram))
        if (alpha, gamma) not in self._exact:
            self._exact.clear()  # a path along β asks for one of these again and again
            exact = self._solve_exactly(alpha, gamma, tol)
            self._exact[alpha, gamma] = exact.astype(np.float64, copy=False)  # certified in double
        starts = [self._exact[alpha, gamma]]
        if start is not None:
            starts.append(start)
        minimise = self._minimise_blocks if self.gram_matrix is not None else self._minimise
        solution = minimise(alpha, beta, gamma, starts, size, tol, max_iter)
        gap = solution.gap / size if size else 0.0
        return self._finish(solution.point, gap, solution.n_iter, solution.converged)

    def _minimise_blocks(
        self,
        alpha: float,
        beta: float,
        gamma: float,
        starts: list[Array],
        size: float,
        tol: float,
        max_iter: int,
    ) -> Solution:
        """Sweep over blocks of features, where XᵀX is a matrix."""
        assert self.gram_matrix is not None
        # A search asks for three digits, which single precision certifies in half the time.
        narrow = tol >= NARROW_TOL
        gram = self._narrow_gram if narrow else self.gram_matrix
        relation, target, *starts = (
            part.astype(gram.dtype, copy=False) for part in (self.relation, self.target, *starts)
        )
        quadratic = TwoSidedQuadratic(gram, relation, target, size, alpha, gamma, self._row_blocks)
        penalty = L1(beta)
        start = _lowest(quadratic.smooth(), penalty, starts)
        return block_proximal(quadratic, penalty, start, tol=tol, max_iter=max_iter, scale=size)

    def _minimise(
        self,
        alpha: float,
        beta: float,
        gamma: float,
        starts: list[Array],
        size: float,
        tol: float,
        max_iter: int,
    ) -> Solution:
        """Step over all features at once, where there are only products with XᵀX."""
        R, gram = self.relation, self.view.gram

        def product(Z: Array) -> Array:
            image = gram(Z)
            if gamma:
                image += gamma * Z
            if alpha:
                image += alpha * (Z @ R)
            return image

        largest = self.relation_spectrum.values[-1] if alpha else 0.0
        smooth = Quadratic(
            product,
            self.target,
            constant=size,
            curvature=self.curvature + alpha * float(largest) + gamma,
            convexity=gamma,
        )
        penalty = L1(beta)
        start = _lowest(smooth, penalty, starts)
        return proximal_gradient(smooth, penalty, start, tol=tol, max_iter=max_iter, scale=size)

    @cached_property
    def _exact(self) -> dict[tuple[float, float], Array]:
        return {}

    @cached_property
    def _narrow_gram(self) -> Array:
        assert self.gram_matrix is not None
        return self.gram_matrix.astype(np.float32)

    @cached_property
    def _row_blocks(self) -> RowBlocks:
        assert self.gram_matrix is not None
        return blocks_of_rows(self.gram_matrix)

    @property
    def in_full(self) -> bool:
        """Whether the closed form is computed to rounding: always, but for large implicit ones."""
        rows = getattr(self.moments, "rows", None)
        return rows is None or rows.nnz * self.embedding.n_components <= FULL_WORK

    def _solve_exactly(
        self,
        alpha: float,
        gamma: float,
        tol: float,
        start: Array | None = None,
        residual: float = ROUNDING,
    ) -> Array:
        """Solve ``XᵀX Z + α Z R + γ Z = XᵀU``, a Sylvester equation.

        In the eigenvectors of R every column is a system of its own, ``XᵀX + (αρ_j + γ) I``.
        """
        turn, shifts = self._shifts(alpha, gamma)
        if self.in_full or shifts.min() <= 0:
            Z = solve_shifted(self, turn, shifts, residual)
            return Z if turn is None else multiplied(Z, turn.T)
        W = self.embedding.W if turn is None else self.embedding.W @ turn
        if turn is not None and start is not None:
            start = start @ turn
        Z = self.row_space.solve(self.view.points(W), shifts, LARGE * tol, start)
        return Z if turn is None else Z @ turn.T.astype(Z.dtype)

    def _shifts(self, alpha: float, gamma: float) -> tuple[Array | None, Array]:
        """Return the eigenvectors of R, None where α = 0, and what is added to XᵀX along each."""
        if alpha == 0:
            return None, np.full(self.embedding.n_components, float(gamma))
        turn = self.relation_spectrum.vectors
        return turn, gamma + alpha * np.maximum(self.relation_spectrum.values, 0.0)

    @cached_property
    def row_space(self) -> RowSpace:
        """The space of rows, where large systems are solved."""
        return RowSpace(self.view)

    def left_out(self, mapping: Mapping, alpha: float, beta: float, gamma: float) -> Array | None:
        """Return where each row would be placed by a map learnt without it; None if not at hand.

        At hand for large systems in the space of rows, where learning again without a fold would
        take as long as the fit.
        """
        if self.in_full or beta or self.correlation == "published":
            return None
        turn, shifts = self._shifts(alpha if self.correlation else 0.0, gamma)
        weighted = self.moments.weights is not None  # type: ignore[attr-defined]
        if weighted or not 0 < shifts.max() <= NEAR * shifts.min():
            return None
        points = self.view.points(self.embedding.W)
        placed = self.view.images(mapping.viewed.astype(np.float32, copy=False))
        if turn is None or shifts.max() <= ALIKE * shifts.min():
            turn, shifts = None, np.full_like(shifts, shifts.mean())
        else:
            turn_rows(points, turn)
            turn_rows(placed, turn.astype(np.float32))
        found = self.row_space.left_out(points, placed, shifts, self.fit_intercept)
        if turn is not None:
            turn_rows(found, turn.T)
        if self.fit_intercept:
            found += self.point_mean
        return found

    def _solve_published(self, alpha: float, beta: float) -> Mapping:
        matrix = self.gram_matrix
        if matrix is None:
            raise ValueError("correlation='published' needs explicit moments: set form='explicit'")
        alive, dead = self.embedding.n_components, self.embedding.n_dead
        sums = self.moments.labels.sums @ self.embedding.W
        result = published_mapping(
            matrix,
            np.pad(self.target, ((0, 0), (0, dead))),
            nudged_gram(
                self.moments.n, np.pad(sums, (0, dead)), np.pad(self.point_gram, (0, dead))
            ),
            alpha,
            beta,
        )
        if result.unbounded:
            warnings.warn(
                "The published correlation term makes the objective unbounded below here "
                "(λ_min(XᵀX) + α·λ_min(R) < 0): the solution is where the published stopping "
                "rule halts, not a minimum. correlation='laplacian' is the convex form.",
                UserWarning,
                stacklevel=5,
            )
        return self._finish(result.Z[:, :alive], np.nan, result.n_iter, True)

    def _finish(self, viewed: Array, gap: float, n_iter: int, converged: bool) -> Mapping:
        if self.in_full:  # sweeps in single precision, too, end in a small map
            viewed = viewed.astype(np.float64, copy=False)
        # By rows: products with sparse rows would copy another order every time.
        Z = np.ascontiguousarray(self.view.in_raw_units(viewed))
        if self.fit_intercept and self.moments.n:
            intercept = self.point_mean - self.view.mean.astype(Z.dtype, copy=False) @ Z
        else:
            intercept = np.zeros(Z.shape[1])
        return Mapping(Z, intercept, gap, n_iter, converged, viewed)


def _lowest(smooth: Quadratic, penalty: L1, starts: list[Array]) -> Array:
    """Return the start with the lowest objective: the nearer neighbour along β."""
    if len(starts) == 1:
        return starts[0]
    return min(starts, key=lambda W: objective(smooth, penalty, W, smooth.product(W)))
