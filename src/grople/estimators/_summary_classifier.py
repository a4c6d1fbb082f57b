"""Learning from a row summary: fit, add rows, forget rows, blocks, Dask collections."""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from grople.backends import (
    as_blocks,
    declared,
    first_of_partitions,
    is_lazy,
    partitions,
    reduce_partitions,
)
from grople.decision import context_of
from grople.estimators._base import LabelClassifier, no_progress, unchanged_on_error
from grople.estimators._targets import Targets
from grople.moments import Grid, RowSummary, summarise
from grople.solver import FittedModel
from grople.solver._solve import Progress

__all__ = ["SummaryClassifier"]

Array = NDArray[Any]


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
        # "auto" takes whatever there is; a rule that insists on another context is solved again.
        known = self._has_evidence and context_of(self.decision) in ("auto", self._context)
        fits = known or not self._needs_evidence
        if self._model is None or not fits:
            self._solved(None)
        return super().fitted_model_

    @property
    def coef_(self) -> Array:
        """Weights of the features for each label, shape (n_labels, n_features)."""
        return self.fitted_model_.linear.coefficients().T

    @property
    def intercept_(self) -> Array:
        """Score of an all-zero row for each label."""
        return self.fitted_model_.linear.intercepts()

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
        self._has_evidence, self._context = self._needs_evidence, context_of(self.decision)
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
