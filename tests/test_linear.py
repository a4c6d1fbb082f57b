"""Scores in factored form, and their moments against the scores of rows."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from grople import linear
from grople.linear import LinearScores, ScoreMoments, row_blocks
from grople.moments import Moments

FORMS = ["explicit", "implicit"]


def data(seed=0, n=50, n_features=6, n_labels=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_features)) * (rng.random((n, n_features)) < 0.7) + 0.0
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
    assert scores.n_labels == 5


@every_kind
def test_blocks_cover_all_rows_once(scores, monkeypatch):
    X, _ = data()
    monkeypatch.setattr(linear, "BLOCK_SCORES", 35)  # seven rows of five labels
    whole = scores(X)
    blocks = list(scores.in_blocks(sp.csr_array(X)))
    assert [rows.stop - rows.start for rows, _ in blocks] == [7] * 7 + [1]
    for rows, part in blocks:
        np.testing.assert_allclose(part, whole[rows], atol=1e-12)


@pytest.mark.parametrize(("n", "width"), [(0, 5), (1, 0), (3, 1 << 30), (10, 3)])
def test_row_blocks(n, width):
    covered = [i for rows in row_blocks(n, width) for i in range(rows.start, rows.stop)]
    assert covered == list(range(n))


@every_kind
def test_labels_outside_get_constants(scores):
    X, _ = data()
    columns = np.array([6, 0, 3, 4, 1])
    constants = np.array([1, -1, 1, -1, 1, 1, -1])
    wide = scores.expanded(columns, constants)
    found = wide(X)
    np.testing.assert_allclose(found[:, columns], scores(X), atol=1e-12)
    np.testing.assert_array_equal(found[:, 2], 1.0)  # exactly
    np.testing.assert_array_equal(found[:, 5], 1.0)
    assert constants.dtype == np.int64
    np.testing.assert_allclose(wide.coefficients()[:, columns], scores.coefficients())


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
    weights = np.random.default_rng(2).random(50) if weighted else np.ones(50)
    moments = Moments.from_data(X, B, weights if weighted else None, form=form)
    found = ScoreMoments.of(scores, moments)
    expected = explicit_moments(scores(X), B, weights)
    for ours, theirs in zip(
        (found.share, found.mean_with, found.mean_without, found.spread), expected, strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_on_no_row_and_on_every_row(form, weighted):
    X, B = data()
    B[:, 0], B[:, 1] = 0, 1
    weights = np.random.default_rng(3).random(50) if weighted else None
    scores = scores_of()
    found = ScoreMoments.of(scores, Moments.from_data(X, B, weights, form=form))
    w = np.full(50, 1 / 50) if weights is None else weights / weights.sum()
    mean = w @ scores(X)
    # Where there is nobody to average over, the mean of all stands in.
    np.testing.assert_allclose(found.mean_with[:2], mean[:2], rtol=1e-9)
    np.testing.assert_allclose(found.mean_without[:2], mean[:2], rtol=1e-9)
    np.testing.assert_allclose(found.share[:2], [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(found.spread[:2], w @ (scores(X) - mean)[:, :2] ** 2, rtol=1e-9)


def test_constant_scores_have_hardly_any_spread():
    X, B = data()
    scores = LinearScores(np.zeros((6, 5)), np.arange(5.0))
    found = ScoreMoments.of(scores, Moments.from_data(X, B))
    assert np.all(found.spread > 0)
    assert np.all(found.spread < 1e-9)


def test_moments_of_no_rows():
    X, B = data()
    found = ScoreMoments.of(scores_of(), Moments.from_data(X[:0], B[:0]))
    for part in (found.share, found.mean_with, found.mean_without, found.spread):
        assert np.isfinite(part).all()


@pytest.mark.parametrize("form", FORMS)
def test_wide_unfactored_scores_take_no_square_of_the_labels(form):
    # One map a label: 20,000² numbers would be 3 GB.
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 4))
    B = sp.csr_array((np.ones(30), (np.arange(30), rng.integers(0, 20_000, 30))), (30, 20_000))
    scores = LinearScores(rng.standard_normal((4, 20_000)), np.zeros(20_000))
    moments = Moments.from_data(X, B, form=form)
    tracemalloc.start()
    scores.expanded(np.arange(1, 20_001), np.ones(20_001))
    found = ScoreMoments.of(scores, moments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 8 * 20_000
    S = scores(X)
    np.testing.assert_allclose(found.share, np.asarray(B.sum(axis=0)) / 30)
    carried = np.unique(B.indices)
    expected = explicit_moments(S[:, carried], B[:, carried].toarray(), np.ones(30))
    np.testing.assert_allclose(found.mean_with[carried], expected[1], rtol=1e-9)
    np.testing.assert_allclose(found.spread[carried], expected[3], rtol=1e-6, atol=1e-9)
