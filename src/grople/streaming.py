"""Estimators that learn from moments: fit, add rows, forget rows, refit, all from sums.

A subclass says how a model follows from moments (:meth:`MomentClassifier._learn`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import CallbackContext, with_callbacks
from sklearn.utils.validation import check_is_fitted

from grople.base import DECISION_FOLDS, LabelClassifier, Lazy, ScoredBlock, unchanged_on_error
from grople.decision import Evidence, ScoreCounts, needs_counts
from grople.fingerprints import match_rows, row_fingerprints
from grople.linear import LinearScores, ScoreMoments
from grople.moments import Moments
from grople.parameters import Choice, Flag, Parameter, Whole
from grople.reservoir import Reservoir
from grople.targets import Targets

__all__ = ["MomentClassifier", "active_labels", "learn_active_labels"]

Array = NDArray[Any]

#: Steepest class probability; beyond it a score half-way to ±1 would already pass for certain.
STEEPEST = 10.0


class MomentClassifier(LabelClassifier):
    """Base of the estimators that learn from :class:`~grople.Moments`.

    Subclasses define their parameters, :attr:`_parameters` (what each may be) and
    :meth:`_learn`.
    """

    _shared_parameters: ClassVar[dict[str, Parameter]] = LabelClassifier._shared_parameters | {
        "fit_intercept": Flag(),
        "scale": Flag(),
        "reservoir_size": Whole(0),
        "row_check": Flag(),
        "form": Choice(("auto", "explicit", "implicit")),
    }

    moments_: Moments
    _reservoir: Reservoir | None
    _fingerprints: NDArray[np.uint64] | None

    def _learn(
        self, moments: Moments, reference: Any = None, context: CallbackContext | None = None
    ) -> Any:
        """Learn a model from moments.

        ``reference`` is a model of all rows when this one is of a part of them (out-of-fold): what
        it chose automatically is kept.
        """
        raise NotImplementedError

    # -- fitting ---------------------------------------------------------------------------

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
        X, *_ = self._begin(X, y, sample_weight)
        self._solve(context)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    @unchanged_on_error
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows: the model becomes that of all rows so far (solved when next asked for).

        Parameters
        ----------
        X : array or sparse array of shape (n_rows, n_features)
            Features. A block without rows declares features and labels.
        y : array, sparse array or DataFrame
            Labels; a label that earlier blocks did not have is added behind theirs.
        classes : sequence or int, optional
            Classes, label names or number of labels, declared beforehand in the first call.
        sample_weight : array of shape (n_rows,), optional
            Non-negative weights.

        Returns
        -------
        self
        """
        self._check_parameters()
        if not hasattr(self, "moments_"):
            self._begin(X, y, sample_weight, classes)
            return self
        X, B, weights = self._validate(X, y, sample_weight, reset=False, classes=classes)
        block = Moments.from_data(X, B, weights, form=self.moments_.form)
        self.moments_ = self.moments_.padded(block.n_labels) + block
        if self._reservoir is not None:
            self._reservoir = self._reservoir.added(X, B, weights)
        if self._fingerprints is not None:
            added = row_fingerprints(X, B, weights)
            self._fingerprints = np.concatenate([self._fingerprints, added])
        self._solution = Lazy()
        return self

    @unchanged_on_error
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows that were added: the model becomes that of the remaining rows.

        Rows that were never added are refused where that shows (a count or a sum of squares would
        turn negative); with ``row_check=True``, and in the implicit form, always.

        Parameters
        ----------
        X, y, sample_weight
            The rows as they were added.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        X, B, weights = self._validate(X, y, sample_weight, reset=False, removing=True)
        if self._fingerprints is not None:
            keep = np.ones(len(self._fingerprints), dtype=bool)
            keep[match_rows(self._fingerprints, row_fingerprints(X, B, weights))] = False
            self._fingerprints = self._fingerprints[keep]
        block = Moments.from_data(X, B, weights, form=self.moments_.form)
        self.moments_ = self.moments_ - block
        if self._reservoir is not None:
            self._reservoir = self._reservoir.removed(X, B, weights)
        self._solution = Lazy()
        return self

    @unchanged_on_error
    def fit_moments(self, moments: Moments, *, label_names: Any = None) -> Self:
        """Learn from moments computed elsewhere (a stream, a cluster, a fold).

        No rows are at hand, so decisions that maximise a measure are fitted on the means and
        spreads of the scores that the moments imply.

        Parameters
        ----------
        moments : Moments
            Moments of the rows.
        label_names : sequence of str, optional
            Names of the labels.

        Returns
        -------
        self
        """
        self._check_parameters()
        if not moments.n > 0:
            raise ValueError("the moments are of no rows at all: add rows before fitting")
        self.__dict__.pop("feature_names_in_", None)
        names = np.arange(moments.n_labels) if label_names is None else label_names
        if len(names) != moments.n_labels:
            raise ValueError(f"{len(names)} label names for {moments.n_labels} labels")
        self.n_features_in_ = moments.n_features
        self._set_targets(Targets("multilabel", np.asarray(names), named=label_names is not None))
        self.moments_ = moments
        self._reservoir, self._fingerprints = None, None
        self._solution = Lazy()
        self._solve(None)
        return self

    @unchanged_on_error
    def refit(self, **parameters: Any) -> Self:
        """Learn again from the same moments with other parameters (solved when asked for).

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.set_params(**parameters)
        self._check_parameters()
        self._solution = Lazy()
        return self

    @property
    def coef_(self) -> Array:
        """Weights of the features for each label, shape (n_labels, n_features)."""
        return self._model().scores.coefficients().T

    @property
    def intercept_(self) -> Array:
        """Score of an all-zero row for each label."""
        return self._model().scores.intercepts()

    def _begin(
        self, X: Any, y: Any, sample_weight: Any, classes: Any = None
    ) -> tuple[Any, Any, Array | None]:
        """Take in the first rows."""
        X, B, weights = self._validate(X, y, sample_weight, reset=True, classes=classes)
        self.moments_ = Moments.from_data(X, B, weights, form=self.form)
        self._reservoir = self._sample(X, B, weights)
        self._fingerprints = row_fingerprints(X, B, weights) if self.row_check else None
        self._solution = Lazy()
        return X, B, weights

    def _sample(self, X: Any, B: Any, weights: Array | None) -> Reservoir | None:
        wanted = needs_counts(self.decision) and self._targets.kind == "multilabel"
        if not wanted or not self.reservoir_size:
            return None
        return Reservoir.of(X, B, weights, capacity=self.reservoir_size)

    def _solve(self, context: CallbackContext | None) -> None:
        self._solution.model = self._learn(self.moments_, context=context)
        if self._targets.kind == "multilabel" and needs_counts(self.decision):
            self._decision(context)

    def _model(self) -> Any:
        check_is_fitted(self)
        if self._solution.model is None:
            if not self.moments_.n > 0:
                raise ValueError("no rows are left to learn from: add some with partial_fit")
            self._solution.model = self._learn(self.moments_)
        return self._solution.model

    def _evidence(self, context: CallbackContext | None) -> Evidence | None:
        if self._reservoir is not None and len(self._reservoir):
            rows = self._reservoir
            found = Evidence.from_blocks(
                self._out_of_fold(rows, context),
                self.moments_.n_labels,
                rows.B.sum() / len(rows),
                self._evidence_groups(),
            )
            if found is not None:
                return found
        spread = ScoreMoments.of(self._model().scores, self.moments_)
        return Evidence(ScoreCounts.from_moments(spread, float(self.moments_.n)))

    def _evidence_groups(self) -> Array | None:
        """Return the group of each label, where the model has any."""
        return None

    def _out_of_fold(
        self, rows: Reservoir, context: CallbackContext | None
    ) -> Iterator[ScoredBlock]:
        """Score kept rows with models that have not seen them: all moments minus the fold's."""
        folds = rows.folds(DECISION_FOLDS)
        model = self._model()
        for fold in range(DECISION_FOLDS):
            held = np.flatnonzero(folds == fold)
            if not len(held):
                continue
            X, B = rows.X[held], rows.B[held]
            weights = None if rows.weights is None else rows.weights[held]
            form = self.moments_.form
            rest = self.moments_ - Moments.from_data(X, B, weights, form=form)
            if not rest.n > 0:
                continue
            step = context.subcontext("fold") if context is not None else None
            scores = self._learn(rest, reference=model, context=None).scores
            for block, values in scores.in_blocks(X):
                yield values, B[block], None if weights is None else weights[block]
            if step is not None:
                step.call_on_fit_task_end(estimator=self)

    def _class_steepness(self) -> float:
        spread = ScoreMoments.of(self._model().scores, self.moments_)
        gap = np.maximum(spread.mean_with - spread.mean_without, 0.0)
        return float(np.clip(np.mean(gap / spread.spread), 0.01, STEEPEST))


def active_labels(moments: Moments) -> tuple[Array, Array]:
    """Return the labels that vary, and the constant score that each label has if it does not."""
    counts = moments.labels.counts
    return (
        np.flatnonzero((counts > 0) & (counts < moments.n)),
        np.where(counts > 0, 1.0, -1.0),
    )


def learn_active_labels(
    moments: Moments, learn: Callable[[Moments], tuple[Any, LinearScores]]
) -> tuple[Any, LinearScores, Array]:
    """Learn from the labels that vary; a label that never or always occurs gets a constant score.

    Returns what ``learn`` returned, with the scores widened to all labels, and the labels that
    vary.
    """
    active, constants = active_labels(moments)
    if len(active) == moments.n_labels:
        return *learn(moments), active
    details, scores = learn(moments.select_labels(active))
    return details, scores.expanded(active, constants), active
