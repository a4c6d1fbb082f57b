"""Pictures show what they say."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from grople import GroPLE, plots
from grople.baselines import Ridge
from grople.datasets import make_grouped_multilabel
from grople.inspection import inspect_model
from grople.metrics import reliability_curve
from grople.plots import (
    plot_calibration,
    plot_cooccurrence,
    plot_label_graph,
    plot_label_map,
    plot_label_quality,
    plot_reliability,
    plot_row_sparsity,
    plot_tail,
)


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(400, 30, 12, n_groups=3, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return GroPLE(n_groups=3, lambda_2=20.0, random_state=0).fit(data.X, data.Y)


@pytest.fixture(scope="module")
def seen(model):
    return inspect_model(model)


def test_every_picture_draws_on_the_axes_it_is_given(seen):
    for name in set(plots.__all__) - {"plot_calibration"}:  # which takes no model
        given = Figure().subplots()
        assert getattr(plots, name)(seen, ax=given) is given
        given.figure.savefig("/dev/null", format="svg")


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


def test_cooccurrence_is_the_share_of_a_labels_rows(seen, data):
    shown = plot_cooccurrence(seen).images[0].get_array()
    B = data.Y.toarray()[:, seen.order]
    for i, j in [(0, 1), (1, 0), (5, 11)]:
        assert shown[i, j] == pytest.approx(B[B[:, i] == 1, j].mean())


def test_the_map_has_a_dot_a_label_larger_for_more_rows(seen):
    ax = plot_label_map(seen, names=3)
    (dots,) = ax.collections
    np.testing.assert_allclose(dots.get_offsets(), seen.label_map)
    assert np.argmax(dots.get_sizes()) == np.argmax(seen.frequencies)
    names = {text.get_text() for text in ax.texts}
    frequent = np.argsort(-seen.frequencies, kind="stable")[:3]
    assert names == {seen.label_names[i] for i in frequent}


def test_the_tail_falls(seen, data):
    (curve, _) = plot_tail(seen).lines
    np.testing.assert_array_equal(
        curve.get_ydata(), np.sort(np.asarray(data.Y.sum(axis=0)).ravel())[::-1]
    )


def test_reliability_and_quality_are_those_inspected(seen):
    lines = plot_reliability(seen).lines[1:]
    assert [line.get_label() for line in lines] == [curve.name for curve in seen.reliability]
    for line, curve in zip(lines, seen.reliability, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), curve.observed)
    dots = plot_label_quality(seen).collections[0].get_offsets()
    np.testing.assert_allclose(dots[:, 1], seen.quality.average_precision)


def test_calibration_of_several_predictions_on_one_diagonal(data):
    truth = data.Y[:100]
    flat = np.full(truth.shape, truth.mean())
    sharp = 0.8 * truth.toarray() + 0.1
    ax = plot_calibration(truth, flat, label="flat", top=3, n_bins=4)
    assert plot_calibration(truth, sharp, ax=ax) is ax
    diagonal, first, second = ax.lines
    np.testing.assert_array_equal(diagonal.get_ydata(), [0, 1])
    assert first.get_color() != second.get_color()
    for line, curve in (
        (first, reliability_curve(truth, flat, top=3, n_bins=4)),
        (second, reliability_curve(truth, sharp)),
    ):
        np.testing.assert_array_equal(line.get_xdata(), curve.predicted)
        np.testing.assert_array_equal(line.get_ydata(), curve.observed)
        assert f"calibration error {curve.error:.3f}" in line.get_label()


def test_pictures_that_a_model_cannot_give_say_why(data):
    model = Ridge(decision="sign").fit(data.X, data.Y)
    with pytest.raises(ValueError, match="no label groups"):
        plot_row_sparsity(model)
    classes = GroPLE(decision="sign").fit(data.X, np.arange(400) % 3)
    with pytest.raises(ValueError, match="held-out"):
        plot_reliability(classes)
    with pytest.raises(ValueError, match="held-out"):
        plot_label_quality(classes)
