"""LibMultiLabel: a linear SVM a label by LIBLINEAR, with a bias."""

from __future__ import annotations

from typing import Any

import libmultilabel.linear as linear
import psutil

# It starts a thread a core whatever it is told: tell it that there is one.
psutil.cpu_count = lambda logical=True: 1


def fit(X: Any, Y: Any) -> Any:
    return linear.train_1vsrest(Y, X, options="-s 1 -c 1 -B 1 -q", verbose=False)


def scores(model: Any, X: Any, k: int) -> Any:
    return model.predict_values(X)
