"""Scores along settings are those of single fits, and share what they would repeat."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import ParameterGrid

from grople import GroPLE, summarise
from grople.baselines import BSVM, CPLST, LEML, LLSF, MLSF, PLST, FaIE, Ridge, scores_along
from grople.optim import Spectrum

from .forms import moments_of, small_data

X, Y = small_data(100, 18, 7, n_groups=2, seed=6)
#: With a label that never and one that always occurs.
B = np.column_stack([Y, np.zeros(100, int), np.ones(100, int)])
SIZES, RIDGES = [1, 0.5, 7], [0.1, 10.0]
GRID = {"n_components": SIZES, "ridge": RIDGES}
PUBLISHED = {"correlation": "published", "fit_intercept": False}
FIXED = [
    *((cls(fit_intercept=i), GRID) for cls in (PLST, CPLST) for i in (True, False, "penalised")),
    *((FaIE(fit_intercept=i), GRID | {"alpha": [0.1, 50.0]}) for i in (True, "penalised")),
    (LEML(), GRID),
    (Ridge(), {"ridge": RIDGES, "fit_intercept": [True, "penalised"]}),
    (LLSF(), {"alpha": [0.0, 2.0], "beta": [1.0, 0.2], "gamma": [1.0, "auto"]}),
    (LLSF(**PUBLISHED), {"alpha": [0.01, 10.0], "beta": [0.1, 1.0], "gamma": [0.01, 0.1]}),
    (BSVM(), {"C": [0.1, 1.0]}),
    (MLSF(3, random_state=0), {"gamma": [5.0, 0.5]}),
    (GroPLE(n_components=4), {"gamma": [1.0, 2.0]}),
    (
        GroPLE.published("medical", n_components=4, n_groups=2),
        {"alpha": [0.01, 0.1], "beta": [0.1, 1.0], "n_groups": [2, 3]},
    ),
]


@pytest.mark.filterwarnings("ignore:The published correlation term")
@pytest.mark.parametrize(
    ("estimator", "grid"),
    FIXED,
    ids=[f"{type(case[0]).__name__}{i}" for i, case in enumerate(FIXED)],
)
def test_scores_are_those_of_fits(estimator, grid):
    estimator = estimator.set_params(decision="sign")
    settings = list(ParameterGrid(grid))
    found = list(scores_along(estimator, settings, X, B))
    assert len(found) == len(settings)
    for setting, scores in found:
        settings.remove(setting)
        expected = estimator.set_params(**setting).fit(X, B).decision_function(X)
        np.testing.assert_allclose(np.asarray(scores(X)), expected, rtol=1e-4, atol=1e-6)


def test_kept_rows_serve_as_well():
    moments = moments_of(X, B, form="rows")
    settings = [{"n_components": 3, "ridge": ridge} for ridge in (0.1, 1.0, 10.0)]
    for setting, scores in scores_along(PLST(decision="sign"), settings, None, None, moments):
        model = PLST(**setting, decision="sign").fit(X, B)
        # Conjugate gradients stop at a residual of 1e-10.
        np.testing.assert_allclose(scores(X), model.decision_function(X), rtol=1e-6, atol=1e-7)


def test_one_decomposition_serves_a_grid(monkeypatch):
    calls = []
    decompose = Spectrum.of.__func__

    def counted(cls, matrix, **options):
        calls.append(matrix.shape)
        return decompose(cls, matrix, **options)

    monkeypatch.setattr(Spectrum, "of", classmethod(counted))
    settings = list(ParameterGrid(GRID | {"alpha": [1.0, 10.0]}))
    assert len(list(scores_along(FaIE(), settings, X, B))) == 12
    assert calls == [(18, 18)]


def test_a_search_by_folds_needs_only_differences_of_summaries():
    """The moments of a training part are the total's minus the fold's: no row is seen again."""
    folds, total = np.arange(100) % 4, summarise(X, B)
    for fold in range(4):
        test = folds == fold
        rest = (total - summarise(X[test], B[test], grid=total.grid)).moments
        settings = [{"n_components": 3, "ridge": 1.0}]
        ((_, scores),) = scores_along(PLST(), settings, None, None, rest)
        model = PLST(3, 1.0, decision="sign").fit(X[~test], B[~test])
        expected = model.decision_function(X[test])
        np.testing.assert_allclose(scores(X[test]), expected, rtol=1e-8, atol=1e-8)


def test_constant_labels_and_wrong_settings_are_no_surprise():
    ((_, scores),) = scores_along(PLST(), [{"ridge": 1.0}], X, B[:, 7:])
    np.testing.assert_array_equal(scores(X), np.tile([-1.0, 1.0], (100, 1)))
    with pytest.raises(ValueError, match="PLST: ridge must be"):
        list(scores_along(PLST(), [{"ridge": -1.0}], X, B))
