"""The re-ranker: it learns what scores alone cannot show, and is left out where that is little."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from grople.decision import (
    HeldOut,
    HeldOutBlock,
    NumpyOps,
    Reranker,
    Rule,
    ScoreMoments,
    _fit_reranker,
    _reranker,
    candidate_inputs,
    cooccurrence_feature,
    fit_decision,
    input_names,
)
from grople.decision._evidence import n_candidates, top_labels
from grople.decision._fit_reranker import describe_labels, fit_reranker
from grople.metrics import example_f1
from grople.moments import fold_of
from tests.decision.samples import held_out, paired_sample


def labels_of(decision, scores):
    return decision.labels(scores, rule="example_f1")


def test_it_sees_what_goes_together():
    evidence = held_out(*paired_sample())
    new, truth = paired_sample(seed=1)
    plain, reranked = (fit_decision(evidence, context=context) for context in (False, "auto"))
    assert reranked.reranker is not None
    gain = example_f1(truth, labels_of(reranked, new)) - example_f1(truth, labels_of(plain, new))
    assert gain > 0.05


def test_it_is_left_out_where_scores_say_everything():
    evidence = held_out(*paired_sample(related=False))
    assert fit_decision(evidence).reranker is None
    assert fit_decision(evidence, context=True).reranker is not None


def test_it_needs_rows():
    assert fit_decision(held_out(*paired_sample(n=100)), context=True).reranker is None
    ones = np.array([0.5, 0.5])
    assert fit_decision(ScoreMoments(ones, ones, -ones, ones, 100.0), context=True).reranker is None


def test_rows_are_judged_by_networks_that_have_not_seen_them():
    # Labels drawn without regard to the scores: nothing can be learnt but by heart.
    rng = np.random.default_rng(0)
    scores = rng.normal(-0.6, 0.4, (1500, 20))
    B = sp.csr_array((rng.random(scores.shape) < 0.2).astype(int))
    evidence = held_out(scores, B)
    rows = evidence.candidates
    calibrated = np.full(rows.scores.shape, 0.2)
    _, unseen = fit_reranker(evidence, calibrated, forced=True)
    assert abs(unseen[rows.truth].mean() - unseen[~rows.truth].mean()) < 0.01
    assert fit_reranker(evidence, calibrated) is None


@pytest.mark.parametrize(("n", "n_labels"), [(1000, 100), (1000, 500)])
def test_a_row_does_not_tell_which_labels_go_together_on_it(n, n_labels):
    # Labels are independent and rare: most pairs that occur together do so on one row. To know of
    # these there, and not on new rows, would look like an insight.
    rng = np.random.default_rng(0)
    odds = rng.normal(-6.0, 2.0, (2 * n, n_labels))
    B = sp.csr_array((rng.random(odds.shape) < 1 / (1 + np.exp(-odds))).astype(int))
    scores = odds / 4 + 0.1 * rng.standard_normal(odds.shape)
    evidence = held_out(scores[:n], B[:n])
    plain, chosen, forced = (fit_decision(evidence, context=c) for c in (False, "auto", True))
    reached = example_f1(B[n:], labels_of(plain, scores[n:]))
    assert example_f1(B[n:], labels_of(chosen, scores[n:])) > reached - 0.01
    assert example_f1(B[n:], labels_of(forced, scores[n:])) > reached - 0.03
    # What is expected of rows it has not seen is what new rows show.
    fold = fold_of(evidence.candidates.keys, 3)
    for held in range(3):
        some, rest = np.flatnonzero(fold == held), np.flatnonzero(fold != held)
        without = describe_labels(evidence, some).conditional
        B_rest = evidence.labels[rest]
        expected = (B_rest.T @ B_rest).toarray() / (B_rest.sum(axis=0) + 1)[:, None]
        np.testing.assert_allclose(without.toarray(), expected, atol=1e-6)


def test_copies_of_a_row_have_no_three_folds():
    scores, B = paired_sample(n=200)
    few = np.arange(600) % 2
    assert fit_reranker(held_out(scores[few], B[few]), np.full((600, 30), 0.5)) is None


def test_probabilities_are_calibrated():
    decision = fit_decision(held_out(*paired_sample(6000)))
    new, truth = paired_sample(6000, seed=1)
    p, hit = decision.probabilities(new).ravel(), truth.toarray().ravel()
    order = np.argsort(p)
    for part in np.array_split(order[-20_000:], 10):
        # 2,000 pairs a bin: four standard errors of a share are .045 at most.
        assert p[part].mean() == pytest.approx(hit[part].mean(), abs=0.045)


def test_sparse_and_dense_tables_agree(monkeypatch):
    scores, B = paired_sample(600)
    dense = fit_decision(held_out(scores, B, groups=np.arange(40) // 2), context=True)
    expected = dense.probabilities(scores)
    monkeypatch.setattr(_reranker, "DENSE_LABELS", 1)
    sparse = fit_decision(held_out(scores, B, groups=np.arange(40) // 2), context=True)
    np.testing.assert_array_equal(sparse.probabilities(scores), expected)


def test_pieces_of_work_change_nothing(monkeypatch):
    evidence = held_out(*paired_sample(600))
    one = fit_decision(evidence, context=True)
    backwards = fit_decision(
        evidence, context=True, run=lambda f, work: [f(x) for x in list(work)[::-1]][::-1]
    )
    monkeypatch.setattr(_fit_reranker, "PARTS", 4)
    other = fit_decision(evidence, context=True)
    for name, part in vars(one.reranker.networks).items():
        np.testing.assert_array_equal(part, getattr(backwards.reranker.networks, name))
        np.testing.assert_array_equal(part, getattr(other.reranker.networks, name))
    seeded = fit_decision(evidence, context=True, seed=1)
    assert not np.array_equal(seeded.reranker.networks.weights1, one.reranker.networks.weights1)


# Candidates


def test_candidates():
    scores, B = paired_sample(50)
    rows = held_out(scores, B).candidates
    assert rows.labels.shape == (50, n_candidates(40, B.sum() / 50))
    assert (np.diff(rows.scores, axis=1) <= 0).all()
    assert (rows.truth.sum(axis=1) + rows.missed).sum() == B.sum()
    labels, best = top_labels(np.array([[1.0, 1.0, 0.0, 1.0]]), 2)
    assert labels.tolist() == [[0, 1]]
    assert best.tolist() == [[1.0, 1.0]]
    assert n_candidates(7, 2) == 7
    assert n_candidates(500, 2) == 30
    assert n_candidates(500, 90) == 60


def test_candidates_that_tie_come_in_the_order_of_labels():
    rng = np.random.default_rng(0)
    # Few distinct scores, some of them apart by rounding alone: a full sort says what is right.
    levels = np.array([0.5, 0.5 + 1e-15, 0.25, -1.0])
    scores = levels[rng.integers(0, 4, (200, 40))]
    found, values = top_labels(scores, 12)
    expected = np.argsort(-scores.astype(np.float32), axis=1, kind="stable")[:, :12]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(scores, expected, axis=1))


def test_blocks_are_parts_of_one():
    scores, B = paired_sample(500)
    parts = [HeldOutBlock(scores[i : i + 120], B[i : i + 120]) for i in range(0, 500, 120)]
    cut, whole = HeldOut.from_blocks(parts, 40), held_out(scores, B)
    for name in ("labels", "scores", "truth", "missed", "weights", "keys"):
        np.testing.assert_array_equal(
            getattr(cut.candidates, name), getattr(whole.candidates, name)
        )
    np.testing.assert_array_equal(cut.counts.by_label, whole.counts.by_label)
    np.testing.assert_array_equal(cut.pairs.toarray(), whole.pairs.toarray())
    assert HeldOut.from_blocks([], 40) is None


def test_weights_that_are_shares_stand_for_proportions():
    scores, B = paired_sample(500)
    weights = np.random.default_rng(0).random(500) + 0.5
    whole = held_out(scores, B, weights / weights.mean())
    shares = held_out(scores, B, weights / weights.sum())
    np.testing.assert_allclose(shares.counts.by_label, whole.counts.by_label)
    np.testing.assert_allclose(shares.pairs.toarray(), whole.pairs.toarray())
    np.testing.assert_allclose(shares.candidates.weights, whole.candidates.weights)


# Inputs


@pytest.fixture(scope="module")
def with_feature():
    """Held-out rows with a co-occurrence feature, the feature, and the rows."""
    scores, B = paired_sample(900)
    X = np.random.default_rng(2).random((900, 5)) + B.toarray()[:, :5]
    feature = cooccurrence_feature(sp.csr_array(X.T @ B.toarray()), X.sum(axis=0))
    block = HeldOutBlock(scores, B, None, None, feature(X))
    return scores, B, X, feature, block


def test_inputs_are_settled_once_for_all_rows(with_feature):
    scores, B, X, feature, block = with_feature
    decision = fit_decision(HeldOut.from_blocks([block], 40, cooccurrence=feature), context=True)
    assert decision.needs_features
    assert decision.reranker.networks.n_inputs == len(input_names(True))
    with pytest.raises(ValueError, match="pass X"):
        decision.labels(scores)
    assert decision.labels(scores, X).shape == B.shape
    # Where a block or the model lacks the feature, the networks do not know of it at all.
    without = block._replace(cooccurrence=None)
    for blocks, model in (([block, without], feature), ([without], feature), ([block], None)):
        plain = fit_decision(HeldOut.from_blocks(blocks, 40, cooccurrence=model), context=True)
        assert plain.reranker.networks.n_inputs == len(input_names(False))
        assert not plain.needs_features
        assert plain.labels(scores).shape == B.shape
    with pytest.raises(ValueError, match="take 21 inputs, but 19"):
        replace(decision.reranker, cooccurrence=None)


class Recorded:
    """A value that knows the four operators and nothing else, as a node of a graph does."""

    def __init__(self, values: Any) -> None:
        self.values = values

    __array_ufunc__ = None

    def __add__(self, other: Any) -> Recorded:
        return Recorded(self.values + bare(other))

    def __sub__(self, other: Any) -> Recorded:
        return Recorded(self.values - bare(other))

    def __mul__(self, other: Any) -> Recorded:
        return Recorded(self.values * bare(other))

    def __truediv__(self, other: Any) -> Recorded:
        return Recorded(self.values / bare(other))


def bare(value: Any) -> Any:
    return value.values if isinstance(value, Recorded) else value


class RecordingOps:
    """The operations of :class:`NumpyOps` on recorded values."""

    def __getattr__(self, name: str) -> Any:
        operation = getattr(NumpyOps(), name)
        return lambda *values: Recorded(operation(*map(bare, values)))


def test_an_exporter_can_drive_the_definition_of_the_inputs(with_feature):
    *_, feature, block = with_feature
    evidence = HeldOut.from_blocks([block], 40, groups=np.arange(40) // 8, cooccurrence=feature)
    reranker = describe_labels(evidence)
    rows = evidence.candidates
    given = reranker._look_up(rows.labels), rows.labels, rows.scores * 1e7, 0.5 + 0 * rows.scores
    arrays = candidate_inputs(NumpyOps(), reranker, *given, rows.cooccurrence)
    values = candidate_inputs(
        RecordingOps(), reranker, *map(Recorded, given), Recorded(rows.cooccurrence)
    )
    assert tuple(arrays) == tuple(values) == input_names(True)
    for name, column in arrays.items():
        np.testing.assert_array_equal(bare(values[name]), column)
        assert np.abs(column).max() < 1e12  # scores of any size are cut
    assert isinstance(reranker, Reranker)


def test_support_is_what_the_other_candidates_say():
    scores, B = paired_sample(40, n_labels=6)
    evidence = held_out(scores, B, groups=np.arange(6) // 2)
    reranker, rows = describe_labels(evidence), evidence.candidates
    p = np.random.default_rng(0).random(rows.scores.shape)
    found = candidate_inputs(
        NumpyOps(), reranker, reranker._look_up(rows.labels), rows.labels, rows.scores, p
    )
    table = reranker.conditional.toarray()
    for i in range(5):
        for j, label in enumerate(rows.labels[i]):
            others = [k for k in range(6) if k != j]
            say = [p[i, k] * table[rows.labels[i, k], label] for k in others]
            assert found["support"][i, j] == pytest.approx(sum(say), abs=1e-5)
            assert found["largest support"][i, j] == pytest.approx(max(say), abs=1e-5)
            kin = sum(p[i, k] for k in others if rows.labels[i, k] // 2 == label // 2)
            assert found["support by group"][i, j] == pytest.approx(kin, abs=1e-5)


@pytest.mark.parametrize("size", [1e7, 1e30, 1e300])
def test_scores_of_any_size(size):
    scores, B = paired_sample(600)
    decision = fit_decision(held_out(scores, B), context=True)
    far = np.where(np.arange(40) % 2, size, -size) * np.ones((3, 1))
    p = decision.probabilities(far)
    assert np.isfinite(p).all()
    near = np.clip(far, -1e6, 1e6)
    np.testing.assert_allclose(p, decision.probabilities(near), atol=1e-6)
    wild = scores.copy()
    wild[::7] *= size
    again = fit_decision(held_out(wild, B), context=True)
    assert np.isfinite(again.probabilities(wild)).all()
    assert again.labels(wild, rule=Rule("micro_f1")).shape == B.shape
