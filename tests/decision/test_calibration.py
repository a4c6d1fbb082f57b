"""Calibration: monotone, honest, and shrunk where a label has little to say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from grople.decision import Evidence, Rule, ScoreCounts, fit_decision
from grople.decision.calibration import bend, monotone_curve, sigmoid_curve
from grople.decision.counts import bin_centres


def drawn(slopes, shifts, n=20_000, seed=0):
    """Scores, and labels whose log-odds are a shift plus a slope times those of the score."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0.0, 1.0, (n, len(slopes)))
    chances = expit(np.asarray(shifts) + np.asarray(slopes) * scores)
    return scores, (rng.random(scores.shape) < chances).astype(int), chances


def test_sigmoid_equals_logistic_regression():
    scores, B, _ = drawn([2.0, 2.0], [-1.0, -1.0], n=3000)
    counts = ScoreCounts.from_scores([(scores, B, None)], 2)
    knots, chances = sigmoid_curve(counts.shared)
    model = LogisticRegression(C=1e10).fit(scores.reshape(-1, 1), B.ravel())
    expected = model.predict_proba(knots[:, None])[:, 1]
    # Scores are known by their bins only, 4,096 of them.
    np.testing.assert_allclose(chances, np.clip(expected, chances[0], chances[-1]), atol=2e-3)


@pytest.mark.parametrize("curve", [monotone_curve, sigmoid_curve])
def test_curves_are_monotone(curve):
    rng = np.random.default_rng(0)
    scores, B = rng.normal(size=(500, 3)), rng.integers(0, 2, (500, 3))  # no relation at all
    knots, chances = curve(ScoreCounts.from_scores([(scores, B, None)], 3).shared)
    assert (np.diff(knots) >= 0).all()
    assert (np.diff(chances) >= 0).all()
    assert chances.min() > 0
    assert chances.max() < 1


def test_labels_bend_the_curve_as_they_should():
    scores, B, truth = drawn([2.0, 2.0, 2.0], [-2.0, 0.0, 2.0])
    evidence = Evidence(ScoreCounts.from_scores([(scores, B, None)], 3))
    shared, own = (
        fit_decision(Rule(context=False, share=share), evidence).probabilities(scores)
        for share in ("all", "label")
    )
    assert np.abs(own - truth).mean() < 0.02 < 0.1 < np.abs(shared - truth).mean()


def test_rare_labels_keep_the_shared_curve():
    scores, B, _ = drawn([2.0] * 4, [-1.0] * 4, n=5000)
    B[:, 3] = 0
    B[:1, 3] = 1  # one positive, against the curve
    counts = ScoreCounts.from_scores([(scores, B, None)], 4)
    rare = ScoreCounts(counts.shared, counts.by_label.copy())
    rare.by_label[:, 3] *= 1e-4  # as if there were hardly any rows at all
    a, b = bend(rare, monotone_curve(counts.shared), "label", None)
    assert abs(a[3]) < 0.1
    assert abs(b[3] - 1) < 0.1
    a, b = bend(counts, monotone_curve(counts.shared), "label", None)
    assert a[3] < -1  # with 5,000 rows that lack it, it is known to be rare


def test_labels_of_a_group_bend_alike():
    scores, B, _ = drawn([2.0] * 4, [-2.0, -2.0, 1.0, 1.0])
    counts = ScoreCounts.from_scores([(scores, B, None)], 4)
    groups = np.array([0, 0, 1, 1])
    a, b = bend(counts, monotone_curve(counts.shared), "group", groups)
    assert a[0] == a[1]
    assert b[2] == b[3]
    assert a[0] < a[2]


def test_slopes_never_turn_round():
    scores, B, _ = drawn([3.0, -3.0], [0.0, 0.0], n=4000)
    counts = ScoreCounts.from_scores([(scores, B, None)], 2)
    _, b = bend(counts, sigmoid_curve(counts.shared), "label", None)
    assert (b > 0).all()
    decision = fit_decision(Rule("micro_f1", context=False, share="label"), Evidence(counts))
    p = decision.probabilities(np.sort(scores, axis=0))
    assert (np.diff(p, axis=0) >= -1e-12).all()


def test_micro_thresholds_follow_bent_probabilities():
    scores, B, truth = drawn([2.0, 2.0], [-2.5, 0.5])
    evidence = Evidence(ScoreCounts.from_scores([(scores, B, None)], 2))
    found = fit_decision(Rule("micro_f1", context=False, share="label"), evidence)
    given = found.labels(scores).toarray() > 0

    def f1(given):
        return 2 * (given & (B == 1)).sum() / (given.sum() + B.sum())

    best = max(f1(logit(truth) > t) for t in np.linspace(-3, 3, 200))
    assert f1(given) > best - 0.01


@pytest.mark.parametrize("weighted", [False, True])
def test_the_monotone_curve_is_the_isotonic_regression(weighted):
    rng = np.random.default_rng(0)
    scores, B, _ = drawn([1.0, 0.5], [-1.0, 0.0], n=700)
    weights = rng.uniform(0.1, 3.0, 700) if weighted else None
    total, positive = ScoreCounts.from_scores([(scores, B, weights)], 2).shared
    seen, least = total > 0, 0.5 / (1.0 + total.sum())
    centres = bin_centres(len(total))[seen]
    oracle = IsotonicRegression(y_min=least, y_max=1.0 - least, out_of_bounds="clip")
    oracle.fit(centres, positive[seen] / total[seen], sample_weight=total[seen])
    at = np.linspace(-5, 5, 2001)
    curve = monotone_curve(np.stack([total, positive]))
    np.testing.assert_allclose(np.interp(at, *curve), oracle.predict(at), atol=1e-12)
