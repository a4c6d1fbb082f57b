"""Small data in both forms that moments come in: matrices, and kept rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from grople import RowSummary, summarise
from grople.datasets import make_grouped_multilabel
from grople.moments import Grid

FORMS = ("matrices", "rows")


def small_data(*sizes: int, n_groups: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features of so few digits that no grid rounds them, and labels."""
    data = make_grouped_multilabel(*sizes, n_groups=n_groups, random_state=seed)
    return np.round(1024 * data.X.toarray()) / 1024, data.Y.toarray()


def summary_of(X: Any, B: Any, weights: Any = None, form: str = "matrices") -> RowSummary:
    """Return the summary of rows, with matrices or with all rows kept."""
    if form == "matrices":
        return summarise(X, B, weights)
    rows = sp.csr_array(X)
    grid = replace(Grid.of(rows, weights), keeps_rows=True)
    return summarise(rows, B, weights, grid=grid)


def moments_of(X: Any, B: Any, weights: Any = None, form: str = "matrices") -> Any:
    """Return the moments of rows in a form."""
    return summary_of(X, B, weights, form).moments


def fitted(estimator: Any, X: Any, B: Any, form: str, weights: Any = None) -> Any:
    """Fit an estimator to moments in a form."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grople.baselines._linear.MATRIX_FEATURES", 0)
        return estimator.fit_summary(summary_of(X, B, weights, form))
