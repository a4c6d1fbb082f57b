"""The behaviour the published numbers were computed with, from second moments.

The default stages of the library converge and stop on a certificate. The published experiment did
neither: it started at random, stopped when an objective moved little, and its stage 3 minimises
something that has no minimum. These functions repeat it, choice by choice, so that its tables can
be recomputed; nothing else in the library depends on them.

Labels are ±1 here (Y = 2B − 1), there is no intercept and no scaling, labels without a positive
training row are left out, and a label is predicted where its score is above zero.
"""

from __future__ import annotations

from grople.published.embedding import PublishedEmbedding, drop_dead, published_embedding
from grople.published.groups import published_groups
from grople.published.mapping import (
    PublishedMapping,
    cosine_distance,
    nudged_gram,
    published_descent,
    published_mapping,
)

__all__ = [
    "PUBLISHED_SETTINGS",
    "PublishedEmbedding",
    "PublishedMapping",
    "cosine_distance",
    "drop_dead",
    "nudged_gram",
    "published_descent",
    "published_embedding",
    "published_groups",
    "published_mapping",
]

PUBLISHED_SETTINGS: dict[str, tuple[float, float]] = {
    "genbase": (0.1, 1e-4),
    "medical": (1e-4, 1.0),
    "CAL500": (1e4, 1e4),
    "corel5k": (1e3, 1e-4),
    "rcv1subset1": (100.0, 1e-4),
    "rcv1subset2": (100.0, 1e-4),
    "rcv1subset3": (100.0, 0.1),
    "bibtex": (1e3, 1e-4),
    "corel16k001": (1e4, 10.0),
    "delicious": (100.0, 0.01),
    "mediamill": (1e4, 0.1),
    "bookmarks": (1e4, 1e-4),
}
"""(α, β) of stage 3, one pair a data set for all folds and metrics."""
