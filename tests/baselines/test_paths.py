"""A path over a grid gives what single fits give, and shares what they would repeat."""

from __future__ import annotations

import numpy as np
import pytest

from grople import summarise
from grople.baselines import (
    CPLST,
    LEML,
    LLSF,
    PLST,
    FaIE,
    Ridge,
    cplst_path,
    faie_path,
    leml_path,
    llsf_path,
    plst_path,
    ridge_path,
)
from grople.optim import Spectrum

from .forms import moments_of, small_data

X, Y = small_data(100, 18, 7, n_groups=2, seed=6)
#: With a label that never and one that always occurs.
B = np.column_stack([Y, np.zeros(100, int), np.ones(100, int)])
MOMENTS = moments_of(X, B)
SIZES, RIDGES = [1, 0.5, 7], [0.1, 10.0]
#: Both sides solve well-conditioned systems of a few dozen unknowns: rounding, with some room.
EXACT = {"rtol": 1e-8, "atol": 1e-8}


def check(path, cls, n_settings, tolerance=EXACT, **fixed):
    seen = []
    for setting, scores in path:
        seen.append(tuple(setting.items()))
        model = cls(**setting, **fixed, decision="sign").fit(X, B)
        np.testing.assert_allclose(scores(X), model.decision_function(X), **tolerance)
    assert len(seen) == len(set(seen)) == n_settings


@pytest.mark.parametrize("fit_intercept", [True, False, "penalised"])
@pytest.mark.parametrize(("path", "cls"), [(plst_path, PLST), (cplst_path, CPLST)])
def test_plst_and_cplst(path, cls, fit_intercept):
    settings = path(MOMENTS, SIZES, RIDGES, fit_intercept=fit_intercept)
    check(settings, cls, 6, fit_intercept=fit_intercept)


@pytest.mark.parametrize("fit_intercept", [True, "penalised"])
def test_faie(fit_intercept):
    settings = faie_path(MOMENTS, SIZES, RIDGES, [0.1, 50.0], fit_intercept=fit_intercept)
    check(settings, FaIE, 12, fit_intercept=fit_intercept)


def test_ridge():
    check(ridge_path(MOMENTS, RIDGES), Ridge, 2)


def test_llsf():
    settings = llsf_path(MOMENTS, [0.0, 2.0], [1.0, 0.2], [1.0], tol=1e-9, max_iter=20_000)
    # A start from a neighbour ends at another point within the certified 1e-9.
    close = {"rtol": 1e-3, "atol": 1e-3}
    check(settings, LLSF, 4, close, tol=1e-9, max_iter=20_000)


@pytest.mark.filterwarnings("ignore:The published correlation term")
def test_llsf_as_published():
    fixed = {"correlation": "published", "fit_intercept": False}
    settings = llsf_path(MOMENTS, [0.01, 10.0], [0.1, 1.0], [0.01, 0.1], **fixed)
    check(settings, LLSF, 8, **fixed)


def test_leml():
    settings = leml_path(MOMENTS, [2, 7], [0.5, 5.0], tol=1e-11, max_iter=1000)
    # Started from a neighbour, the alternation stops at another point of a flat bottom.
    check(settings, LEML, 4, {"atol": 1e-3}, tol=1e-11, max_iter=1000)


def test_a_path_walks_over_kept_rows_too():
    moments = moments_of(X, B, form="rows")
    for setting, scores in plst_path(moments, [3], [0.1, 1.0, 10.0]):
        model = PLST(**setting, decision="sign").fit(X, B)
        # Conjugate gradients, warm from one weight to the next, stop at a residual of 1e-10.
        np.testing.assert_allclose(scores(X), model.decision_function(X), rtol=1e-6, atol=1e-7)


def test_many_weights_share_one_decomposition(monkeypatch):
    calls = []
    decompose = Spectrum.of.__func__

    def counted(cls, matrix, **options):
        calls.append(matrix.shape)
        return decompose(cls, matrix, **options)

    monkeypatch.setattr(Spectrum, "of", classmethod(counted))
    many = np.logspace(-4, 4, 30)
    assert len(list(plst_path(MOMENTS, SIZES, many))) == 90
    assert calls == [(18, 18)]
    calls.clear()
    assert len(list(faie_path(MOMENTS, SIZES, [0.1, 1.0], [1.0, 10.0]))) == 12
    assert calls == [(18, 18)]


def test_a_search_by_folds_needs_only_differences_of_summaries():
    """The moments of a training part are the total's minus the fold's: no row is seen again."""
    folds, total = np.arange(100) % 4, summarise(X, B)
    for fold in range(4):
        test = folds == fold
        training = (total - summarise(X[test], B[test], grid=total.grid)).moments
        for setting, scores in plst_path(training, [3], [1.0]):
            model = PLST(**setting, decision="sign").fit(X[~test], B[~test])
            np.testing.assert_allclose(scores(X[test]), model.decision_function(X[test]), **EXACT)


def test_nothing_to_search_is_said():
    constant = moments_of(X, B[:, 7:])
    with pytest.raises(ValueError, match="no label varies"):
        list(plst_path(constant, [1], [1.0]))
