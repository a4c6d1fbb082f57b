"""Many proximal problems at once that share their matrices, on any device.

One step of all problems is two matrix products, so a grid of weights costs a device little more
than one setting. Every problem has its own steps, momentum, restarts and certificate; those that
are certified leave the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.arrays import beside, namespace, taken, to_numpy
from grople.optim.linalg import Spectrum
from grople.optim.proximal import duality_gap

__all__ = ["BatchedProblem", "BatchedSolution", "Weights", "batched_proximal"]

Floats = NDArray[np.float64]

#: Steps between two looks at the certificates, each of which waits for the device.
EVERY = 10
#: Share of the largest diagonal entry below which a row counts as constant.
FLAT = 1e-6


@dataclass(frozen=True)
class Weights:
    """α, β and γ of every problem, arrays of one length."""

    alpha: Floats
    beta: Floats
    gamma: Floats

    @classmethod
    def of(cls, settings: Sequence[tuple[float, float, float]]) -> Weights:
        """Take them from a list of (α, β, γ)."""
        return cls(*np.array(settings, dtype=np.float64).reshape(-1, 3).T)

    def take(self, which: Any) -> Weights:
        """Return some of them."""
        return Weights(self.alpha[which], self.beta[which], self.gamma[which])

    def __len__(self) -> int:
        return len(self.alpha)


@dataclass(frozen=True)
class BatchedProblem:
    """``tr WᵀGW + α tr WRWᵀ + γ‖W‖² − 2⟨F, W⟩ + c + β‖W‖₁``, for many weights.

    Points of all problems lie side by side in one array of shape (rows, problems, columns).

    Parameters
    ----------
    gram, relation, linear : array
        G (rows × rows) and R (columns × columns), symmetric and positive semi-definite, and F,
        in one namespace, on one device, of one type.
    constant : float
        c, the smooth part at zero.
    weights : Weights
        α, β and γ of the problems.
    """

    gram: Any
    relation: Any
    linear: Any
    constant: float
    weights: Weights

    def product(self, W: Any) -> Any:
        """Return HW, H the matrix of each quadratic."""
        n_rows, n_columns = W.shape[0], W.shape[2]
        xp = namespace(W)
        image = self.gram @ xp.reshape(W, (n_rows, -1))
        sided = xp.reshape(W, (-1, n_columns)) @ self.relation
        image, sided = (xp.reshape(part, W.shape) for part in (image, sided))
        return image + self.spread(self.weights.gamma) * W + self.spread(self.weights.alpha) * sided

    def take(self, which: Any) -> BatchedProblem:
        """Return some of the problems."""
        return replace(self, weights=self.weights.take(which))

    def spread(self, values: Floats) -> Any:
        """Return a number a problem, shaped to multiply points."""
        return beside(self.linear, values[None, :, None])

    def curvature(self) -> Any:
        """Return a diagonal that dominates H, an entry a coordinate: steps need be no shorter.

        Rows weigh by G's diagonal, as far as the correlations between them allow; columns by the
        sums of R, which dominate it.
        """
        xp = namespace(self.gram)
        diagonal = xp.linalg.diagonal(self.gram)
        diagonal = xp.maximum(diagonal, xp.max(diagonal) * FLAT + 1e-30)
        inverse = 1.0 / xp.sqrt(diagonal)
        scaled = self.gram * inverse[:, None] * inverse[None, :]
        largest = float(xp.linalg.eigvalsh(scaled)[-1]) * (1.0 + 1e-5)
        rows = (max(largest, 1e-30) * diagonal)[:, None, None]
        columns = xp.sum(xp.abs(self.relation), axis=0)[None, None, :]
        return rows + self.spread(self.weights.gamma) + self.spread(self.weights.alpha) * columns

    def ridge_solutions(self, spectrum: Spectrum, relation: Spectrum) -> Any:
        """Return the exact minimisers at β = 0, from the spectra of G and R.

        ``GW + αWR + γW = F`` has a system of its own for each eigenvector of R.
        """
        xp = namespace(spectrum.vectors)
        kind = spectrum.vectors.dtype
        turned = xp.astype(self.linear, kind) @ relation.vectors
        n_rows, n_columns = turned.shape
        n_problems = len(self.weights)
        right = xp.broadcast_to(turned[:, None, :], (n_rows, n_problems, n_columns))
        shifts = self.weights.gamma[:, None] + self.weights.alpha[:, None] * np.maximum(
            to_numpy(relation.values), 0.0
        )
        found = spectrum.solve(
            xp.reshape(right, (n_rows, -1)), beside(spectrum.vectors, shifts.reshape(-1))
        )
        back = xp.reshape(found, (-1, n_columns)) @ relation.vectors.T
        return xp.astype(xp.reshape(back, right.shape), self.linear.dtype)

    def gaps(self, W: Any, HW: Any) -> Floats:
        """Return for each problem a bound on how far W is above its minimum.

        The bounds of :func:`grople.optim.proximal.optimality_gap`.
        """
        xp, weights = namespace(W), self.weights
        F, beta = self.linear[:, None, :], self.spread(weights.beta)
        slope = F - HW  # half the negative gradient
        at_zero = xp.maximum(2.0 * xp.abs(slope) - beta, 0.0)
        elsewhere = xp.abs(beta * xp.sign(W) - 2.0 * slope)
        off = xp.where(W == 0, at_zero, elsewhere)
        distance = self._total(off * off)
        with np.errstate(divide="ignore", invalid="ignore"):
            strong = np.where(weights.gamma > 0, distance / (4.0 * weights.gamma), np.inf)
        strong = np.where(distance == 0, 0.0, strong)
        dual = duality_gap(
            self.constant,
            self._total(W * HW),
            self._total(F * W),
            weights.beta * self._total(xp.abs(W)),
            weights.beta,
            to_numpy(xp.max(xp.abs(slope), axis=(0, 2))).astype(np.float64),
        )
        dual = np.where(weights.beta > 0, dual, np.inf)
        return np.maximum(np.minimum(strong, dual), 0.0)

    def objectives(self, W: Any, HW: Any) -> Floats:
        """Return the objective of each problem."""
        xp, F = namespace(W), self.linear[:, None, :]
        smooth = self._total(W * (HW - 2.0 * F)) + self.constant
        return smooth + self.weights.beta * self._total(xp.abs(W))

    def _total(self, values: Any) -> Floats:
        return to_numpy(totals(values)).astype(np.float64)


@dataclass(frozen=True)
class BatchedSolution:
    """Points of shape (rows, problems, columns); for each problem its certificate and steps."""

    points: Any
    gaps: Floats
    n_iter: NDArray[np.intp]
    converged: NDArray[np.bool_]


def batched_proximal(
    problem: BatchedProblem, starts: Any, *, tol: float, max_iter: int, scale: float
) -> BatchedSolution:
    """Minimise every problem of a batch by accelerated proximal steps from its own start.

    As :func:`grople.optim.proximal_gradient`, with a step for each coordinate instead of one for
    all. A problem stops when a bound on its distance to the minimum falls to ``tol·scale``, which
    is looked at every ten steps.

    Examples
    --------
    >>> import numpy as np
    >>> weights = Weights(np.zeros(2), np.array([4.0, 8.0]), np.zeros(2))
    >>> G, R, F = 2.0 * np.eye(1), np.zeros((1, 1)), np.array([[4.0]])
    >>> problem = BatchedProblem(G, R, F, 8.0, weights)
    >>> batched_proximal(problem, np.zeros((1, 2, 1)), tol=1e-9, max_iter=50, scale=8.0).points
    array([[[1.],
            [0.]]])
    """
    xp = namespace(starts)
    n_problems = len(problem.weights)
    running = np.arange(n_problems)
    gaps, n_iter = np.full(n_problems, np.inf), np.zeros(n_problems, dtype=np.intp)
    finished: list[tuple[NDArray[np.intp], Any]] = []
    state = _State.at(problem, starts)
    for count in range(0, max_iter + 1, EVERY):
        found = state.problem.gaps(state.W, state.HW)
        gaps[running], n_iter[running] = found, count
        open_ = found > tol * scale
        if count + EVERY > max_iter:
            open_[:] = False  # out of steps: what is left stays as it is
        if not open_.all():
            done = np.flatnonzero(~open_)
            finished.append((running[done], state.points(done)))
            running, kept = running[open_], np.flatnonzero(open_)
            if not len(running):
                break
            state = state.only(kept)
        for _ in range(EVERY):
            state = state.stepped()
    order = np.argsort(np.concatenate([which for which, _ in finished]))
    points = finished[0][1] if len(finished) == 1 else xp.concat([p for _, p in finished], axis=1)
    return BatchedSolution(_taken(points, order), gaps, n_iter, gaps <= tol * scale)


@dataclass(frozen=True)
class _State:
    """Where the problems of a batch stand: this point and the last, with their products."""

    problem: BatchedProblem
    step: Any
    W: Any
    HW: Any
    W_before: Any
    HW_before: Any
    momentum: Any

    @classmethod
    def at(cls, problem: BatchedProblem, W: Any) -> _State:
        HW = problem.product(W)
        momentum = problem.spread(np.ones(len(problem.weights)))
        return cls(problem, 1.0 / problem.curvature(), W, HW, W, HW, momentum)

    def only(self, which: NDArray[np.intp]) -> _State:
        arrays = (self.step, self.W, self.HW, self.W_before, self.HW_before, self.momentum)
        return _State(self.problem.take(which), *(_taken(part, which) for part in arrays))

    def points(self, which: NDArray[np.intp]) -> Any:
        return _taken(self.W, which)

    def stepped(self) -> _State:
        xp = namespace(self.W)
        ahead = (1.0 + xp.sqrt(1.0 + 4.0 * self.momentum**2)) / 2.0
        weight = (self.momentum - 1.0) / ahead
        P = self.W + weight * (self.W - self.W_before)
        HP = self.HW + weight * (self.HW - self.HW_before)
        new = P - (HP - self.problem.linear[:, None, :]) * self.step
        shrink = (0.5 * self.problem.spread(self.problem.weights.beta)) * self.step
        new = xp.sign(new) * xp.maximum(xp.abs(new) - shrink, 0.0)
        # Where the momentum points uphill, seen in the lengths of the steps, it starts anew.
        uphill = totals((new - P) * (new - self.W) / self.step)[None, :, None] < 0
        momentum = xp.where(uphill, xp.ones_like(ahead), ahead)
        return replace(
            self,
            W=new,
            HW=self.problem.product(new),
            W_before=self.W,
            HW_before=self.HW,
            momentum=momentum,
        )


def totals(values: Any) -> Any:
    """Return the sum of each problem's entries."""
    xp = namespace(values)
    return xp.sum(xp.sum(values, axis=2), axis=0)


def _taken(values: Any, which: NDArray[np.intp]) -> Any:
    """Return the entries of some problems (all of what is shared by all)."""
    if len(which) == values.shape[1] and np.array_equal(which, np.arange(len(which))):
        return values
    return taken(values, which, axis=1)
