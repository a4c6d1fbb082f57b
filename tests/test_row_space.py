"""Large ridge regressions in the space of rows, against dense solutions and rows left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from grople import GroPLE
from grople.decision import Rule
from grople.embedding import fit_embedding
from grople.groups import Groups
from grople.mapping import MappingProblem
from grople.metrics import top_label_calibration_error
from grople.moments import Moments
from grople.optim import inverse_diagonal, leading_part
from grople.ridge import choose_ridge
from grople.row_space import RowSpace


def texts(n_rows: int = 400, seed: int = 0) -> tuple[sp.csr_array, sp.csr_array]:
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


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grople.mapping.FULL_WORK", 0)


def problem_of(X: sp.csr_array, B: sp.csr_array, **settings: Any) -> MappingProblem:
    moments = Moments.from_data(X, B, form="implicit")
    embedding = fit_embedding(moments.labels, Groups.of([0] * 12), n_components=12)
    return MappingProblem(moments, embedding, **({"correlation": None} | settings))


def dense_rows(X: sp.csr_array, *, centre: bool, scale: bool) -> np.ndarray:
    rows = X.toarray()
    if scale:
        spread = rows.std(axis=0)
        rows = rows / np.where(spread > 0, spread, 1.0)
    return rows - rows.mean(axis=0) if centre else rows


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_lengths_of_rows(centre: bool, scale: bool) -> None:
    X, B = texts(60)
    view = Moments.from_data(X, B, form="implicit").view(centre=centre, scale=scale)
    expected = (dense_rows(X, centre=centre, scale=scale) ** 2).sum(axis=1)
    np.testing.assert_allclose(view.row_squares(), expected, rtol=1e-4)  # single precision


def test_a_solution_is_that_of_the_normal_equations() -> None:
    X, B = texts()
    problem = problem_of(X, B)
    points = problem.view.points(problem.embedding.W)
    shifts = np.geomspace(0.3, 3.0, points.shape[1])
    found = RowSpace(problem.view).solve(points, shifts, 1e-8, None)
    rows = dense_rows(X, centre=True, scale=False)
    for j, shift in enumerate(shifts):
        expected = np.linalg.solve(rows.T @ rows + shift * np.eye(900), rows.T @ points[:, j])
        np.testing.assert_allclose(found[:, j], expected, atol=2e-4 * np.abs(expected).max())


@pytest.mark.usefixtures("large")
def test_what_leads_all_rows_leads_a_part_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    X, B = texts()
    here = np.arange(400) % 5 > 0
    whole, part = problem_of(X, B), problem_of(X[here], B[here])
    points = part.view.points(part.embedding.W)
    shifts = np.full(points.shape[1], 0.3)
    found, steps = [], []
    for space in (RowSpace(part.view), whole.row_space.part(part.view, here)):
        space.leading  # noqa: B018  (known before products are counted)
        calls: list[int] = []
        kernel = type(part.view).kernel

        def counted(view: Any, A: Any, calls: Any = calls, kernel: Any = kernel) -> Any:
            calls.append(1)
            return kernel(view, A)

        with monkeypatch.context() as patched:
            patched.setattr(type(part.view), "kernel", counted)
            found.append(space.solve(points, shifts, 1e-8, None))
        steps.append(len(calls))
    np.testing.assert_allclose(found[1], found[0], atol=1e-3 * np.abs(found[0]).max())
    # Restricted they are not quite its own: a few more steps than with those, no more.
    assert steps[1] <= 1.5 * steps[0]


def test_the_diagonal_of_an_inverse() -> None:
    rng = np.random.default_rng(1)
    factor = rng.standard_normal((200, 40)) * np.geomspace(3, 0.1, 40)
    A = factor @ factor.T
    exact = np.diag(np.linalg.inv(A + 0.5 * np.eye(200)))
    leading = leading_part(A.__matmul__, 200, 20, np.float64)
    few, many = (
        np.abs(inverse_diagonal(A.__matmul__, *leading, 0.5, n) - exact).mean() for n in (16, 1024)
    )
    # The error of a mean over random signs falls with their root: a factor of eight here.
    assert many < few / 4
    assert many < 0.03 * exact.mean()


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_row_left_out_by_arithmetic(fit_intercept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X, B = texts()
    rows = dense_rows(X, centre=fit_intercept, scale=False)
    # The diagonal as it is, not as estimated: the arithmetic is what is tested.
    inverse = np.linalg.inv(rows @ rows.T + 0.7 * np.eye(400))
    monkeypatch.setattr("grople.row_space.inverse_diagonal", lambda *_: np.diag(inverse))
    problem = problem_of(X, B, fit_intercept=fit_intercept)
    mapping = problem.solve(0.0, 0.0, 0.7, tol=1e-8)
    found = problem.left_out(mapping, 0.0, 0.0, 0.7)
    assert found is not None
    W = problem.embedding.W
    shown = X @ mapping.Z + mapping.intercept
    for i in (0, 5, 399):
        others = np.arange(400) != i
        rows, points = X[others].toarray(), (2 * B[others].toarray() - 1) @ W
        mean = rows.mean(axis=0) if fit_intercept else np.zeros(900)
        middle = points.mean(axis=0) if fit_intercept else np.zeros(12)
        rows, points = rows - mean, points - middle
        Z = np.linalg.solve(rows.T @ rows + 0.7 * np.eye(900), rows.T @ points)
        expected = (X[[i]].toarray()[0] - mean) @ Z + middle
        # Single precision, and a map solved to four digits.
        assert np.abs(found[i] - expected).max() < 0.005 * np.abs(shown[i] - expected).max()


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("ratio", [1.1, 1.9, 3.5])
def test_a_row_left_out_where_shifts_differ(ratio: float, monkeypatch: pytest.MonkeyPatch) -> None:
    X, B = texts()
    rows = dense_rows(X, centre=True, scale=False)

    def diagonal(kernel, values, vectors, shift, probes):
        return np.diag(np.linalg.inv(rows @ rows.T + shift * np.eye(400)))

    monkeypatch.setattr("grople.row_space.inverse_diagonal", diagonal)
    problem = problem_of(X, B, correlation="laplacian")
    gamma = 0.7
    alpha = (ratio - 1.0) * gamma / problem.relation_spectrum.values[-1]
    turn, shifts = problem._shifts(alpha, gamma)
    mapping = problem.solve(alpha, 0.0, gamma, tol=1e-8)
    found = problem.left_out(mapping, alpha, 0.0, gamma)
    assert found is not None
    W = problem.embedding.W @ turn
    shown = X @ mapping.Z + mapping.intercept
    off = moved = 0.0
    for i in range(0, 400, 60):
        others = np.arange(400) != i
        rest, points = X[others].toarray(), (2 * B[others].toarray() - 1) @ W
        mean, middle = rest.mean(axis=0), points.mean(axis=0)
        rest, points = rest - mean, points - middle
        Z = np.stack(
            [
                np.linalg.solve(rest.T @ rest + shift * np.eye(900), rest.T @ point)
                for shift, point in zip(shifts, points.T, strict=True)
            ],
            axis=1,
        )
        expected = ((X[[i]].toarray()[0] - mean) @ Z + middle) @ turn.T
        off += float(np.square(found[i] - expected).sum())
        moved += float(np.square(shown[i] - expected).sum())
    # Of what leaving a row out changes; the estimate of the diagonal is off by a few per cent, too.
    assert np.sqrt(off / moved) < 0.08
    assert problem.left_out(mapping, 100 * alpha, 0.0, gamma) is None


@pytest.mark.usefixtures("large")
def test_rows_are_left_out_only_where_arithmetic_serves() -> None:
    X, B = texts(100)
    problem = problem_of(X, B)
    mapping = problem.solve(0.0, 0.0, 1.0)
    assert problem.left_out(mapping, 0.0, 0.5, 1.0) is None  # not linear
    weights = np.linspace(1, 2, 100)
    weighted = MappingProblem(
        Moments.from_data(X, B, weights, form="implicit"), problem.embedding, None
    )
    assert weighted.left_out(mapping, 0.0, 0.0, 1.0) is None


@pytest.mark.usefixtures("large")
def test_the_weight_is_the_best_for_rows_held_out() -> None:
    X, B = texts(900)
    train, test = slice(0, 600), slice(600, 900)
    order = np.random.default_rng(3).permutation(900)
    X, B = X[order], B[order]
    problem = problem_of(X[train], B[train])
    chosen = choose_ridge(problem)
    rows = dense_rows(X[train], centre=True, scale=False)
    V, W = problem.embedding.V, problem.embedding.W
    mean = X[train].toarray().mean(axis=0)
    points = (2 * B[train].toarray() - 1) @ W
    truth = (2 * B[test].toarray() - 1) @ W @ V

    def error(gamma: float) -> float:
        Z = np.linalg.solve(
            rows.T @ rows + gamma * np.eye(900), rows.T @ (points - points.mean(axis=0))
        )
        shown = ((X[test].toarray() - mean) @ Z + points.mean(axis=0)) @ V
        return float(((truth - shown) ** 2).sum())

    best = min(error(gamma) for gamma in np.geomspace(0.01, 100, 33))
    # A curve with a flat bottom, estimated on 120 rows: within a few per cent of the best.
    assert error(chosen) < 1.05 * best


@pytest.mark.usefixtures("large")
def test_decisions_on_rows_left_out_are_those_of_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    X, B = texts(900)
    order = np.random.default_rng(3).permutation(900)
    X, B = X[order], B[order]
    model = GroPLE(form="implicit", random_state=0).fit(X[:600], B[:600])
    chances = model.predict_proba(X[600:])
    monkeypatch.setattr("grople.mapping.MappingProblem.left_out", lambda *_: None)
    by_folds = GroPLE(form="implicit", random_state=0).fit(X[:600], B[:600])
    other = by_folds.predict_proba(X[600:])
    truth = B[600:].toarray()
    loss, other_loss = (
        -np.mean(np.log(np.clip(np.where(truth > 0, p, 1 - p), 1e-6, 1))) for p in (chances, other)
    )
    assert loss < 1.05 * other_loss
    assert 0.8 < chances.sum() / truth.sum() < 1.25  # as many labels as there are


def test_copies_of_rows_do_not_vouch_for_each_other() -> None:
    # Labels are noise, so that no probability should lie far from their share of .1.
    rng = np.random.default_rng(0)
    X = sp.random_array((1500, 2500), density=0.02, format="csr", rng=np.random.default_rng(0))
    Y = sp.csr_array((rng.random((1500, 30)) < 0.1).astype(int))
    errors, most = [], []
    for rows in (np.arange(800), np.repeat(np.arange(800), 2), np.r_[np.arange(800), :30]):
        model = GroPLE(decision=Rule("example_f1", context=False), random_state=0)
        P = model.fit(X[rows], Y[rows]).predict_proba(X[800:])
        problem = model._problem(model.moments_, model._model().embedding)
        assert not problem.in_full  # the space of rows
        errors.append(top_label_calibration_error(Y[800:], P))
        most.append(P.mean())
    assert max(errors) < 0.05
    np.testing.assert_allclose(most, 0.1, atol=0.01)
