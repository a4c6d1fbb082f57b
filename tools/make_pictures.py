"""Draw the picture of the README from the embedded data set.

Run ``python tools/make_pictures.py``; it writes ``docs/images/groups.png``.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from grople import GroPLE
from grople.datasets import load
from grople.plots import plot_label_graph

TARGET = Path(__file__).resolve().parents[1] / "docs" / "images" / "groups.png"


def main() -> None:
    """Fit the embedded data set and draw its labels before and after grouping."""
    data = load("debtags-mini")
    model = GroPLE(grouping="cosine", n_groups=20, decision="sign", random_state=0).fit(
        data.X, data.Y
    )
    figure = Figure(figsize=(8, 4.1), layout="constrained", dpi=90)
    left, right = figure.subplots(1, 2)
    plot_label_graph(model, by_group=False, ax=left)
    plot_label_graph(model, ax=right)
    figure.suptitle("169 tags of Debian packages: which occur together")
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    FigureCanvasAgg(figure).print_png(TARGET)


if __name__ == "__main__":
    main()
