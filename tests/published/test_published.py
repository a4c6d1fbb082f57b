"""The published behaviour against literal transcriptions, and against the published tables."""

from __future__ import annotations

import csv
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks import reproduction
from grople import GroPLE
from grople.metrics import example_f1
from grople.published import (
    approximation_setting,
    cosine_distance,
    drop_dead,
    nudged_gram,
    published_data,
    published_embedding,
    published_groups,
    published_mapping,
    published_setting,
)
from grople.published._embedding import alternate, hyperplanes, random_start
from grople.published._groups import label_affinity, spectral_points
from tests.baselines.protocol import measured_folds, published_cell


def some_labels(seed: int = 0, n: int = 80, n_labels: int = 14) -> np.ndarray:
    """Correlated 0/1 labels, each with at least one positive."""
    rng = np.random.default_rng(seed)
    topics = rng.random((n, 3)) < 0.4
    B = (topics @ rng.random((3, n_labels)) + 0.4 * rng.standard_normal((n, n_labels)) > 1).astype(
        int
    )
    B[rng.integers(n, size=n_labels), np.arange(n_labels)] = 1
    return B


def some_groups(n_labels: int, n_groups: int = 3) -> np.ndarray:
    return np.arange(n_labels) * 5 % n_groups


def random_points(seed: int, n: int, d: int) -> np.ndarray:
    """The published start itself: uniform rows of unit length."""
    U = np.random.default_rng(seed).random((n, d))
    return U / np.linalg.norm(U, axis=1, keepdims=True)


# Stage 1


