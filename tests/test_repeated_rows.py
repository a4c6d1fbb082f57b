"""Rows that repeat each other: a row seen before is answered like its copies, a new one is not."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from grople import GroPLE
from grople.datasets import read
from grople.metrics import example_f1


def fitted(X: Any, Y: Any) -> GroPLE:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GroPLE().fit(X, Y)


@pytest.mark.parametrize("k", [5, 20, 50, 500])
def test_tables_of_one_category(k: int) -> None:
    """One-hot rows and the same labels: held out, nothing is known of a category."""
    c = np.random.default_rng(0).integers(0, k, 600)
    X = np.eye(k)[c]
    model = fitted(X, X.astype(int))
    assert np.array_equal(model.predict(X), X)
    assert model.predict_proba(X)[np.arange(600), c].min() > 0.9


@pytest.mark.parametrize("n_templates", [5, 50, 500])
def test_templates(n_templates: int) -> None:
    rng = np.random.default_rng(1)
    forms, tags = rng.random((n_templates, 40)) < 0.3, rng.random((n_templates, 8)) < 0.3
    tags[~tags.any(axis=1), 0] = True  # the measure has no use for rows without labels
    which = rng.integers(0, n_templates, 2000)
    X, Y = sp.csr_array(forms[which].astype(float)), tags[which].astype(int)
    model = fitted(X, Y)
    assert example_f1(Y, model.predict(X), zero_division=1.0) > 0.98


def test_copies_that_contradict_each_other_are_half_believed() -> None:
    rng = np.random.default_rng(2)
    forms = rng.random((60, 30)) < 0.4
    X = np.repeat(forms, 20, axis=0).astype(float)
    Y = np.zeros((len(X), 3), dtype=int)
    Y[::2, 0] = 1  # every other copy of every row
    Y[:, 1] = np.repeat(forms[:, 0], 20)
    chances = fitted(X, Y).predict_proba(X)
    assert np.abs(chances[:, 0] - 0.5).max() < 0.15


@pytest.mark.data
def test_four_fifths_copies(shared_data: Path) -> None:
    """A row seen before is answered as well as by its nearest neighbour, a new one as ever."""
    data = read(shared_data / "npz" / "tmc2007-500.npz")
    rows = np.random.default_rng(11).permutation(data.X.shape[0])[:12_000]
    X, Y = sp.csr_array(data.X)[rows], sp.csr_array(data.Y)[rows]
    texts = [X[[i]].indices.tobytes() for i in range(len(rows))]
    train, test = np.arange(10_000), np.arange(10_000, 12_000)
    first = {texts[i]: i for i in train[::-1]}
    seen = np.array([texts[i] in first for i in test])
    twins = np.array([first.get(texts[i], 0) for i in test])
    found = sp.csr_array(fitted(X[train], Y[train]).predict(X[test]))
    known, new = np.flatnonzero(seen), np.flatnonzero(~seen)
    nearest = example_f1(Y[test[known]], Y[twins[known]])
    assert example_f1(Y[test[known]], found[known]) > nearest - 0.01
    assert example_f1(Y[test[new]], found[new]) > 0.7
