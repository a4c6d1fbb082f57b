"""Chains of linear models: each label is predicted from the features and the labels before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.multioutput import ClassifierChain

from grople.estimators._per_label import linear_part
from grople.solver import LinearScores

__all__ = ["Chain", "ChainScores", "fit_chain"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Chain:
    """A chain of linear models: weights (S×m), links (m×m, from earlier to later), intercepts."""

    order: NDArray[np.intp]
    weights: Array
    links: Array
    intercepts: Array
    n_iter: int


def fit_chain(
    X: Any, B: Any, order: Sequence[int] | Array, svm: Any, weights: Array | None = None
) -> Chain:
    """Fit scikit-learn's chain in the given order, and return it as arrays.

    Parameters
    ----------
    X : array or csr_array of shape (n_rows, n_features)
        Features; there may be none.
    B : csr_array of shape (n_rows, n_labels)
        Labels, each of which some but not all rows carry.
    order : permutation of the labels
        Order of the chain.
    svm : classifier
        A linear model for two classes.
    weights : ndarray of shape (n_rows,), optional
        Weights of the rows.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> X, B = np.array([[0.0], [1.0], [2.0]]), sp.csr_array([[0, 1], [0, 0], [1, 1]])
    >>> chain = fit_chain(X, B, [1, 0], LinearSVC())
    >>> np.sign(chain.links)
    array([[0., 0.],
           [1., 0.]])
    """
    order = np.asarray(order, dtype=np.intp)
    (n, S), m = X.shape, B.shape[1]
    rows = X if S else np.zeros((n, 1))  # nothing to tell rows apart by, which is no feature
    labels, svm = B.toarray().astype(np.int64), clone(svm)
    if weights is None:
        models = ClassifierChain(svm, order=order.tolist()).fit(rows, labels).estimators_
    else:
        with config_context(enable_metadata_routing=True):
            chain = ClassifierChain(svm.set_fit_request(sample_weight=True), order=order.tolist())
            models = chain.fit(rows, labels, sample_weight=weights).estimators_
    coefficients, links = np.zeros((S, m)), np.zeros((m, m))
    intercepts, most = np.zeros(m), 1
    for place, (label, model) in enumerate(zip(order, models, strict=True)):
        found, intercepts[label], n_iter = linear_part(model)
        coefficients[:, label] = found[:S]
        links[order[:place], label] = found[rows.shape[1] :]
        most = max(most, n_iter)
    return Chain(order, coefficients, links, intercepts, most)


@dataclass(frozen=True)
class ChainScores:
    """Scores of chains: linear in the features, plus a weight for each earlier label predicted.

    Parameters
    ----------
    linear : LinearScores
        The scores before any label is known.
    links : csr_array of shape (L, L)
        What label i, once predicted, adds to the score of label j.
    position : ndarray of int of shape (L,)
        Place of each label in its chain.
    """

    linear: LinearScores
    links: Any
    position: NDArray[np.intp]

    #: Whether rows are numbers, scored in blocks of one shape.
    takes_blocks: ClassVar[bool] = True

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return self.linear.n_labels

    @cached_property
    def _steps(self) -> list[tuple[Array, Array, Any]]:
        """For each place: the labels there, the later labels they touch, the weights."""
        steps = []
        for place in range(int(self.position.max(initial=0))):
            given = np.flatnonzero(self.position == place)
            rows = sp.csr_array(self.links[given])
            later = np.unique(rows.indices)
            steps.append((given, later, rows[:, later]))
        return steps

    @property
    def Z(self) -> Array:
        """The weights of the features."""
        return self.linear.Z

    def __call__(self, X: Any) -> Array:
        """Return the scores of a block of rows."""
        scores = self.linear(X)
        for given, later, weights in self._steps:
            predicted = (scores[:, given] > 0).astype(np.float64)
            scores[:, later] += predicted @ weights
        return scores
