"""mlrl-boomer: boosted rules, default settings."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlrl.boosting import BoomerClassifier


def fit(X: Any, Y: Any) -> Any:
    # It looks at a few features at a time and stops for good where none of them can split.
    spread = X.max(axis=0).toarray() - X.min(axis=0).toarray()
    varying = np.flatnonzero(spread.ravel())
    model = BoomerClassifier(
        random_state=1,
        parallel_rule_refinement="false",
        parallel_statistic_update="false",
        parallel_prediction="false",
    )
    return model.fit(X[:, varying], Y), varying


def scores(model: Any, X: Any, k: int) -> Any:
    rules, varying = model
    return np.array(rules.predict_proba(X[:, varying]), dtype=np.float64)
