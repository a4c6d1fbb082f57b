"""Turn records into feature rows with a fitted map that is stored with the model."""

from grople.features._blocks import (
    BlockFeatures,
    BlockRange,
    FeatureBlock,
    join_blocks,
    union_blocks,
)
from grople.features._columns import PlainFeatures, plain_columns
from grople.features._combined import (
    Features,
    FeaturesWithInteractions,
    feature_blocks,
    with_interactions,
    without_interactions,
)
from grople.features._interactions import InteractionTable
from grople.features._table import CategoryColumn, NumberColumn, TableColumns, TableFeatures
from grople.features._text import TextFeatures, fit_text, scan_text
from grople.features._transformer import InteractionFeatures

__all__ = [
    "BlockFeatures",
    "BlockRange",
    "CategoryColumn",
    "FeatureBlock",
    "Features",
    "FeaturesWithInteractions",
    "InteractionFeatures",
    "InteractionTable",
    "NumberColumn",
    "PlainFeatures",
    "TableColumns",
    "TableFeatures",
    "TextFeatures",
    "feature_blocks",
    "fit_text",
    "join_blocks",
    "plain_columns",
    "scan_text",
    "union_blocks",
    "with_interactions",
    "without_interactions",
]
