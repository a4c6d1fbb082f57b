"""Pictures of a model: matplotlib axes in, axes out.

Every function takes a fitted model, or what ``inspect_model`` found of it (several pictures of one
model then share the work), and draws on the axes it is given, else on a new figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.errors import require
from grople.inspection._palette import ACCENT, FAINT, MARKS, PALETTE, group_style
from grople.inspection._report import ModelReport, inspect_model

__all__ = [
    "plot_cooccurrence",
    "plot_label_quality",
    "plot_reliability",
    "plot_row_sparsity",
    "plot_tail",
]

Array = NDArray[Any]

#: Labels drawn in a matrix, at most: the most frequent ones.
MOST_DRAWN = 2000
#: Pairs of a row and a label below which a bin of a reliability curve shows nothing but chance.
FEWEST_PAIRS = 20
#: Size of a figure in inches: small enough that its text can be read on a phone.
SIZE = (4.8, 3.5)
_NO_COUNTS = (
    "this {} has no held-out scores: fit it on label matrices with a decision that maximises "
    "a measure, such as decision='example_f1'"
)


def plot_cooccurrence(model: Any, *, by_group: bool = True, ax: Any = None) -> Any:
    """Draw the share of the rows of each label (down) that carry another (across).

    Parameters
    ----------
    model : GroPLE or ModelReport
        A fitted model, or what was found of it.
    by_group : bool
        Whether to order the labels by group (else as they come).
    ax : matplotlib axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from grople import GroPLE
    >>> from grople.datasets import make_grouped_multilabel
    >>> data = make_grouped_multilabel(200, 20, 8, n_groups=2, random_state=0)
    >>> model = GroPLE(n_groups=2, decision="sign", random_state=0).fit(data.X, data.Y)
    >>> plot_cooccurrence(model).get_ylabel()
    'of the rows with this label …'
    """
    report = _inspected(model)
    labels = report.label_moments
    if labels is None:
        raise ValueError(
            f"this {report.kind} keeps no counts of label pairs: fit a model that learns from "
            "moments, or save it with them"
        )
    order = report.order if by_group else np.arange(report.n_labels)
    if len(order) > MOST_DRAWN:
        frequent = np.argsort(-labels.counts, kind="stable")[:MOST_DRAWN]
        order = order[np.isin(order, frequent)]
    labels = labels.select(order)
    counts = labels.counts[:, None].astype(np.float64)
    pairs = labels.pairs()
    share = np.divide(pairs, counts, out=np.zeros(pairs.shape), where=counts > 0)
    np.fill_diagonal(share, np.nan)  # of its own rows every label has all
    ax = _axes(ax, (4.8, 4.0))
    ax.imshow(share, cmap=_colours(), vmin=0.0, vmax=1.0, interpolation="nearest")
    if by_group:
        for edge in np.flatnonzero(np.diff(report.label_groups[order])) + 0.5:
            ax.axhline(edge, color=FAINT, linewidth=0.5)
            ax.axvline(edge, color=FAINT, linewidth=0.5)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_ylabel("of the rows with this label …")
    ax.set_xlabel("… the share that also have this one")
    bar = ax.figure.colorbar(ax.images[0], ax=ax, shrink=0.7, label="share of rows")
    bar.outline.set_visible(False)
    return ax


def plot_row_sparsity(model: Any, *, ax: Any = None) -> Any:
    """Draw which latent dimensions each group uses: the lengths of the rows of V^k."""
    report = _inspected(model)
    if report.row_lengths is None:
        raise ValueError(f"{report.kind} has no label groups, so no rows of V^k to draw")
    ax = _axes(ax)
    lengths = report.row_lengths[:, [group.number for group in report.groups]]
    largest = np.maximum(lengths.max(axis=0, initial=0.0), np.finfo(float).tiny)
    ax.imshow(
        np.where(lengths > 0, lengths / largest, np.nan),
        cmap="viridis", aspect="auto", interpolation="nearest", vmin=0.0, vmax=1.0,
    )  # fmt: skip
    ax.yaxis.get_major_locator().set_params(integer=True)
    # Each column carries the mark of its group.
    ax.set_xticks(range(len(report.groups)), [""] * len(report.groups), minor=False)
    ax.tick_params(axis="x", length=0, pad=10)
    place = ax.get_xaxis_transform()
    for i in range(len(report.groups)):
        style = group_style(i)
        ax.plot(
            i, -0.035, color=style.colour, marker=style.mark, markersize=5, clip_on=False,
            transform=place,
        )  # fmt: skip
    ax.set_xlabel("groups, the largest first")
    ax.set_ylabel("latent dimension")
    bar = ax.figure.colorbar(ax.images[0], ax=ax, shrink=0.7, label="row length / longest of group")
    bar.outline.set_visible(False)
    return ax


def plot_reliability(model: Any, *, ax: Any = None) -> Any:
    """Draw what happened against what was predicted: on the diagonal, probabilities are right.

    Parameters
    ----------
    model : estimator, ModelReport or mapping of str to ReliabilityCurve
        A fitted model with a decision that maximises a measure, what was found of it, or curves by
        name (:func:`grople.metrics.reliability_curve`).
    ax : matplotlib axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from grople.metrics import reliability_curve
    >>> curve = reliability_curve([[1, 0], [1, 0]], [[0.8, 0.1], [0.9, 0.1]])
    >>> plot_reliability({"ours": curve}).get_legend().get_texts()[1].get_text()
    'ours: calibration error 0.125'
    """
    least = 0
    if isinstance(model, Mapping):
        curves = {f"{name}: calibration error {c.error:.3f}": c for name, c in model.items()}
    else:
        report = _inspected(model)
        curves, least = report.reliability, FEWEST_PAIRS
        if not curves:
            raise ValueError(_NO_COUNTS.format(report.kind))
    ax = _plain(_axes(ax, (4.8, 4.2)))
    ax.plot([0, 1], [0, 1], color=FAINT, linewidth=1.2, linestyle="--", label="as predicted")
    for i, (name, curve) in enumerate(curves.items()):
        shown = curve.pairs >= least
        style = {"color": PALETTE[i % len(PALETTE)], "marker": MARKS[i % len(MARKS)]}
        x, y = curve.predicted[shown], curve.observed[shown]
        ax.plot(x, y, label=name, markersize=4.5, linewidth=1.2, **style)
    ax.legend(frameon=False, fontsize=8, loc="upper left")
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("share that was true")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    return ax


def plot_label_quality(model: Any, *, ax: Any = None) -> Any:
    """Draw the average precision of each label against its frequency, and that of chance."""
    report = _inspected(model)
    if report.quality is None or report.frequencies is None:
        raise ValueError(_NO_COUNTS.format(report.kind))
    known = np.isfinite(report.quality.average_precision)
    rows = np.asarray(report.frequencies, dtype=np.float64)[known]
    ax = _plain(_axes(ax))
    precision = report.quality.average_precision[known]
    ax.scatter(rows, precision, s=14, color=ACCENT, alpha=0.6, linewidths=0)
    if report.n_rows and len(rows):
        line = np.geomspace(rows.min(), rows.max(), 50)
        chance = np.minimum(line / report.n_rows, 1.0)
        ax.plot(line, chance, color=FAINT, linewidth=1.2, linestyle="--", label="chance")
        ax.legend(frameon=False, fontsize=8, loc="lower right")
    ax.set_xscale("log")
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("rows with the label")
    ax.set_ylabel("average precision")
    return ax


def plot_tail(model: Any, *, ax: Any = None) -> Any:
    """Draw how many rows each label has, the most frequent first, both scales logarithmic."""
    report = _inspected(model)
    if report.frequencies is None:
        raise ValueError(f"this {report.kind} does not know how many rows carry each label")
    ax = _plain(_axes(ax))
    counts = np.sort(np.asarray(report.frequencies, dtype=np.float64))[::-1]
    counts = counts[counts > 0]
    rank = np.arange(1, len(counts) + 1)
    ax.fill_between(rank, counts, 1.0, color=ACCENT, alpha=0.15, linewidth=0)
    ax.plot(rank, counts, color=ACCENT)
    if len(counts):
        half = int(np.searchsorted(np.cumsum(counts) / counts.sum(), 0.5)) + 1
        ax.axvline(half, color=FAINT, linewidth=1.2, linestyle="--")
        ax.annotate(
            f"{half} of {len(counts)} labels\ncover half of\nall occurrences",
            (half, counts.max()), xytext=(5, 0), textcoords="offset points",
            va="top", fontsize=8, color=FAINT,
        )  # fmt: skip
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("labels, the most frequent first")
    ax.set_ylabel("rows with the label")
    return ax


def _inspected(model: Any) -> ModelReport:
    """Look into a model, unless that has been done."""
    return model if isinstance(model, ModelReport) else inspect_model(model)


def _axes(ax: Any, size: tuple[float, float] = SIZE) -> Any:
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return ax
    figures = require("matplotlib.figure", "report", "Drawing")
    return figures.Figure(figsize=size, layout="constrained").subplots()


def _plain(ax: Any) -> Any:
    """Leave only the two lines that carry a scale."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _colours() -> Any:
    """Return a scale from nothing (the page shows through, be it light or dark) to full colour."""
    colors = require("matplotlib.colors", "report", "Drawing")
    steps = np.linspace(0.0, 1.0, 256)
    low, high = (np.array(colors.to_rgb(c)) for c in (ACCENT, PALETTE[3]))
    rgb = low + np.clip(2 * steps - 0.9, 0, 1)[:, None] * (high - low)
    scale = colors.ListedColormap(np.column_stack([rgb, np.sqrt(steps)]))
    return scale.with_extremes(bad=colors.to_rgba(FAINT, 0.35))
