"""Every estimator in a file and out again: the same model, bit for bit, also when it learns on."""

from __future__ import annotations

import os
import pickle
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

import grople
from grople import GroPLE, GroPLECV, ModelFileError, load_model, save_model, summarise
from grople.baselines import BSVM, LEML, Ridge
from grople.datasets import load, make_grouped_multilabel
from grople.decision import METRIC_RULES, Rule
from grople.estimators import MultilabelDecisionClassifier
from grople.features import fit_text, plain_columns
from grople.io import FORMAT_VERSION, read_model
from grople.io._model_file import ATTRIBUTES
from tests.io.estimators import all_estimators, name_of, summary_estimators

DATA = make_grouped_multilabel(90, 20, 7, n_groups=3, random_state=1)
X, Y = DATA.X.toarray(), DATA.Y.toarray()
#: Rows enough for a re-ranker, and more features than rows of matrices are worth.
MANY = make_grouped_multilabel(400, 20, 7, n_groups=3, random_state=1)
WIDE = make_grouped_multilabel(200, 1500, 7, n_groups=3, random_state=1)
TAGS = [f"tag {i}" for i in range(7)]
TARGETS = {
    "array": Y,
    "csr_array": sp.csr_array(Y),
    "csr_matrix": sp.csr_matrix(Y),
    "frame": pd.DataFrame(Y, columns=TAGS),
    "two classes": np.array(["no", "yes"])[Y[:, 0]],
    "three classes": np.array(["a", "b", "c"], dtype=object)[Y[:, 0] + Y[:, 1]],
    "numbers": np.array([3, 7, 9])[Y[:, 0] + Y[:, 1]],
    "one class": np.full(len(Y), "only"),
}


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def assert_same_values(left: Any, right: Any) -> None:
    assert type(left) is type(right)
    if isinstance(right, pd.DataFrame):
        pd.testing.assert_frame_equal(left, right)
    elif sp.issparse(right):
        assert left.shape == right.shape
        assert left.dtype == right.dtype
        assert (left != right).nnz == 0
    else:
        np.testing.assert_array_equal(left, right, strict=True)


def assert_same_predictions(left: Any, right: Any, rows: Any = X) -> None:
    """Equal to the last bit: no tolerance."""
    for method in ("predict", "predict_proba", "decision_function"):
        assert_same_values(getattr(left, method)(rows), getattr(right, method)(rows))


def reloaded(model: Any, path: Path, **options: Any) -> Any:
    save_model(path / "m.grople", model, **options)
    return load_model(path / "m.grople")


@pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)
def test_every_estimator_predicts_bit_for_bit(tmp_path: Path, estimator: Any) -> None:
    model = clone(estimator).fit(sp.csr_array(X), TARGETS["frame"])
    unknown = vars(model).keys() - model.get_params() - set(ATTRIBUTES)
    # What else an estimator holds follows from its targets, or is its model or summary.
    follows = {"_targets", "classes_", "label_names_in_", "_model"}
    summary = {"summary_", "_grid", "_stored_without_rows"}
    assert unknown == follows | (summary if hasattr(model, "summary_") else set())
    for with_rows in (True, False):
        loaded = reloaded(model, tmp_path, with_rows=with_rows)
        assert type(loaded) is type(model)
        assert loaded.get_params() == model.get_params()
        assert loaded.label_names_in_.tolist() == TAGS
        for rows in (X, X[:1], sp.csr_array(X), np.asfortranarray(X), X.astype(np.float32)):
            assert_same_predictions(loaded, model, rows)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("estimator", [GroPLE(), BSVM()], ids=["GroPLE", "BSVM"])
def test_every_kind_of_target(tmp_path: Path, estimator: Any, target: str) -> None:
    model = clone(estimator).fit(X, TARGETS[target])
    save_model(tmp_path / "m", model)
    for with_rows in (True, False):
        loaded = read_model(tmp_path / "m", with_rows=with_rows).model
        assert_same_predictions(loaded, model)
        np.testing.assert_array_equal(loaded.classes_, model.classes_, strict=True)
    save_model(tmp_path / "m", model, with_rows=False)
    assert_same_predictions(load_model(tmp_path / "m"), model)
    again = reloaded(load_model(tmp_path / "m"), tmp_path, with_rows=False)
    assert_same_predictions(again, model)


