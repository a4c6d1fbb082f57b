"""Ridge regressions in the space of kept rows, against dense solutions and rows left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from grople import GroPLE
from grople.decision import Rule
from grople.metrics import reliability_curve
from grople.solver import Groups, MappingProblem, embed_labels
from grople.solver._row_space import RowSpace
from tests.moments.test_moments import summary_of


def texts(n_rows: int = 1200, seed: int = 0) -> tuple[Any, Any]:
    """Rows like texts: few of many words, topics, and many near-copies of other rows."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(900, 0.02), 12)
    marks = (rng.random((n_rows, 12)) < 0.15).astype(float)
    marks[np.arange(n_rows), rng.integers(0, 12, n_rows)] = 1.0
    chances = marks @ topics
    chances /= chances.sum(axis=1, keepdims=True)
    words = np.stack([rng.multinomial(25, row) for row in chances]).astype(float)
    copies = rng.integers(0, n_rows // 2, n_rows // 3)
    words[-len(copies) :] = words[copies] + (rng.random((len(copies), 900)) < 0.001)
    marks[-len(copies) :] = marks[copies]
    words /= np.linalg.norm(words, axis=1, keepdims=True)
    return sp.csr_array(words), sp.csr_array(marks)


def problem_of(X: Any, B: Any, weights: Any = None, **settings: Any) -> MappingProblem:
    moments = summary_of(X, B, weights, "rows").moments
    embedding = embed_labels(moments.labels, Groups.of([0] * 12), n_components=12)
    return MappingProblem(moments, embedding, **({"correlation": None} | settings))


def dense_rows(X: Any, *, centre: bool, weights: Any = None) -> np.ndarray:
    rows = X.toarray()
    w = np.ones(len(rows)) if weights is None else weights
    rows = rows - w @ rows / w.sum() if centre else rows
    return rows * np.sqrt(w)[:, None]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("centre", [True, False])
def test_products_in_the_space_of_rows(weighted: bool, centre: bool) -> None:
    X, B = texts(60)
    weights = np.random.default_rng(3).choice([0.5, 1.0, 2.0], 60) if weighted else None
    space = RowSpace(summary_of(X, B, weights, "rows").moments, centre)
    moments = space.moments
    dense = dense_rows(moments.X, centre=centre, weights=moments.weights)
    rng = np.random.default_rng(4)
    A, W = rng.standard_normal((len(dense), 70)), rng.standard_normal((12, 3))
    for dtype, atol in ((np.float64, 1e-10), (np.float32, 1e-4)):
        rows = space.rows(dtype)
        narrow = A.astype(dtype)
        assert rows.kernel(narrow).dtype == dtype
        np.testing.assert_allclose(rows.kernel(narrow), dense @ dense.T @ A, atol=atol)
        np.testing.assert_allclose(rows.kernel_matrix(), dense @ dense.T, atol=atol)
        np.testing.assert_allclose(rows.lift(narrow), dense.T @ A, atol=atol)
        Z = (dense.T @ A).astype(dtype)
        np.testing.assert_allclose(rows.images(Z), dense @ (dense.T @ A), atol=atol)
    points = space.points(W)
    np.testing.assert_allclose(dense.T @ points, moments.signed_cross(W, centre), atol=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_rows", [300, 1500])
def test_a_solution_is_that_of_the_normal_equations(fit_intercept: bool, n_rows: int) -> None:
    X, B = texts(n_rows)
    weights = np.random.default_rng(5).choice([0.5, 1.0, 2.0], n_rows)
    problem = problem_of(X, B, weights, fit_intercept=fit_intercept)
    space = problem.row_space
    assert space.few == (n_rows == 300)
    shifts = np.geomspace(0.3, 3.0, problem.embedding.n_components)
    found, gap = space.solve(problem.embedding.W, shifts, 1e-8)
    assert gap <= (0.0 if space.few else 1e-8)
    rows = dense_rows(X, centre=fit_intercept, weights=weights)
    for j, shift in enumerate(shifts):
        expected = np.linalg.solve(rows.T @ rows + shift * np.eye(900), problem.target[:, j])
        np.testing.assert_allclose(found[:, j], expected, atol=3e-4 * np.abs(expected).max())
    again, _ = space.solve(problem.embedding.W, shifts, 1e-8, found)
    np.testing.assert_allclose(again, found, atol=3e-4 * np.abs(found).max())


def test_a_part_of_the_rows_is_solved_from_what_is_known_of_all() -> None:
    X, B = texts(1600)
    problem = problem_of(X, B)
    rows = problem.moments.X
    here = np.arange(rows.shape[0]) % 5 > 0
    part = problem_of(rows[here], problem.moments.shares[here].ceil())
    W, shifts = part.embedding.W, np.full(part.embedding.n_components, 0.3)
    alone, _ = part.row_space.solve(W, shifts, 1e-8)
    found, _ = problem.row_space.part(part.moments, here).solve(W, shifts, 1e-8)
    np.testing.assert_allclose(found, alone, atol=1e-3 * np.abs(alone).max())


@pytest.mark.parametrize(
    ("ratio", "fit_intercept"), [(1.0, True), (1.0, False), (1.9, True), (3.5, True)]
)
def test_a_row_left_out_by_arithmetic(
    ratio: float, fit_intercept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, B = texts()
    X, B = sp.vstack([X, X[:40]], format="csr"), sp.vstack([B, B[40:80]], format="csr")  # copies
    gamma = 0.7
    problem = problem_of(X, B, correlation="laplacian", fit_intercept=fit_intercept)
    moments = problem.moments
    rows = dense_rows(moments.X, centre=fit_intercept, weights=moments.weights)
    assert (moments.weights == 2).sum() >= 40

    # The diagonal as it is, not as estimated: the arithmetic is what is tested.
    def diagonal(kernel, values, vectors, shift, probes):
        return np.diag(np.linalg.inv(rows @ rows.T + shift * np.eye(len(rows))))

    monkeypatch.setattr("grople.solver._row_space.inverse_diagonal", diagonal)
    alpha = (ratio - 1.0) * gamma / problem.relation_spectrum.values[-1]
    mapping = problem.solve(alpha, 0.0, gamma, tol=1e-8)
    found = problem.leave_one_out(mapping, alpha, gamma)
    assert found is not None
    shown = moments.X @ mapping.Z + mapping.intercept
    off = moved = 0.0
    twice = np.flatnonzero(moments.weights == 2)
    for i in (*twice[:2], 0, 500, 1000):
        others = np.arange(len(rows)) != i
        w = moments.weights[others][:, None]
        rest = moments.X[others].toarray()
        points = (2 * moments.shares[others].toarray() - 1) @ problem.embedding.W
        mean = (w * rest).sum(axis=0) / w.sum() * fit_intercept
        middle = (w * points).sum(axis=0) / w.sum() * fit_intercept
        rest, points = rest - mean, points - middle
        turn, shifts = np.linalg.eigh(problem.relation)[::-1]
        G, right = rest.T @ (w * rest), rest.T @ (w * points) @ turn
        Z = np.stack(
            [
                np.linalg.solve(G + (gamma + alpha * max(s, 0.0)) * np.eye(900), right[:, j])
                for j, s in enumerate(shifts)
            ],
            axis=1,
        )
        expected = (moments.X[[i]].toarray()[0] - mean) @ Z @ turn.T + middle
        off += float(np.square(found[i] - expected).sum())
        moved += float(np.square(shown[i] - expected).sum())
    # Of what leaving a row out changes: single precision, and for shifts that differ the odds.
    assert np.sqrt(off / moved) < {1.0: 0.01, 1.9: 0.12, 3.5: 0.2}[ratio]
    if alpha:
        assert problem.leave_one_out(mapping, 100 * alpha, gamma) is None


def test_rows_are_left_out_only_where_arithmetic_serves() -> None:
    few = problem_of(*texts(100))
    assert few.leave_one_out(few.solve(0.0, 0.0, 1.0), 0.0, 1.0) is None
    X, B = texts(100)
    matrices = MappingProblem(summary_of(X, B).moments, few.embedding, None)
    assert matrices.leave_one_out(matrices.solve(0.0, 0.0, 1.0), 0.0, 1.0) is None


def test_decisions_on_rows_left_out_are_those_of_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    X, B = texts(1900)
    order = np.random.default_rng(3).permutation(1900)
    X, B = sp.hstack([X, sp.csr_array((1900, 200))], format="csr")[order], B[order]
    model = GroPLE(experts=["linear"]).fit(X[:1500], B[:1500])
    assert model.summary_.grid.keeps_rows
    chances = model.predict_proba(X[1500:])
    monkeypatch.setattr(MappingProblem, "leave_one_out", lambda *_: None)
    by_folds = GroPLE(experts=["linear"]).fit(X[:1500], B[:1500]).predict_proba(X[1500:])
    truth = B[1500:].toarray()
    loss, other_loss = (
        -np.mean(np.log(np.clip(np.where(truth > 0, p, 1 - p), 1e-6, 1)))
        for p in (chances, by_folds)
    )
    assert loss < 1.05 * other_loss
    assert 0.8 < chances.sum() / truth.sum() < 1.25  # as many labels as there are


def test_copies_of_rows_do_not_vouch_for_each_other() -> None:
    # Labels are noise, so that no probability of a new row should lie far from their share of .1.
    rng = np.random.default_rng(0)
    X = sp.random_array(
        (1900, 2500), density=0.02, format="csr", random_state=np.random.default_rng(0)
    )
    Y = sp.csr_array((rng.random((1900, 30)) < 0.1).astype(int))
    for rows in (np.arange(1200), np.repeat(np.arange(1200), 2), np.r_[np.arange(1200), :30]):
        model = GroPLE(decision=Rule("example_f1", context=False), experts=["linear"]).fit(
            X[rows], Y[rows]
        )
        assert model.summary_.grid.keeps_rows
        P = model.predict_proba(X[1200:])
        assert reliability_curve(Y[1200:], P, top=5).error < 0.05
        assert abs(P.mean() - 0.1) < 0.01
