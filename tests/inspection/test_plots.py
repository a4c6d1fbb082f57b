"""Pictures show what they say."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from grople import GroPLE
from grople.baselines import Ridge
from grople.datasets import make_grouped_multilabel
from grople.inspection import (
    inspect_model,
    plot_cooccurrence,
    plot_label_quality,
    plot_reliability,
    plot_row_sparsity,
    plot_tail,
)
from grople.metrics import reliability_curve

PICTURES = (
    plot_cooccurrence, plot_label_quality, plot_reliability, plot_row_sparsity, plot_tail,
)  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(400, 30, 12, n_groups=3, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return GroPLE(n_groups=3, lambda_2=20.0, random_state=0).fit(data.X, data.Y)


@pytest.fixture(scope="module")
def seen(model):
    return inspect_model(model)


@pytest.mark.parametrize("plot", PICTURES, ids=lambda plot: plot.__name__)
def test_every_picture_draws_on_the_axes_it_is_given_and_names_them(seen, plot):
    given = Figure().subplots()
    assert plot(seen, ax=given) is given
    assert given.get_xlabel()
    assert given.get_ylabel()
    given.figure.savefig("/dev/null", format="svg")


def test_row_lengths_are_blank_exactly_where_they_are_zero(model):
    figure = Figure()
    ax = plot_row_sparsity(model, ax=figure.subplots())
    assert ax.figure is figure
    shown = np.ma.filled(ax.images[0].get_array(), np.nan)
    for column, group in enumerate(inspect_model(model).groups):
        rows = model.components_[:, group.labels]
        np.testing.assert_array_equal(np.isnan(shown[:, column]), ~rows.any(axis=1))
    assert len({line.get_color() for line in ax.lines}) == len(ax.lines) == shown.shape[1]


def test_cooccurrence_is_the_share_of_a_labels_rows(seen, data):
    shown = plot_cooccurrence(seen).images[0].get_array()
    B = data.Y.toarray()[:, seen.order]
    for i, j in [(0, 1), (1, 0), (5, 11)]:
        assert shown[i, j] == pytest.approx(B[B[:, i] == 1, j].mean())


def test_cooccurrence_is_ordered_by_group_or_not(seen, model):
    by_group = plot_cooccurrence(seen)
    assert len(by_group.lines) == 2 * model.label_groups_.max()  # a line each way between groups
    plain = plot_cooccurrence(seen, by_group=False)
    assert not plain.lines
    shown, other = (np.asarray(ax.images[0].get_array()) for ax in (by_group, plain))
    np.testing.assert_array_equal(shown, other[np.ix_(seen.order, seen.order)])


def test_the_tail_falls(seen, data):
    (curve, _) = plot_tail(seen).lines
    np.testing.assert_array_equal(
        curve.get_ydata(), np.sort(np.asarray(data.Y.sum(axis=0)).ravel())[::-1]
    )


def test_reliability_and_quality_are_those_inspected(seen):
    lines = plot_reliability(seen).lines[1:]
    assert [line.get_label() for line in lines] == list(seen.reliability)
    for line, curve in zip(lines, seen.reliability.values(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), curve.observed[curve.pairs >= 20])
    dots = plot_label_quality(seen).collections[0].get_offsets()
    np.testing.assert_allclose(dots[:, 1], seen.quality.average_precision)


def test_any_curves_share_one_diagonal(data):
    truth = data.Y[:100]
    curves = {
        "flat": reliability_curve(truth, np.full(truth.shape, truth.mean()), top=3, n_bins=4),
        "sharp": reliability_curve(truth, 0.8 * truth.toarray() + 0.1),
    }
    diagonal, *lines = plot_reliability(curves).lines
    np.testing.assert_array_equal(diagonal.get_ydata(), [0, 1])
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 2
    for line, (name, curve) in zip(lines, curves.items(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), curve.predicted)
        assert line.get_label() == f"{name}: calibration error {curve.error:.3f}"


def test_pictures_that_a_model_cannot_give_say_why(data):
    model = Ridge(decision="sign").fit(data.X, data.Y)
    with pytest.raises(ValueError, match="no label groups"):
        plot_row_sparsity(model)
    classes = GroPLE(decision="sign").fit(data.X, np.arange(400) % 3)
    with pytest.raises(ValueError, match="held-out"):
        plot_reliability(classes)
    with pytest.raises(ValueError, match="held-out"):
        plot_label_quality(classes)