def test_affinity_is_that_of_the_label_columns():
    Y = 2.0 * some_labels() - 1
    D = squareform(pdist(Y.T))
    sigma = np.sort(D, axis=1)[:, 7]
    expected = np.exp(-D / np.maximum(np.sqrt(np.outer(sigma, sigma)), 0.004))
    B = (Y + 1) / 2
    np.testing.assert_allclose(label_affinity(B.sum(0), B.T @ B), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_groups_equal_a_direct_implementation(seed):
    B = some_labels(seed, n=200, n_labels=40)
    Y = 2.0 * B - 1
    D = squareform(pdist(Y.T))
    sigma = np.sort(D, axis=1)[:, 7]
    A = np.exp(-D / np.maximum(np.sqrt(np.outer(sigma, sigma)), 0.004))
    root = np.diag(A.sum(1) ** -0.5)
    points = np.linalg.svd(root @ A @ root)[0][:, :4]
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    # Angles between points do not depend on the signs of singular vectors.
    ours = spectral_points(label_affinity(B.sum(0), B.T @ B), 4)
    np.testing.assert_allclose(ours @ ours.T, points @ points.T, atol=1e-9)
    # A different seed and many starts: the best clustering, not the same path to it.
    expected = KMeans(4, n_init=50, random_state=99).fit_predict(points)
    found = published_groups(200, B.sum(0), B.T @ B, n_groups=4, random_state=seed)
    assert adjusted_rand_score(expected, found) == 1.0


@pytest.mark.parametrize(
    "B",
    [
        np.ones((5, 4), int),
        np.zeros((5, 4), int),
        np.eye(5, dtype=int),
        np.array([[1], [0]]),
        np.repeat(some_labels(n_labels=3), 4, axis=1),
    ],
    ids=["all alike", "never occur", "disjoint", "one label", "duplicates"],
)
def test_groups_of_odd_labels(B):
    groups = published_groups(len(B), B.sum(0), B.T @ B, n_groups=10, random_state=0)
    assert np.array_equal(np.unique(groups), np.arange(groups.max() + 1))
    same = pdist(B.T, "hamming") == 0
    i, j = np.triu_indices(B.shape[1], 1)
    assert np.all(groups[i[same]] == groups[j[same]]), "equal labels belong together"


# Stage 2


def literal_v_step(U: np.ndarray, Y: np.ndarray, lambda_2: float) -> np.ndarray:
    """One group's V step, transcribed with explicit U and Y and loops over rows."""
    G = U.T @ U
    V = np.linalg.solve(G + 0.01 * np.eye(len(G)), U.T @ Y)
    V_old = V.copy()
    lipschitz = np.sqrt(2) * np.linalg.norm(G, 2)
    b_old = b = 1.0
    loss_old = np.inf
    for _ in range(100):
        P = V + (b_old - 1) / b * (V - V_old)
        P = P - U.T @ (U @ P - Y) / lipschitz
        V_old, V = V, np.zeros_like(V)
        for i, row in enumerate(P):
            length = np.linalg.norm(row)
            if length > lambda_2 / lipschitz:
                V[i] = row * (1 - lambda_2 / lipschitz / length)
        b_old, b = b, (1 + np.sqrt(1 + 4 * b * b)) / 2
        loss = np.sum((Y - U @ V) ** 2) + lambda_2 * np.linalg.norm(V, axis=1).sum()
        if abs(loss_old - loss) <= 0.001:
            break
        loss_old = loss
    return V


@pytest.mark.parametrize("sizes", [[14], [2, 7, 1, 4], [1] * 14], ids=["one", "four", "each"])
@pytest.mark.parametrize(
    ("lambda_2", "lengths"),
    [(0.0, (1, 1)), (1.0, (1, 1)), (20.0, (1, 1)), (20.0, (30, 1))],
    ids=["plain", "usual", "sparse", "out of steps"],
)
def test_v_step_equals_the_literal_one_group_by_group(lambda_2, lengths, sizes):
    Y = 2.0 * some_labels() - 1
    U = random_points(1, len(Y), 9) * np.geomspace(*lengths, 9)
    sizes = np.array(sizes)
    V, penalty = hyperplanes(U.T @ U, U.T @ Y, sizes, lambda_2)
    norms = 0.0
    for columns in np.split(np.arange(14), np.cumsum(sizes)[:-1]):
        expected = literal_v_step(U, Y[:, columns], lambda_2)
        # 1e-10: the same arithmetic in another order, over at most 100 steps.
        np.testing.assert_allclose(V[:, columns], expected, rtol=1e-10, atol=1e-10)
        norms += np.linalg.norm(expected, axis=1).sum()
    assert penalty == pytest.approx(norms, rel=1e-10)


def test_groups_stop_on_their_own():
    """Each group is what it would be alone: the others neither hold it up nor drive it on."""
    Y = 2.0 * some_labels() - 1
    U = random_points(2, len(Y), 9)
    together, _ = hyperplanes(U.T @ U, U.T @ Y, np.array([10, 4]), 1.0)
    alone, _ = hyperplanes(U.T @ U, U.T @ Y[:, 10:], np.array([4]), 1.0)
    np.testing.assert_allclose(together[:, 10:], alone, rtol=1e-12, atol=1e-12)


def test_a_large_penalty_kills_everything_and_does_not_crash():
    B = some_labels()
    Y = 2.0 * B - 1
    fit = published_embedding(
        80, Y.T @ Y, some_groups(14), counts=B.sum(0), n_components=5, lambda_2=1e9, random_state=0
    )
    assert not fit.V.any()
    assert not fit.W.any()
    assert fit.objective_path[-1] == pytest.approx(80 * 14)
    V, W = drop_dead(fit.V, fit.W)
    assert V.shape == (0, 14)
    assert W.shape == (14, 0)


def test_random_start_has_the_moments_of_the_explicit_one():
    B = some_labels(n=60, n_labels=4)
    Y = 2.0 * B - 1
    n, d, draws = 60, 5, 400
    drawn = [random_start(n, Y.sum(0), Y.T @ Y, d, seed) for seed in range(draws)]
    points = [random_points(seed, n, d) for seed in range(draws)]

    def gap_and_error(ours, theirs):
        """Between the means of two samples, and its standard error."""
        return np.abs(ours.mean(0) - theirs.mean(0)), np.sqrt((ours.var(0) + theirs.var(0)) / draws)

    uty, expected = np.array([pair[1] for pair in drawn]), np.array([U.T @ Y for U in points])
    gap, error = gap_and_error(uty, expected)
    np.testing.assert_array_less(gap, 5 * error)
    # 400 draws know a standard deviation to 3.5 %; five times that, and both are drawn.
    np.testing.assert_allclose(uty.std(0), expected.std(0), rtol=0.25)

    utu, expected = np.array([pair[0] for pair in drawn]), np.array([U.T @ U for U in points])
    gap, error = gap_and_error(utu, expected)
    # The covariance of the rows is itself estimated, from 20,000 of them.
    np.testing.assert_array_less(gap, 5 * error + 1e-3 * n)
    traces = utu.trace(axis1=1, axis2=2)  # rows of unit length: n in the mean
    assert abs(traces.mean() - n) < 5 * traces.std() / np.sqrt(draws) + 1e-3 * n


def test_random_start_belongs_to_some_points():
    """[U Y]ᵀ[U Y] must be positive semidefinite, also with few rows and many dimensions."""
    B = some_labels(n=30, n_labels=14)
    Y = 2.0 * B - 1
    utu, uty = random_start(30, Y.sum(0), Y.T @ Y, 40, 0)
    joint = np.block([[utu, uty], [uty.T, Y.T @ Y]])
    values = np.linalg.eigvalsh(joint)
    assert values[0] > -1e-10 * values[-1]
    assert np.trace(utu) == pytest.approx(30, rel=0.2)


def test_objective_and_points_are_those_of_explicit_rows():
    B = some_labels()
    Y = 2.0 * B - 1
    groups = some_groups(14)
    fit = published_embedding(
        80, Y.T @ Y, groups, counts=B.sum(0), n_components=30, lambda_1=0.01, random_state=0
    )
    V, U = fit.V, Y @ fit.W
    np.testing.assert_allclose(
        U, Y @ V.T @ np.linalg.inv(V @ V.T + 0.01 * np.eye(30)), rtol=1e-9, atol=1e-9
    )
    objective = np.sum((Y - U @ V) ** 2) + 0.01 * np.sum(U**2)
    for group in range(3):
        objective += np.linalg.norm(V[:, groups == group], axis=1).sum()
    assert fit.objective_path[-1] == pytest.approx(objective, rel=1e-10)
    assert fit.n_iter == len(fit.objective_path)
    assert fit.objective_path[-1] < fit.objective_path[0]
    moves = np.abs(np.diff(fit.objective_path))
    assert np.all(moves[:-1] > 0.5)
    assert moves[-1] <= 0.5


def test_label_order_does_not_matter():
    B = some_labels()
    Y = 2.0 * B - 1
    U = random_points(0, 80, 6)
    groups, mixed = some_groups(14), np.random.default_rng(0).permutation(14)
    one = alternate(U.T @ U, U.T @ Y, 80, Y.T @ Y, groups, 1e-3, 1.0, 20)
    M = Y[:, mixed]
    # Groups must be numbered 0, 1, … in no particular order.
    other = alternate(U.T @ U, U.T @ M, 80, M.T @ M, groups[mixed], 1e-3, 1.0, 20)
    np.testing.assert_allclose(other.V, one.V[:, mixed], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(other.W, one.W[mixed], rtol=1e-8, atol=1e-10)


def test_more_dimensions_than_labels_leave_dead_ones_to_drop():
    B = some_labels(n_labels=4)
    Y = 2.0 * B - 1
    fit = published_embedding(
        80, Y.T @ Y, [0, 0, 1, 1], counts=B.sum(0), n_components=60, random_state=0
    )
    V, W = drop_dead(fit.V, fit.W)
    assert len(V) < 60
    assert np.all(np.linalg.norm(V, axis=1) > 0)
    np.testing.assert_allclose(Y @ W @ V, Y @ fit.W @ fit.V, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="drop_dead"):
        cosine_distance(fit.W.T @ (Y.T @ Y) @ fit.W)
    cosine_distance(W.T @ (Y.T @ Y) @ W)


# Stage 3


def literal_mapping(
    X: np.ndarray, U: np.ndarray, alpha: float, beta: float
) -> tuple[np.ndarray, list[float]]:
    """Stage 3, transcribed with explicit X and U, ε added before the cosines."""
    R = squareform(pdist(U.T + np.finfo(float).eps, "cosine"))
    Z = np.linalg.solve(X.T @ X + 0.01 * np.eye(X.shape[1]), X.T @ U)
    Z_old = Z.copy()
    lipschitz = np.sqrt(2 * (np.linalg.norm(X.T @ X, 2) ** 2 + np.linalg.norm(alpha * R, 2) ** 2))
    b_old = b = 1.0
    losses: list[float] = []
    for _ in range(500):
        P = Z + (b_old - 1) / b * (Z - Z_old)
        G = P - (X.T @ (X @ P - U) + alpha * P @ R) / lipschitz
        Z_old = Z
        Z = np.maximum(G - beta / lipschitz, 0) + np.minimum(G + beta / lipschitz, 0)
        b_old, b = b, (1 + np.sqrt(1 + 4 * b * b)) / 2
        losses.append(
            np.sum((X @ Z - U) ** 2) + alpha * np.trace(R @ Z.T @ Z) + beta * np.sum(Z != 0)
        )
        moved = losses[-1] - (losses[-2] if len(losses) > 1 else 0.0)
        if abs(moved) <= 1e-4 or losses[-1] <= 0:
            break
    return Z, losses


@pytest.mark.parametrize("dead", [0, 3])
@pytest.mark.parametrize(
    ("n", "alpha", "beta"),
    [(60, 0.0, 0.5), (60, 0.3, 1.0), (60, 0.3, 0.0), (60, 50.0, 0.1), (12, 2.0, 0.01)],
)
def test_mapping_equals_the_literal_one(n, alpha, beta, dead):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 20))
    U = X @ rng.standard_normal((20, 5)) + rng.standard_normal((n, 5))
    U = np.hstack([U, np.zeros((n, dead))])
    utu = nudged_gram(n, U.sum(0), U.T @ U)
    fit = published_mapping(X.T @ X, X.T @ U, utu, alpha, beta)
    Z, losses = literal_mapping(X, U, alpha, beta)
    assert fit.n_iter == len(losses)
    # 1e-10 of the largest: the same arithmetic in another order.
    np.testing.assert_allclose(fit.loss_path, losses, rtol=0, atol=1e-10 * np.sum(U**2))
    np.testing.assert_allclose(fit.Z, Z, rtol=0, atol=1e-10 * np.abs(Z).max())


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("n", [10, 200])
def test_unbounded_has_a_witness(n, alpha):
    """Along v wᵀ (the lowest eigenvectors) the objective falls without end, or nothing does."""
    rng = np.random.default_rng(0)
    X, U = rng.standard_normal((n, 20)), rng.standard_normal((n, 5))
    R = squareform(pdist(U.T, "cosine"))
    fit = published_mapping(X.T @ X, X.T @ U, U.T @ U, alpha, beta=1.0, max_iter=1)
    v = np.linalg.eigh(X.T @ X)[1][:, 0]
    w = np.linalg.eigh(R)[1][:, 0]

    def objective(t: float) -> float:
        Z = t * np.outer(v, w)
        return float(np.sum((X @ Z - U) ** 2) + alpha * np.trace(R @ Z.T @ Z) + np.abs(Z).sum())

    assert fit.unbounded == (objective(1e7) < objective(0.0))
    hessian = np.kron(X.T @ X, np.eye(5)) + alpha * np.kron(np.eye(20), R)
    assert fit.unbounded == (np.linalg.eigvalsh(hessian)[0] < -1e-9)


