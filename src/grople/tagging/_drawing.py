"""A comparison as a picture."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from grople.baselines import Comparison
from grople.errors import require
from grople.files import written

__all__ = ["PICTURES", "check_picture", "draw_comparison", "plot_comparison"]

#: Kinds of pictures, by the end of the file's name.
PICTURES = ("png", "svg", "pdf")


def check_picture(path: Path) -> str:
    """Return the kind of a picture, or say which there are; this needs matplotlib.

    Examples
    --------
    >>> check_picture(Path("films.png"))
    'png'
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in PICTURES:
        raise ValueError(f"{path}: a picture ends in {', '.join('.' + k for k in PICTURES)}")
    require("matplotlib", "report", "Drawing a comparison")
    return kind


def plot_comparison(comparison: Comparison, ax: Any) -> Any:
    """Draw the mean of every measure for each method, with its spread over the folds.

    Parameters
    ----------
    comparison : Comparison
        What to draw.
    ax : matplotlib axes
        Where to.

    Returns
    -------
    matplotlib axes
    """
    measures = list(comparison.methods[0].values)
    height = 0.8 / len(measures)
    for i, measure in enumerate(measures):
        places = [
            row + (i - (len(measures) - 1) / 2) * height for row in range(len(comparison.methods))
        ]
        ax.barh(
            places,
            [method.mean(measure) for method in comparison.methods],
            height * 0.9,
            xerr=[method.spread(measure) for method in comparison.methods],
            label=measure.replace("_", " "),
            error_kw={"linewidth": 0.8, "ecolor": "0.3"},
        )
    ax.set_yticks(range(len(comparison.methods)), [method.method for method in comparison.methods])
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    ax.set_xlabel(f"mean of {comparison.n_folds} folds (bars: standard deviation)")
    ax.legend(frameon=False, ncols=len(measures), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def draw_comparison(comparison: Comparison, path: str | Path) -> None:
    """Write a picture of a comparison, whole or not at all."""
    kind = check_picture(Path(path))
    figures = require("matplotlib.figure", "report", "Drawing a comparison")
    figure = figures.Figure(figsize=(8, 1.2 + 0.7 * len(comparison.methods)), layout="constrained")
    plot_comparison(comparison, figure.subplots())
    drawn = io.BytesIO()
    figure.savefig(drawn, format=kind, dpi=150)
    with written(path) as (stream,):
        stream.write(drawn.getvalue())
