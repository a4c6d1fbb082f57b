"""Draw the pictures of the documentation from the embedded data set.

Run ``python tools/make_pictures.py``; it writes ``docs/images/*.png``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from grople import GroPLE
from grople.datasets import load
from grople.decision import Rule
from grople.inspection import plot_cooccurrence, plot_reliability
from grople.metrics import reliability_curve

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"


def draw_groups(data: Any) -> None:
    """Draw the labels before and after grouping."""
    model = GroPLE(grouping="cosine", n_groups=20, decision="sign", random_state=0).fit(
        data.X, data.Y
    )
    figure = Figure(figsize=(8, 4.1), layout="constrained", dpi=90)
    left, right = figure.subplots(1, 2)
    plot_cooccurrence(model, by_group=False, ax=left)
    plot_cooccurrence(model, ax=right)
    figure.suptitle("169 tags of Debian packages: which occur together")
    FigureCanvasAgg(figure).print_png(FOLDER / "groups.png")


def draw_reliability(data: Any) -> None:
    """Draw whether probabilities hold on unseen rows, without and with the re-ranker."""
    model = GroPLE(random_state=0).fit(data.X[:3000], data.Y[:3000])
    figure = Figure(figsize=(5, 3.8), layout="constrained", dpi=90)
    ax = figure.subplots()
    curves = {}
    for name, context in (("calibrated scores", False), ("re-ranker", True)):
        model.set_params(decision=Rule("example_f1", context=context))
        chances = model.predict_proba(data.X[3000:])
        curves[name] = reliability_curve(data.Y[3000:], chances, top=5)
    plot_reliability(curves, ax=ax)
    ax.set_title("the five most probable tags of 998 unseen packages", fontsize=10)
    FigureCanvasAgg(figure).print_png(FOLDER / "reliability.png")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    embedded = load("debtags-mini")
    draw_groups(embedded)
    draw_reliability(embedded)
