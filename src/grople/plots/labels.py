"""Pictures of labels: where they lie, what they share, how rare they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.errors import require
from grople.inspection import Inspection
from grople.moments import LabelMoments
from grople.plots.axes import ACCENT, FAINT, group_colours, inspected, make_axes, plain

__all__ = [
    "plot_cooccurrence",
    "plot_label_graph",
    "plot_label_map",
    "plot_row_sparsity",
    "plot_tail",
]

Array = NDArray[Any]

#: Labels drawn in a matrix, at most: the most frequent ones.
MOST_DRAWN = 2000
#: Labels whose names stand on the map.
NAMED = 25


def plot_label_graph(model: Any, *, by_group: bool = True, ax: Any = None) -> Any:
    """Draw how often labels occur together, as correlations, ordered by group.

    Parameters
    ----------
    model : GroPLE or Inspection
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
    >>> plot_label_graph(model).get_title()
    'labels by group'
    """
    seen = inspected(model)
    order = _drawn(seen, by_group)
    labels = _moments(seen).select(order)
    correlation = _correlation(labels.signed_gram(), labels.sums, float(labels.n))
    ax = _matrix(make_axes(ax, (6.0, 5.2)), correlation, seen, order if by_group else None, 0.6)
    ax.set_title("labels by group" if by_group else "labels as they come")
    return ax


def plot_cooccurrence(model: Any, *, ax: Any = None) -> Any:
    """Draw the share of the rows of each label (down) that carry another (across), by group.

    Parameters
    ----------
    model : GroPLE or Inspection
        A fitted model, or what was found of it.
    ax : matplotlib axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib axes
    """
    seen = inspected(model)
    order = _drawn(seen, by_group=True)
    labels = _moments(seen).select(order)
    counts = labels.counts[:, None].astype(np.float64)
    pairs = labels.pairs()
    share = np.divide(pairs, counts, out=np.zeros(pairs.shape), where=counts > 0)
    np.fill_diagonal(share, np.nan)  # of its own rows every label has all
    ax = _matrix(make_axes(ax, (6.4, 5.2)), share, seen, order, 1.0)
    ax.set_ylabel("of the rows with this label …")
    ax.set_xlabel("… the share that also have this one")
    ax.figure.colorbar(ax.images[0], ax=ax, shrink=0.7, label="share of rows").outline.set_visible(
        False
    )
    return ax


def plot_label_map(model: Any, *, names: int = NAMED, ax: Any = None) -> Any:
    """Draw the labels in the plane: near are those that the same features speak for.

    The area of a dot is the label's frequency, its colour its group.

    Parameters
    ----------
    model : GroPLE or Inspection
        A fitted model, or what was found of it.
    names : int
        Labels to name: the most frequent.
    ax : matplotlib axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib axes
    """
    seen = inspected(model)
    ax = make_axes(ax, (7.2, 6.0))
    counts = _frequencies(seen)
    area = 12 + 240 * counts / max(float(counts.max(initial=0)), 1.0)
    colours = group_colours(seen.label_groups)
    ax.scatter(*seen.label_map.T, s=area, c=colours, alpha=0.8, linewidths=0)
    for i in np.argsort(-counts, kind="stable")[:names]:
        # A name may contain $: it is no mathematics.
        ax.annotate(
            seen.label_names[i], seen.label_map[i], xytext=(4, 4), textcoords="offset points",
            fontsize=7, parse_math=False,
        )  # fmt: skip
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def plot_row_sparsity(model: Any, *, ax: Any = None) -> Any:
    """Draw which latent dimensions each group uses: the lengths of the rows of V^k.

    Parameters
    ----------
    model : GroPLE or Inspection
        A fitted model, or what was found of it.
    ax : matplotlib axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib axes
    """
    seen = inspected(model)
    if seen.row_lengths is None:
        raise ValueError(f"{seen.kind} has no label groups, so no rows of V^k to draw")
    ax = make_axes(ax, (6.4, 4.6))
    lengths = seen.row_lengths
    largest = np.maximum(lengths.max(axis=0, initial=0.0), np.finfo(float).tiny)
    ax.imshow(
        np.where(lengths > 0, lengths / largest, np.nan),
        cmap="viridis", aspect="auto", interpolation="nearest", vmin=0.0, vmax=1.0,
    )  # fmt: skip
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("group")
    ax.set_ylabel("latent dimension")
    ax.set_title("row lengths of V in each group (blank: exactly zero)")
    return ax


def plot_tail(model: Any, *, ax: Any = None) -> Any:
    """Draw how many rows each label has, the most frequent first, both scales logarithmic.

    Parameters
    ----------
    model : estimator or Inspection
        A fitted model, or what was found of it.
    ax : matplotlib axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib axes
    """
    seen = inspected(model)
    ax = plain(make_axes(ax, (6.4, 3.6)))
    counts = np.sort(_frequencies(seen))[::-1]
    counts = counts[counts > 0]
    rank = np.arange(1, len(counts) + 1)
    ax.fill_between(rank, counts, 1.0, color=ACCENT, alpha=0.15, linewidth=0)
    ax.plot(rank, counts, color=ACCENT)
    if len(counts):
        covered = np.cumsum(counts) / counts.sum()
        half = int(np.searchsorted(covered, 0.5)) + 1
        ax.axvline(half, color=FAINT, linewidth=0.8, linestyle=":")
        ax.annotate(
            f"{half} of {len(counts)} labels\nmake half of all marks",
            (half, counts[0]), xytext=(5, 0), textcoords="offset points",
            va="top", fontsize=8, color=FAINT,
        )  # fmt: skip
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("labels, the most frequent first")
    ax.set_ylabel("rows with the label")
    return ax


def _drawn(seen: Inspection, by_group: bool) -> Array:
    """Return the labels a matrix shows, in its order."""
    order = seen.order if by_group else np.arange(seen.n_labels)
    if len(order) <= MOST_DRAWN:
        return order
    frequent = np.argsort(-_frequencies(seen), kind="stable")[:MOST_DRAWN]
    return order[np.isin(order, frequent)]


def _matrix(ax: Any, values: Array, seen: Inspection, order: Array | None, top: float) -> Any:
    ax.imshow(values, cmap=_colours(), vmin=0.0, vmax=top, interpolation="nearest")
    if order is not None:
        for edge in np.flatnonzero(np.diff(seen.label_groups[order])) + 0.5:
            ax.axhline(edge, color=FAINT, linewidth=0.4)
            ax.axvline(edge, color=FAINT, linewidth=0.4)
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def _colours() -> Any:
    """Return a scale from nothing (the page shows through, be it light or dark) to full colour."""
    colors = require("matplotlib.colors", "report", "Drawing")
    steps = np.linspace(0.0, 1.0, 256)
    low, high = (np.array(colors.to_rgb(c)) for c in (ACCENT, "#d1662f"))
    rgb = low + np.clip(2 * steps - 0.9, 0, 1)[:, None] * (high - low)
    scale = colors.ListedColormap(np.column_stack([rgb, np.sqrt(steps)]))
    return scale.with_extremes(bad=colors.to_rgba(FAINT, 0.35))


def _moments(seen: Inspection) -> LabelMoments:
    if seen.label_moments is None:
        raise ValueError(
            f"this {seen.kind} keeps no counts of label pairs: "
            "fit a model that learns from moments, or save it with them"
        )
    return seen.label_moments


def _frequencies(seen: Inspection) -> Array:
    if seen.frequencies is None:
        return np.ones(seen.n_labels)
    return np.asarray(seen.frequencies, dtype=np.float64)


def _correlation(gram: Array, sums: Array, n: float) -> Array:
    covariance = gram / n - np.multiply.outer(sums, sums) / n**2
    length = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    return covariance * np.multiply.outer(inverse, inverse)
