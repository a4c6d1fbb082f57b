"""What every estimator shares: targets, validation, prediction; learning from a row summary."""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from grople.backends._dask import (
    as_blocks,
    declared,
    first_of_partitions,
    is_lazy,
    map_rows,
    partitions,
    reduce_partitions,
)
from grople.decision import Decision, check_rule, needs_evidence
from grople.errors import Parameter, check_parameters
from grople.estimators._targets import Targets, encode
from grople.moments import Grid, RowSummary, summarise
from grople.solver import FittedModel
from grople.solver._solve import Progress

__all__ = ["LabelClassifier", "SummaryClassifier", "no_progress", "seed_of", "unchanged_on_error"]

Array = NDArray[Any]
Method = TypeVar("Method", bound=Callable[..., Any])


def no_progress(step: str, done: int, total: int) -> None:
    """Tell nobody."""


def seed_of(random_state: Any) -> int:
    """Return a seed: the same for None in every fit, so that equal rows make equal models."""
    if random_state is None:
        return 0
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def unchanged_on_error(method: Method) -> Method:
    """Put an estimator back as it was when one of its methods fails."""

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = self.__dict__.copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before
            raise

    return guarded  # type: ignore[return-value]


def row_by_row(method: Method) -> Method:
    """Let a method that answers every row alone take a Dask array, and return one."""

    @functools.wraps(method)
    def spread(self: Any, X: Any) -> Any:
        if is_lazy(X):
            return map_rows(self._for_prediction(), method.__name__, X)
        return method(self, X)

    return spread  # type: ignore[return-value]


class LabelClassifier(ClassifierMixin, BaseEstimator):
    """Base of all estimators: prediction by a fitted model."""

    #: What each parameter may be; those that check themselves are left out.
    _parameters: ClassVar[dict[str, Parameter]] = {}

    _model: FittedModel | None
    _has_evidence: bool
    _targets: Targets

    @property
    def fitted_model_(self) -> FittedModel:
        """Scores and decision as plain values."""
        check_is_fitted(self)
        assert self._model is not None
        return self._model

    @row_by_row
    def decision_function(self, X: Any) -> Array:
        """Return the scores, one a label (one in all for two classes).

        Parameters
        ----------
        X : array, sparse array, DataFrame or Dask array of shape (n_rows, n_features)
            Features. For a Dask array a Dask array is returned.
        """
        X = self._validate_rows(X)
        scores = self.fitted_model_.scores(X)
        return scores[:, 0] if self._targets.kind == "binary" else scores

    @row_by_row
    def predict(self, X: Any) -> Any:
        """Return the labels, in the container that the training labels came in.

        Parameters
        ----------
        X : array, sparse array, DataFrame or Dask array of shape (n_rows, n_features)
            Features. For a Dask array a Dask array is returned.
        """
        index = X.index if hasattr(X, "iloc") else None  # a list has an index of its own
        X = self._validate_rows(X)
        rule, model = check_rule(self.decision), self.fitted_model_
        if self._targets.kind != "multilabel":
            return self._targets.decode_scores(model.scores(X))
        if self._needs_evidence and not self._has_evidence:
            raise ValueError(
                f"decision={self.decision!r} needs held-out scores, which a fit with "
                "decision='sign' or a number, or without folds, does not compute: fit again with "
                "this decision"
            )
        return self._targets.decode(model.labels(X, rule), index)

    @row_by_row
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each label (of each class for a 1-d target).

        Label probabilities are calibrated on held-out scores of the kept rows, or from the moments
        where no rows are kept or the decision needs none (``"sign"`` or a number). Class
        probabilities follow the scores, so that the predicted class is the most probable one.

        Parameters
        ----------
        X : array, sparse array, DataFrame or Dask array of shape (n_rows, n_features)
            Features. For a Dask array a Dask array is returned.
        """
        X = self._validate_rows(X)
        model = self.fitted_model_
        if self._targets.kind == "multilabel":
            return model.probabilities(X)
        scores = model.scores(X)
        if len(self._targets.classes) == 1:
            return np.ones((scores.shape[0], 1))
        return model.class_probabilities(scores, self._targets.kind)

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

    @property
    def decision_(self) -> Decision:
        """The fitted decision."""
        return self.fitted_model_.decision

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        return tags

    # -- inside ----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_parameters(type(self).__name__, self._parameters, self.get_params(deep=False))
        check_rule(self.decision)

    @property
    def _needs_evidence(self) -> bool:
        """Whether the decision is fitted on held-out rows."""
        return needs_evidence(self.decision) and self._targets.kind == "multilabel"

    def _validate(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, classes: Any = None
    ) -> tuple[Any, Any, Array | None]:
        """Return rows, their label matrix and their weights, and take note of the labels."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        if is_lazy(X):
            raise ValueError(
                f"{type(self).__name__} needs all rows in memory here: compute a part of the Dask "
                "collection that fits"
            )
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype="numeric",
            ensure_min_samples=0 if classes is not None else 1,
        )  # fmt: skip
        check_consistent_length(X, y)
        B, targets = encode(y, None if reset else self._targets, classes)
        if not targets.n_columns:
            raise ValueError("y has no columns: there is no label to learn")
        self._set_targets(targets)
        if B.shape[1] < targets.n_columns:
            shape = (B.shape[0], targets.n_columns)
            B = sp.csr_array((B.data, B.indices, B.indptr), shape=shape)
        return (X, B, None) if sample_weight is None else weighted_rows(X, B, sample_weight)

    def _validate_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype="numeric")

    def _unfitted(self) -> Self:
        """Return an estimator with these parameters and nothing else."""
        return type(self)(**self.get_params(deep=False))

    def _for_prediction(self) -> Self:
        """Return one that predicts the same and holds no rows: it travels to workers."""
        check_is_fitted(self)
        _ = self.fitted_model_
        return copy(self)

    def _set_targets(self, targets: Targets) -> None:
        self._targets = targets
        self.classes_ = targets.classes
        if targets.named:
            self.label_names_in_ = targets.classes
        else:
            self.__dict__.pop("label_names_in_", None)


