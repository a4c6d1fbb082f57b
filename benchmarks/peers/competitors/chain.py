"""scikit-learn: a chain of logistic regressions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain


def fit(X: Any, Y: Any, C: float) -> Any:
    known = np.flatnonzero(Y.sum(axis=0))  # a chain cannot learn a label that never occurs
    model = ClassifierChain(LogisticRegression(C=C, solver="liblinear", random_state=0))
    return model.fit(X, Y[:, known].toarray()), known, Y.shape[1]


def scores(model: Any, X: Any, k: int) -> Any:
    chain, known, width = model
    found = np.full((X.shape[0], width), -np.inf)
    found[:, known] = chain.predict_proba(X)
    return found
