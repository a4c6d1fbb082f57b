"""Estimators that learn from moments: fit, add rows, forget rows, refit, all from sums.

A subclass says how a model follows from moments (:meth:`MomentClassifier._learn`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import CallbackContext, with_callbacks
from sklearn.utils.validation import check_is_fitted

from grople.affinity import Affinity
from grople.base import DECISION_FOLDS, LabelClassifier, Lazy, unchanged_on_error
from grople.clusters import declared, is_lazy, partitions, reduce_partitions
from grople.decision import Evidence, ScoreCounts, ScoredBlock, needs_counts
from grople.gathering import Gathered, joined, taken_in, telling, warn_of_offsets
from grople.linear import ScoreMoments
from grople.moments import Moments
from grople.parameters import Choice, Flag, Parameter, Whole
from grople.reservoir import Reservoir
from grople.targets import Targets
from grople.threads import one_each

__all__ = ["MomentClassifier"]

Array = NDArray[Any]

#: Features or labels up to which threads get in each other's way inside one matrix product.
SMALL = 1536
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
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array, sparse array, DataFrame or Dask array of shape (n_rows, n_features)
            Features. Or, with `y` left out, a Dask bag or a list of delayed blocks ``(X, y)``.
        y : array, sparse array, DataFrame or Dask array of shape (n_rows, n_labels), or (n_rows,)
            Labels as zeros and ones, or classes.
        sample_weight : array or Dask array of shape (n_rows,), optional
            Non-negative weights.

        Returns
        -------
        self
        """
        self._check_parameters()
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        if is_lazy(X):
            self._gather_partitions(partitions(X, y, sample_weight), declared(y), context)
        else:
            X, *_ = self._begin(X, y, sample_weight)
        self._solve(context)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    @unchanged_on_error
    @with_callbacks
    def fit_blocks(self, blocks: Any, classes: Any = None) -> Self:
        """Learn from blocks of rows, so that all rows need never be in memory at once.

        The model is that of all rows; only the implicit form of the moments keeps rows beyond
        `reservoir_size`.

        Parameters
        ----------
        blocks : iterable, Dask bag or list of delayed blocks
            Each ``(X, y)``, ``(X, y, sample_weight)`` or a :class:`~grople.datasets.Bundle`, as
            :func:`grople.datasets.read_blocks` yields them. An iterable is gone through once,
            here; Dask's blocks are gathered where its scheduler places them.
        classes : sequence or int, optional
            Classes, label names or number of labels. Blocks of a cluster must have the same ones
            unless they are declared here; those of an iterable may bring new labels.

        Returns
        -------
        self

        Examples
        --------
        >>> from grople.baselines import Ridge
        >>> from grople.datasets import make_grouped_multilabel
        >>> data = make_grouped_multilabel(600, random_state=0)
        >>> parts = ((data.X[i : i + 200], data.Y[i : i + 200]) for i in range(0, 600, 200))
        >>> model, whole = Ridge().fit_blocks(parts), Ridge().fit(data.X, data.Y)
        >>> np.allclose(model.coef_, whole.coef_, atol=1e-10)
        True
        """
        self._check_parameters()
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self)
        if is_lazy(blocks):
            self._gather_partitions(partitions(blocks), classes, context)
        else:
            step = context.subcontext("moments", max_subtasks=None)
            step.call_on_fit_task_begin(estimator=self)
            told = telling(blocks, partial(_one_done, self, step, "block"))
            self._adopt(taken_in(self._unfitted(), classes, told))
            step.call_on_fit_task_end(estimator=self)
        self._solve(context)
        context.call_on_fit_task_end(estimator=self)
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
        if self.moments_.n > 0:
            self._check_kept()
        self._add(X, y, sample_weight, classes)
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
        self._hold(self._gathered().removed(X, B, weights, self._place))
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
        self._hold(Gathered(moments))
        self.moments_ = moments  # in the form that was given
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
        _ = self.moments_.form  # a model stored without its moments says so now, not later
        self.set_params(**parameters)
        self._check_parameters()
        self._check_kept()
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
        decides = needs_counts(self.decision) and self._targets.kind == "multilabel"
        sampled = decides or self._learns_from_rows
        form = self._form(X)
        if form != self.form:  # the rows are kept without the caller's asking: not his own
            X = X.copy()
        self._hold(
            Gathered.of(
                X, B, weights, form=form, row_check=self.row_check,
                capacity=self.reservoir_size if sampled else 0, place=self._place,
            )
        )  # fmt: skip
        warn_of_offsets(self.moments_, X)
        return X, B, weights

    @property
    def _learns_from_rows(self) -> bool:
        """Whether the model takes kept rows, beside the moments."""
        return False

    def _sharpened(self, model: Any, moments: Moments, rows: Reservoir | None) -> Any:
        """Return a model of moments after a look at kept rows that are among them."""
        return model

    def _check_kept(self) -> None:
        """Raise unless the rows are kept that a model takes."""
        if self._learns_from_rows and (self._reservoir is None or not len(self._reservoir)):
            raise ValueError(self._rows_wanted())

    def _rows_wanted(self) -> str:
        """Return a sentence for when rows are wanted and none are kept."""
        return "rows are kept from the first fit on: fit again on rows"

    def _form(self, X: Any) -> str:
        """Return the form that the moments of the first rows are to have."""
        return self.form

    def _add(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> None:
        """Take in more rows."""
        X, B, weights = self._validate(X, y, sample_weight, reset=False, classes=classes)
        self._hold(self._gathered().added(X, B, weights, self._place))

    def _gather_partitions(self, parts: Any, classes: Any, context: CallbackContext) -> None:
        """Take in the rows of partitions, each gathered where it lies."""
        step = context.subcontext("moments", max_subtasks=len(parts))
        step.call_on_fit_task_begin(estimator=self)
        gather = partial(taken_in, self._unfitted(), classes)
        done = partial(_one_done, self, step, "partition")
        self._adopt(reduce_partitions(parts, gather, joined, done))
        step.call_on_fit_task_end(estimator=self)

    def _adopt(self, other: Self | None) -> None:
        """Take over what an estimator of the same kind has taken in."""
        if other is None or not other.moments_.n > 0:
            raise ValueError("Found 0 samples: no block has rows to learn from")
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))
        self._set_targets(other._targets)
        self._hold(other._gathered())

    def _for_prediction(self) -> Self:
        light = super()._for_prediction()
        if self._targets.kind != "multilabel":  # class probabilities are as steep as they say
            light._hold(Gathered(self.moments_))
            light._solution.model = self._model()
        return light

    def _gathered(self) -> Gathered:
        """Return what is kept of all rows so far."""
        return Gathered(self.moments_, self._reservoir, self._fingerprints)

    def _hold(self, rows: Gathered) -> None:
        """Keep what was gathered; what followed from the rows before is asked for anew."""
        outgrown = self.form == "auto" and rows.moments.outgrown
        self.moments_ = rows.moments.in_matrices() if outgrown else rows.moments
        self._reservoir, self._fingerprints = rows.reservoir, rows.fingerprints
        self._solution = Lazy()

    def _solve(self, context: CallbackContext | None) -> None:
        with one_each(self._small):
            model = self._learn(self.moments_, context=context)
            self._solution.model = self._sharpened(model, self.moments_, self._reservoir)
            if self._targets.kind == "multilabel" and needs_counts(self.decision):
                self._decision(context)

    @property
    def _small(self) -> bool:
        """Whether one thread is enough for a matrix of all features or labels."""
        sizes = self.moments_.n_features, self.moments_.n_labels
        return self.moments_.form == "explicit" and max(sizes) <= SMALL

    def _model(self) -> Any:
        check_is_fitted(self)
        if self._solution.model is None:
            if not self.moments_.n > 0:
                raise ValueError("no rows are left to learn from: add some")
            with one_each(self._small):
                model = self._learn(self.moments_)
                self._solution.model = self._sharpened(model, self.moments_, self._reservoir)
        return self._solution.model

    def _evidence(self, context: CallbackContext | None) -> Evidence | None:
        if self._reservoir is not None and len(self._reservoir):
            rows = self._reservoir
            found = Evidence.from_blocks(
                self._out_of_fold(rows, context),
                self.moments_.n_labels,
                rows.B.sum() / len(rows),
                self._evidence_groups(),
                self._affinity(self.moments_),
            )
            if found is not None:
                return found
        spread = ScoreMoments.of(self._model().scores, self.moments_)
        return Evidence(ScoreCounts.from_moments(spread, float(self.moments_.n)))

    def _affinity(self, moments: Moments) -> Affinity | None:
        """Return a second opinion on the labels of rows, where the method has one."""
        return None

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
            held, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            if not len(held) or (self._learns_from_rows and not len(others)):
                continue
            X, B = rows.X[held], rows.B[held]
            weights = None if rows.weights is None else rows.weights[held]
            form = self.moments_.form
            rest = self.moments_ - Moments.from_data(X, B, weights, form=form, place=self._place)
            if not rest.n > 0:
                continue
            step = context.subcontext("fold") if context is not None else None
            learnt = self._learn(rest, reference=model, context=None)
            if self._learns_from_rows:
                learnt = self._sharpened(learnt, rest, rows.only(others))
            scores = self._placed(learnt.scores)
            affinity = self._affinity(rest)
            for block, values in scores.in_blocks(X):
                weight = None if weights is None else weights[block]
                yield values, B[block], weight, None if affinity is None else affinity(X[block])
            if step is not None:
                step.call_on_fit_task_end(estimator=self)

    def _class_steepness(self) -> float:
        spread = ScoreMoments.of(self._model().scores, self.moments_)
        gap = np.maximum(spread.mean_with - spread.mean_without, 0.0)
        return float(np.clip(np.mean(gap / spread.spread), 0.01, STEEPEST))


def _one_done(owner: MomentClassifier, context: CallbackContext, name: str) -> None:
    step = context.subcontext(name)
    step.call_on_fit_task_begin(estimator=owner)
    step.call_on_fit_task_end(estimator=owner)