def test_mapping_stops_on_a_negative_loss():
    rng = np.random.default_rng(0)
    X, U = rng.standard_normal((10, 30)), rng.standard_normal((10, 5))
    fit = published_mapping(X.T @ X, X.T @ U, U.T @ U, alpha=100.0, beta=1e-4)
    assert fit.unbounded
    assert fit.loss_path[-1] <= 0
    assert np.all(fit.loss_path[:-1] > 0)


def test_a_dimension_without_a_cosine_is_named():
    X, U = np.eye(3), np.eye(3)
    U[:, 1] = 0
    with pytest.raises(ValueError, match=r"1 of 3 dimensions are zero \(first: 1\)"):
        published_mapping(X, X.T @ U, U.T @ U, 1.0, 0.0)


# The three stages as one model


@pytest.mark.parametrize("wide", [False, True])
def test_a_model_is_the_three_stages_on_arrays(wide):
    B = some_labels()
    B[:, 3] = 0  # a label that no row has is left out
    X = np.random.default_rng(5).integers(-8, 9, (80, 12)) / 8.0
    Y, active = 2.0 * B - 1, np.flatnonzero(B.sum(0))
    A = Y[:, active]
    groups = published_groups(80, B[:, active].sum(0), B[:, active].T @ B[:, active], 4, 0)
    embedding = published_embedding(
        80, A.T @ A, groups, counts=B[:, active].sum(0), n_components=6, random_state=0
    )
    U = A @ embedding.W
    mapping = published_mapping(
        X.T @ X, X.T @ U, nudged_gram(80, U.sum(0), U.T @ U), alpha=0.1, beta=0.01
    )
    held = sp.hstack([sp.csr_array(X), sp.csr_array((80, 1500))], format="csr") if wide else X
    model = GroPLE.published("medical", n_components=6, n_groups=4, alpha=0.1, beta=0.01)
    model.fit(held, B)
    assert model.summary_.grid.keeps_rows == wide
    np.testing.assert_allclose(
        model.decision_function(held)[:, active], X @ mapping.Z @ embedding.V, atol=1e-8
    )
    np.testing.assert_array_equal(model.decision_function(held)[:, 3], -1.0)
    assert model.label_groups_[3] == -1
    assert adjusted_rand_score(model.label_groups_[active], groups) == 1.0
    np.testing.assert_array_equal(model.predict(held), model.decision_function(held) > 0)


