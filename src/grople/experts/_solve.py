"""From what is known of rows to a fitted model of several experts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grople.decision import HeldOutBlock, ScoreCounts, log_odds, monotone_curve
from grople.experts._forest import fit_forest
from grople.experts._kernel import fit_kernel
from grople.experts._stack import Expert, Stack, StackWeights, fit_weights
from grople.moments import RowSummary, Sample
from grople.optim import single_threaded
from grople.solver import EXPERTS, FittedModel, LinearFit, Settings, fit_linear, solve
from grople.solver._held_out import HELD_OUT_FOLDS
from grople.solver._model import row_blocks
from grople.solver._solve import STEPS, Progress

__all__ = ["solve_experts"]

Array = NDArray[Any]
#: From rows of the sample to an expert's scores of them, learnt without them.
Replay = Callable[[Any], Array]

#: Rows of the sample below which, and held-out scores beyond which, the linear expert is alone.
LEAST_ROWS, MOST_SCORES = 100, 25_000_000
#: Pairs of rows and labels that weights are fitted on.
WEIGHED_PAIRS = 1_000_000
#: An expert stays if the log loss would rise by so much without it, relatively.
LEAST_GAIN = 0.003
#: Landmarks; trees, at least and at most, and rows by trees.
LANDMARKS, TREES, GROWN_ROWS = 1000, (25, 100), 300_000


def solve_experts(
    summary: RowSummary,
    settings: Settings,
    progress: Progress = lambda *step: None,
) -> FittedModel:
    """Return the model of the rows summed up: experts, as far as they pay, and a decision.

    Parameters
    ----------
    summary : RowSummary
        What is known of the rows. The linear expert learns from all of them, the others, and how
        they are joined, from those that are kept.
    settings : Settings
        The parameters.
    progress : callable
        Told ``(step, done, total)``.

    Examples
    --------
    >>> from grople.datasets import make_grouped_multilabel
    >>> from grople.moments import summarise
    >>> data = make_grouped_multilabel(300, random_state=0)
    >>> model = solve_experts(summarise(data.X, data.Y), Settings())
    >>> [tried["expert"] for tried in model.report["selection"]]
    ['linear', 'kernel', 'forest']
    """
    wanted = [name for name in EXPERTS[1:] if name in settings.experts]
    sample = summary.sample.first()
    few = len(sample) < LEAST_ROWS or len(np.unique(sample.folds(HELD_OUT_FOLDS))) < 2
    many = len(sample) * summary.n_labels > MOST_SCORES
    if not wanted or not settings.evidence or few or many:
        return solve(summary, settings, progress)
    with single_threaded():
        started = time.perf_counter()
        n_steps = len(STEPS) + len(wanted)
        linear = fit_linear(summary, settings, lambda step, done, _: progress(step, done, n_steps))
        if not linear.stages.embedding.n_components:  # nothing to map to
            model = linear.finished(settings, linear.held_out())
            progress("solved", n_steps, n_steps)
            return model
        blocks = list(linear.held_out())
        seconds = {"linear": time.perf_counter() - started}
        replays: dict[str, tuple[Any, Replay]] = {
            "linear": (linear.scorer, _replay_blocks(blocks, len(sample)))
        }
        for number, name in enumerate(wanted, len(STEPS) - 1):
            progress(name, number, n_steps)
            started = time.perf_counter()
            replays[name] = _LEARN[name](linear, sample, settings)
            seconds[name] = time.perf_counter() - started
        stack, selection = _joined(summary, linear, sample, replays)
        for tried in selection:
            tried["seconds"] = round(seconds[tried["expert"]], 2)
        linear.report["selection"] = selection
        progress(STEPS[-1], n_steps - 1, n_steps)
        if len(stack.experts) == 1:
            model = linear.finished(settings, blocks)
        else:
            own = [replays[expert.name][1] for expert in stack.experts]
            joined = (
                block._replace(scores=stack.joined([replay(block.rows) for replay in own]))
                for block in blocks
            )
            model = linear.finished(settings, joined, stack)
        progress("solved", n_steps, n_steps)
        return model


def _replay_blocks(blocks: Sequence[HeldOutBlock], n_rows: int) -> Replay:
    n_labels = blocks[0].scores.shape[1]
    scores = np.zeros((n_rows, n_labels), dtype=np.float32)
    for block in blocks:
        scores[block.rows] = block.scores
    return lambda rows: scores[rows].astype(np.float64)


def _learn_kernel(linear: LinearFit, sample: Sample, settings: Settings) -> tuple[Any, Replay]:
    V = linear.V
    scores, held_out = fit_kernel(
        sample, linear.points(sample.B), V, sample.folds(HELD_OUT_FOLDS), LANDMARKS
    )
    return scores, lambda rows: held_out[rows] @ V


def _learn_forest(linear: LinearFit, sample: Sample, settings: Settings) -> tuple[Any, Replay]:
    n_trees = int(np.clip(GROWN_ROWS // len(sample), *TREES))
    scores, held_out = fit_forest(sample, linear.points(sample.B), linear.V, n_trees, settings.seed)
    return scores, held_out.scores


_LEARN = {"kernel": _learn_kernel, "forest": _learn_forest}


def _joined(
    summary: RowSummary,
    linear: LinearFit,
    sample: Sample,
    replays: dict[str, tuple[Any, Replay]],
) -> tuple[Stack, list[dict[str, Any]]]:
    """Return the experts that pay with their weights, and what was tried."""
    labels, weights = summary.moments.labels, sample.totals
    varying = labels.varying
    B = sample.B[:, varying]
    experts = {}
    for name, (scorer, replay) in replays.items():
        counts = ScoreCounts.empty(len(varying))
        for rows in row_blocks(len(sample), summary.n_labels):
            counts.add(replay(rows)[:, varying], B[rows], weights[rows])
        experts[name] = Expert(name, scorer, *monotone_curve(counts.shared))
    prior = log_odds((labels.counts + 0.5) / (labels.n + 1.0))
    rows = slice(0, max(1, WEIGHED_PAIRS // len(varying)))
    truth = B[rows].toarray().ravel() > 0
    shown = np.tile(prior[varying], len(truth) // len(varying))
    times = np.repeat(weights[rows], len(varying))
    odds = {
        name: expert.log_odds(replays[name][1](rows)[:, varying]).ravel()
        for name, expert in experts.items()
    }

    def fitted(some: Sequence[str]) -> StackWeights:
        return fit_weights([odds[name] for name in some], shown, truth, times)

    alone = {name: fitted([name]).loss for name in experts}
    kept = list(experts)
    found = fitted(kept)
    while len(kept) > 1:  # the linear expert, which comes first, stays
        without = {name: fitted([k for k in kept if k != name]) for name in kept[1:]}
        name = min(without, key=lambda name: without[name].loss)
        if without[name].loss > (1.0 + LEAST_GAIN) * found.loss:
            break
        kept.remove(name)
        found = without[name]
    weight = dict(zip(kept, found.experts.tolist(), strict=True))
    constant = np.ones(summary.n_labels, dtype=bool)
    constant[varying] = False
    stack = Stack(
        linear.scorer,
        tuple(replace(experts[name], weight=weight[name]) for name in kept),
        np.where(constant, prior, found.prior * prior + found.constant),
        constant,
    )
    selection = [
        {"expert": name, "log_loss": alone[name], "weight": weight.get(name, 0.0)}
        for name in experts
    ]
    return stack, selection
