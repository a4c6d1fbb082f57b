"""scikit-multilearn-ng: multi-label nearest neighbours."""

from __future__ import annotations

from typing import Any

from skmultilearn.adapt import MLkNN


def fit(X: Any, Y: Any, k: int) -> Any:
    return MLkNN(k=k).fit(X, Y)


def scores(model: Any, X: Any, k: int) -> Any:
    return model.predict_proba(X).toarray()
