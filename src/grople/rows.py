"""Learning from the rows themselves, for methods that moments do not serve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import CallbackContext, with_callbacks
from sklearn.utils.validation import check_is_fitted

from grople.base import DECISION_FOLDS, LabelClassifier, Lazy, LearntModel, unchanged_on_error
from grople.decision import Evidence, ScoredBlock, needs_counts
from grople.fingerprints import row_fingerprints
from grople.reservoir import fold_of

__all__ = ["RowClassifier"]

Array = NDArray[Any]


class RowClassifier(LabelClassifier):
    """Base of the estimators that learn from rows, not from moments.

    Decisions that maximise a measure are fitted on out-of-fold scores, one model a fold; without
    such a decision no further model is learnt and probabilities are those of ±1 scores.
    """

    def _learn_rows(
        self, X: Any, B: Any, weights: Array | None, context: CallbackContext | None = None
    ) -> LearntModel:
        """Learn a model from rows."""
        raise NotImplementedError

    @unchanged_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        y : array, sparse array or DataFrame of shape (n_rows, n_labels), or (n_rows,)
            Labels as zeros and ones, or classes.
        sample_weight : array of shape (n_rows,), optional
            Non-negative weights.

        Returns
        -------
        self
        """
        self._check_parameters()
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        X, B, weights = self._validate(X, y, sample_weight, reset=True)
        self._solution = Lazy()
        self._solution.model = self._learn_rows(X, B, weights, context)
        if self._targets.kind == "multilabel" and needs_counts(self.decision):
            blocks = self._out_of_fold(X, B, weights, context)
            cardinality = B.sum() / B.shape[0]
            self._solution.evidence = Evidence.from_blocks(blocks, B.shape[1], cardinality)
        self._counted = needs_counts(self.decision)
        self.fitted_ = True
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _model(self) -> Any:
        check_is_fitted(self)
        return self._solution.model

    def _evidence(self, context: CallbackContext | None) -> Evidence | None:
        if needs_counts(self.decision) and not self._counted:
            raise ValueError(
                f"decision={self.decision!r} is fitted on out-of-fold scores, which a fit for "
                "'sign' or a number does not compute: fit again with this decision"
            )
        return self._solution.evidence

    def _out_of_fold(
        self, X: Any, B: Any, weights: Array | None, context: CallbackContext
    ) -> Iterator[ScoredBlock]:
        folds = fold_of(row_fingerprints(X), DECISION_FOLDS)
        for fold in range(DECISION_FOLDS):
            held, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            if not len(held) or not len(rest):
                continue
            step = context.subcontext("fold", max_subtasks=None)
            step.call_on_fit_task_begin(estimator=self)
            part = None if weights is None else weights[rest]
            scores = self._learn_rows(X[rest], B[rest], part, step).scores
            for block, values in scores.in_blocks(X[held]):
                rows = held[block]
                yield values, B[rows], None if weights is None else weights[rows]
            step.call_on_fit_task_end(estimator=self)
