"""Stage 2 against the objective on rows, MultiTaskLasso and explicit hat matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import MultiTaskLasso

from grople.moments import LabelMoments, summarise
from grople.solver import Groups, automatic_components, embed_labels
from grople.solver._embedding import predictable_gram
from tests.moments.test_moments import summary_of

LAMBDA_1 = 1e-3


def some_labels(seed=0, n=120, n_labels=15, n_topics=4):
    rng = np.random.default_rng(seed)
    topics = rng.random((n, n_topics)) < 0.4
    noise = 0.3 * rng.standard_normal((n, n_labels))
    return (topics @ rng.random((n_topics, n_labels)) + noise > 0.8).astype(int)


def some_groups(n_labels=15, n_groups=3):
    return Groups.of(np.arange(n_labels) * n_groups // n_labels)


def objective(B, U, V, groups, lambda_1, lambda_2, weights=None):
    """The objective as printed, on rows."""
    w = np.ones(len(B)) if weights is None else weights
    fit = np.square(2 * B - 1 - U @ V).sum(axis=1) @ w
    norms = group_norms(V, groups).sum()
    return fit + lambda_1 * np.square(U).sum(axis=1) @ w + lambda_2 * norms


def group_norms(V, groups):
    return np.array([[np.linalg.norm(row[m]) for m in groups.members()] for row in V])


def fitted(B, groups, weights=None, **options):
    options = {"lambda_1": LAMBDA_1, "n_components": 8} | options
    return embed_labels(LabelMoments.of(B, weights), groups, **options)


def best_hyperplanes(B, U, groups, lambda_2):
    """Return the V that is best for given points, group by group."""
    V = np.empty((U.shape[1], B.shape[1]))
    for members in groups.members():
        # MultiTaskLasso divides the squares by 2n, and its coefficients are tasks × features.
        lasso = MultiTaskLasso(
            alpha=lambda_2 / (2 * len(B)), fit_intercept=False, tol=1e-10, max_iter=100_000
        )
        V[:, members] = lasso.fit(U, 2.0 * B[:, members] - 1).coef_.T
    return V


# The objective


@pytest.mark.parametrize("lambda_2", [0.1, 5.0, 60.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("own", [0, 2])
def test_path_is_the_objective_on_rows(lambda_2, weighted, own):
    B, groups = some_labels(), some_groups()
    weights = np.random.default_rng(1).random(len(B)) if weighted else None
    for max_iter in (1, 2, 10):
        found = fitted(B, groups, weights, lambda_2=lambda_2, group_components=own, tol=0.0,
                       max_iter=max_iter)  # fmt: skip
        U = (2 * B - 1) @ found.W
        expected = objective(B, U, found.V, groups, LAMBDA_1, lambda_2, weights)
        assert found.objective_path[-1] == pytest.approx(expected, rel=1e-9)
        assert len(found.objective_path) == found.n_iter == max_iter
        assert not found.converged


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 99),
    lambda_1=st.sampled_from([1e-3, 1.0]),
    lambda_2=st.sampled_from([0.01, 1.0, 30.0, 300.0]),
    own=st.sampled_from([0, 1]),
)
def test_the_objective_falls(seed, lambda_1, lambda_2, own):
    B = some_labels(seed, n=50, n_labels=9)
    path = fitted(B, some_groups(9), lambda_1=lambda_1, lambda_2=lambda_2, group_components=own,
                  tol=0.0, max_iter=6).objective_path  # fmt: skip
    assert np.all(np.diff(path) <= 1e-9 * path[0])
    assert path[-1] <= np.square(2 * B - 1).sum()  # no worse than nothing at all


def test_long_runs_of_the_published_scheme_are_no_better():
    B, groups = some_labels(), some_groups()
    ours = fitted(B, groups, lambda_2=1.0, max_iter=100).objective_path[-1]
    # Alternate exact steps from a random start, on rows and without balancing.
    U, Y = np.random.default_rng(2).random((len(B), 8)), 2.0 * B - 1
    for _ in range(30):
        V = best_hyperplanes(B, U, groups, 1.0)
        U = Y @ V.T @ np.linalg.inv(V @ V.T + LAMBDA_1 * np.eye(8))
    assert ours <= objective(B, U, V, groups, LAMBDA_1, 1.0) * (1 + 1e-3)


def test_the_two_penalties_act_through_one_product():
    B, groups = some_labels(), some_groups()
    one = fitted(B, groups, lambda_1=1e-3, lambda_2=8.0, tol=1e-9, max_iter=500)
    other = fitted(B, groups, lambda_1=4e-3, lambda_2=4.0, tol=1e-9, max_iter=500)
    np.testing.assert_allclose(one.W @ one.V, other.W @ other.V, atol=1e-4)


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-4])
def test_gap_bounds_what_a_better_v_could_save(tol):
    B, groups = some_labels(), some_groups()
    found = fitted(B, groups, lambda_2=20.0, tol=tol, max_iter=200)
    assert found.converged
    U = (2.0 * B - 1) @ found.W
    best = best_hyperplanes(B, U, groups, 20.0)
    now, least = (objective(B, U, V, groups, LAMBDA_1, 20.0) for V in (found.V, best))
    assert -1e-9 * now <= now - least <= found.gap * now + 1e-9 * now
    assert found.gap <= tol


def test_a_smaller_tolerance_goes_further():
    B, groups = some_labels(), some_groups()
    loose, tight = (fitted(B, groups, lambda_2=20.0, tol=tol, max_iter=500) for tol in (1e-2, 1e-5))
    assert loose.n_iter < tight.n_iter
    assert tight.objective_path[-1] < loose.objective_path[-1]


def test_points_have_the_gram_and_mean_of_u():
    B = some_labels()
    labels = LabelMoments.of(B)
    found = fitted(B, some_groups())
    U = (2 * B - 1) @ found.W
    np.testing.assert_allclose(found.point_gram(labels), U.T @ U, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.point_mean(labels), U.mean(axis=0), rtol=1e-9, atol=1e-12)


# Sparsity and dimensions


def test_larger_lambda_2_gives_more_zero_rows_in_groups():
    B, groups = some_labels(), some_groups()
    used = [
        (group_norms(fitted(B, groups, lambda_2=each, tol=1e-5, max_iter=300).V, groups) > 0).sum()
        for each in (0.01, 5.0, 50.0, 200.0)
    ]
    assert used[0] == 24  # 8 dimensions, 3 groups
    assert used == sorted(used, reverse=True)
    assert used[-1] < used[-2] < used[-3]


def test_dead_dimensions_are_dropped():
    B = some_labels()
    found = fitted(B, some_groups(), lambda_2=2000.0, n_components=15, max_iter=300)
    assert 0 < found.n_components < 15
    assert np.all(np.abs(found.V).max(axis=1) > 0)
    assert np.all(np.diagonal(found.point_gram(LabelMoments.of(B))) > 0)
    assert found.V.shape == found.W.T.shape == (found.n_components, 15)


def test_everything_dies():
    B, groups = some_labels(), some_groups()
    found = fitted(B, groups, lambda_2=1e9)
    assert found.V.shape == (0, 15)
    assert found.W.shape == (15, 0)
    assert found.converged
    assert found.objective_path[-1] == pytest.approx(B.size)


@pytest.mark.parametrize("n_components", [1, 5, 15, 99])
def test_dimensions_are_clipped(n_components):
    found = fitted(some_labels(), some_groups(), n_components=n_components, lambda_2=1e-3)
    assert found.n_components == min(n_components, 15)


def test_rank_is_not_exceeded():
    B = np.repeat(some_labels(n_labels=4), 3, axis=1)  # twelve labels, four distinct
    found = fitted(B, some_groups(12), n_components=12, lambda_2=1e-3)
    assert found.n_components == 4
    np.testing.assert_array_equal((2 * B - 1) @ found.W @ found.V > 0, B == 1)


def test_full_dimension_and_weak_penalties_reproduce_the_labels():
    B = some_labels()
    found = fitted(B, some_groups(), n_components=15, lambda_1=1e-6, lambda_2=1e-6)
    np.testing.assert_allclose((2 * B - 1) @ found.W @ found.V, 2 * B - 1, atol=1e-2)


@pytest.mark.parametrize(("lambda_1", "lambda_2"), [(0.0, 0.0), (1e-3, 0.0), (0.0, 1.0)])
def test_without_one_penalty_or_both(lambda_1, lambda_2):
    B = some_labels()
    found = fitted(B, some_groups(), lambda_1=lambda_1, lambda_2=lambda_2, max_iter=30)
    fit = np.square(2 * B - 1 - (2 * B - 1) @ found.W @ found.V).sum()
    # The best approximation of rank 8 leaves the smaller singular values.
    least = np.square(np.linalg.svd(2.0 * B - 1)[1][8:]).sum()
    assert fit == pytest.approx(least, rel=0.02)


def test_one_label_one_row_or_none():
    found = fitted(np.array([[1]]), Groups.of([0]))
    assert (found.W * found.V).item() > 0.5
    assert fitted(np.array([[1, 0, 1]]), Groups.of([0, 0, 1])).n_components == 1
    nothing = fitted(np.zeros((3, 0), int), Groups.of([]))
    assert nothing.V.shape == (0, 0)
    assert nothing.converged


def test_many_labels_are_embedded_like_few(monkeypatch):
    B, groups = some_labels(n=600, n_labels=300, n_topics=60), some_groups(300)
    exact = fitted(B, groups, n_components=40)
    monkeypatch.setattr("grople.moments._labels.DENSE_LABELS", 10)
    monkeypatch.setattr("grople.solver._embedding.DENSE_GRAM", 10)
    monkeypatch.setattr("grople.optim._spectra.DENSE_SIZE", 10)
    assert sp.issparse(LabelMoments.of(B).cooccurrence)
    found = fitted(B, groups, n_components=40)
    # Both stop within a thousandth of what a better V could save.
    assert found.objective_path[-1] == pytest.approx(exact.objective_path[-1], rel=1e-3)


# Dimensions of their own


def test_own_dimensions_serve_their_group_alone():
    B, groups = some_labels(), some_groups()
    found = fitted(B, groups, n_components=2, group_components=2, lambda_2=0.1)
    used = group_norms(found.V, groups) > 0
    assert found.n_components == 2 + 3 * 2
    assert used[:2].all()
    assert np.all(used[2:].sum(axis=1) == 1)
    assert used[2:].sum(axis=0).tolist() == [2, 2, 2]
    shared = fitted(B, groups, n_components=2, lambda_2=0.1)
    assert found.objective_path[-1] < shared.objective_path[-1]


def test_own_dimensions_beyond_what_the_group_holds():
    B, groups = some_labels(n_labels=6), Groups.of([0, 0, 0, 0, 0, 1])
    found = fitted(B, groups, n_components=6, group_components=9, lambda_2=0.1)
    assert found.n_components == 6  # the shared ones hold everything already
    found = fitted(B, groups, n_components=1, group_components=9, lambda_2=1e-4)
    assert found.n_components <= 7


# Feature-aware


def features(n=120, seed=5):
    rng = np.random.default_rng(seed)
    X = rng.integers(-64, 65, (n, 10)) / 32  # on the grid
    X[:, 9] = X[:, 8]  # no full rank
    return X + 3.0


@pytest.mark.parametrize("form", ["matrices", "rows"])
@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("gamma", [0.5, 50.0])
def test_predictable_gram_is_that_of_the_hat_matrix(form, centre, gamma):
    X, B = features(), some_labels()
    Y = 2.0 * B - 1
    Xc = X - X.mean(axis=0) if centre else X
    H = Xc @ np.linalg.solve(Xc.T @ Xc + gamma * np.eye(10), Xc.T)
    if centre:
        H = H + 1.0 / len(X)
    product = predictable_gram(summary_of(X, B, form=form).moments, gamma, centre=centre)
    # Kept rows are solved to a residual of 1e-6.
    close = {"rtol": 1e-9} if form == "matrices" else {"rtol": 1e-4, "atol": 1e-4}
    np.testing.assert_allclose(product(np.eye(15)), Y.T @ H @ Y, **close)


def test_predictable_gram_without_a_ridge():
    X, B = 1e6 * features(), some_labels()
    Y = 2.0 * B - 1
    design = np.column_stack([np.ones(len(X)), X])
    H = design @ np.linalg.pinv(design, rcond=1e-10)
    product = predictable_gram(summarise(X, B).moments, 0.0)
    np.testing.assert_allclose(product(np.eye(15)), Y.T @ H @ Y, rtol=1e-4, atol=1e-3)


def test_a_feature_weight_pulls_the_points_towards_the_features():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((300, 5))
    seen = (X @ rng.standard_normal((5, 4)) > 0).astype(int)
    B = np.hstack([seen, rng.random((300, 8)) < 0.5]).astype(int)
    groups = some_groups(12)
    moments = summarise(X, B).moments
    product = predictable_gram(moments, 1.0)
    design = np.column_stack([np.ones(300), X])
    H = design @ np.linalg.pinv(design)
    explained = []
    for weight in (0.0, 0.5, 1.0):
        found = embed_labels(moments.labels, groups, n_components=3, predictable=product,
                             feature_weight=weight)  # fmt: skip
        U = (2 * B - 1) @ found.W
        U = U / np.linalg.norm(U, axis=0)
        explained.append(np.trace(U.T @ H @ U) / U.shape[1])
    assert explained[0] < explained[1] < explained[2]


# How many dimensions


@pytest.mark.parametrize("share", [0.5, 0.9, 0.95, 1.0])
def test_automatic_components_hold_the_share(share):
    B = some_labels()
    centred = 2.0 * B - 1 - (2.0 * B - 1).mean(axis=0)
    held = np.cumsum(np.square(np.linalg.svd(centred)[1]))
    needed = np.argmax(held >= share * held[-1] * (1 - 1e-12)) + 1
    assert automatic_components(LabelMoments.of(B), share) == min(needed + 1, 15)


@pytest.mark.parametrize("n_labels", [15, 1100])
def test_auto_is_the_number_that_holds_the_spread(n_labels):
    B = some_labels(n=300, n_labels=n_labels)
    labels, groups = LabelMoments.of(B), some_groups(n_labels)
    centred = 2 * (B - B.mean(axis=0))
    held = np.cumsum(np.square(np.linalg.svd(centred)[1]))
    share = 0.9999 if n_labels <= 1000 else 0.98
    expected = min(int(np.searchsorted(held, share * held[-1])) + 2, 500, n_labels)
    assert automatic_components(labels) == expected
    automatic = embed_labels(labels, groups, n_components="auto")
    given = embed_labels(labels, groups, n_components=expected)
    np.testing.assert_allclose(automatic.objective_path, given.objective_path, rtol=1e-9)


def test_automatic_components_at_the_ends():
    assert automatic_components(LabelMoments.of(some_labels()), most=3) == 3
    assert automatic_components(LabelMoments.of(np.ones((5, 4), int))) in (1, 2)
    assert automatic_components(LabelMoments.of(np.zeros((5, 1), int))) == 1
    assert automatic_components(LabelMoments.of(np.zeros((5, 0), int))) == 0
