"""Stage 3 for a whole grid of weights at once, on a device of PyTorch's.

The matrices go to the device once. One step of all settings of (α, β, γ) is two products of
matrices, so a grid of them costs a device little more than one setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.errors import require
from grople.optim import duality_gap
from grople.solver import MappingProblem

__all__ = ["grid_scores", "usable_device"]

Array = NDArray[Any]
Tensor = Any

#: Values of one array on the device; the solver holds about a dozen such arrays.
MOST_VALUES = 1 << 26
#: Tolerance from which on single precision certifies a map, as in the search without a device.
NARROW_TOL = 1e-3
#: Steps between two looks at the certificates, each of which waits for the device.
EVERY = 10
#: Share of the largest diagonal entry of XᵀX below which a feature counts as constant.
FLAT = 1e-6


def _torch() -> Any:
    return require("torch", "gpu", "Computing on a device")


def usable_device(device: Any) -> Any:
    """Return a device of PyTorch's that knows double precision, or say why it cannot be used.

    Parameters
    ----------
    device : str or torch.device
        What was asked for.
    """
    torch = _torch()
    try:
        return torch.empty(0, dtype=torch.float64, device=device).device
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"device={device!r} cannot be used here: {reason}") from error


def grid_scores(
    problem: MappingProblem,
    weighings: Sequence[tuple[float, float, float]],
    X: Any,
    device: Any,
    *,
    tol: float,
    max_iter: int,
) -> Iterator[Array]:
    """Yield the points ``x Z + intercept`` of rows for each setting of the weights, in order.

    Parameters
    ----------
    problem : MappingProblem
        The moments, as matrices, and the embedding.
    weighings : sequence of (α, β, γ)
        The settings. Those with β = 0 are solved exactly.
    X : ndarray or CSR array of shape (n_rows, D)
        Rows.
    device : str or torch.device
        Where to compute.
    tol, max_iter : float, int
        As in :meth:`~grople.solver.MappingProblem.solve`, for β > 0.
    """
    there = DeviceProblem.of(problem, usable_device(device))
    n_values = max(1, *X.shape) * max(1, problem.embedding.n_components)
    height = max(1, MOST_VALUES // max(1, X.shape[1]))
    for some in _slices(len(weighings), max(1, MOST_VALUES // n_values)):
        weights = np.asarray(weighings[some], dtype=np.float64)
        Z = there.maps(weights, tol, max_iter)
        blocks = [there.points(X[rows], Z) for rows in _slices(X.shape[0], height)]
        for setting in range(len(weights)):
            yield np.concatenate([block[:, setting] for block in blocks])


def _slices(length: int, step: int) -> list[slice]:
    return [slice(first, first + step) for first in range(0, length, step)]


@dataclass(frozen=True)
class DeviceProblem:
    """What all settings of a mapping problem share, on a device, in double precision.

    Attributes
    ----------
    gram, relation, target : tensor
        XᵀX, R and XᵀU.
    size : float
        ‖U‖².
    spectra : two pairs of tensors
        Eigenvalues and eigenvectors of XᵀX and of R.
    feature_mean, point_mean : tensor
        From which intercepts follow; zeros without one.
    """

    gram: Tensor
    relation: Tensor
    target: Tensor
    size: float
    spectra: tuple[Any, Any]
    feature_mean: Tensor
    point_mean: Tensor

    @classmethod
    def of(cls, problem: MappingProblem, device: Any) -> Self:
        """Take a problem to a device."""
        torch = _torch()
        feature_mean, point_mean = np.zeros(len(problem.target)), np.zeros(len(problem.relation))
        if problem.fit_intercept and problem.moments.n:
            feature_mean = problem.moments.mean
            point_mean = problem.embedding.point_mean(problem.moments.labels)
        parts = problem.gram_matrix, problem.relation, problem.target, feature_mean, point_mean
        gram, relation, target, feature_mean, point_mean = (
            torch.tensor(part, dtype=torch.float64, device=device) for part in parts
        )
        spectra = torch.linalg.eigh(gram), torch.linalg.eigh(relation)
        size = float(np.trace(problem.point_gram))
        return cls(gram, relation, target, size, spectra, feature_mean, point_mean)

    def maps(self, weights: Array, tol: float, max_iter: int) -> Tensor:
        """Return the maps of settings, of shape (D, settings, d).

        Parameters
        ----------
        weights : ndarray of shape (settings, 3)
            α, β and γ of each setting.
        tol, max_iter : float, int
            Where the solver stops.
        """
        spread = self.gram.new_tensor(weights)
        Z = self.exact_maps(spread)
        sparse = spread[:, 1] > 0
        if sparse.any() and self.size:
            kind = Z.dtype if tol < NARROW_TOL else _torch().float32
            gram, relation, target = (
                part.to(kind) for part in (self.gram, self.relation, self.target)
            )
            batch = PenalisedBatch(gram, relation, target, self.size, spread[sparse].to(kind))
            found = batch.minimise(Z[:, sparse].to(kind), tol=tol, max_iter=max_iter)
            Z[:, sparse] = found.to(Z.dtype)
        return Z

    def exact_maps(self, weights: Tensor) -> Tensor:
        """Solve ``XᵀX Z + α Z R + γ Z = XᵀU`` for all settings.

        In the eigenvectors of XᵀX and R every entry of Z has an equation of its own.
        """
        (values, vectors), (relation, turn) = self.spectra
        right = vectors.T @ self.target @ turn
        shifts = weights[:, 2:] + weights[:, :1] * relation.clamp(min=0.0)
        divisors = values[:, None, None] + shifts
        # As in `Spectrum`: eigenvalues that are zero to rounding get the minimum-norm solution.
        floor = _torch().finfo(values.dtype).eps * len(values) * divisors.abs().amax(dim=0)
        solved = (right[:, None] / divisors).where(divisors.abs() > floor, 0.0)
        return _times_each(vectors, solved) @ turn.T

    def points(self, rows: Any, Z: Tensor) -> Array:
        """Return the points of rows, an array of shape (n_rows, settings, d)."""
        rows = self.gram.new_tensor(rows.toarray() if sp.issparse(rows) else rows)
        intercepts = self.point_mean - _times_each(self.feature_mean[None], Z)
        return np.asarray((_times_each(rows, Z) + intercepts).cpu())


@dataclass(frozen=True)
class PenalisedBatch:
    """``tr WᵀGW + α tr WRWᵀ + γ‖W‖² − 2⟨F, W⟩ + c + β‖W‖₁``, for many weights.

    Points of all settings lie side by side in one tensor of shape (rows, settings, columns).

    Parameters
    ----------
    gram, relation, linear : tensor
        G (rows × rows) and R (columns × columns), symmetric and positive semi-definite, and F.
    constant : float
        c, the smooth part at zero.
    weights : tensor of shape (settings, 3)
        α, β > 0 and γ of each setting.
    """

    gram: Tensor
    relation: Tensor
    linear: Tensor
    constant: float
    weights: Tensor

    def minimise(self, W: Tensor, *, tol: float, max_iter: int) -> Tensor:
        """Minimise all settings by accelerated proximal steps from W, or from zero where lower.

        As :func:`grople.optim.proximal_gradient`, with a step for each coordinate instead of one
        for all. A setting stops, and leaves the batch, when a bound on its distance to the minimum
        is found to be at most ``tol·c``.
        """
        batch, step, shrink = self, 1.0 / self.curvature(), 0.5 * self.weights[:, 1:2]
        W = W.where((self.objectives(W, self.product(W)) <= self.constant)[:, None], 0.0)
        HW = self.product(W)
        W_before, HW_before, momentum = W, HW, step.new_ones(1, len(self.weights), 1)
        solved, running = W.clone(), _torch().arange(len(self.weights), device=W.device)
        for count in range(0, max_iter + 1, EVERY):
            going = batch.gaps(W, HW) > tol * self.constant
            if count + EVERY > max_iter:
                going[:] = False  # out of steps: what is left stays as it is
            if not going.all():
                solved[:, running[~going]] = W[:, ~going]
                if not going.any():
                    break
                running, shrink = running[going], shrink[going]
                batch = replace(batch, weights=batch.weights[going])
                W, HW, W_before, HW_before, momentum, step = (
                    part[:, going] for part in (W, HW, W_before, HW_before, momentum, step)
                )
            for _ in range(EVERY):
                momentum_next = (1.0 + (1.0 + 4.0 * momentum**2).sqrt()) / 2.0
                weight = (momentum - 1.0) / momentum_next
                P = W + weight * (W - W_before)
                HP = HW + weight * (HW - HW_before)
                new = P - (HP - self.linear[:, None]) * step
                new = new.sign() * (new.abs() - shrink * step).clamp(min=0.0)
                # Where the momentum points uphill, in the lengths of the steps, it starts anew.
                uphill = ((new - P) * (new - W) / step).sum(dim=(0, 2), keepdim=True) < 0
                momentum = momentum_next.where(~uphill, 1.0)
                W_before, HW_before, W, HW = W, HW, new, batch.product(new)
        return solved

    def product(self, W: Tensor) -> Tensor:
        """Return HW, H the matrix of each quadratic."""
        alpha, gamma = self.weights[:, :1], self.weights[:, 2:]
        return _times_each(self.gram, W) + gamma * W + alpha * (W @ self.relation)

    def curvature(self) -> Tensor:
        """Return a diagonal that dominates H, an entry a coordinate: steps need be no shorter.

        Rows weigh by G's diagonal, as far as the correlations between them allow; columns by the
        sums of R, which dominate it.
        """
        diagonal = self.gram.diagonal()
        diagonal = diagonal.clamp(min=float(diagonal.max()) * FLAT + 1e-30)
        correlations = self.gram / diagonal.sqrt()[:, None] / diagonal.sqrt()
        largest = float(_torch().linalg.eigvalsh(correlations)[-1]) * (1.0 + 1e-5)
        rows = max(largest, 1e-30) * diagonal[:, None, None]
        columns = self.relation.abs().sum(dim=0)
        return rows + self.weights[:, 2:] + self.weights[:, :1] * columns

    def objectives(self, W: Tensor, HW: Tensor) -> Tensor:
        """Return the objective of each setting."""
        smooth = _total(W * (HW - 2.0 * self.linear[:, None])) + self.constant
        return smooth + self.weights[:, 1] * _total(W.abs())

    def gaps(self, W: Tensor, HW: Tensor) -> Tensor:
        """Return for each setting a bound on how far W is above its minimum.

        The bounds of :func:`grople.optim.optimality_gap`.
        """
        beta = self.weights[:, 1:2]
        F = self.linear[:, None]
        slope = 2.0 * (F - HW)  # the negative gradient
        at_zero = (slope.abs() - beta).clamp(min=0.0)
        off = at_zero.where(W == 0, beta * W.sign() - slope)
        # γ = 0 makes the bound of strong convexity infinite, unless W is the minimum itself.
        strong = _total(off * off) / (4.0 * self.weights[:, 2].double()).clamp(min=1e-300)
        fitted, linear, value = (_total(part).cpu().numpy() for part in (W * HW, F * W, W.abs()))
        strength = self.weights[:, 1].double().cpu().numpy()
        largest = slope.abs().amax(dim=(0, 2)).double().cpu().numpy() / 2.0
        dual = duality_gap(self.constant, fitted, linear, strength * value, strength, largest)
        return strong.minimum(strong.new_tensor(dual)).clamp(min=0.0)


def _times_each(matrix: Tensor, Z: Tensor) -> Tensor:
    """Return the product of a matrix with the map of each setting."""
    return (matrix @ Z.flatten(1)).unflatten(1, Z.shape[1:])


def _total(values: Tensor) -> Tensor:
    """Return the sum over each setting, in double precision."""
    return values.sum(dim=(0, 2), dtype=_torch().float64)
