"""scikit-learn: ridge regression of ±1 labels, in closed form where the Gram matrix is small."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import RidgeClassifier

#: Features beyond which rows stay sparse; scikit-learn then iterates, a label at a time.
CLOSED_FORM = 5000


def fit(X: Any, Y: Any, alpha: float) -> Any:
    if X.shape[1] <= CLOSED_FORM:
        return RidgeClassifier(alpha, solver="cholesky").fit(X.toarray(), Y.toarray())
    return RidgeClassifier(alpha).fit(X, Y.toarray())


def scores(model: Any, X: Any, k: int) -> Any:
    return model.decision_function(X)
