"""Each method as it was published: raw features, the reference scheme, decision by sign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from grople.baselines import METHODS, scores_along
from grople.study._data import load_fold, measures
from grople.study._store import Run

#: One of the paper's data sets: what a setting leaves open is the same for all of them.
ANY_DATASET = "medical"


def published_model(method: str, seed: int, **parameters: Any) -> Any:
    """Return the estimator of a method as it was published, not fitted."""
    make = METHODS[method.lower()].published
    assert make is not None
    model = make(ANY_DATASET)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    return model.set_params(**parameters)


def published_runs(job: Sequence[Run]) -> Iterator[tuple[Run, dict[str, Any]]]:
    """Predict the test rows of a fold by one method with settings that share work.

    The descents of GroPLE run in single precision: a few decisions near zero differ.
    """
    fold = load_fold(job[0].dataset, job[0].fold)
    model = published_model(job[0].method, job[0].seed)
    runs = {frozenset(run.parameters.items()): run for run in job}
    settings = [run.parameters for run in job]
    path = scores_along(model, settings, fold.X, fold.B, fold.moments, precision=np.float32)
    for setting, scores in path:
        decided = scores(fold.X_test) > 0.0
        yield runs[frozenset(setting.items())], measures(fold.B_test, decided)
