"""A grid of mappings on a device holds the mappings that are found one by one at home."""

from __future__ import annotations

import numpy as np
import pytest

import grople.grid
from grople import Moments
from grople.arrays import to_numpy
from grople.datasets import make_grouped_multilabel
from grople.embedding import fit_embedding
from grople.grid import fits_device, solve_grid
from grople.groups import fit_groups
from grople.linear import LinearScores
from grople.mapping import MappingProblem
from grople.optim import Weights
from tests.places import place, places

SETTINGS = [(a, b, c) for a in (0.0, 10.0) for b in (0.0, 2.0, 1e4) for c in (1.0, 50.0)]


@pytest.fixture(scope="module")
def learnt():
    data = make_grouped_multilabel(300, 30, 8, n_groups=3, noise=0.2, random_state=0)
    moments = Moments.from_data(data.X, data.Y)
    groups = fit_groups(moments.labels, random_state=0)
    return data, moments, fit_embedding(moments.labels, groups, n_components=6)


@pytest.mark.parametrize("library", places())
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("correlation", "scale"), [("laplacian", False), ("psd", True), (None, 0)])
def test_each_setting_is_the_mapping_found_alone(learnt, library, intercept, correlation, scale):
    data, moments, embedding = learnt
    problem = MappingProblem(moments, embedding, correlation, intercept, bool(scale))
    grid = solve_grid(problem, Weights.of(SETTINGS), place(library), tol=1e-9, max_iter=2000)
    assert grid.converged.all()
    rows = place(library).array(data.X, grid.Z.dtype)
    labels = LinearScores(embedding.V, embedding.V, embedding.V, np.zeros(embedding.V.shape[1]))
    [(_, scores)] = grid.scores(rows, labels)
    for s, (alpha, beta, gamma) in enumerate(SETTINGS):
        alone = problem.solve(alpha, beta, gamma, tol=1e-10, max_iter=2000)
        found = grid.mapping(s)
        # Both are within a relative gap of 1e-9, which leaves √1e-9 of the solution open.
        np.testing.assert_allclose(found.Z, alone.Z, atol=3e-4)
        np.testing.assert_allclose(found.viewed, alone.viewed, atol=3e-4)
        np.testing.assert_allclose(found.intercept, alone.intercept, atol=3e-4)
        own = LinearScores(found.Z, found.intercept, embedding.V)
        np.testing.assert_allclose(to_numpy(scores)[:, s], own(data.X), atol=1e-10)


def test_large_grids_are_solved_in_parts(learnt, monkeypatch):
    _, moments, embedding = learnt
    problem = MappingProblem(moments, embedding)
    there = place("torch")
    whole = solve_grid(problem, Weights.of(SETTINGS), there, tol=1e-4, max_iter=500)
    monkeypatch.setattr(grople.grid, "MOST_VALUES", 5 * 30 * 6)
    parts = solve_grid(problem, Weights.of(SETTINGS), there, tol=1e-4, max_iter=500)
    np.testing.assert_allclose(to_numpy(parts.Z), to_numpy(whole.Z), atol=1e-10)
    np.testing.assert_array_equal(parts.n_iter, whole.n_iter)


def test_what_is_not_convex_or_not_explicit_stays_at_home(learnt):
    data, moments, embedding = learnt
    assert fits_device(MappingProblem(moments, embedding))
    assert not fits_device(MappingProblem(moments, embedding, "published"))
    implicit = Moments.from_data(data.X, data.Y, form="implicit")
    assert not fits_device(MappingProblem(implicit, embedding))
