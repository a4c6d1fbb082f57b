"""The demonstration finds what is in the data."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

from grople.datasets import make_grouped_multilabel
from grople.metrics import example_f1
from grople.showcase import MostFrequent, showcase


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(300, 40, 12, n_groups=3, random_state=0)


def test_it_compares_groups_and_shows_examples(data):
    steps = []
    result = showcase(data, n_folds=2, n_examples=3, report=steps.append)
    assert [row.method for row in result.comparison] == ["most frequent labels", "PLST", "GroPLE"]
    constant, _, ours = (row.means["example_f1"] for row in result.comparison)
    assert ours > constant
    assert len(steps) == 6
    grouped = [label for group in result.groups for label in group.labels]
    assert sorted(grouped) == sorted(data.label_names)
    assert all(list(group.rows) == sorted(group.rows, reverse=True) for group in result.groups)
    assert len(result.examples) == 3
    for example in result.examples:
        row = int(example.name.removeprefix("row "))
        assert set(example.true) == {data.label_names[j] for j in data.Y[[row]].indices}
        chances = [chance for _, chance in example.predicted]
        assert chances == sorted(chances, reverse=True)
        assert all(0 < chance < 1 for chance in chances)
    json.dumps(result.to_dict())


def test_the_constant_prediction_is_the_best_of_its_kind(data):
    model = MostFrequent().fit(data.X, data.Y)
    best = example_f1(data.Y, model.predict(data.X))
    order = np.argsort(-np.asarray(data.Y.sum(axis=0)), kind="stable")
    for k in range(1, 13):
        guess = np.zeros(data.Y.shape, dtype=int)
        guess[:, order[:k]] = 1
        assert example_f1(data.Y, sp.csr_array(guess)) <= best + 1e-12
