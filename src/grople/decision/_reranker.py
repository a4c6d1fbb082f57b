"""The re-ranker: probabilities of the candidates of each row, seen in their context.

A calibrated score treats every (row, label) pair alike. Small networks see the pair in its
context: how the score stands among the row's other candidates, how many labels the row is likely
to have, what is known of the label's scores, how well the label goes with the other candidates,
and, where there is one, the co-occurrence feature.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from grople.decision._context import LEAST_PROBABILITY, NumpyOps, candidate_inputs, input_names
from grople.decision._cooccurrence import CooccurrenceFeature
from grople.decision._network import Networks, network_log_odds

__all__ = ["Reranker"]

Array = NDArray[Any]

#: Labels up to which P(j|k) is looked up in a dense matrix.
DENSE_LABELS = 4096
#: Values of P(j|k) held at a time.
BLOCK_PAIRS = 1 << 16


@dataclass(frozen=True)
class Reranker:
    """A fitted re-ranker: plain arrays.

    Attributes
    ----------
    frequency, mean, spread, mean_positive : ndarray of shape (L,)
        Of each label: how often it occurs, mean and spread of its scores, mean over its positives.
    groups : ndarray of shape (L,)
        The group of each label; labels without one have none in common.
    conditional : csr_array of shape (L, L), float32
        P(j|k): how often rows with label k have label j, entry (k, j).
    networks : Networks, optional
        What turns the context of a candidate into log-odds.
    cooccurrence : CooccurrenceFeature, optional
        A further input of the networks.
    n_candidates : int
        Labels of a row that it looks at.
    """

    frequency: Array
    mean: Array
    spread: Array
    mean_positive: Array
    groups: Array
    conditional: Any
    networks: Networks | None
    cooccurrence: CooccurrenceFeature | None
    n_candidates: int

    def __post_init__(self) -> None:
        wanted = len(input_names(self.cooccurrence is not None))
        if self.networks is not None and self.networks.n_inputs != wanted:
            raise ValueError(
                f"the networks of this re-ranker take {self.networks.n_inputs} inputs, but "
                f"{wanted} are known of a candidate"
            )

    def __call__(
        self, labels: Array, scores: Array, probabilities: Array, cooccurrence: Array | None = None
    ) -> Array:
        """Return better probabilities of candidates.

        Parameters
        ----------
        labels, scores, probabilities : ndarray of shape (n_rows, T)
            The candidates in descending order of score, their scores and calibrated probabilities.
        cooccurrence : ndarray of shape (n_rows, T), optional
            Their values of the co-occurrence feature, where :attr:`cooccurrence` is given.
        """
        assert self.networks is not None
        found = probabilities.copy()
        for rows, pairs, inputs in self.inputs(labels, scores, probabilities, cooccurrence):
            log_odds = network_log_odds(self.networks, inputs).mean(axis=0, dtype=np.float64)
            found[rows][pairs] = expit(log_odds)
        return found

    def inputs(
        self, labels: Array, scores: Array, probabilities: Array, cooccurrence: Array | None
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Yield blocks of rows, which of their candidates are looked at, and those in context."""
        most = labels.shape[1]
        step = max(1, BLOCK_PAIRS // max(most * most, 1))
        for first in range(0, len(labels), step):
            rows = slice(first, first + step)
            columns = candidate_inputs(
                NumpyOps(),
                self,
                self._look_up(labels[rows]),
                labels[rows],
                scores[rows],
                probabilities[rows],
                None if cooccurrence is None else cooccurrence[rows],
            )
            pairs = probabilities[rows] > LEAST_PROBABILITY
            seen = np.empty((int(pairs.sum()), len(columns)), dtype=np.float32)
            for i, column in enumerate(columns.values()):
                seen[:, i] = np.broadcast_to(column, pairs.shape)[pairs]
            yield rows, pairs, seen

    @cached_property
    def _dense(self) -> Array | None:
        return self.conditional.toarray() if len(self.frequency) <= DENSE_LABELS else None

    def _look_up(self, labels: Array) -> Array:
        """Return P(j|k) of the candidates j and k of each row, shape (n_rows, T, T)."""
        n_rows, most = labels.shape
        given, of = labels[:, :, None].astype(np.intp), labels[:, None, :]
        if self._dense is not None:
            return self._dense.ravel()[given * len(self.frequency) + of]
        k, j = (np.broadcast_to(part, (n_rows, most, most)) for part in (given, of))
        found = self.conditional[k.ravel(), j.ravel()]
        return np.asarray(found, dtype=np.float32).reshape(k.shape)
