"""What the methods that learn linear scores from moments share, from a summary to a model.

A method is a function from a :class:`~grople.baselines._design.Design` and its weights to
:class:`~grople.solver.LinearScores`; its class is that function with parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from grople.baselines._design import Design
from grople.decision import context_of
from grople.errors import Flag, Number, Parameter, Whole
from grople.estimators import SummaryClassifier
from grople.moments import RealMoments, RowSummary
from grople.optim import single_threaded
from grople.published import published_setting
from grople.solver import FittedModel, LinearScores
from grople.solver._held_out import finish_model, held_out_by_folds
from grople.solver._solve import Progress

__all__ = [
    "RIDGE_PARAMETERS",
    "LinearBaseline",
    "PublishedSettings",
    "Report",
    "Setting",
    "varying_scores",
    "with_matrices",
]

Array = NDArray[Any]
#: What a method chose and how its solver ended, by name.
Report = dict[str, Any]
#: Parameters of an estimator.
Setting = Mapping[str, Any]
#: From labels that all vary to their scores.
Learn = Callable[[Design], tuple[LinearScores, Report]]

#: What the parameters may be that ridge regressions share.
RIDGE_PARAMETERS: dict[str, Parameter] = {
    "ridge": Number(words=("auto",)),
    "fit_intercept": Flag(words=("penalised",)),
    "max_kept_rows": Whole(0),
}
#: Features up to which matrices are formed of kept rows: these methods decompose them.
MATRIX_FEATURES = 4000


class PublishedSettings:
    """Adds :meth:`published` to a method of the paper."""

    @classmethod
    def published(cls, name: str, **parameters: Any) -> Self:
        """Return the setting behind the published table for a data set.

        Intercept, start, solver and decision are those of the published comparison.

        Parameters
        ----------
        name : str
            One of the paper's data sets (a suffix as in ``"genbase-authors"`` is fine).
        **parameters
            Parameters to set otherwise.

        Examples
        --------
        >>> from grople.baselines import PLST
        >>> PLST.published("medical")
        PLST(decision='sign', fit_intercept='penalised', n_components=0.7, ridge=1.0)
        """
        return cls(**(published_setting(cls.__name__, name, reference=True) | parameters))


class LinearBaseline(SummaryClassifier):
    """Base of the methods that learn linear scores from moments.

    Shared parameters are described in :class:`PLST`. A subclass defines :meth:`_learn`.
    """

    #: The parameter that may be "auto": found on all rows, it is kept where rows are held out.
    _weight: ClassVar[str] = "ridge"

    def _learn(self, design: Design, weight: float) -> tuple[LinearScores, Report]:
        """Return the scores of labels that all vary, and a report."""
        raise NotImplementedError

    def _best_weight(self, design: Design) -> float:
        """Return the weight to take where it is ``"auto"``."""
        return design.best_ridge(np.eye(design.moments.n_labels))

    def _warn(self, report: Report) -> None:
        """Warn of what is wrong with a solution."""

    def _design(self, moments: RealMoments) -> Design:
        return Design(moments, getattr(self, "fit_intercept", True))

    def _weight_for(self, design: Design) -> float:
        weight = getattr(self, self._weight)
        return self._best_weight(design) if isinstance(weight, str) else float(weight)

    def _learn_all(self, design: Design) -> tuple[LinearScores, Report]:
        weight = self._weight_for(design)
        scores, report = self._learn(design, weight)
        self._warn(report)
        return scores, {self._weight: weight} | report

    def _solve(self, summary: RowSummary, progress: Progress) -> FittedModel:
        """Return scores learnt from all rows, and a decision fitted to held-out ones."""
        with single_threaded():
            summary = with_matrices(summary)
            progress("scores", 0, 2)
            scorer, report = varying_scores(self._design(summary.moments), self._learn_all)
            progress("decision", 1, 2)

            def held_out(held: Array) -> tuple[LinearScores, None]:
                weight = report.get(self._weight, 0.0)
                design = self._design(summary.moments_without(held))
                return varying_scores(design, lambda part: self._learn(part, weight))[0], None

            blocks = None
            if self._needs_evidence and self.max_kept_rows > 0:
                blocks = held_out_by_folds(summary, held_out)
            context = context_of(self.decision)
            model = finish_model(summary, scorer, blocks, report, context=context)
            progress("solved", 2, 2)
            return model

    def _along(
        self, settings: Sequence[Setting], moments: RealMoments
    ) -> Iterator[tuple[Setting, LinearScores]]:
        """Yield settings with their scores; they share the design and what it keeps."""
        shared: dict[Any, dict[Any, Any]] = {}
        for setting in settings:
            model = self._unfitted().set_params(**setting)
            model._check_parameters()
            design = model._design(moments)
            design = replace(design, _kept=shared.setdefault(design.fit_intercept, {}))
            yield setting, varying_scores(design, model._learn_all)[0]


def varying_scores(design: Design, learn: Learn) -> tuple[LinearScores, Report]:
    """Learn from the labels that vary; one that never or always occurs has a constant score."""
    labels = design.moments.labels
    varying = labels.varying
    if len(varying):
        scores, report = learn(
            design.once("varying", lambda: replace(
                design, moments=design.moments.select_labels(varying), _kept={}
            ))
        )  # fmt: skip
    else:
        empty = np.zeros((design.moments.n_features, 0))
        scores, report = LinearScores(empty, np.zeros(0), np.zeros((0, 0))), {}
    return scores.expanded(varying, labels.constant_scores), report


def with_matrices(summary: RowSummary) -> RowSummary:
    """Return the summary with matrices in place of kept rows of no more than some features."""
    if summary.sums is not None or summary.n_features > MATRIX_FEATURES:
        return summary
    return replace(summary, sums=summary._sums_of(np.ones(len(summary.sample), dtype=bool)))
