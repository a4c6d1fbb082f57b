"""The second look: it learns what a score alone cannot show, and leaves well alone what it can."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from grople.decision import Evidence, Rule, fit_decision
from grople.decision.context import ContextDecoder, _described, _learn, fit_context
from grople.decision.evidence import n_candidates, top_labels
from grople.metrics import example_f1


def sample(n=3000, n_labels=40, seed=0, related=True):
    """Scores of labels that come in pairs; a noisy score of one says much about the other."""
    rng = np.random.default_rng(seed)
    half = rng.random((n, n_labels // 2)) < 0.08
    B = np.repeat(half, 2, axis=1) if related else rng.random((n, n_labels)) < 0.08
    scores = np.where(B, -0.2, -0.9) + 0.35 * rng.standard_normal(B.shape)
    return scores, sp.csr_array(B.astype(int))


def evidence_of(scores, B, weights=None, groups=None):
    return Evidence.from_blocks(
        [(scores, B, weights)], scores.shape[1], B.sum() / B.shape[0], groups
    )


def test_it_sees_what_goes_together():
    scores, B = sample()
    new, truth = sample(seed=1)
    evidence = evidence_of(scores, B)
    plain, context = (
        fit_decision(Rule("example_f1", context=context), evidence) for context in (False, "auto")
    )
    assert context.decoder is not None
    gain = example_f1(truth, context.labels(new)) - example_f1(truth, plain.labels(new))
    assert gain > 0.05


def test_it_is_left_out_where_scores_say_everything():
    scores, B = sample(related=False)
    evidence = evidence_of(scores, B)
    assert fit_decision("example_f1", evidence).decoder is None
    assert fit_decision(Rule("example_f1", context=True), evidence).decoder is not None


@pytest.mark.parametrize("told", [True, False])
def test_what_is_hopeless_is_given_up_after_one_network(told, monkeypatch):
    scores, B = sample(n=600)
    if not told:  # labels without regard to the scores: nothing can be learnt but by heart
        B = sp.csr_array((np.random.default_rng(0).random(scores.shape) < 0.08).astype(int))
    evidence = evidence_of(scores, B)
    calls = []

    def counted(*args, **kwargs):
        calls.append(1)
        return _learn(*args, **kwargs)

    monkeypatch.setattr("grople.decision.context._learn", counted)
    found = fit_context(evidence, np.full(evidence.candidates.scores.shape, 0.08))
    assert (found is not None) == told
    assert len(calls) == (3 if told else 1)


def test_it_needs_rows():
    scores, B = sample(n=100)
    evidence = evidence_of(scores, B)
    assert fit_decision(Rule("example_f1", context=True), evidence).decoder is None
    assert fit_decision("example_f1", Evidence(evidence.counts)).decoder is None


def test_its_own_rows_are_judged_by_networks_that_have_not_seen_them():
    # Labels drawn without regard to the scores: nothing can be learnt but by heart.
    rng = np.random.default_rng(0)
    scores = rng.normal(-0.6, 0.4, (1500, 20))
    B = sp.csr_array((rng.random(scores.shape) < 0.2).astype(int))
    evidence = evidence_of(scores, B)
    rows = evidence.candidates
    chances = np.full(rows.scores.shape, 0.2)
    _, unseen = fit_context(evidence, chances, forced=True)
    with_it, without = unseen[rows.truth].mean(), unseen[~rows.truth].mean()
    assert abs(with_it - without) < 0.01


@pytest.mark.parametrize(("n", "n_labels"), [(1000, 100), (1000, 500)])
def test_a_row_does_not_tell_which_labels_go_together_on_it(n, n_labels):
    # Labels are independent and rare: most pairs that occur together do so on one row. To know of
    # these there, and not on new rows, would look like an insight.
    rng = np.random.default_rng(0)
    odds = rng.normal(-6.0, 2.0, (2 * n, n_labels))
    B = sp.csr_array((rng.random(odds.shape) < 1 / (1 + np.exp(-odds))).astype(int))
    scores = odds / 4 + 0.1 * rng.standard_normal(odds.shape)
    evidence = evidence_of(scores[:n], B[:n])
    plain, chosen, forced = (
        fit_decision(Rule("example_f1", context=context), evidence)
        for context in (False, "auto", True)
    )
    reached = example_f1(B[n:], plain.labels(scores[n:]))
    assert example_f1(B[n:], chosen.labels(scores[n:])) > reached - 0.01
    assert example_f1(B[n:], forced.labels(scores[n:])) > reached - 0.03
    # What is expected of rows it has not seen is what new rows show.
    rows = evidence.candidates
    for held in range(3):
        some = np.flatnonzero(rows.folds(3) == held)
        without = _described(evidence, some)
        rest = np.setdiff1d(np.arange(n), some)
        marks = rows.true_labels(rest, n_labels)
        # Labels beyond the candidates count, too: there are more pairs than among these.
        together = (
            np.asarray(without.together)
            * (1 + evidence.pairs.diagonal() - (rows.true_labels(some, n_labels).sum(axis=0)))[
                :, None
            ]
        )
        assert (together > (marks.T @ marks).toarray() - 1e-3).all()
        assert together.sum() < evidence.pairs.sum()


def test_copies_of_a_row_are_in_one_fold():
    scores, B = sample(n=200)
    copies = np.repeat(np.arange(200), 5)
    rows = evidence_of(scores[copies], B[copies]).candidates
    folds = rows.folds(3)
    _, which = np.unique(rows.scores, axis=0, return_inverse=True)
    for row in range(200):
        assert len(set(folds[which.ravel() == row])) == 1
    assert set(folds) == {0, 1, 2}
    # And copies of two rows have no three folds to learn in.
    few = np.arange(600) % 2
    assert fit_context(evidence_of(scores[few], B[few]), np.full((600, 30), 0.5)) is None


def test_probabilities_are_calibrated():
    scores, B = sample(6000)
    new, truth = sample(6000, seed=1)
    decision = fit_decision("example_f1", evidence_of(scores, B))
    p, hit = decision.probabilities(new).ravel(), truth.toarray().ravel()
    order = np.argsort(p)
    for part in np.array_split(order[-20_000:], 10):
        # 2,000 pairs a bin: four standard errors of a share are .045 at most.
        assert p[part].mean() == pytest.approx(hit[part].mean(), abs=0.045)


def test_the_first_layer_takes_inputs_as_they_are():
    rng = np.random.default_rng(0)
    inputs = (1000 + 5 * rng.standard_normal((4000, 3))).astype(np.float32)
    truth = inputs[:, 0] > 1002
    matrix, shift, *_ = net = _learn(inputs, truth, None, seed=0)
    hidden = inputs @ matrix + shift
    assert np.abs(hidden).max() < 100  # centred inside the layer, not outside
    values = np.maximum(hidden, 0) @ net[2] + net[3]
    odds = (np.maximum(values, 0) @ net[4] + net[5])[:, 0]
    assert ((odds > 0) == truth).mean() > 0.95


def test_sparse_and_dense_tables_agree(monkeypatch):
    scores, B = sample(600)
    evidence = evidence_of(scores, B, groups=np.arange(40) // 2)
    dense = fit_decision(Rule(context=True), evidence)
    monkeypatch.setattr("grople.decision.context.DENSE_LABELS", 1)
    sparse = fit_decision(Rule(context=True), evidence_of(scores, B, groups=np.arange(40) // 2))
    assert sp.issparse(sparse.decoder.together)
    assert not sp.issparse(dense.decoder.together)
    np.testing.assert_allclose(sparse.probabilities(scores), dense.probabilities(scores), atol=1e-6)


def test_rows_do_not_depend_on_their_block(monkeypatch):
    scores, B = sample(700)
    decision = fit_decision(Rule(context=True), evidence_of(scores, B))
    whole = decision.probabilities(scores)
    monkeypatch.setattr("grople.decision.context.BLOCK_PAIRS", 5000)
    np.testing.assert_allclose(decision.probabilities(scores), whole, atol=1e-6)
    np.testing.assert_allclose(decision.probabilities(scores[3:5]), whole[3:5], atol=1e-6)
    assert decision.probabilities(scores[:0]).shape == (0, 40)


def test_evidence_does_not_depend_on_the_order_of_rows():
    scores, B = sample(400)
    order = np.random.default_rng(0).permutation(400)
    a, b = evidence_of(scores, B), evidence_of(scores[order], B[order])
    np.testing.assert_array_equal(a.candidates.labels, b.candidates.labels)
    np.testing.assert_array_equal(a.candidates.truth, b.candidates.truth)
    np.testing.assert_array_equal(a.pairs.toarray(), b.pairs.toarray())


def test_weights_stand_for_copies():
    scores, B = sample(500)
    copies = np.random.default_rng(0).integers(1, 3, 500)
    repeated = evidence_of(np.repeat(scores, copies, axis=0), B[np.repeat(np.arange(500), copies)])
    weighted = evidence_of(scores, B, copies.astype(float))
    np.testing.assert_allclose(weighted.counts.by_label, repeated.counts.by_label)
    np.testing.assert_allclose(weighted.pairs.toarray(), repeated.pairs.toarray())
    assert fit_decision(Rule(context=True), weighted).decoder is not None


def test_weights_that_are_shares_stand_for_proportions():
    scores, B = sample(500)
    weights = np.random.default_rng(0).random(500) + 0.5
    whole = evidence_of(scores, B, weights / weights.mean())
    shares = evidence_of(scores, B, weights / weights.sum())
    np.testing.assert_allclose(shares.counts.by_label, whole.counts.by_label)
    np.testing.assert_allclose(shares.pairs.toarray(), whole.pairs.toarray())
    np.testing.assert_allclose(shares.candidates.weights, whole.candidates.weights)


def test_candidates():
    scores, B = sample(50)
    rows = evidence_of(scores, B).candidates
    assert rows.labels.shape == (50, n_candidates(40, B.sum() / 50))
    assert (np.diff(rows.scores, axis=1) <= 0).all()
    assert (rows.truth.sum(axis=1) + rows.missed).sum() == B.sum()
    labels, best = top_labels(np.array([[1.0, 1.0, 0.0, 1.0]]), 2)
    assert labels.tolist() == [[0, 1]]
    assert best.tolist() == [[1.0, 1.0]]
    assert n_candidates(7, 2) == 7
    assert n_candidates(500, 2) == 30
    assert n_candidates(500, 90) == 60


def test_a_decoder_is_plain_arrays():
    scores, B = sample(400)
    decoder = fit_decision(Rule(context=True), evidence_of(scores, B)).decoder
    assert isinstance(decoder, ContextDecoder)
    for net in decoder.nets:
        assert all(isinstance(part, np.ndarray) and part.dtype == np.float32 for part in net)


def test_candidates_that_tie_come_in_the_order_of_labels() -> None:
    rng = np.random.default_rng(0)
    # Few distinct scores, some of them apart by rounding alone: a full sort says what is right.
    levels = np.array([0.5, 0.5 + 1e-15, 0.25, -1.0])
    scores = levels[rng.integers(0, 4, (200, 40))]
    found, values = top_labels(scores, 12)
    expected = np.argsort(-scores.astype(np.float32), axis=1, kind="stable")[:, :12]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(scores, expected, axis=1))
