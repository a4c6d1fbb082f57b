"""scikit-learn estimators: validate, summarise, solve, predict."""

from grople.estimators._base import LabelClassifier
from grople.estimators._decision_classifier import MultilabelDecisionClassifier
from grople.estimators._grople import GroPLE
from grople.estimators._hierarchy import HierarchicalClassifier
from grople.estimators._row_classifier import RowClassifier
from grople.estimators._search import SEARCHED, GroPLECV
from grople.estimators._summary_classifier import SummaryClassifier
from grople.estimators._targets import Targets, encode

__all__ = [
    "GroPLE",
    "GroPLECV",
    "HierarchicalClassifier",
    "LabelClassifier",
    "MultilabelDecisionClassifier",
    "RowClassifier",
    "SEARCHED",
    "SummaryClassifier",
    "Targets",
    "encode",
]
