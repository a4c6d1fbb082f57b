"""The paper's reference scheme on arrays, and the settings behind its tables.

The reference experiment started at random, stopped when an objective moved little, and its stage 3
minimises something that has no minimum. These functions repeat it, choice by choice. Labels are ±1
(Y = 2B − 1), there is no intercept and no scaling, labels without a positive training row are left
out, and a label is predicted where its score is above zero.
"""

from grople.published._embedding import PublishedEmbedding, drop_dead, published_embedding
from grople.published._groups import published_groups
from grople.published._mapping import (
    PublishedMapping,
    PublishedProblem,
    cosine_distance,
    nudged_gram,
    published_mapping,
)
from grople.published._settings import approximation_setting, published_data, published_setting
from grople.published._solve import published_path, published_stages, solve_published

__all__ = [
    "PublishedEmbedding",
    "PublishedMapping",
    "PublishedProblem",
    "approximation_setting",
    "cosine_distance",
    "drop_dead",
    "nudged_gram",
    "published_data",
    "published_embedding",
    "published_groups",
    "published_mapping",
    "published_path",
    "published_setting",
    "published_stages",
    "solve_published",
]
