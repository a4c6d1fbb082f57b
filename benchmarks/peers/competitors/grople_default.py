"""GroPLE as it comes: its decision is fitted on held-out scores."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.competitors.grople_threshold import fit
from grople import GroPLE

__all__ = ["fit", "fit_decided", "predict", "ranking"]


def fit_decided(X: Any, Y: Any) -> Any:
    return GroPLE(random_state=0).fit(X, Y)


def predict(model: Any, X: Any, measure: str) -> Any:
    return model.set_params(decision=measure).predict(X)


def ranking(model: Any, X: Any) -> Any:
    return model.set_params(decision="example_f1").predict_proba(X)