def test_the_published_scheme_takes_decisions_too():
    rng = np.random.default_rng(6)
    X = rng.integers(-8, 9, (300, 12)) / 8.0
    B = (X @ rng.standard_normal((12, 8)) > 1).astype(int)
    model = GroPLE.published("medical", n_components=8, decision="example_f1").fit(X, B)
    by_sign = GroPLE.published("medical", n_components=8).fit(X, B)
    np.testing.assert_array_equal(model.decision_function(X), by_sign.decision_function(X))
    assert example_f1(B, model.predict(X)) > example_f1(B, by_sign.predict(X))


def test_settings_of_the_paper():
    model = GroPLE.published("genbase-authors")
    assert (model.alpha, model.beta) == (0.1, 1e-4)
    assert (model.n_components, model.n_groups, model.solver.fit_intercept) == (100, 10, False)
    assert GroPLE.published("CAL500").beta == 1e4
    with pytest.raises(ValueError, match="no published setting for 'iris'"):
        GroPLE.published("iris")


def test_it_warns_where_the_objective_is_unbounded():
    rng = np.random.default_rng(7)
    X, B = rng.standard_normal((10, 30)), rng.integers(0, 2, (10, 6))
    with pytest.warns(UserWarning, match="unbounded below"):
        GroPLE.published("medical", alpha=10.0).fit(X, B)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X, B = rng.standard_normal((90, 5)), rng.integers(0, 2, (90, 6))
        GroPLE.published("medical", alpha=1e-3).fit(X, B)


