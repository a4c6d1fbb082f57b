"""Stage 1 against direct N×L implementations, planted groups and labels of every odd kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import cosine_similarity

from grople.groups import (
    GROUPINGS,
    Groups,
    cosine_affinity,
    fit_groups,
    group_stability,
    spectral_affinity,
)
from grople.moments import LabelMoments, Moments

LEARNT = ["spectral", "cosine", "kmeans", "hierarchical", "published"]


def planted(n_groups=3, size=9, n=400, noise=0.03, seed=0):
    """Labels whose group is a topic of the row, each flipped now and then; and their groups."""
    rng = np.random.default_rng(seed)
    topics = rng.random((n, n_groups)) < 0.4
    groups = np.repeat(np.arange(n_groups), size)
    B = topics[:, groups] ^ (rng.random((n, n_groups * size)) < noise)
    order = rng.permutation(n_groups * size)
    return B[:, order].astype(int), groups[order]


def random_labels(seed=0, n=80, n_labels=20):
    rng = np.random.default_rng(seed)
    topics = rng.random((n, 3)) < 0.4
    noise = 0.4 * rng.standard_normal((n, n_labels))
    return (topics @ rng.random((3, n_labels)) + noise > 1).astype(int)


def groups_of(B, *args, weights=None):
    return fit_groups(LabelMoments.from_labels(B, weights), *args)


# Against direct implementations


@pytest.mark.parametrize("n_labels", [2, 5, 8, 20])
def test_affinity_is_that_of_the_label_columns(n_labels):
    B = random_labels(n_labels=n_labels)
    squared = squareform(pdist(2.0 * B.T - 1, "sqeuclidean"))
    sigma = np.sqrt(np.sort(squared, axis=1)[:, min(7, n_labels - 1)])
    A = np.exp(-squared / np.outer(sigma, sigma))
    expected = np.diag(A.sum(1) ** -0.5) @ A @ np.diag(A.sum(1) ** -0.5)
    found = spectral_affinity(LabelMoments.from_labels(B))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_cosine_affinity_is_that_of_the_marks(weighted):
    B = random_labels()
    B[:, 3] = B[:, 11] = 0
    weights = 0.01 * np.random.default_rng(2).random(len(B)) if weighted else None
    C = cosine_similarity((B if weights is None else B * np.sqrt(weights)[:, None]).T)
    C[np.ix_([3, 11], [3, 11])] = 1.0
    expected = np.diag(C.sum(1) ** -0.5) @ C @ np.diag(C.sum(1) ** -0.5)
    found = cosine_affinity(LabelMoments.from_labels(B, weights))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_spectral_groups_equal_a_direct_implementation(seed):
    B, _ = planted(4, size=10, noise=0.2, seed=seed)
    squared = squareform(pdist(2.0 * B.T - 1, "sqeuclidean"))
    sigma = np.sqrt(np.sort(squared, axis=1)[:, 7])
    A = np.exp(-squared / np.outer(sigma, sigma))
    root = A.sum(1) ** -0.5
    points = np.linalg.eigh(root[:, None] * A * root)[1][:, -4:]
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    # Another seed and many starts: the best clustering, not the same path to it.
    expected = KMeans(4, n_init=50, random_state=99).fit_predict(points)
    found = groups_of(B, "spectral", 4, seed).membership
    assert adjusted_rand_score(expected, found) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_kmeans_on_moments_is_kmeans_on_the_columns(seed):
    B, _ = planted(4, size=6, noise=0.1, seed=seed)
    columns = 2.0 * B.T - 1
    expected = KMeans(4, n_init=20, random_state=99).fit(columns)
    found = groups_of(B, "kmeans", 4, seed).membership
    assert adjusted_rand_score(expected.labels_, found) == 1.0
    centres = np.array([columns[found == k].mean(axis=0) for k in range(4)])
    assert np.square(columns - centres[found]).sum() == pytest.approx(expected.inertia_)


@pytest.mark.parametrize("n_groups", [2, 5, 12])
def test_hierarchical_groups_are_those_of_the_columns(n_groups):
    B = random_labels(4, n=500)
    tree = linkage(2.0 * B.T - 1, method="average", metric="euclidean")
    expected = fcluster(tree, n_groups, criterion="maxclust")
    assert adjusted_rand_score(expected, groups_of(B, "hierarchical", n_groups).membership) == 1.0


# Planted groups


@pytest.mark.parametrize("grouping", LEARNT)
@pytest.mark.parametrize("n_groups", [2, 3, 6])
def test_planted_groups_are_found(grouping, n_groups):
    B, truth = planted(n_groups)
    assert adjusted_rand_score(truth, groups_of(B, grouping, n_groups, 0).membership) == 1.0


@pytest.mark.parametrize("grouping", LEARNT)
@pytest.mark.parametrize("n_groups", [3, 5])
def test_auto_finds_how_many_groups_were_planted(grouping, n_groups):
    B, truth = planted(n_groups, size=10)
    assert adjusted_rand_score(truth, groups_of(B, grouping, "auto", 0).membership) == 1.0


@pytest.mark.parametrize("grouping", LEARNT)
def test_order_of_rows_and_blocks_changes_nothing(grouping):
    B = random_labels(5)
    X = np.zeros((80, 1))
    expected = groups_of(B, grouping, 4, 7).membership
    order = np.random.default_rng(0).permutation(80)
    assert np.array_equal(groups_of(B[order], grouping, 4, 7).membership, expected)
    parts = [Moments.from_data(X[r], B[r]) for r in np.split(order, [10, 33, 34])]
    total = sum(parts[1:], start=parts[0])
    assert np.array_equal(fit_groups(total.labels, grouping, 4, 7).membership, expected)
    more = Moments.from_data(X[:9], B[:9])
    assert np.array_equal(
        fit_groups((total + more - more).labels, grouping, 4, 7).membership, expected
    )


@pytest.mark.parametrize("grouping", LEARNT)
def test_weights_equal_repetition(grouping):
    B, _ = planted(3, noise=0.1)
    times = np.random.default_rng(1).integers(1, 4, len(B))
    weighted = groups_of(B, grouping, 3, 0, weights=times.astype(float)).membership
    repeated = groups_of(np.repeat(B, times, axis=0), grouping, 3, 0).membership
    assert adjusted_rand_score(weighted, repeated) == 1.0


# Odd labels

ODD = {
    "all alike": np.ones((6, 5), int),
    "never occur": np.zeros((6, 5), int),
    "some never occur": np.hstack([random_labels(n_labels=6), np.zeros((80, 4), int)]),
    "some always occur": np.hstack([random_labels(n_labels=6), np.ones((80, 4), int)]),
    "disjoint": np.eye(6, dtype=int),
    "one row": np.array([[1, 0, 1, 0, 0, 1]]),
    "one label": np.array([[1], [0]]),
    "two labels": np.array([[1, 0], [0, 1], [1, 1]]),
    "two copies": np.array([[1, 1], [0, 0], [1, 1]]),
    "copies": np.repeat(random_labels(n_labels=4), 5, axis=1),
    "exclusive copies": np.kron(np.eye(3, dtype=int), np.ones((5, 4), int)),
    "opposites": np.hstack([random_labels(n_labels=5), 1 - random_labels(n_labels=5)]),
    "no rows": np.zeros((0, 5), int),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_groups", [1, 2, 4, 5, 10, 50, "auto"])
@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("B", ODD.values(), ids=ODD)
def test_odd_labels_get_groups(B, grouping, n_groups):
    groups = groups_of(B, grouping, n_groups, 0)
    L = B.shape[1]
    assert groups.membership.shape == (L,)
    # Numbered by first appearance, no group empty, no more than asked for.
    assert np.array_equal(np.unique(groups.membership), np.arange(groups.n_groups))
    assert np.array_equal(Groups.of(groups.membership).membership, groups.membership)
    if grouping == "single":
        assert groups.n_groups == 1
    elif grouping == "singletons":
        assert groups.n_groups == L
    elif n_groups != "auto":
        assert groups.n_groups <= min(n_groups, L)
    if grouping in LEARNT and groups.n_groups < L:
        i, j = np.triu_indices(L, 1)
        same = np.all(B[:, i] == B[:, j], axis=0)
        assert np.all(groups.membership[i[same]] == groups.membership[j[same]])


@pytest.mark.parametrize("grouping", LEARNT)
def test_as_many_groups_as_asked_for(grouping):
    B, _ = planted(4, size=5, noise=0.1)
    for n_groups in (1, 2, 7, 19):
        assert groups_of(B, grouping, n_groups, 0).n_groups == n_groups
    assert groups_of(B, grouping, 20, 0).n_groups == 20
    assert groups_of(B, grouping, 99, 0).n_groups == 20


def test_no_labels():
    for grouping in GROUPINGS:
        assert groups_of(np.zeros((3, 0), int), grouping, 4).n_groups == 0


# Given partitions


@pytest.mark.parametrize(
    "given",
    [
        [7, 7, 3, 7],
        np.array([1.5, 1.5, 0.0, 1.5]),
        ["x", "x", "a", "x"],
        np.array(["x", "x", "a", "x"]),
        (0, 0, 9, 0),
        pd.Series([4, 4, 1, 4], index=list("abcd")),
        [[1, 0, 3], [2]],
        [(1, 0, 3), np.array([2])],
        [[], [0, 1, 3], [2]],
        [{0, 1, 3}, {2}],
        [[0, 1, 3], range(2, 3)],
    ],
    ids=str,
)
def test_given_partitions(given):
    assert groups_of(random_labels(n_labels=4), given).membership.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0, 0, 1], "names the group of 3 labels, but Y has 4"),
        ([], "names the group of 0 labels, but Y has 4"),
        ([[0, 1], [2]], "each label from 0 to 3 exactly once"),
        ([[0, 1], [1, 2, 3]], "each label from 0 to 3 exactly once"),
        ([[0, 1], [2, 4]], "each label from 0 to 3 exactly once"),
        ([[0, 1], [2, -1]], "each label from 0 to 3 exactly once"),
        ([[0.5, 1], [2, 3]], "each label from 0 to 3 exactly once"),
        ([["a", "b"], ["c", "d"]], "each label from 0 to 3 exactly once"),
        ("ward", "grouping must be one of spectral, "),
        (None, "grouping must be one of spectral, "),
        (4, "grouping must be one of spectral, "),
    ],
    ids=str,
)
def test_partitions_that_are_none(given, message):
    with pytest.raises(ValueError, match=message):
        groups_of(random_labels(n_labels=4), given)


def test_members_list_the_labels_of_each_group():
    groups = Groups.of([5, 2, 5, 5, 2, 9])
    assert groups.membership.tolist() == [0, 1, 0, 0, 1, 2]
    assert [m.tolist() for m in groups.members()] == [[0, 2, 3], [1, 4], [5]]


# Stability


def test_stability():
    B, _ = planted()
    assert group_stability(LabelMoments.from_labels(B), "spectral", 3) == 1.0
    noise = LabelMoments.from_labels(np.random.default_rng(0).integers(0, 2, (200, 30)))
    shaky = group_stability(noise, "kmeans", 6, seeds=range(5))
    assert -1.0 <= shaky < 1.0
    by_hand = [fit_groups(noise, "kmeans", 6, seed).membership for seed in range(5)]
    pairs = [adjusted_rand_score(by_hand[i], by_hand[j]) for i in range(5) for j in range(i)]
    assert shaky == pytest.approx(np.mean(pairs))
    assert group_stability(noise, "kmeans", 6, seeds=[3]) == 1.0
