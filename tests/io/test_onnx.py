"""What onnxruntime computes from an exported file, against what the model computes."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from grople import GroPLE, ModelFileError
from grople.baselines import Ridge
from grople.datasets import load, make_grouped_multilabel
from grople.decision import Rule
from grople.estimators import MultilabelDecisionClassifier
from grople.experts import Stack
from grople.features import fit_text, plain_columns
from grople.io import export_onnx
from grople.io._graph import Graph
from grople.io._onnx import _curve
from tests.io.estimators import all_estimators, name_of

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

DATA = make_grouped_multilabel(90, 20, 7, n_groups=3, random_state=1)
MANY = make_grouped_multilabel(400, 20, 7, n_groups=3, random_state=1)
# The graph takes 32-bit rows: both sides get the same.
X, Y = DATA.X.toarray().astype(np.float32), DATA.Y.toarray()
#: The graph computes in 64 bits; what is left is the rounding of its outputs to 32.
ROUNDED = {"rtol": 1e-6, "atol": 1e-6}
#: The networks of a re-ranker compute in 32 bits, on either side.
NARROW = {"rtol": 0, "atol": 1e-5}
#: What is steep in the curves of experts enlarges that rounding, and that of trees.
LINEAR = partial(GroPLE, experts=["linear"])


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def session(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def outputs(path: Path, rows: Any) -> dict[str, Any]:
    opened = session(path)
    names = [output.name for output in opened.get_outputs()]
    return dict(zip(names, opened.run(None, {"X": rows}), strict=True))


def assert_agrees(path: Path, model: Any, rows: Any, **tolerance: Any) -> None:
    found = outputs(path, rows)
    expected = {
        "scores": model.decision_function(rows),
        "probabilities": model.predict_proba(rows),
    }
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].dtype == np.float32
        assert found[name].shape == values.shape
        np.testing.assert_allclose(found[name], values, **(tolerance or ROUNDED))


def exported(model: Any, path: Path, **options: Any) -> list[str]:
    """Export a model, check the file, and return the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        export_onnx(model, path, **options)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)
def test_every_estimator(tmp_path: Path, estimator: Any) -> None:
    model = clone(estimator).fit(X, Y)
    path = tmp_path / "m.onnx"
    assert exported(model, path) == []
    for rows in (X, X[:1], 100 * X):
        assert_agrees(path, model, rows)
    assert outputs(path, X[:0])["probabilities"].shape == (0, 7)


@pytest.mark.parametrize(
    "y",
    [
        np.array(["no", "yes"])[Y[:, 0]],
        np.array([3, 5, 9])[Y[:, 0] + Y[:, 1]],
        np.full(len(Y), "only"),
        Y[:, :1],
    ],
    ids=["two classes", "three classes", "one class", "one label"],
)
def test_every_kind_of_target(tmp_path: Path, y: Any) -> None:
    model = LINEAR(5).fit(X, y)
    export_onnx(model, tmp_path / "m.onnx")
    assert_agrees(tmp_path / "m.onnx", model, X)


@pytest.fixture(scope="module")
def embedded() -> tuple[Any, Any]:
    data = load("debtags-mini")
    rows = data.X.astype(np.float32)
    # Labels on the very same rows have the same scores but for rounding, which decides what comes
    # first where the order counts: one of each is enough here.
    _, kept = np.unique(data.Y[:600].toarray(), axis=1, return_index=True)
    model = LINEAR(40, gamma=1.0).fit(rows[:600], data.Y[:600, kept])
    assert model.decision_.reranker is not None
    return model, rows[3000:].toarray()


@pytest.mark.parametrize("rule", ["accuracy", "macro_f1", "sign", 0.3])
def test_the_embedded_data(tmp_path: Path, rule: Any, embedded: Any) -> None:
    model, rows = embedded
    model.set_params(decision=rule)
    export_onnx(model, tmp_path / "m.onnx")
    assert_agrees(tmp_path / "m.onnx", model, rows, **NARROW)


