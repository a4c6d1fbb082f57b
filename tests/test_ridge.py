"""The automatic ridge weight against explicit hat matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from grople.embedding import Embedding, fit_embedding
from grople.groups import Groups
from grople.mapping import MappingProblem
from grople.moments import Moments
from grople.ridge import DECADES, STEPS, choose_ridge


def data(seed=0, n=150, n_features=20, n_labels=8, noise=2.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_features)) * np.geomspace(1.0, 0.05, n_features) + 0.5
    scores = X @ rng.standard_normal((n_features, n_labels)) + noise * rng.standard_normal(
        (n, n_labels)
    )
    return X, (scores > 0.3).astype(int)


def problem(X, B, form="explicit", **options):
    moments = Moments.from_data(X, B, form=form)
    groups = Groups.of(np.arange(B.shape[1]) % 2)
    embedding = fit_embedding(moments.labels, groups, n_components=5)
    return MappingProblem(moments, embedding, **options)


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


def grid(X, intercept):
    X = X - X.mean(axis=0) if intercept else X
    top = int(np.ceil(STEPS * np.log10(10 * np.linalg.norm(X.T @ X, 2))))
    return 10.0 ** (np.arange(top - DECADES * STEPS, top + 1) / STEPS)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("seed", "n", "n_features"), [(0, 150, 20), (1, 60, 30), (2, 25, 40), (3, 12, 200)]
)
def test_the_choice_is_the_smallest_gcv_of_the_grid(intercept, seed, n, n_features):
    X, B = data(seed, n, n_features)
    found = problem(X, B, fit_intercept=intercept)
    U = (2.0 * B - 1) @ found.embedding.W
    gammas = grid(X, intercept)
    values = [gcv(X, U @ found.embedding.V, gamma, intercept) for gamma in gammas]
    chosen = choose_ridge(found)
    assert np.min(np.abs(np.log(gammas / chosen))) < 1e-9  # it is on the grid
    # The spectrum and the hat matrix round differently: compare values, not positions.
    assert gcv(X, U @ found.embedding.V, chosen, intercept) <= np.min(values) * (1 + 1e-6)


def test_noise_asks_for_more():
    chosen = [choose_ridge(problem(*data(4, noise=noise))) for noise in (0.01, 3.0, 30.0)]
    assert chosen[0] < chosen[1] < chosen[2]


@pytest.mark.parametrize("factor", [1e-3, 10.0 ** (5 / 16), 1e4])
def test_larger_features_get_a_larger_weight(factor):
    # 10^(k/16) squared lies on the grid of eight steps a decade.
    X, B = data()
    assert choose_ridge(problem(factor * X, B)) == pytest.approx(
        factor**2 * choose_ridge(problem(X, B)), rel=1e-9
    )


def test_scaled_features_do_not_mind_their_units():
    X, B = data()
    units = np.random.default_rng(5).uniform(0.01, 100.0, X.shape[1])
    here, there = (choose_ridge(problem(held, B, scale=True)) for held in (X, X * units))
    assert here == there


@pytest.mark.parametrize("seed", range(4))
def test_probes_come_close(seed):
    rng = np.random.default_rng(seed)
    X = sp.random_array((800, 400), density=0.05, rng=rng, format="csr")
    weights = rng.standard_normal((400, 20)) * (rng.random((400, 1)) < 0.2)
    B = (X @ weights + 0.4 * rng.standard_normal((800, 20)) > 0).astype(int)
    exact = choose_ridge(problem(X, B))
    found = choose_ridge(problem(X, B, "implicit"))
    # Half a decade between the steps, and as much again for the noise of the probes.
    assert 1 / 3.5 < found / exact < 3.5


@pytest.mark.parametrize("form", ["explicit", "implicit"])
@pytest.mark.parametrize("width", [5, 300])
def test_features_that_say_nothing(form, width):
    _, B = data()
    X = np.full((len(B), width), 0.1)
    assert np.isfinite(choose_ridge(problem(X, B, form)))
    assert choose_ridge(problem(0 * X, B, form)) > 0


def test_no_dimensions():
    X, B = data()
    nothing = Embedding(np.zeros((0, 8)), np.zeros((8, 0)), np.zeros(1), 0.0, 1, True)
    assert choose_ridge(MappingProblem(Moments.from_data(X, B), nothing)) > 0


@pytest.mark.parametrize("n", [1, 2, 3])
def test_hardly_any_rows(n):
    X, B = data(n=n)
    assert np.isfinite(choose_ridge(problem(X, B)))
    assert np.isfinite(choose_ridge(problem(X, B, "implicit")))
