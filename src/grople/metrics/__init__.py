"""Measures of multi-label predictions, from sparse counts, with an explicit value of 0/0.

Label matrices may be dense, sparse or DataFrames of zeros and ones. ``evaluate`` computes all
measures at once; ``counts`` and ``ranks`` have each of them as a method.
"""

from grople.metrics._calibration import ReliabilityCurve, reliability_curve
from grople.metrics._counts import Counts, accuracy, counts, example_f1, macro_f1, micro_f1
from grople.metrics._evaluate import evaluate
from grople.metrics._inputs import label_indicator
from grople.metrics._ranks import Ranks, ranks

__all__ = [
    "Counts",
    "Ranks",
    "ReliabilityCurve",
    "accuracy",
    "counts",
    "evaluate",
    "example_f1",
    "label_indicator",
    "macro_f1",
    "micro_f1",
    "ranks",
    "reliability_curve",
]
