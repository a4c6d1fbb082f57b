"""LEML: low-rank empirical risk minimisation for multi-label learning (Yu et al., 2014).

    min_{W,H}  ½‖Y − X̃ W H‖² + (λ/2)(‖W‖² + ‖H‖²)          scores  x̃ W H

The mathematics is in :mod:`grople.baselines._alternation`.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from grople.backends import is_lazy
from grople.baselines._alternation import (
    Factors,
    factorise,
    factorise_as_published,
    factorise_observed,
)
from grople.baselines._design import Design
from grople.baselines._label_embedding import LabelEmbedding
from grople.baselines._linear import Report, varying_scores
from grople.baselines._missing_labels import (
    ObservedRows,
    has_missing,
    held_out_entries,
    without_missing,
)
from grople.decision import context_of, fit_decision
from grople.errors import Choice, Number, Parameter, Whole
from grople.estimators._base import no_progress, seed_of, unchanged_on_error
from grople.optim import single_threaded
from grople.solver import FittedModel, LinearScores
from grople.solver._solve import Progress

__all__ = ["LEML"]

Array = NDArray[Any]


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
        As in :class:`PLST`. With an intercept labels and features are centred; ``"penalised"``
        centres nothing.
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
        n_components: int | float | str = 100,
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

    @property
    def objective_path_(self) -> Array:
        """The objective after each round."""
        return self.fitted_model_.report.get("objective_path", np.zeros(1))

    @property
    def n_iter_(self) -> int:
        """Rounds."""
        return len(self.objective_path_)

    def _factors(self, design: Design, ridge: float) -> Factors:
        size = self._size(design.moments.labels)
        if self.init == "published":
            return factorise_as_published(design, size, ridge, seed_of(self.random_state))
        return factorise(design, size, ridge, tol=self.tol, max_iter=self.max_iter)

    def _learn(self, design: Design, weight: float) -> tuple[LinearScores, Report]:
        factors = self._factors(design, weight)
        scores = design.scores(factors.W, factors.H, design.shared_means)
        return scores, {"objective_path": factors.objective_path}

    def _best_weight(self, design: Design) -> float:
        """Return the λ that pulls as hard as the best ridge weight does, at the ridge solution.

        Over all factors of Z = WH the penalty is λ times the sum of the singular values s of Z. The
        ridge penalty (γ/2)‖Z‖² has the gradient γZ, so along Z both pull alike where λ Σs = γ Σs².
        """
        every = np.eye(design.moments.n_labels)
        gamma = design.best_ridge(every)
        Z = design.solve(design.cross(every), gamma)
        values = np.sqrt(np.maximum(np.linalg.eigvalsh(Z.T @ Z), 0.0))
        total = float(values.sum())
        return gamma * float(np.square(values).sum()) / total if total > 0 else gamma

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
        """Learn from rows as :meth:`grople.GroPLE.fit` does; NaN in ``y`` marks unknown labels."""
        if is_lazy(X) or not has_missing(y):
            return super().fit(X, y, sample_weight, like=like, progress=progress)
        return self._fit_incomplete(X, y, sample_weight, progress or no_progress)

    @unchanged_on_error
    def _fit_incomplete(self, X: Any, y: Any, sample_weight: Any, progress: Progress) -> Self:
        self._check_parameters()
        self._forget_everything(None)
        filled, missing = without_missing(y)
        X, B, weights = self._validate(X, filled, sample_weight, reset=True)
        if weights is not None:  # rows without weight are gone
            missing = missing[np.flatnonzero(np.broadcast_to(sample_weight, missing.shape[0]))]
        rows = ObservedRows(X, B, missing, weights)
        with single_threaded():
            progress("scores", 0, 2)
            scores, report = self._learn_observed(rows, None)
            progress("decision", 1, 2)
            held_out = None
            if self._needs_evidence:
                ridge = report.get("ridge")
                held_out = held_out_entries(rows, lambda r: self._learn_observed(r, ridge)[0])
            # Which candidates of a row are true is not known: no re-ranker.
            decision = fit_decision(held_out, context=False)
        counts = None if held_out is None else held_out.counts
        self._model = FittedModel(scores, decision, report=report, evidence=counts)
        self._has_evidence, self._incomplete = self._needs_evidence, True
        self._context = context_of(self.decision)
        return self

    def _learn_observed(
        self, rows: ObservedRows, ridge: float | None
    ) -> tuple[LinearScores, Report]:
        """Learn from the observed entries, starting as if the missing labels were absent."""
        part = rows.select(rows.moments.labels.varying)

        def learn(design: Design) -> tuple[LinearScores, Report]:
            weight = self._weight_for(design) if ridge is None else ridge
            start = self._factors(design, weight)
            found, c = factorise_observed(
                design, part, start, weight, tol=self.tol, max_iter=self.max_iter
            )
            report = {"ridge": weight, "objective_path": found.objective_path}
            return design.scores(found.W, found.H, c), report

        return varying_scores(self._design(rows.moments), learn)

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


def _refuse_missing(y: Any) -> None:
    if has_missing(y):
        raise ValueError(
            "y has missing labels (NaN). LEML learns from them in fit only: rows are added and "
            "removed as moments, which cannot say which entries are missing"
        )
