"""Every rule against brute force over label sets and thresholds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import poisson

from grople.decision import (
    FITTED_RULES,
    LABEL_BINS,
    METRIC_RULES,
    SHARED_BINS,
    Decision,
    Rule,
    _decision,
    _expected,
    _fit,
    best_prefix,
    check_rule,
    expected_measures,
    fit_decision,
    needs_evidence,
)
from tests.decision.samples import edges, f1, held_out, sample

ROW_RULES = ["accuracy", "example_f1"]
ALL_SETS = np.array(list(itertools.product([0, 1], repeat=6)))


def fitted(scores, B, weights=None):
    return fit_decision(held_out(scores, B, weights), context=False)


# Names


@pytest.mark.parametrize("rule", ["sign", *FITTED_RULES, 0, -0.25, np.float32(0.5), np.int64(2)])
def test_rules_that_exist(rule):
    assert check_rule(rule) == rule
    assert needs_evidence(rule) == (rule in FITTED_RULES)


@pytest.mark.parametrize("rule", ["f1", None, True, np.nan, np.inf, [0.5], "0.5", "subset"])
def test_rules_that_do_not(rule):
    with pytest.raises(
        ValueError, match="decision must be 'sign', a number, a Rule, or one of accuracy"
    ):
        check_rule(rule)


@pytest.mark.parametrize("wrong", [{"name": "best"}, {"context": 2}, {"k": 0}, {"k": 1.5}])
def test_rules_spelt_out_wrongly(wrong):
    with pytest.raises(ValueError, match=r"one of|called|whole"):
        Rule(**wrong)


def test_rules_spelt_out():
    assert check_rule(Rule("top_k", k=3)).k == 3
    assert needs_evidence(Rule())
    assert Rule("top_k", k=3.0) == Rule("top_k", k=np.int64(3))


@pytest.mark.parametrize(("rule", "threshold"), [("sign", 0.0), (0.25, 0.25), (-1, -1.0)])
@pytest.mark.parametrize("known", [False, True])
def test_given_thresholds(rule, threshold, known):
    scores, B = sample()
    scores[0, 0] = threshold  # not above it
    decision = fitted(scores, B) if known else fit_decision(None)
    found = decision.labels(scores, rule=rule)
    np.testing.assert_array_equal(found.toarray(), scores > threshold)
    assert found.dtype == np.int64


# Sets: accuracy and example-F1


def expected_measure(p, chosen, rule, beyond=0.0):
    """The mean of a measure over every outcome of six labels, and as many others as are likely."""
    given = np.isin(np.arange(6), list(chosen))
    chance = np.where(ALL_SETS == 1, p, 1 - p).prod(axis=1)
    others = np.arange(60)
    hits = (ALL_SETS @ given)[:, None]
    both = ALL_SETS.sum(axis=1)[:, None] + others + given.sum()
    value = hits / (both - hits) if rule == "accuracy" else 2 * hits / both
    return chance @ value @ poisson.pmf(others, beyond)


@pytest.mark.parametrize("rule", ROW_RULES)
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


@pytest.mark.parametrize("rule", ROW_RULES)
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


@pytest.mark.parametrize("rule", ROW_RULES)
def test_improbable_labels_are_known_by_their_sums(rule):
    rng = np.random.default_rng(0)
    p = -np.sort(-rng.beta(0.1, 4.0, (300, 400)), axis=1)
    values = expected_measures(p, p.sum(axis=1), rule)
    sizes = best_prefix(p, p.sum(axis=1), rule)
    lost = values.max(axis=1) - values[np.arange(len(p)), sizes - 1]
    assert lost.max() < 1e-6


@pytest.mark.parametrize("rule", ROW_RULES)
def test_a_row_has_the_same_set_in_any_company(rule):
    rng = np.random.default_rng(1)
    p = -np.sort(-rng.beta(0.2, np.repeat([1.0, 3.0, 40.0], 40)[:, None], (120, 300)), axis=1)
    expected = p.sum(axis=1) + rng.random(120)
    sizes = best_prefix(p, expected, rule)
    order = rng.permutation(120)
    np.testing.assert_array_equal(best_prefix(p[order], expected[order], rule), sizes[order])
    for i in range(0, 120, 7):
        assert best_prefix(p[[i]], expected[[i]], rule) == sizes[i]


@pytest.mark.parametrize("rule", ROW_RULES)
def test_flat_rows(rule):
    # 400 labels that are all improbable: the best set has most of them, and as many nodes as are
    # taken tell their measures as exactly as six hundred.
    flat = np.full((1, 400), 7 / 400)
    size = best_prefix(flat, flat.sum(axis=1), rule)[0]
    exact = _expected._expected(flat, [np.zeros(1)], rule, 600)[0]
    assert exact[size - 1] == pytest.approx(exact.max(), rel=1e-8)
    found = expected_measures(flat, flat.sum(axis=1), rule)[0]
    np.testing.assert_allclose(found, exact, rtol=1e-8)


def test_a_label_that_gains_nothing_is_not_given():
    # .75 with one label and with two: but for rounding, which must not decide.
    for p in ([[1.0, 0.5]], [[1.0, 0.5, 0.0]]):
        p = np.array(p)
        np.testing.assert_allclose(expected_measures(p, p.sum(axis=1), "accuracy")[0, :2], 0.75)
        assert best_prefix(p, p.sum(axis=1), "accuracy") == [1]


@pytest.mark.parametrize("rule", ROW_RULES)
def test_sets_are_the_most_probable_labels(rule):
    scores, B = sample()
    decision = fitted(scores, B)
    p = decision.probabilities(scores)
    found = decision.labels(scores, rule=rule)
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


@pytest.mark.parametrize("rule", ROW_RULES)
def test_many_labels_are_cut_to_candidates(rule, monkeypatch):
    scores, B = sample(1, n_labels=30)
    decision = fitted(scores, B)
    p = -np.sort(-decision.probabilities(scores), axis=1)
    values = expected_measures(p, p.sum(axis=1), rule)
    whole = decision.labels(scores, rule=rule)
    most = int(np.diff(whole.indptr).max())
    for candidates in (20, most):
        monkeypatch.setattr(_decision, "MOST_LABELS", candidates)
        sizes = np.diff(decision.labels(scores, rule=rule).indptr)
        # Of the labels beyond only the mean number is known, which changes hardly anything.
        lost = values.max(axis=1) - values[np.arange(len(p)), sizes - 1]
        assert lost.max() < 1e-3
        assert np.mean(lost > 1e-9) < 0.01
    # Rows that take all they may choose from choose again, from all labels.
    monkeypatch.setattr(_decision, "MOST_LABELS", 1)
    found = decision.labels(scores, rule=rule)
    several = np.diff(found.indptr) > 1
    assert several.any()
    np.testing.assert_array_equal(found.toarray()[several], whole.toarray()[several])


# Thresholds and counts of labels


def test_likely_labels_are_those_above_one_half():
    scores, B = sample(n=500, n_labels=8)
    decision = fitted(scores, B)
    p = decision.probabilities(scores)
    sure = np.abs(p - 0.5) > 1e-9
    found = decision.labels(scores, rule="hamming").toarray()
    np.testing.assert_array_equal(found[sure], (p > 0.5)[sure])


def test_top_k():
    scores, B = sample(n=500, n_labels=8)
    decision = fitted(scores, B)
    assert decision.n_top == round(B.sum() / len(B))
    for k in (1, 2, 3, 20):
        found = decision.labels(scores, rule=Rule("top_k", k=k))
        best = np.argsort(-scores, axis=1)[:, :k]
        assert np.take_along_axis(found.toarray(), best, axis=1).all()
        assert (found.sum(axis=1) == min(k, 8)).all()
    assert (decision.labels(scores, rule="top_k").sum(axis=1) == decision.n_top).all()


@pytest.mark.parametrize("seed", range(4))
def test_micro_threshold_is_the_best_of_all(seed):
    scores, B = sample(seed)
    ours = f1(B == 1, fitted(scores, B).labels(scores, rule="micro_f1").toarray() == 1)
    best = max(f1(B == 1, scores > t) for t in edges(SHARED_BINS))
    assert ours == pytest.approx(best, rel=1e-12)
    # Scores themselves as thresholds are little better than the edges of 4096 bins.
    assert ours >= max(f1(B == 1, scores > t) for t in np.unique(scores)) - 0.005


@pytest.mark.parametrize("seed", range(4))
def test_macro_thresholds_are_the_best_of_all_without_the_guard(seed, monkeypatch):
    monkeypatch.setattr(_fit, "GUARD", 1e-12)
    scores, B = sample(seed)
    found = fitted(scores, B).labels(scores, rule="macro_f1").toarray() == 1
    for label in range(6):
        truth = B[:, label] == 1
        best = max(f1(truth, scores[:, label] > t) for t in edges(LABEL_BINS))
        assert f1(truth, found[:, label]) == pytest.approx(best, rel=1e-9)


def test_the_guard_draws_rare_labels_to_the_shared_curve(monkeypatch):
    monkeypatch.setattr(_fit, "MAX_PREDICTED_RATIO", np.inf)
    scores, B = sample(5, n=2000)
    B[:, 5] = 0
    B[np.argmin(scores[:, 5]), 5] = 1  # one positive, at the lowest score of all: luck
    guarded = fitted(scores, B).macro_thresholds
    monkeypatch.setattr(_fit, "GUARD", 1e-12)
    alone = fitted(scores, B).macro_thresholds
    assert alone[5] < scores[:, 5].min()  # every row gets the label
    assert guarded[5] > np.median(scores[:, 5])
    np.testing.assert_allclose(guarded[:3], alone[:3], atol=0.1)


@pytest.mark.parametrize("positives", [1, 3])
def test_a_label_whose_scores_tell_nothing_is_not_given_to_all(positives, monkeypatch):
    scores, B = sample(5, n=2000)
    scores[:, 5] = np.random.default_rng(0).normal(-1.0, 1e-3, 2000)
    B[:, 5] = 0
    B[:positives, 5] = 1
    bounded = fitted(scores, B)
    given = bounded.labels(scores, rule="macro_f1").toarray()
    assert given[:, 5].sum() <= 30 * positives
    monkeypatch.setattr(_fit, "MAX_PREDICTED_RATIO", np.inf)
    free = fitted(scores, B)
    assert free.labels(scores, rule="macro_f1").toarray()[:, 5].sum() > 900  # around an edge
    np.testing.assert_array_equal(bounded.macro_thresholds[:5], free.macro_thresholds[:5])


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

    guarded = macro(fitted(scores, B).macro_thresholds)
    monkeypatch.setattr(_fit, "GUARD", 1e-12)
    alone = macro(fitted(scores, B).macro_thresholds)
    oracle = macro(fitted(unseen, truth).macro_thresholds)
    # Most of what luck takes from the best thresholds comes back.
    assert oracle - guarded < 0.5 * (oracle - alone)


@pytest.mark.parametrize("rule", ["micro_f1", "macro_f1"])
@pytest.mark.parametrize(
    "values", [(-1.0, 1.0), (-1.0, 0.0, 1.0), (-0.6, -0.2, 0.2, 0.6), (0.0, 1 / 3)]
)
def test_scores_of_a_few_values(rule, values, monkeypatch):
    # Votes and constant scores lie on edges of bins: they must be decided as they were counted.
    monkeypatch.setattr(_fit, "GUARD", 1e-12)
    rng = np.random.default_rng(6)
    scores = rng.choice(values, (500, 3))
    B = (scores >= max(values)).astype(int)
    keys = np.arange(500, dtype=np.uint64)  # the same scores, but no copies
    decision = fit_decision(held_out(scores, B, keys=keys), context=False)
    np.testing.assert_array_equal(decision.labels(scores, rule=rule).toarray(), B)


@pytest.mark.parametrize("rule", METRIC_RULES)
def test_labels_that_always_and_never_occur(rule):
    scores, B = sample(n=300)
    scores[:, 0], B[:, 0] = 1.0, 1
    scores[:, 1], B[:, 1] = -1.0, 0
    found = fitted(scores, B).labels(scores, rule=rule).toarray()
    assert found[:, 0].all()
    assert not found[:, 1].any()


@pytest.mark.parametrize("rule", FITTED_RULES)
def test_nothing_is_ever_positive(rule):
    scores, B = sample()
    found = fitted(scores, 0 * B).labels(scores, rule=rule)
    assert found.shape == B.shape
    assert found.nnz == 0


@pytest.mark.parametrize("rule", METRIC_RULES)
def test_every_rule_decides_without_evidence(rule):
    scores, B = sample()
    assert fit_decision(None).labels(scores, rule=rule).shape == B.shape


def test_equal_f1_takes_the_higher_threshold():
    scores = np.array([[-0.5], [0.5]])
    assert 0.4 < fitted(scores, np.array([[0], [1]])).micro_threshold < 0.5


def test_expected_sets_beat_the_sign():
    # What the rules are for: on rows of the same kind they lose nothing and mostly gain.
    scores, B = sample(2, n=4000)
    new, truth = sample(3, n=4000)
    decision = fitted(scores, B)
    jaccard, example = {}, {}
    for rule in ("sign", *ROW_RULES):
        found = decision.labels(new, rule=rule).toarray()
        hit, size = (found & truth).sum(axis=1), found.sum(axis=1) + truth.sum(axis=1)
        jaccard[rule] = np.mean(hit / np.maximum(size - hit, 1))
        example[rule] = np.mean(2 * hit / np.maximum(size, 1))
    assert jaccard["accuracy"] >= max(jaccard["sign"], jaccard["example_f1"])
    assert example["example_f1"] >= max(example["sign"], example["accuracy"])


def test_sets_that_are_worse_than_the_sign_are_not_taken():
    # The sign is right on every row, but scores differ by so little that no curve tells them apart.
    rng = np.random.default_rng(0)
    B = rng.random((1000, 20)) < 0.3
    B[:, 0] = True
    scores = np.where(B, 1e-9, -1e-9) * rng.uniform(0.5, 1.5, B.shape)
    decision = fitted(scores, B.astype(int))
    assert decision.signed_rules == ("accuracy", "example_f1")
    for rule in ROW_RULES:
        np.testing.assert_array_equal(decision.labels(scores, rule=rule).toarray(), B)
    assert not fitted(*sample()).signed_rules


def test_weights_equal_repetition():
    scores, B = sample()
    times = np.random.default_rng(8).integers(1, 4, len(B))
    keys = np.arange(len(B), dtype=np.uint64)
    again = np.repeat(np.arange(len(B)), times)
    weighted = held_out(scores, B, times.astype(float), keys=keys)
    repeated = held_out(scores[again], B[again], keys=keys[again])
    np.testing.assert_allclose(weighted.counts.shared, repeated.counts.shared)
    np.testing.assert_allclose(weighted.counts.by_label, repeated.counts.by_label)
    np.testing.assert_allclose(weighted.pairs.toarray(), repeated.pairs.toarray())
    a, b = (fit_decision(part, context=False) for part in (weighted, repeated))
    assert a.copies.strength == b.copies.strength
    np.testing.assert_allclose(a.copies.times, b.copies.times)
    np.testing.assert_allclose(a.copies.counts.toarray(), b.copies.counts.toarray())
    np.testing.assert_array_equal(a.macro_thresholds, b.macro_thresholds)
    assert a.micro_threshold == b.micro_threshold


def test_a_decision_is_plain_arrays():
    scores, B = sample()
    decision = fitted(scores, B)
    copy = Decision(
        np.array(decision.curve_scores.tolist()),
        np.array(decision.curve_probabilities.tolist()),
        decision.micro_threshold,
        np.array(decision.macro_thresholds.tolist()),
        decision.hamming_threshold,
        decision.n_top,
        decision.signed_rules,
    )
    for rule in FITTED_RULES:
        np.testing.assert_array_equal(
            copy.labels(scores, rule=rule).toarray(), decision.labels(scores, rule=rule).toarray()
        )
