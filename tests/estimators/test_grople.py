"""GroPLE itself: attributes, options, edge cases, decisions, quality."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier

from grople import GroPLE, Solver, summarise
from grople.datasets import load, make_grouped_multilabel
from grople.decision import Rule
from grople.metrics import accuracy, example_f1, macro_f1, micro_f1


@pytest.fixture(scope="module")
def split():
    mini = load("debtags-mini")
    some = np.arange(2000)
    train = some % 4 > 0
    X, Y = mini.X[some], mini.Y[some]
    return X[train], Y[train], X[~train], Y[~train]


@pytest.fixture(scope="module")
def fitted(split):
    return GroPLE().fit(*split[:2])


@pytest.fixture(scope="module")
def small():
    return make_grouped_multilabel(120, 20, 6, n_groups=2, random_state=0)


def test_scores_are_the_product_of_its_parts(split):
    fitted, X = GroPLE(experts=["linear"]).fit(*split[:2]), split[2]
    points = fitted.transform(X)
    np.testing.assert_allclose(points @ fitted.components_, fitted.decision_function(X), atol=1e-12)
    linear = X @ fitted.coef_.T + fitted.intercept_
    # The map of many sparse features is found, and stays, in single precision.
    np.testing.assert_allclose(linear, fitted.decision_function(X), atol=1e-5)
    assert fitted.mapping_.shape == (X.shape[1], points.shape[1])
    names = fitted.get_feature_names_out()
    assert (len(names), names[0]) == (points.shape[1], "grople0")
    assert np.all(np.diff(fitted.objective_path_) <= 1e-9 * fitted.objective_path_[0])
    assert fitted.n_iter_ >= 1
    assert fitted.gamma_ > 0
    outline = fitted.fitted_model_.outline
    assert outline.n_rows == X.shape[0] * 3
    np.testing.assert_array_equal(outline.labels.counts, split[1].sum(axis=0))


def test_planted_groups_are_found():
    data, planted = make_grouped_multilabel(
        4000, 60, 24, n_groups=4, random_state=3, return_groups=True
    )
    found = GroPLE(n_groups=4, decision="sign").fit(data.X, data.Y).label_groups_
    together = planted[:, None] == planted[None, :]
    assert (found[:, None] == found[None, :])[together].mean() > 0.8  # chance is about a quarter


def test_without_its_own_terms_it_is_a_ridge_regression_on_signs(small):
    X, Y = small.X.toarray(), small.Y.toarray()
    terms = {"alpha": 0.0, "gamma": 2.0, "lambda_1": 1e-9, "lambda_2": 1e-9}
    model = GroPLE(**terms, experts=["linear"], decision="sign")
    expected = RidgeClassifier(alpha=2.0).fit(X, Y)
    np.testing.assert_allclose(
        model.fit(X, Y).decision_function(X), expected.decision_function(X), atol=1e-4
    )
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


# Decisions


@pytest.mark.parametrize("measure", [accuracy, example_f1, macro_f1, micro_f1])
def test_a_decision_serves_its_measure_better_than_the_sign(split, fitted, measure):
    X, Y = split[2:]
    tuned = measure(Y, fitted.set_params(decision=measure.__name__).predict(X))
    plain = measure(Y, fitted.set_params(decision="sign").predict(X))
    fitted.set_params(decision="example_f1")
    assert tuned > plain + 0.03


def test_a_decision_is_changed_on_a_fitted_model(split):
    X, Y, X_new, _ = split
    X, Y = X[:250], Y[:250, :40]
    linear = {"experts": ["linear"]}
    changed = GroPLE(decision="sign", **linear).fit(X, Y)
    scores = changed.decision_function(X_new)
    by_moments = changed.predict_proba(X_new)
    for decision in ("example_f1", "macro_f1", Rule("top_k", k=3), 0.25, "sign"):
        changed.set_params(decision=decision)
        fresh = GroPLE(decision=decision, **linear).fit(X, Y)
        assert (changed.predict(X_new) != fresh.predict(X_new)).nnz == 0
        np.testing.assert_array_equal(changed.decision_function(X_new), scores)
    np.testing.assert_array_equal(
        GroPLE(**linear).fit(X, Y).predict_proba(X_new), changed.predict_proba(X_new)
    )
    # What was fitted on held-out rows stays; what was not came from the moments.
    assert not np.array_equal(by_moments, changed.predict_proba(X_new))
    at = changed.set_params(decision=0.25).predict(X_new)
    np.testing.assert_array_equal(at.toarray(), scores > 0.25)
    with pytest.raises(ValueError, match="decision must be"):
        changed.set_params(decision="best").predict(X_new)


def test_experts_do_not_depend_on_the_decision(split):
    X, Y, X_new, _ = split
    changed = GroPLE(decision="sign").fit(X[:250], Y[:250, :40])
    scores = changed.decision_function(X_new)
    for decision in ("macro_f1", "sign"):
        changed.set_params(decision=decision)
        fresh = GroPLE(decision=decision).fit(X[:250], Y[:250, :40])
        assert (changed.predict(X_new) != fresh.predict(X_new)).nnz == 0
        np.testing.assert_array_equal(changed.decision_function(X_new), scores)
        np.testing.assert_array_equal(fresh.decision_function(X_new), scores)


def test_it_beats_the_best_constant_prediction_by_far(split, fitted):
    X, Y = split[2:]
    order = np.argsort(-split[1].sum(axis=0))
    constant = []
    for k in range(1, 8):
        guess = np.zeros(Y.shape, dtype=int)
        guess[:, order[:k]] = 1
        constant.append(example_f1(Y, guess))
    assert example_f1(Y, fitted.predict(X)) > 1.5 * max(constant)


def test_decisions_without_rows_come_from_the_moments(split):
    X, Y, X_new, Y_new = split
    X, X_new = X[:, :300].toarray(), X_new[:, :300].toarray()
    rows = GroPLE(experts=["linear"]).fit(X, Y)
    model = GroPLE(max_kept_rows=0).fit(X, Y)
    assert not len(model.summary_.sample)
    np.testing.assert_array_equal(model.decision_function(X_new), rows.decision_function(X_new))
    by_sign = model.set_params(decision="sign").predict(X_new)
    tuned = model.set_params(decision="example_f1").predict(X_new)
    assert example_f1(Y_new, tuned) > 1.2 * example_f1(Y_new, by_sign)


# Options


@pytest.mark.parametrize(
    "parameters",
    [
        {"grouping": "kmeans"},
        {"grouping": "hierarchical"},
        {"grouping": "single"},
        {"grouping": "singletons"},
        {"grouping": [0, 0, 0, 1, 1, 1, 2, 2]},
        {"grouping": [[0, 1], [2, 3, 4, 5], [6, 7]]},
        {"n_groups": "auto", "n_components": "auto"},
        {"solver": Solver(feature_weight=0.5)},
        {"solver": Solver(group_components=2)},
        {"solver": Solver(correlation="psd"), "alpha": 1.0},
        {"solver": Solver(correlation=None)},
        {"solver": Solver(tol=1e-8), "beta": 0.5},
        {"solver": Solver(fit_intercept=False)},
    ],
    ids=str,
)
def test_every_option_learns_the_same_from_matrices_and_rows(parameters):
    data = make_grouped_multilabel(300, 25, 8, n_groups=3, random_state=5)
    X = sp.csr_array(np.rint(64 * data.X.toarray()) / 64)
    wide = sp.hstack([X, sp.csr_array((300, 1200))], format="csr")
    settings = {"gamma": 1.0, "experts": ["linear"]} | parameters
    model = GroPLE(**settings).fit(wide, data.Y)
    reference = GroPLE(**settings).fit(X, data.Y)
    assert model.summary_.grid.keeps_rows
    assert not reference.summary_.grid.keeps_rows
    np.testing.assert_allclose(
        model.decision_function(wide), reference.decision_function(X),
        atol=1e-3 if "beta" in parameters else 1e-5,
    )  # fmt: skip
    assert example_f1(data.Y, model.predict(wide)) > 0.5


def test_more_components_and_groups_than_labels_are_clipped(small):
    many = GroPLE(n_components=50, n_groups=50).fit(small.X, small.Y)
    own = GroPLE(n_components=6, n_groups=6).fit(small.X, small.Y)
    assert many.components_.shape[0] <= 6
    assert sorted(set(many.label_groups_)) == list(range(6))
    np.testing.assert_array_equal(many.predict_proba(small.X), own.predict_proba(small.X))


def test_a_partition_of_ones_own_is_of_all_labels(small):
    Y = small.Y.toarray()
    Y[:, [1, 3]] = 0
    Y[7, 3] = 1  # one positive: the fold that holds it out never sees the label
    model = GroPLE(grouping=[0, 0, 0, 1, 1, 1]).fit(small.X, Y)
    assert model.label_groups_.tolist() == [0, -1, 0, 1, 1, 1]


def test_ordinary_data_converge_without_a_warning(small):
    texts = load("debtags-mini")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GroPLE(decision="sign").fit(texts.X[:1500], texts.Y[:1500])
        GroPLE(decision="sign").fit(small.X, small.Y)
        GroPLE(decision="sign", beta=0.1).fit(small.X, small.Y)


def test_what_did_not_converge_is_named(small):
    X = small.X.toarray() * np.logspace(0, 4, 20)
    with pytest.warns(ConvergenceWarning, match="the embedding stopped after 1 iterations"):
        GroPLE(solver=Solver(max_iter=1, tol=1e-12), decision="sign").fit(X, small.Y)
    with pytest.warns(ConvergenceWarning, match=r"the mapping stopped .* relative gap"):
        GroPLE(beta=1.0, gamma=1e-3, solver=Solver(max_iter=1, tol=1e-10), decision="sign").fit(
            X, small.Y
        )
    with pytest.warns(UserWarning, match="lower lambda_2"):
        GroPLE(lambda_2=1e9, decision="sign").fit(X, small.Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GroPLE().fit(small.X, small.Y)


def test_a_fit_tells_its_progress(small):
    steps = []
    GroPLE().fit(small.X, small.Y, progress=lambda *step: steps.append(step))
    names = ["groups", "embedding", "mapping", "kernel", "forest", "decision", "solved"]
    assert [name for name, *_ in steps] == names
    assert [done for _, done, _ in steps] == [0, 1, 2, 3, 4, 5, 6]
    assert {total for *_, total in steps} == {6}
    few = []
    GroPLE().fit(small.X[:60], small.Y[:60], progress=lambda *step: few.append(step))
    assert few[-1] == ("solved", 4, 4)


# Rows and labels of every kind


def odd_cases():
    rng = np.random.default_rng(0)

    def rows(n, D, L):
        X = rng.standard_normal((n, D))
        noise = 0.5 * rng.standard_normal((n, L))
        return X, (X @ rng.standard_normal((D, L)) + noise > 0).astype(int)

    X, B = rows(60, 5, 4)
    some = B.copy()
    some[:30], some[:, 1], some[:, 2] = 0, 0, 1
    return {
        "one label": rows(60, 5, 1),
        "constant labels, rows without": (X, some),
        "no label varies": (X, np.tile([1, 0, 1], (60, 1))),
        "one row": (X[:1], B[:1]),
        "two equal rows": (X[[0, 0]], B[[0, 0]]),
        "two rows that contradict": (X[[0, 0]], np.array([[1, 0], [0, 1]])),
        "rows all alike": (np.tile(X[:1], (50, 1)), B[:50]),
        "two rows": rows(2, 3, 2),
        "five rows": rows(5, 3, 2),
        "more features than rows": rows(20, 200, 4),
        "more labels than rows": rows(15, 8, 60),
        "zeros": (np.zeros((40, 3)), B[:40]),
        "constants": (np.full((60, 4), 7.0), B),
        "huge": (1e140 * X, B),
        "tiny": (1e-140 * X, B),
        "far from zero": (1e9 + X, B),
        "copies of a label": (X, np.repeat(B[:, [0]], 6, axis=1)),
        "one-hot": (np.eye(30), np.eye(30, dtype=int)),
    }


def wide(X):
    return sp.hstack([sp.csr_array(X), sp.csr_array((len(X), 1500 - X.shape[1]))], format="csr")


@pytest.mark.parametrize(
    ("container", "case"),
    [
        (container, case)
        for container in (np.asarray, sp.csr_array, wide)
        for case in odd_cases()
        if (container, case) != (wide, "huge")
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_odd_rows_and_labels(case, container):
    X, B = odd_cases()[case]
    X = container(X)
    weights = np.random.default_rng(1).choice([1.0, 0.5, 3.0], len(B))
    for parameters, w in (({}, None), ({}, weights), ({"margin": 0.3, "beta": 0.1}, None)):
        model = GroPLE(**parameters).fit(X, B, w)
        scores, chances = model.decision_function(X), model.predict_proba(X)
        assert np.isfinite(scores).all()
        assert ((chances >= 0) & (chances <= 1)).all()
        assert model.predict(X).shape == B.shape
        constant = (B[0] == B).all(axis=0)
        assert (model.label_groups_[constant] == -1).all()
        expected = np.broadcast_to(2.0 * B[0, constant] - 1, (len(B), constant.sum()))
        np.testing.assert_array_equal(scores[:, constant], expected)
        for left in (max(1, len(B) // 2), 1):  # down to one row
            if left < model.summary_.n_rows:
                gone = slice(left, model.summary_.n_rows)
                model.forget(X[gone], B[gone], None if w is None else w[gone])
            fresh = GroPLE(**parameters)
            fresh.fit(X[:left], B[:left], None if w is None else w[:left], like=model)
            np.testing.assert_array_equal(model.predict_proba(X), fresh.predict_proba(X))


@pytest.mark.parametrize(
    "container",
    [
        np.asfortranarray, sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array,
        lambda X: X.astype(np.float32), lambda X: X.astype(np.int16),
        lambda X: sp.csr_array(X.astype(np.int64)), lambda X: X.tolist(), pd.DataFrame,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    ],
    ids=[str(i) for i in range(11)],
)  # fmt: skip
def test_rows_of_every_kind_make_the_same_model(container):
    rng = np.random.default_rng(2)
    X = rng.integers(-3, 4, (200, 8)).astype(float)
    B = (X @ rng.standard_normal((8, 5)) > 1).astype(int)
    expected = GroPLE(margin=0.2).fit(X, B)
    model = GroPLE(margin=0.2).fit(container(X), B)
    sparse = sp.issparse(container(X))
    for held in (container(X), X):
        found, wanted = model.decision_function(held), expected.decision_function(X)
        if sparse:  # products of sparse rows round otherwise
            np.testing.assert_allclose(found, wanted, atol=1e-10)
        else:
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(model.predict_proba(held), expected.predict_proba(X))
    assert model.summary_.moments.gram_diagonal().tolist() == (
        expected.summary_.moments.gram_diagonal().tolist()
    )


def test_zeros_and_ones_may_be_truth_values():
    rng = np.random.default_rng(3)
    X = rng.random((80, 10)) < 0.3
    B = X[:, :4] ^ (rng.random((80, 4)) < 0.1)
    expected = GroPLE().fit(X.astype(float), B.astype(int))
    for held in (X, sp.csr_array(X)):
        model = GroPLE().fit(held, B)
        assert model.predict(held).dtype == np.int64
        np.testing.assert_allclose(
            model.predict_proba(held), expected.predict_proba(X.astype(float)), atol=1e-9
        )


def test_frames_keep_their_names(small):
    names = [f"tag {i}" for i in range(6)]
    rows = pd.Index(np.arange(120) + 1000)
    X = pd.DataFrame(small.X.toarray(), index=rows, columns=[f"f{i}" for i in range(20)])
    Y = pd.DataFrame(small.Y.toarray(), columns=names, index=rows)
    model = GroPLE().fit(X, Y)
    found = model.predict(X[:50])
    assert list(found.columns) == names == list(model.label_names_in_)
    assert found.index.equals(rows[:50])
    assert list(model.feature_names_in_) == list(X.columns)
    assert 0 <= model.score(X, Y) <= 1
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"f0": "other"}))


@pytest.mark.parametrize("classes", [["no", "yes"], ["a", "b", "c"], [7]])
def test_one_dimensional_targets(classes, small):
    y = np.array(classes)[np.asarray(small.Y[:, :2].sum(axis=1)).astype(int) % len(classes)]
    model = GroPLE().fit(small.X, y)
    scores, chances = model.decision_function(small.X), model.predict_proba(small.X)
    assert model.classes_.tolist() == classes
    assert chances.shape == (120, len(classes))
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    predicted = model.predict(small.X)
    np.testing.assert_array_equal(predicted, model.classes_[chances.argmax(axis=1)])
    assert model.score(small.X, y) > (0.6 if len(classes) > 1 else 0.99)
    assert scores.shape == ((120,) if len(classes) < 3 else (120, 3))


def test_values_that_no_model_can_hold(small):
    X, Y = small.X.toarray(), small.Y
    with pytest.raises(ValueError, match="feature 0 has values too large to be squared"):
        GroPLE().fit(1e300 + X, Y)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            GroPLE().fit(np.where(X.max() == X, bad, X), Y)
    with pytest.raises(ValueError, match="feature 2 has values too large for rows of so many"):
        GroPLE().fit(wide(np.where(np.arange(20) == 2, 1e16, X)), Y)
    with pytest.raises(ValueError, match="no label to learn"):
        GroPLE().fit(X, Y[:, :0])
    with pytest.raises(ValueError, match="requires y to be passed"):
        GroPLE().fit(X)
    for weights in (np.full(120, -1.0), np.full(120, np.nan), np.zeros(120), np.ones(121)):
        with pytest.raises(ValueError, match="sample_weight"):
            GroPLE().fit(X, Y, weights)


def test_a_row_beyond_single_precision_leaves_the_others_alone(split, fitted):
    X = split[2][:5].toarray()
    chances = fitted.predict_proba(X)
    X[0, :3] = 1e40
    far = fitted.predict_proba(X)
    assert np.isfinite(far).all()
    np.testing.assert_array_equal(far[1:], chances[1:])


def test_a_small_spread_beside_a_large_mean_counts():
    rng = np.random.default_rng(1)
    X = rng.random((600, 8))
    Y = ((X - 0.5) @ rng.normal(size=(8, 6)) > 0.2).astype(int)
    X[:, :4] += 1e6
    plain, far = (
        example_f1(Y[300:], GroPLE().fit(Z[:300], Y[:300]).predict(Z[300:]))
        for Z in (X - X.mean(axis=0), X)
    )
    assert far > plain - 0.01


def test_a_summary_is_all_a_model_needs(small):
    whole = GroPLE().fit(small.X, small.Y)
    parts = summarise(small.X[:50], small.Y[:50], grid=whole.summary_.grid)
    parts = parts + summarise(small.X[50:], small.Y[50:], grid=parts.grid)
    model = GroPLE().fit_summary(parts, label_names=[f"t{i}" for i in range(6)])
    np.testing.assert_array_equal(model.predict_proba(small.X), whole.predict_proba(small.X))
    assert model.label_names_in_.tolist()[0] == "t0"
    np.testing.assert_array_equal(
        model.predict(small.X).to_numpy() if hasattr(model.predict(small.X), "columns")
        else model.predict(small.X), whole.predict(small.X).toarray(),
    )  # fmt: skip
    with pytest.raises(ValueError, match="of no rows at all"):
        GroPLE().fit_summary(parts - parts)
    with pytest.raises(ValueError, match="5 label names for 6 labels"):
        GroPLE().fit_summary(parts, label_names=list("abcde"))