@pytest.mark.parametrize(
    "names", [list("abcdefg"), list(range(10, 17)), [("x", i) for i in range(7)]]
)
def test_label_and_feature_names(tmp_path: Path, names: list[Any]) -> None:
    rows = pd.DataFrame(X, columns=[f"größe {i}" for i in range(X.shape[1])])
    marks = pd.DataFrame(Y)
    marks.columns = pd.Index(names, tupleize_cols=False)
    model = Ridge().fit(rows, marks)
    loaded = reloaded(model, tmp_path)
    assert loaded.feature_names_in_.tolist() == list(rows.columns)
    assert loaded.label_names_in_.tolist() == names
    assert_same_predictions(loaded, model, rows)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(rows.rename(columns={"größe 0": "other"}))


@pytest.mark.parametrize("estimator", summary_estimators(), ids=name_of)
def test_learning_goes_on(tmp_path: Path, estimator: Any) -> None:
    model = clone(estimator).fit(X[:60], Y[:60])
    loaded = reloaded(model, tmp_path)
    for learner in (model, loaded):
        learner.partial_fit(X[60:], Y[60:])
        learner.forget(X[10:20], Y[10:20])
    assert loaded.summary_.checksum() == model.summary_.checksum()
    assert_same_predictions(loaded, model)
    removed = loaded.forgetting_report()
    assert removed == model.forgetting_report()
    assert removed["rows_removed"] == 10
    changed = {"decision": "accuracy"}
    assert_same_predictions(loaded.refit(**changed), model.refit(**changed))
    with pytest.raises(ValueError, match="never added"):
        loaded.forget(X[10:20], Y[10:20])


