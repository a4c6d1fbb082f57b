"""Our own ridge regression, its weight by generalised cross-validation."""

from __future__ import annotations

from typing import Any

from grople.baselines import Ridge


def fit(X: Any, Y: Any) -> Any:
    return Ridge(decision="sign").fit(X, Y)


def scores(model: Any, X: Any, k: int) -> Any:
    return model.decision_function(X)
