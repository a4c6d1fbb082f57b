"""GroPLE's scores under the threshold that every competitor gets."""

from __future__ import annotations

from typing import Any

from grople import GroPLE


def fit(X: Any, Y: Any) -> Any:
    return GroPLE(decision="sign", random_state=0).fit(X, Y)


def scores(model: Any, X: Any, k: int) -> Any:
    return model.decision_function(X)
