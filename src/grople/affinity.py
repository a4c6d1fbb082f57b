"""How well features go with labels: a second opinion on the candidates of a row, by counting.

A regression weighs features against each other, and shrinks what is rare. Counting does neither:
for feature j and label l, with P(l|j) the share of the feature's mass that lies in rows with l,

    weight_jl = ln(1 + P(l|j) / RARE),        base_l = −ln(1 + P(l) / RARE)

and the affinity of a row to a label is the mean of its features' weights, plus the base. It is no
better than the scores by itself; beside them it tells the context decoder more than they do. All
of it follows from XᵀB, so moments add and forget it exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.moments import Moments

__all__ = ["Affinity", "fit_affinity"]

Array = NDArray[Any]

#: Share at which a weight bends from linear to logarithmic; from .003 to .03 nothing changes.
RARE = 0.01
#: Share below which a feature's mass in the rows of a label is taken for rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Affinity:
    """Affinities of rows to labels.

    Attributes
    ----------
    weights : csr_array of shape (D, L)
        What each feature says for each label.
    base : ndarray of shape (L,)
        What is said of a row without features.
    """

    weights: Any
    base: Array

    def __call__(self, X: Any) -> Array:
        """Return the affinities of a block of rows, one a label."""
        total = np.asarray(abs(X).sum(axis=1), dtype=np.float64).reshape(-1, 1)
        found = X @ self.weights
        found = found.toarray() if sp.issparse(found) else np.asarray(found)
        return found / np.where(total > 0, total, 1.0) + self.base


def fit_affinity(moments: Moments) -> Affinity | None:
    """Count how often features and labels occur together.

    None where features are no amounts: where the sum of one over the rows of a label is negative.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> affinity = fit_affinity(Moments.from_data(X, np.array([[1, 0], [1, 0], [0, 1]])))
    >>> affinity(X).argmax(axis=1).tolist()
    [0, 0, 1]
    >>> fit_affinity(Moments.from_data(X - 1, np.array([[1, 0], [1, 0], [0, 1]]))) is None
    True
    """
    together = moments.occurrences()
    mass = moments.feature_sum
    total = float(mass.sum())
    if not total > 0 or mass.min(initial=0.0) < -ROUNDING * total:
        return None
    feature = np.repeat(np.arange(together.shape[0]), np.diff(together.indptr))
    share = together.data / np.maximum(mass, ROUNDING * total)[feature]
    if share.min(initial=0.0) < -1e-6:  # beyond what adding and forgetting rows leaves behind
        return None
    of_label = np.maximum(together.sum(axis=0), 0.0) / total
    kept = share > ROUNDING
    starts = np.concatenate([[0], np.cumsum(kept)])[together.indptr]
    weights = np.log1p(share[kept] / RARE).astype(np.float32)
    return Affinity(
        sp.csr_array((weights, together.indices[kept], starts), shape=together.shape),
        -np.log1p(of_label / RARE),
    )
