"""Against scikit-learn's measures of drawn rows, scipy's bootstrap and the spread of a mean."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from sklearn.metrics import f1_score, jaccard_score

from grople.metrics import counts
from grople.study.resampling import MEASURES, paired_bootstrap

ORACLES = {
    "accuracy": lambda y, p: jaccard_score(y, p, average="samples", zero_division=0),
    "example_f1": lambda y, p: f1_score(y, p, average="samples", zero_division=0),
    "micro_f1": lambda y, p: f1_score(y, p, average="micro", zero_division=0),
}

#: The same on 0/1 arrays, for the many calls of a bootstrap.
PLAIN = {
    "accuracy": lambda y, p: np.mean((y & p).sum(1) / np.maximum((y | p).sum(1), 1)),
    "example_f1": lambda y, p: np.mean(2 * (y & p).sum(1) / np.maximum((y + p).sum(1), 1)),
    "micro_f1": lambda y, p: 2 * (y & p).sum() / (y + p).sum(),
}


def noisy(truth, share, seed):
    flips = np.random.default_rng(seed).random(truth.shape) < share
    return np.where(flips, 1 - truth, truth)


@pytest.fixture
def predictions():
    truth = (np.random.default_rng(0).random((300, 8)) < 0.3).astype(int)
    return truth, noisy(truth, 0.1, 1), noisy(truth, 0.14, 2)


@pytest.mark.parametrize("measure", MEASURES)
def test_the_difference_is_that_of_scikit_learn(predictions, measure):
    truth, first, second = predictions
    found = paired_bootstrap(counts(truth, first), counts(truth, second), measure)
    expected = ORACLES[measure](truth, first) - ORACLES[measure](truth, second)
    assert found.difference == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_the_interval_is_that_of_scipy(predictions, measure):
    truth, first, second = predictions

    def difference(rows):
        y = truth[rows]
        return PLAIN[measure](y, first[rows]) - PLAIN[measure](y, second[rows])

    oracle = scipy.stats.bootstrap(
        (np.arange(len(truth)),), difference, n_resamples=2000, method="percentile",
        vectorized=False, rng=np.random.default_rng(3),
    )  # fmt: skip
    found = paired_bootstrap(counts(truth, first), counts(truth, second), measure)
    # The 2.5 % quantile of 2,000 draws is itself uncertain by 0.06 of their spread, on both sides.
    tolerance = 0.3 * oracle.standard_error
    assert found.low == pytest.approx(oracle.confidence_interval.low, abs=tolerance)
    assert found.high == pytest.approx(oracle.confidence_interval.high, abs=tolerance)


def test_equal_predictions_do_not_differ(predictions):
    truth, first, _ = predictions
    found = paired_bootstrap(counts(truth, first), counts(truth, first))
    assert (found.difference, found.low, found.high, found.p_value) == (0.0, 0.0, 0.0, 1.0)
    assert not found.certain


def test_pairing_makes_a_small_steady_difference_certain():
    # Rows differ widely, but each loses the same: only a paired comparison sees it.
    truth = np.zeros((200, 21), dtype=int)
    for row, size in enumerate(np.random.default_rng(0).integers(1, 20, 200)):
        truth[row, :size] = 1
    second = truth.copy()
    second[:, 20] = 1
    found = paired_bootstrap(counts(truth, truth), counts(truth, second))
    assert found.certain
    assert found.p_value < 0.01


def test_swapping_sides_mirrors_the_result(predictions):
    truth, first, second = predictions
    one = paired_bootstrap(counts(truth, first), counts(truth, second), "micro_f1")
    other = paired_bootstrap(counts(truth, second), counts(truth, first), "micro_f1")
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low), abs=1e-12)
    assert other.p_value == one.p_value


def test_blocks_of_draws_do_not_change_the_result(predictions, monkeypatch):
    truth, first, second = predictions
    whole = paired_bootstrap(counts(truth, first), counts(truth, second), n_resamples=101)
    monkeypatch.setattr("grople.study.resampling.CELLS", 7 * len(truth))
    parts = paired_bootstrap(counts(truth, first), counts(truth, second), n_resamples=101)
    assert (parts.low, parts.high) == pytest.approx((whole.low, whole.high), abs=1e-12)


def test_what_cannot_be_compared_is_refused(predictions):
    truth, first, _ = predictions
    found = counts(truth, first)
    with pytest.raises(ValueError, match="not of the same rows"):
        paired_bootstrap(found, counts(truth[::-1], first))
    with pytest.raises(ValueError, match="not of the same rows"):
        paired_bootstrap(found, counts(truth[1:], first[1:]))
    with pytest.raises(ValueError, match=r"macro_f1.*choose from accuracy"):
        paired_bootstrap(found, found, "macro_f1")
    with pytest.raises(ValueError, match="without weights"):
        paired_bootstrap(counts(truth, first, np.ones(len(truth))), found)
    with pytest.raises(ValueError, match="level"):
        paired_bootstrap(found, found, level=1.0)
