"""The automatic ridge weight against explicit hat matrices and rows held out."""

from __future__ import annotations

import numpy as np
import pytest

from grople.solver import Embedding, Groups, MappingProblem, choose_gamma, embed_labels
from tests.moments.test_moments import summary_of
from tests.solver.test_row_space import dense_rows, problem_of, texts

#: The grid: eight steps a decade, over six decades below ten times the largest eigenvalue.
STEPS, DECADES = 8, 6


def data(seed=0, n=150, n_features=20, n_labels=8, noise=2.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_features)) * np.geomspace(1.0, 0.05, n_features) + 0.5
    X = np.rint(4096 * X) / 4096  # on the grid of the moments
    scores = X @ rng.standard_normal((n_features, n_labels)) + noise * rng.standard_normal(
        (n, n_labels)
    )
    return X, (scores > 0.3).astype(int)


def problem(X, B, form="matrices", **options):
    moments = summary_of(X, B, form=form).moments
    groups = Groups.of(np.arange(B.shape[1]) % 2)
    return MappingProblem(moments, embed_labels(moments.labels, groups, n_components=5), **options)


def gcv(X, target, gamma, intercept):
    """GCV with the hat matrix itself."""
    n = len(X)
    if intercept:
        X = X - X.mean(axis=0)
    H = X @ np.linalg.solve(X.T @ X + gamma * np.eye(X.shape[1]), X.T)
    if intercept:
        H = H + 1.0 / n
    df = np.trace(H)
    return n * np.square(target - H @ target).sum() / (n - df) ** 2 if df < 0.98 * n else np.inf


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("seed", "n", "n_features"), [(0, 150, 20), (1, 60, 30), (2, 25, 40), (3, 12, 200)]
)
def test_the_choice_is_the_smallest_gcv_of_the_grid(intercept, seed, n, n_features):
    X, B = data(seed, n, n_features)
    found = problem(X, B, fit_intercept=intercept)
    U = (2.0 * B - 1) @ found.embedding.W
    centred = X - X.mean(axis=0) if intercept else X
    top = int(np.ceil(STEPS * np.log10(10 * np.linalg.norm(centred.T @ centred, 2))))
    gammas = 10.0 ** (np.arange(top - DECADES * STEPS, top + 1) / STEPS)
    values = [gcv(X, U @ found.embedding.V, gamma, intercept) for gamma in gammas]
    chosen = choose_gamma(found)
    assert np.min(np.abs(np.log(gammas / chosen))) < 1e-9  # it is on the grid
    # The spectrum and the hat matrix round differently: compare values, not positions.
    assert gcv(X, U @ found.embedding.V, chosen, intercept) <= np.min(values) * (1 + 1e-6)


def test_many_features_are_probed():
    rng = np.random.default_rng(0)
    X = (rng.random((800, 700)) < 0.05) * rng.integers(1, 9, (800, 700)) / 8
    weights = rng.standard_normal((700, 20)) * (rng.random((700, 1)) < 0.2)
    B = (X @ weights + 0.4 * rng.standard_normal((800, 20)) > 0).astype(int)
    found = problem(X, B)
    U = (2.0 * B - 1) @ found.embedding.W @ found.embedding.V
    chosen = choose_gamma(found)
    around = [gcv(X, U, chosen * factor, True) for factor in 10.0 ** np.linspace(-2, 2, 9)]
    # Traces and labels are estimated on eight random vectors.
    assert around[4] < 1.02 * min(around)


def test_noise_asks_for_more():
    chosen = [choose_gamma(problem(*data(4, noise=noise))) for noise in (0.01, 3.0, 30.0)]
    assert chosen[0] < chosen[1] < chosen[2]


@pytest.mark.parametrize("factor", [2.0**-8, 16.0, 2.0**16])
def test_larger_features_get_a_larger_weight(factor):
    X, B = data()
    found = choose_gamma(problem(factor * X, B)) / choose_gamma(problem(X, B))
    # The grid does not move along: half a step to either side.
    assert abs(np.log10(found / factor**2)) <= 1.01 / STEPS


def test_the_weight_is_the_best_for_rows_held_out():
    X, B = texts(1800)
    order = np.random.default_rng(3).permutation(1800)
    X, B = X[order], B[order]
    train, test = slice(0, 1200), slice(1200, 1800)
    found = problem_of(X[train], B[train])
    assert not found.row_space.few
    chosen = choose_gamma(found)
    rows = dense_rows(X[train], centre=True)
    V, W = found.embedding.V, found.embedding.W
    mean = X[train].toarray().mean(axis=0)
    points = (2 * B[train].toarray() - 1) @ W
    truth = (2 * B[test].toarray() - 1) @ W @ V

    def error(gamma):
        Z = np.linalg.solve(
            rows.T @ rows + gamma * np.eye(900), rows.T @ (points - points.mean(axis=0))
        )
        shown = ((X[test].toarray() - mean) @ Z + points.mean(axis=0)) @ V
        return float(((truth - shown) ** 2).sum())

    # A curve with a flat bottom, estimated on 240 rows: within a few per cent of the best.
    assert error(chosen) < 1.05 * min(error(gamma) for gamma in np.geomspace(0.01, 100, 33))


@pytest.mark.parametrize("form", ["matrices", "rows"])
@pytest.mark.parametrize("width", [5, 700])
def test_features_that_say_nothing(form, width):
    _, B = data()
    X = np.full((len(B), width), 0.1)
    assert choose_gamma(problem(X, B, form)) > 0
    assert choose_gamma(problem(0 * X, B, form)) > 0


def test_no_dimensions():
    X, B = data()
    nothing = Embedding(np.zeros((0, 8)), np.zeros((8, 0)), np.zeros(1), 0.0, 1, True)
    assert choose_gamma(MappingProblem(summary_of(X, B).moments, nothing)) > 0


@pytest.mark.parametrize("form", ["matrices", "rows"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 15])
def test_hardly_any_rows(n, form):
    for n_features in (4, 20):
        found = choose_gamma(problem(*data(n=n, n_features=n_features), form))
        assert np.isfinite(found)
        assert found > 0
