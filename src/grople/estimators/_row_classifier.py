"""Learning from the rows themselves, for methods that moments do not serve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from grople.decision import HeldOut, HeldOutBlock, context_of, fit_decision
from grople.estimators._base import LabelClassifier, no_progress, unchanged_on_error
from grople.moments import fold_of, row_key_pairs, row_keys
from grople.solver import FittedModel
from grople.solver._held_out import HELD_OUT_FOLDS
from grople.solver._model import row_blocks
from grople.solver._solve import Progress

__all__ = ["RowClassifier"]

Array = NDArray[Any]


class RowClassifier(LabelClassifier):
    """Base of the estimators that learn from rows, not from moments.

    Decisions that maximise a measure are fitted on held-out scores, one model a fold; without
    such a decision no further model is learnt and probabilities are those of ±1 scores. A subclass
    defines :meth:`_learn_rows`.
    """

    def _learn_rows(
        self, X: Any, B: Any, weights: Array | None, progress: Progress
    ) -> tuple[Any, dict[str, Any]]:
        """Return the scores that rows lead to, and a report."""
        raise NotImplementedError

    @unchanged_on_error
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress | None = None
    ) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        y : array, sparse array or DataFrame of shape (n_rows, n_labels), or (n_rows,)
            Labels as zeros and ones, or classes.
        sample_weight : array of shape (n_rows,), optional
            Non-negative weights.
        progress : callable, optional
            Told ``(step, done, total)``.

        Returns
        -------
        self
        """
        self._check_parameters()
        progress = progress or no_progress
        X, B, weights = self._validate(X, y, sample_weight, reset=True)
        order = np.lexsort(row_key_pairs(X, B, weights)[::-1])  # however they came
        X, B, weights = X[order], B[order], None if weights is None else weights[order]
        scorer, report = self._learn_rows(X, B, weights, progress)
        held_out = None
        if self._needs_evidence:
            blocks = self._held_out(X, B, weights, progress)
            held_out = HeldOut.from_blocks(blocks, B.shape[1])
        counts = None if held_out is None else held_out.counts
        self._model = FittedModel(
            scorer,
            fit_decision(held_out, context=context_of(self.decision)),
            evidence=counts,
            report=report,
        )
        self._has_evidence = self._needs_evidence
        return self

    def _held_out(
        self, X: Any, B: Any, weights: Array | None, progress: Progress
    ) -> Iterator[HeldOutBlock]:
        keys = row_keys(X)
        folds = fold_of(keys, HELD_OUT_FOLDS)
        for fold in range(HELD_OUT_FOLDS):
            held, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            if not len(held) or not len(rest):
                continue
            progress("folds", fold, HELD_OUT_FOLDS)
            part = None if weights is None else weights[rest]
            scores, _ = self._learn_rows(X[rest], B[rest], part, progress)
            for block in row_blocks(len(held), B.shape[1]):
                at = held[block]
                weight = None if weights is None else weights[at]
                yield HeldOutBlock(scores(X[at]), B[at], weight, keys[at])
