"""Interaction features: the columns that brute force finds, and scikit-learn's conventions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from grople import GroPLE
from grople.features import InteractionFeatures, InteractionTable
from grople.metrics import example_f1

AMOUNTS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.integers(1, 9)),
    elements=st.sampled_from([0.0, 0.0, 1.0, 2.0, 0.5]),
)


def by_hand(train, rows, n_rarest, min_rows, weight):
    """Count pairs row by row, as the documentation says."""
    rows_with = (train > 0).sum(axis=0)

    def of(row):
        have = [j for j in np.flatnonzero(row) if rows_with[j] >= min_rows]
        rarest = sorted(have, key=lambda j: (rows_with[j], j))[:n_rarest]
        return {(a, b): np.sqrt(row[a] * row[b]) for a, b in combinations(sorted(rarest), 2)}

    counts = {}
    for row in train:
        for pair in of(row):
            counts[pair] = counts.get(pair, 0) + 1
    known = sorted(pair for pair, count in counts.items() if count >= min_rows)
    found = np.zeros((len(rows), len(known)))
    for i, row in enumerate(rows):
        values = {pair: value for pair, value in of(row).items() if pair in known}
        length = np.sqrt(sum(value**2 for value in values.values()))
        for pair, value in values.items():
            found[i, known.index(pair)] = weight * value / length * np.linalg.norm(row)
    return known, np.hstack([rows, found])


@settings(max_examples=150, deadline=None)
@given(AMOUNTS, st.integers(2, 5), st.integers(1, 3), st.sampled_from([0.0, 0.6, 2.0]))
def test_pairs_are_those_found_by_hand(X, n_rarest, min_rows, weight):
    train, rows = X[: max(1, len(X) // 2)], X
    pairs = InteractionFeatures(n_rarest, min_rows=min_rows, weight=weight).fit(sp.csr_array(train))
    known, expected = by_hand(train, rows, n_rarest, min_rows, weight)
    assert [tuple(pair) for pair in pairs.table_.pairs.tolist()] == known
    # Sums of at most ten squares in another order.
    np.testing.assert_allclose(pairs.transform(rows).toarray(), expected, rtol=1e-12, atol=1e-14)


def test_of_many_pairs_the_most_frequent_are_kept():
    rng = np.random.default_rng(3)
    X = sp.csr_array((rng.random((200, 15)) < rng.random(15)).astype(float))
    every = InteractionFeatures(max_pairs="all").fit(X)
    have = (every.transform(X).toarray()[:, 15:] > 0).sum(axis=0)
    few = InteractionFeatures(max_pairs=20).fit(X)
    # Ties at the edge are settled by the order of the pairs.
    wanted = sorted(range(len(have)), key=lambda i: (-have[i], i))[:20]
    assert few.table_.pairs.tolist() == every.table_.pairs[sorted(wanted)].tolist()
    # The length of a row's pairs is in proportion to the row, however many are kept.
    pairs, rows = few.transform(X)[:, 15:], X.power(2).sum(axis=1)
    has = np.diff(pairs.indptr) > 0
    np.testing.assert_allclose(pairs.power(2).sum(axis=1)[has], 0.36 * rows[has], rtol=1e-12)
    assert (
        InteractionFeatures(max_pairs=10**6).fit(X).table_.pairs.tolist()
        == every.table_.pairs.tolist()
    )


@pytest.mark.parametrize(
    "pairs",
    [[[1, 0]], [[0, 3]], [[-1, 1]], [[0, 2], [0, 1]], [[0, 1], [0, 1]], [[0, 1, 2]], [[0.0, 1.0]]],
)
def test_a_table_of_no_pairs_is_refused(pairs):
    with pytest.raises(ValueError, match="pairs are"):
        InteractionTable(np.array(pairs), np.array([3, 2, 2]), 20, 2, 0.6)


@pytest.mark.parametrize(
    "changes",
    [{"n_rarest": 0}, {"min_rows": 0}, {"weight": -1.0}, {"weight": np.inf}, {"weight": np.nan}],
)
def test_a_table_with_nonsense_is_refused(changes):
    settings = {"n_rarest": 20, "min_rows": 2, "weight": 0.6} | changes
    with pytest.raises(ValueError, match="pairs"):
        InteractionTable(np.array([[0, 1]]), np.array([3, 2, 2]), **settings)


def test_whole_numbers_have_the_pairs_of_real_ones():
    X = np.array([[1, 2, 0], [3, 1, 0], [0, 1, 2]])
    table = InteractionFeatures(min_rows=1).fit(X).table_
    found = table.append_to(X).toarray()
    np.testing.assert_array_equal(found, table.append_to(sp.csr_array(X * 1.0)).toarray())
    assert found[0, 3] == pytest.approx(0.6 * np.sqrt(5))  # one pair, .6 times as long as the row


def test_blocks_change_nothing():
    """With all features of a row in pairs, a large n_rarest only makes blocks of fewer rows."""
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 40), density=0.2, random_state=rng, format="csr")
    whole, blocks = (InteractionFeatures(n_rarest).fit(X) for n_rarest in (40, 1000))
    np.testing.assert_array_equal(blocks.table_.pairs, whole.table_.pairs)
    assert (blocks.transform(X) != whole.transform(X)).nnz == 0


def test_rows_do_not_depend_on_their_company_and_stay_as_they_are():
    rng = np.random.default_rng(1)
    X = sp.random_array((50, 30), density=0.3, random_state=rng, format="csr")
    X.data[::7] = 0.0  # zeros that are stored
    before = X.copy()
    pairs = InteractionFeatures().fit(X)
    alone = sp.vstack([pairs.transform(X[[i]]) for i in range(50)])
    assert (alone != pairs.transform(X)).nnz == 0
    assert X.nnz == before.nnz
    assert (before != X).nnz == 0
    np.testing.assert_array_equal(pairs.transform(X.toarray()).toarray(), alone.toarray())
    assert pairs.transform(X.astype(np.float32)).dtype == np.float32


def test_names_of_a_table():
    table = pd.DataFrame({"java": [1, 1, 0], "island": [1, 1, 1], "sea": [0, 1, 1]})
    pairs = InteractionFeatures().fit(table)
    names = pairs.get_feature_names_out()
    assert names.tolist() == ["java", "island", "sea", "java & island", "island & sea"]
    assert InteractionFeatures().fit(table.to_numpy()).get_feature_names_out()[3] == "x0 & x1"


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"n_rarest": 1}, "n_rarest"),
        ({"min_rows": 0}, "min_rows"),
        ({"weight": -1.0}, "weight"),
        ({"max_pairs": 0}, "max_pairs"),
        ({"max_pairs": "many"}, "max_pairs"),
    ],
)
def test_parameters_are_checked(parameters, told):
    with pytest.raises(ValueError, match=told):
        InteractionFeatures(**parameters).fit(np.ones((2, 2)))


def test_what_only_pairs_tell_is_learnt():
    """A label for every row with exactly one of two words: no weights of words can say that."""
    rng = np.random.default_rng(2)
    words = (rng.random((1500, 24)) < 0.5).astype(float)  # so many that no row comes twice
    words[:, -1] = 1.0
    odd = words[:, 0] != words[:, 1]
    Y = np.stack([odd, ~odd], axis=1).astype(int)
    X = sp.csr_array(words)
    quality = [
        example_f1(Y[1000:], model.fit(X[:1000], Y[:1000]).predict(X[1000:]))
        for model in (
            GroPLE(experts=["linear"]),
            make_pipeline(InteractionFeatures(), GroPLE(experts=["linear"])),
        )
    ]
    assert quality[0] < 0.75  # both labels for every row give 2/3
    assert quality[1] > 0.95


@parametrize_with_checks([InteractionFeatures()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
