"""Pictures of quality: can the probabilities be believed, and which labels are found."""

from __future__ import annotations

from typing import Any

import numpy as np

from grople.inspection import Inspection
from grople.metrics import reliability_curve
from grople.plots.axes import ACCENT, FAINT, inspected, make_axes, plain

__all__ = ["plot_calibration", "plot_label_quality", "plot_reliability"]

#: Colours and marks of all, frequent, middle and rare labels.
_CURVES = ((FAINT, "o"), (ACCENT, "s"), ("#5f9e6e", "^"), ("#c4713f", "D"))


def plot_reliability(model: Any, *, ax: Any = None) -> Any:
    """Draw what happened against what was predicted: on the diagonal, probabilities are right.

    Parameters
    ----------
    model : estimator or Inspection
        A fitted model with a decision that maximises a measure, or what was found of it.
    ax : matplotlib axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib axes
    """
    seen = inspected(model)
    if not seen.reliability:
        raise ValueError(_NO_COUNTS.format(seen.kind))
    ax = _with_diagonal(ax)
    for curve, style in zip(seen.reliability, _CURVES, strict=False):
        _draw_curve(ax, curve, curve.name, *style)
    return ax


def plot_calibration(
    y_true: Any,
    probabilities: Any,
    *,
    top: int | None = None,
    n_bins: int = 15,
    label: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw what happened against any predicted probabilities, with the expected calibration error.

    On the same axes, several calls compare several predictions.

    Parameters
    ----------
    y_true : array-like, sparse matrix or DataFrame of shape (n_rows, n_labels)
        True labels, zeros and ones.
    probabilities : array-like or callable
        Probabilities, see :func:`grople.metrics.reliability_curve`.
    top : int, optional
        Look only at so many of the most probable labels of each row.
    n_bins : int
        Bins, about as many pairs in each.
    label : str, optional
        What the legend calls it.
    ax : matplotlib axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> ax = plot_calibration([[1, 0], [1, 0]], [[0.8, 0.1], [0.9, 0.1]], label="ours")
    >>> ax.get_legend().get_texts()[0].get_text()
    'ours: calibration error 0.125'
    """
    curve = reliability_curve(y_true, probabilities, top=top, n_bins=n_bins)
    ax = _with_diagonal(ax)
    style = _CURVES[len(ax.lines) % len(_CURVES)]
    named = f"calibration error {curve.error:.3f}"
    _draw_curve(ax, curve, f"{label}: {named}" if label else named, *style)
    return ax


def plot_label_quality(model: Any, *, ax: Any = None) -> Any:
    """Draw the average precision of each label against its frequency.

    The dotted line is what a ranking by chance would reach.

    Parameters
    ----------
    model : estimator or Inspection
        A fitted model with a decision that maximises a measure, or what was found of it.
    ax : matplotlib axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib axes
    """
    seen = inspected(model)
    rows, precision = _quality(seen)
    ax = plain(make_axes(ax, (6.4, 4.2)))
    ax.scatter(rows, precision, s=14, color=ACCENT, alpha=0.6, linewidths=0)
    if seen.n_rows and len(rows):
        line = np.geomspace(rows.min(), rows.max(), 50)
        chance = np.minimum(line / seen.n_rows, 1.0)
        ax.plot(line, chance, color=FAINT, linewidth=0.8, linestyle=":")
    ax.set_xscale("log")
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("rows with the label")
    ax.set_ylabel(f"average precision{' on held-out rows' if seen.held_out else ''}")
    return ax


def _with_diagonal(ax: Any) -> Any:
    """Return axes for what happened against what was predicted."""
    ax = plain(make_axes(ax, (6.0, 4.8)))
    if not ax.lines:
        ax.plot([0, 1], [0, 1], color=FAINT, linewidth=0.8, linestyle=":")
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("share that was true")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    return ax


def _draw_curve(ax: Any, curve: Any, label: str, colour: str, mark: str) -> None:
    ax.plot(
        curve.predicted, curve.observed, color=colour, marker=mark, markersize=4.5,
        linewidth=1.2, label=label,
    )  # fmt: skip
    ax.legend(frameon=False, fontsize=8, loc="upper left")


def _quality(seen: Inspection) -> tuple[Any, Any]:
    if seen.quality is None or seen.frequencies is None:
        raise ValueError(_NO_COUNTS.format(seen.kind))
    known = np.isfinite(seen.quality.average_precision)
    rows = np.asarray(seen.frequencies, dtype=np.float64)[known]
    return rows, seen.quality.average_precision[known]


_NO_COUNTS = (
    "this {} has no held-out scores: fit it on label matrices with a decision that maximises "
    "a measure, such as decision='example_f1'"
)
