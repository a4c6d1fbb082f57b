"""Seeded, stratified, sparse-aware splits of multi-label data, and the published folds."""

from grople.folds.balance import fold_balance
from grople.folds.published import published_folds
from grople.folds.splitters import MultilabelStratifiedKFold, multilabel_train_test_split

__all__ = [
    "MultilabelStratifiedKFold",
    "multilabel_train_test_split",
    "fold_balance",
    "published_folds",
]
