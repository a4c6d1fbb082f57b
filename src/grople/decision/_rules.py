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
    "check_rule",
    "context_of",
    "first_labels",
    "needs_evidence",
]

Array = NDArray[Any]

#: Rules that maximise a measure, by the measure's name.
METRIC_RULES = ("accuracy", "example_f1", "macro_f1", "micro_f1")
#: Rules that are fitted on held-out scores.
FITTED_RULES = (*METRIC_RULES, "hamming", "top_k")


@dataclass(frozen=True)
class Rule:
    """A decision spelt out: which rule, on which probabilities.

    Parameters
    ----------
    name : str
        ``"accuracy"``, ``"example_f1"``: for each row the set with the largest expected measure.
        ``"micro_f1"``: one threshold for all labels; ``"macro_f1"``: one a label.
        ``"hamming"``: every label that is more probable than not.
        ``"top_k"``: the k most probable labels.
    context : bool or "auto"
        Whether the re-ranker corrects the probabilities of the candidates of each row; ``"auto"``
        where that is better on rows it has not seen. It is chosen when a model is fitted.
    k : int, optional
        Labels of ``"top_k"``; the rounded mean number of labels of a training row where not given.

    Examples
    --------
    >>> from grople.decision import Rule
    >>> Rule("top_k", k=5).k
    5
    >>> Rule("best")
    Traceback (most recent call last):
    ...
    ValueError: no rule is called 'best'; there are accuracy, example_f1, macro_f1, micro_f1, \
hamming, top_k
    """

    name: str = "example_f1"
    context: bool | str = "auto"
    k: int | None = None

    def __post_init__(self) -> None:
        if self.name not in FITTED_RULES:
            raise ValueError(
                f"no rule is called {self.name!r}; there are {', '.join(FITTED_RULES)}"
            )
        if self.context not in (True, False, "auto"):
            raise ValueError(f"context must be one of True, False, 'auto'; got {self.context!r}")
        if self.k is not None and (isinstance(self.k, bool) or int(self.k) != self.k or self.k < 1):
            raise ValueError(f"k must be a whole number from 1 on; got {self.k!r}")
        # 3.0 and np.int64(3) are whole numbers, 1 and np.True_ are true: as a file stores them.
        object.__setattr__(self, "k", None if self.k is None else int(self.k))
        if self.context != "auto":
            object.__setattr__(self, "context", bool(self.context))


def check_rule(rule: Any) -> Any:
    """Return a decision that exists (a name, a number or a :class:`Rule`), or say which do."""
    if needs_evidence(rule) or (isinstance(rule, str) and rule == "sign"):
        return rule
    is_number = isinstance(rule, int | float | np.number) and not isinstance(rule, bool)
    if is_number and np.isfinite(rule):
        return float(rule)
    raise ValueError(
        f"decision must be 'sign', a number, a Rule, or one of {', '.join(FITTED_RULES)}; "
        f"got {rule!r}"
    )


def needs_evidence(rule: Any) -> bool:
    """Tell whether a rule is fitted on held-out scores, rather than given."""
    return isinstance(rule, Rule) or (isinstance(rule, str) and rule in FITTED_RULES)


def context_of(rule: Any) -> bool | str:
    """Return whether a decision asks for a re-ranker (``"auto"`` unless a :class:`Rule` says)."""
    return rule.context if isinstance(rule, Rule) else "auto"


def first_labels(order: Array, sizes: Array, n_labels: int) -> Any:
    """Return the first ``sizes`` labels of each row's order as a CSR array of ones."""
    chosen = order[np.arange(order.shape[1]) < sizes[:, None]]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    marks = sp.csr_array(
        (np.ones(len(chosen), np.int64), chosen.astype(np.intp), starts), (len(order), n_labels)
    )
    marks.sort_indices()
    return marks
