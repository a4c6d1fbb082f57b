"""Measures of multi-label predictions."""

from grople.metrics.counting import Counts, counts
from grople.metrics.sets import (
    accuracy,
    example_f1,
    example_precision,
    example_recall,
    hamming_loss,
    macro_f1,
    macro_precision,
    macro_recall,
    micro_f1,
    micro_precision,
    micro_recall,
    subset_accuracy,
)

__all__ = [
    "Counts",
    "counts",
    "accuracy",
    "example_precision",
    "example_recall",
    "example_f1",
    "macro_precision",
    "macro_recall",
    "macro_f1",
    "micro_precision",
    "micro_recall",
    "micro_f1",
    "hamming_loss",
    "subset_accuracy",
]
