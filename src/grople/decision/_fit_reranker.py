"""Learn a re-ranker from held-out pairs, judged by networks that have not seen them.

There are three draws of three folds of rows, and a network for each fold of each draw, learnt on
the other two. A row's held-out probability, on which the re-ranker is judged and thresholds are
set, is that of the three networks that have not seen it; new rows get the mean of all nine. What
is known of labels is counted without the rows that share a row's fold: else two labels that occur
together on one row only would be known to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from grople.decision._calibration import LABEL_BINS, bin_centres, log_losses
from grople.decision._context import LEAST_PROBABILITY, input_names
from grople.decision._evidence import HeldOut
from grople.decision._network import (
    Networks,
    joined_networks,
    network_log_odds,
    train_networks,
)
from grople.decision._reranker import Reranker
from grople.moments._keys import fold_of

__all__ = ["describe_labels", "fit_reranker"]

Array = NDArray[Any]

#: Rows and positive pairs below which there is too little to learn a context from.
LEAST_ROWS, LEAST_POSITIVES = 300, 300
#: Draws of folds, folds of a draw; hidden units of both layers, pairs a step.
DRAWS, FOLDS, HIDDEN, BATCH = 3, 3, 32, 128
#: Pieces that learning is cut into, for as many threads: more would waste what networks share.
PARTS = 2
#: Pairs that pass through a network while it learns, and passes over all pairs at least and most.
WORK, FEWEST_PASSES, MOST_PASSES = 200_000, 1, 15
#: By how much, relatively, the log loss must fall for the re-ranker to be chosen.
GAIN = 0.005
#: Positives at which a label's mean score of its positives weighs as much as that of all labels.
SHRINKAGE = 5.0
#: Scores of labels are averaged up to this size: the outermost bins reach to infinity.
FARTHEST_CENTRE = 10.0


def fit_reranker(
    held_out: HeldOut,
    probabilities: Array,
    *,
    forced: bool = False,
    seed: int = 0,
    run: Callable[..., Any] = map,
) -> tuple[Reranker, Array] | None:
    """Learn a re-ranker, and return it with probabilities of rows it has not seen.

    None where there is too little to learn from, or (unless ``forced``) where those
    probabilities are not better than the calibrated ones.

    Parameters
    ----------
    held_out : HeldOut
        Held-out scores with candidates.
    probabilities : ndarray of shape (n_rows, T)
        Calibrated probabilities of the candidates.
    forced : bool
        Whether to keep the re-ranker even if it is worse.
    seed : int
        Seed of the networks' first weights and of the order of pairs.
    run : callable
        A ``map`` over independent pieces of work.
    """
    rows = held_out.candidates
    if len(rows) < LEAST_ROWS or rows.truth.sum() < LEAST_POSITIVES:
        return None
    pairs = probabilities > LEAST_PROBABILITY
    row = np.nonzero(pairs)[0]
    truth = rows.truth[pairs].astype(np.float64)
    draws = [(DRAWS + 1) * seed + draw for draw in range(DRAWS + 1)]
    folds = [fold_of(rows.keys, FOLDS, draw)[row] for draw in draws[1:]]
    for fold in folds:
        positives = np.bincount(fold, truth, FOLDS)
        together = np.bincount(fold, None, FOLDS)
        # Copies of a row or two have no three folds to learn in.
        if not together.all() or not ((positives > 0) & (positives < together)).all():
            return None
    inputs = _held_out_inputs(held_out, probabilities, pairs, fold_of(rows.keys, FOLDS, draws[0]))
    weights = rows.weights[row]
    networks = _learnt(inputs, truth, weights, folds, seed, run)
    unseen = probabilities.copy()
    unseen[pairs] = _unseen_probabilities(networks, inputs, folds)
    plain, better = (
        np.average(log_losses(p[pairs], truth), weights=weights) for p in (probabilities, unseen)
    )
    if not forced and better > (1.0 - GAIN) * plain:
        return None
    return replace(describe_labels(held_out), networks=networks), unseen


def _learnt(
    inputs: Array,
    truth: Array,
    weights: Array,
    folds: list[Array],
    seed: int,
    run: Callable[..., Any],
) -> Networks:
    """Learn a network without each fold of each draw, all in the order of draws and folds."""
    samples = [np.flatnonzero(fold != held) for fold in folds for held in range(FOLDS)]
    n_pairs = float(np.mean([len(sample) for sample in samples]))
    passes = np.clip(WORK / n_pairs, FEWEST_PASSES, MOST_PASSES)
    batch = int(min(BATCH, n_pairs))
    n_steps = max(1, int(passes * n_pairs / batch))

    def learn(some: Array) -> Networks:
        return train_networks(
            inputs,
            truth,
            weights,
            [samples[i] for i in some],
            hidden=HIDDEN,
            batch=batch,
            n_steps=n_steps,
            seeds=[len(samples) * seed + int(i) for i in some],
        )

    return joined_networks(list(run(learn, np.array_split(np.arange(len(samples)), PARTS))))


def _unseen_probabilities(networks: Networks, inputs: Array, folds: list[Array]) -> Array:
    """Return the probability of each pair by the networks, one a draw, that have not seen it."""
    log_odds = np.zeros(len(inputs))
    for draw, fold in enumerate(folds):
        for held in range(FOLDS):
            here = np.flatnonzero(fold == held)
            network = _one(networks, FOLDS * draw + held)
            log_odds[here] += network_log_odds(network, inputs[here])[0]
    return np.asarray(expit(log_odds / len(folds)))


def _one(networks: Networks, i: int) -> Networks:
    """Return one of the networks."""
    parts = {name: part[i : i + 1] for name, part in vars(networks).items()}
    return Networks(**parts)


def _held_out_inputs(held_out: HeldOut, probabilities: Array, pairs: Array, fold: Array) -> Array:
    """Return what networks see of candidates, with labels known from the other folds of rows."""
    rows = held_out.candidates
    row = np.nonzero(pairs)[0]
    n_inputs = len(input_names(rows.cooccurrence is not None))
    found: Array = np.empty((len(row), n_inputs), dtype=np.float32)
    for held in range(FOLDS):
        some = np.flatnonzero(fold == held)
        if not len(some):
            continue
        cooccurrence = None if rows.cooccurrence is None else rows.cooccurrence[some]
        seen = describe_labels(held_out, some).inputs(
            rows.labels[some], rows.scores[some], probabilities[some], cooccurrence
        )
        found[fold[row] == held] = np.concatenate([values for *_, values in seen])
    return found


def describe_labels(held_out: HeldOut, without: Array | None = None) -> Reranker:
    """Return a re-ranker without networks: what is known of the labels.

    Parameters
    ----------
    held_out : HeldOut
        Held-out scores with candidates.
    without : ndarray of int, optional
        Rows whose labels do not count.
    """
    total, positive = held_out.counts.by_label
    n_labels = len(total)
    centres = np.clip(bin_centres(LABEL_BINS), -FARTHEST_CENTRE, FARTHEST_CENTRE)
    n, hits = total.sum(axis=1), positive.sum(axis=1)
    mean = total @ centres / np.maximum(n, 1.0)
    spread = np.sqrt(np.maximum(total @ centres**2 / np.maximum(n, 1.0) - mean**2, 1e-6))
    scored, pairs = positive @ centres, held_out.pairs
    if without is not None:
        rows = held_out.candidates
        weights, B = rows.weights[without], held_out.labels[without]
        at, column = np.nonzero(rows.truth[without])
        score = np.clip(rows.scores[without][at, column], -FARTHEST_CENTRE, FARTHEST_CENTRE)
        labels = rows.labels[without][at, column]
        n = n - weights.sum()
        hits = np.maximum(hits - weights @ B, 0.0)
        scored = scored - np.bincount(labels, weights[at] * score, n_labels)
        scored = np.where(hits > 1e-9, scored, 0.0)
        pairs = sp.csr_array(pairs - B.T @ sp.csr_array(B * weights[:, None]))
    overall = float(scored.sum() / max(hits.sum(), 1.0))
    mean_positive = (scored + SHRINKAGE * overall) / (hits + SHRINKAGE)
    inverse = 1.0 / (pairs.diagonal() + 1.0)
    conditional = sp.csr_array(sp.diags_array(inverse) @ pairs).astype(np.float32)
    conditional.sort_indices()
    groups = np.full(n_labels, -1) if held_out.groups is None else np.asarray(held_out.groups)
    alone = groups < 0
    groups = np.where(alone, groups.max(initial=0) + 1 + np.arange(n_labels), groups)
    return Reranker(
        (hits + 0.5) / (n + 1.0),
        mean,
        spread,
        mean_positive,
        groups,
        conditional,
        None,
        held_out.cooccurrence,
        held_out.candidates.labels.shape[1],
    )
