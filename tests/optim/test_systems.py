"""Solvers of linear systems against dense NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from grople.optim import (
    by_diagonal,
    conjugate_gradient,
    from_nearby,
    lanczos_quadrature,
    leading_part,
    low_rank,
    orthonormal,
    solve_ridge_systems,
)


def gram(seed=0, n=30, d=20):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X.T @ X


@pytest.mark.parametrize("preconditioner", [None, "diagonal", "factor"])
@pytest.mark.parametrize("started", [False, True])
def test_conjugate_gradient_solves_every_shift(preconditioner, started):
    scales = np.geomspace(1, 30, 20)
    A = gram() * np.outer(scales, scales)
    rng = np.random.default_rng(3)
    right = rng.standard_normal((20, 4))
    right[:, 2] = 0.0
    shifts = np.array([0.5, 1.0, 7.0, 300.0])
    nearby = np.linalg.inv(A + 3.0 * np.eye(20))
    solution = conjugate_gradient(
        lambda W: A @ W,
        right,
        shifts,
        start=rng.standard_normal((20, 4)) * (right != 0) if started else None,
        precondition={
            None: None,
            "diagonal": by_diagonal(np.diagonal(A), shifts),
            "factor": lambda residual: nearby @ residual,
        }[preconditioner],
        tol=1e-12,
    )
    for j, shift in enumerate(shifts):
        expected = np.linalg.solve(A + shift * np.eye(20), right[:, j])
        np.testing.assert_allclose(solution[:, j], expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("ratio", [1.0, 1.5, 90.0, 1e4])
@pytest.mark.parametrize("rank", [8, 30])
def test_ridge_systems_of_any_shifts(ratio, rank):
    A, right = gram(n=rank), np.random.default_rng(6).standard_normal((20, 4))
    shifts = 0.5 * np.geomspace(1.0, ratio, 4)
    expected = [
        np.linalg.solve(A + s * np.eye(20), b) for s, b in zip(shifts, right.T, strict=True)
    ]
    for allowed in (1.0, 100.0, np.inf):  # by the spectrum, or by one factor
        found = solve_ridge_systems(A, right, shifts, ratio=allowed)
        np.testing.assert_allclose(found, np.stack(expected, axis=1), rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("shift", [0.0, 1e-40])
def test_ridge_systems_without_a_ridge_have_the_shortest_solution(shift):
    A = gram(n=8)
    right = A @ np.random.default_rng(5).standard_normal((20, 2))
    found = solve_ridge_systems(A, right, np.full(2, shift))
    np.testing.assert_allclose(found, np.linalg.pinv(A, rcond=1e-10) @ right, rtol=1e-8)


def test_shifted_systems_follow_from_one_inverse():
    rng = np.random.default_rng(5)
    A = gram(d=40, n=50)
    right = rng.standard_normal((40, 5))
    right[:, 2] = 0.0
    shifts, middle = np.array([1.0, 10.0, 3.0, 10.1, 100.0]), 10.0
    inverse, solved = np.linalg.inv(A + middle * np.eye(40)), []

    def solve(residual):
        solved.append(residual)
        return inverse @ residual

    found = from_nearby(solve, right, shifts - middle, tol=1e-12)
    expected = [
        np.linalg.solve(A + s * np.eye(40), b) for s, b in zip(shifts, right.T, strict=True)
    ]
    # The condition of the preconditioned systems is ten: a factor of two an iteration, and 1e-12
    # of the right side is 1e-12 of the solution times the condition of A + 1.
    np.testing.assert_allclose(found, np.stack(expected, axis=1), rtol=1e-9, atol=1e-12)
    assert len(solved) < 45
    # A system that M solves already takes one solution beyond the first.
    solved.clear()
    np.testing.assert_allclose(from_nearby(solve, right, np.zeros(5)), inverse @ right)
    assert len(solved) == 2


def test_conjugate_gradient_stops_at_its_tolerance():
    A, right = gram(d=50, n=60), np.random.default_rng(4).standard_normal((50, 3))
    products = []

    def product(W):
        products.append(W.shape)
        return A @ W

    counts = []
    for tol in (1e-2, 1e-10):
        products.clear()
        Z = conjugate_gradient(product, right, np.ones(3), tol=tol)
        residual = np.linalg.norm(A @ Z + Z - right, axis=0)
        assert np.all(residual <= 2 * tol * np.linalg.norm(right, axis=0))
        counts.append(len(products))
    assert counts[0] < counts[1]
    products.clear()
    conjugate_gradient(product, right, np.ones(3), tol=0.0, max_iter=4)
    assert len(products) == 4


def test_conjugate_gradient_on_a_singular_matrix():
    A = gram(n=8)
    right = A @ np.random.default_rng(5).standard_normal((20, 2))
    Z = conjugate_gradient(lambda W: A @ W, right, np.zeros(2))
    np.testing.assert_allclose(Z, np.linalg.pinv(A, rcond=1e-10) @ right, atol=1e-7)


def test_conjugate_gradient_leaves_its_start_alone():
    A, right, start = gram(), np.ones((20, 1)), np.ones((20, 1))
    start.flags.writeable = right.flags.writeable = False
    conjugate_gradient(lambda W: A @ W, right, np.ones(1), start=start)


def test_diagonal_of_zero_divides_by_one():
    precondition = by_diagonal(np.array([0.0, 2.0]), np.array([0.0, 1.0]))
    assert precondition(np.ones((2, 2))).tolist() == [[1.0, 1.0], [0.5, 1 / 3]]


def test_low_rank_takes_care_of_the_largest_eigenvalues():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    values = np.concatenate([np.full(280, 1.0), np.geomspace(10, 1e5, 20)])
    A = (Q * values) @ Q.T
    right = rng.standard_normal((300, 4))
    shifts = np.array([0.5, 1.0, 2.0, 4.0])
    calls = []

    def product(Z):
        calls.append(Z.shape[1])
        return A @ Z

    nearby = low_rank(*leading_part(product, 300, 40, np.float64), shifts)
    before = len(calls)
    Z = conjugate_gradient(product, right, shifts, precondition=nearby, tol=1e-8)
    expected = np.column_stack(
        [np.linalg.solve(A + s * np.eye(300), r) for s, r in zip(shifts, right.T, strict=True)]
    )
    np.testing.assert_allclose(Z, expected, rtol=1e-6, atol=1e-8)
    assert calls[:before] == [40, 40, 40]
    with_it = len(calls) - before
    conjugate_gradient(product, right, shifts, tol=1e-8)
    assert with_it < (len(calls) - before - with_it) / 2


def test_quadrature_of_smooth_functions():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((80, 60))
    A = A @ A.T
    values, vectors = np.linalg.eigh(A)
    probes = rng.standard_normal((80, 3))
    nodes, weights = lanczos_quadrature(A.__matmul__, probes, 20)
    for shift in (1.0, 30.0):
        exact = ((vectors.T @ probes) ** 2 / (values + shift)[:, None]).sum(axis=0)
        found = (weights / (nodes + shift)).sum(axis=1)
        np.testing.assert_allclose(found, exact, rtol=0.01)


def test_quadrature_of_an_exhausted_space():
    A = np.diag([1.0, 1.0, 3.0])
    nodes, weights = lanczos_quadrature(A.__matmul__, np.array([[1.0], [1.0], [1.0]]), 10)
    assert (weights / (nodes + 1.0)).sum() == pytest.approx(1 / 2 + 1 / 2 + 1 / 4)
    nodes, weights = lanczos_quadrature(A.__matmul__, np.zeros((3, 1)), 4)
    assert weights.sum() == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_orthonormal_columns_stay_near_theirs(dtype):
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((300, 20)))[0]
    found = orthonormal((Q[:240] * np.linspace(0.5, 2.0, 20)).astype(dtype))  # a part of them
    assert found.dtype == dtype
    np.testing.assert_allclose(found.T @ found, np.eye(20), atol=1e-5)
    # The nearest of all: what is left of each lies in its own direction.
    assert np.all(np.einsum("ij,ij->j", found, Q[:240]) > 0.8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dependent_columns_are_never_longer_than_one(dtype):
    block = np.random.default_rng(0).standard_normal((300, 20))
    block[:, 10:] = block[:, :10] * 3.0
    lengths = np.linalg.svd(orthonormal(block.astype(dtype)), compute_uv=False)
    assert lengths.max() < 1.001  # so that a preconditioner made of them stays positive
    np.testing.assert_allclose(lengths[:10], 1.0, atol=1e-3)
    assert not orthonormal(np.zeros((5, 2), dtype=dtype)).any()