def test_scores_alone_and_what_the_file_says(tmp_path: Path) -> None:
    rows = normalize(np.abs(X))
    texts = [" ".join(f"word{i}" for i in np.flatnonzero(row)) for row in rows]
    features, rows = fit_text(texts, min_df=1)
    model = Ridge(1.0).fit(rows, Y)
    export_onnx(model, tmp_path / "m.onnx", features=features, probabilities=False)
    opened = session(tmp_path / "m.onnx")
    assert [output.name for output in opened.get_outputs()] == ["scores"]
    assert [(i.name, i.shape[1]) for i in opened.get_inputs()] == [("X", len(features.names))]
    told = {k: json.loads(v) for k, v in opened.get_modelmeta().custom_metadata_map.items()}
    assert told["feature_names"] == features.names.tolist()
    assert told["label_names"] == [str(i) for i in range(7)]
    assert (told["class"], told["kind"]) == ("Ridge", "multilabel")


def test_rows_of_unit_length_are_made_in_the_graph(tmp_path: Path) -> None:
    features = plain_columns([f"f{i}" for i in range(20)], unit_rows=True)
    raw = X.copy()
    raw[3] = 0.0
    rows = features.transform(raw.astype(np.float64))
    model = Ridge(1.0).fit(rows, Y)
    export_onnx(model, tmp_path / "m.onnx", features=features)
    found = outputs(tmp_path / "m.onnx", raw)
    np.testing.assert_allclose(found["scores"], model.decision_function(rows), **ROUNDED)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), **ROUNDED)


