"""A comparison on a terminal."""

from __future__ import annotations

import numpy as np

from grople.baselines import Comparison
from grople.inspection import Cell, Table

__all__ = ["quality_table"]


def quality_table(comparison: Comparison, *, ranks: bool = False) -> Table:
    """Return the measures of every method, the best in bold."""
    measures = tuple(comparison.methods[0].values)
    rows = []
    for method in comparison.methods:
        cells = [
            Cell(
                method.mean(m),
                f"{method.mean(m):.3f} ± {method.spread(m):.3f}",
                emphasis="bold" if method.mean(m) == comparison.best(m) else "",
            )
            for m in measures
        ]
        seconds = float(np.mean(method.fit_seconds))
        rank = [Cell(method.rank, f"{method.rank:.1f}")] if ranks else []
        rows.append([method.method, *cells, *rank, Cell(seconds, f"{seconds:.1f}")])
    ranked = f"; ranked by {comparison.metric}" if ranks else ""
    return Table(
        ["method", *measures, *(["rank"] if ranks else []), "fit s"],
        rows,
        caption=f"cross-validated on {comparison.n_folds} folds, mean ± standard deviation "
        f"(0/0 = 0){ranked}",
    )
