"""Eigenvalues and eigenvectors against LAPACK on the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest

from grople.optim import (
    Spectrum,
    block_lanczos,
    cross_approximation,
    largest_eigenvalue,
    top_eigenvectors,
)


def gram(seed=0, n=30, d=20):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X.T @ X


@pytest.mark.parametrize("n", [30, 8], ids=["full rank", "singular"])
def test_spectrum_solves_every_shift(n):
    A = gram(n=n)
    right = np.random.default_rng(1).standard_normal((20, 4))
    shifts = np.array([1e-2, 1.0, 3.0, 1e3])
    solution = Spectrum.of(A).solve(right, shifts)
    for j, shift in enumerate(shifts):
        expected = np.linalg.solve(A + shift * np.eye(20), right[:, j])
        np.testing.assert_allclose(solution[:, j], expected, rtol=1e-8)


def test_spectrum_of_a_singular_matrix_gives_the_shortest_solution():
    A = gram(n=8)
    right = A @ np.random.default_rng(1).standard_normal((20, 3))
    solution = Spectrum.of(A).solve(right, np.zeros(3))
    np.testing.assert_allclose(solution, np.linalg.pinv(A, rcond=1e-10) @ right, rtol=1e-8)


def test_a_huge_shift_next_to_a_small_one_changes_nothing():
    A, right = gram(), np.random.default_rng(1).standard_normal((20, 2))
    alone = Spectrum.of(A).solve(right[:, :1], np.array([1e-3]))
    together = Spectrum.of(A).solve(right, np.array([1e-3, 1e18]))
    np.testing.assert_allclose(together[:, :1], alone, rtol=1e-12)


def test_spectrum_of_nothing_and_of_zero():
    right = np.ones((3, 2))
    assert not Spectrum.of(np.zeros((3, 3))).solve(right, np.zeros(2)).any()
    np.testing.assert_allclose(Spectrum.of(np.zeros((3, 3))).solve(right, np.full(2, 4.0)), 0.25)


def test_spectrum_leaves_the_matrix_alone_unless_told():
    A = gram()
    before = A.copy()
    Spectrum.of(A)
    np.testing.assert_array_equal(A, before)


@pytest.mark.parametrize("shape", ["decaying", "low rank", "degenerate"])
def test_iterative_and_dense_eigenvectors_agree(shape, monkeypatch):
    rng = np.random.default_rng(2)
    Q = np.linalg.qr(rng.standard_normal((80, 80)))[0]
    values = {
        "decaying": 0.9 ** np.arange(80),
        "low rank": np.r_[np.arange(8, 0, -1), np.zeros(72)],
        "degenerate": np.r_[5.0, 5.0, 5.0, np.full(77, 0.1)],
    }[shape]
    A = (Q * values) @ Q.T
    dense_values, dense = top_eigenvectors(lambda W: A @ W, 80, 6)
    monkeypatch.setattr("grople.optim._spectra.DENSE_SIZE", 10)
    iterative_values, iterative = top_eigenvectors(lambda W: A @ W, 80, 6)
    np.testing.assert_allclose(dense_values, values[:6], atol=1e-10)
    np.testing.assert_allclose(iterative_values, values[:6], atol=1e-10)
    if shape == "degenerate":  # only the space of the equal eigenvalues is determined
        dense, iterative = (V[:, :3] @ V[:, :3].T for V in (dense, iterative))
    np.testing.assert_allclose(iterative, dense, atol=1e-7)


def test_eigenvectors_are_orthonormal_and_signed():
    A = gram()
    values, vectors = top_eigenvectors(lambda W: A @ W, 20, 5)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-12)
    assert np.all(np.diff(values) <= 0)
    assert np.all(vectors[np.abs(vectors).argmax(axis=0), np.arange(5)] > 0)


def test_more_eigenvectors_than_there_are():
    values, vectors = top_eigenvectors(lambda W: W * np.arange(1.0, 4.0)[:, None], 3, 10)
    assert values.tolist() == [3.0, 2.0, 1.0]
    assert vectors.shape == (3, 3)


@pytest.mark.parametrize(
    "A",
    [np.zeros((300, 300)), np.ones((300, 300)), np.eye(300), np.diag(np.r_[3.0, np.zeros(299)])],
    ids=["zero", "rank one", "identity", "one entry"],
)
def test_large_degenerate_operators(A):
    # Krylov spaces of these end after a step or two: the rest must neither fail nor be left to
    # chance.
    expected = np.linalg.eigvalsh(A)[-1]
    assert largest_eigenvalue(lambda W: A @ W, 300) == pytest.approx(expected, rel=2e-3)
    values, vectors = top_eigenvectors(lambda W: A @ W, 300, 5)
    again_values, again = top_eigenvectors(lambda W: A @ W, 300, 5)
    np.testing.assert_array_equal(again_values, values)
    np.testing.assert_array_equal(again, vectors)
    assert values[0] == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-10)


@pytest.mark.parametrize("size", [0, 1, 20, 400])
def test_largest_eigenvalue(size):
    A = gram(d=size, n=30)
    found = largest_eigenvalue(lambda W: A @ W, size)
    assert found == pytest.approx(np.linalg.norm(A, 2) if size else 0.0, rel=2e-3)


SIZE = 300

SPECTRA = {
    "natural": 1.0 / np.arange(1, SIZE + 1),
    "falling fast": np.exp(-np.arange(SIZE) / 5),
    "low rank": np.repeat([3.0, 2.0, 0.0], [4, 4, SIZE - 8]),
    "copies": np.repeat([5.0, 4.0, 3.0, 0.0], [30, 30, 30, SIZE - 90]),
    "nothing": np.zeros(SIZE),
    "identity": np.ones(SIZE),
    "both signs": np.sort(np.linspace(-1, 1, SIZE) ** 3)[::-1],
    "one far above the rest": np.r_[1e9, 1.0 / np.arange(1, SIZE)],
}


class Counted:
    """A symmetric matrix with given eigenvalues that counts the columns it multiplies."""

    def __init__(self, values, seed=0):
        rng = np.random.default_rng(seed)
        self.vectors = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
        matrix = (self.vectors * values) @ self.vectors.T
        self.matrix = (matrix + matrix.T) / 2
        self.columns = 0

    def __call__(self, W):
        self.columns += W.shape[1]
        return self.matrix @ W


def residuals(matrix, values, vectors):
    return np.linalg.norm(matrix @ vectors - vectors * values, axis=0)


@pytest.mark.parametrize("n_vectors", [20, 50])
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_values_are_those_of_the_matrix(spectrum, n_vectors):
    operator = Counted(SPECTRA[spectrum])
    values, vectors = block_lanczos(operator, SIZE, n_vectors)
    expected = np.linalg.eigvalsh(operator.matrix)[::-1][:n_vectors]
    scale = np.abs(SPECTRA[spectrum]).max()
    # The matrix itself is known to eps times its norm.
    np.testing.assert_allclose(values, expected, rtol=1e-8, atol=1e-12 * scale)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n_vectors), atol=1e-11)
    allowed = 1e-8 * np.abs(values) + 1e-12 * scale
    assert np.all(residuals(operator.matrix, values, vectors) <= allowed)


@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_every_residual_is_within_the_tolerance(tol):
    operator = Counted(SPECTRA["natural"])
    values, vectors = block_lanczos(operator, SIZE, 50, tol=tol)
    # Rounding in orthogonalisation may add to what is certified, far below the tolerance.
    assert np.all(residuals(operator.matrix, values, vectors) <= 1.001 * tol * values)


def test_a_looser_tolerance_saves_products():
    strict, loose = (Counted(SPECTRA["natural"]) for _ in range(2))
    block_lanczos(strict, SIZE, 50)
    block_lanczos(loose, SIZE, 50, tol=1e-2)
    assert loose.columns < strict.columns


def test_the_same_in_every_run():
    first, second = (block_lanczos(Counted(SPECTRA["natural"]), SIZE, 50) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_what_could_not_be_certified_is_said(monkeypatch):
    monkeypatch.setattr("grople.optim._spectra.RESTARTS", 1)
    with pytest.warns(RuntimeWarning, match="eigenvectors are known to .* only"):
        block_lanczos(Counted(np.linspace(-1, 1, SIZE)), SIZE, 40)


# Cross approximation


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