# Settings


def test_settings_are_found_by_name():
    assert published_setting("GroPLE", "MEDICAL") == {"alpha": 1e-4, "beta": 1.0}
    assert published_setting("CPLST", "cal500-1") == {"n_components": 0.2, "ridge": 1e-3}
    assert approximation_setting("CPLST", "cal500-1") == {"ridge": 0.1}
    assert approximation_setting("CPLST", "medical") == {}
    with pytest.raises(ValueError, match=r"PLST has no published setting for 'iris'; .* medical"):
        published_setting("PLST", "iris")
    with pytest.raises(ValueError, match="'Ridge' has no published settings; GroPLE, PLST"):
        published_setting("Ridge", "medical")


def test_a_setting_is_the_callers_own():
    published_setting("PLST", "medical").clear()
    assert published_setting("PLST", "medical") == {"n_components": 0.7, "ridge": 1.0}


# The real data sets


@pytest.mark.data
def test_settings_cover_the_paper_and_lie_in_its_grid(paper_tables):
    with open(paper_tables / "datasets.csv", newline="", encoding="utf-8") as file:
        assert set(published_data("GroPLE")) == {row["dataset"] for row in csv.DictReader(file)}
    grid = [10.0**k for k in range(-4, 5)]
    for name in published_data("GroPLE"):
        setting = published_setting("GroPLE", name)
        assert set(setting) == {"alpha", "beta"}
        assert all(np.isclose(value, grid).any() for value in setting.values())