@settings(max_examples=40, deadline=None)
@given(
    steps=st.lists(st.floats(1e-3, 3), max_size=40),
    start=st.floats(-5, 5),
    seed=st.integers(0, 99),
)
def test_any_curve(steps: list[float], start: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    at = start + np.concatenate([[0.0], np.cumsum(steps)])
    values = np.sort(rng.random(len(at)))
    scores = np.concatenate([rng.normal(0, 10, 40), at, at - 1e-6, at + 1e-6, [1e30, -1e30]])
    scores = scores.astype(np.float32)[:, None]
    graph = Graph()
    graph.output("p", _curve(graph, graph.rows(), at, values), [None, 1])
    opened = onnxruntime.InferenceSession(graph.model(1, {}).SerializeToString())
    (found,) = opened.run(None, {"X": scores})
    expected = np.interp(scores.astype(np.float64), at, values)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("n_labels", [3, 7, 40])
@pytest.mark.parametrize("signed", [False, True], ids=["amounts", "signed"])
def test_a_re_ranker(tmp_path: Path, n_labels: int, signed: bool) -> None:
    data = make_grouped_multilabel(400, 20, n_labels, n_groups=3, random_state=1)
    rows = data.X.toarray().astype(np.float32) - np.float32(signed)
    model = LINEAR(5, 3, decision=Rule(context=True)).fit(rows, data.Y)
    decision = model.decision_
    scores = model.decision_function(rows)
    # The re-ranker has something to say, so that a graph without it would not agree.
    assert (decision.reranker.cooccurrence is None) == signed
    curve = replace(decision, reranker=None)
    assert np.abs(curve.probabilities(scores) - model.predict_proba(rows)).max() > 0.01
    assert exported(model, tmp_path / "m.onnx") == []
    assert_agrees(tmp_path / "m.onnx", model, rows, **NARROW)


@pytest.mark.parametrize("size", [1e5, 1e7, 1e12, 1e30])
def test_scores_far_from_all_others(tmp_path: Path, size: float) -> None:
    model = LINEAR(5, 3, decision=Rule(context=True)).fit(MANY.X, MANY.Y)
    assert model.decision_.reranker is not None
    export_onnx(model, tmp_path / "m.onnx")
    rows = np.vstack([MANY.X.toarray(), -MANY.X.toarray()]).astype(np.float32)
    rows[::2] *= np.float32(size)
    assert np.abs(model.decision_function(rows)).max() > size
    found = outputs(tmp_path / "m.onnx", rows)["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(rows), **NARROW)


def test_a_re_ranker_with_labels_that_tie(tmp_path: Path) -> None:
    rows = MANY.X.toarray().astype(np.float32)
    # Every label a dozen times, so that scores tie; and more labels than candidates.
    often = np.repeat(MANY.Y.toarray(), 12, axis=1)
    model = LINEAR(decision=Rule(context=True)).fit(rows, often)
    assert model.decision_.reranker.n_candidates < often.shape[1]
    export_onnx(model, tmp_path / "m.onnx")
    assert_agrees(tmp_path / "m.onnx", model, rows, **NARROW)


def test_a_re_ranker_with_a_large_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grople.io._onnx_reranker.DENSE_LABELS", 3)
    rows = MANY.X.toarray().astype(np.float32)
    model = Ridge(1.0, decision=Rule(context=True)).fit(rows, MANY.Y)
    (warning,) = exported(model, tmp_path / "m.onnx")
    assert "those of the scores alone" in warning
    found = outputs(tmp_path / "m.onnx", rows)["probabilities"]
    curve = replace(model.decision_, reranker=None)
    expected = curve.probabilities(model.decision_function(rows))
    np.testing.assert_allclose(found, expected, **ROUNDED)


def test_rows_that_repeat_training_rows(tmp_path: Path) -> None:
    twice = np.repeat(np.arange(90), 3)
    model = LINEAR(5, 3).fit(X[twice], Y[twice])
    assert model.decision_.copies is not None
    (warning,) = exported(model, tmp_path / "m.onnx")
    assert "those of new rows" in warning
    assert_agrees(tmp_path / "m.onnx", model, X + np.float32(0.01))
    found = outputs(tmp_path / "m.onnx", X)["probabilities"]
    assert np.abs(found - model.predict_proba(X)).max() > 0.01


def test_what_cannot_be_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Ridge(1.0, decision="sign").fit(X, Y)
    with pytest.raises(ModelFileError, match="cannot be written"):
        export_onnx(model, tmp_path / "no such folder" / "m.onnx")
    monkeypatch.setattr("grople.io._graph.LARGEST", 100)
    with pytest.raises(ModelFileError, match="too large"):
        export_onnx(model, tmp_path / "m.onnx")
    with pytest.raises(ModelFileError, match="no model of grople"):
        export_onnx(LogisticRegression(), tmp_path / "m.onnx")
    other = MultilabelDecisionClassifier(LogisticRegression(), decision="sign")
    with pytest.raises(ModelFileError, match="cannot be exported"):
        export_onnx(other.fit(X, sp.csr_array(Y)), tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_map_in_single_precision_is_widened(tmp_path: Path) -> None:
    model = LINEAR(decision="sign").fit(sp.csr_array(X), Y)
    fitted = model.fitted_model_
    narrow = replace(fitted.scorer, Z=fitted.scorer.Z.astype(np.float32))
    model._model = replace(fitted, scorer=narrow)
    export_onnx(model, tmp_path / "model.onnx", probabilities=False)
    found = outputs(tmp_path / "model.onnx", X)["scores"]
    # The model itself multiplies in single precision here.
    np.testing.assert_allclose(found, model.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_experts_answer_as_in_the_library(kind, tmp_path):
    rng = np.random.default_rng(0)
    if kind == "dense":
        X = rng.normal(size=(700, 5)).astype(np.float32).astype(float)
        radius = np.abs(X[:, :2]).sum(axis=1)
        Y = np.c_[radius < 1, radius > 2, X[:, 2] > 0, np.zeros(700, bool)].astype(int)
    else:
        data = load("debtags-mini")
        X, Y = sp.csr_array(data.X[:700, :300]).toarray(), data.Y[:700, :40]
        X = X.astype(np.float32).astype(float)
        Y = sp.csr_array(Y).toarray()
    model = GroPLE(random_state=0).fit(X[:500], Y[:500])
    assert isinstance(model.fitted_model_.scorer, Stack)
    export_onnx(model, tmp_path / "model.onnx")
    found = outputs(tmp_path / "model.onnx", X[500:].astype(np.float32))
    np.testing.assert_allclose(found["scores"], model.decision_function(X[500:]), atol=2e-4)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X[500:]), atol=2e-4)
