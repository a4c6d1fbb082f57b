"""A classifier whose label sets hold all that their labels imply."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from grople.decision import LabelHierarchy
from grople.estimators._base import index_of
from grople.estimators._grople import GroPLE
from grople.estimators._targets import encode, label_objects

__all__ = ["HierarchicalClassifier"]

Array = NDArray[Any]


class HierarchicalClassifier(ClassifierMixin, BaseEstimator):
    """Predict label sets that are closed under a hierarchy of labels.

    The estimator learns the labels with all that they imply. Of the closed sets, each row gets the
    one whose expected measure, by the calibrated probabilities, is largest.

    Parameters
    ----------
    estimator : estimator, default=GroPLE()
        An estimator of grople with ``decision="example_f1"`` or ``"accuracy"``.
    parents : dict of label to collection of labels, optional
        The parents of each label: a tree, or a graph without cycles. Parents that are no labels
        become some.
    separator : str, optional
        Instead of parents: what stands between the levels in the names of labels.

    Attributes
    ----------
    estimator_ : estimator
        Fitted.
    classes_ : ndarray
        The labels, then the parents that were added.
    hierarchy_ : LabelHierarchy
        Which labels imply which.

    Examples
    --------
    >>> from grople.estimators import HierarchicalClassifier
    >>> X = np.repeat(np.eye(3), 20, axis=0)
    >>> tags = [["game/board"]] * 20 + [["game/cards"]] * 20 + [["tool"]] * 20
    >>> model = HierarchicalClassifier(separator="/").fit(X, tags)
    >>> model.predict_tags(np.eye(3)[:2])
    [['game/board', 'game'], ['game/cards', 'game']]
    """

    def __init__(
        self,
        estimator: Any = None,
        parents: Mapping[Any, Collection[Any]] | None = None,
        *,
        separator: str | None = None,
    ) -> None:
        self.estimator = estimator
        self.parents = parents
        self.separator = separator

    @classmethod
    def around(cls, fitted: Any, separator: str) -> Self:
        """Return a classifier around an estimator that was fitted on closed label sets."""
        model = cls(fitted, separator=separator)
        model.estimator_, model._targets = fitted, fitted._targets
        model._set_hierarchy(fitted.classes_.tolist())
        return model

    def fit(self, X: Any, Y: Any, **params: Any) -> Self:
        """Fit the estimator on labels with all that they imply.

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        Y : array, sparse array, DataFrame or sequence of collections of tags
            Labels.
        **params : dict
            Passed to the estimator's fit.
        """
        B, targets = encode(Y)
        if targets.kind != "multilabel":
            raise ValueError("a hierarchy is of labels, but y is one class a row")
        self._set_hierarchy(targets.classes.tolist())
        closed = sp.csr_array(self.hierarchy_.close(B))
        closed.columns = list(self.hierarchy_.names)
        estimator = GroPLE() if self.estimator is None else clone(self.estimator)
        self.estimator_ = estimator.fit(X, closed, **params)
        self._targets = replace(targets, classes=label_objects(self.hierarchy_.names))
        return self

    def _set_hierarchy(self, names: list[Any]) -> None:
        if (self.separator is None) == (self.parents is None):
            raise ValueError("give either the parents of labels or the separator of their names")
        if self.separator is not None:
            self.hierarchy_ = LabelHierarchy.of_names(list(map(str, names)), self.separator)
        else:
            self.hierarchy_ = LabelHierarchy.of_parents(names, self.parents or {})

    @property
    def classes_(self) -> Array:
        """The labels."""
        check_is_fitted(self, "estimator_")
        return self._targets.classes

    @property
    def decision(self) -> Any:
        """The rule of the estimator."""
        return self.estimator_.decision

    def decision_function(self, X: Any) -> Array:
        """Return the scores of the estimator.

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.decision_function(X)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each label, nowhere above that of a label it implies.

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        """
        check_is_fitted(self, "estimator_")
        return self.hierarchy_.coherent(np.asarray(self.estimator_.predict_proba(X)))

    def predict(self, X: Any) -> Any:
        """Return closed label sets, in the container that the training labels came in.

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        """
        return self._targets.decode(self._closed_sets(X), index_of(X))

    def predict_tags(self, X: Any) -> list[Any]:
        """Return the names of the labels of each row.

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        """
        return self._targets.decode_tags(self._closed_sets(X))

    def _closed_sets(self, X: Any) -> Any:
        check_is_fitted(self, "estimator_")
        chances = np.asarray(self.estimator_.predict_proba(X))
        return self.hierarchy_.labels(chances, self.decision)
