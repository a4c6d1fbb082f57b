"""The context decoder: a second look at the candidates of each row.

A calibrated score treats every (row, label) pair alike. A small network sees the pair in its
context: how the score stands among the row's other candidates, how many labels the row is likely
to have, what is known of the label's scores, how well the label goes with the other candidates and,
where there is one, a second opinion (:mod:`grople.affinity`).
It is learnt from out-of-fold pairs only, three times on two thirds of the rows: each row gets a
probability from the network that has not seen it, on which the decoder is judged and thresholds
are set; new rows get the mean of the three. What is known of labels is counted without the third
that a row is in: else two labels that occur together on one row only would be known to do so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from grople.affinity import Affinity
from grople.decision.calibration import entropy_loss, log_losses, log_odds
from grople.decision.counts import LABEL_BINS, bin_centres
from grople.decision.evidence import Candidates, Evidence
from grople.decision.network import Net, forward, train

__all__ = ["ContextDecoder", "fit_context"]

Array = NDArray[Any]

#: Rows and positive pairs below which there is too little to learn a context from.
LEAST_ROWS, LEAST_POSITIVES = 300, 300
#: Candidates less likely than this keep their calibrated probability.
LEAST_CHANCE = 0.01
#: The largest score that is told from a larger one.
FARTHEST = 1e6
#: Labels up to which P(j|k) is a dense matrix.
DENSE_LABELS = 4096
#: Folds of rows, hidden units of both layers, size of a batch.
FOLDS, HIDDEN, BATCH = 3, 32, 512
#: Passes over the pairs: as many as bring the work to this many pairs, within limits.
WORK, FEWEST_PASSES, MOST_PASSES = 600_000, 3, 30
#: Values of P(j|k) held at a time.
BLOCK_PAIRS = 1 << 22
#: By how much, relatively, the log loss must fall for the decoder to be chosen.
GAIN = 0.005
#: Standard errors, over rows, by which the loss may rise on the first rows a network has not seen.
HOPELESS = 1.5
#: Positives at which a label's mean score of its positives weighs as much as that of all labels.
SHRINKAGE = 5.0


@dataclass(frozen=True)
class ContextDecoder:
    """A fitted decoder: plain arrays.

    Attributes
    ----------
    frequency, mean, spread, mean_positive : ndarray of shape (L,)
        Of each label: how often it occurs, mean and spread of its scores, mean over its positives.
    together : ndarray or sparse array of shape (L, L)
        P(j|k): how often rows with label k have label j, entry (k, j).
    groups : ndarray of shape (L,)
        The group of each label; labels without one have none in common.
    nets : tuple of tuples of ndarray
        Weights and biases of each network, layer by layer.
    affinity : Affinity, optional
        A second opinion on the candidates, which the networks see too.
    """

    frequency: Array
    mean: Array
    spread: Array
    mean_positive: Array
    together: Any
    groups: Array
    nets: tuple[Net, ...]
    affinity: Affinity | None = None

    def __call__(
        self, labels: Array, scores: Array, chances: Array, affinities: Array | None = None
    ) -> Array:
        """Return the probabilities of candidates.

        Parameters
        ----------
        labels, scores, chances : ndarray of shape (n_rows, T)
            The candidates in descending order of score, their scores and calibrated probabilities.
        affinities : ndarray of shape (n_rows, T), optional
            Their affinities, where :attr:`affinity` is given.
        """
        found = chances.copy()
        for rows, pairs, inputs in self._pairs(labels, scores, chances, affinities):
            odds = np.mean([forward(net, inputs) for net in self.nets], axis=0)
            found[rows][pairs] = expit(odds.astype(np.float64))
        return found

    def _pairs(
        self, labels: Array, scores: Array, chances: Array, affinities: Array | None
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Yield blocks of rows, which of their candidates are looked at, and those in context."""
        most = labels.shape[1]
        step = max(1, BLOCK_PAIRS // max(most * most, 1))
        for first in range(0, len(labels), step):
            rows = slice(first, first + step)
            pairs = chances[rows] > LEAST_CHANCE
            second = None if affinities is None else affinities[rows]
            inputs = self.inputs(labels[rows], scores[rows], chances[rows], second)
            yield rows, pairs, inputs[pairs]

    def inputs(
        self, labels: Array, scores: Array, chances: Array, affinities: Array | None = None
    ) -> Array:
        """Return what the networks see of each candidate, shape (n_rows, T, features)."""
        most = labels.shape[1]
        scores = np.clip(scores, -FARTHEST, FARTHEST)
        total = chances.sum(axis=1, keepdims=True)
        together = self._lookup(labels)  # [i, k, j] = P(j|k)
        own = np.arange(most)
        together[:, own, own] = 0.0
        chance = chances.astype(np.float32)
        weighted = together * chance[:, :, None]
        frequency = self.frequency[labels]
        # How much likelier than by itself each candidate is beside each other one.
        lift = np.log((together + 1e-4) / (frequency[:, None, :].astype(np.float32) + 1e-4))
        lift[:, own, own] = 0.0
        group = self.groups[labels]
        alike = (group[:, :, None] == group[:, None, :]).astype(np.float32)
        best, second = scores[:, :1], scores[:, min(1, most - 1) : min(1, most - 1) + 1]
        above = np.diff(scores, axis=1, prepend=best)
        below = -np.diff(scores, axis=1, append=scores[:, -1:])
        columns: tuple[Array, ...] = (
            scores,
            log_odds(chances),
            np.log1p(np.arange(most))[None],
            best - scores,
            best,
            second,
            above,
            below,
            total,
            np.cumsum(chances, axis=1) - chances,
            np.log(frequency),
            scores - self.mean_positive[labels],
            (scores - self.mean[labels]) / self.spread[labels],
            self.spread[labels],
            self.mean_positive[labels],
            weighted.sum(axis=1),
            weighted.max(axis=1),
            np.einsum("ik,ikj->ij", chance, lift),
            np.einsum("ik,ikj->ij", chance, alike) - chance,
        )
        if affinities is not None:
            columns += (affinities, affinities.max(axis=1, keepdims=True) - affinities)
        seen = np.empty((*labels.shape, len(columns)), dtype=np.float32)
        for i, column in enumerate(columns):
            seen[..., i] = column
        return seen

    def _lookup(self, labels: Array) -> Array:
        pairs = labels[:, :, None], labels[:, None, :]
        if not sp.issparse(self.together):
            return np.asarray(self.together[pairs])
        k, j = (np.broadcast_to(part, (*labels.shape, labels.shape[1])) for part in pairs)
        found = self.together[k.ravel(), j.ravel()]
        return np.asarray(found, dtype=np.float32).reshape(k.shape)


def fit_context(
    evidence: Evidence, chances: Array, *, forced: bool = False
) -> tuple[ContextDecoder, Array] | None:
    """Learn a decoder, and return it with probabilities of rows it has not seen.

    None where there is too little to learn from, or (unless ``forced``) where those
    probabilities are not better than the calibrated ones.

    Parameters
    ----------
    evidence : Evidence
        Out-of-fold scores with candidates.
    chances : ndarray of shape (n_rows, T)
        Calibrated probabilities of the candidates.
    forced : bool
        Whether to keep the decoder even if it is worse.
    """
    rows = evidence.candidates
    if rows is None or len(rows) < LEAST_ROWS or rows.truth.sum() < LEAST_POSITIVES:
        return None
    looked_at = chances > LEAST_CHANCE
    row = np.nonzero(looked_at)[0]
    fold = rows.folds(FOLDS)
    if len(np.unique(fold)) < FOLDS:  # copies of a row or two
        return None
    inputs = _inputs(evidence, chances, fold)
    targets = rows.truth[looked_at]
    weights = None if rows.weights is None else rows.weights[row]
    unseen = chances.copy()
    nets = []
    for held in range(FOLDS):
        inside = fold[row] != held
        if not targets[inside].any() or targets[inside].all():
            return None
        part = None if weights is None else weights[inside]
        nets.append(_learn(inputs[inside], targets[inside], part, seed=held))
        judged = looked_at & (fold == held)[:, None]
        unseen[judged] = expit(forward(nets[-1], inputs[~inside]).astype(np.float64))
        # Two more networks would not make up for it.
        if not forced and held == 0 and _hopeless(rows, judged, chances, unseen):
            return None
    truth = rows.truth[looked_at].astype(np.float64)
    plain, better = (entropy_loss(p[looked_at], truth, weights) for p in (chances, unseen))
    if not forced and better > (1.0 - GAIN) * plain:
        return None
    return replace(_described(evidence), nets=tuple(nets)), unseen


def _inputs(evidence: Evidence, chances: Array, fold: Array) -> Array:
    """Return what networks see of candidates, with labels known from the other folds of rows."""
    rows = evidence.candidates
    assert rows is not None
    by_fold = []
    for held in range(FOLDS):
        some = np.flatnonzero(fold == held)
        part = rows.take(some)
        seen = _described(evidence, some)._pairs(
            part.labels, part.scores, chances[some], part.affinities
        )
        by_fold.append(np.concatenate([values for *_, values in seen]))
    row = np.nonzero(chances > LEAST_CHANCE)[0]
    found: Array = np.empty((len(row), by_fold[0].shape[1]), dtype=np.float32)
    found[np.argsort(fold[row], kind="stable")] = np.concatenate(by_fold)
    return found


def _hopeless(rows: Candidates, pairs: Array, plain: Array, other: Array) -> bool:
    """Tell whether the log loss of some pairs rises from plain to other, beyond chance."""
    has = pairs.any(axis=1)
    truth = rows.truth[has].astype(np.float64)
    with np.errstate(invalid="ignore"):  # what was held for certain, and is not so
        rise = log_losses(other[has], truth) - log_losses(plain[has], truth)
        rise = np.where(pairs[has], rise, 0.0).sum(axis=1)
        rise = rise if rows.weights is None else rise * rows.weights[has]
        return bool(len(rise) and rise.mean() > HOPELESS * rise.std() / np.sqrt(len(rise)))


def _described(evidence: Evidence, without: Array | None = None) -> ContextDecoder:
    """Return a decoder without networks: what is known of the labels.

    Parameters
    ----------
    evidence : Evidence
        Out-of-fold scores with candidates.
    without : ndarray of int, optional
        Rows whose labels do not count, as far as they are among the candidates.
    """
    total, positive = evidence.counts.by_label
    n_labels = len(total)
    centres = bin_centres(LABEL_BINS)
    centres = np.clip(centres, -10.0, 10.0)  # the outermost bins reach to infinity
    n, hits = total.sum(axis=1), positive.sum(axis=1)
    mean = total @ centres / np.maximum(n, 1.0)
    spread = np.sqrt(np.maximum(total @ centres**2 / np.maximum(n, 1.0) - mean**2, 1e-6))
    scored, pairs = positive @ centres, sp.csr_array(evidence.pairs)
    if without is not None:
        n, hits, scored, pairs = _less(evidence, without, (n, hits, scored, pairs))
    overall = float(scored.sum() / max(hits.sum(), 1.0))
    mean_positive = (scored + SHRINKAGE * overall) / (hits + SHRINKAGE)
    inverse = 1.0 / (pairs.diagonal() + 1.0)
    together = sp.csr_array(sp.diags_array(inverse) @ pairs).astype(np.float32)
    groups = np.full(n_labels, -1) if evidence.groups is None else np.asarray(evidence.groups)
    lonely = groups < 0
    groups = np.where(lonely, groups.max(initial=0) + 1 + np.arange(n_labels), groups)
    return ContextDecoder(
        (hits + 0.5) / (n + 1.0),
        mean,
        spread,
        mean_positive,
        together.toarray() if n_labels <= DENSE_LABELS else together,
        groups,
        (),
        None if evidence.candidates is None else evidence.affinity,
    )


def _less(evidence: Evidence, rows: Array, sums: tuple[Array, Array, Array, Any]) -> Any:
    """Return numbers of rows and positives, sums of positives' scores and pairs, less some rows."""
    candidates = evidence.candidates
    assert candidates is not None
    part = candidates.take(rows)
    weights = np.ones(len(part)) if part.weights is None else part.weights
    n, hits, scored, pairs = sums
    B = candidates.true_labels(rows, len(n))
    at, column = np.nonzero(part.truth)
    value = weights[at] * np.clip(part.scores[at, column], -10.0, 10.0)
    scored = scored - np.bincount(part.labels[at, column], value, len(n))
    hits = np.maximum(hits - weights @ B, 0.0)
    return (
        n - weights.sum(),
        hits,
        np.where(hits > 1e-9, scored, 0.0),
        sp.csr_array(pairs - B.T @ sp.csr_array(B * weights[:, None])),
    )


def _learn(inputs: Array, targets: Array, weights: Array | None, seed: int) -> Net:
    passes = int(np.clip(WORK / len(inputs), FEWEST_PASSES, MOST_PASSES))
    return train(inputs, targets, weights, hidden=HIDDEN, batch=BATCH, passes=passes, seed=seed)
