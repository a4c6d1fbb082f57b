"""Pictures of a model: matplotlib axes in, axes out."""

from __future__ import annotations

from typing import Any

import numpy as np

from grople.errors import require
from grople.estimator import GroPLE

__all__ = ["plot_label_graph", "plot_row_sparsity"]


def plot_label_graph(model: GroPLE, *, by_group: bool = True, ax: Any = None) -> Any:
    """Draw how often labels occur together, as correlations, ordered by group.

    Parameters
    ----------
    model : GroPLE
        A fitted model.
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
    ax = _axes(ax)
    groups = model.label_groups_
    labels = model.moments_.labels
    order = np.lexsort((-labels.counts, groups)) if by_group else np.arange(len(groups))
    correlation = _correlation(labels.signed_gram(), labels.sums, float(labels.n))
    ax.imshow(correlation[np.ix_(order, order)], cmap="magma", vmin=0.0, vmax=0.6)
    if by_group:
        for edge in np.flatnonzero(np.diff(groups[order])) + 0.5:
            ax.axhline(edge, color="white", linewidth=0.4)
            ax.axvline(edge, color="white", linewidth=0.4)
    ax.set_title("labels by group" if by_group else "labels as they come")
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def plot_row_sparsity(model: GroPLE, *, ax: Any = None) -> Any:
    """Draw which latent dimensions each group uses: the lengths of the rows of V^k.

    Parameters
    ----------
    model : GroPLE
        A fitted model.
    ax : matplotlib axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib axes
    """
    ax = _axes(ax)
    groups = model.label_groups_
    n_groups = int(groups.max()) + 1
    lengths = np.stack(
        [np.linalg.norm(model.components_[:, groups == k], axis=1) for k in range(n_groups)],
        axis=1,
    )
    largest = np.maximum(lengths.max(axis=0), np.finfo(float).tiny)
    ax.imshow(np.where(lengths > 0, lengths / largest, np.nan), cmap="viridis", aspect="auto")
    ax.set_xlabel("group")
    ax.set_ylabel("latent dimension")
    ax.set_title("row lengths of V in each group (blank: exactly zero)")
    return ax


def _correlation(gram: Any, sums: Any, n: float) -> Any:
    covariance = gram / n - np.multiply.outer(sums, sums) / n**2
    length = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    return covariance * np.multiply.outer(inverse, inverse)


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    figure = require("matplotlib.figure", "report", "Drawing").Figure(layout="constrained")
    return figure.subplots()
