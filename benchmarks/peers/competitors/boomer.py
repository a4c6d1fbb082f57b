"""mlrl-boomer: boosted rules, default settings."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlrl.boosting import BoomerClassifier


def fit(X: Any, Y: Any) -> Any:
    model = BoomerClassifier(
        random_state=1,
        parallel_rule_refinement="false",
        parallel_statistic_update="false",
        parallel_prediction="false",
    )
    return model.fit(X, Y)


def scores(model: Any, X: Any, k: int) -> Any:
    return np.array(model.predict_proba(X), dtype=np.float64)
