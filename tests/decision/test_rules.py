"""Every rule against brute force over all label sets, or against what its name promises."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from grople.decision import Evidence, Rule, ScoreCounts, check_rule, fit_decision, needs_counts
from grople.decision.model import Decision

SIX = np.array(list(itertools.product([0, 1], repeat=6)))


def identity(rule, **fields):
    """A decision whose scores are its probabilities."""
    return Decision(rule, np.array([0.0, 1.0]), np.array([0.0, 1.0]), **fields)


def sample(seed=0, n=500, n_labels=8):
    rng = np.random.default_rng(seed)
    scores = rng.normal(-0.6, 0.5, (n, n_labels)) - np.linspace(0, 0.5, n_labels)
    chances = 1 / (1 + np.exp(-6 * (scores + 0.2)))
    return scores, (rng.random((n, n_labels)) < chances).astype(int)


def evidence_of(scores, B):
    return Evidence.from_blocks([(scores, B, None)], scores.shape[1], B.sum() / len(B))


def likelihood(p, truth):
    return np.where(truth == 1, p, 1 - p).prod(axis=-1)


def exact(rule, p, chosen):
    """The expected measure of a set when labels are independent, over all outcomes."""
    weight = likelihood(p, SIX)
    hits, sizes = SIX @ chosen, SIX.sum(axis=1)
    if rule == "accuracy":
        value = hits / np.maximum(sizes + chosen.sum() - hits, 1)
    elif rule == "example_f1":
        value = 2 * hits / np.maximum(sizes + chosen.sum(), 1)
    elif rule == "hamming":
        value = (chosen == SIX).mean(axis=1)
    else:
        value = (chosen == SIX).all(axis=1)
    return weight @ value


@pytest.mark.parametrize("rule", ["hamming", "subset", "accuracy", "example_f1"])
def test_sets_against_all_sets(rule):
    rng = np.random.default_rng(1)
    P = rng.beta(0.7, 1.5, (300, 6))
    thresholds = 0.5 if rule in ("hamming", "subset") else 0.0
    found = identity(rule, thresholds=thresholds).labels(P).toarray()
    lost = [
        max(exact(rule, p, other) for other in SIX) - exact(rule, p, chosen)
        for p, chosen in zip(P, found, strict=True)
    ]
    assert max(lost) <= 1e-9  # values closer than that are equal


def test_likely_labels_are_those_above_one_half():
    scores, B = sample()
    decision = fit_decision(Rule("hamming", context=False), evidence_of(scores, B))
    p = decision.probabilities(scores)
    sure = np.abs(p - 0.5) > 1e-9
    np.testing.assert_array_equal(decision.labels(scores).toarray()[sure], (p > 0.5)[sure])


@pytest.mark.parametrize("share", ["all", "label"])
def test_cardinality_gives_as_many_labels(share):
    scores, B = sample(n=2000)
    rule = Rule("cardinality", context=False, share=share)
    found = fit_decision(rule, evidence_of(scores, B)).labels(scores)
    # One bin of the score holds at most so many pairs.
    assert found.sum() == pytest.approx(B.sum(), rel=0.02)


def test_proportional_gives_each_label_as_often():
    scores, B = sample(n=4000)
    found = fit_decision(Rule("proportional", context=False), evidence_of(scores, B))
    given = found.labels(scores).toarray().sum(axis=0)
    # The 256 bins of a label hold up to some 3 % of its pairs each where scores are dense.
    np.testing.assert_allclose(given, B.sum(axis=0), atol=0.03 * len(B))


def test_top_k():
    scores, B = sample()
    for k in (1, 3, 20):
        found = fit_decision(Rule("top_k", k=k, context=False), evidence_of(scores, B))
        sizes = found.labels(scores).sum(axis=1)
        assert (sizes == min(k, 8)).all()
    found = fit_decision(Rule("top_k", k=2, context=False), evidence_of(scores, B)).labels(scores)
    best = np.argsort(-scores, axis=1)[:, :2]
    assert np.take_along_axis(found.toarray(), best, axis=1).all()
    automatic = fit_decision(Rule("top_k", context=False), evidence_of(scores, B))
    assert automatic.n_top == round(B.sum() / len(B))


@pytest.mark.parametrize("metric", ["accuracy", "example_f1"])
def test_a_tuned_threshold_is_the_best_one(metric):
    scores, B = sample(n=300)

    def value(found):
        hits = (found & (B == 1)).sum(axis=1)
        sizes = found.sum(axis=1) + B.sum(axis=1)
        if metric == "example_f1":
            return (2 * hits / np.maximum(sizes, 1)).mean()
        return (hits / np.maximum(sizes - hits, 1)).mean()

    rule = Rule("threshold", metric=metric, context=False)
    found = fit_decision(rule, evidence_of(scores, B)).labels(scores).toarray() > 0
    best = max(value(scores > t) for t in np.unique(scores))
    # 200 quantiles of the positives are tried, not every score.
    assert value(found) >= best - 0.003


@pytest.mark.parametrize("name", ["hamming", "cardinality", "proportional", "threshold", "top_k"])
def test_rules_of_labels_that_no_row_had(name):
    scores, B = sample(n=50)
    found = fit_decision(name, evidence_of(scores, 0 * B)).labels(scores)
    assert found.nnz == 0


def test_rules_by_name_and_spelt_out():
    assert check_rule("cardinality") == "cardinality"
    assert check_rule(Rule("top_k", k=3)).k == 3
    assert needs_counts(Rule())
    assert needs_counts("hamming")
    assert not needs_counts(0.3)
    for wrong in ({"name": "best"}, {"share": "none"}, {"context": 2}, {"k": 0}, {"k": 1.5}):
        with pytest.raises(ValueError, match=r"one of|called|whole"):
            Rule(**wrong)


def test_rules_with_counts_alone():
    scores, B = sample()
    counts = ScoreCounts.from_scores([(scores, B, None)], 8)
    for name in ("threshold", "top_k", "proportional"):
        assert fit_decision(name, counts).labels(scores).nnz
