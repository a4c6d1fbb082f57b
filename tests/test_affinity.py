"""The second opinion: features and labels counted together."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from grople import GroPLE, load_model
from grople.affinity import RARE, fit_affinity
from grople.datasets import load, make_grouped_multilabel
from grople.decision import Rule
from grople.metrics import example_f1
from grople.moments import Moments

rng = np.random.default_rng(0)
AMOUNTS = sp.random_array((60, 9), density=0.4, rng=1, format="csr")
MARKS = sp.random_array((60, 4), density=0.3, rng=2, format="csr").astype(bool).astype(float)


@pytest.mark.parametrize("form", ["explicit", "implicit"])
@pytest.mark.parametrize("weights", [None, rng.uniform(0.5, 2.0, 60)])
def test_counts_pair_by_pair(form: str, weights: np.ndarray | None) -> None:
    affinity = fit_affinity(Moments.from_data(AMOUNTS, MARKS, weights, form=form))
    assert affinity is not None
    w = np.ones(60) if weights is None else weights
    X, B = AMOUNTS.toarray(), MARKS.toarray()
    for i in range(5):
        for label in range(4):
            spoken = 0.0
            for j in range(9):
                share = sum(w * X[:, j] * B[:, label]) / sum(w * X[:, j])
                spoken += X[i, j] * math.log(1 + share / RARE)
            of_all = sum(w @ (X * B[:, [label]])) / (w @ X).sum()
            expected = spoken / X[i].sum() - math.log(1 + of_all / RARE)
            # Weights of up to ln(101) are kept in single precision.
            assert affinity(AMOUNTS[[i]])[0, label] == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(affinity(AMOUNTS), affinity(X), rtol=1e-12)


def test_a_row_without_features_has_the_base() -> None:
    affinity = fit_affinity(Moments.from_data(AMOUNTS, MARKS))
    assert affinity is not None
    np.testing.assert_array_equal(affinity(np.zeros((1, 9)))[0], affinity.base)


def test_features_that_are_no_amounts_have_none() -> None:
    X = AMOUNTS.toarray()
    assert fit_affinity(Moments.from_data(X - X.mean(axis=0), MARKS)) is None
    assert fit_affinity(Moments.from_data(np.zeros((60, 9)), MARKS)) is None


@pytest.mark.parametrize("form", ["explicit", "implicit"])
def test_adding_and_forgetting_leave_it_exact(form: str) -> None:
    whole = Moments.from_data(AMOUNTS, MARKS, form=form)
    part = Moments.from_data(AMOUNTS[:20], MARKS[:20], form=form)
    left = fit_affinity(whole - part)
    fresh = fit_affinity(Moments.from_data(AMOUNTS[20:], MARKS[20:], form=form))
    assert left is not None
    assert fresh is not None
    # A share that rounding leaves of a forgotten pair is below ROUNDING or as small as its effect.
    np.testing.assert_allclose(left(AMOUNTS), fresh(AMOUNTS), atol=1e-6)


def test_a_decision_with_a_second_opinion_asks_for_rows(tmp_path: Path) -> None:
    data = make_grouped_multilabel(600, 40, 12, n_groups=3, random_state=3)
    model = GroPLE(random_state=0, decision=Rule(context=True)).fit(data.X, data.Y)
    decision = model.decision_
    assert decision.asks_rows
    scores = model.decision_function(data.X)
    with pytest.raises(ValueError, match="pass X"):
        decision.labels(scores)
    np.testing.assert_array_equal(
        decision.labels(scores, data.X).toarray(), sp.csr_array(model.predict(data.X)).toarray()
    )
    model.save(tmp_path / "m.grople")
    again = load_model(tmp_path / "m.grople")
    np.testing.assert_array_equal(again.predict_proba(data.X), model.predict_proba(data.X))
    # What it says counts: a decoder that hears another opinion decides otherwise.
    assert decision.decoder is not None
    assert decision.decoder.affinity is not None
    muted = replace(decision.decoder.affinity, base=decision.decoder.affinity.base[::-1].copy())
    other = replace(decision, decoder=replace(decision.decoder, affinity=muted))
    assert np.abs(other.probabilities(scores, data.X) - model.predict_proba(data.X)).max() > 1e-3
    assert not model.refit(affinity=False).decision_.asks_rows


def test_it_pays_on_real_rows() -> None:
    data = load("debtags-mini")
    train, test = slice(0, 3000), slice(3000, None)
    found = [
        example_f1(data.Y[test], model.predict(data.X[test]))
        for model in (
            GroPLE(affinity=affinity, random_state=0).fit(data.X[train], data.Y[train])
            for affinity in (False, True)
        )
    ]
    assert found[1] > found[0]