@settings(
    max_examples=20, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(st.data())
def test_a_file_between_any_steps_changes_nothing(tmp_path: Path, data: st.DataObject) -> None:
    """Add and remove blocks, weighted or not, with a file in between: equal to the last bit."""
    source = data.draw(st.sampled_from([DATA, MANY, WIDE]))
    rows = source.X if source is WIDE or data.draw(st.booleans()) else source.X.toarray()
    scale = data.draw(st.sampled_from([1.0, 1e-9, np.pi * 1e9]))
    rows = rows * scale
    if not sp.issparse(rows) and data.draw(st.booleans()):
        rows = rows + 1e6 * np.abs(rows).max()
    size = rows.shape[0]
    weights = None
    if data.draw(st.booleans()):
        weights = np.random.default_rng(0).choice([0.3, 1.0, 2.5], size=size)
    kept = data.draw(st.sampled_from([20_000, 30, 0]))
    model = GroPLE(4, 2, gamma=scale**2, max_kept_rows=kept)
    cut = data.draw(st.integers(40, size))

    def block(which: Any) -> tuple[Any, ...]:
        part = None if weights is None else weights[which]
        return rows[which], source.Y[which], part

    def learn(step: Any, which: Any) -> None:
        X_block, Y_block, part = block(which)
        step(X_block, Y_block, sample_weight=part)

    learn(model.fit, np.arange(cut))
    saved = model
    for _ in range(data.draw(st.integers(1, 2))):
        saved = reloaded(saved, tmp_path)
        assert saved.summary_.checksum() == model.summary_.checksum()
        some = np.arange(data.draw(st.integers(2, cut - 20)))
        for learner in (model, saved):
            learn(learner.forget, some)
            learn(learner.partial_fit, some[::2])
            learn(learner.partial_fit, some[1::2])
        assert saved.summary_.checksum() == model.summary_.checksum()
    assert_same_predictions(saved, model, rows)


@pytest.mark.parametrize("data", [MANY, WIDE], ids=["many", "wide"])
def test_copies_and_a_reserve_travel_along(tmp_path: Path, data: Any) -> None:
    """Rows that repeat each other, more of them than are kept, and some of them removed."""
    twice = np.repeat(np.arange(data.X.shape[0]), 1 + np.arange(data.X.shape[0]) % 3)
    rows, marks = data.X[twice], data.Y[twice]
    model = GroPLE(4, 2, gamma=1.0, max_kept_rows=100).fit(rows, marks)
    assert model.decision_.copies is not None
    loaded = reloaded(model, tmp_path)
    for learner in (model, loaded):
        learner.forget(rows[:150], marks[:150])
    assert loaded.exactness_ == model.exactness_
    assert_same_predictions(loaded, model, rows)
    assert_same_predictions(reloaded(model, tmp_path, with_rows=False), model, rows)


def test_new_labels_after_loading(tmp_path: Path) -> None:
    model = GroPLE(5).fit(X[:60], TARGETS["frame"][:60][TAGS[:5]])
    loaded = reloaded(model, tmp_path)
    for learner in (model, loaded):
        learner.partial_fit(X[60:], TARGETS["frame"][60:])
    assert loaded.classes_.tolist() == TAGS
    assert_same_predictions(loaded, model)


def test_rows_not_yet_learnt_are_learnt_before_saving(tmp_path: Path) -> None:
    model = Ridge(1.0).partial_fit(X[:50], Y[:50]).partial_fit(X[50:], Y[50:])
    assert_same_predictions(reloaded(model, tmp_path, with_rows=False), model)


@pytest.mark.parametrize("estimator", [GroPLE(), BSVM()], ids=["GroPLE", "BSVM"])
@pytest.mark.parametrize("with_rows", [True, False])
def test_the_decision_can_be_changed_afterwards(
    tmp_path: Path, estimator: Any, with_rows: bool
) -> None:
    model = clone(estimator).fit(X, Y)
    loaded = reloaded(model, tmp_path, with_rows=with_rows)
    for rule in (*METRIC_RULES, "hamming", Rule("top_k", k=2), "sign", 0.25, -0.5):
        assert_same_predictions(loaded.set_params(decision=rule), model.set_params(decision=rule))


def test_a_decision_that_was_not_fitted(tmp_path: Path) -> None:
    model = GroPLE(experts=["linear"], decision="sign").fit(X, Y)
    loaded = reloaded(model, tmp_path)
    for learner in (model, loaded):
        learner.set_params(decision="accuracy")
    assert_same_predictions(loaded, model)  # from the rows, which the file has
    bare = reloaded(
        GroPLE(experts=["linear"], decision="sign").fit(X, Y), tmp_path, with_rows=False
    )
    with pytest.raises(ValueError, match="without its rows"):
        bare.set_params(decision="accuracy").predict(X)


@pytest.mark.parametrize("with_rows", [True, False])
@pytest.mark.parametrize("estimator", [GroPLE(), Ridge(1.0), BSVM()], ids=name_of)
def test_a_re_ranker_travels_along(tmp_path: Path, estimator: Any, with_rows: bool) -> None:
    rule = Rule("micro_f1", context=True)
    model = clone(estimator).set_params(decision=rule).fit(MANY.X, MANY.Y)
    assert model.decision_.reranker is not None
    loaded = reloaded(model, tmp_path, with_rows=with_rows)
    assert loaded.decision == rule
    for other in (rule, Rule("accuracy", context=True), Rule("top_k", context=True), "sign", 0.3):
        for learner in (loaded, model):
            learner.set_params(decision=other)
        assert_same_predictions(loaded, model, MANY.X)


def test_labels_missing_in_training(tmp_path: Path) -> None:
    known = Y.astype(float)
    known[np.random.default_rng(0).random(Y.shape) < 0.3] = np.nan
    model = LEML(4).fit(X, known)
    for with_rows in (True, False):
        loaded = reloaded(model, tmp_path, with_rows=with_rows)
        assert_same_predictions(loaded, model)
        with pytest.raises(ValueError, match="incomplete labels"):
            loaded.partial_fit(X, Y)


@pytest.mark.parametrize("how", ["saved", "read"])
def test_without_rows_a_model_predicts_but_does_not_learn(tmp_path: Path, how: str) -> None:
    model = GroPLE().fit(X, Y)
    save_model(tmp_path / "m", model, with_rows=how == "read")
    saved = read_model(tmp_path / "m", with_rows=how == "saved")
    loaded = saved.model
    assert not saved.header["with_rows"]
    assert loaded.summary_ is None
    assert_same_predictions(loaded, model)
    np.testing.assert_array_equal(loaded.label_groups_, model.label_groups_)
    assert loaded.fitted_model_.outline.labels.counts.tolist() == Y.sum(axis=0).tolist()
    for learn in (loaded.partial_fit, loaded.forget):
        with pytest.raises(ValueError, match="without its rows"):
            learn(X[:5], Y[:5])
    with pytest.raises(ValueError, match="without its rows"):
        loaded.refit(alpha=3.0)
    assert_same_predictions(loaded, model)  # a refusal changes nothing
    assert_same_predictions(loaded.fit(X, Y), model)


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a regular file"):
        save_model(tmp_path / "pipe", Ridge(1.0).fit(X, Y))
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("data", [DATA, WIDE], ids=["matrices", "rows"])
def test_a_file_without_rows_holds_no_features(
    tmp_path: Path, data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grople.io._codec.PACKED_BYTES", range(0))  # values stay recognisable
    rows = data.X.copy()
    rows.data[7] = 0.123456789012345
    rows = sp.vstack([rows, rows], format="csr")  # copies are remembered, by their keys
    marks = sp.vstack([data.Y, data.Y], format="csr")
    needle = np.float64(0.123456789012345).tobytes()
    model = GroPLE(4, 2, gamma=1.0).fit(rows, marks)
    save_model(tmp_path / "with", model)
    save_model(tmp_path / "without", model, with_rows=False)
    assert needle in (tmp_path / "with").read_bytes()
    assert needle not in (tmp_path / "without").read_bytes()
    sizes = [(tmp_path / name).stat().st_size for name in ("with", "without")]
    assert sizes[1] < sizes[0]


def test_a_summary_alone(tmp_path: Path) -> None:
    model = GroPLE().fit_summary(summarise(X, Y), label_names=TAGS)
    loaded = reloaded(model, tmp_path)
    assert_same_predictions(loaded, model)
    assert loaded.label_names_in_.tolist() == TAGS


def test_a_search_keeps_its_results(tmp_path: Path) -> None:
    model = GroPLECV(5, 3, alpha=np.array([0.0, 1.0]), gamma=["auto", 2.0], cv=2).fit(X, Y)
    loaded = reloaded(model, tmp_path)
    assert loaded.best_params_ == model.best_params_
    assert loaded.best_score_ == model.best_score_
    assert loaded.cv_results_.keys() == model.cv_results_.keys()
    assert loaded.cv_results_["params"] == model.cv_results_["params"]
    np.testing.assert_array_equal(
        loaded.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"]
    )
    for learner in (model, loaded):
        learner.partial_fit(X[:9], Y[:9])
    assert_same_predictions(loaded, model)


@pytest.mark.parametrize(
    "grouping", [[0, 0, 1, 1, 2, 2, 2], np.arange(7) % 2, [[0, 6], [1, 2, 3, 4, 5]]]
)
def test_a_partition_of_the_users_own(tmp_path: Path, grouping: Any) -> None:
    model = GroPLE(5, grouping=grouping).fit(X, Y)
    loaded = reloaded(model, tmp_path)
    np.testing.assert_array_equal(loaded.label_groups_, model.label_groups_)
    assert_same_predictions(loaded.refit(alpha=2.0), model.refit(alpha=2.0))


def test_parameters_that_are_no_plain_values_give_way_to_their_defaults(tmp_path: Path) -> None:
    state = np.random.RandomState(0)
    model = GroPLECV(5, 3, alpha=[0.0, 1.0], cv=KFold(2), random_state=state).fit(X, Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = reloaded(model, tmp_path)
    told = sorted(str(warning.message).partition("=")[0] for warning in caught)
    assert told == ["cv", "random_state"]
    assert all("test_model_file.py" in warning.filename for warning in caught)
    assert (loaded.cv, loaded.random_state) == (5, None)
    assert isinstance(model.cv, KFold)
    assert_same_predictions(loaded, model)


def test_half_of_a_parameter_is_not_stored(tmp_path: Path) -> None:
    model = GroPLE(5).fit(X, Y)
    model.grouping = [np.arange(3) / 2, print]
    assert reloaded(model, tmp_path).grouping == "spectral"


def test_features_and_notes_travel_along(tmp_path: Path) -> None:
    texts = ["a fast web server", "a chess game", "web browser", "chess server", "fast game"]
    features, rows = fit_text(texts, min_df=1, ngrams=(1, 2))
    marks = np.array([[1, 0], [0, 1], [1, 0], [1, 1], [0, 1]])
    model = Ridge(1.0, decision="sign").fit(rows, marks)
    notes = {"data": "five texts", "quality": [0.5, float("nan")]}
    save_model(tmp_path / "m", model, features=features, notes=notes)
    saved = read_model(tmp_path / "m")
    assert saved.features.names.tolist() == features.names.tolist()
    assert_same_values(saved.features.transform(texts), rows)
    header = saved.header
    assert header["notes"]["data"] == "five texts"
    assert (header["class"], header["features"]) == ("Ridge", "TextFeatures")
    assert (header["with_rows"], header["kind"]) == (True, "multilabel")
    assert header["format_version"] == FORMAT_VERSION
    assert header["library_version"] == grople.__version__
    assert header["parameters"] == model.get_params()
    sizes = header["sizes"]
    assert (sizes["features"], sizes["labels"], sizes["rows"]) == (rows.shape[1], 2, 5)
    assert sizes["bytes"] == (tmp_path / "m").stat().st_size


def test_features_of_another_model_are_refused(tmp_path: Path) -> None:
    model = Ridge(1.0, decision="sign").fit(X, Y)
    save_model(tmp_path / "m", model, features=plain_columns(["a", "b"]))
    with pytest.raises(ModelFileError, match="not those of its model"):
        read_model(tmp_path / "m")


def test_arrays_of_a_loaded_model_are_read_only(tmp_path: Path) -> None:
    loaded = reloaded(GroPLE(5).fit(X, Y), tmp_path)
    assert not loaded.mapping_.flags.writeable
    assert not loaded.label_groups_.flags.writeable


def test_a_loaded_model_may_replace_its_own_file(tmp_path: Path) -> None:
    path = tmp_path / "m"
    save_model(path, Ridge(1.0).fit(X[:50], Y[:50]))
    loaded = load_model(path).partial_fit(X[50:], Y[50:])
    save_model(path, loaded)
    assert_same_predictions(load_model(path), loaded)
    assert [file.name for file in tmp_path.iterdir()] == ["m"]


def test_a_loaded_model_is_an_estimator_like_any_other(tmp_path: Path) -> None:
    model = Ridge(1.0).fit(X, TARGETS["two classes"])
    loaded = reloaded(model, tmp_path, with_rows=False)
    for copy in (pickle.loads(pickle.dumps(loaded)), deepcopy(loaded)):
        assert_same_predictions(copy, model)
    assert_same_predictions(clone(loaded).fit(X, TARGETS["two classes"]), model)
    half = Ridge(1.0).fit(X[:40], TARGETS["two classes"][:40])
    for copy in (pickle.loads(pickle.dumps(loaded)), loaded):
        assert_same_predictions(copy.fit(X[:40], TARGETS["two classes"][:40]), half)
    assert repr(loaded) == repr(model)


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    model = GroPLE(5).fit(X, Y)
    save_model(tmp_path / "a", model)
    save_model(tmp_path / "b", GroPLE(5).fit(X, Y))
    save_model(tmp_path / "c", load_model(tmp_path / "a"))
    first = (tmp_path / "a").read_bytes()
    assert first == (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()


def test_what_has_no_model_file(tmp_path: Path) -> None:
    class Mine(GroPLE):
        pass

    other = MultilabelDecisionClassifier(LogisticRegression())
    for model in (LogisticRegression(), Mine().fit(X, Y), other, "model"):
        with pytest.raises(ModelFileError, match=r"has no model file.*skops"):
            save_model(tmp_path / "m", model)
    for unfitted in (GroPLE(), BSVM()):
        with pytest.raises(ValueError, match="not fitted"):
            save_model(tmp_path / "m", unfitted)
    fitted = Ridge(1.0, decision="sign").fit(X, Y)
    with pytest.raises(ModelFileError, match="notes is a function"):
        save_model(tmp_path / "m", fitted, notes=lambda: 0)
    with pytest.raises(ModelFileError, match=r"leave out \.gz"):
        save_model(tmp_path / "m.gz", fitted)
    with pytest.raises(ModelFileError, match="cannot be written"):
        save_model(tmp_path / "no such folder" / "m", fitted)
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_named_in_every_error(tmp_path: Path) -> None:
    path = tmp_path / "mine.grople"
    with pytest.raises(ModelFileError, match=r"mine\.grople: cannot be read \(No such file"):
        load_model(path)
    path.write_text("a text")
    with pytest.raises(ModelFileError, match=r"mine\.grople: not a model file"):
        load_model(path)


def test_the_embedded_data(tmp_path: Path) -> None:
    data = load("debtags-mini")
    model = GroPLE(20, gamma=1.0).fit(data.X[:600], data.Y[:600])
    loaded = reloaded(model, tmp_path)
    assert_same_predictions(loaded, model, data.X[3000:])
    for learner in (model, loaded):
        learner.partial_fit(data.X[600:900], data.Y[600:900]).forget(data.X[:99], data.Y[:99])
    assert_same_predictions(loaded, model, data.X[3000:])
