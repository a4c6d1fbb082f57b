"""The ridge weight γ, on a fixed grid, so that rounding does not move it.

From matrices by generalised cross-validation: for a ridge regression of the fitted label scores
UV on the features,

    GCV(γ) = n ‖UV − X Z_γ V‖² / (n − df(γ))²,    df(γ) = tr(XᵀX (XᵀX + γI)^{-1}) + 1,

estimates the error on unseen rows; it needs no rows and no scale. From kept rows by holding out a
fifth of them: texts repeat each other, so that leverages differ widely, and the formula, which
takes all for the mean, finds a weight several times too small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.moments import LabelMoments, RowMoments, fold_of
from grople.optim import lanczos_quadrature
from grople.solver._mapping import MappingProblem

__all__ = ["choose_gamma"]

Array = NDArray[Any]

#: Decades searched below ten times the largest eigenvalue; a smaller weight drowns in rounding.
DECADES = 6
#: Grid points a decade.
STEPS = 8
#: Random vectors for the trace and for the label space where no spectrum is at hand.
PROBES = 8
#: Features up to which the spectrum of XᵀX is computed for it.
FEW_FEATURES = 600
#: Products with XᵀX that the quadrature takes.
QUADRATURE = 24
#: One row of so many is held out.
HELD_OUT = 5
#: Accuracy of the maps tried there, and how far above the lowest error the search goes on.
HOLD_OUT_TOL, WORSE = 1e-3, 1.02


def choose_gamma(problem: MappingProblem) -> float:
    """Return the γ of the grid with the smallest error expected on unseen rows.

    Examples
    --------
    >>> from grople import GroPLE
    >>> from grople.datasets import load
    >>> data = load("debtags-mini")
    >>> 0.1 < GroPLE(decision="sign", random_state=0).fit(data.X, data.Y).gamma_ < 1000
    True
    """
    if problem.embedding.n_components == 0:
        return 1.0
    if isinstance(problem.moments, RowMoments):
        return _by_holding_out(problem, problem.moments)
    exact = problem.moments.n_features <= FEW_FEATURES
    largest = problem.gram_spectrum.values[-1] if exact else problem.curvature
    if largest <= 0:
        return 1.0
    top = int(np.ceil(STEPS * np.log10(10 * largest)))
    gammas = 10.0 ** (np.arange(top - DECADES * STEPS, top + 1) / STEPS)
    residual, df = (_from_spectrum if exact else _from_probes)(problem, gammas)
    df = df + problem.fit_intercept
    n = float(problem.moments.n)
    # Close to interpolation the formula is 0/0; such weights are no candidates.
    error = np.maximum(residual, 0.0) * n / (n - np.minimum(df, 0.98 * n)) ** 2
    error = np.where(df < 0.98 * n, error, np.inf)
    return float(gammas[np.argmin(error)] if np.isfinite(error).any() else gammas[-1])


def _from_spectrum(problem: MappingProblem, gammas: Array) -> tuple[Array, Array]:
    """Return ‖UV − X Z_γ V‖² and df(γ) of each γ."""
    spectrum = problem.gram_spectrum
    values = np.maximum(spectrum.values, 0.0)[:, None]
    rotated = spectrum.vectors.T @ problem.target
    plane = problem.embedding.V @ problem.embedding.V.T
    energy = np.einsum("ij,ij->i", rotated @ plane, rotated)
    shrunk = 1.0 / (values + gammas)
    residual = np.vdot(problem.point_gram, plane) - energy @ (shrunk * (2.0 - values * shrunk))
    return residual, (values * shrunk).sum(axis=0)


def _from_probes(problem: MappingProblem, gammas: Array) -> tuple[Array, Array]:
    """Estimate the same on random vectors, for all weights from one run of Lanczos."""
    rng = np.random.default_rng(0)
    V = problem.embedding.V
    sketch = V @ (rng.choice([-1.0, 1.0], (V.shape[1], PROBES)) / np.sqrt(PROBES))
    probes = rng.choice([-1.0, 1.0], (problem.moments.n_features, PROBES)) / np.sqrt(PROBES)
    total = float(np.vdot(sketch, problem.point_gram @ sketch))
    vectors = np.hstack([problem.target @ sketch, probes])
    nodes, weights = lanczos_quadrature(problem.gram, vectors, QUADRATURE)
    shifted = nodes[..., None] + gammas
    fitted = 1.0 / shifted + gammas / shifted**2
    residual = total - np.einsum("ij,ijk->k", weights[:PROBES], fitted[:PROBES])
    shares = nodes[PROBES:, :, None] / shifted[PROBES:]
    return residual, np.einsum("ij,ijk->k", weights[PROBES:], shares)


def _by_holding_out(problem: MappingProblem, moments: RowMoments) -> float:
    """Predict a fifth of the rows from the others, from the largest weight on downwards.

    Random combinations of the labels serve for all.
    """
    held = fold_of(moments.feature_keys, HELD_OUT) == 0
    largest = float(problem.row_space.leading[0].max(initial=0.0)) * problem.row_space.unit**2
    if held.all() or not held.any() or largest <= 0:
        return 1.0
    V = problem.embedding.V
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (V.shape[1], 2 * PROBES))
    W = problem.embedding.W @ (V @ signs)
    rest = _part(moments, ~held)
    space = problem.row_space.part(rest, ~held)
    truth = 2.0 * (moments.shares[held] @ W) - W.sum(axis=0)
    if problem.fit_intercept:
        truth -= rest.labels.sums @ W / rest.n
    X, weights = moments.X[held], moments.weights[held]
    mean = space.mean * space.unit
    Z: Array | None = None
    steps: list[int] = []
    errors: list[float] = []
    half = STEPS // 2
    step = half * int(np.ceil(2 * np.log10(largest)))
    while len(errors) < 2 * DECADES and (not errors or errors[-1] <= WORSE * min(errors)):
        steps.append(step)
        Z, _ = space.solve(W, np.full(W.shape[1], 10.0 ** (step / STEPS)), HOLD_OUT_TOL, Z)
        left = truth - (X @ Z - mean @ Z)
        errors.append(float(weights @ np.einsum("ij,ij->i", left, left)))
        step -= half
    return float(10.0 ** (_lowest_point(steps, np.array(errors)) / STEPS))


def _part(moments: RowMoments, here: Array) -> RowMoments:
    """Return the moments of some distinct rows (their labels: sums only, as ridge needs them)."""
    rows = np.flatnonzero(here)
    shares, weights = moments.shares[rows], moments.weights[rows]
    counts = np.asarray(shares.T @ weights)
    labels = LabelMoments(float(weights.sum()), counts, np.zeros((0, 0)))
    return RowMoments(labels, moments.X[rows], shares, weights, moments.feature_keys[rows])


def _lowest_point(steps: list[int], errors: Array) -> int:
    """Return the step nearest to where a parabola through the lowest errors has its minimum."""
    best = int(np.argmin(errors))
    if not 0 < best < len(errors) - 1:
        return steps[best]
    around = slice(best - 1, best + 2)
    bend, slope, _ = np.polyfit(np.array(steps[around]) - steps[best], errors[around], 2)
    return steps[best] - round(slope / (2 * bend)) if bend > 0 else steps[best]
