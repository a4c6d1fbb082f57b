"""From scores to probabilities to labels, tuned to the measure that counts.

Decisions are fitted on out-of-fold scores: how many (row, label) pairs fall into each bin of the
score and how many of them carry the label (:class:`ScoreCounts`), and the likeliest labels of each
row (:class:`Evidence`). Where no rows are kept, the means and spreads of scores that the moments
imply take their place. A monotone curve turns scores into probabilities, the context decoder takes
a second look at the candidates of each row, and the rules maximise the chosen measure.
"""

from typing import Any

from grople.decision.context import ContextDecoder
from grople.decision.counts import LABEL_BINS, SHARED_BINS, ScoreCounts
from grople.decision.evidence import Candidates, Evidence, ScoredBlock
from grople.decision.expected import best_prefix, expected_measures
from grople.decision.fitting import fit_decision
from grople.decision.model import Decision
from grople.decision.rules import (
    FITTED_RULES,
    METRIC_RULES,
    Rule,
    check_rule,
    needs_counts,
)

__all__ = [
    "FITTED_RULES",
    "LABEL_BINS",
    "METRIC_RULES",
    "SHARED_BINS",
    "Candidates",
    "ContextDecoder",
    "Decision",
    "Evidence",
    "Rule",
    "ScoreCounts",
    "ScoredBlock",
    "best_prefix",
    "check_rule",
    "expected_measures",
    "fit_decision",
    "needs_counts",
]


def __getattr__(name: str) -> Any:
    # The meta-estimator stands to the right of this room, but people look for it here.
    if name == "MultilabelDecisionClassifier":
        from grople.meta import MultilabelDecisionClassifier

        return MultilabelDecisionClassifier
    raise AttributeError(f"module 'grople.decision' has no attribute {name!r}")
