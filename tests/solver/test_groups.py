"""Stage 1 against direct N×L implementations, planted groups and labels of every odd kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import cosine_similarity

import grople.solver._groups
from grople.datasets import make_grouped_multilabel
from grople.moments import LabelMoments
from grople.solver import GROUPINGS, Groups, group_labels
from grople.solver._label_graph import cosine_graph, spectral_affinity, spectral_graph

LEARNT = ["spectral", "cosine", "kmeans", "hierarchical"]


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
    return group_labels(LabelMoments.of(B, weights), *args)


def agree(one, other):
    return adjusted_rand_score(one, other) == 1.0


def affinity(B):
    """The self-tuned graph of label columns (without normalisation)."""
    squared = squareform(pdist(2.0 * B.T - 1, "sqeuclidean"))
    sigma = np.sqrt(np.sort(squared, axis=1)[:, min(7, B.shape[1] - 1)])
    return np.exp(-squared / np.outer(sigma, sigma))


# Against direct implementations


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("grouping", ["spectral", "cosine"])
def test_spectral_groups_are_those_of_scikit_learn(grouping, seed):
    B, _ = planted(4, size=10, noise=0.2, seed=seed)
    graph = affinity(B) if grouping == "spectral" else cosine_similarity(B.T)
    model = SpectralClustering(4, affinity="precomputed", assign_labels="cluster_qr")
    assert agree(model.fit_predict(graph), groups_of(B, grouping, 4).membership)


@pytest.mark.parametrize("seed", range(3))
def test_kmeans_on_moments_is_kmeans_on_the_columns(seed):
    B, _ = planted(4, size=6, noise=0.1, seed=seed)
    columns = 2.0 * B.T - 1
    expected = KMeans(4, n_init=20, random_state=99).fit(columns)
    found = groups_of(B, "kmeans", 4, seed).membership
    assert agree(expected.labels_, found)
    centres = np.array([columns[found == k].mean(axis=0) for k in range(4)])
    assert np.square(columns - centres[found]).sum() == pytest.approx(expected.inertia_)


@pytest.mark.parametrize("n_groups", [2, 5, 12])
def test_hierarchical_groups_are_those_of_the_columns(n_groups):
    B = random_labels(4, n=500)
    tree = linkage(2.0 * B.T - 1, method="average", metric="euclidean")
    expected = fcluster(tree, n_groups, criterion="maxclust")
    assert agree(expected, groups_of(B, "hierarchical", n_groups).membership)


# Planted groups


@pytest.mark.parametrize("grouping", LEARNT)
@pytest.mark.parametrize("n_groups", [2, 3, 6])
def test_planted_groups_are_found(grouping, n_groups):
    B, truth = planted(n_groups, size=10)
    assert agree(truth, groups_of(B, grouping, n_groups).membership)
    if n_groups > 2:
        assert agree(truth, groups_of(B, grouping, "auto").membership)


@pytest.mark.parametrize("grouping", LEARNT)
def test_weights_equal_repetition(grouping):
    B, _ = planted(3, noise=0.1)
    times = np.random.default_rng(1).integers(1, 4, len(B))
    weighted = groups_of(B, grouping, 3, weights=times.astype(float)).membership
    assert agree(weighted, groups_of(np.repeat(B, times, axis=0), grouping, 3).membership)


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
@pytest.mark.parametrize("n_groups", [1, 2, 4, 10, 50, "auto"])
@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("B", ODD.values(), ids=ODD)
def test_odd_labels_get_groups(B, grouping, n_groups):
    groups = groups_of(B, grouping, n_groups)
    L = B.shape[1]
    assert groups.membership.shape == (L,)
    # Numbered by first appearance, no group empty, no more than asked for.
    assert np.array_equal(np.unique(groups.membership), np.arange(groups.n_groups))
    assert np.array_equal(Groups.of(groups.membership).membership, groups.membership)
    if grouping in ("single", "singletons"):
        assert groups.n_groups == (1 if grouping == "single" else L)
    elif n_groups != "auto":
        assert groups.n_groups <= min(n_groups, L)
    if grouping in LEARNT and groups.n_groups < L:
        i, j = np.triu_indices(L, 1)
        same = np.all(B[:, i] == B[:, j], axis=0)
        assert np.all(groups.membership[i[same]] == groups.membership[j[same]])


@pytest.mark.parametrize("grouping", LEARNT)
def test_as_many_groups_as_asked_for(grouping):
    B, _ = planted(4, size=5, noise=0.1)
    for n_groups in (1, 2, 7, 19, 20, 99):
        found = groups_of(B, grouping, n_groups).n_groups
        # Two merges at the same height are one cut in older versions of SciPy.
        assert min(n_groups, 20) - (grouping == "hierarchical") <= found <= min(n_groups, 20)


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


# Many labels: the same graphs as of few, which are dense matrices


def tailed(n_labels=150, n=600, seed=0):
    """Labels with a long tail and planted groups."""
    return sp.csr_array(make_grouped_multilabel(n, 50, n_labels, 6, random_state=seed).Y)


def odd(seed=0):
    """Labels with copies, labels that no row has and one that all have."""
    B = tailed(40, 200, seed).tolil()
    B[:, [3, 4, 5, 6, 7, 8, 9, 10, 11]] = B[:, [2]].toarray()
    B[:, [20, 21]] = 0
    B[:, 30] = 1
    return B.tocsr()


CASES = {
    "tail": (tailed(), None),
    "odd": (odd(), None),
    "weights": (tailed(seed=2), np.random.default_rng(0).uniform(0.1, 3.0, 600)),
    "no two together": (sp.csr_array(np.eye(30)[np.arange(90) % 30]), None),
    "few": (tailed(6, 60), None),
}


@pytest.mark.parametrize("case", CASES)
def test_graphs_of_many_labels_are_those_of_the_columns(case):
    B, weights = CASES[case]
    labels = LabelMoments.of(B, weights)
    columns = B.toarray() * np.sqrt(1.0 if weights is None else weights[:, None])
    never = np.flatnonzero(labels.counts == 0)
    cosine = cosine_similarity(columns.T)
    cosine[np.ix_(never, never)] = 1.0  # copies of each other
    root = cosine.sum(axis=1) ** -0.5
    every = np.eye(labels.n_labels)
    expected = root[:, None] * cosine * root
    np.testing.assert_allclose(cosine_graph(labels) @ every, expected, atol=1e-12)
    # The pairs that share no row are approximated to 1e-9 of the largest, then normalised.
    dense = spectral_affinity(labels)
    np.testing.assert_allclose(spectral_graph(labels) @ every, dense, atol=1e-8)
    if case == "tail":
        graph = affinity(B.toarray())
        root = graph.sum(axis=1) ** -0.5
        np.testing.assert_allclose(dense, root[:, None] * graph * root, rtol=1e-9)


def test_what_all_pairs_have_is_of_low_rank():
    labels = LabelMoments.of(tailed(2000, 8000))
    graph = spectral_graph(labels)
    assert graph.U.shape[1] < 60
    assert graph.sparse.nnz == sp.csr_array(labels.cooccurrence).nnz


@pytest.mark.parametrize("grouping", ["spectral", "cosine", "kmeans"])
def test_groups_of_many_labels_are_those_of_few(grouping, monkeypatch):
    labels = LabelMoments.of(planted(5, size=60, n=300)[0])
    dense = group_labels(labels, grouping, 5)
    monkeypatch.setattr(grople.solver._groups, "DENSE_GRAPH", 0)
    monkeypatch.setattr(grople.solver._groups, "FEWEST_LEADING", 40)
    found = group_labels(labels, grouping, 5)
    assert found.n_groups == 5
    assert agree(dense.membership, found.membership)
    assert group_labels(labels, grouping, "auto").n_groups == 5


def test_all_pairs_of_too_many_labels_are_refused():
    labels = LabelMoments.of(sp.csr_array((2, 17_000)))
    with pytest.raises(ValueError, match=r"all pairs of labels.* 17000 of them: choose 'spectral'"):
        group_labels(labels, "hierarchical", 5)
