"""Every estimator in a file and out again: the same model, bit for bit."""

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
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

import grople
from grople import GroPLE, GroPLECV, ModelFileError, Moments, load_model
from grople.baselines import BSVM, LEML, MLSF, PLST, Ridge
from grople.datasets import load, make_grouped_multilabel
from grople.decision import METRIC_RULES, Rule
from grople.features import Features
from grople.meta import MultilabelDecisionClassifier
from grople.modelfile import read_model, save_model
from grople.modelfile.container import open_container
from grople.modelfile.storable import ATTRIBUTES
from tests.contracts.estimators import all_estimators, moment_estimators, name_of

DATA = make_grouped_multilabel(90, 20, 7, n_groups=3, random_state=1)
X, Y = DATA.X.toarray(), DATA.Y.toarray()
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
    model.save(path / "m.grople", **options)
    return load_model(path / "m.grople")


@pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)
def test_every_estimator_predicts_bit_for_bit(tmp_path: Path, estimator: Any) -> None:
    model = clone(estimator).fit(sp.csr_array(X), TARGETS["frame"])
    unknown = vars(model).keys() - model.get_params() - set(ATTRIBUTES)
    # What else an estimator holds follows from its targets, or is its solution.
    assert unknown == {"_targets", "_solution", "classes_", "label_names_in_"}
    for with_moments in (True, False):
        loaded = reloaded(model, tmp_path, with_moments=with_moments)
        assert type(loaded) is type(model)
        assert loaded.get_params() == model.get_params()
        assert loaded.label_names_in_.tolist() == TAGS
        for rows in (X, X[:1], sp.csr_array(X), np.asfortranarray(X), X.astype(np.float32)):
            assert_same_predictions(loaded, model, rows)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("estimator", [GroPLE(random_state=0), BSVM()], ids=["GroPLE", "BSVM"])
def test_every_kind_of_target(tmp_path: Path, estimator: Any, target: str) -> None:
    if target == "one class" and isinstance(estimator, BSVM):
        estimator = BSVM(decision="sign")
    model = clone(estimator).fit(X, TARGETS[target])
    model.save(tmp_path / "m", with_moments=True)
    for moments in (True, False):
        loaded = read_model(tmp_path / "m", moments=moments).model
        assert_same_predictions(loaded, model)
        np.testing.assert_array_equal(loaded.classes_, model.classes_, strict=True)
    model.save(tmp_path / "m", with_moments=False)
    assert_same_predictions(load_model(tmp_path / "m"), model)
    again = reloaded(load_model(tmp_path / "m"), tmp_path, with_moments=False)
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


@pytest.mark.parametrize("estimator", moment_estimators(), ids=name_of)
def test_learning_goes_on(tmp_path: Path, estimator: Any) -> None:
    model = clone(estimator).set_params(row_check=True).fit(X[:60], Y[:60])
    loaded = reloaded(model, tmp_path)
    for learner in (model, loaded):
        learner.partial_fit(X[60:], Y[60:])
        learner.forget(X[10:20], Y[10:20])
    assert_same_predictions(loaded, model)
    changed = {"reservoir_size": 50}
    assert_same_predictions(loaded.refit(**changed), model.refit(**changed))
    with pytest.raises(ValueError, match="never added"):
        loaded.forget(X[10:20], Y[10:20])


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 60)])
@pytest.mark.parametrize("form", ["explicit", "implicit"])
def test_weighted_rows_go_on(tmp_path: Path, form: str, weights: Any) -> None:
    rows = sp.csr_array(X)
    model = PLST(5, form=form).fit(rows[:60], Y[:60], sample_weight=weights)
    loaded = reloaded(model, tmp_path)
    for learner in (model, loaded):
        learner.partial_fit(rows[60:], Y[60:])
    assert_same_predictions(loaded, model)


def test_rows_not_yet_learnt_are_learnt_before_saving(tmp_path: Path) -> None:
    model = Ridge(1.0).partial_fit(X[:50], Y[:50]).partial_fit(X[50:], Y[50:])
    assert_same_predictions(reloaded(model, tmp_path, with_moments=False), model)


@pytest.mark.parametrize("estimator", [GroPLE(random_state=0), GroPLE(decision="sign"), BSVM()])
@pytest.mark.parametrize("with_moments", [True, False])
def test_the_decision_can_be_changed_afterwards(
    tmp_path: Path, estimator: Any, with_moments: bool
) -> None:
    model = clone(estimator).fit(X, Y)
    loaded = reloaded(model, tmp_path, with_moments=with_moments)
    assert model.decision == estimator.decision
    for rule in (*METRIC_RULES, "sign", 0.25, -0.5):
        assert_same_predictions(loaded.set_params(decision=rule), model.set_params(decision=rule))


