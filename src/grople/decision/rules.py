"""Rules: what turns the probabilities of a row into its labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = [
    "FITTED_RULES",
    "METRIC_RULES",
    "Rule",
    "as_rule",
    "check_rule",
    "marks_of",
    "needs_counts",
]

Array = NDArray[Any]

#: Rules that maximise a measure, by the measure's name.
METRIC_RULES = ("accuracy", "example_f1", "macro_f1", "micro_f1")
#: Rules that are fitted on out-of-fold scores.
FITTED_RULES = (
    *METRIC_RULES,
    "hamming",
    "subset",
    "threshold",
    "cardinality",
    "proportional",
    "top_k",
)
CALIBRATIONS = ("isotonic", "sigmoid")
SHARES = ("all", "group", "label")


@dataclass(frozen=True)
class Rule:
    """A decision spelt out: which rule, on which probabilities.

    Parameters
    ----------
    name : str
        ``"accuracy"``, ``"example_f1"``: for each row the set with the largest expected measure.
        ``"micro_f1"``: one threshold for all labels; ``"macro_f1"``: one a label.
        ``"hamming"``, ``"subset"``: every label that is likelier than not. (The likeliest set of
        labels that are independent given the row is the same set.)
        ``"threshold"``: the one threshold with the best measure of ``metric`` out-of-fold.
        ``"cardinality"``: the one threshold that gives rows as many labels as training rows had.
        ``"proportional"``: for each label the threshold that gives it as often as in training.
        ``"top_k"``: the k likeliest labels.
    calibration : {"isotonic", "sigmoid"}
        The curve from scores to probabilities.
    share : {"all", "group", "label"}
        Whether all labels share the curve, or each group or label bends it, shrunk to the shared
        one as far as it has few positives.
    context : bool or "auto"
        Whether a second look at the candidates of each row (:class:`ContextDecoder`) corrects the
        probabilities; ``"auto"`` where that is better on rows it has not seen.
    k : int, optional
        Labels of ``"top_k"``; the rounded mean number of labels of a training row where not given.
    metric : {"accuracy", "example_f1"}
        What ``"threshold"`` maximises.

    Examples
    --------
    >>> from grople.decision import Rule
    >>> Rule("top_k", k=5).k
    5
    >>> Rule("best")
    Traceback (most recent call last):
    ...
    ValueError: no rule is called 'best'; there are accuracy, example_f1, macro_f1, micro_f1, \
hamming, subset, threshold, cardinality, proportional, top_k
    """

    name: str = "example_f1"
    calibration: str = "isotonic"
    share: str = "all"
    context: bool | str = "auto"
    k: int | None = None
    metric: str = "example_f1"

    def __post_init__(self) -> None:
        if self.name not in FITTED_RULES:
            raise ValueError(
                f"no rule is called {self.name!r}; there are {', '.join(FITTED_RULES)}"
            )
        for field, allowed in (
            ("calibration", CALIBRATIONS),
            ("share", SHARES),
            ("context", (True, False, "auto")),
            ("metric", ("accuracy", "example_f1")),
        ):
            if getattr(self, field) not in allowed:
                options = ", ".join(map(repr, allowed))
                raise ValueError(f"{field} must be one of {options}; got {getattr(self, field)!r}")
        if self.k is not None and (isinstance(self.k, bool) or int(self.k) != self.k or self.k < 1):
            raise ValueError(f"k must be a whole number from 1 on; got {self.k!r}")
        # 3.0 and np.int64(3) are whole numbers, 1 and np.True_ are true: as a file stores them.
        object.__setattr__(self, "k", None if self.k is None else int(self.k))
        if self.context != "auto":
            object.__setattr__(self, "context", bool(self.context))


def check_rule(rule: Any) -> Any:
    """Return a decision that exists (a name, a number or a :class:`Rule`), or say which do."""
    if isinstance(rule, Rule) or (isinstance(rule, str) and rule in ("sign", *FITTED_RULES)):
        return rule
    is_number = isinstance(rule, int | float | np.number) and not isinstance(rule, bool)
    if is_number and np.isfinite(rule):
        return float(rule)
    raise ValueError(
        f"decision must be 'sign', a number, a Rule, or one of {', '.join(FITTED_RULES)}; "
        f"got {rule!r}"
    )


def as_rule(rule: Any) -> Rule:
    """Return the :class:`Rule` that a name stands for (for a number: of its probabilities)."""
    if isinstance(rule, Rule):
        return rule
    return Rule(rule) if rule in FITTED_RULES else Rule()


def needs_counts(rule: Any) -> bool:
    """Tell whether a rule is fitted, rather than given."""
    return isinstance(rule, Rule) or (isinstance(rule, str) and rule in FITTED_RULES)


def marks_of(order: Array, sizes: Array, n_labels: int) -> Any:
    """Return the first ``sizes`` labels of each row's order as a CSR array of ones."""
    chosen = order[np.arange(order.shape[1]) < sizes[:, None]]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    marks = sp.csr_array(
        (np.ones(len(chosen), np.int64), chosen.astype(np.intp), indptr), (len(order), n_labels)
    )
    marks.sort_indices()
    return marks
