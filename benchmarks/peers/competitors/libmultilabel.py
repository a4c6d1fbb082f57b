"""LibMultiLabel: a linear SVM a label by LIBLINEAR, with a bias."""

from __future__ import annotations

import os
from typing import Any

import libmultilabel.linear as linear

# It starts a thread a core whatever it is told: let them share one.
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def fit(X: Any, Y: Any) -> Any:
    return linear.train_1vsrest(Y, X, options="-s 1 -c 1 -B 1 -q", verbose=False)


def scores(model: Any, X: Any, k: int) -> Any:
    return model.predict_values(X)
