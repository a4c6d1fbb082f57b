"""scikit-multilearn-ng: binary relevance."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from skmultilearn.problem_transform import BinaryRelevance


def fit(X: Any, Y: Any, C: float) -> Any:
    known = np.flatnonzero(Y.sum(axis=0))  # it cannot learn a label that never occurs
    model = BinaryRelevance(
        LogisticRegression(C=C, solver="liblinear", random_state=0), require_dense=[False, True]
    )
    return model.fit(X, Y[:, known]), known, Y.shape[1]


def scores(model: Any, X: Any, k: int) -> Any:
    relevance, known, width = model
    found = np.full((X.shape[0], width), -np.inf)
    found[:, known] = relevance.predict_proba(X).toarray()
    return found
