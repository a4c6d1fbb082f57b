"""Seeded, stratified, sparse-aware folds of multi-label data, and the published ones."""

from grople.folds._published import published_folds, published_splits
from grople.folds._splitter import MultilabelStratifiedKFold

__all__ = ["MultilabelStratifiedKFold", "published_folds", "published_splits"]
