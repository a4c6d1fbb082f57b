"""Synthetic data with planted label groups, a long tail and noise, to any size."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.datasets._bundle import Bundle
from grople.errors import Number, Whole, check_parameters

__all__ = ["make_grouped_multilabel"]

#: Rows made at a time: bounds the working memory, and fixes the stream of random numbers.
BLOCK_ROWS = 1 << 16
#: How often draws that repeat a label of their row are drawn again.
REDRAWS = 8

Integers = NDArray[np.int64]


def make_grouped_multilabel(
    n_rows: int = 1000,
    n_features: int = 300,
    n_labels: int = 60,
    n_groups: int = 6,
    *,
    cardinality: float = 3.0,
    features_per_row: float = 20.0,
    features_per_label: int = 8,
    tail: float = 1.0,
    noise: float = 0.1,
    random_state: Any = None,
    return_groups: bool = False,
) -> Any:
    """Make sparse multi-label data in which labels of a group occur together.

    Each row belongs to one group of labels. It draws its labels from that group, by popularity,
    and its features (counts, as of words) from those that belong to its labels; half of a
    label's features belong to its whole group. A share ``noise`` of the draws, of labels and of
    features alike, ignores all that. Time and memory grow with the number of stored elements.

    Parameters
    ----------
    n_rows, n_features, n_labels : int
        Size of the data.
    n_groups : int
        Number of planted label groups, of nearly equal size.
    cardinality : float
        Labels drawn a row, on average, at least one. Equal draws are repeated a few times, then
        count once, so that the average falls short where groups are small.
    features_per_row : float
        Features drawn a row, on average, at least one; equal ones add up.
    features_per_label : int
        Features that belong to a label, at least two: half of them to its whole group.
    tail : float
        Zipf exponent of the labels' popularity: 0 makes all equally frequent, 1 is natural.
    noise : float
        Share of labels and of features drawn at random, between 0 and 1.
    random_state : int, Generator or None
        Seed.
    return_groups : bool
        Whether to return the planted groups too.

    Returns
    -------
    bundle : Bundle
        The data: ``X`` counts as CSR, ``Y`` labels.
    groups : ndarray of shape (n_labels,)
        Group number of each label; only if ``return_groups``.

    Examples
    --------
    >>> make_grouped_multilabel(500, 100, 20, 4, random_state=0)
    Bundle('grouped': 500 rows, 100 sparse features, 20 labels, 2.768 a row)
    """
    check_parameters(
        "make_grouped_multilabel",
        {
            **dict.fromkeys(("n_rows", "n_features", "n_labels", "n_groups"), Whole(1)),
            **dict.fromkeys(("cardinality", "features_per_row"), Number(1)),
            "features_per_label": Whole(2), "tail": Number(), "noise": Number(0, 1),
        },
        locals(),
    )  # fmt: skip
    if n_groups > n_labels:
        raise ValueError(f"n_groups ({n_groups}) must not exceed n_labels ({n_labels})")
    rng = np.random.default_rng(random_state)
    plan = _Plan(rng, n_features, n_labels, n_groups, features_per_label, tail)
    X_blocks, Y_blocks = [], []
    for start in range(0, n_rows, BLOCK_ROWS):
        rows = min(BLOCK_ROWS, n_rows - start)
        Y = _draw_labels(rng, rows, plan, cardinality, noise)
        X_blocks.append(_draw_features(rng, Y, plan, features_per_row, noise))
        Y_blocks.append(Y)
    bundle = Bundle(
        sp.vstack(X_blocks, format="csr"),
        sp.vstack(Y_blocks, format="csr"),
        name="grouped",
        source=f"make_grouped_multilabel(random_state={random_state!r})",
    )
    return (bundle, plan.group_of_label) if return_groups else bundle


class _Plan:
    """What is planted: groups, popularities and the features of each label."""

    def __init__(
        self,
        rng: np.random.Generator,
        n_features: int,
        n_labels: int,
        n_groups: int,
        features_per_label: int,
        tail: float,
    ) -> None:
        self.n_features, self.n_labels = n_features, n_labels
        # Labels stand in the order of their groups, so that a group is one stretch of the
        # cumulated popularity and a draw from it one uniform number.
        self.labels = rng.permutation(n_labels)
        sorted_groups = np.arange(n_labels) * n_groups // n_labels
        self.group_of_label = np.empty(n_labels, dtype=np.int64)
        self.group_of_label[self.labels] = sorted_groups
        popularity = rng.permutation(np.arange(1, n_labels + 1) ** -float(tail))
        self.cumulated = np.concatenate([[0.0], np.cumsum(popularity)])
        starts = np.searchsorted(sorted_groups, np.arange(n_groups + 1))
        self.bounds = self.cumulated[starts]
        of_group = features_per_label // 2
        shared = rng.integers(n_features, size=(n_groups, of_group))
        own = rng.integers(n_features, size=(n_labels, features_per_label - of_group))
        self.features = np.concatenate([shared[self.group_of_label], own], axis=1)


def _draw_labels(
    rng: np.random.Generator, n_rows: int, plan: _Plan, cardinality: float, noise: float
) -> Any:
    """Return the labels of some rows as CSR."""
    total = plan.bounds[-1]
    groups = np.searchsorted(plan.bounds, rng.random(n_rows) * total, side="right") - 1
    low, high = plan.bounds[groups], plan.bounds[groups + 1]
    rows = np.repeat(np.arange(n_rows), 1 + rng.poisson(cardinality - 1, size=n_rows))
    labels = np.empty(len(rows), dtype=np.int64)
    pending = np.arange(len(rows))
    for _ in range(REDRAWS):
        of = rows[pending]
        anywhere = rng.random(len(pending)) < noise
        left = np.where(anywhere, 0.0, low[of])
        width = np.where(anywhere, total, high[of]) - left
        place = np.searchsorted(
            plan.cumulated, left + rng.random(len(pending)) * width, side="right"
        )
        # Rounding may put a draw on the far edge of the last stretch.
        labels[pending] = plan.labels[np.minimum(place, plan.n_labels) - 1]
        pending = _repeats(rows * plan.n_labels + labels)
        if not len(pending):
            break
    Y = _csr(np.ones(len(rows), np.int8), rows, labels, (n_rows, plan.n_labels))
    Y.data[:] = 1  # what was still drawn twice counts once
    return Y


def _repeats(keys: Integers) -> Integers:
    """Return the positions of all keys that an earlier position holds too."""
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(keys[order][1:] == keys[order][:-1]) + 1
    return order[again]


def _draw_features(
    rng: np.random.Generator, Y: Any, plan: _Plan, features_per_row: float, noise: float
) -> Any:
    """Return the features of rows with labels ``Y`` as CSR counts."""
    n_rows = Y.shape[0]
    rows = np.repeat(np.arange(n_rows), 1 + rng.poisson(features_per_row - 1, size=n_rows))
    n_own = np.diff(Y.indptr)[rows]
    label = Y.indices[Y.indptr[:-1][rows] + rng.integers(n_own)]
    features = plan.features[label, rng.integers(plan.features.shape[1], size=len(rows))]
    anywhere = np.flatnonzero(rng.random(len(rows)) < noise)
    features[anywhere] = rng.integers(plan.n_features, size=len(anywhere))
    return _csr(np.ones(len(rows)), rows, features, (n_rows, plan.n_features))


def _csr(values: Any, rows: Integers, columns: Integers, shape: tuple[int, int]) -> Any:
    """Return a CSR array whose places are 32-bit numbers, as liblinear and others want them."""
    places = rows.astype(np.int32), columns.astype(np.int32)
    return sp.csr_array((values, places), shape=shape)