@pytest.mark.data
def test_drawn_start_leads_where_an_explicit_one_does(shared_data):
    """The start from moments alone, and a real N×d start, reach the same objective."""
    _, B, folds = reproduction.load("rcv1subset1", shared_data)
    Y = 2.0 * B[folds != 0].toarray() - 1
    counts, gram = (Y > 0).sum(0), Y.T @ Y
    groups = published_groups(len(Y), counts, ((Y + 1) / 2).T @ ((Y + 1) / 2), random_state=0)
    drawn, explicit = [], []
    for seed in range(3):
        fit = published_embedding(len(Y), gram, groups, counts=counts, random_state=seed)
        drawn.append(fit.objective_path[-1])
        U = random_points(seed, len(Y), 100)
        other = alternate(U.T @ U, U.T @ Y, len(Y), gram, groups, 1e-3, 1.0, 500)
        explicit.append(other.objective_path[-1])
    # Seeds differ by about 1 % among themselves.
    assert np.mean(drawn) == pytest.approx(np.mean(explicit), rel=0.01)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        ("genbase-authors", 0.010),
        *(
            pytest.param(name, tolerance, marks=pytest.mark.slow)
            for name, tolerance in {
                "medical": None,  # one published standard deviation
                "CAL500": 0.010,
                "corel5k": 0.010,
                "rcv1subset1": 0.010,
                "rcv1subset2": 0.010,
                "rcv1subset3": 0.010,
                "corel16k001": 0.010,
                "bibtex": 0.015,  # on other folds than the authors'
                "delicious": 0.015,
            }.items()
        ),
    ],
)
def test_published_tables_are_reproduced(name, tolerance, shared_data, paper_tables):
    """Compare the medians over three seeds of the means over folds with the printed cells.

    The published objective is unbounded below: on one seed in several the last bit, which
    processors round differently, decides a rare label otherwise and moves macro-F1 by .02.
    """
    result = reproduction.reproduce(name, *reproduction.load(name, shared_data), (0, 1, 2))
    report = reproduction.report([result], paper_tables)
    key = reproduction.paper_name(name)
    mean, std = reproduction.published_cells(paper_tables, "comparison")[key]
    off = np.abs(np.median(result.comparison.mean(axis=1), axis=0) - mean)
    assert np.all(off <= (std if tolerance is None else tolerance)), report
    mean, _ = reproduction.published_cells(paper_tables, "approximation")[key]
    assert np.all(np.abs(result.mean("approximation") - mean) <= 0.010), report


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["genbase-authors", "medical", "CAL500", "corel5k", "rcv1subset1", "rcv1subset2",
     "rcv1subset3", "corel16k001"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:The published correlation term")
def test_the_estimator_reproduces_the_published_comparison(name, shared_data, paper_tables):
    seeds = [
        measured_folds(shared_data, name, GroPLE.published(name, random_state=seed))
        for seed in range(3)
    ]
    means, spreads = published_cell(paper_tables, name, "GroPLE")
    # Medians over seeds, as above. Medical: one published deviation.
    tolerance = spreads if name == "medical" else 0.010
    assert np.all(np.abs(np.median(seeds, axis=0) - means) <= tolerance)
