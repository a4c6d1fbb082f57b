"""Turn records into feature rows with a fitted map that is stored with the model."""

from grople.features._columns import PlainFeatures, plain_columns
from grople.features._combined import (
    Features,
    FeaturesWithInteractions,
    with_interactions,
    without_interactions,
)
from grople.features._interactions import InteractionTable
from grople.features._table import CategoryColumn, NumberColumn, TableColumns, TableFeatures
from grople.features._text import TextFeatures, fit_text, scan_text
from grople.features._transformer import InteractionFeatures

__all__ = [
    "Features",
    "CategoryColumn",
    "FeaturesWithInteractions",
    "InteractionFeatures",
    "InteractionTable",
    "NumberColumn",
    "PlainFeatures",
    "TableColumns",
    "TableFeatures",
    "TextFeatures",
    "fit_text",
    "plain_columns",
    "scan_text",
    "with_interactions",
    "without_interactions",
]
