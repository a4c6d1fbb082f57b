"""Labels that vary: of a label that all rows have, or none, there is nothing to learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.linear import LinearScores
from grople.moments import Moments

__all__ = ["active_labels", "learn_active_labels"]

Array = NDArray[Any]


def active_labels(moments: Moments) -> tuple[Array, Array]:
    """Return the labels that vary, and the constant score that each label has if it does not."""
    counts = moments.labels.counts
    return (
        np.flatnonzero((counts > 0) & (counts < moments.n)),
        np.where(counts > 0, 1.0, -1.0),
    )


def learn_active_labels(
    moments: Moments, learn: Callable[[Moments], tuple[Any, LinearScores]]
) -> tuple[Any, LinearScores, Array]:
    """Learn from the labels that vary; a label that never or always occurs gets a constant score.

    Returns what ``learn`` returned, with the scores widened to all labels, and the labels that
    vary.
    """
    active, constants = active_labels(moments)
    if len(active) == moments.n_labels:
        return *learn(moments), active
    details, scores = learn(moments.select_labels(active))
    return details, scores.expanded(active, constants), active
