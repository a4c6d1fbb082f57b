"""The co-occurrence feature: how well features go with labels, by counting.

A regression weighs features against each other, and shrinks what is rare. Counting does neither:
for feature j and label l, with P(l|j) the share of the feature's mass that lies in rows with l,

    weight_jl = ln(1 + P(l|j) / RARE),        base_l = −ln(1 + P(l) / RARE)

and a row's value for a label is the mean of its features' weights, plus the base. It is no better
than the scores alone; with them it tells the re-ranker more than they do. All of it follows from
XᵀB, so moments add and forget it exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["CooccurrenceFeature", "cooccurrence_feature"]

Array = NDArray[Any]

#: Share at which a weight bends from linear to logarithmic; from .003 to .03 nothing changes.
RARE = 0.01
#: Share below which a feature's mass in the rows of a label is taken for rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class CooccurrenceFeature:
    """Values of rows and labels, from how often features and labels occur together.

    Attributes
    ----------
    weights : csr_array of shape (D, L), float32
        What each feature says for each label.
    base : ndarray of shape (L,)
        What is said of a row without features.
    """

    weights: Any
    base: Array

    def __call__(self, X: Any) -> Array:
        """Return the values of rows, one a label; those of a row do not depend on the others."""
        if sp.issparse(X):
            X = sp.csr_array(X)
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
            found = (X @ self.weights).toarray()
        else:
            X = np.ascontiguousarray(X)
            found = np.asarray(X @ self.weights)
        total = np.asarray(abs(X).sum(axis=1), dtype=np.float64).reshape(-1, 1)
        return np.asarray(found / np.where(total > 0, total, 1.0) + self.base, dtype=np.float64)


def cooccurrence_feature(cross: Any, feature_sum: Array) -> CooccurrenceFeature | None:
    """Return the feature that follows from XᵀB and the sums of the columns of X.

    None where features are no amounts: where the sum of one over the rows of a label is negative.

    Parameters
    ----------
    cross : sparse array of shape (D, L)
        XᵀB.
    feature_sum : ndarray of shape (D,)
        Sum of each feature over all rows.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> X, B = np.array([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([[1, 0], [1, 0], [0, 1]])
    >>> feature = cooccurrence_feature(sp.csr_array(X.T @ B), X.sum(axis=0))
    >>> feature(X).argmax(axis=1).tolist()
    [0, 0, 1]
    >>> cooccurrence_feature(sp.csr_array((X - 1).T @ B), (X - 1).sum(axis=0)) is None
    True
    """
    cross = sp.csr_array(cross)
    total = float(feature_sum.sum())
    if not total > 0 or feature_sum.min(initial=0.0) < -ROUNDING * total:
        return None
    feature = np.repeat(np.arange(cross.shape[0]), np.diff(cross.indptr))
    share = cross.data / np.maximum(feature_sum, ROUNDING * total)[feature]
    if share.min(initial=0.0) < -1e-6:
        return None
    label_share = np.maximum(np.asarray(cross.sum(axis=0)).ravel(), 0.0) / total
    kept = share > ROUNDING
    starts = np.concatenate([[0], np.cumsum(kept)])[cross.indptr]
    weights = np.log1p(share[kept] / RARE).astype(np.float32)
    table = sp.csr_array((weights, cross.indices[kept], starts), shape=cross.shape)
    table.sort_indices()
    return CooccurrenceFeature(table, -np.log1p(label_share / RARE))
