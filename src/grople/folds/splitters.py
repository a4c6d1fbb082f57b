"""Stratified multi-label splits behind scikit-learn's splitter interface."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from math import ceil, floor
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets

from grople.folds.stratification import stratify
from grople.metrics.inputs import label_indicator

__all__ = ["MultilabelStratifiedKFold", "multilabel_train_test_split"]

Ints = NDArray[np.int64]
RandomState = int | np.random.RandomState | None


class MultilabelStratifiedKFold(BaseCrossValidator):
    """K folds that each have their share of every label, and of rows without any.

    Iterative stratification (Sechidis, Tsoumakas, Vlahavas 2011) with exact fold sizes and a last
    step of exchanges; see :mod:`grople.folds.stratification`. Label matrices stay sparse.

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
        shares = np.ones(self.n_splits, np.int64)
        return stratify(labels, shares, random, shuffle=self.shuffle)


def multilabel_train_test_split(
    X: Any,
    Y: Any,
    *others: Any,
    test_size: float | int | None = None,
    train_size: float | int | None = None,
    random_state: RandomState = None,
) -> list[Any]:
    """Split arrays into training and test rows that each have their share of every label.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
        Features.
    Y : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels) or (n_rows,)
        Labels, by which the rows are stratified.
    *others : sequences of n_rows items
        Anything else to split in the same way.
    test_size, train_size : float or int, optional
        Share or number of rows. Where one is missing the other rows are taken; where both are, a
        quarter is for the test. Sizes are exact.
    random_state : int, RandomState instance or None
        An int gives the same split on every call.

    Returns
    -------
    list
        ``[X_train, X_test, Y_train, Y_test, ...]``, rows in their original order.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 0], [0, 1]] * 4)
    >>> X_train, X_test, Y_train, Y_test = multilabel_train_test_split(Y, Y, random_state=0)
    >>> Y_train.sum(axis=0), Y_test.sum(axis=0)
    (array([3, 3]), array([1, 1]))
    """
    labels = _label_matrix(Y)
    check_consistent_length(X, labels, *others)
    sizes = np.array(_split_sizes(labels.shape[0], test_size, train_size), np.int64)
    # Halves of an odd number are equal shares: one row more is no reason to get every rare label.
    shares = sizes if np.ptp(sizes) > 1 else np.ones_like(sizes)
    folds = stratify(labels, shares, check_random_state(random_state), sizes=sizes)
    train, test = np.flatnonzero(folds == 0), np.flatnonzero(folds == 1)
    return [_take(array, rows) for array in (X, Y, *others) for rows in (train, test)]


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


def _split_sizes(
    n_rows: int, test_size: float | int | None, train_size: float | int | None
) -> list[int]:
    """Return the numbers of training, test and (where both are given) unused rows."""
    if test_size is None and train_size is None:
        test_size = 0.25
    # Rounded as scikit-learn does: the test up, the training down.
    test = _n_rows("test_size", test_size, n_rows, ceil)
    train = _n_rows("train_size", train_size, n_rows, floor)
    test = n_rows - train if test is None and train is not None else test or 0
    train = n_rows - test if train is None else train
    if train + test > n_rows:
        raise ValueError(
            f"{train} training and {test} test rows are more than the {n_rows} there are"
        )
    if train < 1 or test < 1:
        raise ValueError(
            f"test_size={test_size} and train_size={train_size} of {n_rows} rows leave "
            f"{train} for training and {test} for the test; both need at least one"
        )
    rest = n_rows - train - test
    return [train, test, rest] if rest else [train, test]


def _n_rows(name: str, size: float | int | None, n_rows: int, rounded: Any) -> int | None:
    if size is None:
        return None
    if isinstance(size, Integral) and not isinstance(size, bool) and 0 < size < n_rows:
        return int(size)
    if isinstance(size, Real) and not isinstance(size, Integral) and 0 < size < 1:
        return int(rounded(size * n_rows))
    raise ValueError(
        f"{name} must be a share between 0 and 1 or a number of rows below {n_rows}, not {size!r}"
    )


def _take(array: Any, rows: Ints) -> Any:
    if hasattr(array, "iloc"):
        return array.iloc[rows]
    if sp.issparse(array):
        return array.tocsr()[rows]
    if hasattr(array, "shape"):
        return array[rows]
    return [array[row] for row in rows]
