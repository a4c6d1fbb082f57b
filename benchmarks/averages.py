"""What averages of several models gain: measured inside the training rows of the first fold.

The scores of GroPLE as it comes beside the mean of three: of other seeds, of other dimensions, of
other ridge weights. All are decided alike, on out-of-fold scores with a second look (without the
second opinion, which follows no average). Four fifths of the rows are learnt from and one is
measured, three times over; differences of example-F1 with the 95 % interval over rows.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from benchmarks import data_folder, table
from benchmarks.margins import example_ratios, held_out, interval
from grople import GroPLE
from grople.meta import MultilabelDecisionClassifier
from grople.study.splits import split

#: Half an hour of work that says nothing of speed: only run when asked for.
ON_REQUEST = True
DATASETS = ("medical", "corel5k", "rcv1subset1-repaired", "bibtex")
QUICK = ("medical",)
AVERAGES: dict[str, list[dict[str, Any]]] = {
    "seeds 0, 1, 2": [{"random_state": seed} for seed in range(3)],
    "d = 50, 100, all": [{"n_components": d} for d in (50, 100, "auto")],
    "γ, γ/3 and 3γ": [{"times": factor} for factor in (1.0, 1 / 3, 3.0)],
}


class MeanScores(ClassifierMixin, BaseEstimator):
    """The mean of the scores of several GroPLE."""

    def __init__(self, settings: Any = ({},)) -> None:
        self.settings = settings

    def fit(self, X: Any, y: Any) -> Self:
        """Fit each."""
        self.models_ = []
        for setting in self.settings:
            options = {"random_state": 0, "decision": "sign"} | dict(setting)
            times = options.pop("times", 1.0)
            model = GroPLE(**options).fit(X, y)
            self.models_.append(model if times == 1 else model.refit(gamma=times * model.gamma_))
        self.classes_ = self.models_[0].classes_
        return self

    def decision_function(self, X: Any) -> Any:
        """Return the mean of their scores."""
        return np.mean([model.decision_function(X) for model in self.models_], axis=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True  # or each label would be learnt by itself
        return tags


def measured(X: Any, B: Any, settings: Any) -> Any:
    """Return the F1 of every row that was held out."""
    found = []
    for inside, fit, new, held in held_out(X, B):
        model = MultilabelDecisionClassifier(MeanScores(settings)).fit(inside, fit)
        found.append(example_ratios(held, model.predict(new)))
    return np.concatenate(found)


def run(quick: bool = False) -> str:
    if data_folder() is None:
        return "The data sets are not here: set GROPLE_DATA."
    rows = []
    for name in QUICK if quick else DATASETS:
        part = split(name, 0)
        plain = measured(part.X, part.B, ({},))
        gains = [interval(measured(part.X, part.B, each) - plain) for each in AVERAGES.values()]
        rows.append([name, f"{plain.mean():.3f}", *gains])
    return table(["data", "example-F1", *AVERAGES], rows)
