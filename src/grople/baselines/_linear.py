"""From a summary of rows to a fitted model, for methods that learn linear scores from moments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.decision import context_of
from grople.errors import Flag, Number, Parameter, Whole
from grople.estimators import SummaryClassifier
from grople.moments import RealMoments, RowSummary
from grople.optim import single_threaded
from grople.solver import FittedModel, LinearScores
from grople.solver._held_out import finish_model, held_out_by_folds
from grople.solver._solve import Progress

__all__ = [
    "LinearBaseline",
    "Path",
    "RIDGE_PARAMETERS",
    "Report",
    "solve_linear",
    "varying_path",
    "with_matrices",
]

Array = NDArray[Any]
#: What a method chose and how its solver ended, by name.
Report = dict[str, Any]
#: From moments of labels that all vary, and what was chosen on all rows (None: choose), to scores.
Learn = Callable[[RealMoments, Report | None], tuple[LinearScores, Report]]
#: Settings (parameters of an estimator) with the scores they lead to.
Path = Iterator[tuple[dict[str, Any], LinearScores]]

#: What the parameters may be that ridge regressions share.
RIDGE_PARAMETERS: dict[str, Parameter] = {
    "ridge": Number(words=("auto",)),
    "fit_intercept": Flag(words=("penalised",)),
    "max_kept_rows": Whole(0),
}
#: Features up to which matrices are formed of kept rows: these methods decompose them.
MATRIX_FEATURES = 4000


def solve_linear(
    summary: RowSummary,
    learn: Learn,
    *,
    evidence: bool = True,
    context: bool | str = "auto",
    progress: Progress = lambda *step: None,
) -> FittedModel:
    """Return scores learnt from the moments of all rows, and a decision fitted to held-out ones.

    Choices made on all rows are kept where rows are held out.

    Parameters
    ----------
    summary : RowSummary
        What is known of the rows.
    learn : callable
        The method.
    evidence : bool
        Whether to hold out rows for the decision; else it follows from the moments.
    context : bool or "auto"
        Whether a re-ranker corrects probabilities (:class:`grople.decision.Rule`).
    progress : callable
        Told ``(step, done, total)``.
    """
    with single_threaded():
        summary = with_matrices(summary)
        progress("scores", 0, 2)
        scorer, report = varying_scores(summary.moments, learn, None)
        progress("decision", 1, 2)
        blocks = None
        if evidence:
            blocks = held_out_by_folds(
                summary,
                lambda held: (
                    varying_scores(summary.moments_without(held), learn, report)[0],
                    None,
                ),
            )
        model = finish_model(summary, scorer, blocks, report, context=context)
        progress("solved", 2, 2)
        return model


def varying_path(moments: RealMoments, solve: Callable[[RealMoments], Path]) -> Path:
    """Yield what ``solve`` yields for the labels that vary, as scores of all labels.

    Labels that never or always occur have constant scores, as in a fit.
    """
    varying = moments.labels.varying
    if not len(varying):
        raise ValueError("no label varies over these rows: there is nothing to search")
    for setting, scores in solve(moments.select_labels(varying)):
        yield setting, scores.expanded(varying, moments.labels.constant_scores)


def with_matrices(summary: RowSummary) -> RowSummary:
    """Return the summary with matrices in place of kept rows of no more than some features."""
    if summary.sums is not None or summary.n_features > MATRIX_FEATURES:
        return summary
    return replace(summary, sums=summary._sums_of(np.ones(len(summary.sample), dtype=bool)))


def varying_scores(
    moments: RealMoments, learn: Learn, chosen: Report | None
) -> tuple[LinearScores, Report]:
    """Learn from the labels that vary; one that never or always occurs has a constant score."""
    varying = moments.labels.varying
    if len(varying):
        scores, report = learn(moments.select_labels(varying), chosen)
    else:
        scores = LinearScores(np.zeros((moments.n_features, 0)), np.zeros(0), np.zeros((0, 0)))
        report = {}
    return scores.expanded(varying, moments.labels.constant_scores), report


class LinearBaseline(SummaryClassifier):
    """Base of the methods that learn linear scores from moments; a subclass has :meth:`_learn`."""

    def _learn(self, moments: RealMoments, chosen: Report | None) -> tuple[LinearScores, Report]:
        """Return the scores of labels that all vary, and a report."""
        raise NotImplementedError

    def _solve(self, summary: RowSummary, progress: Progress) -> FittedModel:
        return solve_linear(
            summary,
            self._learn,
            evidence=self._needs_evidence and self.max_kept_rows > 0,
            context=context_of(self.decision),
            progress=progress,
        )
