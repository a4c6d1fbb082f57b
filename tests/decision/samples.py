"""Scores and labels for the tests of decisions."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from grople.decision import HeldOut, HeldOutBlock


def sample(seed=0, n=400, n_labels=6):
    """Scores and labels that follow them, some labels rare."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(-0.6, 0.5, (n, n_labels)) - np.linspace(0, 0.5, n_labels)
    chances = 1 / (1 + np.exp(-6 * (scores + 0.2)))
    return scores, (rng.random((n, n_labels)) < chances).astype(int)


def paired_sample(n=3000, n_labels=40, seed=0, related=True):
    """Scores of labels that come in pairs; a noisy score of one says much about the other."""
    rng = np.random.default_rng(seed)
    half = rng.random((n, n_labels // 2)) < 0.08
    B = np.repeat(half, 2, axis=1) if related else rng.random((n, n_labels)) < 0.08
    scores = np.where(B, -0.2, -0.9) + 0.35 * rng.standard_normal(B.shape)
    return scores, sp.csr_array(B.astype(int))


def held_out(scores, B, weights=None, groups=None, keys=None):
    """Held-out rows in one block."""
    block = HeldOutBlock(scores, sp.csr_array(B), weights, keys)
    return HeldOut.from_blocks([block], scores.shape[1], groups)


def edges(n_bins):
    """Where bins end: uniform in s/(1 + |s|)."""
    t = np.linspace(-1, 1, n_bins + 1)[1:-1]
    return np.concatenate([[-np.inf], t / (1 - np.abs(t)), [np.inf]])


def f1(truth, given):
    hit, size = np.sum(truth & given), np.sum(truth) + np.sum(given)
    return 2 * hit / size if size else 0.0