@pytest.mark.parametrize("with_moments", [True, False])
@pytest.mark.parametrize("estimator", [Ridge(1.0), BSVM()], ids=["Ridge", "BSVM"])
def test_a_second_look_travels_along(tmp_path: Path, estimator: Any, with_moments: bool) -> None:
    data = make_grouped_multilabel(400, 20, 7, n_groups=3, random_state=1)
    rule = Rule("micro_f1", context=True)
    model = clone(estimator).set_params(decision=rule).fit(data.X, data.Y)
    assert model.decision_.decoder is not None
    loaded = reloaded(model, tmp_path, with_moments=with_moments)
    assert loaded.decision == rule
    for other in (rule, Rule("accuracy", context=True), Rule("top_k", context=True), "sign", 0.3):
        for learner in (loaded, model):
            learner.set_params(decision=other)
        assert_same_predictions(loaded, model, data.X)
    model.set_params(decision=rule).save(tmp_path / "m", with_moments=with_moments)
    assert_same_predictions(read_model(tmp_path / "m", moments=False).model, model, data.X)
    names = " ".join(open_container(tmp_path / "m").entries)
    assert ("candidates" in names) == with_moments  # which say what every row was labelled


def test_rules_that_were_not_counted_stay_so(tmp_path: Path) -> None:
    model = MLSF(decision="sign", random_state=0).fit(X, Y)
    loaded = reloaded(model, tmp_path)
    assert_same_predictions(loaded, model)
    with pytest.raises(ValueError, match="fit again"):
        loaded.set_params(decision="macro_f1").predict(X)


def test_labels_missing_in_training(tmp_path: Path) -> None:
    known = Y.astype(float)
    known[np.random.default_rng(0).random(Y.shape) < 0.3] = np.nan
    model = LEML(4).fit(X, known)
    for with_moments in (True, False):
        loaded = reloaded(model, tmp_path, with_moments=with_moments)
        assert_same_predictions(loaded, model)
        with pytest.raises(ValueError, match="incomplete labels"):
            loaded.partial_fit(X, Y)


