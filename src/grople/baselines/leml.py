"""LEML: low-rank empirical risk minimisation for multi-label learning (Yu et al., 2014).

    min_{W,H}  ½‖Y − X̃ W H‖² + (λ/2)(‖W‖² + ‖H‖²)          scores  x̃ W H

Y is ±1, W is D×d and H is d×L; W and H in turn, each being a ridge regression. With all labels
observed moments are enough (:mod:`grople.baselines.leml_factors`); where labels are missing the
sum runs over the observed entries, row by row (:mod:`grople.baselines.leml_rows`). With a free
intercept X and Y are centred, and ȳ is added to the scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import CallbackContext, with_callbacks

from grople.active import active_labels, learn_active_labels
from grople.base import DECISION_FOLDS, Lazy, unchanged_on_error
from grople.baselines.design import Design
from grople.baselines.leml_factors import (
    Factors,
    factorise,
    factorise_as_published,
    trace_weight,
)
from grople.baselines.leml_rows import IncompleteLabels, ObservedRows, has_missing
from grople.baselines.linear_embedding import (
    EmbeddingModel,
    LinearEmbedding,
    Size,
    embedding_size,
    step,
)
from grople.clusters import is_lazy
from grople.decision import Evidence, ScoreCounts, needs_counts
from grople.fingerprints import row_fingerprints
from grople.linear import LinearScores
from grople.moments import Moments
from grople.parameters import Anything, Choice, Number, Parameter, Whole
from grople.reservoir import fold_of
from grople.targets import encode

__all__ = ["LEML"]

Array = NDArray[Any]

#: A score below all others, for pairs that are not observed.
UNSEEN = -1e300


@dataclass(frozen=True)
class LEMLModel(EmbeddingModel):
    """Scores, the λ they were learnt with, and how the objective fell."""

    objective_path: Array


class LEML(LinearEmbedding):
    """Low-rank multi-label regression, also from incomplete labels.

    ``fit`` takes label matrices in which NaN marks entries that are not known; those are left out
    of the sum. Such a model is learnt from rows and cannot be added to or taken from.

    Parameters
    ----------
    n_components : int, float or "auto", default=100
        Rank (d), clipped to the number of labels; a float is a share of the labels, rounded up;
        ``"auto"`` takes as many as hold 95 % of the spread of the labels.
    ridge : float or "auto", default="auto"
        Weight of ‖W‖² + ‖H‖² (λ). ``"auto"`` takes the weight that pulls as hard as the ridge
        weight which generalised cross-validation chooses where the rank is not bounded.
    init : {"spectral", "published"}, default="spectral"
        Start from the predictable axes of the labels, balance, and go on until settled; or the
        published scheme, ten rounds from a random start.
    fit_intercept : bool or "penalised", default=True
        Whether there is an intercept, without penalty: labels and features are then centred.
        ``"penalised"`` is the published choice: nothing is centred, and there is a constant feature
        that is penalised like the others.
    scale : bool, default=False
        Whether features are divided by their standard deviation (from moments, training rows only).
    decision : "sign", float, name or Rule, default="example_f1"
        How scores become labels; see :class:`grople.GroPLE`.
    reservoir_size : int, default=20000
        Rows kept, at most, to fit such a decision on out-of-fold scores.
    row_check : bool, default=False
        Whether to keep a fingerprint of every row, so that ``forget`` refuses rows never added.
    form : {"auto", "explicit", "implicit"}, default="auto"
        Form of the moments: matrices, or (for many features) the sparse rows themselves.
    tol : float, default=1e-5
        Stop when a round saves at most this share of the objective.
    max_iter : int, default=100
        The most rounds.
    random_state : int, RandomState or None, default=None
        Seed of the published start.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_labels)
        H.
    mapping_ : ndarray of shape (n_features, d)
        W.
    ridge_ : float
        The λ used.
    objective_path_ : ndarray
        The objective after each round.
    n_iter_ : int
        Rounds.
    coef_, intercept_ : ndarray
        The scores as a linear function of the features.
    moments_ : Moments
        What the model was learnt from (not where labels were missing).
    classes_, label_names_in_, n_features_in_, feature_names_in_
        As in scikit-learn; ``label_names_in_`` are the column names of a DataFrame of labels.

    Examples
    --------
    >>> import numpy as np
    >>> from grople.baselines import LEML
    >>> from grople.datasets import load
    >>> from grople.metrics import example_f1
    >>> data = load("debtags-mini")
    >>> X, Y = data.X[:, :500], data.Y
    >>> model = LEML(50, decision="sign").fit(X[:3000], Y[:3000])
    >>> example_f1(Y[3000:], model.predict(X[3000:])) > 0.3
    True

    Half of the labels unknown:

    >>> known = Y[:500].toarray().astype(float)
    >>> known[np.random.default_rng(0).random(known.shape) < 0.5] = np.nan
    >>> LEML(10, decision="sign").fit(X[:500], known).predict(X[3000:]).shape
    (998, 169)
    """

    _parameters: ClassVar[dict[str, Parameter]] = {
        "init": Choice(("spectral", "published")),
        "tol": Number(),
        "max_iter": Whole(1),
        "random_state": Anything(),
    }
    _published: ClassVar[dict[str, dict[str, Any]]] = {
        "genbase": {"n_components": 0.8, "ridge": 1e-4},
        "medical": {"n_components": 0.5, "ridge": 1.0},
        "CAL500": {"n_components": 0.8, "ridge": 0.01},
        "corel5k": {"n_components": 0.1, "ridge": 1e-4},
        "rcv1subset1": {"n_components": 0.8, "ridge": 1.0},
        "rcv1subset2": {"n_components": 0.7, "ridge": 1.0},
        "rcv1subset3": {"n_components": 0.8, "ridge": 1.0},
    }

    def __init__(
        self,
        n_components: Size = 100,
        ridge: float | str = "auto",
        *,
        init: str = "spectral",
        fit_intercept: bool | str = True,
        scale: bool = False,
        decision: str | float = "example_f1",
        reservoir_size: int = 20_000,
        row_check: bool = False,
        form: str = "auto",
        tol: float = 1e-5,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            ridge,
            fit_intercept=fit_intercept,
            scale=scale,
            decision=decision,
            reservoir_size=reservoir_size,
            row_check=row_check,
            form=form,
        )
        self.init = init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @classmethod
    def published(cls, name: str, **parameters: Any) -> Self:
        """Return the setting behind the published table for a data set.

        The start is random, the intercept is penalised and a label is given where its score is
        above zero.

        Parameters
        ----------
        name : str
            One of the paper's data sets (a suffix as in ``"genbase-authors"`` is fine).
        **parameters
            Parameters to set otherwise.

        Examples
        --------
        >>> LEML.published("medical").init
        'published'
        """
        return super().published(name, **({"init": "published"} | parameters))

    @property
    def objective_path_(self) -> Array:
        """The objective after each round."""
        return self._model().objective_path

    @property
    def n_iter_(self) -> int:
        """Rounds."""
        return max(1, len(self._model().objective_path))

    @property
    def _complete(self) -> bool:
        """Whether no label was missing, so that there are moments."""
        return hasattr(self, "moments_") or not hasattr(self, "_solution")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array, sparse array, DataFrame or Dask array of shape (n_rows, n_features)
            Features, or blocks as in :meth:`grople.GroPLE.fit`.
        y : array, sparse array, DataFrame or Dask array of shape (n_rows, n_labels), or (n_rows,)
            Labels as zeros and ones, NaN where a label is not known (not in a Dask array); or
            classes.
        sample_weight : array of shape (n_rows,), optional
            Non-negative weights.

        Returns
        -------
        self
        """
        if not is_lazy(X) and has_missing(y):
            return self._fit_incomplete(X, y, sample_weight)
        return super().fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows without missing labels; see :meth:`grople.GroPLE.partial_fit`."""
        self._refuse_incomplete(y)
        return super().partial_fit(X, y, classes, sample_weight)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows that were added; see :meth:`grople.GroPLE.forget`."""
        self._refuse_incomplete(y)
        return super().forget(X, y, sample_weight)

    def refit(self, **parameters: Any) -> Self:
        """Learn again from the same moments; see :meth:`grople.GroPLE.refit`."""
        self._refuse_incomplete()
        return super().refit(**parameters)

    def _refuse_incomplete(self, y: Any = None) -> None:
        if y is not None and has_missing(y):
            raise ValueError(
                "y has missing labels (NaN). LEML learns from them in fit only: rows are added and "
                "removed as moments, which cannot say which entries are missing"
            )
        if not self._complete:
            raise ValueError(
                "this model was learnt from incomplete labels, so it has no moments to add to or "
                "take from: fit it again with all rows"
            )

    def _learn(
        self,
        moments: Moments,
        reference: EmbeddingModel | None = None,
        context: CallbackContext | None = None,
    ) -> LEMLModel:
        def solve(active: Moments) -> tuple[tuple[float, Array], LinearScores]:
            design = Design(active, self.fit_intercept, self.scale)
            with step(self, context, "ridge weight"):
                ridge = self._weight(design, reference)
            with step(self, context, "factors"):
                factors = self._factors(design, ridge)
            scores = design.scores(factors.W, factors.H, design.shared_means)
            return (ridge, factors.objective_path), scores

        (ridge, path), scores, _ = learn_active_labels(moments, solve)
        return LEMLModel(scores, ridge, path)

    def _weight(self, design: Design, reference: EmbeddingModel | None) -> float:
        if not isinstance(self.ridge, str):
            return float(self.ridge)
        return trace_weight(design) if reference is None else reference.ridge

    def _factors(self, design: Design, ridge: float) -> Factors:
        if design.moments.n_labels == 0:
            return Factors(
                np.zeros((design.view.moments.n_features, 0)), np.zeros((0, 0)), np.zeros(1)
            )
        size = embedding_size(self.n_components, design.moments.labels)
        if self.init == "published":
            return factorise_as_published(design, size, ridge, self.random_state)
        return factorise(design, size, ridge, tol=self.tol, max_iter=self.max_iter)

    # -- missing labels --------------------------------------------------------------------

    @unchanged_on_error
    @with_callbacks
    def _fit_incomplete(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        labels = IncompleteLabels.of(y)
        X, B, weights = self._validate(X, labels.ones(), sample_weight, reset=True)
        self._set_targets(encode(labels.header)[1])
        if weights is not None:  # rows without weight are gone
            labels = labels.take(np.flatnonzero(np.broadcast_to(sample_weight, len(labels.index))))
        for attribute in ("moments_", "_reservoir", "_fingerprints"):
            self.__dict__.pop(attribute, None)
        self._solution = Lazy()
        with step(self, context, "factors"):
            self._solution.model = self._learn_observed(X, B, labels, weights)
        if needs_counts(self.decision):
            with step(self, context, "decision"):
                self._solution.evidence = self._observed_evidence(X, B, labels, weights)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _learn_observed(
        self,
        X: Any,
        B: Any,
        labels: IncompleteLabels,
        weights: Array | None,
        reference: EmbeddingModel | None = None,
    ) -> LEMLModel:
        """Learn from the observed entries, starting as if the missing labels were absent."""
        moments = Moments.from_data(X, B, weights, form=self.form)
        active, constants = active_labels(moments)
        design = Design(moments.select_labels(active), self.fit_intercept, self.scale)
        ridge = self._weight(design, reference)
        start = self._factors(design, ridge)
        observed = ObservedRows(design, X, labels, active, weights)
        W, H, c, path = observed.factorise(
            start.W, start.H, design.shared_means, ridge, tol=self.tol, max_iter=self.max_iter
        )
        return LEMLModel(design.scores(W, H, c).expanded(active, constants), ridge, path)

    def _observed_evidence(
        self, X: Any, B: Any, labels: IncompleteLabels, weights: Array | None
    ) -> Evidence | None:
        """Count out-of-fold scores of the observed entries."""
        model = self._model()
        folds = fold_of(row_fingerprints(X), DECISION_FOLDS)
        unseen = np.zeros(B.shape[1])

        def scored() -> Iterator[tuple[Array, Any, Array | None]]:
            for fold in range(DECISION_FOLDS):
                held, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
                if not len(held) or not len(rest):
                    continue
                part = None if weights is None else weights[rest]
                learnt = self._learn_observed(X[rest], B[rest], labels.take(rest), part, model)
                for rows, known in labels.take(held).blocks():
                    scores = learnt.scores(X[held[rows]])
                    missing = np.isnan(known)
                    scores[missing] = UNSEEN
                    weight = None if weights is None else weights[held[rows]]
                    unseen[:] += missing.sum(axis=0) if weight is None else weight @ missing
                    yield scores, B[held[rows]], weight

        counts = ScoreCounts.from_scores(scored(), B.shape[1])
        # Entries that were not observed fell into the lowest bin: take them out again.
        counts.shared[0, 0] -= unseen.sum()
        counts.by_label[0, :, 0] -= unseen
        return Evidence(counts) if counts.shared[0].any() else None

    def _evidence(self, context: CallbackContext | None) -> Evidence | None:
        return super()._evidence(context) if self._complete else self._solution.evidence
