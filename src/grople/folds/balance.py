"""How alike folds are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grople.metrics.inputs import label_indicator

__all__ = ["fold_balance"]


def fold_balance(Y: Any, folds: ArrayLike) -> tuple[float, float]:
    """Return how unlike the whole the folds are: by label and in size (Sechidis et al. 2011).

    Parameters
    ----------
    Y : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        Labels, zeros and ones.
    folds : array-like of int of shape (n_rows,)
        Fold number of each row, from zero.

    Returns
    -------
    label_distribution : float
        Mean over labels and folds of the difference between the odds of the label in the fold and
        in the whole. Labels without finite odds somewhere (every row has them) are left out, as are
        those that never occur; NaN where none remains.
    examples_distribution : float
        Mean over folds of the difference between its size and an equal share of the rows.

    Examples
    --------
    >>> Y = [[1], [0], [1], [0], [0], [0]]
    >>> fold_balance(Y, [0, 0, 1, 1, 0, 1])
    (0.0, 0.0)
    >>> fold_balance(Y, [0, 0, 0, 0, 1, 1])
    (0.5, 1.0)
    """
    labels, of_row = label_indicator(Y, "Y"), np.asarray(folds)
    n_rows, n_labels = labels.shape
    if of_row.shape != (n_rows,):
        raise ValueError(f"folds have shape {of_row.shape}; expected ({n_rows},)")
    sizes = np.bincount(of_row)
    if not sizes.all():
        raise ValueError(f"fold {sizes.argmin()} has no rows: number folds from 0 without gaps")
    cells = np.repeat(of_row * n_labels, np.diff(labels.indptr)) + labels.indices
    with_label = np.bincount(cells, minlength=len(sizes) * n_labels).reshape(len(sizes), -1)
    without = sizes[:, None] - with_label
    judged = without.all(axis=0) & with_label.any(axis=0)
    in_fold = with_label[:, judged] / without[:, judged]
    in_whole = with_label[:, judged].sum(axis=0) / without[:, judged].sum(axis=0)
    label_distribution = np.abs(in_fold - in_whole).mean() if judged.any() else np.nan
    return float(label_distribution), float(np.abs(sizes - n_rows / len(sizes)).mean())
