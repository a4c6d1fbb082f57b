"""Pictures show what they say."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from grople import GroPLE
from grople.datasets import make_grouped_multilabel
from grople.plots import plot_label_graph, plot_row_sparsity


@pytest.fixture(scope="module")
def model():
    data = make_grouped_multilabel(400, 30, 12, n_groups=3, random_state=0)
    return GroPLE(n_groups=3, lambda_2=20.0, decision="sign", random_state=0).fit(data.X, data.Y)


def test_the_label_graph_is_ordered_by_group(model):
    ax = plot_label_graph(model)
    shown = ax.images[0].get_array()
    np.testing.assert_allclose(np.diagonal(shown), 1.0)
    assert len(ax.lines) == 2 * (model.label_groups_.max())  # a line each way between groups
    plain = plot_label_graph(model, by_group=False).images[0].get_array()
    np.testing.assert_allclose(np.sort(plain, axis=None), np.sort(shown, axis=None))


def test_row_lengths_are_blank_exactly_where_they_are_zero(model):
    figure = Figure()
    ax = plot_row_sparsity(model, ax=figure.subplots())
    assert ax.figure is figure
    shown = np.ma.filled(ax.images[0].get_array(), np.nan)
    for group in range(shown.shape[1]):
        rows = model.components_[:, model.label_groups_ == group]
        np.testing.assert_array_equal(np.isnan(shown[:, group]), ~rows.any(axis=1))
