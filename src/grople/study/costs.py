"""What each stage costs: seconds and memory on made data of a given size."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grople.datasets import make_grouped_multilabel
from grople.moments import summarise
from grople.solver import MappingProblem, embed_labels, group_labels

__all__ = ["exponent", "stage_costs"]

#: Each stage is timed as often as this, and the fastest counts.
REPEATS = 3


def stage_costs(
    n_rows: int, n_features: int, n_labels: int, n_components: int, seed: int = 0
) -> dict[str, float]:
    """Return seconds and the peak of memory (MB) of moments, groups, embedding and mapping.

    Seconds are the processor's, so that what else runs on the machine matters little.

    Examples
    --------
    >>> sorted(stage_costs(60, 10, 6, 3))[:2]
    ['embedding_megabytes', 'embedding_seconds']
    """
    data = make_grouped_multilabel(n_rows, n_features, n_labels, n_groups=3, random_state=seed)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    result: dict[str, float] = {}

    def measured(name: str, work: Callable[[], Any]) -> Any:
        seconds = []
        for _ in range(REPEATS):
            begun = time.process_time()
            work()
            seconds.append(time.process_time() - begun)
        result[f"{name}_seconds"] = min(seconds)
        tracemalloc.start()
        found = work()
        result[f"{name}_megabytes"] = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        return found

    moments = measured("moments", lambda: summarise(X, data.Y).matrices())
    groups = measured("groups", lambda: group_labels(moments.labels, "spectral", 5, seed))
    embedding = measured(
        "embedding",
        # A fixed number of iterations: a certificate would stop earlier on easier data.
        lambda: embed_labels(
            moments.labels, groups, n_components=n_components, tol=0.0, max_iter=5
        ),
    )
    measured("mapping", lambda: MappingProblem(moments, embedding).solve(0.1, 0.0, 1.0))
    return result


def exponent(sizes: Sequence[float] | ArrayLike, values: Sequence[float] | ArrayLike) -> float:
    """Return p of ``value ~ size^p`` by least squares of the logarithms.

    Examples
    --------
    >>> round(exponent([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    x, y = (np.log(np.maximum(np.asarray(part, float), 1e-12)) for part in (sizes, values))
    return float(np.polyfit(x, y, 1)[0])
