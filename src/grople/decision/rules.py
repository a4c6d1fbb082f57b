"""Rules: what turns the probabilities of a row into its labels."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grople.arrays import beside, cumulated, is_foreign, namespace, whole

__all__ = [
    "FITTED_RULES",
    "METRIC_RULES",
    "Rule",
    "as_rule",
    "best_prefix",
    "check_rule",
    "expected_measures",
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
#: Nodes × rows × labels that integrals are taken of at a time: here, where a cache holds them, and
#: on a device, which wants much work at once.
CELLS, FOREIGN_CELLS = 1 << 15, 1 << 24
#: Of more labels than this, those that no row could be given, and that are less probable than
#: this in every row, are known by three sums: to 4e-8 each.
FEW, IMPROBABLE = 64, 0.02


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


def best_prefix(chances: Any, expected: Any, rule: str) -> Any:
    """Return how many of the most probable labels of each row to take.

    Parameters
    ----------
    chances : array of shape (n_rows, T)
        Probabilities in descending order, in any namespace.
    expected : array of shape (n_rows,)
        Expected number of labels of each row, Σp over all labels.
    rule : {"accuracy", "example_f1"}
        The measure whose expectation is largest, see :func:`expected_measures`.
    """
    xp = namespace(chances)
    most = _most_labels(chances, expected)
    beyond = [expected - xp.sum(chances, axis=1)]
    if chances.shape[1] > FEW and not is_foreign(chances):  # a device would wait for the cut
        first = _considered(chances, expected, rule)
        rest = chances[:, first:]
        beyond = [beyond[0] + xp.sum(rest, axis=1)]
        beyond += [xp.sum(rest**power, axis=1) / power for power in (2, 3)]
        chances = chances[:, :first]
    value = _expected(chances, beyond, rule, most)
    # The first of values that are equal but for rounding: no label is added that gains nothing.
    enough = xp.max(value, axis=1) * (1.0 - float(xp.finfo(value.dtype).eps) ** 0.6)
    return xp.argmax(whole(value >= enough[:, None]), axis=1) + 1


def expected_measures(chances: Any, expected: Any, rule: str) -> Any:
    """Return the expected measure of the first 1, 2, … labels of each row.

    Labels are independent given the row. Of k labels given, A are right, and C of the others are
    true. Then 1/(k + C) = ∫ t^(k+C−1) dt from 0 to 1 turns a mean of ratios into an integral over
    means of powers, which are products g(t) = Π (1 − p + p t) over labels:

        E[A / (k + C)]        =  Σ_given p · ∫ t^(k−1) g_others(t) dt
        E[2A / (k + A + C)]   =  2 ∫ t^k g_all(t) · Σ_given p / (1 − p + p t) dt

    Gauss's rule takes the integral of the polynomial. Both grow with the probability of a given
    label, so that no other k labels are better.

    Parameters
    ----------
    chances : array of shape (n_rows, T)
        Probabilities in descending order, in any namespace.
    expected : array of shape (n_rows,)
        Σp over all labels; those beyond the T are too improbable to be two at a time.
    rule : {"accuracy", "example_f1"}
        Jaccard's measure or F1; a row without labels counts 0.

    Examples
    --------
    >>> p = np.array([[0.6, 0.5]])
    >>> expected_measures(p, p.sum(axis=1), "accuracy").round(3)  # .6(1 − .5/2) and .3 + .5/2
    array([[0.45, 0.55]])
    """
    beyond = [expected - namespace(chances).sum(chances, axis=1)]
    return _expected(chances, beyond, rule, _most_labels(chances, expected))


def _most_labels(chances: Any, expected: Any) -> float:
    """Return how many labels a row may have, or be given."""
    likely = float(namespace(expected).max(expected)) if expected.shape[0] else 0.0
    return max(likely, float(chances.shape[1]))


def _expected(chances: Any, beyond: Any, rule: str, most: float) -> Any:
    """Return expected measures, labels beyond the first known by Σp, Σp²/2, … of each row.

    These are the series of −Σ ln(1 − p + p t) in 1 − t.
    """
    xp = namespace(chances)
    sizes = beside(chances, np.arange(1.0, chances.shape[1] + 1.0))
    rest = [xp.maximum(each, xp.zeros_like(each))[:, None] for each in beyond]
    value = xp.zeros_like(chances)
    nodes = _nodes(most)
    step = max(
        1, (FOREIGN_CELLS if is_foreign(chances) else CELLS) // max(1, math.prod(value.shape))
    )
    for start in range(0, nodes.shape[1], step):
        t, weight = (beside(chances, each) for each in nodes[:, start : start + step, None, None])
        factors = 1.0 - (1.0 - t) * chances
        others = xp.exp(-sum((1.0 - t) ** i * each for i, each in enumerate(rest, 1)))
        if rule == "accuracy":
            parts = (weight * t ** (sizes - 1.0)) * (others * _products_after(factors))
        else:
            every = others * xp.prod(factors, axis=-1, keepdims=True)
            parts = (weight * t**sizes) * (every * cumulated(chances / factors))
        value += xp.sum(parts, axis=0)
    return value * cumulated(chances) if rule == "accuracy" else 2.0 * value


def _considered(chances: Any, expected: Any, rule: str) -> int:
    """Return how many labels could be given to a row of these, or are more than improbable.

    By Jensen's inequality the expected measure lies between two that are quickly known: a prefix
    whose upper bound is below the best lower one is none to consider.
    """
    xp = namespace(chances)
    gained = cumulated(chances)
    sizes = beside(chances, np.arange(1.0, chances.shape[1] + 1.0))
    if rule == "accuracy":
        low, high = gained / (sizes + expected[:, None] - gained), gained / sizes
    else:
        low, high = gained / (sizes + 1.0 + expected[:, None]), gained / (sizes + gained)
    possible = high >= xp.max(low, axis=1, keepdims=True)
    needed = xp.any(possible | (chances > IMPROBABLE), axis=0)
    return int(xp.max(whole(needed) * whole(sizes))) if chances.shape[0] else chances.shape[1]


def _products_after(factors: Any) -> Any:
    """Return the product of all later factors of a row, 1 behind the last."""
    logs = cumulated(namespace(factors).log(factors))
    return namespace(factors).exp(logs[..., -1:] - logs)


def _nodes(most: float) -> Array:
    """Return nodes (and below them weights) from 0 to 1 for rows with up to so many labels.

    With n labels the integrand is about 1/n wide, at t = 1, where n nodes lie 1/n² apart: their
    number grows with √n.
    """
    return _gauss(8 * math.ceil(1.0 + math.sqrt(most) / 4.0))


@functools.cache
def _gauss(n_nodes: int) -> Array:
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return np.stack([(nodes + 1.0) / 2.0, weights / 2.0])


def marks_of(order: Array, sizes: Array, n_labels: int) -> Any:
    """Return the first ``sizes`` labels of each row's order as a CSR array of ones."""
    chosen = order[np.arange(order.shape[1]) < sizes[:, None]]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    marks = sp.csr_array(
        (np.ones(len(chosen), np.int64), chosen.astype(np.intp), indptr), (len(order), n_labels)
    )
    marks.sort_indices()
    return marks
