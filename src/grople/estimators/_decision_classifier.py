"""The shared decisions for any scikit-learn classifier.

A classifier gives scores; which labels to predict from them is a question of its own, and most of
the quality of a multi-label prediction lies there. This meta-estimator answers it for any
classifier as :mod:`grople.decision` does for the estimators of this library: on held-out scores
of the training rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import check_consistent_length, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from grople.decision import HeldOut, HeldOutBlock, context_of, fit_decision, needs_evidence
from grople.errors import Choice, Parameter
from grople.estimators._base import (
    LabelClassifier,
    no_progress,
    unchanged_on_error,
    weighted_rows,
)
from grople.estimators._per_label import binary_models, narrow_indices, varying_labels
from grople.estimators._responses import (
    EstimatorScores,
    folds_of_rows,
    label_form,
    n_rows,
    take_params,
    take_rows,
)
from grople.estimators._targets import encode
from grople.folds import MultilabelStratifiedKFold
from grople.moments import row_keys
from grople.solver import FittedModel
from grople.solver._model import row_blocks
from grople.solver._solve import Progress

__all__ = ["MultilabelDecisionClassifier"]

Array = NDArray[Any]

#: How a label matrix may reach the estimator.
LABEL_FORMS = ("auto", "one_by_one", "dense", "sparse")
RESPONSES = ("auto", "decision_function", "predict_proba")
#: Rows whose scores are looked at for their size, and the size below which they are too small.
CHECKED, SMALLEST = 100, 1e-3


class MultilabelDecisionClassifier(MetaEstimatorMixin, LabelClassifier):
    """Give any classifier the decisions that maximise a multi-label measure.

    The estimator is fitted on each training part of ``cv``; its scores of the held-out rows say
    how scores become probabilities and labels. It is then fitted on all rows.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier with ``decision_function`` or ``predict_proba``, or a pipeline
        that ends in one. Rows are passed on as they are, so they may be texts or tables.
    decision : "sign", float, name or Rule, default="example_f1"
        How scores become labels: above zero, above a number, so that ``"accuracy"``,
        ``"example_f1"``, ``"macro_f1"`` or ``"micro_f1"`` is as large as possible, or by another
        rule of :class:`grople.decision.Rule`, which also says how probabilities are made. May be
        changed on a fitted model with ``set_params``. A 1-d target is decided by sign or largest
        score.
    cv : int, splitter, iterable or None, default=5
        Held-out scores: a number of stratified folds (the same in every fit), or anything
        scikit-learn takes. None fits the estimator once only; the decision must then be
        ``"sign"`` or a number.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        What to ask the estimator for; ``"auto"`` prefers the decision function. A probability p
        becomes the score 2p − 1.
    labels : {"auto", "one_by_one", "dense", "sparse"}, default="auto"
        How a label matrix reaches the estimator: one label at a time (a clone each), as a dense
        array, or as a sparse one. ``"auto"`` goes by what the estimator says of itself.
    n_jobs : int, optional
        Labels learnt at a time where they are learnt one by one.

    Attributes
    ----------
    estimators_ : list of classifiers
        Fitted on all rows: one for all labels, or one for each that varies. A label that never or
        always occurs gets a constant score: a probability of 0 or 1, or one beyond all others.
    active_labels_ : ndarray of int
        The labels that vary.
    decision_ : Decision
        The fitted decision.
    classes_, label_names_in_, n_features_in_, feature_names_in_
        As in scikit-learn; ``label_names_in_`` are the column names of a DataFrame of labels.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from grople.datasets import make_grouped_multilabel
    >>> from grople.estimators import MultilabelDecisionClassifier
    >>> from grople.metrics import example_f1
    >>> data = make_grouped_multilabel(600, random_state=0)
    >>> X, Y, X_test, Y_test = data.X[:400], data.Y[:400], data.X[400:], data.Y[400:]
    >>> model = MultilabelDecisionClassifier(RidgeClassifier()).fit(X, Y)
    >>> tuned = example_f1(Y_test, model.predict(X_test))
    >>> by_sign = example_f1(Y_test, model.set_params(decision="sign").predict(X_test))
    >>> tuned > by_sign
    True
    """

    _parameters: ClassVar[dict[str, Parameter]] = {
        "response_method": Choice(RESPONSES),
        "labels": Choice(LABEL_FORMS),
    }

    def __init__(
        self,
        estimator: Any,
        decision: str | float = "example_f1",
        *,
        cv: Any = 5,
        response_method: str = "auto",
        labels: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.decision = decision
        self.cv = cv
        self.response_method = response_method
        self.labels = labels
        self.n_jobs = n_jobs

    @unchanged_on_error
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        progress: Progress | None = None,
        **params: Any,
    ) -> Self:
        """Fit the estimator, and the decision on its held-out scores.

        Parameters
        ----------
        X : rows
            Features, as the estimator takes them.
        y : array, sparse array or DataFrame of shape (n_rows, n_labels), or (n_rows,)
            Labels as zeros and ones, or classes.
        sample_weight : array of shape (n_rows,), optional
            Non-negative weights, for the estimator and for the decision.
        progress : callable, optional
            Told ``(step, done, total)``.
        **params
            Passed on by scikit-learn's metadata routing; where that is not enabled, ``groups`` to
            the splitter and the others to the estimator.

        Returns
        -------
        self
        """
        self._check_parameters()
        if self.cv is None and needs_evidence(self.decision):
            raise ValueError(
                f"decision={self.decision!r} is fitted on held-out scores, but cv is None: give "
                "a number of folds, or decide by 'sign' or a number"
            )
        progress = progress or no_progress
        X, y = _rows(X), indexable(y)[0]
        rows, B, weights = self._encode(X, y, sample_weight)
        fit_params, split_params = self._route(sample_weight, params)
        n, cv = n_rows(X), self.cv
        if len(rows) < n:  # rows without weight are no rows
            cv = folds_of_rows(cv, rows, n)
            fit_params = take_params(fit_params, rows, n)
            split_params = take_params(split_params, rows, n)
            X, y = take_rows(X, rows), take_rows(y, rows)
        scorer = self._learn_rows(X, y, B, fit_params, progress)
        held_out = None
        if self._targets.kind == "multilabel" and cv is not None:
            blocks = self._held_out(X, y, B, weights, cv, fit_params, split_params, progress)
            held_out = HeldOut.from_blocks(blocks, B.shape[1])
        self._model = FittedModel(scorer, fit_decision(held_out, context=context_of(self.decision)))
        self._has_evidence = held_out is not None
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each label, calibrated on held-out scores.

        Without these (``cv=None``) they are read off the scores, and are no more than an order.
        For a 1-d target they are the estimator's own class probabilities, where it has any.

        Parameters
        ----------
        X : rows
            Features, as the estimator takes them.
        """
        check_is_fitted(self)
        models = self.estimators_
        if self._targets.kind != "multilabel" and models and hasattr(models[0], "predict_proba"):
            return models[0].predict_proba(X)
        return super().predict_proba(X)

    @property
    def estimators_(self) -> list[Any]:
        """The estimators fitted on all rows."""
        return self.fitted_model_.scorer.models

    @property
    def active_labels_(self) -> Array:
        """The labels that some but not all rows carry."""
        return self.fitted_model_.scorer.active

    @property
    def n_features_in_(self) -> int:
        """Number of features, where the estimator counts them."""
        return self._first().n_features_in_

    @property
    def feature_names_in_(self) -> Array:
        """Names of the features, where the estimator knows them."""
        return self._first().feature_names_in_

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata reaches the estimator and the splitter."""
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(
            estimator=self.estimator,
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )
        if hasattr(self.cv, "get_metadata_routing"):
            router.add(
                splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split")
            )
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        tags.non_deterministic = inner.non_deterministic
        return tags

    # -- inside ----------------------------------------------------------------------------

    def _first(self) -> Any:
        if not self.estimators_:
            raise AttributeError("no label varied in training, so no estimator saw the features")
        return self.estimators_[0]

    def _validate_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return _rows(X)

    def _encode(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Any, Array | None]:
        """Return the rows that count, their labels and their weights."""
        if get_tags(self.estimator).input_tags.pairwise:
            raise ValueError(
                "the estimator takes distances or kernels between all rows, which cannot be cut "
                "into folds: give it the rows themselves"
            )
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        check_consistent_length(X, y)
        if n_rows(X) == 0:
            raise ValueError("Found array with 0 sample(s), but at least one row is needed")
        B, targets = encode(y)
        self._set_targets(targets)
        rows = np.arange(B.shape[0])
        return (rows, B, None) if sample_weight is None else weighted_rows(rows, B, sample_weight)

    def _route(
        self, sample_weight: Any, params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what goes to the estimator and what to the splitter."""
        if sample_weight is not None:
            params = params | {"sample_weight": sample_weight}
        if not get_config()["enable_metadata_routing"]:
            to_splitter = {"groups": params.pop("groups")} if "groups" in params else {}
            return params, to_splitter
        if not params:
            return {}, {}
        routed = process_routing(self, "fit", **params)
        to_splitter = dict(routed.splitter.split) if "splitter" in routed else {}
        return dict(routed.estimator.fit), to_splitter

    def _learn_rows(
        self, X: Any, y: Any, B: Any, fit_params: dict[str, Any], progress: Progress = no_progress
    ) -> EstimatorScores:
        active, signs = varying_labels(B)
        form = label_form(self.estimator) if self.labels == "auto" else self.labels
        if len(active) == 1 and get_tags(self.estimator).target_tags.single_output:
            form = "one_by_one"  # to most, a matrix of one column is a 1-d target gone wrong
        models: list[Any]
        if not len(active):
            models = []
        elif self._targets.kind != "multilabel":
            models = [clone(self.estimator).fit(X, column_or_1d(y), **fit_params)]
        elif form == "one_by_one":
            models = []
            model: Any
            for model in binary_models(
                self.estimator, X, B[:, active], fit_params, n_jobs=self.n_jobs
            ):
                models.append(model)
                progress("labels", len(models), len(active))
        else:
            # Wide integers: scikit-learn's LabelBinarizer counts labels in the type they come in.
            marks = sp.csr_array(B[:, active]).astype(np.int64)
            marks = marks.toarray() if form == "dense" else marks
            models = [clone(self.estimator).fit(X, marks, **fit_params)]
        return EstimatorScores.of(models, active, signs, self.response_method)

    def _held_out(
        self,
        X: Any,
        y: Any,
        B: Any,
        weights: Array | None,
        cv: Any,
        fit_params: dict[str, Any],
        split_params: dict[str, Any],
        progress: Progress,
    ) -> Iterator[HeldOutBlock]:
        """Yield scores of rows by estimators that have not seen them."""
        n = B.shape[0]
        if isinstance(cv, Integral) and not isinstance(cv, bool):
            if "groups" in split_params:
                warnings.warn(
                    f"cv={cv} makes folds by labels and does not look at groups: give a splitter "
                    "that does, such as GroupKFold",
                    UserWarning,
                    stacklevel=2,
                )
            if n < 2:
                return
            splitter: Any = MultilabelStratifiedKFold(min(int(cv), n), shuffle=False)
            folds = splitter.split(B, B)
        else:
            folds = check_cv(cv, y, classifier=True).split(X, y, **split_params)
        numeric = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
        keys = row_keys(X) if numeric or sp.issparse(X) else None
        for number, (rest, held) in enumerate(folds):
            progress("folds", number, 0)
            part = take_params(fit_params, rest, n)
            rows, labels = take_rows(X, rest), take_rows(y, rest)
            scores = self._learn_rows(rows, labels, B[rest], part)
            if number == 0:
                self._check_size(scores, take_rows(X, held[:CHECKED]))
            for block in row_blocks(len(held), B.shape[1]):
                at = held[block]
                yield HeldOutBlock(
                    scores(take_rows(X, at)),
                    B[at],
                    None if weights is None else weights[at],
                    None if keys is None else keys[at],
                )

    def _check_size(self, scores: EstimatorScores, X: Any) -> None:
        """Warn where scores are so large or small that a decision cannot tell them apart."""
        found = np.abs(scores(X)[:, scores.active])
        found = found[found > 0]
        if found.size and not SMALLEST < np.median(found) < 1.0 / SMALLEST:
            warnings.warn(
                f"the scores of {type(self.estimator).__name__} are of the size "
                f"{np.median(found):.0e}, and decisions tell scores apart between about "
                f"{SMALLEST:g} and {1 / SMALLEST:g}: scale the features, in a pipeline for example",
                UserWarning,
                stacklevel=2,
            )


def _rows(X: Any) -> Any:
    """Return X as rows can be taken from it, and as most classifiers accept it."""
    X = indexable(X)[0]
    return narrow_indices(X) if sp.issparse(X) else X
