"""What a fitted model shows: groups, labels, the features behind them, and how far to trust it."""

from grople.inspection.counted import LabelQuality, Reliability, label_quality, reliability
from grople.inspection.groups import Dimension, GroupPortrait
from grople.inspection.model import Inspection, inspect_model

__all__ = [
    "Dimension",
    "GroupPortrait",
    "Inspection",
    "LabelQuality",
    "Reliability",
    "inspect_model",
    "label_quality",
    "reliability",
]
