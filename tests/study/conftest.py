"""A tiny data set as a file, for every worker process to read, and made-up stores."""

from __future__ import annotations

import pytest

from grople.datasets import make_grouped_multilabel, write
from grople.study import METRICS, PAPER_METHODS, Run, Scope, Store, printed_table, setting_text

#: A setting of each method that belongs to the comparison.
SETTINGS = {
    "GroPLE": {
        "n_components": 100, "n_groups": 10, "lambda_1": 1e-3, "lambda_2": 1.0, "alpha": 1.0,
        "beta": 1.0,
    },
    "LLSF": {"alpha": 1.0, "beta": 1.0, "gamma": 0.1},
    "FaIE": {"n_components": 0.5, "ridge": 1.0, "alpha": 1.0},
    "MLSF": {"gamma": 1.0, "alpha": 0.0, "meta_label_size": 10, "solver": "libsvm"},
    "BSVM": {"C": 1.0, "solver": "libsvm"},
} | {name: {"n_components": 0.5, "ridge": 1.0} for name in ("PLST", "CPLST", "LEML")}  # fmt: skip


def made_up(store, method, values, *, dataset="medical", task="published", setting=None, **more):
    """Store a run for each fold whose four measures are one value."""
    text = setting_text(SETTINGS[method] if setting is None else setting)
    store.add(
        [
            (Run(task, dataset, method, fold, text), dict.fromkeys(METRICS, value) | more, 1.0)
            for fold, value in enumerate(values)
        ]
    )


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """The path of a made data set: 120 rows, 15 features, 8 labels."""
    path = tmp_path_factory.mktemp("data") / "tiny.npz"
    write(make_grouped_multilabel(120, 15, 8, n_groups=2, random_state=0), path)
    return str(path)


@pytest.fixture(scope="session")
def quick(tiny):
    """The scope of a quick run on it."""
    return Scope((tiny,), quick=True)


@pytest.fixture(scope="session")
def printed(tmp_path_factory):
    """A store whose comparison is the paper's own table: five equal folds of each cell."""
    store = Store(tmp_path_factory.mktemp("printed"))
    means = printed_table("comparison")["mean"].unstack("metric").dropna()
    store.add(
        [
            (
                Run("published", dataset, method, fold, setting_text(SETTINGS[method])),
                values.to_dict(),
                1.0,
            )
            for (dataset, method), values in means.iterrows()
            for fold in range(5)
            if dataset != "bookmarks" and method in PAPER_METHODS
        ]
    )
    store.note_plan(["comparison", "statistics"], {"quick": False})
    return store
