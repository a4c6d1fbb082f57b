"""The kernel expert against scikit-learn's kernels and the conditions of its minimum."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.preprocessing import RobustScaler, normalize

from grople.experts import Landmarks
from grople.experts._kernel import fit_kernel, lowest_step
from grople.moments import Sample, row_keys


def table(n=80, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * [1, 10, 0.1, 3, 1000]


def sample_of(X, B=None):
    B = sp.csr_array(np.eye(2)[np.arange(X.shape[0]) % 2]) if B is None else B
    return Sample.of(X, B, None, None)


def test_dense_rows_have_laplacian_similarities_of_robustly_scaled_columns():
    X = table()
    landmarks = Landmarks.of(X, row_keys(X), 20)
    scaled = np.clip(RobustScaler(unit_variance=False).fit_transform(X) * 1.349, -5, 5)
    chosen = scaled[np.argsort(row_keys(X))[:20]]
    expected = laplacian_kernel(scaled, chosen, gamma=1 / landmarks.width)
    np.testing.assert_allclose(landmarks(X), expected, rtol=1e-10)


def test_sparse_rows_have_gaussian_similarities_of_unit_rows():
    X = sp.random_array((60, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    landmarks = Landmarks.of(X, row_keys(X), 30)
    unit = normalize(X.toarray())
    chosen = unit[np.argsort(row_keys(X))[:30]]
    expected = rbf_kernel(unit, chosen, gamma=1 / landmarks.width)
    filled = np.asarray(X.sum(axis=1)).ravel() > 0
    np.testing.assert_allclose(landmarks(X)[filled], expected[filled], atol=1e-12)


def test_rows_are_compared_alike_however_they_are_stored():
    X = table()
    stored = sp.csr_array(X)
    np.testing.assert_array_equal(
        Landmarks.of(X, row_keys(X), 20)(X), Landmarks.of(stored, row_keys(stored), 20)(stored)
    )


def test_constant_and_rare_columns_have_a_spread():
    X = np.c_[np.ones(50), np.arange(50) == 3, np.arange(50.0)]
    assert np.isfinite(Landmarks.of(X, row_keys(X), 10)(X)).all()


def test_the_map_is_where_its_objective_is_lowest():
    sample = sample_of(table())
    rng = np.random.default_rng(1)
    points, V = rng.normal(size=(80, 3)), rng.normal(size=(3, 2))
    scores, _ = fit_kernel(sample, points, V, sample.folds(5), 15)
    K = np.c_[scores.landmarks(sample.X), np.ones(80)]
    A = np.vstack([scores.A, scores.b])
    P = np.zeros((16, 16))
    P[:15, :15] = scores.landmarks.similarities(scores.landmarks.rows) + 1e-8 * np.eye(15)
    # Somewhere on the grid of γ the gradient vanishes.
    gradients = [
        np.abs(K.T @ (K @ A - points) + 80 * 10.0 ** (step / 2) * P @ A).max()
        for step in range(-14, 3)
    ]
    assert min(gradients) < 1e-8 * np.abs(K.T @ points).max()


def test_rows_are_placed_by_maps_that_have_not_seen_them():
    sample = sample_of(table())
    rng = np.random.default_rng(1)
    points, V = rng.normal(size=(80, 3)), np.eye(3)
    folds = sample.folds(5)
    _, before = fit_kernel(sample, points, V, folds, 40)
    last = folds == folds.max()
    points[last] += 1e-6
    _, after = fit_kernel(sample, points, V, folds, 40)
    np.testing.assert_array_equal(before[last], after[last])
    assert not np.array_equal(before[~last], after[~last])


@pytest.mark.parametrize("bottom", [-14, -9, -7, -2, 2])
def test_the_walk_along_the_grid_finds_the_lowest_step(bottom):
    assert lowest_step(lambda step: (step - bottom) ** 2) == bottom
