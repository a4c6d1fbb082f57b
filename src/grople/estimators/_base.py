"""What every estimator shares: targets, validation, prediction by a fitted model."""

from __future__ import annotations

import functools
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from grople.backends import is_lazy, map_rows
from grople.decision import Decision, check_rule, needs_evidence
from grople.errors import Parameter, check_parameters
from grople.estimators._targets import Targets, encode
from grople.solver import FittedModel

__all__ = [
    "LabelClassifier",
    "index_of",
    "no_progress",
    "row_by_row",
    "seed_of",
    "unchanged_on_error",
    "weighted_rows",
]

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
    #: What the decision was fitted with.
    _has_evidence: bool = False
    _context: bool | str = "auto"
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

        Tags become a sparse matrix with a column for each of ``classes_``.

        Parameters
        ----------
        X : array, sparse array, DataFrame or Dask array of shape (n_rows, n_features)
            Features. For a Dask array a Dask array is returned.
        """
        index = index_of(X)
        X = self._validate_rows(X)
        if self._targets.kind != "multilabel":
            return self._targets.decode_scores(self.fitted_model_.scores(X))
        return self._targets.decode(self._decided_labels(X), index)

    def predict_tags(self, X: Any) -> list[Any]:
        """Return the names of the labels of each row, in lists, tuples or sets as `fit` got them.

        Parameters
        ----------
        X : array, sparse array or DataFrame of shape (n_rows, n_features)
            Features.

        Returns
        -------
        list of list, tuple or set

        Examples
        --------
        >>> from grople import GroPLE
        >>> model = GroPLE(decision="sign").fit([[0.0], [1.0], [2.0]], [["a"], ["a"], ["a", "b"]])
        >>> model.predict_tags([[0.0], [2.0]])
        [['a'], ['a', 'b']]
        """
        X = self._validate_rows(X)
        if self._targets.kind != "multilabel":
            raise ValueError("the model gives one class a row, not tags: use predict")
        return self._targets.decode_tags(self._decided_labels(X))

    @row_by_row
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each label (of each class for a 1-d target).

        Label probabilities are calibrated on held-out scores of the kept rows, or from the moments
        where no rows are kept or the decision needs none (``"sign"`` or a number), and come in a
        DataFrame where the training labels did. Class probabilities follow the scores, so that the
        predicted class is the most probable one.

        Parameters
        ----------
        X : array, sparse array, DataFrame or Dask array of shape (n_rows, n_features)
            Features. For a Dask array a Dask array is returned.
        """
        index = index_of(X)
        X = self._validate_rows(X)
        model = self.fitted_model_
        if self._targets.kind == "multilabel":
            return self._targets.decode_values(model.probabilities(X), index)
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
            predicted.resize(y.shape)  # labels that the model does not know are given to no row
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
        B.resize((B.shape[0], targets.n_columns))
        return (X, B, None) if sample_weight is None else weighted_rows(X, B, sample_weight)

    def _decided_labels(self, X: Any) -> Any:
        """Return the labels of validated rows as a CSR array."""
        rule, model = check_rule(self.decision), self.fitted_model_
        if self._needs_evidence and not self._has_evidence:
            raise ValueError(
                f"decision={self.decision!r} needs held-out scores, which a fit with "
                "decision='sign' or a number, or without folds, does not compute: fit again with "
                "this decision"
            )
        return model.labels(X, rule)

    def _validate_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype="numeric")

    def _unfitted(self) -> Self:
        """Return an estimator with these parameters and nothing else."""
        return type(self)(**self.get_params(deep=False))

    def _for_prediction(self) -> Self:
        """Return one that predicts the same as arrays and holds no rows: it travels to workers."""
        check_is_fitted(self)
        _ = self.fitted_model_
        alike = copy(self)
        if alike._targets.container == "frame":
            alike._targets = replace(self._targets, container="array")
        return alike

    def _set_targets(self, targets: Targets) -> None:
        self._targets = targets
        self.classes_ = targets.classes
        if targets.named:
            self.label_names_in_ = targets.classes
        else:
            self.__dict__.pop("label_names_in_", None)


def index_of(X: Any) -> Any:
    """Return the index of a DataFrame; a list has a method of that name."""
    return X.index if hasattr(X, "iloc") else None


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
