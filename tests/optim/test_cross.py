"""Cross approximation against the matrices it stands for."""

from __future__ import annotations

import numpy as np
import pytest

from grople.optim import cross_approximation


def approximated(A, **settings):
    U, W = cross_approximation(lambda rows: A[rows].copy(), len(A), **settings)
    return U @ W, len(W)


@pytest.mark.parametrize("tol", [1e-4, 1e-10])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: np.exp(-x * y),
        lambda x, y: 1.0 / (1.0 + x + y),
        lambda x, y: np.exp(-2 * np.cosh(x - y)),
    ],
)
def test_smooth_functions_need_few_terms(function, tol):
    x = np.random.default_rng(0).uniform(0, 6, 800)
    A = function(x[:, None], x[None])
    found, n_terms = approximated(A, tol=tol)
    # Checked on 256 of the 800 rows; the others of a smooth function are no worse by much.
    assert np.abs(found - A).max() <= 10 * tol * A.max()
    assert n_terms < 50


def test_low_rank_is_exact():
    B = np.random.default_rng(0).standard_normal((300, 7))
    found, n_terms = approximated(B @ B.T)
    np.testing.assert_allclose(found, B @ B.T, atol=1e-9 * np.abs(B @ B.T).max())
    assert n_terms <= 9


def test_a_matrix_of_blocks_is_not_left_half_way():
    # A row of one block says nothing of the others: only the check on random rows finds them.
    A = np.kron(np.eye(5), np.ones((40, 40)))
    found, n_terms = approximated(A)
    np.testing.assert_allclose(found, A, atol=1e-12)
    assert n_terms == 5


@pytest.mark.parametrize("size", [0, 1, 5])
def test_zero_and_tiny_matrices(size):
    found, n_terms = approximated(np.zeros((size, size)))
    assert found.shape == (size, size)
    assert n_terms == 0
    A = np.random.default_rng(1).standard_normal((size, size))
    np.testing.assert_allclose(approximated(A + A.T)[0], A + A.T, atol=1e-8)