class SummaryClassifier(LabelClassifier):
    """Base of the estimators that learn from a :class:`~grople.moments.RowSummary`.

    A subclass defines its parameters and :meth:`_solve`, from a summary to a fitted model.
    """

    #: The summary of all rows so far; None before the first, and in a model stored without rows.
    summary_: RowSummary | None
    max_kept_rows: int

    def _solve(self, summary: RowSummary, progress: Progress) -> FittedModel:
        """Return the model of the rows summed up."""
        raise NotImplementedError

    @unchanged_on_error
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        like: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array, sparse array, DataFrame or Dask array of shape (n_rows, n_features)
            Features. Or, with `y` left out, a Dask bag or a list of delayed blocks ``(X, y)``.
        y : array, sparse array, DataFrame or Dask array of shape (n_rows, n_labels), or (n_rows,)
            Labels as zeros and ones, or classes.
        sample_weight : array or Dask array of shape (n_rows,), optional
            Non-negative weights.
        like : fitted estimator, optional
            A model whose grid of the features is taken over, so that the two can be compared to
            the last bit.
        progress : callable, optional
            Told ``(step, done, total)``.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._forget_everything(like)
        if is_lazy(X):
            self._reduce(partitions(X, y, sample_weight), declared(y), progress)
        else:
            self._take_in(*self._validate(X, y, sample_weight, reset=True))
        return self._solved(progress)

    @unchanged_on_error
    def fit_blocks(
        self,
        blocks: Any,
        classes: Any = None,
        *,
        like: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from blocks of rows, so that all rows need never be in memory at once.

        The model is that of all rows.

        Parameters
        ----------
        blocks : iterable, Dask bag or list of delayed blocks
            Each ``(X, y)``, ``(X, y, sample_weight)`` or a :class:`~grople.datasets.Bundle`, as
            :func:`grople.datasets.read_blocks` yields them. An iterable is gone through once,
            here; Dask's blocks are summed up where its scheduler places them.
        classes : sequence or int, optional
            Classes, label names or number of labels. Blocks of a cluster must have the same ones
            unless they are declared here; those of an iterable may bring new labels.
        like, progress
            As in :meth:`fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> from grople.baselines import Ridge
        >>> from grople.datasets import make_grouped_multilabel
        >>> data = make_grouped_multilabel(600, random_state=0)
        >>> whole = Ridge().fit(data.X, data.Y)
        >>> parts = ((data.X[i : i + 200], data.Y[i : i + 200]) for i in range(0, 600, 200))
        >>> model = Ridge().fit_blocks(parts, like=whole)
        >>> np.array_equal(model.coef_, whole.coef_)
        True
        """
        self._check_parameters()
        self._forget_everything(like)
        if is_lazy(blocks):
            self._reduce(partitions(blocks), classes, progress)
        else:
            found = _summed_up(self._unfitted(), self._grid, classes, blocks, progress)
            self._adopt(found)
        return self._solved(progress)

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
        fresh = not hasattr(self, "_targets")
        if fresh:
            self._forget_everything(None)
        else:
            self._check_rows_known()
        self._take_in(*self._validate(X, y, sample_weight, reset=fresh, classes=classes))
        return self

    @unchanged_on_error
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows that were added: the model becomes that of the remaining rows.

        Rows that were never added are refused as far as that shows: always, while no more rows
        were added than are kept (`max_kept_rows` and as many in reserve).

        Parameters
        ----------
        X, y, sample_weight
            The rows as they were added.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self._check_rows_known()
        if self.summary_ is None:
            raise ValueError("no rows were added that could be removed")
        known = self._targets.n_columns
        X, B, weights = self._validate(X, y, sample_weight, reset=False)
        if B.shape[1] > known:
            raise ValueError("cannot remove rows with labels that no added row had")
        before = self.summary_
        gone = summarise(X, B, weights, grid=before.grid, max_kept_rows=None)
        self._hold(before - gone)
        assert self.summary_ is not None
        counts = gone.sample.copies @ gone.sample.B  # of rows, whatever their weights
        self._forgotten = {
            "rows_removed": gone.n_rows,
            "labels_removed": {
                str(self.classes_[i]): int(count) for i, count in enumerate(counts) if count
            },
            "keys_removed": [f"{key:016x}" for key in np.repeat(gone.sample.keys,
                                                                gone.sample.copies.astype(int))],
            "rows_left": self.summary_.n_rows,
            "checksum_before": before.checksum(),
            "checksum_after": self.summary_.checksum(),
        }  # fmt: skip
        if before.complete and not self.summary_.complete:
            warnings.warn(self.exactness_, UserWarning, stacklevel=3)
        return self

    def forgetting_report(self) -> dict[str, Any]:
        """Return what the last :meth:`forget` did: what one shows an auditor.

        Returns
        -------
        dict
            Rows and labels removed, their keys, checksums of all that is known of rows before and
            after, and what follows from them.
        """
        check_is_fitted(self)
        if not hasattr(self, "_forgotten"):
            raise ValueError("this model has forgotten nothing since it was fitted or loaded")
        statement = (
            "A fresh summary of the remaining rows on the same grid has the checksum "
            "checksum_after. " + self.exactness_
        )
        return self._forgotten | {"statement": statement}

    @property
    def exactness_(self) -> str:
        """What still holds, in one sentence, of this model beside a fresh fit of the same rows."""
        self._check_rows_known()
        if self.summary_ is None or self.summary_.complete:
            return "Scores, probabilities and labels are those of a fresh fit to the last bit."
        kept = len(self.summary_.sample)
        return (
            "Scores are those of a fresh fit to the last bit; forgetting has used up the reserve "
            f"of kept rows, so the decision is fitted on {kept:,} rows where a fresh fit would "
            f"keep {self.max_kept_rows:,}."
        )

    @unchanged_on_error
    def fit_summary(self, summary: RowSummary, *, label_names: Any = None) -> Self:
        """Learn from rows that were summed up elsewhere (a stream, a cluster, a fold).

        Parameters
        ----------
        summary : RowSummary
            What :func:`grople.summarise` makes of rows; summaries add up.
        label_names : sequence of str, optional
            Names of the labels.

        Returns
        -------
        self
        """
        self._check_parameters()
        if not summary.n_rows:
            raise ValueError("the summary is of no rows at all: add rows before fitting")
        self._forget_everything(None)
        self.__dict__.pop("feature_names_in_", None)
        names = np.arange(summary.n_labels) if label_names is None else label_names
        if len(names) != summary.n_labels:
            raise ValueError(f"{len(names)} label names for {summary.n_labels} labels")
        self.n_features_in_ = summary.n_features
        self._set_targets(Targets("multilabel", np.asarray(names), named=label_names is not None))
        self._hold(summary)
        return self._solved(None)

    @unchanged_on_error
    def refit(self, **parameters: Any) -> Self:
        """Learn again from the same rows with other parameters (solved when asked for).

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self._check_rows_known()
        self.set_params(**parameters)
        self._check_parameters()
        self._model = None
        return self

    @property
    def fitted_model_(self) -> FittedModel:
        """Scores and decision, solved when first asked for."""
        check_is_fitted(self)
        if self._model is None or (self._needs_evidence and not self._has_evidence):
            self._solved(None)
        return super().fitted_model_

    @property
    def coef_(self) -> Array:
        """Weights of the features for each label, shape (n_labels, n_features)."""
        return self.fitted_model_.scorer.coefficients().T

    @property
    def intercept_(self) -> Array:
        """Score of an all-zero row for each label."""
        return self.fitted_model_.scorer.intercepts()

    # -- inside ----------------------------------------------------------------------------

    def _forget_everything(self, like: Any) -> None:
        """Begin anew, on the grid of another model if one is given."""
        self._grid: Grid | None = None
        if like is not None:
            if getattr(like, "summary_", None) is None:
                raise ValueError("like is a model that knows rows: fitted, not stored without them")
            self._grid = like.summary_.grid
        self.__dict__.pop("_forgotten", None)
        self.summary_ = None
        self._stored_without_rows = False
        self._model = None

    def _take_in(self, X: Any, B: Any, weights: Array | None) -> None:
        """Add the summary of rows to what is known."""
        if not X.shape[0]:
            if self.summary_ is not None:
                self._hold(self.summary_.padded(B.shape[1]))
            return
        before = 0 if self.summary_ is None else self.summary_.n_rows
        grid = self._grid if self.summary_ is None else self.summary_.grid
        new = summarise(X, B, weights, grid=grid, max_kept_rows=self.max_kept_rows)
        if grid is not None and X.shape[0] >= before:
            grid.warn_of_misfit(X)
        self._hold(new if self.summary_ is None else self.summary_ + new)

    def _hold(self, summary: RowSummary) -> None:
        self.summary_, self._model = summary, None

    def _adopt(self, other: Self | None) -> None:
        """Take over what an estimator of the same kind has taken in."""
        if other is None or other.summary_ is None:
            raise ValueError("Found 0 samples: no block has rows to learn from")
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))
        self._set_targets(other._targets)
        self._hold(other.summary_)

    def _reduce(self, parts: Any, classes: Any, progress: Progress | None) -> None:
        """Sum up the rows of partitions where they lie."""
        bare = self._unfitted()
        grid = self._grid or first_of_partitions(parts, partial(_grid_of, bare, classes))
        gather = partial(_summed_up, bare, grid, classes)
        self._adopt(reduce_partitions(parts, gather, _joined, progress or no_progress))

    def _solved(self, progress: Progress | None) -> Self:
        self._check_rows_known()
        if self.summary_ is None or not self.summary_.n_rows:
            raise ValueError("no rows are left to learn from: add some")
        self._model = self._solve(self.summary_, progress or no_progress)
        self._has_evidence = self._needs_evidence
        return self

    def _check_rows_known(self) -> None:
        if getattr(self, "_stored_without_rows", False):
            raise ValueError(
                "this model was stored or loaded without its rows, so it can predict but not "
                "learn: save and load it with them, or fit it again"
            )

    def _for_prediction(self) -> Self:
        light = super()._for_prediction()
        light.summary_, light._stored_without_rows = None, True
        return light


def weighted_rows(X: Any, B: Any, sample_weight: Any) -> tuple[Any, Any, Array]:
    """Return rows, labels and weights without the rows that weigh nothing."""
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


def _summed_up(
    bare: Any, grid: Grid | None, classes: Any, part: Iterable[Any], progress: Any = None
) -> Any:
    """Return an estimator that has taken in the blocks of a partition, None if there are none."""
    model = copy(bare)
    model._forget_everything(None)
    model._grid = grid
    empty, n_rows = True, 0
    for X, y, weights in as_blocks(part):
        X, B, weights = model._validate(X, y, weights, reset=empty, classes=classes)
        if model._grid is None and X.shape[0]:
            model._grid = Grid.of(X, weights, streamed=True)
        model._take_in(X, B, weights)
        empty, n_rows = False, n_rows + X.shape[0]
        if progress is not None:
            progress("rows", n_rows, 0)
    return None if empty else model


def _grid_of(bare: Any, classes: Any, part: Iterable[Any]) -> Grid | None:
    """Return the grid that the first rows of a partition set."""
    model = copy(bare)
    for X, y, weights in as_blocks(part):
        X, _, weights = model._validate(X, y, weights, reset=True, classes=classes)
        if X.shape[0]:
            return Grid.of(X, weights)
    return None


def _joined(models: Sequence[Any]) -> Any:
    """Return an estimator that has taken in the rows of several."""
    there: Iterator[Any] = (model for model in models if model is not None)
    first, *others = [*there] or [None]
    if first is None:
        return None
    for other in others:
        if not np.array_equal(first.classes_, other.classes_):
            raise ValueError(
                "blocks have different labels: give them the same columns, or declare all labels "
                "or classes with fit_blocks(blocks, classes=...)"
            )
        if first.n_features_in_ != other.n_features_in_:
            raise ValueError(
                f"blocks have {first.n_features_in_} and {other.n_features_in_} features"
            )
    summaries = [model.summary_ for model in (first, *others) if model.summary_ is not None]
    if summaries:
        first = copy(first)
        first._hold(functools.reduce(operator.add, summaries))
    return first
