"""A grid of maps on a device is that of maps found one by one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from grople.backends import grid_scores
from grople.datasets import make_grouped_multilabel
from grople.decision import Rule
from grople.estimators import GroPLECV
from grople.moments import summarise
from grople.optim import L1, Quadratic, optimality_gap
from grople.solver import MappingProblem, embed_labels, group_labels

torch = pytest.importorskip("torch")

DATA = make_grouped_multilabel(300, 30, 8, n_groups=3, noise=0.2, random_state=0)
X, Y = DATA.X.toarray(), DATA.Y.toarray()
WEIGHINGS = [
    (alpha, beta, gamma)
    for alpha in (0.0, 10.0)
    for beta in (0.0, 2.0, 30.0, 1e4)
    for gamma in (1.0, 50.0)
]
#: What the rows of these are mapped to says what the map and its intercept are.
UNITS = np.vstack([np.zeros(30), np.eye(30)])


def problem_of(correlation="laplacian", intercept=True, X=X, **embedding):
    moments = summarise(X, Y).matrices()
    groups = group_labels(moments.labels, "spectral", 3, 0)
    found = embed_labels(moments.labels, groups, n_components=6, **embedding)
    return MappingProblem(moments, found, correlation, intercept)


def maps_of(problem, weighings, tol, max_iter=5000):
    """Return Z and the intercept of each setting."""
    points = grid_scores(problem, weighings, UNITS, "cpu", tol=tol, max_iter=max_iter)
    return [(found[1:] - found[0], found[0]) for found in points]


def gap_of(problem, weighing, Z):
    alpha, beta, gamma = weighing
    size = float(np.trace(problem.point_gram))

    def product(Z):
        return problem.gram_matrix @ Z + alpha * Z @ problem.relation + gamma * Z

    smooth = Quadratic(product, problem.target, size, curvature=1.0, convexity=gamma)
    return optimality_gap(smooth, L1(beta), Z, product(Z)) / size


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("correlation", ["laplacian", "psd", None])
def test_each_setting_is_the_map_found_alone(correlation, intercept):
    problem = problem_of(correlation, intercept)
    for weighing, (Z, b) in zip(WEIGHINGS, maps_of(problem, WEIGHINGS, 1e-9), strict=True):
        alone = problem.solve(*weighing, tol=1e-11, max_iter=5000)
        # A gap of 1e-9 leaves about its root of the map open; closed forms leave nothing.
        close = 1e-4 if weighing[1] else 1e-10
        np.testing.assert_allclose(Z, alone.Z, atol=close)
        np.testing.assert_allclose(b, alone.intercept, atol=close)


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_maps_are_as_near_to_the_minimum_as_asked_for(tol):
    problem = problem_of()
    weighings = [*WEIGHINGS, (0.0, 2.0, 0.0)]
    for weighing, (Z, _) in zip(weighings, maps_of(problem, weighings, tol), strict=True):
        if weighing[1] == 1e4:
            assert not Z.any(), "the penalty leaves nothing"
        assert gap_of(problem, weighing, Z) <= 1.01 * tol


def test_points_are_those_of_the_rows_however_settings_and_rows_are_cut(monkeypatch):
    problem = problem_of()
    found = list(grid_scores(problem, WEIGHINGS, X, "cpu", tol=1e-6, max_iter=5000))
    maps = maps_of(problem, WEIGHINGS, 1e-6)
    monkeypatch.setattr("grople.backends._gpu.MOST_VALUES", 5 * 300 * 6)
    cut = grid_scores(problem, WEIGHINGS, sp.csr_array(X), "cpu", tol=1e-6, max_iter=5000)
    for points, (Z, b), again in zip(found, maps, cut, strict=True):
        assert points.dtype == np.float64
        np.testing.assert_allclose(points, X @ Z + b, atol=1e-10)
        np.testing.assert_allclose(points, again, atol=1e-10)


def test_constant_features_and_embeddings_without_dimensions():
    constant = np.column_stack([X[:, :29], np.full(len(X), 3.0)])
    [(Z, _)] = maps_of(problem_of(X=constant), [(0.0, 2.0, 1.0)], 1e-9)
    assert np.isfinite(Z).all()
    assert not Z[29].any()
    problem = problem_of(lambda_2=1e6)
    assert not problem.embedding.n_components
    [points] = grid_scores(problem, [(1.0, 2.0, 3.0)], X, "cpu", tol=1e-3, max_iter=10)
    assert points.shape == (300, 0)


def test_steps_run_out():
    problem = problem_of()
    weighing = (0.0, 2.0, 1e-3)
    [(Z, _)] = maps_of(problem, [weighing], 1e-14, max_iter=10)
    assert gap_of(problem, weighing, Z) > 1e-14


@pytest.mark.parametrize(
    "decision",
    ["sign", "example_f1", Rule("macro_f1", context=False)],
    ids=["sign", "sets", "labels"],
)
def test_a_search_finds_the_same(decision):
    search = GroPLECV(
        alpha=[0.0, 10.0], beta=[0.0, 2.0], gamma=[1.0, "auto"], n_groups=[2, 3], cv=2,
        search_tol=1e-12, decision=decision, max_kept_rows=0,
    )  # fmt: skip
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    alone = clone(search).fit(X, Y, weights)
    found = search.set_params(device="cpu").fit(X, Y, weights)
    assert found.best_params_ == alone.best_params_
    for name in ("split0_test_score", "split1_test_score", "mean_test_score"):
        np.testing.assert_allclose(found.cv_results_[name], alone.cv_results_[name], atol=1e-6)
    np.testing.assert_array_equal(found.predict(X), alone.predict(X))


def test_a_search_in_classes():
    y = Y[:, :3].argmax(axis=1)
    search = GroPLECV(alpha=[0.0, 1.0], gamma=[1.0, 10.0], cv=2)
    alone = clone(search).fit(X, y).cv_results_["mean_test_score"]
    found = search.set_params(device="cpu").fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_allclose(found, alone, atol=1e-6)


@pytest.mark.parametrize("device", ["abacus", "cuda:99", 1.5])
def test_a_device_that_is_not_there_is_named(device):
    with pytest.raises(ValueError, match=r"device=.* cannot be used here"):
        GroPLECV(alpha=[0.0, 1.0], gamma=1.0, cv=2, device=device).fit(X, Y)
