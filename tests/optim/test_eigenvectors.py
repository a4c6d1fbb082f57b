"""Many eigenvectors by blocks, against LAPACK on the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest

from grople.optim.eigenvectors import block_lanczos

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


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("n_vectors", [20, 50])
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_values_are_those_of_the_matrix(spectrum, n_vectors, started):
    operator = Counted(SPECTRA[spectrum])
    start = np.random.default_rng(3).standard_normal((SIZE, n_vectors + 1)) if started else None
    values, vectors = block_lanczos(operator, SIZE, n_vectors, start=start)
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


def test_a_looser_tolerance_and_a_good_start_save_products():
    strict, loose, begun = (Counted(SPECTRA["natural"]) for _ in range(3))
    block_lanczos(strict, SIZE, 50)
    block_lanczos(loose, SIZE, 50, tol=1e-2)
    near = begun.vectors[:, :51] + 1e-6 * np.random.default_rng(1).standard_normal((SIZE, 51))
    values, _ = block_lanczos(begun, SIZE, 50, tol=1e-2, start=near)
    assert begun.columns == 51 < loose.columns < strict.columns
    np.testing.assert_allclose(values, SPECTRA["natural"][:50], rtol=1e-4)


def test_a_start_of_nothing_is_none():
    operator = Counted(SPECTRA["natural"])
    values, _ = block_lanczos(operator, SIZE, 40, start=np.zeros((SIZE, 0)))
    np.testing.assert_allclose(values, SPECTRA["natural"][:40], rtol=1e-8)


def test_the_same_in_every_run():
    first, second = (block_lanczos(Counted(SPECTRA["natural"]), SIZE, 50) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_what_could_not_be_certified_is_said(monkeypatch):
    monkeypatch.setattr("grople.optim.eigenvectors.RESTARTS", 1)
    with pytest.warns(RuntimeWarning, match="eigenvectors are known to .* only"):
        block_lanczos(Counted(np.linspace(-1, 1, SIZE)), SIZE, 40)