@pytest.mark.parametrize("how", ["saved", "read"])
def test_without_moments_a_model_predicts_but_does_not_learn(tmp_path: Path, how: str) -> None:
    model = GroPLE(random_state=0, row_check=True).fit(X, Y)
    model.save(tmp_path / "m", with_moments=how == "read")
    saved = read_model(tmp_path / "m", moments=how == "saved")
    loaded = saved.model
    assert saved.header["moments"] is None
    assert_same_predictions(loaded, model)
    np.testing.assert_array_equal(loaded.label_groups_, model.label_groups_)
    assert loaded.moments_.labels.counts.tolist() == Y.sum(axis=0).tolist()
    for learn in (loaded.partial_fit, loaded.forget):
        with pytest.raises(ValueError, match="without its moments"):
            learn(X[:5], Y[:5])
    assert_same_predictions(loaded, model)  # a refusal changes nothing
    with pytest.raises(ValueError, match="without its moments"):
        loaded.refit(alpha=3.0)
    assert_same_predictions(loaded, model)
    assert_same_predictions(loaded.fit(X, Y), model)


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a regular file"):
        Ridge(1.0).fit(X, Y).save(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_a_file_without_moments_holds_no_rows(tmp_path: Path) -> None:
    telling = X.copy()
    telling[3, 5] = 0.123456789012345
    needle = np.float64(0.123456789012345).tobytes()
    for form in ("explicit", "implicit"):
        model = Ridge(form=form, row_check=True).fit(sp.csr_array(telling), Y)
        model.save(tmp_path / "with")
        model.save(tmp_path / "without", with_moments=False)
        assert needle in (tmp_path / "with").read_bytes()
        assert needle not in (tmp_path / "without").read_bytes()


def test_moments_alone(tmp_path: Path) -> None:
    model = GroPLE(random_state=0).fit_moments(Moments.from_data(X, Y), label_names=TAGS)
    loaded = reloaded(model, tmp_path)
    assert_same_predictions(loaded, model)
    assert loaded.label_names_in_.tolist() == TAGS


def test_a_search_keeps_its_results(tmp_path: Path) -> None:
    model = GroPLECV(5, 3, alpha=np.array([0.0, 1.0]), gamma=["auto", 2.0], cv=2, random_state=0)
    model.fit(X, Y)
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
    model = GroPLECV(
        5, 3, alpha=[0.0, 1.0], cv=KFold(2), random_state=np.random.RandomState(0)
    ).fit(X, Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = reloaded(model, tmp_path)
    told = sorted(str(warning.message).partition("=")[0] for warning in caught)
    assert told == ["cv", "random_state"]
    assert all("test_files.py" in warning.filename for warning in caught)
    assert (loaded.cv, loaded.random_state) == (5, None)
    assert isinstance(model.cv, KFold)
    assert_same_predictions(loaded, model)


def test_half_of_a_parameter_is_not_stored(tmp_path: Path) -> None:
    model = GroPLE(5, random_state=0).fit(X, Y)
    model.grouping = [np.arange(3) / 2, print]
    assert reloaded(model, tmp_path).grouping == "spectral"


def test_features_and_notes_travel_along(tmp_path: Path) -> None:
    texts = ["a fast web server", "a chess game", "web browser", "chess server", "fast game"]
    features, rows = Features.fit_text(texts, min_df=1, ngrams=(1, 2))
    marks = np.array([[1, 0], [0, 1], [1, 0], [1, 1], [0, 1]])
    model = Ridge(1.0, decision="sign").fit(rows, marks)
    notes = {"data": "five texts", "quality": [0.5, float("nan")]}
    save_model(tmp_path / "m", model, features=features, notes=notes)
    saved = read_model(tmp_path / "m")
    assert saved.features.names.tolist() == features.names.tolist()
    assert_same_values(saved.features.transform(texts), rows)
    assert saved.header["notes"]["data"] == "five texts"
    header = saved.header
    assert (header["class"], header["features"]) == ("Ridge", "TextFeatures")
    assert (header["moments"], header["kind"]) == ("explicit", "multilabel")
    assert header["format_version"] == 1
    assert header["library_version"] == grople.__version__
    assert header["parameters"] == model.get_params()
    sizes = header["sizes"]
    assert (sizes["features"], sizes["labels"], sizes["rows"]) == (rows.shape[1], 2, 5)
    assert sizes["bytes"] == (tmp_path / "m").stat().st_size


def test_features_of_another_model_are_refused(tmp_path: Path) -> None:
    model = Ridge(1.0, decision="sign").fit(X, Y)
    save_model(tmp_path / "m", model, features=Features.plain(["a", "b"]))
    with pytest.raises(ModelFileError, match="not those of its model"):
        read_model(tmp_path / "m")


def test_arrays_are_mapped_and_read_only(tmp_path: Path) -> None:
    import mmap

    model = GroPLE(5, random_state=0).fit(X, Y)

    def owner(values: Any) -> Any:
        while isinstance(values, np.ndarray | memoryview):
            values = values.base if isinstance(values, np.ndarray) else values.obj
        return values

    model.save(tmp_path / "m")
    mapped = read_model(tmp_path / "m").model
    copied = read_model(tmp_path / "m", memory_map=False).model
    assert isinstance(owner(mapped.mapping_), mmap.mmap)
    assert not mapped.mapping_.flags.writeable
    assert isinstance(owner(copied.mapping_), bytes)
    assert_same_predictions(mapped, model)
    assert_same_predictions(copied, model)


def test_a_loaded_model_may_replace_its_own_file(tmp_path: Path) -> None:
    path = tmp_path / "m"
    Ridge(1.0).fit(X[:50], Y[:50]).save(path)
    loaded = load_model(path).partial_fit(X[50:], Y[50:])
    loaded.save(path)
    assert_same_predictions(load_model(path), loaded)
    assert [file.name for file in tmp_path.iterdir()] == ["m"]


def test_a_loaded_model_is_an_estimator_like_any_other(tmp_path: Path) -> None:
    model = Ridge(1.0).fit(X, TARGETS["two classes"])
    loaded = reloaded(model, tmp_path, with_moments=False)
    for copy in (pickle.loads(pickle.dumps(loaded)), deepcopy(loaded)):
        assert_same_predictions(copy, model)
    assert_same_predictions(clone(loaded).fit(X, TARGETS["two classes"]), model)
    half = Ridge(1.0).fit(X[:40], TARGETS["two classes"][:40])
    for copy in (pickle.loads(pickle.dumps(loaded)), loaded):
        assert_same_predictions(copy.fit(X[:40], TARGETS["two classes"][:40]), half)
    assert repr(loaded) == repr(model)


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    model = GroPLE(5, random_state=0).fit(X, Y)
    model.save(tmp_path / "a")
    model.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_has_no_model_file(tmp_path: Path) -> None:
    class Mine(GroPLE):
        pass

    other = MultilabelDecisionClassifier(LogisticRegression())
    for model in (LogisticRegression(), Mine().fit(X, Y), other, "model"):
        with pytest.raises(ModelFileError, match=r"has no model file.*skops"):
            save_model(tmp_path / "m", model)
    with pytest.raises(ValueError, match="not fitted"):
        GroPLE().save(tmp_path / "m")
    fitted = Ridge(1.0, decision="sign").fit(X, Y)
    with pytest.raises(ModelFileError, match="notes is a function"):
        fitted.save(tmp_path / "m", notes=lambda: 0)
    with pytest.raises(ModelFileError, match=r"leave out \.gz"):
        fitted.save(tmp_path / "m.gz")
    with pytest.raises(ModelFileError, match="cannot be written"):
        fitted.save(tmp_path / "no such folder" / "m")
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
    model = GroPLE(20, gamma=1.0, random_state=0).fit(data.X[:600], data.Y[:600])
    loaded = reloaded(model, tmp_path)
    assert_same_predictions(loaded, model, data.X[3000:])
