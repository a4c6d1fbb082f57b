"""The stack: held-out scores of several experts, joined by one logistic regression.

Each expert's held-out scores become log-odds by a monotone curve. Over all pairs of rows and
labels, with the log-odds π of how often a label occurs,

    s = Σ_e w_e log-odds_e(score_e) + w_π π + c,        w_e ≥ 0

has the smallest log loss: a few weights, shared by all labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from grople.decision import log_odds
from grople.solver import LinearScores

__all__ = ["Expert", "Stack", "StackWeights", "fit_weights"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Expert:
    """One map of the features, with the curve that makes log-odds of its scores.

    Attributes
    ----------
    name : str
        ``"linear"``, ``"kernel"`` or ``"forest"``.
    scores : callable
        From rows to scores.
    curve_scores, curve_probabilities : ndarray
        Knots of the curve from scores to probabilities.
    weight : float
        How much its log-odds count.
    """

    name: str
    scores: Any
    curve_scores: Array
    curve_probabilities: Array
    weight: float = 1.0

    def log_odds(self, scores: Array) -> Array:
        """Return log-odds of scores."""
        return log_odds(np.interp(scores, self.curve_scores, self.curve_probabilities))


@dataclass(frozen=True)
class Stack:
    """Scores of several experts, joined: the log-odds of each label.

    Attributes
    ----------
    linear : LinearScores
        The linear expert: what points, weights of features and explanations are taken from.
    experts : tuple of Expert
        All that count.
    base : ndarray of shape (L,)
        Added to their weighted log-odds.
    constant : ndarray of bool of shape (L,)
        Labels that never or always occur: the base alone is their score.
    """

    linear: LinearScores
    experts: tuple[Expert, ...]
    base: Array
    constant: NDArray[np.bool_]

    takes_blocks = True

    @property
    def n_labels(self) -> int:
        """Number of labels (L)."""
        return len(self.base)

    @property
    def n_features(self) -> int:
        """Number of features (D)."""
        return self.linear.n_features

    def __call__(self, X: Any) -> Array:
        """Return the scores of a block of rows."""
        return self.joined([expert.scores(X) for expert in self.experts])

    def joined(self, scores: Sequence[Array]) -> Array:
        """Return the joined scores, given those of each expert."""
        found = np.tile(self.base, (len(scores[0]), 1))
        for expert, own in zip(self.experts, scores, strict=True):
            found += expert.weight * np.where(self.constant, 0.0, expert.log_odds(own))
        return found


@dataclass(frozen=True)
class StackWeights:
    """The weights of experts, of the labels' frequencies, a constant, and the log loss."""

    experts: Array
    prior: float
    constant: float
    loss: float


def fit_weights(columns: Sequence[Array], prior: Array, truth: Array, times: Array) -> StackWeights:
    """Return the weights with the smallest log loss.

    Parameters
    ----------
    columns : sequence of ndarray of shape (n_pairs,)
        Log-odds of each expert.
    prior : ndarray of shape (n_pairs,)
        Log-odds of how often each pair's label occurs.
    truth : ndarray of bool of shape (n_pairs,)
        Whether the row has the label.
    times : ndarray of shape (n_pairs,)
        How many rows each pair stands for.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(2000) < 0.5
    >>> good, noise = 4.0 * truth - 2.0 + rng.normal(size=2000), rng.normal(size=2000)
    >>> found = fit_weights([good, noise], np.zeros(2000), truth, np.ones(2000))
    >>> bool(found.experts[0] > 1.0 > 0.1 > found.experts[1])
    True
    """
    inputs = np.stack([*columns, prior, np.ones(len(prior))], axis=1)
    signs, shares = np.where(truth, -1.0, 1.0), times / times.sum()

    def loss(weights: Array) -> tuple[float, Array]:
        odds = signs * (inputs @ weights)
        # The derivative of ln(1 + eˣ) is the logistic function of x.
        slope = signs * shares / (1.0 + np.exp(-odds))
        return float(shares @ np.logaddexp(0.0, odds)), inputs.T @ slope

    n = len(columns)
    start = np.append(np.full(n, 1.0 / n), [0.0, 0.0])
    bounds = [(0.0, None)] * n + [(None, None)] * 2
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return StackWeights(found.x[:n], float(found.x[n]), float(found.x[n + 1]), float(found.fun))
