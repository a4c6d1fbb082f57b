"""Decisions on a device are those at home."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grople.arrays import to_numpy
from grople.decision import Rule, ScoreCounts, fit_decision
from grople.decision.anywhere import count_settings, interpolated, mark
from tests.places import place, places

RULES = [
    "accuracy", "example_f1", "macro_f1", "micro_f1", "hamming", "subset", "threshold",
    "cardinality", "proportional", "top_k", Rule(share="label", context=False),
    Rule("macro_f1", share="label", context=False), Rule("micro_f1", "sigmoid", context=False),
]  # fmt: skip


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(0)
    scores = rng.normal(-0.5, 0.5, (200, 3, 9))
    scores[:5] = 0.0  # on an edge of the bins, and tied
    truth = (rng.random((200, 9)) < 1 / (1 + np.exp(-4 * scores[:, 0]))).astype(float)
    return scores, truth, rng.uniform(0.5, 2.0, 200)


@pytest.mark.parametrize("library", places())
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_counts_and_labels_are_those_at_home(scored, library, rule, weighted):
    scores, truth, weights = scored
    there = place(library)
    weights = weights if weighted else None
    counted = count_settings(
        there.array(scores), there.array(truth), there.array(weights) if weighted else None, rule
    )
    for s, counts in enumerate(counted):
        own = ScoreCounts.from_scores([(scores[:, s], truth, weights)], 9)
        np.testing.assert_allclose(counts.shared, own.shared, atol=1e-9)
        if counts.by_label.any():
            np.testing.assert_allclose(counts.by_label, own.by_label, atol=1e-9)
        home = fit_decision(rule, own).labels(scores[:, s]).toarray()
        found = to_numpy(mark(fit_decision(rule, counts), there.array(scores[:, s])))
        np.testing.assert_array_equal(found, home)


@pytest.mark.parametrize("library", places())
@pytest.mark.parametrize("rule", ["sign", 0.3])
def test_given_thresholds(scored, library, rule):
    scores = scored[0][:, 0]
    decision = fit_decision(rule, None)
    found = to_numpy(mark(decision, place(library).array(scores)))
    np.testing.assert_array_equal(found, decision.labels(scores).toarray())


@pytest.mark.parametrize("library", places())
def test_interpolation_is_numpys(library):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 5))
    for n_knots in (1, 2, 30):
        knots, values = np.sort(rng.normal(size=n_knots)), rng.random(n_knots)
        found = to_numpy(interpolated(place(library).array(x), knots, values))
        np.testing.assert_allclose(found, np.interp(x, knots, values), atol=1e-12)


def test_a_second_look_is_refused(scored):
    decision = replace(fit_decision("sign", None), decoder=object())
    with pytest.raises(ValueError, match="second look"):
        mark(decision, scored[0][:, 0])
