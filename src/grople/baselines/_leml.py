"""LEML: low-rank empirical risk minimisation for multi-label learning (Yu et al., 2014).

    min_{W,H}  ½‖Y − X̃ W H‖² + (λ/2)(‖W‖² + ‖H‖²)          scores  x̃ W H

Y is ±1, W is D×d and H is d×L; W and H in turn, each being a ridge regression. With all labels
observed moments are enough (:mod:`grople.baselines._leml_factors`); where labels are missing the
sum runs over the observed entries, row by row (:mod:`grople.baselines._leml_rows`). With a free
intercept X and Y are centred, and ȳ is added to the scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from grople.backends._dask import is_lazy
from grople.baselines._design import Design
from grople.baselines._label_embedding import LabelEmbedding, Size, embedding_size
from grople.baselines._leml_factors import (
    Factors,
    factorise,
    factorise_as_published,
    trace_weight,
)
from grople.baselines._leml_rows import IncompleteLabels, ObservedRows, has_missing
from grople.baselines._linear import Report, varying_scores, with_matrices
from grople.decision import HeldOut, HeldOutBlock, context_of, fit_decision
from grople.errors import Choice, Number, Parameter, Whole
from grople.estimators import encode
from grople.estimators._base import no_progress, seed_of, unchanged_on_error
from grople.moments import RealMoments, fold_of, row_keys, summarise
from grople.optim import single_threaded
from grople.solver import FittedModel, LinearScores
from grople.solver._solve import HELD_OUT_FOLDS, Progress

__all__ = ["LEML"]

Array = NDArray[Any]

#: A score below all others, for pairs that are not observed.
UNSEEN = -1e300


class LEML(LabelEmbedding):
    """Low-rank multi-label regression, also from incomplete labels.

    ``fit`` takes label matrices in which NaN marks entries that are not known; those are left out
    of the sum. Such a model is learnt from rows and cannot be added to or taken from.

    Parameters
    ----------
    n_components, decision, max_kept_rows
        As in :class:`PLST`.
    ridge : float or "auto", default="auto"
        Weight of ‖W‖² + ‖H‖² (λ). ``"auto"`` takes the weight that pulls as hard as the ridge
        weight which is expected to be best where the rank is not bounded.
    init : {"spectral", "published"}, default="spectral"
        Start from the predictable axes of the labels, balance, and go on until settled; or the
        published scheme, ten rounds from a random start.
    fit_intercept : bool or "penalised", default=True
        Whether there is an intercept, without penalty: labels and features are then centred.
        ``"penalised"`` is the published choice: nothing is centred, and there is a constant feature
        that is penalised like the others.
    tol : float, default=1e-5
        Stop when a round saves at most this share of the objective.
    max_iter : int, default=100
        The most rounds.
    random_state : int, RandomState or None, default=None
        Seed of the published start; None is a seed too, always the same.

    Attributes
    ----------
    components_, mapping_ : ndarray
        H and W.
    objective_path_ : ndarray
        The objective after each round.
    n_iter_ : int
        Rounds.
    ridge_, coef_, intercept_, summary_, fitted_model_
        As in :class:`PLST`; there is no summary where labels were missing.

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

    _parameters: ClassVar[dict[str, Parameter]] = LabelEmbedding._parameters | {
        "init": Choice(("spectral", "published")),
        "tol": Number(),
        "max_iter": Whole(1),
    }
    _incomplete = False

    def __init__(
        self,
        n_components: Size = 100,
        ridge: float | str = "auto",
        *,
        init: str = "spectral",
        fit_intercept: bool | str = True,
        decision: Any = "example_f1",
        max_kept_rows: int = 20_000,
        tol: float = 1e-5,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components, ridge,
            fit_intercept=fit_intercept, decision=decision, max_kept_rows=max_kept_rows,
        )  # fmt: skip
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
        return self.fitted_model_.report.get("objective_path", np.zeros(1))

    @property
    def n_iter_(self) -> int:
        """Rounds."""
        return len(self.objective_path_)

    def _learn(self, moments: RealMoments, chosen: Report | None) -> tuple[LinearScores, Report]:
        design = Design(moments, self.fit_intercept)
        ridge = self._weight(design, chosen)
        factors = self._factors(design, ridge)
        scores = design.scores(factors.W, factors.H, design.shared_means)
        return scores, {"ridge": ridge, "objective_path": factors.objective_path}

    def _weight(self, design: Design, chosen: Report | None) -> float:
        ridge = chosen["ridge"] if chosen else self.ridge
        return trace_weight(design) if isinstance(ridge, str) else float(ridge)

    def _factors(self, design: Design, ridge: float) -> Factors:
        size = embedding_size(self.n_components, design.moments.labels)
        if self.init == "published":
            return factorise_as_published(design, size, ridge, seed_of(self.random_state))
        return factorise(design, size, ridge, tol=self.tol, max_iter=self.max_iter)

    # -- missing labels --------------------------------------------------------------------

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
            Features, or blocks as in :meth:`grople.GroPLE.fit`.
        y : array, sparse array, DataFrame or Dask array of shape (n_rows, n_labels), or (n_rows,)
            Labels as zeros and ones, NaN where a label is not known (not in a Dask array); or
            classes.
        sample_weight : array of shape (n_rows,), optional
            Non-negative weights.
        like, progress
            As in :meth:`grople.GroPLE.fit`.

        Returns
        -------
        self
        """
        if is_lazy(X) or not has_missing(y):
            return super().fit(X, y, sample_weight, like=like, progress=progress)
        return self._fit_incomplete(X, y, sample_weight, progress or no_progress)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows without missing labels; see :meth:`grople.GroPLE.partial_fit`."""
        _refuse_missing(y)
        return super().partial_fit(X, y, classes, sample_weight)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows that were added; see :meth:`grople.GroPLE.forget`."""
        _refuse_missing(y)
        return super().forget(X, y, sample_weight)

    def _forget_everything(self, like: Any) -> None:
        super()._forget_everything(like)
        self._incomplete = False

    def _check_rows_known(self) -> None:
        if self._incomplete:
            raise ValueError(
                "this model was learnt from incomplete labels, so it has no moments to add to or "
                "take from: fit it again with all rows"
            )
        super()._check_rows_known()

    @unchanged_on_error
    def _fit_incomplete(self, X: Any, y: Any, sample_weight: Any, progress: Progress) -> Self:
        self._check_parameters()
        self._forget_everything(None)
        labels = IncompleteLabels.of(y)
        X, B, weights = self._validate(X, labels.ones(), sample_weight, reset=True)
        self._set_targets(encode(labels.header)[1])
        if weights is not None:  # rows without weight are gone
            labels = labels.take(np.flatnonzero(np.broadcast_to(sample_weight, len(labels.index))))
        with single_threaded():
            progress("scores", 0, 2)
            scores, report = self._learn_observed(X, B, labels, weights, None)
            progress("decision", 1, 2)
            held_out = None
            if self._needs_evidence:
                held_out = self._observed_evidence(X, B, labels, weights, report)
            # Which candidates of a row are true is not known: no re-ranker.
            decision = fit_decision(held_out, context=False)
        counts = None if held_out is None else held_out.counts
        self._model = FittedModel(scores, decision, report=report, evidence=counts)
        self._has_evidence, self._incomplete = self._needs_evidence, True
        self._context = context_of(self.decision)
        return self

    def _learn_observed(
        self,
        X: Any,
        B: Any,
        labels: IncompleteLabels,
        weights: Array | None,
        chosen: Report | None,
    ) -> tuple[LinearScores, Report]:
        """Learn from the observed entries, starting as if the missing labels were absent."""
        moments = with_matrices(summarise(X, B, weights, max_kept_rows=0)).moments
        varying = moments.labels.varying

        def learn(moments: RealMoments, chosen: Report | None) -> tuple[LinearScores, Report]:
            design = Design(moments, self.fit_intercept)
            ridge = self._weight(design, chosen)
            start = self._factors(design, ridge)
            observed = ObservedRows(design, X, labels, varying, weights)
            W, H, c, path = observed.factorise(
                start.W, start.H, design.shared_means, ridge, tol=self.tol, max_iter=self.max_iter
            )
            return design.scores(W, H, c), {"ridge": ridge, "objective_path": path}

        return varying_scores(moments, learn, chosen)

    def _observed_evidence(
        self, X: Any, B: Any, labels: IncompleteLabels, weights: Array | None, report: Report
    ) -> HeldOut | None:
        """Count held-out scores of the observed entries."""
        folds = fold_of(row_keys(X), HELD_OUT_FOLDS)
        unseen = np.zeros(B.shape[1])
        # Shares stand for proportions: at least one a row on average.
        counted = np.ones(len(folds)) if weights is None else weights / min(1.0, weights.mean())

        def scored() -> Iterator[HeldOutBlock]:
            for fold in range(HELD_OUT_FOLDS):
                held, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
                if not len(held) or not len(rest):
                    continue
                part = None if weights is None else weights[rest]
                scores, _ = self._learn_observed(X[rest], B[rest], labels.take(rest), part, report)
                for rows, known in labels.take(held).blocks():
                    at = held[rows]
                    values, missing = scores(X[at]), np.isnan(known)
                    values[missing] = UNSEEN
                    unseen[:] += counted[at] @ missing
                    # Keys of their own: labels of copies are not all known.
                    yield HeldOutBlock(values, B[at], counted[at], at.astype(np.uint64))

        found = HeldOut.from_blocks(scored(), B.shape[1])
        if found is None:
            return None
        counts = found.counts.times(1.0)
        # Entries that were not observed fell into the lowest bin: take them out again.
        counts.shared[0, 0] -= unseen.sum()
        counts.by_label[0, :, 0] -= unseen
        return replace(found, counts=counts) if counts.shared[0].any() else None


def _refuse_missing(y: Any) -> None:
    if has_missing(y):
        raise ValueError(
            "y has missing labels (NaN). LEML learns from them in fit only: rows are added and "
            "removed as moments, which cannot say which entries are missing"
        )
