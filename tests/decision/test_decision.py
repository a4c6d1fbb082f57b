"""One decision for every rule: a row's answer is its own, and the same each time."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from grople.decision import (
    FITTED_RULES,
    HeldOut,
    HeldOutBlock,
    Rule,
    cooccurrence_feature,
    fit_decision,
)
from grople.metrics import example_f1
from grople.moments import row_keys
from tests.decision.samples import held_out, paired_sample

RULES = [*FITTED_RULES, "sign", 0.25]


@pytest.fixture(scope="module", params=["plain", "re-ranked", "with features"])
def fitted(request):
    """A decision, scores and rows to decide on."""
    scores, B = paired_sample(900, n_labels=70)
    X = np.random.default_rng(2).random((900, 9)) + B.toarray()[:, :9]
    X[400:] = X[:500]  # some copies
    feature = None
    values = None
    if request.param == "with features":
        feature = cooccurrence_feature(sp.csr_array(X.T @ B.toarray()), X.sum(axis=0))
        values = feature(X)
    block = HeldOutBlock(scores, B, None, row_keys(X), values)
    evidence = HeldOut.from_blocks([block], 70, np.arange(70) // 7, feature)
    decision = fit_decision(evidence, context=request.param != "plain")
    return decision, scores, X


@pytest.mark.parametrize("rule", RULES)
def test_a_row_has_the_same_answer_in_any_company(fitted, rule):
    decision, scores, X = fitted
    whole = decision.labels(scores, X, rule).toarray()
    p = decision.probabilities(scores, X)
    rng = np.random.default_rng(0)
    order = rng.permutation(900)
    parts = [order, *np.split(order, [1, 3, 6, 11, 44, 300])]
    parts += [order[[i]] for i in range(0, 900, 90)]
    for rows in parts:
        found = decision.labels(scores[rows], X[rows], rule).toarray()
        np.testing.assert_array_equal(found, whole[rows])
        np.testing.assert_array_equal(decision.probabilities(scores[rows], X[rows]), p[rows])
    # Other neighbours, a padded block, sparse rows, another layout in memory.
    padded = np.concatenate([scores[5:6], np.zeros((63, 70))])
    rows = np.concatenate([X[5:6], np.zeros((63, 9))])
    np.testing.assert_array_equal(decision.probabilities(padded, rows)[0], p[5])
    other = decision.probabilities(np.asfortranarray(scores), np.asfortranarray(X))
    np.testing.assert_array_equal(other, p)


def test_no_rows(fitted):
    decision, scores, X = fitted
    assert decision.probabilities(scores[:0], X[:0]).shape == (0, 70)
    for rule in RULES:
        assert decision.labels(scores[:0], X[:0], rule).shape == (0, 70)


def test_two_fits_are_one(fitted):
    scores, B = paired_sample(400)
    one, other = (fit_decision(held_out(scores, B), context=True) for _ in range(2))

    def same(a, b):
        assert type(a) is type(b)
        if is_dataclass(a):
            for field in fields(a):
                same(getattr(a, field.name), getattr(b, field.name))
        elif sp.issparse(a):
            np.testing.assert_array_equal(a.toarray(), b.toarray())
        else:
            np.testing.assert_array_equal(a, b)

    same(one, other)


def test_everything_stored_is_plain(fitted):
    def check(value):
        if is_dataclass(value):
            assert value.__dataclass_params__.frozen
            for field in fields(value):
                check(getattr(value, field.name))
        else:
            plain = isinstance(value, np.ndarray | float | int | tuple | None | sp.csr_array)
            assert plain, type(value)
            assert not isinstance(value, np.generic)

    check(fitted[0])


@pytest.mark.parametrize("context", [False, True])
def test_rows_may_have_more_labels_than_candidates(context):
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((1200, 30)) @ rng.standard_normal((30, 150)) * 0.5
    B = sp.csr_array((rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int))
    scores = np.tanh(logits / 4)
    evidence = held_out(scores[:800], B[:800])
    assert evidence.candidates.labels.shape[1] == 60
    decision = fit_decision(evidence, context=context)
    assert (decision.reranker is not None) == context
    reached = [
        example_f1(B[800:], decision.labels(scores[800:], rule=rule))
        for rule in ("example_f1", "micro_f1")
    ]
    # Rows have 75 labels on average; one threshold is nearly as good as the best sets.
    assert min(reached) > max(reached) - 0.02
    top = decision.labels(scores[800:], rule=Rule("top_k", k=100))
    assert set(np.diff(top.indptr)) == {100}


def test_one_label():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((800, 1))
    B = (scores + 0.5 * rng.standard_normal((800, 1)) > 0).astype(int)
    for context in ("auto", True):
        decision = fit_decision(held_out(scores, B), context=context)
        for rule in RULES:
            assert decision.labels(scores, rule=rule).shape == (800, 1)
        assert np.isfinite(decision.probabilities(scores)).all()
