"""Extra-trees for label matrices: those of scikit-learn, without a number for every label.

    a split is chosen to lower   Σ_l n Var(b_l)  =  Σ_i ‖b_i − mean‖²   over the rows i of a node

which is half of Gini's impurity summed over labels, and a matter of distances between rows of
labels. Their leading principal components keep most of these in a few columns, so that trees grow
in a time that does not depend on the number of labels; leaves hold the labels of their rows, all
of them, as sparse shares.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.utils.validation import check_is_fitted

from grople.baselines._plst import principal_axes
from grople.moments import LabelMoments

__all__ = ["LabelTrees"]

Array = NDArray[Any]


class LabelTrees(ClassifierMixin, BaseEstimator):
    """Extra-trees whose splits are chosen by principal components of the labels.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    n_components : int or None, default=75
        Principal components of the labels that splits are chosen by. None, or no fewer than there
        are labels, chooses by the labels themselves: the trees of ``ExtraTreesClassifier``, but
        for ties in the smallest leaves.
    min_samples_leaf : int or float, default=1
        Rows of a leaf, at least; a float is a share of all rows.
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        Features that are tried at a split.
    n_jobs : int, optional
        Trees grown at a time.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    forest_ : ExtraTreesRegressor
        The trees.
    shares_ : csr_array of shape (n_nodes, n_labels)
        Share of the rows of each leaf, of one tree after the other, that carry a label.

    Examples
    --------
    >>> from grople.datasets import make_grouped_multilabel
    >>> data = make_grouped_multilabel(200, random_state=0)
    >>> trees = LabelTrees(10, n_components=5, random_state=0).fit(data.X, data.Y)
    >>> trees.decision_function(data.X).shape == data.Y.shape
    True
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        n_components: int | None = 75,
        min_samples_leaf: float = 1,
        max_features: Any = "sqrt",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array or sparse array of shape (n_rows, n_features)
            Features.
        y : array or sparse array of shape (n_rows, n_labels)
            Labels as zeros and ones.
        sample_weight : array of shape (n_rows,), optional
            Weights of the rows.
        """
        if np.ndim(y) == 1 and not sp.issparse(y):
            raise ValueError("labels must be a matrix with a column for each label, not 1-d")
        B = sp.csr_array(y, dtype=np.float64)
        axes = None
        if self.n_components is not None and self.n_components < B.shape[1]:
            axes = principal_axes(LabelMoments.of(B, sample_weight), self.n_components)
        self.forest_ = ExtraTreesRegressor(
            self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        ).fit(X, B.toarray() if axes is None else B @ axes, sample_weight)
        self.n_features_in_ = self.forest_.n_features_in_
        sizes = [tree.tree_.node_count for tree in self.forest_.estimators_]
        self._first = np.concatenate([[0], np.cumsum(sizes)])
        weights = np.ones(B.shape[0]) if sample_weight is None else np.asarray(sample_weight)
        held = self._leaves(X).T.tocsr()
        total = held @ weights
        total[total == 0.0] = 1.0  # nodes that are no leaves
        carried = held @ sp.csr_array(B * weights[:, None])
        self.shares_ = sp.csr_array(sp.diags_array(1.0 / total) @ carried)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the mean share of each label in the leaves of each row, from −1 to 1.

        Parameters
        ----------
        X : array or sparse array of shape (n_rows, n_features)
            Features.
        """
        check_is_fitted(self)
        shares = self._leaves(X) @ self.shares_
        return np.asarray(2.0 / len(self.forest_.estimators_) * shares.toarray() - 1.0)

    def predict(self, X: Any) -> Array:
        """Return the labels that more than half of the leaves' rows carry.

        Parameters
        ----------
        X : array or sparse array of shape (n_rows, n_features)
            Features.
        """
        return (self.decision_function(X) > 0.0).astype(np.int64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

    def _leaves(self, X: Any) -> Any:
        """Return rows × nodes of all trees, ones where a row is."""
        leaves = self.forest_.apply(X) + self._first[:-1]
        n, trees = leaves.shape
        return sp.csr_array(
            (np.ones(n * trees), leaves.ravel(), np.arange(0, n * trees + 1, trees)),
            shape=(n, self._first[-1]),
        )
