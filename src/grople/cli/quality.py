"""A comparison on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grople.baselines import Comparison

__all__ = ["show_quality"]


def show_quality(comparison: Comparison, console: Console, *, ranks: bool = False) -> None:
    """Print the measures of every method, the best in bold."""
    measures = tuple(comparison.methods[0].values)
    console.print(
        f"cross-validated on {comparison.n_folds} folds, mean ± standard deviation (0/0 = 0)"
        + (f"; ranked by {comparison.metric}" if ranks else "")
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("method", no_wrap=True)
    for measure in measures:
        table.add_column(measure, justify="right", no_wrap=True)
    if ranks:
        table.add_column("rank", justify="right")
    table.add_column("fit s", justify="right")
    for method in comparison.methods:
        cells = [
            Text(
                f"{method.mean(m):.3f} ± {method.spread(m):.3f}",
                style="bold" if method.mean(m) == comparison.best(m) else "",
            )
            for m in measures
        ]
        seconds = sum(method.fit_seconds) / len(method.fit_seconds)
        rank = [f"{method.rank:.1f}"] if ranks else []
        table.add_row(method.method, *cells, *rank, f"{seconds:.1f}")
    console.print(table)
