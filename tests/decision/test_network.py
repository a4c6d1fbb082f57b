"""The small network: slopes by differences, its loss beside scikit-learn's, seeds and weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier

from grople.decision.network import _flat, _slopes, forward, train

SETTINGS = {"hidden": 32, "batch": 512, "passes": 20}


def pairs(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Something that no line tells apart, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6)) * [1, 10, 0.1, 1, 1, 1] + [0, 5, 0, 0, 0, 0]
    odds = 3 * X[:, 0] * X[:, 3] + np.abs(X[:, 1] - 5) / 5 - 1
    return X, rng.random(n) < expit(odds)


def test_slopes_are_those_of_the_loss() -> None:
    rng = np.random.default_rng(0)
    X, targets = pairs(200, 0)
    weights = rng.random(200)
    values, net = _flat(6, 5)
    values = values.astype(np.float64)
    values[:] = rng.standard_normal(len(values)) / 2
    sizes = np.cumsum([part.size for part in net])[:-1]

    def layers(flat: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(
            part.reshape(like.shape) for part, like in zip(np.split(flat, sizes), net, strict=True)
        )

    def loss(flat: np.ndarray) -> float:
        odds = forward(layers(flat), X)
        each = np.logaddexp(0.0, odds) - targets * odds
        return float(weights @ each / weights.sum())

    found = np.zeros_like(values)
    _slopes(layers(values), layers(found), X, targets.astype(float), weights)
    step = 1e-6
    for i in rng.choice(len(values), 40, replace=False):
        moved = values.copy()
        moved[i] += step
        back = values.copy()
        back[i] -= step
        # Central differences: rounding of 1e-16/1e-6 and, at a kink, less than the tolerance.
        assert found[i] == pytest.approx((loss(moved) - loss(back)) / (2 * step), abs=1e-6)


def test_its_loss_is_as_low_as_that_of_scikit_learn() -> None:
    X, truth = pairs(8000, 0)
    new, unseen = pairs(8000, 1)
    net = train(X, truth, None, seed=0, **SETTINGS)
    centred, scale = X.mean(axis=0), X.std(axis=0)
    peer = MLPClassifier((32, 32), batch_size=512, learning_rate_init=3e-3, max_iter=40,
                         n_iter_no_change=40, random_state=0)  # fmt: skip
    with pytest.warns(UserWarning, match="Maximum iterations"):
        peer.fit((X - centred) / scale, truth)
    theirs = log_loss(unseen, peer.predict_proba((new - centred) / scale)[:, 1])
    ours = log_loss(unseen, expit(forward(net, new.astype(np.float32)).astype(float)))
    # Twice the passes at a constant step; a seed moves either by half a per cent.
    assert ours < 1.01 * theirs


def test_the_same_seed_gives_the_same_network() -> None:
    X, truth = pairs(1000, 0)
    one, again, other = (train(X, truth, None, seed=s, **SETTINGS) for s in (0, 0, 1))
    for a, b in zip(one, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one[0], other[0])
    assert all(part.dtype == np.float32 for part in one)


def test_pairs_without_weight_teach_nothing() -> None:
    X, truth = pairs(4000, 0)
    weights = np.where(X[:, 0] > 0, 1.0, 0.0)
    flipped = np.where(weights > 0, truth, ~truth)
    net = train(X, flipped, weights, seed=0, **SETTINGS)
    odds = forward(net, X.astype(np.float32))
    counted = weights > 0
    assert np.mean((odds > 0)[counted] == truth[counted]) > 0.8


def test_few_pairs_are_one_batch() -> None:
    X, truth = pairs(40, 0)
    net = train(X, truth, None, seed=0, **SETTINGS)
    assert np.isfinite(forward(net, X.astype(np.float32))).all()
