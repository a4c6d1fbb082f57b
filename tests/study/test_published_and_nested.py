"""Each published run is its method; the nested protocol chooses inside the training rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from grople import metrics
from grople.baselines import BSVM, CPLST, LEML, LLSF, MLSF, PLST, FaIE
from grople.moments import summarise
from grople.published import nudged_gram, published_embedding, published_groups, published_mapping
from grople.study import (
    EXPERIMENTS,
    METRICS,
    Run,
    Scope,
    compute_job,
    load_data,
    load_fold,
    make_plan,
    measures,
    setting_text,
)

PENALISED = {"decision": "sign", "fit_intercept": "penalised"}
SINGLE = {
    "PLST": lambda s: PLST(**s, **PENALISED),
    "CPLST": lambda s: CPLST(**s, **PENALISED),
    "FaIE": lambda s: FaIE(**s, **PENALISED),
    "LEML": lambda s: LEML(**s, **PENALISED, init="published", random_state=0),
    "LLSF": lambda s: LLSF(**s, decision="sign", correlation="published", fit_intercept=False),
    "BSVM": lambda s: BSVM(**s, decision="sign"),
    "MLSF": lambda s: MLSF(
        **s, decision="sign", C=1.0, fit_intercept=False, max_iter=10_000, random_state=0
    ),
}
SHAPE = {"n_components": 6, "n_groups": 3, "lambda_1": 1e-3, "lambda_2": 1.0}
SMALL = {
    "GroPLE": [SHAPE | {"alpha": a, "beta": 1e-3} for a in (0.1, 10.0)],
    "FaIE": [{"n_components": d, "ridge": 0.1, "alpha": a} for d in (0.3, 0.8) for a in (1.0, 9.0)],
    "LLSF": [{"alpha": a, "beta": b, "gamma": 0.1} for a in (1e-3, 1.0) for b in (1e-3, 0.1)],
    "BSVM": [{"C": 1.0, "solver": "libsvm"}],
    "MLSF": [
        {"gamma": g, "alpha": 0.0, "meta_label_size": 4, "solver": "liblinear"} for g in (0.1, 0.01)
    ],
} | {
    name: [{"n_components": d, "ridge": r} for d in (0.3, 0.8) for r in (0.1, 9.0)]
    for name in ("PLST", "CPLST", "LEML")
}


def results_of(job):
    _, results, reason = compute_job(job)
    assert not reason
    return {run: result for run, result, _ in results}


def published(name, tiny):
    return [Run("published", tiny, name, 1, setting_text(setting)) for setting in SMALL[name]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SINGLE)
def test_a_published_run_is_a_single_fit(name, tiny):
    fold = load_fold(tiny, 1)
    found = results_of(published(name, tiny))
    assert len(found) == len(SMALL[name])
    for run, result in found.items():
        model = SINGLE[name](run.parameters).fit(fold.X, fold.B)
        # LLSF takes its hundred steps in single precision: a decision near zero may differ.
        expected = measures(fold.B_test, model.predict(fold.X_test))
        assert result == pytest.approx(expected, abs=0.01 if name == "LLSF" else 1e-9)


def test_published_grople_is_the_reference_scheme(tiny):
    fold = load_fold(tiny, 1)
    moments = summarise(fold.X, fold.B).matrices()
    labels, n = moments.labels, float(moments.n)
    groups = published_groups(n, labels.counts, labels.pairs(), 3, random_state=0)
    fit = published_embedding(
        n, labels.signed_gram(), groups, counts=labels.counts, n_components=6, lambda_1=1e-3,
        lambda_2=1.0, random_state=0,
    )  # fmt: skip
    sums = (2.0 * labels.counts - n) @ fit.W
    gram = nudged_gram(n, sums, fit.W.T @ labels.signed_gram() @ fit.W)
    for run, result in results_of(published("GroPLE", tiny)).items():
        Z = published_mapping(
            moments.gram_matrix(centre=False), moments.signed_cross(fit.W, centre=False), gram,
            run.parameters["alpha"], run.parameters["beta"],
        ).Z  # fmt: skip
        expected = measures(fold.B_test, fold.X_test @ Z @ fit.V > 0)
        assert result == pytest.approx(expected, abs=0.01)  # in single precision, 500 steps of it


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SMALL)
def test_a_run_does_not_depend_on_what_else_is_wanted(name, tiny):
    every = results_of(published(name, tiny))
    for run, result in every.items():
        assert results_of([run]) == {run: result}


def test_measures_are_those_of_the_metrics(tiny):
    fold = load_fold(tiny, 0)
    decided = np.random.default_rng(0).random(fold.B_test.shape) < 0.3
    for given in (decided, sp.csr_array(decided)):
        for name, value in measures(fold.B_test, given).items():
            expected = getattr(metrics, name)(fold.B_test, decided.astype(int), zero_division=0)
            assert value == pytest.approx(expected)


def test_a_fold_has_the_labels_seen_in_training(tiny):
    for number in range(5):
        fold = load_fold(tiny, number)
        assert np.all(fold.B.sum(axis=0) > 0)
        assert fold.X.shape[0] + fold.X_test.shape[0] == load_data(tiny).X.shape[0]
        assert fold.B.shape[1] == fold.B_test.shape[1]


@pytest.mark.parametrize("name", ["PLST", "GroPLE", "BSVM", "LinearSVC", "ExtraTrees"])
def test_the_nested_protocol_never_sees_the_test_rows(name, tiny, monkeypatch):
    from grople.study import _nested as room

    run = Run("nested", tiny, name, 0, '{"grid":"small"}')
    fold = load_fold(tiny, 0)
    ours = results_of([run])[run]
    monkeypatch.setattr(room, "load_fold", lambda *_: replace(fold, X_test=fold.X, B_test=fold.B))
    other = results_of([run])[run]
    assert other["chosen"] == ours["chosen"]
    # What was predicted is measured on those rows, and counted row by row.
    rows = other["rows"]
    assert rows["true"] == fold.B.sum(axis=1).tolist()
    hits, given = (np.sum(rows["micro_f1"][key]) for key in ("hits", "given"))
    assert 2 * hits / (given + np.sum(rows["true"])) == pytest.approx(other["micro_f1"])
    assert ours["fit_seconds"] > 0


def test_what_is_learnt_of_the_rows_never_sees_inner_held_out_rows(tiny, monkeypatch):
    from grople.study import _nested as room

    fold = load_fold(tiny, 0)
    dense = replace(fold, X=fold.X.toarray(), X_test=fold.X_test.toarray())
    monkeypatch.setattr(room, "load_fold", lambda *_: dense)
    sizes = []
    usual = StandardScaler.fit

    def fit(self, X, *args, **options):
        sizes.append(X.shape[0])
        return usual(self, X, *args, **options)

    monkeypatch.setattr(StandardScaler, "fit", fit)
    results_of([Run("nested", tiny, "PLST", 0, '{"grid":"small"}')])
    n = len(dense.X)
    inner = [size for size in sizes if size < n]
    assert len(inner) == 3
    assert sum(n - size for size in inner) == n  # each row is held out once


def test_the_nested_protocol_takes_what_held_out_rows_call_best(tiny):
    run = Run("nested", tiny, "PLST", 0, '{"grid":"full"}')
    result = results_of([run])[run]
    assert set(result["chosen"]) == set(METRICS)
    for chosen in result["chosen"].values():
        assert chosen["n_components"] in (1.0, 0.4)
        assert chosen["rows"] in ("raw", "unit length")


def settings_of(dataset, method, **scope):
    plan = make_plan(
        [EXPERIMENTS["comparison"]],
        Scope((dataset,), (method,), ("published",), n_folds=1, **scope),
    )
    return [run.parameters for run in plan]


def test_grids_are_the_published_ones_and_the_budget_bounds_the_slow_methods(tiny):
    sizes = {name: len(settings_of(tiny, name)) for name in ("GroPLE", "PLST", "FaIE", "MLSF")}
    assert sizes == {"GroPLE": 81, "PLST": 72, "FaIE": 648, "MLSF": 9}
    assert settings_of(tiny, "BSVM") == [{"C": 1.0, "solver": "libsvm"}]
    assert settings_of(tiny, "BSVM", budget=0.0) == []
    assert len(settings_of(tiny, "GroPLE", grid="small")) == 9
    # Of the embedded data LIBLINEAR is run where LIBSVM takes minutes.
    (setting,) = settings_of("debtags-mini", "BSVM", budget=20.0)
    assert setting["solver"] == "liblinear"


@pytest.mark.data
def test_the_papers_setting_is_part_of_every_grid(shared_data):
    assert settings_of("medical", "PLST", grid="paper") == [{"n_components": 0.7, "ridge": 1.0}]
    (setting,) = settings_of("medical", "GroPLE", grid="paper")
    assert setting["alpha"] == 1e-4
    assert len(settings_of("medical", "GroPLE")) == 81
