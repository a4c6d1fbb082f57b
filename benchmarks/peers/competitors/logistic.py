"""scikit-learn: a logistic regression a label."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier


def fit(X: Any, Y: Any, C: float) -> Any:
    model = LogisticRegression(C=C, solver="liblinear", random_state=0)
    return OneVsRestClassifier(model).fit(X, Y)


def scores(model: Any, X: Any, k: int) -> Any:
    return model.decision_function(X)
