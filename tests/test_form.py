"""The automatic form of the moments: sparse rows as long as they are smaller than the matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from grople import GroPLE, Moments
from grople.baselines import Ridge
from grople.datasets import make_grouped_multilabel

FEATURES = 60


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grople.moments.implicit.MANY_FEATURES", 30)


def rows(n: int = 400, seed: int = 0) -> tuple[sp.csr_array, sp.csr_array]:
    data = make_grouped_multilabel(n, FEATURES, 12, n_groups=3, random_state=seed)
    rng = np.random.default_rng(seed)
    X = np.asarray(sp.csr_array(data.X).toarray())
    return sp.csr_array(np.where(rng.random(X.shape) < 0.2, X, 0.0)), sp.csr_array(data.Y)


def model(**settings: object) -> GroPLE:
    return GroPLE(gamma=0.5, decision="sign", random_state=0, tol=1e-9, **settings)


def test_rows_that_are_smaller_than_the_matrix_are_kept():
    X, Y = rows(100)
    assert X.nnz < 0.2 * FEATURES**2
    assert model().fit(X, Y).moments_.form == "implicit"
    assert model().fit(*rows(400)).moments_.form == "explicit"  # more values than the matrix
    for other in (X.toarray(), X[:, :30]):  # not sparse; few features
        assert model().fit(other, Y).moments_.form == "explicit"
    assert model(beta=0.1).fit(X, Y).moments_.form == "explicit"  # sweeps need the matrix
    assert model(form="explicit").fit(X, Y).moments_.form == "explicit"
    assert Ridge(decision="sign").fit(X, Y).moments_.form == "explicit"


def test_both_forms_have_the_same_scores():
    X, Y = rows(100)
    found, expected = (model(form=form).fit(X, Y) for form in ("auto", "explicit"))
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-6)


def test_rows_are_given_up_for_matrices_when_they_outgrow_them():
    X, Y = rows(400)
    grown = model()
    forms = []
    for start in range(0, 400, 50):
        grown.partial_fit(X[start : start + 50], Y[start : start + 50])
        forms.append(grown.moments_.form)
    assert forms[0] == "implicit"
    assert forms[-1] == "explicit"
    assert forms == sorted(forms, reverse=True)  # never back
    whole = model().fit(X, Y)
    np.testing.assert_allclose(grown.coef_, whole.coef_, atol=1e-8)
    grown.forget(X[:350], Y[:350])
    np.testing.assert_allclose(grown.coef_, model().fit(X[350:], Y[350:]).coef_, atol=1e-6)


def test_blocks_of_either_form_add_up():
    X, Y = rows(400)
    cuts = [slice(0, 30), slice(30, 330), slice(330, 400)]
    pytest.importorskip("dask")
    import dask

    parts = [dask.delayed((X[cut], Y[cut])) for cut in cuts]
    spread = model().fit_blocks(parts, classes=12)
    assert spread.moments_.form == "explicit"
    np.testing.assert_allclose(spread.coef_, model().fit(X, Y).coef_, atol=1e-8)
    few = model().fit_blocks([dask.delayed((X[cut], Y[cut])) for cut in cuts[::2]], classes=12)
    assert few.moments_.form == "implicit"


def test_moments_keep_the_form_that_was_given():
    moments = Moments.from_data(*rows(400), form="implicit")
    assert model().fit_moments(moments).moments_ is moments


def test_kept_rows_are_not_the_callers():
    X, Y = rows(100)
    X.sum_duplicates()
    before = model().fit(X, Y)
    expected = before.coef_.copy()
    X.data[:] = 7.0
    np.testing.assert_array_equal(before.refit().coef_, expected)
