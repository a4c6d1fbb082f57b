"""Extra-trees by fewer columns than labels: what that costs and saves.

``ExtraTreesClassifier`` beside :class:`grople.baselines.label_trees.LabelTrees`, 30 trees with a
thousandth of the rows in a leaf, on four fifths of the training rows of the first fold; the label
ranking average precision of the others, with the 95 % interval over rows of the difference, and
processor seconds of a fit, as ratios. Seeds alone make a difference, too: the second column.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import label_ranking_average_precision_score

from benchmarks import data_folder, table
from benchmarks.margins import held_out, interval
from grople.baselines.label_trees import LabelTrees
from grople.study.splits import split

#: Minutes of work on rivals: only run when asked for.
ON_REQUEST = True
DATASETS = ("medical", "CAL500", "corel5k", "rcv1subset1-repaired", "bibtex", "corel16k001")
QUICK = ("medical", "CAL500")
TREES, LEAF = 30, 1e-3
COMPONENTS = (None, 100, 75, 50, 20)


def _as_scores(chances: Any) -> Any:
    return np.column_stack([chance[:, -1] * (chance.shape[1] > 1) for chance in chances])


def classifier(seed: int, X: Any, Y: Any) -> Callable[[Any], Any]:
    """Fit scikit-learn's and return what scores rows."""
    trees = ExtraTreesClassifier(TREES, min_samples_leaf=LEAF, random_state=seed)
    trees.fit(X, Y.toarray())
    return lambda new: _as_scores(trees.predict_proba(new))


def by_components(components: int | None, X: Any, Y: Any) -> Callable[[Any], Any]:
    """Fit trees by principal components of the labels and return what scores rows."""
    trees = LabelTrees(TREES, n_components=components, min_samples_leaf=LEAF, random_state=0)
    return trees.fit(X, Y).decision_function


def run(quick: bool = False) -> str:
    if data_folder() is None:
        return "The data sets are not here: set GROPLE_DATA."
    fits: list[Callable[[Any, Any], Any]] = [
        *(lambda X, Y, seed=seed: classifier(seed, X, Y) for seed in (0, 1)),
        *(lambda X, Y, d=d: by_components(d, X, Y) for d in COMPONENTS),
    ]
    rows = []
    for name in QUICK if quick else DATASETS:
        part = split(name, 0)
        X, Y, X_held, Y_held = next(held_out(part.X, part.B))
        truth = Y_held.toarray()
        found = []
        for fit in fits:
            started = time.process_time()
            scores = fit(X, Y)
            seconds = time.process_time() - started
            ranked = scores(X_held)
            each = [
                label_ranking_average_precision_score(truth[i : i + 1], ranked[i : i + 1])
                for i in range(len(truth))
            ]
            found.append((np.array(each), seconds))
        (plain, slow), *others = found
        cells = [f"{interval(each - plain)}, {slow / spent:.1f}×" for each, spent in others]
        rows.append([name, Y.shape[1], f"{plain.mean():.3f}", *cells])
    columns = ["all labels" if d is None else f"{d} components" for d in COMPONENTS]
    return table(["data", "labels", "scikit-learn's", "another seed", *columns], rows)
