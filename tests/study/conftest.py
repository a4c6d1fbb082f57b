"""A tiny data set as a file, for every worker process to read."""

from __future__ import annotations

import pytest

from grople.datasets import make_grouped_multilabel, write
from grople.study.methods import METHODS
from grople.study.splits import data
from grople.study.units import Batch


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """The path of a made data set: 120 rows, 15 features, 8 labels."""
    path = tmp_path_factory.mktemp("data") / "tiny.npz"
    write(make_grouped_multilabel(120, 15, 8, n_groups=2, random_state=0), path)
    return str(path)


@pytest.fixture(scope="session")
def plan(tiny):
    """A plan of 80 units that takes about a second."""
    mark = data(tiny).fingerprint
    return [
        Batch("published", tiny, name, fold, mark, tuple(METHODS[name].quick_grid))
        for name in ("GroPLE", "PLST", "LLSF", "LEML")
        for fold in (0, 1)
    ]
