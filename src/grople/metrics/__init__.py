"""Measures of multi-label predictions, from sparse counts, with 0/0 explicit.

Label matrices may be dense, sparse or DataFrames of zeros and ones; scores also a callable that
returns a block of rows. ``evaluate`` computes everything at once; ``counts`` and ``ranks`` are the
inner functions for loops that want several measures of one prediction.
"""

from grople.metrics.calibration import (
    ReliabilityCurve,
    expected_calibration_error,
    reliability_curve,
    top_label_calibration_error,
)
from grople.metrics.counting import Counts, counts
from grople.metrics.evaluation import evaluate
from grople.metrics.positions import Ranks, ranks
from grople.metrics.ranking import (
    coverage,
    label_propensities,
    label_ranking_average_precision,
    ndcg_at_k,
    one_error,
    precision_at_k,
    propensity_scored_precision_at_k,
    ranking_loss,
)
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
    "evaluate",
    "Counts",
    "counts",
    "Ranks",
    "ranks",
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
    "precision_at_k",
    "ndcg_at_k",
    "propensity_scored_precision_at_k",
    "label_propensities",
    "one_error",
    "coverage",
    "ranking_loss",
    "label_ranking_average_precision",
    "ReliabilityCurve",
    "reliability_curve",
    "expected_calibration_error",
    "top_label_calibration_error",
]
