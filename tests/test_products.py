"""Products with sparse rows: on threads, in single precision, and in the space of rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from grople import GroPLE, Moments
from grople.baselines import Ridge
from grople.datasets import make_grouped_multilabel
from grople.modelfile import load_model
from grople.moments.products import ThreadedProduct, ViewedRows
from grople.threads import allowed_threads, in_shares, one_each


def rows(n=60, D=25, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.csr_array(np.where(rng.random((n, D)) < 0.3, rng.standard_normal((n, D)), 0.0))
    B = sp.csr_array((rng.random((n, 7)) < 0.3).astype(int))
    return X, B


def test_threads_change_nothing(monkeypatch):
    X = sp.random_array((500, 300), density=0.05, format="csr", rng=np.random.default_rng(0))
    Z = np.random.default_rng(1).standard_normal((300, 9))
    expected = X @ Z
    monkeypatch.setattr("grople.moments.products.LEAST_WORK", 0)
    for threads in (1, 2, 3, 600):
        monkeypatch.setattr("grople.moments.products.allowed_threads", lambda n=threads: n)
        np.testing.assert_array_equal(ThreadedProduct(X) @ Z, expected)
    empty = sp.csr_array((4, 300))
    np.testing.assert_array_equal(ThreadedProduct(empty) @ Z, np.zeros((4, 9)))


def test_viewed_rows_are_the_centred_rows_whatever_the_order_of_features():
    X, _ = rows()
    rng = np.random.default_rng(2)
    mean, roots = rng.standard_normal(25), rng.random(60)
    centred = X.toarray() - np.multiply.outer(roots, mean)
    view = ViewedRows(X, mean, roots)
    A, Z = rng.standard_normal((60, 70)), rng.standard_normal((25, 70))
    np.testing.assert_allclose(view.kernel(A), centred @ (centred.T @ A), atol=1e-10)
    np.testing.assert_allclose(view.lift(A), centred.T @ A, atol=1e-10)
    np.testing.assert_allclose(view.images(Z), centred @ Z, atol=1e-10)


def test_predictions_are_the_same_in_shares(monkeypatch):
    data = make_grouped_multilabel(203, 40, 12, n_groups=3, random_state=0)
    model = GroPLE(random_state=0).fit(data.X, data.Y)
    alone = model.predict(data.X)
    monkeypatch.setattr("grople.threads.LEAST_WORK", 0)
    for threads in (2, 3, 500):
        monkeypatch.setattr("grople.threads.allowed_threads", lambda n=threads: n)
        shared = model.predict(data.X)
        assert type(shared) is type(alone)
        assert (shared != alone).nnz == 0


def test_what_fails_in_a_share_is_told(monkeypatch):
    monkeypatch.setattr("grople.threads.LEAST_WORK", 0)
    monkeypatch.setattr("grople.threads.allowed_threads", lambda: 2)
    assert in_shares(lambda rows: (rows.start, rows.stop), 5, size=5) == [(0, 2), (2, 5)]
    with pytest.raises(ZeroDivisionError):
        in_shares(lambda rows: 1 // rows.start, 5, size=5)


def test_limits_are_respected():
    with threadpool_limits(1):
        assert allowed_threads() == 1


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_small_matrices_have_one_thread_and_other_work_has_all():
    with threadpool_limits(2, user_api="blas"):
        with one_each():
            assert blas_threads() == {1}
            assert allowed_threads() == 2
            with one_each():  # inside another one nothing changes
                assert allowed_threads() == 2
            assert blas_threads() == {1}
        assert blas_threads() == {2}
        with one_each(small=False):
            assert blas_threads() == {2}


def test_threads_are_given_back_after_a_fit_that_fails(monkeypatch):
    data = make_grouped_multilabel(60, 10, 5, n_groups=2, random_state=0)
    seen = []

    def failing(*_, **__):
        seen.append(blas_threads())
        raise RuntimeError("stop")

    monkeypatch.setattr("grople.stages.fit_groups", failing)
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(RuntimeError, match="stop"):
            GroPLE(random_state=0).fit(data.X, data.Y)
        assert seen == [{1}]
        assert blas_threads() == {2}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_the_space_of_rows(weighted, centre, scale):
    X, B = rows()
    weights = np.random.default_rng(3).uniform(0.5, 2.0, 60) if weighted else None
    moments = Moments.from_data(X, B, weights, form="implicit")
    view = moments.view(centre=centre, scale=scale)
    w = np.ones(60) if weights is None else weights
    dense = X.toarray() - (w @ X.toarray() / w.sum() if centre else 0.0)
    if scale:
        full = X.toarray() - w @ X.toarray() / w.sum()
        dense = dense / np.sqrt(w @ full**2 / w.sum())
    dense = dense * np.sqrt(w)[:, None]
    rng = np.random.default_rng(4)
    A, W = rng.standard_normal((60, 3)), rng.standard_normal((7, 3))
    np.testing.assert_allclose(view.kernel(A), dense @ dense.T @ A, atol=1e-9)
    np.testing.assert_allclose(view.kernel_matrix(), dense @ dense.T, atol=1e-9)
    np.testing.assert_allclose(view.lift(A), dense.T @ A, atol=1e-9)
    np.testing.assert_allclose(view.gram(view.lift(A)), dense.T @ dense @ dense.T @ A, atol=1e-8)
    Y = 2.0 * B.toarray() - 1.0
    U = Y @ W - (w @ Y / w.sum() @ W if centre else 0.0)
    np.testing.assert_allclose(view.points(W), U * np.sqrt(w)[:, None], atol=1e-9)
    np.testing.assert_allclose(view.lift(view.points(W)), view.target(W), atol=1e-8)
    narrow = view.kernel(A.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, dense @ dense.T @ A, atol=1e-3)


@pytest.mark.parametrize("alpha", [0.0, 5.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_large_systems_reach_the_same_map(alpha, weighted, monkeypatch):
    data = make_grouped_multilabel(500, 200, 12, n_groups=3, random_state=0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 500) if weighted else None
    settings = {"gamma": 2.0, "alpha": alpha, "decision": "sign", "random_state": 0, "tol": 1e-8}
    exact = GroPLE(form="explicit", **settings).fit(data.X, data.Y, sample_weight=weights)
    monkeypatch.setattr("grople.mapping.FULL_WORK", 0)
    X = sp.csr_array(data.X)
    large = GroPLE(form="implicit", **settings).fit(X, data.Y, sample_weight=weights)
    # Residuals of √(10·tol) = 3e-4 of the points, in scores of size one.
    np.testing.assert_allclose(
        large.decision_function(X), exact.decision_function(data.X), atol=3e-3
    )


def test_a_large_map_is_half_as_large_and_kept_so(monkeypatch, tmp_path):
    data = make_grouped_multilabel(500, 200, 12, n_groups=3, random_state=0)
    monkeypatch.setattr("grople.mapping.FULL_WORK", 0)
    X = sp.csr_array(data.X)
    model = GroPLE(form="implicit", random_state=0).fit(X, data.Y)
    assert model.mapping_.dtype == np.float32
    model.save(tmp_path / "model.grople")
    again = load_model(tmp_path / "model.grople")
    assert again.mapping_.dtype == np.float32
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    for rows in (X, X.toarray(), X.astype(np.float32)):
        # Scores of size one from some hundred products rounded to seven digits.
        expected = data.X @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(model.decision_function(rows), expected, atol=1e-5)


def test_baselines_solve_large_systems_too(monkeypatch):
    data = make_grouped_multilabel(500, 200, 12, n_groups=3, random_state=0)
    exact = Ridge(ridge=2.0, form="explicit", decision="sign").fit(data.X, data.Y)
    monkeypatch.setattr("grople.baselines.design.FULL_WORK", 0)
    X = sp.csr_array(data.X)
    large = Ridge(ridge=2.0, form="implicit", decision="sign").fit(X, data.Y)
    # Residuals of a ten-thousandth, in scores of size one.
    np.testing.assert_allclose(
        large.decision_function(X), exact.decision_function(data.X), atol=5e-3
    )
