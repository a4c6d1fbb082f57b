"""Rows that repeat each other: a row's probability is that of rows like it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import comb
from scipy.stats import betabinom

from grople.decision import FITTED_RULES, Copies, HeldOut, HeldOutBlock, Rule, fit_decision
from grople.decision._copies import _log_likelihood
from grople.metrics import example_f1
from grople.moments import fold_of, row_keys


def ridge(X, B):
    """Scores of a ridge regression with an intercept on ±1 labels, as a function of rows."""
    Y = 2.0 * B - 1
    mean, level = X.mean(axis=0), Y.mean(axis=0)
    centred = X - mean
    W = np.linalg.solve(centred.T @ centred + 0.1 * np.eye(X.shape[1]), centred.T @ (Y - level))
    return lambda new: (new - mean) @ W + level


def decide(X, B, weights=None, **options):
    """A decision on held-out scores, copies held out together, and the scores of all rows."""
    keys, blocks = row_keys(X), []
    folds = fold_of(keys, 5)
    for fold in np.unique(folds):
        held, rest = folds == fold, folds != fold
        if not rest.any():
            continue
        part = None if weights is None else weights[held]
        scores = ridge(X[rest], B[rest])(X[held])
        blocks.append(HeldOutBlock(scores, sp.csr_array(B[held]), part, keys[held]))
    decision = fit_decision(HeldOut.from_blocks(blocks, B.shape[1]), **options)
    return decision, ridge(X, B)


@pytest.mark.parametrize("k", [3, 5, 20, 50])
def test_one_hot_tables(k):
    c = np.random.default_rng(0).integers(0, k, 600)
    X = np.eye(k)[c]
    decision, scores = decide(X, X)
    assert decision.needs_features
    p = decision.probabilities(scores(X), X)
    assert p[np.arange(600), c].min() > 0.9
    assert p.sum(axis=1).max() < 1.5
    for rule in ("example_f1", "accuracy", "micro_f1", "macro_f1", "hamming", Rule("top_k", k=1)):
        found = decision.labels(scores(X), X, rule)
        np.testing.assert_array_equal(found.toarray(), X, err_msg=str(rule))


@pytest.mark.parametrize("n_distinct", [5, 50, 500])
def test_templates_are_answered_right_and_new_rows_as_before(n_distinct):
    rng = np.random.default_rng(1)
    W = rng.standard_normal((12, 8))

    def rows(n):
        X = rng.standard_normal((n, 12))
        B = (X @ W + 2 * rng.standard_normal((n, 8)) > 1.5).astype(float)
        B[:, 0] = np.maximum(B[:, 0], B.sum(axis=1) == 0)
        return X, B

    X, B = rows(n_distinct)
    which = rng.integers(0, n_distinct, 3000)
    decision, scores = decide(X[which], B[which])
    found = decision.labels(scores(X), X, "example_f1")
    seen = np.unique(which)
    assert example_f1(B[seen], found[seen]) > 0.99
    if n_distinct == 500:
        new, truth = rows(2000)
        plain, _ = decide(X, B)
        assert plain.copies is None  # nothing repeats itself
        loss = example_f1(truth, plain.labels(scores(new), new, "example_f1")) - example_f1(
            truth, decision.labels(scores(new), new, "example_f1")
        )
        assert loss < 0.02


def test_eighty_per_cent_copies():
    rng = np.random.default_rng(2)
    distinct = rng.standard_normal((400, 10))
    W = rng.standard_normal((10, 6))
    B = (distinct @ W + 2 * rng.standard_normal((400, 6)) > 1).astype(float)
    B[:, 0] = np.maximum(B[:, 0], B.sum(axis=1) == 0)
    which = np.concatenate([rng.integers(0, 80, 1280), np.arange(80, 400)])
    X, labels = distinct[which], B[which]
    decision, scores = decide(X, labels)
    assert example_f1(labels, decision.labels(scores(X), X, "example_f1")) > 0.98
    assert decision.copies.strength < 1


def test_contradicting_labels_on_copies_are_shared():
    X = np.repeat(np.eye(20), 40, axis=0)
    B = np.repeat(np.eye(20), 40, axis=0)
    B[:, 0] = np.tile([0.0, 1.0], 400)  # on half of the copies of each row
    decision, scores = decide(X, B)
    p = decision.probabilities(scores(X), X)
    np.testing.assert_allclose(p[:, 0], 0.5, atol=0.05)
    rows = np.arange(40, 800)
    assert p[rows, rows // 40].min() > 0.9


def test_copies_that_do_not_agree_are_not_remembered():
    # Labels by the toss of a coin whose bias is the score: copies tell nothing more.
    rng = np.random.default_rng(4)
    scores = rng.uniform(-0.9, 0.9, (300, 6))
    times = 5
    again = np.repeat(np.arange(300), times)
    B = (rng.random((1500, 6)) < (scores[again] + 1) / 2).astype(int)
    keys = np.arange(300, dtype=np.uint64)[again]
    evidence = HeldOut.from_blocks([HeldOutBlock(scores[again], sp.csr_array(B), None, keys)], 6)
    assert fit_decision(evidence, context=False).copies is None


def test_without_keys_nothing_is_remembered():
    scores = np.tile([[1.0, -1.0], [-1.0, 1.0]], (50, 1))
    B = sp.csr_array(scores > 0).astype(int)
    decision = fit_decision(HeldOut.from_blocks([HeldOutBlock(scores, B)], 2))
    assert not decision.needs_features


def test_the_probability_is_the_mean_of_a_beta_distribution():
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    keys = row_keys(X)
    order = np.argsort(keys)
    copies = Copies(
        keys[order], np.array([4.0, 2.0])[order], sp.csr_array([[3.0], [0.0]])[order], 2.0
    )
    rows, which = copies.find(np.array([[0.0, 1.0], [5.0, 5.0], [1.0, 0.0]]))
    assert rows.tolist() == [0, 2]
    p = copies.corrected(np.array([[0.1], [0.5]]), which)
    np.testing.assert_allclose(p, [[(0 + 2 * 0.1) / 4], [(3 + 2 * 0.5) / 6]])
    assert copies.find(sp.csr_array(X))[0].tolist() == [0, 1]


def test_the_likelihood_is_that_of_the_beta_binomial_distribution():
    k, m, p0, c = np.array([0.0, 1.0, 3.0]), np.array([3.0, 3.0, 3.0]), 0.3, 1.7
    found = _log_likelihood(k, m, np.full(3, p0), c) + np.log(comb(3, k))
    np.testing.assert_allclose(found, betabinom.logpmf(k, 3, c * p0, c * (1 - p0)))


@pytest.mark.parametrize("rule", FITTED_RULES)
@pytest.mark.parametrize("context", [False, True])
def test_known_and_new_rows_in_one_block(rule, context):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((500, 10))
    B = (X @ rng.standard_normal((10, 12)) + rng.standard_normal((500, 12)) > 2).astype(float)
    which = np.concatenate([rng.integers(0, 100, 600), np.arange(100, 500)])
    decision, scores = decide(X[which], B[which], context=context)
    assert decision.copies is not None
    assert (decision.reranker is not None) == context
    new = np.concatenate([X[:20], rng.standard_normal((20, 10))])[rng.permutation(40)]
    at = scores(new)
    whole = decision.labels(at, new, rule).toarray()
    p = decision.probabilities(at, new)
    for i in range(40):
        alone = decision.labels(at[[i]], new[[i]], rule)
        np.testing.assert_array_equal(alone.toarray()[0], whole[i])
        np.testing.assert_array_equal(decision.probabilities(at[[i]], new[[i]])[0], p[i])
