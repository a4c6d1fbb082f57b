"""Graphs of many labels: the same as those of few, which are dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

import grople.groups
from grople.datasets import make_grouped_multilabel
from grople.groups import cosine_affinity, fit_groups, spectral_affinity
from grople.label_graph import cosine_graph, spectral_graph
from grople.moments import LabelMoments


def tailed(n_labels=150, n=600, seed=0):
    """Labels with a long tail and planted groups."""
    data = make_grouped_multilabel(n, 50, n_labels, 6, random_state=seed)
    return sp.csr_array(data.Y).astype(float)


def odd(seed=0):
    """Labels with copies, labels that no row has and one that all have."""
    B = tailed(40, 200, seed).tolil()
    B[:, [3, 4, 5, 6, 7, 8, 9, 10, 11]] = B[:, [2]].toarray()
    B[:, [20, 21]] = 0
    B[:, 30] = 1
    return B.tocsr()


def planted(n_groups=5, size=60, n=300, seed=0):
    """Labels that follow a topic of their group, now and then against it."""
    rng = np.random.default_rng(seed)
    topics = rng.random((n, n_groups)) < 0.4
    B = np.repeat(topics, size, axis=1) ^ (rng.random((n, n_groups * size)) < 0.03)
    return B[:, rng.permutation(n_groups * size)].astype(float)


CASES = {
    "tail": (tailed(), None),
    "odd": (odd(), None),
    "weights": (tailed(seed=2), np.random.default_rng(0).uniform(0.1, 3.0, 600)),
    "no two together": (sp.csr_array(np.eye(30)[np.arange(90) % 30]), None),
    "few": (tailed(6, 60), None),
}


@pytest.mark.parametrize("case", CASES)
def test_graphs_equal_the_dense_ones(case):
    labels = LabelMoments.from_labels(*CASES[case])
    every = np.eye(labels.n_labels)
    # The pairs that share no row are approximated to 1e-9 of the largest, then normalised.
    np.testing.assert_allclose(
        spectral_graph(labels, 7) @ every, spectral_affinity(labels), atol=1e-8
    )
    np.testing.assert_allclose(cosine_graph(labels) @ every, cosine_affinity(labels), atol=1e-14)


def test_what_all_pairs_have_is_of_low_rank():
    labels = LabelMoments.from_labels(tailed(2000, 8000))
    graph = spectral_graph(labels, 7)
    assert graph.U.shape[1] < 60
    assert graph.sparse.nnz == sp.csr_array(labels.cooccurrence).nnz


@pytest.mark.parametrize("grouping", ["spectral", "cosine", "kmeans"])
def test_groups_of_many_labels_are_those_of_few(grouping, monkeypatch):
    labels = LabelMoments.from_labels(planted())
    dense = fit_groups(labels, grouping, 5, 0)
    monkeypatch.setattr(grople.groups, "DENSE_LABELS", 0)
    monkeypatch.setattr(grople.groups, "FEWEST_LEADING", 40)
    found = fit_groups(labels, grouping, 5, 0)
    assert found.n_groups == 5
    assert adjusted_rand_score(dense.membership, found.membership) == 1.0


def test_the_number_of_groups_is_found_as_well(monkeypatch):
    labels = LabelMoments.from_labels(planted())
    assert fit_groups(labels, "spectral", "auto", 0).n_groups == 5
    monkeypatch.setattr(grople.groups, "DENSE_LABELS", 0)
    assert fit_groups(labels, "spectral", "auto", 0).n_groups == 5


@pytest.mark.parametrize("grouping", ["hierarchical", "published"])
def test_all_pairs_of_too_many_labels_are_refused(grouping, monkeypatch):
    monkeypatch.setattr(grople.groups, "MOST_PAIRED", 100)
    with pytest.raises(ValueError, match=r"all pairs of labels.* 150 of them: choose 'spectral'"):
        fit_groups(LabelMoments.from_labels(tailed()), grouping, 5)
