"""Held-out scores of the sample's rows, and the decision that is fitted on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.decision._cooccurrence import CooccurrenceFeature
from grople.decision._evidence import HeldOut, HeldOutBlock
from grople.decision._fit import fit_decision
from grople.moments import RowSummary, Sample
from grople.optim import parallel_map
from grople.solver._model import (
    FittedModel,
    LinearScores,
    class_steepness,
    row_blocks,
    score_moments,
)

__all__ = ["HELD_OUT_FOLDS", "finish_model", "held_out_by_folds", "scored_rows"]

Array = NDArray[Any]

#: Folds of the held-out scores that decisions are fitted on.
HELD_OUT_FOLDS = 5


def finish_model(
    summary: RowSummary,
    scorer: LinearScores,
    blocks: Iterable[HeldOutBlock] | None,
    report: dict[str, Any],
    *,
    groups: Array | None = None,
    feature: CooccurrenceFeature | None = None,
    context: bool | str = "auto",
    seed: int = 0,
) -> FittedModel:
    """Return scores with the decision that is fitted to held-out ones.

    Parameters
    ----------
    summary : RowSummary
        What is known of the rows.
    scorer : LinearScores
        Scores learnt from all of them.
    blocks : iterable of HeldOutBlock, optional
        Held-out scores; without them the decision follows from the moments of the scores.
    report : dict
        What was chosen.
    groups : ndarray of int of shape (L,), optional
        The group of each label.
    feature : CooccurrenceFeature, optional
        That of all rows, where blocks have its held-out values.
    context, seed
        As in :func:`grople.decision.fit_decision`.
    """
    held_out = None
    if blocks is not None:
        held_out = HeldOut.from_blocks(blocks, summary.n_labels, groups, feature)
    if held_out is not None:
        decision = fit_decision(held_out, context=context, seed=seed, run=parallel_map)
        return FittedModel(
            scorer, decision, summary.outline(), groups, report=report, evidence=held_out.counts
        )
    spread = score_moments(scorer, summary.moments)
    return FittedModel(
        scorer, fit_decision(spread), summary.outline(), groups, class_steepness(spread),
        report, spread,
    )  # fmt: skip


def held_out_by_folds(
    summary: RowSummary,
    learn: Callable[[Array], tuple[Callable[[Any], Array], CooccurrenceFeature | None]],
) -> Iterator[HeldOutBlock]:
    """Yield scores of the sample's rows by models that have not seen them.

    Parameters
    ----------
    summary : RowSummary
        The rows; copies of a row are held out together.
    learn : callable
        From which rows of the sample are held out (ndarray of bool) to scores, and to the
        co-occurrence feature where the method has one.
    """
    sample = summary.sample
    folds = np.full(len(sample), -1)
    folds[: len(sample.first())] = sample.first().folds(HELD_OUT_FOLDS)
    some = [
        fold
        for fold in range(HELD_OUT_FOLDS)
        if (folds == fold).any() and summary.n_rows > sample.copies[folds == fold].sum()
    ]
    learnt = parallel_map(lambda fold: learn(folds == fold), some)
    for fold, (scores, feature) in zip(some, learnt, strict=True):
        held = np.flatnonzero(folds == fold)
        for block in row_blocks(len(held), summary.n_labels):
            yield scored_rows(sample, held[block], scores, feature)


def scored_rows(
    sample: Sample, at: Array, scores: Any, feature: CooccurrenceFeature | None
) -> HeldOutBlock:
    """Return some rows of the sample with their held-out scores."""
    rows = sample.take(at)
    totals = rows.totals
    return HeldOutBlock(
        scores(rows.X),
        rows.B,
        None if (totals == 1).all() else totals,
        rows.feature_keys,
        None if feature is None else feature(rows.X),
        at,
    )
