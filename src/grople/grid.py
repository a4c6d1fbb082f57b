"""Stage 3 for a whole grid of weights at once, on a device.

The matrices go to the device once; every setting of (α, β, γ) is a problem of one batch
(:mod:`grople.optim.batched`). One setting is a grid of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.arrays import Place, beside, namespace, to_numpy
from grople.linear import LinearScores
from grople.mapping import NARROW_TOL, Mapping, MappingProblem
from grople.optim import BatchedProblem, BatchedSolution, Spectrum, Weights, batched_proximal

__all__ = ["MappingGrid", "fits_device", "solve_grid"]

#: Values of one array of points at a time; the solver holds about a dozen such arrays.
MOST_VALUES = 1 << 27
#: Scores of rows at a time, each of them also counted as a whole number.
MOST_SCORES = 1 << 25


@dataclass(frozen=True)
class MappingGrid:
    """The maps of many settings, on the device where they were found.

    Attributes
    ----------
    Z : array of shape (D, n_settings, d)
        In the units of the raw features.
    intercepts : array of shape (n_settings, d)
        The intercepts.
    viewed : array of shape (D, n_settings, d)
        Z in the units of the centred and scaled features.
    gaps, n_iter, converged : ndarray of shape (n_settings,)
        As in :class:`~grople.mapping.Mapping`.
    """

    Z: Any
    intercepts: Any
    viewed: Any
    gaps: NDArray[Any]
    n_iter: NDArray[Any]
    converged: NDArray[Any]

    def mapping(self, which: int) -> Mapping:
        """Return one setting's map, at home."""
        Z, intercept, viewed = (
            np.asarray(to_numpy(part), dtype=np.float64)
            for part in (
                self.Z[:, which, :],
                self.intercepts[which, :],
                self.viewed[:, which, :],
            )
        )
        return Mapping(
            Z,
            intercept,
            float(self.gaps[which]),
            int(self.n_iter[which]),
            bool(self.converged[which]),
            viewed,
        )

    def scores(self, rows: Any, labels: LinearScores) -> Iterator[tuple[slice, Any]]:
        """Yield the scores of rows for some settings at a time, shape (n_rows, settings, L).

        Parameters
        ----------
        rows : array of shape (n_rows, D)
            Features, where the maps are and of their type.
        labels : LinearScores
            Its V and offset lead from points to scores.
        """
        xp = namespace(self.Z)
        D, n_settings, d = self.Z.shape
        V, offset = (beside(self.Z, part) for part in (labels.V, labels.offset))  # type: ignore[arg-type]
        n_rows, n_labels = rows.shape[0], V.shape[1]
        size = max(1, MOST_SCORES // max(n_rows * max(n_labels, d), 1))
        for first in range(0, n_settings, size):
            some = slice(first, min(first + size, n_settings))
            Z = xp.reshape(self.Z[:, some, :], (D, -1))
            points = xp.reshape(rows @ Z, (n_rows, -1, d)) + self.intercepts[None, some, :]
            yield some, points @ V + offset


def fits_device(problem: MappingProblem) -> bool:
    """Tell whether a problem can be solved on a device: convex, with explicit moments."""
    fine = problem.explicit and problem.correlation != "published"
    return fine and problem.embedding.n_components > 0


def solve_grid(
    problem: MappingProblem, weights: Weights, place: Place, *, tol: float, max_iter: int
) -> MappingGrid:
    """Solve stage 3 for many weights at once.

    Every setting starts from its exact solution at β = 0, from the spectra of XᵀX and R, or from
    zero where that is lower. Single precision serves a tolerance from 1e-3 on, as at home.

    Parameters
    ----------
    problem : MappingProblem
        The moments and the embedding; one that :func:`fits_device`.
    weights : Weights
        α, β and γ of each setting.
    place : Place
        Where to compute.
    tol, max_iter : float, int
        As in :meth:`~grople.mapping.MappingProblem.solve`.
    """
    matrix = problem.gram_matrix
    assert matrix is not None
    if problem.correlation is None:
        weights = Weights(np.zeros(len(weights)), weights.beta, weights.gamma)
    gram = place.array(matrix, place.floats(wide=True))
    relation = beside(gram, problem.relation)
    spectra = Spectrum.of(gram), Spectrum.of(relation)
    kind, xp = place.floats(wide=tol < NARROW_TOL), place.xp
    gram, relation = xp.astype(gram, kind), xp.astype(relation, kind)
    size = float(np.trace(problem.point_gram))
    whole = BatchedProblem(gram, relation, beside(gram, problem.target), size, weights)
    most = max(1, MOST_VALUES // max(problem.target.size, 1))
    parts = [
        _solve(whole.take(slice(first, first + most)), spectra, size, tol, max_iter)
        for first in range(0, len(weights), most)
    ]
    viewed = parts[0].points if len(parts) == 1 else xp.concat([p.points for p in parts], axis=1)
    gaps, n_iter, converged = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("gaps", "n_iter", "converged")
    )
    Z = viewed * beside(viewed, problem.view.scale)[:, None, None] if problem.scale else viewed
    intercepts = xp.zeros(viewed.shape[1:], dtype=kind, device=place.device)
    if problem.fit_intercept and problem.moments.n:
        mean = beside(Z, problem.view.mean)[None, :]
        images = xp.reshape(mean @ xp.reshape(Z, (Z.shape[0], -1)), Z.shape[1:])
        intercepts = beside(Z, problem.point_mean)[None, :] - images
    return MappingGrid(Z, intercepts, viewed, gaps / size if size else gaps, n_iter, converged)


def _solve(
    problem: BatchedProblem,
    spectra: tuple[Spectrum, Spectrum],
    size: float,
    tol: float,
    max_iter: int,
) -> BatchedSolution:
    xp = namespace(problem.linear)
    W = problem.ridge_solutions(*spectra)
    worse = problem.objectives(W, problem.product(W)) > problem.constant
    W = xp.where(problem.spread(worse.astype(np.float64)) > 0, xp.zeros_like(W), W)
    return batched_proximal(problem, W, tol=tol, max_iter=max_iter, scale=size)
