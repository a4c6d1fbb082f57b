"""Each path is its method: the same scores as a single fit, whatever else is wanted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from grople.baselines import BSVM, CPLST, LEML, LLSF, MLSF, PLST, FaIE
from grople.metrics import accuracy, example_f1, macro_f1, micro_f1
from grople.moments import row_keys
from grople.published import nudged_gram, published_mapping
from grople.study.methods import EVERY, METHODS, find_method, product
from grople.study.paths import stages_one_and_two
from grople.study.splits import data, measures, split
from grople.study.tasks import compute
from grople.study.units import Batch, canonical

SIGN = {"decision": "sign"}
PENALISED = SIGN | {"fit_intercept": "penalised"}
SINGLE = {
    "PLST": lambda s: PLST(**s, **PENALISED),
    "CPLST": lambda s: CPLST(**s, **PENALISED),
    "FaIE": lambda s: FaIE(**s, **PENALISED),
    "LEML": lambda s: LEML(**s, **PENALISED, init="published", random_state=0),
    "LLSF": lambda s: LLSF(**s, **SIGN, correlation="published", fit_intercept=False),
    "BSVM": lambda s: BSVM(**s, **SIGN),
    "MLSF": lambda s: MLSF(
        **s, **SIGN, C=1.0, fit_intercept=False, correlation=None, max_iter=10_000, random_state=0
    ),
}
SMALL = {
    "GroPLE": product(
        n_components=[6], n_groups=[2, 3], lambda_1=[1e-3], lambda_2=[1.0], alpha=[0.1, 10.0],
        beta=[1e-3],
    ),
    "PLST": product(n_components=[0.3, 0.8], ridge=[0.1, 10.0]),
    "CPLST": product(n_components=[0.3, 0.8], ridge=[0.1, 10.0]),
    "FaIE": product(n_components=[0.3, 0.8], ridge=[0.1], alpha=[1.0, 10.0]),
    "LEML": product(n_components=[0.3, 0.8], ridge=[0.1, 10.0]),
    "LLSF": product(alpha=[1e-3, 1.0], beta=[1e-3, 0.1], gamma=[0.1]),
    "BSVM": [{"C": 1.0, "solver": "libsvm"}],
    "MLSF": product(gamma=[0.1, 0.01], alpha=[0.0], meta_label_size=[4], solver=["liblinear"]),
}  # fmt: skip


def scores_of(name, fold, settings, wanted):
    path = METHODS[name].published(fold, settings, wanted, 0)
    return {canonical(setting): scores(fold.X_test) for setting, scores in path}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SINGLE)
def test_a_path_scores_like_single_fits(name, tiny):
    fold = split(tiny, 1)
    # Estimators of rows learn them in the order of their keys, and LIBLINEAR's last digits depend
    # on the order.
    order = np.lexsort((row_keys(fold.X, fold.B), row_keys(fold.X)))
    fold = replace(fold, X=fold.X[order], B=fold.B[order])
    found = scores_of(name, fold, SMALL[name], SMALL[name])
    assert len(found) == len(SMALL[name])
    for setting in SMALL[name]:
        model = SINGLE[name](setting).fit(fold.X, fold.B)
        # The moments of a fold come by subtraction: rounding, enlarged by a badly conditioned XᵀX.
        # LLSF takes its hundred steps in single precision.
        rtol, atol = (1e-4, 1e-4) if name == "LLSF" else (1e-5, 1e-6)
        expected = model.decision_function(fold.X_test)
        np.testing.assert_allclose(found[canonical(setting)], expected, rtol=rtol, atol=atol)


def test_grople_is_the_reference_mapping(tiny):
    fold = split(tiny, 1)
    moments = fold.moments
    found = scores_of("GroPLE", fold, SMALL["GroPLE"], SMALL["GroPLE"])
    for setting in SMALL["GroPLE"]:
        _, fit = stages_one_and_two(moments, setting, 0)
        gram = moments.labels.signed_gram()
        sums = (2.0 * moments.labels.counts - moments.n) @ fit.W
        utu = nudged_gram(moments.n, sums, fit.W.T @ gram @ fit.W)
        reference = published_mapping(
            fold.gram_matrix, moments.signed_cross(fit.W, centre=False), utu,
            setting["alpha"], setting["beta"],
        )  # fmt: skip
        expected = fold.X_test @ reference.Z @ fit.V
        # In single precision, 500 steps of it.
        np.testing.assert_allclose(found[canonical(setting)], expected, atol=1e-3)


@pytest.mark.data
@pytest.mark.parametrize("name", ["GroPLE", "LLSF"])
@pytest.mark.parametrize("dataset", ["CAL500", "medical"])
def test_single_precision_gives_the_same_measures(name, dataset, shared_data, monkeypatch):
    from grople.study import paths

    settings = METHODS[name].quick_grid
    batch = Batch("published", dataset, name, 0, "", tuple(settings))
    single = {canonical(s): found for s, found in compute(batch, settings)}
    monkeypatch.setattr(paths, "PRECISION", np.float64)
    for setting, double in compute(batch, settings):
        # A few of a hundred rows decide otherwise where a descent halts a step earlier; which,
        # depends on how a processor rounds.
        assert single[canonical(setting)] == pytest.approx(double, abs=5e-3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SMALL)
def test_a_unit_does_not_depend_on_what_else_is_wanted(name, tiny):
    fold = split(tiny, 0)
    settings = SMALL[name]
    every = scores_of(name, fold, settings, settings)
    for setting in settings:
        (alone,) = scores_of(name, fold, settings, [setting]).values()
        np.testing.assert_array_equal(alone, every[canonical(setting)])


@pytest.mark.data
def test_products_by_rows_are_products_by_moments(shared_data):
    fold = split("medical", 0)
    assert fold._by_rows
    Z = np.random.default_rng(0).standard_normal((fold.moments.n_features, 3))
    np.testing.assert_allclose(fold.gram(Z), fold.gram_matrix @ Z, atol=1e-8)


def test_products_leave_out_empty_rows(tiny):
    fold = split(tiny, 0)
    Z = np.random.default_rng(0).standard_normal((fold.moments.n_features, 3))
    for kept in (15, 8, 1, 0):
        Z[kept:] = 0.0
        np.testing.assert_allclose(fold.gram(Z), fold.gram_matrix @ Z, atol=1e-10)


def test_measures_are_those_of_the_metrics(tiny):
    fold = split(tiny, 0)
    rng = np.random.default_rng(0)
    decided = rng.random(fold.B_test.shape) < 0.3
    blocks = [(slice(0, 10), decided[:10]), (slice(10, 24), sp.csr_array(decided[10:]))]
    found = measures(fold.B_test, blocks)
    for measure in (accuracy, example_f1, macro_f1, micro_f1):
        expected = measure(fold.B_test, decided.astype(int), zero_division=0)
        assert found[measure.__name__] == pytest.approx(expected)


def test_a_fold_has_the_labels_seen_in_training(tiny):
    found = data(tiny)
    for fold in range(5):
        part = split(tiny, fold)
        assert np.all(part.B.sum(axis=0) > 0)
        assert part.X.shape[0] + part.X_test.shape[0] == found.X.shape[0]
        assert part.moments.n == part.X.shape[0]
    assert not found.authors_folds


@pytest.mark.parametrize("name", ["PLST", "GroPLE", "BSVM", "LinearSVC", "GroPLE-nonlinear"])
def test_the_nested_protocol_never_sees_the_test_rows(name, tiny, monkeypatch):
    """What is chosen and fitted stays when the test rows are others; each measure is its own."""
    from grople.study import nested as room

    grid = {"grid": "small"}
    batch = Batch("nested", tiny, name, 0, "", (grid,))
    ((_, result),) = compute(batch, [grid])
    fold = split(tiny, 0)
    monkeypatch.setattr(room, "split", lambda *_: replace(fold, X_test=fold.X, B_test=fold.B))
    ((_, other),) = compute(batch, [grid])
    assert other["chosen"] == result["chosen"]
    for metric in ("accuracy", "micro_f1"):
        chosen = dict(result["chosen"][metric])
        form = chosen.pop("rows")
        assert canonical(chosen) in map(canonical, EVERY[name].nested_grid)
        X, X_test = room._in_form(form, fold)
        model = room._make(EVERY[name], chosen, metric, 0).fit(X, fold.B)
        measure = {"accuracy": accuracy, "micro_f1": micro_f1}[metric]
        expected = measure(fold.B_test, model.predict(X_test), zero_division=0)
        assert result[metric] == pytest.approx(expected)


def test_what_was_chosen_before_is_taken_over(tiny, monkeypatch):
    from grople.study import nested as room

    grid = {"grid": "full"}
    batch = Batch("nested", tiny, "PLST", 1, "", (grid,))
    ((_, result),) = compute(batch, [grid])
    monkeypatch.setattr(room, "_chosen", None)  # nothing is searched
    again = replace(batch, choices={canonical(grid): result["chosen"]})
    ((_, same),) = compute(again, [grid])
    assert same | {"fit_seconds": 0} == result | {"fit_seconds": 0}
    assert again.unit_keys() == batch.unit_keys()
    assert again.name == batch.name

    smaller = {key: {"rows": "unit", "n_components": 0.4} for key in result["chosen"]}
    ((_, other),) = compute(replace(batch, choices={canonical(grid): smaller}), [grid])
    fold = split(tiny, 1)
    X, X_test = room._in_form("unit", fold)
    model = METHODS["PLST"].make(n_components=0.4, decision="accuracy").fit(X, fold.B)
    expected = accuracy(fold.B_test, model.predict(X_test), zero_division=0)
    assert other["accuracy"] == pytest.approx(expected)
    assert other["chosen"] == smaller

    never = {key: {"rows": "raw", "n_components": 0.7} for key in result["chosen"]}
    with pytest.raises(ValueError, match="not among what is searched"):
        list(compute(replace(batch, choices={canonical(grid): never}), [grid]))


def test_the_budget_decides_what_bsvm_and_mlsf_are_run_with(tiny):
    small = data(tiny)
    assert METHODS["BSVM"].settings(small, budget=600.0) == [{"C": 1.0, "solver": "libsvm"}]
    # As if every row were two hundred: LIBSVM would take a day, LIBLINEAR minutes.
    large = replace(small, X=sp.vstack([sp.csr_array(small.X)] * 200, format="csr"),
                    B=sp.vstack([small.B] * 200, format="csr"))  # fmt: skip
    seconds = METHODS["BSVM"].seconds
    libsvm, liblinear = ({"C": 1.0, "solver": s} for s in ("libsvm", "liblinear"))
    assert seconds(large, libsvm) > seconds(large, liblinear)
    between = (seconds(large, libsvm) + seconds(large, liblinear)) / 2
    assert METHODS["BSVM"].settings(large, budget=between) == [liblinear]
    assert METHODS["BSVM"].settings(large, budget=0.0) == []
    assert len(METHODS["MLSF"].settings(small, budget=600.0)) == 4


def test_the_papers_setting_is_part_of_every_grid():
    found = data("debtags-mini")
    assert METHODS["PLST"].known("debtags-mini") is None
    assert len(METHODS["PLST"].settings(found)) == 72
    assert METHODS["GroPLE"].known("medical")["alpha"] == 1e-4
    assert len(METHODS["GroPLE"].grid) == 81
    assert len(METHODS["FaIE"].grid) == 8 * 81


def test_methods_are_found_by_either_name():
    assert find_method("FAiE") is METHODS["FaIE"]
