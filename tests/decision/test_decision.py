"""Decisions against brute force over thresholds, prefixes and label sets."""

from __future__ import annotations

import itertools
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, poisson

from grople import decision
from grople.decision import (
    METRIC_RULES,
    Decision,
    Evidence,
    Rule,
    ScoreCounts,
    best_prefix,
    check_rule,
    expected_measures,
    fit_decision,
    fitting,
    model,
    needs_counts,
)
from grople.decision import (
    expected as room,
)
from grople.linear import ScoreMoments
from grople.metrics import example_f1

RULES_BY_ROW = ["accuracy", "example_f1"]


def sample(seed=0, n=400, n_labels=6):
    """Scores and labels that follow them, some labels rare."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(-0.6, 0.5, (n, n_labels)) - np.linspace(0, 0.5, n_labels)
    chances = 1 / (1 + np.exp(-6 * (scores + 0.2)))
    return scores, (rng.random((n, n_labels)) < chances).astype(int)


def counts_of(scores, B, weights=None):
    return ScoreCounts.from_scores([(scores, B, weights)], scores.shape[1])


def f1(truth, given):
    hit, size = np.sum(truth & given), np.sum(truth) + np.sum(given)
    return 2 * hit / size if size else 0.0


# Rules


@pytest.mark.parametrize("rule", ["sign", *METRIC_RULES, 0, -0.25, np.float32(0.5), np.int64(2)])
def test_rules_that_exist(rule):
    assert check_rule(rule) == rule
    assert needs_counts(rule) == (rule in METRIC_RULES)


@pytest.mark.parametrize("rule", ["f1", None, True, np.nan, np.inf, [0.5], "0.5"])
def test_rules_that_do_not(rule):
    with pytest.raises(
        ValueError, match="decision must be 'sign', a number, a Rule, or one of accuracy"
    ):
        check_rule(rule)


@pytest.mark.parametrize(("rule", "threshold"), [("sign", 0.0), (0.25, 0.25), (-1, -1.0)])
@pytest.mark.parametrize("counted", [False, True])
def test_given_thresholds(rule, threshold, counted):
    scores, B = sample()
    scores[0, 0] = threshold  # not above it
    found = fit_decision(rule, counts_of(scores, B) if counted else None).labels(scores)
    np.testing.assert_array_equal(found.toarray(), scores > threshold)
    assert found.dtype == np.int64


# Sets: accuracy and example-F1


ALL_SETS = np.array(list(itertools.product([0, 1], repeat=6)))


def expected_measure(p, chosen, rule, beyond=0.0):
    """The mean of a measure over every outcome of six labels, and as many others as are likely."""
    given = np.isin(np.arange(6), list(chosen))
    chance = np.where(ALL_SETS == 1, p, 1 - p).prod(axis=1)
    others = np.arange(60)
    hits = (ALL_SETS @ given)[:, None]
    both = ALL_SETS.sum(axis=1)[:, None] + others + given.sum()
    value = hits / (both - hits) if rule == "accuracy" else 2 * hits / both
    return chance @ value @ poisson.pmf(others, beyond)


@pytest.mark.parametrize("rule", RULES_BY_ROW)
@settings(max_examples=60, deadline=None)
@given(
    p=arrays(float, (3, 6), elements=st.one_of(st.sampled_from([1e-4, 0.5]), st.floats(1e-6, 1))),
    beyond=st.floats(0, 2),
)
def test_prefix_is_the_best_of_all_sets(rule, p, beyond):
    p = -np.sort(-p, axis=1)
    values = expected_measures(p, p.sum(axis=1) + beyond, rule)  # with labels no candidates
    sizes = best_prefix(p, p.sum(axis=1) + beyond, rule)
    for i, size in enumerate(sizes):
        every = {
            chosen: expected_measure(p[i], chosen, rule, beyond)
            for k in range(1, 7)
            for chosen in itertools.combinations(range(6), k)
        }
        prefixes = [every[tuple(range(k))] for k in range(1, 7)]
        np.testing.assert_allclose(values[i], prefixes, rtol=1e-10)
        # Values that are this close are equal, and the fewest labels are taken.
        assert prefixes[size - 1] >= max(every.values()) * (1 - 1e-9)
        assert all(shorter < prefixes[size - 1] for shorter in prefixes[: size - 1])


@pytest.mark.parametrize("rule", RULES_BY_ROW)
@pytest.mark.parametrize("n_labels", [3, 60, 700])
def test_expected_measures_are_means_over_draws(rule, n_labels):
    rng = np.random.default_rng(n_labels)
    p = -np.sort(-rng.beta(0.3, 1.5, (1, n_labels)), axis=1)
    truth = rng.random((4000, n_labels)) < p
    hits = np.cumsum(truth, axis=1)
    both = truth.sum(axis=1)[:, None] + np.arange(1, n_labels + 1)
    drawn = hits / (both - hits) if rule == "accuracy" else 2 * hits / both
    found = expected_measures(p, p.sum(axis=1), rule)[0]
    # Five standard errors of the mean over draws.
    error = 5 * drawn.std(axis=0) / np.sqrt(len(drawn)) + 1e-9
    assert np.all(np.abs(found - drawn.mean(axis=0)) < error)


@pytest.mark.parametrize("rule", RULES_BY_ROW)
def test_flat_rows_alone_and_beside_others(rule):
    # 400 labels that are all improbable: the best set has most of them, whoever stands beside.
    flat, other = np.full((1, 400), 7 / 400), np.full((1, 400), 0.5)
    both = np.concatenate([flat, other])
    alone = best_prefix(flat, flat.sum(axis=1), rule)
    assert best_prefix(both, both.sum(axis=1), rule)[0] == alone[0]
    with patch.object(room, "_nodes", lambda most: room._gauss(600)):
        exact = expected_measures(flat, flat.sum(axis=1), rule)[0]
    assert exact[alone[0] - 1] == pytest.approx(exact.max(), rel=1e-9)


@pytest.mark.parametrize("rule", RULES_BY_ROW)
def test_improbable_labels_are_known_by_their_sums(rule):
    rng = np.random.default_rng(0)
    p = -np.sort(-rng.beta(0.1, 4.0, (300, 400)), axis=1)
    expected = p.sum(axis=1)
    assert room._considered(p, expected, rule) < 200
    values = expected_measures(p, expected, rule)
    sizes = best_prefix(p, expected, rule)
    lost = values.max(axis=1) - values[np.arange(len(p)), sizes - 1]
    assert lost.max() < 1e-6


@pytest.mark.parametrize("context", [False, True])
def test_rows_may_have_more_labels_than_candidates(context):
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((1200, 30)) @ rng.standard_normal((30, 150)) * 0.5
    B = sp.csr_array((rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int))
    scores = np.tanh(logits / 4)
    evidence = Evidence.from_blocks([(scores[:800], B[:800], None)], 150, B.sum() / 1200)
    assert evidence.candidates.labels.shape[1] == 60
    reached = {}
    for rule in ("example_f1", "threshold", "micro_f1"):
        found = fit_decision(Rule(rule, context=context), evidence)
        assert (found.decoder is not None) == context
        reached[rule] = example_f1(B[800:], found.labels(scores[800:]))
    # Rows have 75 labels on average; one threshold is nearly as good as the best sets.
    assert min(reached.values()) > max(reached.values()) - 0.02
    top = fit_decision(Rule("top_k", k=100, context=context), evidence).labels(scores[800:])
    assert set(np.diff(top.indptr)) == {100}


def test_a_label_that_gains_nothing_is_not_given():
    # .75 with one label and with two: but for rounding, which must not decide.
    for p in ([[1.0, 0.5]], [[1.0, 0.5, 0.0]]):
        p = np.array(p)
        np.testing.assert_allclose(expected_measures(p, p.sum(axis=1), "accuracy")[0, :2], 0.75)
        assert best_prefix(p, p.sum(axis=1), "accuracy") == [1]


@pytest.mark.parametrize("rule", RULES_BY_ROW)
def test_sets_are_the_most_probable_labels(rule):
    scores, B = sample()
    fitted = fit_decision(rule, counts_of(scores, B))
    p = fitted.probabilities(scores)
    found = fitted.labels(scores)
    sizes = np.diff(found.indptr)
    assert np.all(sizes >= 1)
    assert found.has_sorted_indices
    for i in range(len(scores)):
        chosen = found.indices[found.indptr[i] : found.indptr[i + 1]]
        order = np.argsort(-scores[i], kind="stable")
        assert set(chosen) == set(order[: sizes[i]])
        value = expected_measure(p[i], chosen, rule)
        best = max(expected_measure(p[i], order[:k], rule) for k in range(1, 7))
        assert value == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("rule", RULES_BY_ROW)
def test_many_labels_are_cut_to_candidates(rule, monkeypatch):
    scores, B = sample(1, n_labels=30)
    fitted = fit_decision(rule, counts_of(scores, B))
    p = -np.sort(-fitted.probabilities(scores), axis=1)
    values = expected_measures(p, p.sum(axis=1), rule)
    most = int(np.diff(fitted.labels(scores).indptr).max())
    assert most < 20
    for candidates in (20, most):
        monkeypatch.setattr(model, "MOST_LABELS", candidates)
        sizes = np.diff(fitted.labels(scores).indptr)
        # Of the labels beyond only the mean number is known, which changes hardly anything.
        lost = values.max(axis=1) - values[np.arange(len(p)), sizes - 1]
        assert lost.max() < 1e-3
        assert np.mean(lost > 1e-9) < 0.01
    # Rows that take all they may choose from choose again, from all labels.
    monkeypatch.setattr(model, "MOST_LABELS", 1)
    found = fitted.labels(scores)
    sizes = np.diff(found.indptr)
    assert sizes.max() > 1
    several = sizes > 1
    best = values.argmax(axis=1) + 1
    np.testing.assert_array_equal(sizes[several], best[several])
    np.testing.assert_array_equal(
        found.toarray()[several], fitted_as(fitted, scores[several], sizes[several])
    )


def fitted_as(decision, scores, sizes):
    """The likeliest labels of each row, so many of them."""
    ranks = np.argsort(np.argsort(-decision.probabilities(scores), axis=1, kind="stable"), axis=1)
    return (ranks < sizes[:, None]).astype(int)


def test_expected_sets_beat_the_sign():
    # What the rules are for: on rows of the same kind they lose nothing and mostly gain.
    scores, B = sample(2, n=4000)
    new, truth = sample(3, n=4000)
    jaccard, example = {}, {}
    for rule in ("sign", *RULES_BY_ROW):
        found = fit_decision(rule, counts_of(scores, B)).labels(new).toarray()
        hit, size = (found & truth).sum(axis=1), found.sum(axis=1) + truth.sum(axis=1)
        jaccard[rule] = np.mean(hit / np.maximum(size - hit, 1))
        example[rule] = np.mean(2 * hit / np.maximum(size, 1))
    assert jaccard["accuracy"] >= max(jaccard["sign"], jaccard["example_f1"])
    assert example["example_f1"] >= max(example["sign"], example["accuracy"])


# Thresholds: micro- and macro-F1


def edges(n_bins):
    """Where bins end: uniform in s/(1 + |s|)."""
    t = np.linspace(-1, 1, n_bins + 1)[1:-1]
    return np.concatenate([[-np.inf], t / (1 - np.abs(t)), [np.inf]])


@pytest.mark.parametrize("seed", range(4))
def test_micro_threshold_is_the_best_of_all(seed):
    scores, B = sample(seed)
    fitted = fit_decision("micro_f1", counts_of(scores, B))
    ours = f1(B == 1, fitted.labels(scores).toarray() == 1)
    best = max(f1(B == 1, scores > t) for t in edges(decision.SHARED_BINS))
    assert ours == pytest.approx(best, rel=1e-12)
    # Scores themselves as thresholds are little better than the edges of 4096 bins.
    assert ours >= max(f1(B == 1, scores > t) for t in np.unique(scores)) - 0.005


@pytest.mark.parametrize("seed", range(4))
def test_macro_thresholds_are_the_best_of_all_without_the_guard(seed, monkeypatch):
    monkeypatch.setattr(fitting, "GUARD", 1e-12)
    scores, B = sample(seed)
    fitted = fit_decision("macro_f1", counts_of(scores, B))
    found = fitted.labels(scores).toarray() == 1
    for label in range(6):
        truth = B[:, label] == 1
        best = max(f1(truth, scores[:, label] > t) for t in edges(decision.LABEL_BINS))
        assert f1(truth, found[:, label]) == pytest.approx(best, rel=1e-9)


def test_the_guard_draws_rare_labels_to_the_shared_curve(monkeypatch):
    monkeypatch.setattr(fitting, "MOST_GIVEN", np.inf)
    scores, B = sample(5, n=2000)
    B[:, 5] = 0
    B[np.argmin(scores[:, 5]), 5] = 1  # one positive, at the lowest score of all: luck
    guarded = fit_decision("macro_f1", counts_of(scores, B)).thresholds
    monkeypatch.setattr(fitting, "GUARD", 1e-12)
    alone = fit_decision("macro_f1", counts_of(scores, B)).thresholds
    assert alone[5] < scores[:, 5].min()  # every row gets the label
    assert guarded[5] > np.median(scores[:, 5])
    np.testing.assert_allclose(guarded[:3], alone[:3], atol=0.1)


@pytest.mark.parametrize("positives", [1, 3])
def test_a_label_whose_scores_tell_nothing_is_not_given_to_all(positives, monkeypatch):
    scores, B = sample(5, n=2000)
    scores[:, 5] = np.random.default_rng(0).normal(-1.0, 1e-3, 2000)
    B[:, 5] = 0
    B[:positives, 5] = 1
    bounded = fit_decision("macro_f1", counts_of(scores, B))
    assert bounded.labels(scores).toarray()[:, 5].sum() <= 30 * positives
    others = bounded.thresholds[:5]
    monkeypatch.setattr(fitting, "MOST_GIVEN", np.inf)
    free = fit_decision("macro_f1", counts_of(scores, B))
    assert free.labels(scores).toarray()[:, 5].sum() > 900  # half of them: they lie around an edge
    np.testing.assert_array_equal(others, free.thresholds[:5])


def test_rare_labels_do_better_with_the_threshold_of_their_probabilities(monkeypatch):
    def draw(n):
        # Calibrated by construction, p = sigmoid(4s): each label with a level of its own.
        scores = rng.normal(-1.2, 0.5, (n, 40)) + np.linspace(-0.3, 0.1, 40)
        return scores, (rng.random(scores.shape) < 1 / (1 + np.exp(-4 * scores))).astype(int)

    rng = np.random.default_rng(0)
    scores, B = draw(400)  # some ten positives a label
    unseen, truth = draw(50_000)

    def macro(thresholds):
        pairs = zip(truth.T == 1, (unseen > thresholds).T, strict=True)
        return np.mean([f1(have, given) for have, given in pairs])

    guarded = macro(fit_decision("macro_f1", counts_of(scores, B)).thresholds)
    monkeypatch.setattr(fitting, "GUARD", 1e-12)
    alone = macro(fit_decision("macro_f1", counts_of(scores, B)).thresholds)
    oracle = macro(fit_decision("macro_f1", counts_of(unseen, truth)).thresholds)
    # Most of what luck takes from the best thresholds comes back.
    assert oracle - guarded < 0.5 * (oracle - alone)


@pytest.mark.parametrize("rule", ["micro_f1", "macro_f1"])
@pytest.mark.parametrize(
    "values", [(-1.0, 1.0), (-1.0, 0.0, 1.0), (-0.6, -0.2, 0.2, 0.6), (0.0, 1 / 3)]
)
def test_scores_of_a_few_values(rule, values, monkeypatch):
    # Votes and constant scores lie on edges of bins: they must be decided as they were counted.
    monkeypatch.setattr(fitting, "GUARD", 1e-12)
    rng = np.random.default_rng(6)
    scores = rng.choice(values, (500, 3))
    B = (scores >= max(values)).astype(int)
    found = fit_decision(rule, counts_of(scores, B)).labels(scores)
    np.testing.assert_array_equal(found.toarray(), B)


@pytest.mark.parametrize("rule", METRIC_RULES)
def test_labels_that_always_and_never_occur(rule):
    scores, B = sample(n=300)
    scores[:, 0], B[:, 0] = 1.0, 1
    scores[:, 1], B[:, 1] = -1.0, 0
    found = fit_decision(rule, counts_of(scores, B)).labels(scores).toarray()
    assert found[:, 0].all()
    assert not found[:, 1].any()


@pytest.mark.parametrize("rule", METRIC_RULES)
def test_nothing_is_ever_positive(rule):
    scores, B = sample()
    found = fit_decision(rule, counts_of(scores, 0 * B)).labels(scores)
    assert found.shape == B.shape
    assert found.nnz == 0


def test_equal_f1_takes_the_higher_threshold():
    scores = np.array([[-0.5], [0.5]])
    fitted = fit_decision("micro_f1", counts_of(scores, np.array([[0], [1]])))
    assert 0.4 < fitted.thresholds < 0.5


# Probabilities


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_rise_with_the_score_and_are_never_certain(seed):
    scores, B = sample(seed)
    fitted = fit_decision("sign", counts_of(scores, B))
    line = np.concatenate([[-1e300, -1e6], np.linspace(-5, 5, 2001), [1e6, 1e300]])
    p = fitted.probabilities(line[None])[0]
    assert np.all(np.diff(p) >= 0)
    assert 0 < p[0] < p[-1] < 1
    for extreme in (0 * B, 0 * B + 1):
        p = fit_decision("sign", counts_of(scores, extreme)).probabilities(scores)
        assert np.all((p > 0) & (p < 1))


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(7)
    scores = rng.normal(0, 1, (20_000, 2))
    truth = norm.cdf(1.5 * scores - 0.5)
    B = (rng.random(scores.shape) < truth).astype(int)
    p = fit_decision("sign", counts_of(scores, B)).probabilities(scores)
    assert np.mean(np.abs(p - truth)) < 0.015
    assert p.sum() == pytest.approx(B.sum(), rel=1e-3)


def test_without_counts_a_score_of_one_half_is_three_quarters():
    found = fit_decision("sign", None).probabilities(np.array([[-2.0, -1.0, 0.0, 0.5, 1.0, 3.0]]))
    assert found[0].tolist() == [0.0, 0.0, 0.5, 0.75, 1.0, 1.0]


@pytest.mark.parametrize("rule", METRIC_RULES)
def test_every_rule_decides_without_counts(rule):
    scores, B = sample()
    found = fit_decision(rule, None).labels(scores)
    assert found.shape == B.shape
    empty = ScoreCounts.from_scores([], 6)
    np.testing.assert_array_equal(fit_decision("accuracy", empty).curve_probabilities, [0.0, 1.0])


def test_a_decision_is_plain_arrays():
    scores, B = sample()
    fitted = fit_decision("macro_f1", counts_of(scores, B))
    copy = Decision("macro_f1", np.array(fitted.curve_scores.tolist()),
                    np.array(fitted.curve_probabilities.tolist()),
                    np.array(fitted.thresholds.tolist()))  # fmt: skip
    np.testing.assert_array_equal(copy.labels(scores).toarray(), fitted.labels(scores).toarray())


# Counts


def test_counts_are_those_of_the_pairs():
    scores, B = sample()
    counts = counts_of(scores, B)
    inside = np.digitize(scores, edges(decision.SHARED_BINS), right=True) - 1
    expected = np.zeros((2, decision.SHARED_BINS))
    np.add.at(expected[0], inside.ravel(), 1)
    np.add.at(expected[1], inside[B == 1], 1)
    np.testing.assert_array_equal(counts.shared, expected)
    assert counts.by_label.sum(axis=(1, 2)).tolist() == [scores.size, B.sum()]
    np.testing.assert_array_equal(counts.by_label[1].sum(axis=1), B.sum(axis=0))
    wide = counts.by_label.sum(axis=1)
    ratio = decision.SHARED_BINS // decision.LABEL_BINS
    np.testing.assert_array_equal(wide, expected.reshape(2, -1, ratio).sum(axis=2))


def test_blocks_and_containers_of_counts():
    scores, B = sample()
    whole = counts_of(scores, B)
    marks = sp.csr_array(B)
    marks.data[:] = 1
    parts = [(scores[:100], sp.csc_array(B[:100]), None), (scores[100:], marks[100:], None)]
    blocks = ScoreCounts.from_scores(iter(parts), 6)
    np.testing.assert_array_equal(blocks.shared, whole.shared)
    np.testing.assert_array_equal(blocks.by_label, whole.by_label)


@pytest.mark.parametrize("chunk", [1, 100, 1 << 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_do_not_depend_on_chunks(chunk, weighted, monkeypatch):
    rng = np.random.default_rng(0)
    scores, B = rng.standard_normal((40, 7)), rng.random((40, 7)) < 0.3
    weights = rng.random(40) if weighted else None
    monkeypatch.setattr(decision.counts, "CHUNK", chunk)
    found = ScoreCounts.from_scores([(scores, B.astype(int), weights)], 7)
    each = np.broadcast_to((np.ones(40) if weights is None else weights)[:, None], (40, 7))
    edges = decision.counts.bin_edges(decision.LABEL_BINS)
    for label in range(7):
        for which, mask in enumerate((np.ones(40, bool), B[:, label])):
            expected, _ = np.histogram(scores[mask, label], edges, weights=each[mask, label])
            np.testing.assert_allclose(found.by_label[which, label], expected, atol=1e-12)
    np.testing.assert_allclose(found.shared.sum(axis=1), [each.sum(), each[B].sum()])


def test_explicit_zeros_are_no_marks():
    scores, B = sample()
    marks = sp.csr_array(np.ones_like(B))
    marks.data[:] = B.ravel()
    np.testing.assert_array_equal(counts_of(scores, marks).by_label, counts_of(scores, B).by_label)


def test_weights_equal_repetition():
    scores, B = sample()
    times = np.random.default_rng(8).integers(1, 4, len(B))
    weighted = counts_of(scores, B, times.astype(float))
    repeated = counts_of(np.repeat(scores, times, axis=0), np.repeat(B, times, axis=0))
    np.testing.assert_allclose(weighted.shared, repeated.shared)
    np.testing.assert_allclose(weighted.by_label, repeated.by_label)
    for rule in METRIC_RULES:
        a, b = (fit_decision(rule, counts) for counts in (weighted, repeated))
        np.testing.assert_array_equal(a.labels(scores).toarray(), b.labels(scores).toarray())


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
    moments = ScoreMoments(share, mean_with, mean_without, spread)
    expected, found = ScoreCounts.from_moments(moments, float(n)), counts_of(scores, B)
    # Distribution functions of 20,000 draws lie within 2/√n of the true one (Kolmogorov).
    for ours, theirs in ((expected.shared, found.shared), (expected.by_label, found.by_label)):
        gap = np.abs(np.cumsum(ours, axis=-1) - np.cumsum(theirs, axis=-1))
        assert gap.max() < 2 * 3 * np.sqrt(n)
    np.testing.assert_allclose(expected.by_label.sum(axis=2), n * np.array([np.ones(3), share]))
    for rule in METRIC_RULES:
        a, b = (fit_decision(rule, counts).labels(scores).toarray() for counts in (expected, found))
        assert np.mean(a != b) < 0.02


def test_moments_without_spread():
    moments = ScoreMoments(np.array([1.0, 0.0]), np.array([1.0, -1.0]), np.array([1.0, -1.0]),
                           np.full(2, 1e-12))  # fmt: skip
    counts = ScoreCounts.from_moments(moments, 50.0)
    assert np.isfinite(counts.by_label).all()
    for rule in METRIC_RULES:
        found = fit_decision(rule, counts).labels(np.array([[1.0, -1.0]])).toarray()
        assert found.tolist() == [[1, 0]]
