"""Stratified multi-label folds behind scikit-learn's splitter interface."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets

from grople.folds._stratification import stratify
from grople.metrics import label_indicator

__all__ = ["MultilabelStratifiedKFold"]

Ints = NDArray[np.int64]
RandomState = int | np.random.RandomState | None


class MultilabelStratifiedKFold(BaseCrossValidator):
    """K folds that each have their share of every label, and of rows without any.

    Iterative stratification (Sechidis, Tsoumakas, Vlahavas 2011) with exact fold sizes and a last
    step of exchanges. Label matrices stay sparse. One of four folds makes a stratified test set:
    ``train, test = next(MultilabelStratifiedKFold(4).split(X, Y))``.

    Parameters
    ----------
    n_splits : int
        Number of folds, at least 2.
    shuffle : bool
        Whether rows with the same labels are dealt to the folds in random order or in theirs.
        Without shuffling the folds are always the same.
    random_state : int, RandomState instance or None
        An int gives the same folds on every call. Only with ``shuffle=True``.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 1], [1, 1]])
    >>> cv = MultilabelStratifiedKFold(n_splits=2, random_state=0)
    >>> [Y[test].sum(axis=0).tolist() for train, test in cv.split(Y, Y)]
    [[2, 2], [2, 2]]
    """

    n_splits: int
    shuffle: bool
    random_state: RandomState

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = True, random_state: RandomState = None
    ) -> None:
        if not isinstance(n_splits, Integral) or n_splits < 2:
            raise ValueError(f"n_splits must be a whole number of at least 2, not {n_splits!r}")
        if not isinstance(shuffle, bool):
            raise TypeError(f"shuffle must be True or False, not {shuffle!r}")
        if not shuffle and random_state is not None:
            raise ValueError(
                "random_state has no effect where shuffle is False: leave it out or shuffle"
            )
        self.n_splits = int(n_splits)
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds; the arguments play no part."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Ints, Ints]]:
        """Yield the training and the test rows of each fold, in ascending order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Only its number of rows matters.
        y : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels) or (n_rows,)
            Zeros and ones, or one class a row.
        groups : None
            Not used.
        """
        if groups is not None:
            warnings.warn("groups are ignored by MultilabelStratifiedKFold", stacklevel=2)
        folds = self.fold_numbers(y)
        check_consistent_length(X, folds)
        for fold in range(self.n_splits):
            test = folds == fold
            yield np.flatnonzero(~test), np.flatnonzero(test)

    def fold_numbers(self, y: Any) -> Ints:
        """Return the fold of every row: the same split as one array, to store or compare.

        Parameters
        ----------
        y : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels) or (n_rows,)
            Zeros and ones, or one class a row.

        Examples
        --------
        >>> MultilabelStratifiedKFold(2, shuffle=False).fold_numbers([[1], [0], [1], [0]]).shape
        (4,)
        """
        labels = _label_matrix(y)
        if self.n_splits > labels.shape[0]:
            raise ValueError(
                f"{self.n_splits} folds need at least as many rows, not {labels.shape[0]}"
            )
        random = check_random_state(self.random_state if self.shuffle else 0)
        return stratify(labels, self.n_splits, random, shuffle=self.shuffle)


def _label_matrix(y: Any) -> Any:
    """Return y as 0/1 CSR; a class a row becomes one column a class."""
    if y is None:
        raise ValueError("y is needed: the folds are stratified by its labels")
    if sp.issparse(y) or np.ndim(y) != 1:
        return label_indicator(y, "y")
    check_classification_targets(y)
    classes, column = np.unique(np.asarray(y), return_inverse=True)
    indptr = np.arange(len(column) + 1)
    return label_indicator(
        sp.csr_array((np.ones(len(column), np.int64), column, indptr), (len(column), len(classes)))
    )
