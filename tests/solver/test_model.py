"""Scores in factored form, and their moments against the scores of rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from grople.decision import fit_decision
from grople.solver import FittedModel, LinearScores
from grople.solver._model import row_blocks, score_moments
from tests.moments.test_moments import summary_of

FORMS = ["matrices", "rows"]


def data(seed=0, n=50, n_features=6, n_labels=5):
    rng = np.random.default_rng(seed)
    X = rng.integers(-64, 65, (n, n_features)) / 32 * (rng.random((n, n_features)) < 0.7) + 0.0
    return X, (rng.random((n, n_labels)) < 0.3).astype(int)


def scores_of(factored=True, offset=True, seed=1):
    rng = np.random.default_rng(seed)
    if factored:
        parts = rng.standard_normal((6, 3)), rng.standard_normal(3), rng.standard_normal((3, 5))
    else:
        parts = rng.standard_normal((6, 5)), rng.standard_normal(5), None
    return LinearScores(*parts, rng.standard_normal(5) if offset else None)


every_kind = pytest.mark.parametrize(
    "scores",
    [scores_of(f, o) for f in (True, False) for o in (True, False)],
    ids=["factors and offset", "factors", "offset", "plain"],
)


@every_kind
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_scores_are_linear_in_the_features(scores, container):
    X, _ = data()
    V = np.eye(5) if scores.V is None else scores.V
    expected = (X @ scores.Z + scores.b) @ V + (0.0 if scores.offset is None else scores.offset)
    found = scores(container(X))
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(X @ scores.coefficients() + scores.intercepts(), expected)
    np.testing.assert_allclose(scores.points(container(X)), X @ scores.Z + scores.b)
    assert (scores.n_features, scores.n_labels) == (6, 5)


@every_kind
def test_labels_outside_get_constants(scores):
    X, _ = data()
    columns = np.array([6, 0, 3, 4, 1])
    constants = np.array([1, -1, 1, -1, 1, 1, -1])
    wide = scores.expanded(columns, constants)
    found = wide(X)
    np.testing.assert_allclose(found[:, columns], scores(X), atol=1e-12)
    np.testing.assert_array_equal(found[:, [2, 5]], 1.0)  # exactly
    np.testing.assert_allclose(wide.coefficients()[:, columns], scores.coefficients())
    np.testing.assert_allclose(wide(X), X @ wide.coefficients() + wide.intercepts(), atol=1e-12)


@pytest.mark.parametrize(("n", "width"), [(0, 5), (1, 0), (3, 1 << 30), (10, 3)])
def test_row_blocks(n, width):
    covered = [i for rows in row_blocks(n, width) for i in range(rows.start, rows.stop)]
    assert covered == list(range(n))


@every_kind
@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_a_model_answers_rows_in_blocks_of_one_shape(scores, container, dtype):
    X = np.rint(data(n=403)[0]).astype(dtype)
    model = FittedModel(scores, fit_decision(None))
    whole = model.scores(container(X))
    np.testing.assert_allclose(whole, scores(X.astype(float)), atol=1e-12)
    np.testing.assert_array_equal(model.scores(X[:0]), np.zeros((0, 5)))
    held = container(X)
    for rows in ([7], [402, 0, 3], list(range(100, 230))):
        some = held.tocsr()[rows] if sp.issparse(held) else held[rows]
        np.testing.assert_array_equal(model.scores(some), whole[rows])
        np.testing.assert_array_equal(model.points(some), model.points(held)[rows])
        marks = model.labels(some, "sign")
        np.testing.assert_array_equal(marks.toarray(), whole[rows] > 0)
        np.testing.assert_array_equal(
            model.probabilities(some), np.clip((whole[rows] + 1) / 2, 0, 1)
        )


def explicit_moments(S, B, w):
    w = w / w.sum()
    share = w @ B
    mean_with = (w @ (S * B)) / share
    mean_without = (w @ (S * (1 - B))) / (1 - share)
    centred = S - np.where(B, mean_with, mean_without)
    return share, mean_with, mean_without, w @ centred**2


@every_kind
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_score_moments_are_those_of_the_scores(scores, form, weighted):
    X, B = data()
    weights = np.random.default_rng(2).choice([0.25, 1.0, 4.0], 50) if weighted else None
    found = score_moments(scores, summary_of(X, B, weights, form).moments)
    expected = explicit_moments(scores(X), B, np.ones(50) if weights is None else weights)
    for ours, theirs in zip(
        (found.share, found.mean_with, found.mean_without, found.spread), expected, strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_labels_on_no_row_and_on_every_row(form):
    X, B = data()
    B[:, 0], B[:, 1] = 0, 1
    scores = scores_of()
    found = score_moments(scores, summary_of(X, B, form=form).moments)
    mean = scores(X).mean(axis=0)
    # Where there is nobody to average over, the mean of all stands in.
    np.testing.assert_allclose(found.mean_with[:2], mean[:2], rtol=1e-9)
    np.testing.assert_allclose(found.mean_without[:2], mean[:2], rtol=1e-9)
    np.testing.assert_allclose(found.share[:2], [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(found.spread[:2], scores(X)[:, :2].var(axis=0), rtol=1e-9)
    flat = LinearScores(np.zeros((6, 5)), np.arange(5.0))
    spread = score_moments(flat, summary_of(X, B, form=form).moments).spread
    assert np.all((spread > 0) & (spread < 1e-9))
