from __future__ import annotations

import numpy as np
import pytest

from grople.datasets import _synthetic as synthetic
from grople.datasets import make_grouped_multilabel


def equal(a, b):
    return a.shape == b.shape and (a != b).nnz == 0


def test_seed_decides_everything():
    first, again, other = (make_grouped_multilabel(random_state=seed) for seed in (0, 0, 1))
    assert equal(first.X, again.X)
    assert equal(first.Y, again.Y)
    assert not equal(first.Y, other.Y)


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1, 1), (7, 3, 5, 5), (100, 20, 9, 2), (synthetic.BLOCK_ROWS + 5, 50, 30, 4)]
)
def test_sizes(sizes):
    n_rows, n_features, n_labels, n_groups = sizes
    bundle, groups = make_grouped_multilabel(*sizes, random_state=0, return_groups=True)
    assert bundle.X.shape == (n_rows, n_features)
    assert bundle.Y.shape == (n_rows, n_labels)
    assert np.array_equal(np.unique(groups), np.arange(n_groups))
    assert np.ptp(np.bincount(groups)) <= 1
    assert (np.diff(bundle.Y.indptr) >= 1).all()
    assert bundle.X.dtype == np.float64
    assert bundle.X.data.min() >= 1


def test_labels_of_a_group_occur_together():
    bundle, groups = make_grouped_multilabel(
        5000, 200, 40, 5, noise=0.1, random_state=0, return_groups=True
    )
    together = (bundle.Y.T @ bundle.Y).toarray().astype(float)
    frequency = together.diagonal()
    lift = together * bundle.n_rows / np.outer(frequency, frequency)
    same = groups[:, None] == groups[None, :]
    np.fill_diagonal(lift, np.nan)
    assert np.nanmedian(lift[same]) > 1
    assert np.nanmedian(lift[~same]) < 0.5
    # Noise alone plants nothing: labels meet as often as chance has it.
    noisy, groups = make_grouped_multilabel(
        20000, 200, 40, 5, noise=1.0, tail=0.0, random_state=0, return_groups=True
    )
    together = (noisy.Y.T @ noisy.Y).toarray().astype(float)
    np.fill_diagonal(together, np.nan)
    same = groups[:, None] == groups[None, :]
    ratio = np.nanmean(together[same]) / np.nanmean(together[~same])
    # About 40·7/2 pairs of 40 rows or more each: the ratio's own error is near 1 %.
    assert ratio == pytest.approx(1, abs=0.05)


def test_tail_and_cardinality():
    flat = make_grouped_multilabel(20000, 50, 100, 2, tail=0.0, random_state=0)
    long = make_grouped_multilabel(20000, 50, 100, 2, tail=1.5, random_state=0)
    flat_counts, long_counts = (np.sort(bundle.Y.sum(axis=0))[::-1] for bundle in (flat, long))
    assert flat_counts[0] / flat_counts[-1] < 2
    assert long_counts[0] / max(long_counts[-1], 1) > 50
    # Fifty labels a group leave hardly any repeated draw: the mean is 3 ± 0.01 by Poisson.
    assert flat.cardinality == pytest.approx(3, abs=0.05)


def test_features_tell_the_group():
    bundle, groups = make_grouped_multilabel(
        3000, 400, 30, 3, noise=0.1, random_state=0, return_groups=True
    )
    by_group = np.eye(3)[groups]
    main = np.asarray(bundle.Y @ by_group).argmax(axis=1)
    X = bundle.X.toarray() / bundle.X.sum(axis=1)[:, None]
    train, test = slice(0, 2000), slice(2000, 3000)
    centres = np.stack([X[train][main[train] == g].mean(axis=0) for g in range(3)])
    nearest = ((X[test][:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    # Guessing the largest group is right in well under two thirds of the rows.
    assert (nearest == main[test]).mean() > 0.9


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_rows": 0},
        {"n_groups": 61},
        {"noise": 1.5},
        {"noise": float("nan")},
        {"cardinality": 0.5},
        {"tail": -1},
    ],
)
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        make_grouped_multilabel(**wrong)


def test_features_of_a_label():
    few, many = (
        make_grouped_multilabel(
            2000, 5000, 20, 4, features_per_label=n, noise=0.0, features_per_row=40, random_state=0
        )
        for n in (2, 64)
    )
    # A label has features of its own and its group's: at most so many occur at all.
    assert len(np.unique(few.X.indices)) <= 20 + 4
    assert 20 + 4 < len(np.unique(many.X.indices)) <= 20 * 32 + 4 * 32
    assert np.diff(many.X.indptr).mean() > np.diff(few.X.indptr).mean()
    with pytest.raises(ValueError, match="features_per_label must be a whole number of at least 2"):
        make_grouped_multilabel(features_per_label=1)


def test_places_are_narrow():
    bundle = make_grouped_multilabel(50, random_state=0)
    assert {bundle.X.indices.dtype, bundle.Y.indices.dtype} == {np.dtype(np.int32)}
