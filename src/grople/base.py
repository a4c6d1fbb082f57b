"""The contract of every estimator that learns from moments.

validate → moments → model → decision → attributes. A subclass says how a model follows from
moments (:meth:`MomentClassifier._learn`); fitting, streaming, forgetting, out-of-fold decisions
and prediction are here, once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
from sklearn.metrics import accuracy_score
from sklearn.utils import check_consistent_length
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from grople.decision import Decision, ScoreCounts, check_rule, fit_decision, needs_counts
from grople.fingerprints import row_fingerprints
from grople.linear import LinearScores, ScoreMoments
from grople.moments import Moments, match_rows
from grople.parameters import Anything, Choice, Flag, Parameter, Whole, check_parameters
from grople.reservoir import Reservoir
from grople.targets import Targets, encode

__all__ = ["LearntModel", "MomentClassifier", "learn_active_labels", "unchanged_on_error"]

Array = NDArray[Any]

#: Folds of the out-of-fold scores that decisions are fitted on.
DECISION_FOLDS = 5
#: Steepest class probability; beyond it a score half-way to ±1 would already pass for certain.
STEEPEST = 10.0


class LearntModel(Protocol):
    """What a subclass learns: at least its scores."""

    @property
    def scores(self) -> LinearScores:
        """The scores."""


def unchanged_on_error(method: Callable[..., Any]) -> Callable[..., Any]:
    """Put an estimator back as it was when one of its methods fails."""

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = self.__dict__.copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before
            raise

    return guarded


class _Lazy:
    """What follows from the moments, computed when it is first asked for."""

    def __init__(self) -> None:
        self.model: LearntModel | None = None
        self.counts: ScoreCounts | None = None
        self.decisions: dict[Any, Decision] = {}


def _forgets(estimator: Any) -> bool:
    """Tell whether an estimator can add and remove rows (that is, learns from moments alone)."""
    return bool(estimator._streams())


class MomentClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base of the estimators that learn from :class:`~grople.Moments`.

    Subclasses define their parameters, :attr:`_parameters` (what each may be) and
    :meth:`_learn`.
    """

    #: Parameters that every subclass has, and what each may be.
    _shared_parameters: ClassVar[dict[str, Parameter]] = {
        "fit_intercept": Flag(),
        "scale": Flag(),
        "decision": Anything(),
        "reservoir_size": Whole(0),
        "row_check": Flag(),
        "form": Choice(("auto", "explicit", "implicit")),
        "random_state": Anything(),
    }
    _parameters: ClassVar[dict[str, Parameter]] = {}

    def _learn(
        self, moments: Moments, reference: Any = None, context: CallbackContext | None = None
    ) -> Any:
        """Learn a model from moments.

        ``reference`` is a model of all rows when this one is of a part of them (out-of-fold): what
        it chose automatically is kept.
        """
        raise NotImplementedError

    def _streams(self) -> bool:
        return True

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
        for attribute in ("_targets", "_fingerprints"):
            self.__dict__.pop(attribute, None)
        X, B, weights = self._validate(X, y, sample_weight, reset=True)
        self.moments_ = Moments.from_data(X, B, weights, form=self.form)
        self._reservoir = self._sample(X, B, weights)
        self._fingerprints = row_fingerprints(X, B, weights) if self.row_check else None
        self._solution = _Lazy()
        self._solve(context)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    @available_if(_forgets)
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
        first = not hasattr(self, "moments_")
        X, B, weights = self._validate(X, y, sample_weight, reset=first, classes=classes)
        block = Moments.from_data(
            X,
            B,
            weights,
            form=self.form if first else self.moments_.form,  # type: ignore[arg-type]
        )
        if first:
            self.moments_ = block
            self._reservoir = self._sample(X, B, weights)
            self._fingerprints = row_fingerprints(X, B, weights) if self.row_check else None
        else:
            self.moments_ = self.moments_.padded(block.n_labels) + block
            if self._reservoir is not None:
                self._reservoir = self._reservoir.added(X, B, weights)
            if self._fingerprints is not None:
                added = row_fingerprints(X, B, weights)
                self._fingerprints = np.concatenate([self._fingerprints, added])
        self._solution = _Lazy()
        return self

    @available_if(_forgets)
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
        block = Moments.from_data(X, B, weights, form=self.moments_.form)  # type: ignore[arg-type]
        self.moments_ = self.moments_ - block
        if self._reservoir is not None:
            self._reservoir = self._reservoir.removed(X, B, weights)
        self._solution = _Lazy()
        return self

    @available_if(_forgets)
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
        self._solution = _Lazy()
        self._solve(None)
        return self

    @available_if(_forgets)
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
        self._solution = _Lazy()
        return self

    # -- predicting ------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Return the scores, one a label (one in all for two classes).

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        """
        X = self._validate_rows(X)
        scores = self._model().scores(X)
        return scores.ravel() if self._targets.kind == "binary" else scores

    def predict(self, X: Any) -> Any:
        """Return the labels, in the container that the training labels came in.

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        """
        index = getattr(X, "index", None)
        X = self._validate_rows(X)
        scores = self._model().scores
        if self._targets.kind != "multilabel":
            return self._targets.decode_scores(scores(X))
        decision = self._decision()
        parts = [decision.labels(block) for _, block in scores.in_blocks(X)]
        return self._targets.decode(sp.vstack(parts, format="csr"), index)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each label (of each class for a 1-d target).

        Label probabilities are calibrated on out-of-fold scores of the kept rows, or from the
        moments where no rows are kept. Class probabilities follow the scores, so that the
        predicted class is the most probable one.

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        """
        X = self._validate_rows(X)
        model = self._model()
        scores = model.scores(X)
        if self._targets.kind == "multilabel":
            return self._decision().probabilities(scores)
        if len(self._targets.classes) == 1:
            return np.ones((scores.shape[0], 1))
        spread = ScoreMoments.of(model.scores, self.moments_)
        gap = np.maximum(spread.mean_with - spread.mean_without, 0.0)
        steepness = float(np.clip(np.mean(gap / spread.spread), 0.01, STEEPEST))
        if self._targets.kind == "multiclass":
            return softmax(steepness * scores, axis=1)
        chance = expit(steepness * scores[:, 0])
        return np.column_stack([1.0 - chance, chance])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the predictions (for label matrices: of whole label sets).

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.
        y : array, sparse array or DataFrame
            True labels.
        sample_weight : array of shape (n_rows,), optional
            Weights.
        """
        predicted = self.predict(X)
        if self._targets.kind == "multilabel":
            y, _ = encode(y, self._targets)
            predicted, _ = encode(predicted, self._targets)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    # -- attributes ------------------------------------------------------------------------

    @property
    def coef_(self) -> Array:
        """Weights of the features for each label, shape (n_labels, n_features)."""
        return self._model().scores.coefficients().T

    @property
    def intercept_(self) -> Array:
        """Score of an all-zero row for each label."""
        return self._model().scores.intercepts()

    @property
    def decision_(self) -> Decision:
        """The fitted decision."""
        return self._decision()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        return tags

    # -- inside ----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        table = self._shared_parameters | self._parameters
        check_parameters(type(self).__name__, table, self.get_params(deep=False))
        check_rule(self.decision)

    def _validate(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        reset: bool,
        classes: Any = None,
        removing: bool = False,
    ) -> tuple[Any, Any, Array | None]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype="numeric",
            ensure_min_samples=0 if classes is not None else 1,
        )  # fmt: skip
        check_consistent_length(X, y)
        known = None if reset else self._targets
        B, targets = encode(y, known, classes)
        if removing and targets.n_columns > self._targets.n_columns:
            raise ValueError("cannot remove rows with labels that no added row had")
        self._set_targets(targets)
        if B.shape[1] < targets.n_columns:
            B.resize((B.shape[0], targets.n_columns))
        return (X, B, None) if sample_weight is None else _weighted(X, B, sample_weight)

    def _validate_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype="numeric")

    def _set_targets(self, targets: Targets) -> None:
        self._targets = targets
        self.classes_ = targets.classes
        if targets.named:
            self.label_names_in_ = targets.classes
        else:
            self.__dict__.pop("label_names_in_", None)

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

    def _decision(self, context: CallbackContext | None = None) -> Decision:
        rule = check_rule(self.decision)
        lazy = self._solution
        if rule not in lazy.decisions:
            if lazy.counts is None:
                lazy.counts = self._score_counts(context)
            lazy.decisions[rule] = fit_decision(rule, lazy.counts)
        return lazy.decisions[rule]

    def _score_counts(self, context: CallbackContext | None) -> ScoreCounts:
        if self._reservoir is not None:
            counts = ScoreCounts.from_scores(
                self._out_of_fold(self._reservoir, context), self.moments_.n_labels
            )
            if counts.shared[0].any():
                return counts
        spread = ScoreMoments.of(self._model().scores, self.moments_)
        return ScoreCounts.from_moments(spread, float(self.moments_.n))

    def _out_of_fold(
        self, rows: Reservoir, context: CallbackContext | None
    ) -> Iterator[tuple[Array, Any, Array | None]]:
        """Score kept rows with models that have not seen them: all moments minus the fold's."""
        folds = rows.folds(DECISION_FOLDS)
        model = self._model()
        for fold in range(DECISION_FOLDS):
            held = np.flatnonzero(folds == fold)
            if not len(held):
                continue
            X, B = rows.X[held], rows.B[held]
            weights = None if rows.weights is None else rows.weights[held]
            form: Any = self.moments_.form
            rest = self.moments_ - Moments.from_data(X, B, weights, form=form)
            if not rest.n > 0:
                continue
            step = context.subcontext("fold") if context is not None else None
            scores = self._learn(rest, reference=model, context=None).scores
            for block, values in scores.in_blocks(X):
                yield values, B[block], None if weights is None else weights[block]
            if step is not None:
                step.call_on_fit_task_end(estimator=self)


def learn_active_labels(
    moments: Moments, learn: Callable[[Moments], tuple[Any, LinearScores]]
) -> tuple[Any, LinearScores, Array]:
    """Learn from the labels that vary; a label that never or always occurs gets a constant score.

    Returns what ``learn`` returned, with the scores widened to all labels, and the labels that
    vary.
    """
    counts, n = moments.labels.counts, moments.n
    active = np.flatnonzero((counts > 0) & (counts < n))
    constants = np.where(counts > 0, 1.0, -1.0)
    if len(active) == moments.n_labels:
        return *learn(moments), active
    details, scores = learn(moments.select_labels(active))
    return details, scores.expanded(active, constants), active


def _weighted(X: Any, B: Any, sample_weight: Any) -> tuple[Any, Any, Array]:
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(X.shape[0], float(weights))
    if weights.shape != (X.shape[0],):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected ({X.shape[0]},)")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite and not negative")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row: nothing to learn from")
    if (weights == 0).any():
        keep = np.flatnonzero(weights)
        return X[keep], B[keep], weights[keep]
    return X, B, weights
