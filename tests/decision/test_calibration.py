"""Counts of scores, and the monotone curve: isotonic, honest, never certain."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression

from grople.decision import (
    LABEL_BINS,
    METRIC_RULES,
    SHARED_BINS,
    ScoreCounts,
    ScoreMoments,
    _calibration,
    fit_decision,
    monotone_curve,
)
from tests.decision.samples import edges, held_out, sample


def counts_of(scores, B, weights=None):
    counts = ScoreCounts.empty(scores.shape[1])
    counts.add(scores, B, weights)
    return counts


@pytest.mark.parametrize("weighted", [False, True])
def test_the_monotone_curve_is_the_isotonic_regression(weighted):
    rng = np.random.default_rng(0)
    scores, B = sample(n=700)
    weights = rng.uniform(0.1, 3.0, 700) if weighted else None
    total, positive = counts_of(scores, B, weights).shared
    seen, least = total > 0, 0.5 / (1.0 + total.sum())
    centres = _calibration.bin_centres(len(total))[seen]
    oracle = IsotonicRegression(y_min=least, y_max=1.0 - least, out_of_bounds="clip")
    oracle.fit(centres, positive[seen] / total[seen], sample_weight=total[seen])
    at = np.linspace(-5, 5, 2001)
    curve = monotone_curve(np.stack([total, positive]))
    np.testing.assert_allclose(np.interp(at, *curve), oracle.predict(at), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_rise_with_the_score_and_are_never_certain(seed):
    scores, B = sample(seed)
    fitted = fit_decision(held_out(scores, B), context=False)
    line = np.concatenate([[-1e300, -1e6], np.linspace(-5, 5, 2001), [1e6, 1e300]])
    p = fitted.probabilities(np.tile(line, (6, 1)).T)
    assert np.all(np.diff(p, axis=0) >= 0)
    assert 0 < p.min() < p.max() < 1
    for extreme in (0 * B, 0 * B + 1):
        p = fit_decision(held_out(scores, extreme)).probabilities(scores)
        assert np.all((p > 0) & (p < 1))


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(7)
    scores = rng.normal(0, 1, (20_000, 2))
    truth = norm.cdf(1.5 * scores - 0.5)
    B = (rng.random(scores.shape) < truth).astype(int)
    p = fit_decision(held_out(scores, B), context=False).probabilities(scores)
    assert np.mean(np.abs(p - truth)) < 0.015
    assert p.sum() == pytest.approx(B.sum(), rel=1e-3)


def test_without_evidence_a_score_of_one_half_is_three_quarters():
    found = fit_decision(None).probabilities(np.array([[-2.0, -1.0, 0.0, 0.5, 1.0, 3.0]]))
    assert found[0].tolist() == [0.0, 0.0, 0.5, 0.75, 1.0, 1.0]


# Counts


def test_counts_are_those_of_the_pairs():
    scores, B = sample()
    counts = counts_of(scores, B)
    inside = np.digitize(scores, edges(SHARED_BINS), right=True) - 1
    expected = np.zeros((2, SHARED_BINS))
    np.add.at(expected[0], inside.ravel(), 1)
    np.add.at(expected[1], inside[B == 1], 1)
    np.testing.assert_array_equal(counts.shared, expected)
    np.testing.assert_array_equal(counts.by_label[1].sum(axis=1), B.sum(axis=0))
    wide = counts.by_label.sum(axis=1)
    ratio = SHARED_BINS // LABEL_BINS
    np.testing.assert_array_equal(wide, expected.reshape(2, -1, ratio).sum(axis=2))


@pytest.mark.parametrize("chunk", [1, 100, 1 << 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_do_not_depend_on_chunks(chunk, weighted, monkeypatch):
    rng = np.random.default_rng(0)
    scores, B = rng.standard_normal((40, 7)), rng.random((40, 7)) < 0.3
    weights = rng.random(40) if weighted else None
    monkeypatch.setattr(_calibration, "CHUNK", chunk)
    found = counts_of(scores, B.astype(int), weights)
    each = np.broadcast_to((np.ones(40) if weights is None else weights)[:, None], (40, 7))
    for label in range(7):
        for which, mask in enumerate((np.ones(40, bool), B[:, label])):
            expected, _ = np.histogram(
                scores[mask, label], edges(LABEL_BINS), weights=each[mask, label]
            )
            np.testing.assert_allclose(found.by_label[which, label], expected, atol=1e-12)


def test_explicit_zeros_are_no_labels():
    scores, B = sample()
    marks = sp.csr_array(np.ones_like(B))
    marks.data[:] = B.ravel()
    found, expected = held_out(scores, marks), held_out(scores, B)
    np.testing.assert_array_equal(found.counts.by_label, expected.counts.by_label)
    np.testing.assert_array_equal(found.candidates.missed, expected.candidates.missed)


@pytest.mark.parametrize("score", [-1e300, -1e9, -1.0, -1e-300, -0.0, 0.0, 1.0, 1e9, 1e300])
def test_every_score_has_a_bin(score):
    counts = counts_of(np.array([[score]]), np.array([[1]]))
    assert counts.shared.sum(axis=1).tolist() == [1.0, 1.0]
    assert counts.by_label.sum() == 2.0


def test_moments_of_normal_scores_count_like_the_scores():
    rng = np.random.default_rng(9)
    n, share = 20_000, np.array([0.5, 0.1, 0.02])
    mean_with, mean_without = np.array([0.8, 0.2, -0.3]), np.array([-0.6, -0.9, -1.0])
    spread = np.array([0.2, 0.1, 0.05])
    B = (rng.random((n, 3)) < share).astype(int)
    scores = np.where(B, mean_with, mean_without) + rng.standard_normal((n, 3)) * np.sqrt(spread)
    moments = ScoreMoments(share, mean_with, mean_without, spread, float(n))
    expected, found = ScoreCounts.from_moments(moments), counts_of(scores, B)
    # Distribution functions of 20,000 draws lie within 2/√n of the true one (Kolmogorov).
    for ours, theirs in ((expected.shared, found.shared), (expected.by_label, found.by_label)):
        gap = np.abs(np.cumsum(ours, axis=-1) - np.cumsum(theirs, axis=-1))
        assert gap.max() < 2 * 3 * np.sqrt(n)
    one, other = fit_decision(moments), fit_decision(held_out(scores, B), context=False)
    for rule in METRIC_RULES:
        a, b = (decision.labels(scores, rule=rule).toarray() for decision in (one, other))
        assert np.mean(a != b) < 0.02


def test_moments_without_spread():
    ones = np.array([1.0, -1.0])
    moments = ScoreMoments(np.array([1.0, 0.0]), ones, ones, np.full(2, 1e-12), 50.0)
    decision = fit_decision(moments)
    for rule in METRIC_RULES:
        assert decision.labels(ones[None], rule=rule).toarray().tolist() == [[1, 0]]
