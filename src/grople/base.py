"""What every estimator shares: targets, validation, decisions and prediction.

validate → learn → decide → attributes. :class:`LabelClassifier` holds what does not depend on how
a model is learnt. :class:`grople.streaming.MomentClassifier` learns from moments,
:class:`grople.rows.RowClassifier` from the rows themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackContext, CallbackSupportMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from grople.arrays import Place, check_rows, is_foreign, place_of, returned, taken, to_numpy
from grople.clusters import is_lazy, map_rows
from grople.decision import Decision, Evidence, check_rule, fit_decision
from grople.linear import LinearScores, PlacedScores
from grople.parameters import Anything, Parameter, check_parameters
from grople.targets import Targets, encode
from grople.threads import in_shares

__all__ = [
    "LabelClassifier",
    "LearntModel",
    "Scores",
    "row_by_row",
    "unchanged_on_error",
]

Array = NDArray[Any]
Method = TypeVar("Method", bound=Callable[..., Any])

#: Folds of the out-of-fold scores that decisions are fitted on.
DECISION_FOLDS = 5


class Scores(Protocol):
    """Scores of rows, one a label."""

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""

    def __call__(self, X: Any) -> Array:
        """Return the scores of rows."""

    def in_blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of rows with their scores."""


class LearntModel(Protocol):
    """What a subclass learns: at least its scores."""

    @property
    def scores(self) -> Any:
        """The scores (:class:`Scores`)."""


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
    """Let a method that treats every row by itself take a Dask array, and return one."""

    @functools.wraps(method)
    def spread(self: Any, X: Any) -> Any:
        if is_lazy(X):
            return map_rows(self._for_prediction(), method.__name__, X)
        return method(self, X)

    return spread  # type: ignore[return-value]


class Lazy:
    """What follows from what was learnt from, computed when it is first asked for."""

    def __init__(self) -> None:
        self.model: LearntModel | None = None
        self.evidence: Evidence | None = None
        self.decisions: dict[Any, Decision] = {}


class LabelClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base of all estimators: prediction, probabilities and decisions from scores."""

    #: What each parameter may be; those of a subclass are added to these.
    _shared_parameters: ClassVar[dict[str, Parameter]] = {
        "decision": Anything(),
        "random_state": Anything(),
    }
    _parameters: ClassVar[dict[str, Parameter]] = {}

    def _model(self) -> Any:
        """Return what was learnt, learning it first where that was put off."""
        raise NotImplementedError

    def _evidence(self, context: CallbackContext | None) -> Evidence | None:
        """Return the out-of-fold scores that decisions are fitted on, None where there are none."""
        raise NotImplementedError

    def _class_steepness(self) -> float:
        """Return how fast the probability of a class rises with its score."""
        return 2.0

    # -- predicting ------------------------------------------------------------------------

    @row_by_row
    def decision_function(self, X: Any) -> Array:
        """Return the scores, one a label (one in all for two classes).

        Parameters
        ----------
        X : array, sparse array, DataFrame or Dask array of shape (n_rows, n_features)
            Features. For a Dask array a Dask array is returned.
        """
        X = self._validate_rows(X)
        scores = self._placed(self._model().scores, X)(X)
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
        scores = self._placed(self._model().scores, X)
        if self._targets.kind != "multilabel":
            return returned(self._targets.decode_scores(to_numpy(scores(X))), X)
        decision = self._decision()

        def labels_of(part: Any) -> list[Any]:
            return [
                decision.labels(block, to_numpy(part[rows, :]) if decision.asks_rows else None)
                for rows, block in scores.in_blocks(part)
            ]

        if isinstance(scores, LinearScores):
            size = X.shape[0] * scores.n_labels
            parts = in_shares(lambda rows: labels_of(X[rows, :]), X.shape[0], size)
        else:  # other scores may have threads, processes or a device of their own
            parts = [labels_of(X)]
        found = sp.vstack([block for part in parts for block in part], format="csr")
        return returned(self._targets.decode(found, index), X)

    @row_by_row
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each label (of each class for a 1-d target).

        Label probabilities are calibrated on out-of-fold scores of the kept rows, or from the
        moments where no rows are kept. Class probabilities follow the scores, so that the
        predicted class is the most probable one.

        Parameters
        ----------
        X : array, sparse array, DataFrame or Dask array of shape (n_rows, n_features)
            Features. For a Dask array a Dask array is returned.
        """
        X = self._validate_rows(X)
        scores = to_numpy(self._placed(self._model().scores, X)(X))
        return returned(self._probabilities(scores, X), X)

    def _probabilities(self, scores: Array, X: Any) -> Array:
        if self._targets.kind == "multilabel":
            decision = self._decision()
            return decision.probabilities(scores, to_numpy(X) if decision.asks_rows else None)
        if len(self._targets.classes) == 1:
            return np.ones((scores.shape[0], 1))
        steepness = self._class_steepness()
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

    def save(self, path: Any, **options: Any) -> None:
        """Write this fitted model to a file, from which :func:`grople.load_model` reads it.

        Parameters
        ----------
        path : path
            The file, ``.grople`` by custom.
        **options
            As in :func:`grople.modelfile.save_model`: ``with_moments``, ``features``, ``notes``.
        """
        from grople.modelfile import save_model  # that room stands to the right of this one

        save_model(path, self, **options)

    # -- attributes ------------------------------------------------------------------------

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
        if is_lazy(X):
            raise ValueError(
                f"{type(self).__name__} needs all rows at hand here: compute a part of the Dask "
                "collection that fits into memory"
            )
        X = self._checked(X, reset=reset, ensure_min_samples=0 if classes is not None else 1)
        self.__dict__.pop("_lies", None)
        if is_foreign(X):
            self._lies = place_of(X)
        y, sample_weight = to_numpy(y), to_numpy(sample_weight)
        check_consistent_length(X, y)
        known = None if reset else self._targets
        B, targets = encode(y, known, classes)
        if not targets.n_columns:
            raise ValueError("y has no columns: there is no label to learn")
        if removing and targets.n_columns > self._targets.n_columns:
            raise ValueError("cannot remove rows with labels that no added row had")
        self._set_targets(targets)
        if B.shape[1] < targets.n_columns:
            shape = (B.shape[0], targets.n_columns)
            B = sp.csr_array((B.data, B.indices, B.indptr), shape=shape)
        return (X, B, None) if sample_weight is None else _weighted(X, B, sample_weight)

    def _validate_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._checked(X, reset=False)

    def _checked(self, X: Any, *, reset: bool, ensure_min_samples: int = 1) -> Any:
        """Return rows that can be learnt from; those on a device stay there where they may."""
        if is_foreign(X):
            if hasattr(self, "device"):
                check_rows(X, ensure_min_samples)
                return validate_data(self, X, reset=reset, skip_check_array=True)
            X = to_numpy(X)
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype="numeric",
            ensure_min_samples=ensure_min_samples,
        )  # fmt: skip

    @property
    def _place(self) -> Place | None:
        """Where to learn: on the device asked for, or where the rows lay."""
        device = getattr(self, "device", None)
        return getattr(self, "_lies", None) if device is None else place_of(None, device)

    def _placed(self, scores: Any, X: Any = None) -> Any:
        """Return scores that are computed where they should be: on a device, or where X lies."""
        place = self._place if X is None else place_of(X, getattr(self, "device", None))
        return scores if place is None else PlacedScores(scores, place)

    def _unfitted(self) -> Self:
        """Return an estimator with these parameters and nothing else."""
        return type(self)(**self.get_params(deep=False))

    def _for_prediction(self) -> Self:
        """Return one that predicts the same and holds nothing else: it travels to workers."""
        check_is_fitted(self)
        light = self._unfitted()
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(light, name, getattr(self, name))
        light._set_targets(self._targets)
        light._solution = Lazy()
        light._solution.model = self._model()
        if self._targets.kind == "multilabel":
            light._solution.decisions[check_rule(self.decision)] = self._decision()
        return light

    def _set_targets(self, targets: Targets) -> None:
        self._targets = targets
        self.classes_ = targets.classes
        if targets.named:
            self.label_names_in_ = targets.classes
        else:
            self.__dict__.pop("label_names_in_", None)

    def _decision(self, context: CallbackContext | None = None) -> Decision:
        rule = check_rule(self.decision)
        lazy = self._solution
        if rule not in lazy.decisions:
            if lazy.evidence is None:
                lazy.evidence = self._evidence(context)
            lazy.decisions[rule] = fit_decision(rule, lazy.evidence)
        return lazy.decisions[rule]


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
        return taken(X, keep), B[keep], weights[keep]
    return X, B, weights
