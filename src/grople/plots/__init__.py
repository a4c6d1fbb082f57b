"""Pictures of a model: matplotlib axes in, axes out.

Every function takes a fitted model, or what :func:`grople.inspection.inspect_model` found of it
(several pictures of one model then share the work), and draws on the axes it is given;
``plot_calibration`` takes labels and probabilities, wherever they come from.
"""

from grople.plots.labels import (
    plot_cooccurrence,
    plot_label_graph,
    plot_label_map,
    plot_row_sparsity,
    plot_tail,
)
from grople.plots.quality import plot_calibration, plot_label_quality, plot_reliability

__all__ = [
    "plot_calibration",
    "plot_cooccurrence",
    "plot_label_graph",
    "plot_label_map",
    "plot_label_quality",
    "plot_reliability",
    "plot_row_sparsity",
    "plot_tail",
]
