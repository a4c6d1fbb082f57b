"""LibMultiLabel: a linear SVM a label by LIBLINEAR, with a bias."""

from __future__ import annotations

from typing import Any

import libmultilabel.linear as linear


def fit(X: Any, Y: Any) -> Any:
    return linear.train_1vsrest(Y, X, options="-s 1 -c 1 -B 1 -q", verbose=False)


def scores(model: Any, X: Any, k: int) -> Any:
    return model.predict_values(X)
