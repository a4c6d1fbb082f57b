from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chi2_contingency

from grople.datasets._halves import compare_halves


def draw(rng, n_rows, shares):
    return (rng.random((n_rows, len(shares))) < shares).astype(int)


def test_statistic_is_pearsons():
    rng = np.random.default_rng(0)
    Y = draw(rng, 401, rng.uniform(0.1, 0.9, 30))
    expected = []
    for column in Y.T:
        first, second = column[:200], column[200:]
        table = [[first.sum(), second.sum()], [(1 - first).sum(), (1 - second).sum()]]
        expected.append(chi2_contingency(table, correction=False).statistic)
    halves = compare_halves(sp.csr_array(Y))
    assert halves.tested == 30
    # Same sums in another order: rounding only.
    assert halves.mean_chi2 == pytest.approx(np.mean(expected), rel=1e-10)


def test_random_order_is_seldom_reported():
    # At a family-wise level of 1 %, 5 or more of 100 would happen once in 300 runs.
    rng = np.random.default_rng(1)
    shares = rng.uniform(0.01, 0.5, 40)
    reported = sum(
        compare_halves(sp.csr_array(draw(rng, 600, shares))).differing > 0 for _ in range(100)
    )
    assert reported < 5


@pytest.mark.parametrize("shift", [-14, -1, 3, 20])
def test_shift_is_found_with_its_sign(shift):
    rng = np.random.default_rng(abs(shift))
    Y = draw(rng, 3000, rng.uniform(0.02, 0.4, 60))
    Y[1500:] = np.roll(Y[1500:], shift, axis=1)
    if shift < 0:  # what leaves on one side does not come back on the other
        Y[1500:, shift:] = 0
    else:
        Y[1500:, :shift] = 0
    halves = compare_halves(sp.csr_array(Y))
    assert (halves.verdict, halves.shift) == ("shifted", shift)
    assert halves.mean_chi2_shifted < 2 < halves.mean_chi2


def test_sorted_rows_differ_but_are_not_shifted():
    rng = np.random.default_rng(2)
    Y = draw(rng, 3000, rng.uniform(0.02, 0.4, 60))
    Y = Y[np.argsort(Y[:, 0] + 2 * Y[:, 1], kind="stable")]
    halves = compare_halves(sp.csr_array(Y))
    assert halves.verdict == "differ"
    assert halves.differing >= 1


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (5, 0), (7, 2)])
def test_too_little_to_say(shape):
    halves = compare_halves(sp.csr_array(np.ones(shape, dtype=int)))
    assert (halves.tested, halves.verdict) == (0, "alike")
