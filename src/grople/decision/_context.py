"""What the re-ranker's networks see of each candidate: one definition for arrays and for graphs.

:func:`candidate_inputs` computes with ``+ − * /`` and the few functions of :class:`NumpyOps`. An
exporter passes values of its own, which overload the four operators, and an object with the same
functions; so an exported model cannot see other inputs than the library's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.decision._calibration import log_odds

__all__ = ["LEAST_PROBABILITY", "NumpyOps", "candidate_inputs", "input_names"]

Array = NDArray[Any]

#: Candidates less probable than this keep their calibrated probability.
LEAST_PROBABILITY = 0.01
#: The largest score that is told from a larger one.
FARTHEST = 1e6
#: Added to both sides of a ratio of frequencies.
SMALL = np.float32(1e-4)

_INPUTS = (
    "score",
    "calibrated log-odds",
    "rank",
    "distance to best score",
    "best score",
    "second score",
    "distance to next above",
    "distance to next below",
    "expected labels",
    "expected labels above",
    "log frequency",
    "distance to mean of positives",
    "standardised score",
    "spread of label",
    "mean of positives",
    "support",
    "largest support",
    "support by lift",
    "support by group",
)
_COOCCURRENCE_INPUTS = ("co-occurrence", "distance to best co-occurrence")


def input_names(cooccurrence: bool) -> tuple[str, ...]:
    """Return what the networks see, in order, with or without the co-occurrence feature."""
    return _INPUTS + _COOCCURRENCE_INPUTS if cooccurrence else _INPUTS


def candidate_inputs(
    ops: Any,
    known: Any,
    conditional: Any,
    labels: Any,
    scores: Any,
    probabilities: Any,
    cooccurrence: Any = None,
) -> dict[str, Any]:
    """Return the inputs by name, each of a shape that stretches to (n_rows, T).

    Parameters
    ----------
    ops : NumpyOps or the like
        Functions of values.
    known : Reranker
        What is known of labels: plain arrays.
    conditional : value of shape (n_rows, T, T)
        P(j|k) of the candidates, entry (k, j), in single precision.
    labels, scores, probabilities : value of shape (n_rows, T)
        The candidates in descending order of score, their scores and calibrated probabilities.
    cooccurrence : value of shape (n_rows, T), optional
        Their values of the co-occurrence feature.
    """
    size = known.n_candidates
    scores = ops.clip(scores, -FARTHEST, FARTHEST)
    best, last = ops.columns(scores, 0, 1), ops.columns(scores, size - 1, size)
    next_above = ops.join(best, ops.columns(scores, 0, size - 1))
    next_below = ops.join(ops.columns(scores, 1, size), last)
    mean, spread, mean_positive, frequency = (
        ops.take(table, labels)
        for table in (known.mean, known.spread, known.mean_positive, known.frequency)
    )
    others = 1 - np.eye(size, dtype=np.float32)[None]
    single = ops.single(probabilities)
    given = ops.expand(single, 2)
    conditional = conditional * others
    support = conditional * given
    # How much more often than by itself each candidate occurs with each other one.
    lift = ops.log((conditional + SMALL) / (ops.expand(ops.single(frequency), 1) + SMALL)) * others
    group = ops.take(known.groups, labels)
    same_group = ops.equal(ops.expand(group, 2), ops.expand(group, 1)) * others
    values = [
        scores,
        ops.log_odds(probabilities),
        np.log1p(np.arange(size))[None],
        best - scores,
        best,
        ops.columns(scores, min(1, size - 1), min(1, size - 1) + 1),
        scores - next_above,
        scores - next_below,
        ops.total(probabilities),
        ops.running_total(probabilities) - probabilities,
        ops.log(frequency),
        scores - mean_positive,
        (scores - mean) / spread,
        spread,
        mean_positive,
        ops.sum_over_given(support),
        ops.max_over_given(support),
        ops.sum_over_given(lift * given),
        ops.sum_over_given(same_group * given),
    ]
    if cooccurrence is not None:
        values += [cooccurrence, ops.largest(cooccurrence) - cooccurrence]
    return dict(zip(input_names(cooccurrence is not None), values, strict=True))


class NumpyOps:
    """The functions of values that inputs are computed with, for arrays.

    No sum depends on how many rows there are, so that a row's inputs are its own.
    """

    log = staticmethod(np.log)
    log_odds = staticmethod(log_odds)
    clip = staticmethod(np.clip)

    def take(self, table: Array, labels: Array) -> Array:
        """Return the entry of each label, shape (n_rows, T)."""
        return np.asarray(table[labels])

    def columns(self, values: Array, start: int, stop: int) -> Array:
        """Return some columns."""
        return values[:, start:stop]

    def join(self, left: Array, right: Array) -> Array:
        """Put columns side by side."""
        return np.concatenate([left, right], axis=1)

    def expand(self, values: Array, axis: int) -> Array:
        """Add an axis."""
        return np.expand_dims(values, axis)

    def single(self, values: Array) -> Array:
        """Return values in single precision."""
        return values.astype(np.float32)

    def equal(self, left: Array, right: Array) -> Array:
        """Return one where values are equal, zero elsewhere, in single precision."""
        return (left == right).astype(np.float32)

    def total(self, values: Array) -> Array:
        """Return the sum of each row, shape (n_rows, 1)."""
        return np.asarray(values.sum(axis=1, keepdims=True))

    def largest(self, values: Array) -> Array:
        """Return the largest value of each row, shape (n_rows, 1)."""
        return np.asarray(values.max(axis=1, keepdims=True))

    def running_total(self, values: Array) -> Array:
        """Return the sum of each value and those before it in its row."""
        return np.cumsum(values, axis=1)

    def sum_over_given(self, values: Array) -> Array:
        """Return the sums over k of values of shape (n_rows, k, j)."""
        return np.asarray(values.sum(axis=1))

    def max_over_given(self, values: Array) -> Array:
        """Return the largest over k of values of shape (n_rows, k, j)."""
        return np.asarray(values.max(axis=1))
