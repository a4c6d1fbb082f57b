"""The small networks: gradients by differences, their loss, seeds, weights, company."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier

from grople.decision import Networks, network_log_odds, train_networks
from grople.decision._network import _flat_layers, _gradients, _Room

SETTINGS = {"hidden": 32, "batch": 512, "n_steps": 320}


def pairs(n, seed):
    """Something that no line tells apart, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6)) * [1, 10, 0.1, 1, 1, 1] + [0, 5, 0, 0, 0, 0]
    odds = 3 * X[:, 0] * X[:, 3] + np.abs(X[:, 1] - 5) / 5 - 1
    return X.astype(np.float32), rng.random(n) < expit(odds)


def test_gradients_are_those_of_the_loss():
    rng = np.random.default_rng(0)
    m, n, width, hidden = 2, 200, 6, 5
    X, targets = (np.stack(part) for part in zip(pairs(n, 0), pairs(n, 1), strict=True))
    X = np.concatenate([X, np.ones((m, n, 1))], axis=2).astype(np.float64)
    targets, weights = targets.astype(np.float64), rng.random((m, n))
    _, layers = _flat_layers(m, width, hidden)
    layers = tuple(rng.standard_normal(layer.shape) / 2 for layer in layers)
    found = tuple(np.zeros_like(layer) for layer in layers)
    _gradients(layers, found, X, targets, weights, _Room((m, n, hidden), np.float64))

    def losses(W1, W2, b2, w3, b3):
        one = np.maximum(np.einsum("mnf,mfh->mnh", X, W1), 0)
        two = np.maximum(np.einsum("mnh,mhg->mng", one, W2) + b2[:, None], 0)
        odds = np.einsum("mnh,mh->mn", two, w3) + b3[:, None]
        each = np.logaddexp(0.0, odds) - targets * odds
        return (weights * each).sum(axis=1) / weights.sum(axis=1)

    step = 1e-6
    for which, layer in enumerate(layers):
        for place in rng.choice(layer.size, min(layer.size, 12), replace=False):
            at = np.unravel_index(place, layer.shape)
            moved = [[part.copy() for part in layers] for _ in range(2)]
            moved[0][which][at] += step
            moved[1][which][at] -= step
            slope = (losses(*moved[0]) - losses(*moved[1]))[at[0]] / (2 * step)
            # Central differences: rounding of 1e-16/1e-6 and, at a kink, less than the tolerance.
            assert found[which][at] == pytest.approx(slope, abs=1e-6)


def test_the_loss_is_as_low_as_that_of_scikit_learn():
    X, truth = pairs(8000, 0)
    new, unseen = pairs(8000, 1)
    nets = train_networks(X, truth, None, [np.arange(8000)], seeds=[0], **SETTINGS)
    centred, scale = X.mean(axis=0), X.std(axis=0)
    peer = MLPClassifier((32, 32), batch_size=512, learning_rate_init=3e-3, max_iter=40,
                         n_iter_no_change=40, random_state=0)  # fmt: skip
    with pytest.warns(UserWarning, match="Maximum iterations"):
        peer.fit((X - centred) / scale, truth)
    theirs = log_loss(unseen, peer.predict_proba((new - centred) / scale)[:, 1])
    ours = log_loss(unseen, expit(network_log_odds(nets, new)[0].astype(float)))
    # Twice the passes at a constant step; a seed moves either by half a per cent.
    assert ours < 1.01 * theirs


def test_networks_do_not_depend_on_those_learnt_with_them():
    X, truth = pairs(1000, 0)
    samples = [np.arange(0, 700), np.arange(300, 1000), np.arange(0, 1000, 2)]
    several = train_networks(X, truth, None, samples, seeds=[0, 1, 2], **SETTINGS)
    alone = train_networks(X, truth, None, samples[1:2], seeds=[1], **SETTINGS)
    other = train_networks(X, truth, None, samples[1:2], seeds=[3], **SETTINGS)
    for name, part in vars(several).items():
        np.testing.assert_array_equal(part[1:2], getattr(alone, name))
        assert part.dtype == np.float32
    assert not np.array_equal(alone.weights1, other.weights1)


def test_rows_without_weight_teach_nothing():
    X, truth = pairs(4000, 0)
    weights = np.where(X[:, 0] > 0, 1.0, 0.0)
    flipped = np.where(weights > 0, truth, ~truth)
    nets = train_networks(X, flipped, weights, [np.arange(4000)], seeds=[0], **SETTINGS)
    odds = network_log_odds(nets, X)[0]
    counted = weights > 0
    assert np.mean((odds > 0)[counted] == truth[counted]) > 0.8


def test_inputs_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    X = (1000 + 5 * rng.standard_normal((4000, 3))).astype(np.float32)
    truth = X[:, 0] > 1002
    nets = train_networks(X, truth, None, [np.arange(4000)], seeds=[0], **SETTINGS)
    assert np.abs(X @ nets.weights1[0] + nets.biases1[0]).max() < 100  # centred inside the layer
    assert ((network_log_odds(nets, X)[0] > 0) == truth).mean() > 0.95


@pytest.mark.parametrize("width", [1, 19, 21])
@pytest.mark.parametrize("m", [1, 9])
def test_a_row_has_the_same_log_odds_in_any_company(m, width):
    rng = np.random.default_rng(0)
    shapes = (m, width, 32), (m, 32), (m, 32, 32), (m, 32), (m, 32), (m,)
    nets = Networks(*(rng.standard_normal(shape).astype(np.float32) for shape in shapes))
    X = rng.standard_normal((700, width)).astype(np.float32)
    whole = network_log_odds(nets, X)
    order = rng.permutation(700)
    np.testing.assert_array_equal(network_log_odds(nets, X[order]), whole[:, order])
    for size in (1, 2, 3, 5, 33, 255, 257):
        for start in (0, 1, 7, 440):
            found = network_log_odds(nets, X[start : start + size])
            np.testing.assert_array_equal(found, whole[:, start : start + size])
