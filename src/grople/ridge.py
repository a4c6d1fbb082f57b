"""The ridge weight by generalised cross-validation, from moments alone.

For a ridge regression of the fitted label scores UV on the features,

    GCV(γ) = n ‖UV − X Z_γ V‖² / (n − df(γ))²

with df(γ) = tr(XᵀX (XᵀX + γI)^{-1}), one more for the intercept,
estimates the error on unseen rows. It needs no rows, no folds and no scale: features ten times as
large get a weight a hundred times as large. γ is taken from a fixed logarithmic grid, so that
rounding in the moments does not move it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grople.fingerprints import row_fingerprints
from grople.moments import Moments
from grople.optim import lanczos_quadrature
from grople.reservoir import fold_of

if TYPE_CHECKING:
    from grople.mapping import MappingProblem

__all__ = ["choose_ridge"]

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
#: One row of so many is held out where leverages differ too much for the generalised formula.
HELD_OUT = 5
#: Accuracy of the maps tried there, and how far above the lowest error the search goes on.
HOLD_OUT_TOL, WORSE = 1e-3, 1.02


def choose_ridge(problem: MappingProblem) -> float:
    """Return the γ of the grid with the smallest GCV.

    Examples
    --------
    >>> import numpy as np
    >>> from grople import GroPLE
    >>> from grople.datasets import load
    >>> data = load("debtags-mini")
    >>> 0.1 < GroPLE(decision="sign", random_state=0).fit(data.X, data.Y).gamma_ < 1000
    True
    """
    if problem.embedding.n_components == 0:
        return 1.0
    if not problem.in_full:
        return _by_holding_out(problem)
    # A spectrum of many features costs more than all the rest of a fit; estimates serve as well.
    known = "gram_spectrum" in vars(problem)
    exact = problem.explicit and (known or problem.moments.n_features <= FEW_FEATURES)
    largest = problem.gram_spectrum.values[-1] if exact else problem.curvature
    if largest <= 0:
        return 1.0
    top = int(np.ceil(STEPS * np.log10(10 * largest)))
    return _by_spectrum(problem, top) if exact else _by_probes(problem, top)


def _gcv(residual: Any, df: Any, n: float) -> Any:
    # Close to interpolation the formula is 0/0; such weights are no candidates.
    return np.where(df < 0.98 * n, n * residual / (n - np.minimum(df, 0.98 * n)) ** 2, np.inf)


def _by_spectrum(problem: MappingProblem, top: int) -> float:
    n = float(problem.moments.n)
    gammas = 10.0 ** (np.arange(top - DECADES * STEPS, top + 1) / STEPS)
    spectrum = problem.gram_spectrum
    values = np.maximum(spectrum.values, 0.0)[:, None]
    rotated = spectrum.vectors.T @ problem.target
    plane = problem.embedding.V @ problem.embedding.V.T
    energy = np.einsum("ij,ij->i", rotated @ plane, rotated)
    shrunk = 1.0 / (values + gammas)
    residual = np.vdot(problem.point_gram, plane) - energy @ (shrunk * (2.0 - values * shrunk))
    df = (values * shrunk).sum(axis=0) + problem.fit_intercept
    best = _gcv(np.maximum(residual, 0.0), df, n)
    return float(gammas[np.argmin(best)]) if np.isfinite(best).any() else float(gammas[-1])


def _by_probes(problem: MappingProblem, top: int) -> float:
    """Estimate trace and residual on random vectors, for all weights from one run of Lanczos."""
    rng = np.random.default_rng(0)
    n, view = float(problem.moments.n), problem.view
    V = problem.embedding.V
    sketch = V @ (rng.choice([-1.0, 1.0], (V.shape[1], PROBES)) / np.sqrt(PROBES))
    probes = rng.choice([-1.0, 1.0], (problem.moments.n_features, PROBES)) / np.sqrt(PROBES)
    total = float(np.vdot(sketch, problem.point_gram @ sketch))
    vectors = np.hstack([problem.target @ sketch, probes])
    gram = problem.gram_matrix.__matmul__ if problem.gram_matrix is not None else view.gram
    nodes, weights = lanczos_quadrature(gram, vectors, QUADRATURE)
    gammas = 10.0 ** (np.arange(top - DECADES * STEPS, top + 1) / STEPS)
    shifted = nodes[..., None] + gammas
    fitted = 1.0 / shifted + gammas / shifted**2
    residual = total - np.einsum("ij,ijk->k", weights[:PROBES], fitted[:PROBES])
    shares = nodes[PROBES:, :, None] / shifted[PROBES:]
    df = np.einsum("ij,ijk->k", weights[PROBES:], shares) + problem.fit_intercept
    best = _gcv(np.maximum(residual, 0.0), df, n)
    return float(gammas[np.argmin(best)]) if np.isfinite(best).any() else float(gammas[-1])


def _by_holding_out(problem: MappingProblem) -> float:
    """Predict a fifth of the rows from the others, from the largest weight on downwards.

    Texts repeat each other: some rows lie beside their likes, others alone, so their leverages
    differ widely. Generalised cross-validation takes all for the mean and finds a weight several
    times too small; rows held out know better. Random combinations of the labels serve for all.
    """
    moments, V = problem.moments, problem.embedding.V
    X, B, weights = (getattr(moments, name) for name in ("rows", "marks", "weights"))
    held = fold_of(row_fingerprints(X), HELD_OUT) == 0
    if held.all() or not held.any():
        return 1.0
    weights = np.ones(len(held)) if weights is None else weights
    rest = Moments.from_data(X[~held], B[~held], weights[~held], form="implicit")
    view = rest.view(centre=problem.fit_intercept, scale=problem.scale)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (V.shape[1], 2 * PROBES))
    W = problem.embedding.W @ (V @ signs)
    points, space = view.points(W), problem.row_space.part(view, ~held)
    truth = 2.0 * (B[held] @ W) - W.sum(axis=0)
    if problem.fit_intercept:
        truth -= rest.labels.sums @ W / rest.n
    Z: Array | None = None
    gammas: list[float] = []
    errors: list[float] = []
    largest = float(problem.row_space.leading[0][-1])
    step = int(np.ceil(2 * np.log10(max(largest, 1e-300))))
    while len(errors) < 2 * DECADES and (not errors or errors[-1] <= WORSE * min(errors)):
        gammas.append(10.0 ** (step / 2))
        Z = space.solve(points, np.full(W.shape[1], gammas[-1]), HOLD_OUT_TOL, Z)
        raw = view.in_raw_units(Z)
        left = truth - (X[held] @ raw - view.mean @ raw)
        errors.append(float(weights[held] @ np.einsum("ij,ij->i", left, left)))
        step -= 1
    return _lowest_point(np.log(gammas), np.array(errors))


def _lowest_point(at: Array, errors: Array) -> float:
    """Return the exponential of where a parabola through the lowest errors has its minimum."""
    best = int(np.argmin(errors))
    if not 0 < best < len(errors) - 1:
        return float(np.exp(at[best]))
    around = slice(best - 1, best + 2)
    bend, slope, _ = np.polyfit(at[around] - at[best], errors[around], 2)
    return float(np.exp(at[best] - slope / (2 * bend))) if bend > 0 else float(np.exp(at[best]))
