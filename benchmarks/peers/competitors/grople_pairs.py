"""GroPLE as it comes, with interaction features."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import make_pipeline

from grople import GroPLE
from grople.features import InteractionFeatures

__all__ = ["fit", "fit_decided", "predict", "ranking"]


def fit(X: Any, Y: Any) -> Any:
    return make_pipeline(InteractionFeatures(), GroPLE(decision="sign", random_state=0)).fit(X, Y)


def fit_decided(X: Any, Y: Any) -> Any:
    return make_pipeline(InteractionFeatures(), GroPLE(random_state=0)).fit(X, Y)


def predict(model: Any, X: Any, measure: str) -> Any:
    return model.set_params(grople__decision=measure).predict(X)


def ranking(model: Any, X: Any) -> Any:
    return model.set_params(grople__decision="example_f1").predict_proba(X)
