"""The forest expert: extremely randomised trees, grown in the latent space.

Splits are chosen by a few principal components of the labels' reconstruction U V; the leaves hold
the shares of their rows that carry each label. Each tree is grown on about two thirds of the rows;
a row's held-out score is that of the trees that have not seen it, nor any row with its features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.tree import ExtraTreeRegressor

from grople.experts._rows import each_row
from grople.moments import Sample, fold_of
from grople.optim import parallel_map

__all__ = ["ForestScores", "HeldOutForest", "fit_forest"]

Array = NDArray[Any]

#: One row of so many is left out of each tree.
LEFT_OUT = 3
#: Principal components that splits are chosen by.
COMPONENTS = 32
#: Rows of a leaf, at least.
LEAST_LEAF = 2
#: Values of the rows that trees are grown on, at most: of more the most frequent features count.
MOST_VALUES = 50_000_000
#: The largest value a tree can tell from a larger one.
FARTHEST = 1e30


@dataclass(frozen=True)
class ForestScores:
    """Mean shares of the labels in the leaves that a row falls into, from −1 to 1.

    Attributes
    ----------
    columns : ndarray of int of shape (k,)
        The features that trees look at.
    roots : ndarray of int of shape (n_trees,)
        The root of each tree.
    left, right : ndarray of int of shape (n_nodes,)
        The next node below and above the threshold; both are the node itself for a leaf.
    feature : ndarray of int of shape (n_nodes,)
        Which of the columns is compared.
    threshold : ndarray of shape (n_nodes,)
        What it is compared with.
    shares : csr_array of shape (n_nodes, L)
        The share of each leaf's rows that carry each label.
    """

    columns: Array
    roots: Array
    left: Array
    right: Array
    feature: Array
    threshold: Array
    shares: Any

    def __call__(self, X: Any) -> Array:
        """Return the scores of a block of rows."""
        return each_row(self._scores, X)

    def leaves(self, X: Any) -> Array:
        """Return the leaf of each row in each tree."""
        values = tree_values(X, self.columns)
        n, n_trees = len(values), len(self.roots)
        at = np.tile(self.roots, n)
        first = np.repeat(np.arange(n) * values.shape[1], n_trees)
        flat, going = values.ravel(), np.arange(len(at))
        while len(going):
            here = at[going]
            below = flat[first[going] + self.feature[here]] <= self.threshold[here]
            there = np.where(below, self.left[here], self.right[here])
            at[going] = there
            going = going[there != here]
        return at.reshape(n, n_trees)

    def _scores(self, X: Any) -> Array:
        leaves = self.leaves(X)
        n, n_trees = leaves.shape
        entries = np.full(leaves.size, 2.0 / n_trees), leaves.ravel(), np.arange(n + 1) * n_trees
        found = sp.csr_array(entries, shape=(n, self.shares.shape[0])) @ self.shares
        return np.asarray(found.toarray() - 1.0)


@dataclass(frozen=True)
class HeldOutForest:
    """Held-out scores of rows, computed when asked for.

    Attributes
    ----------
    leaves : csr_array of shape (n_rows, n_nodes)
        The leaves of the trees that have not seen a row; they add up to one.
    forest : ForestScores
        The forest.
    prior : ndarray of shape (L,)
        Shares of the labels, for rows that every tree has seen.
    """

    leaves: Any
    forest: ForestScores
    prior: Array

    def scores(self, rows: Any) -> Array:
        """Return the scores of some rows."""
        leaves = self.leaves[rows]
        found = (leaves @ self.forest.shares).toarray()
        found[np.diff(leaves.indptr) == 0] = self.prior
        return np.asarray(2.0 * found - 1.0)


def fit_forest(
    sample: Sample, points: Array, V: Array, n_trees: int, seed: int
) -> tuple[ForestScores, HeldOutForest]:
    """Grow the trees.

    Parameters
    ----------
    sample : Sample
        Rows in the order of their keys.
    points : ndarray of shape (n, d)
        Where they belong in the latent space (U).
    V : ndarray of shape (d, L)
        From points to labels.
    n_trees : int
        Number of trees.
    seed : int
        Seed of the splits.

    Returns
    -------
    scores : ForestScores
        The forest.
    held_out : HeldOutForest
        Scores of each row by the trees that have not seen it.
    """
    weights, B = sample.totals, sample.B
    columns = frequent_columns(sample.X)
    values, targets = tree_values(sample.X, columns), principal_targets(points, V, weights)
    seeds = np.random.default_rng(seed).integers(2**31 - 1, size=n_trees)

    def grow(tree_number: int) -> tuple[Any, Any, Array, Array]:
        seen = fold_of(sample.feature_keys, LEFT_OUT, draw=tree_number + 1) != 0
        seen |= not seen.any()
        tree = ExtraTreeRegressor(
            min_samples_leaf=LEAST_LEAF, max_features="sqrt", random_state=int(seeds[tree_number])
        )
        tree.fit(values, targets, sample_weight=weights * seen)  # rows without weight are no rows
        leaves = tree.apply(values)
        held = sp.csr_array(
            (weights[seen], (leaves[seen], np.flatnonzero(seen))),
            shape=(tree.tree_.node_count, len(seen)),
        )
        totals = np.asarray(held.sum(axis=1))
        totals[totals == 0.0] = 1.0  # nodes that are no leaves
        shares = sp.csr_array(sp.diags_array(1.0 / totals) @ (held @ B)).astype(np.float32)
        return tree.tree_, shares, leaves, seen

    trees = parallel_map(grow, range(n_trees))
    sizes = [tree.node_count for tree, *_ in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    left, right = (
        np.concatenate(
            [_next_nodes(tree, side) + root for (tree, *_), root in zip(trees, roots, strict=True)]
        )
        for side in ("children_left", "children_right")
    )
    forest = ForestScores(
        columns,
        roots,
        left,
        right,
        np.concatenate([np.maximum(tree.feature, 0) for tree, *_ in trees]),
        np.concatenate([tree.threshold for tree, *_ in trees]),
        sp.csr_array(sp.vstack([shares for _, shares, *_ in trees], format="csr")),
    )
    unseen = np.stack([~seen for *_, seen in trees], axis=1)
    leaves = np.stack([leaves for *_, leaves, _ in trees], axis=1) + roots
    counts = unseen.sum(axis=1)
    parts = np.repeat(1.0 / np.maximum(counts, 1), counts)
    entries = parts, leaves[unseen], np.concatenate([[0], np.cumsum(counts)])
    held_out = sp.csr_array(entries, shape=(len(sample), sum(sizes)))
    return forest, HeldOutForest(held_out, forest, np.asarray(weights @ B) / weights.sum())


def tree_values(X: Any, columns: Array) -> Array:
    """Return some columns of rows as trees see them: dense, in single precision."""
    values = X[:, columns]
    values = values.toarray() if sp.issparse(values) else values
    return np.clip(values, -FARTHEST, FARTHEST).astype(np.float32)


def frequent_columns(X: Any) -> Array:
    """Return the columns that most rows have, as many as there is room for, in their order."""
    most = max(1, MOST_VALUES // max(X.shape[0], 1))
    if X.shape[1] <= most or not sp.issparse(X):
        return np.arange(X.shape[1])
    counts = np.bincount(X.indices, minlength=X.shape[1])
    return np.sort(np.argsort(-counts, kind="stable")[:most])


def principal_targets(points: Array, V: Array, weights: Array) -> Array:
    """Return the leading principal components of what the points say of the labels."""
    values, vectors = scipy.linalg.eigh(V @ V.T)
    found = (points - weights @ points / weights.sum()) @ (
        vectors * np.sqrt(np.maximum(values, 0.0))
    )
    scatter = (found * weights[:, None]).T @ found
    last = max(0, len(scatter) - COMPONENTS), len(scatter) - 1
    return np.ascontiguousarray(found @ scipy.linalg.eigh(scatter, subset_by_index=last)[1])


def _next_nodes(tree: Any, side: str) -> Array:
    nodes = getattr(tree, side)
    return np.where(nodes < 0, np.arange(len(nodes)), nodes)
