"""From scores to calibrated probabilities to label sets, tuned to the measure that counts."""

from grople.decision._calibration import (
    LABEL_BINS,
    SHARED_BINS,
    ScoreCounts,
    ScoreMoments,
    log_odds,
    monotone_curve,
)
from grople.decision._context import NumpyOps, candidate_inputs, input_names
from grople.decision._cooccurrence import CooccurrenceFeature, cooccurrence_feature
from grople.decision._copies import Copies
from grople.decision._decision import Decision
from grople.decision._evidence import HeldOut, HeldOutBlock
from grople.decision._expected import best_prefix, expected_measures
from grople.decision._fit import fit_decision
from grople.decision._hierarchy import LabelHierarchy
from grople.decision._network import Networks, network_log_odds, train_networks
from grople.decision._reranker import Reranker
from grople.decision._rules import (
    FITTED_RULES,
    METRIC_RULES,
    Rule,
    check_rule,
    context_of,
    needs_evidence,
)

__all__ = [
    "FITTED_RULES",
    "LABEL_BINS",
    "METRIC_RULES",
    "SHARED_BINS",
    "CooccurrenceFeature",
    "Copies",
    "Decision",
    "HeldOut",
    "HeldOutBlock",
    "LabelHierarchy",
    "Networks",
    "NumpyOps",
    "Reranker",
    "Rule",
    "ScoreCounts",
    "ScoreMoments",
    "best_prefix",
    "candidate_inputs",
    "check_rule",
    "context_of",
    "cooccurrence_feature",
    "expected_measures",
    "fit_decision",
    "input_names",
    "log_odds",
    "monotone_curve",
    "needs_evidence",
    "network_log_odds",
    "train_networks",
]
