"""A tagger learns, is stored, grows and forgets, exactly."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from grople import metrics
from grople.baselines import (
    MEASURES,
    METHODS,
    PLST,
    STORABLE,
    ConstantLabels,
    compare_methods,
    make_method,
    method_names,
)
from grople.datasets import Bundle, Reading, TextTable, load, make_grouped_multilabel, read_examples
from grople.errors import DataError
from grople.features import InteractionFeatures, without_interactions
from grople.folds import MultilabelStratifiedKFold
from grople.io import save_model
from grople.tagging import (
    Examples,
    FeatureSettings,
    change_tagger,
    compare_on,
    evaluate_tagger,
    fit_tagger,
    load_tagger,
    rows_of,
    tagger_quality,
)
from tests.tagging.things import fitted_afresh


@pytest.fixture(scope="module")
def numbers():
    data = make_grouped_multilabel(240, 15, 8, n_groups=2, random_state=0)
    return Bundle(data.X, data.Y, label_names=[f"l{i}" for i in range(8)], name="numbers")


def part(bundle: Bundle, rows) -> Bundle:
    return Bundle(
        bundle.X[rows], bundle.Y[rows], bundle.feature_names, bundle.label_names, source="part"
    )


def test_a_stored_tagger_is_the_same(tagger, tmp_path):
    tagger.save(tmp_path / "m.grople")
    loaded = load_tagger(tmp_path / "m.grople")
    assert loaded.reading == tagger.reading
    assert loaded.texts
    assert loaded.notes["data"]["labels"] == 5
    texts = ["a game server", "sound"]
    rows = [t.model.predict_proba(t.features.transform(texts)) for t in (tagger, loaded)]
    assert np.array_equal(*rows)


def test_a_model_that_python_stored_takes_rows(numbers, tmp_path):
    save_model(tmp_path / "m.grople", PLST(2).fit(numbers.X, numbers.Y))
    loaded = load_tagger(tmp_path / "m.grople")
    assert not loaded.texts
    result = evaluate_tagger(loaded, Bundle(numbers.X, numbers.Y, label_names=map(str, range(8))))
    assert result.unknown_labels == ()


def assert_same_predictions(one, other, X):
    """To the last bit."""
    for answer in ("decision_function", "predict_proba"):
        np.testing.assert_array_equal(getattr(one, answer)(X), getattr(other, answer)(X))
    assert (one.predict(X) != other.predict(X)).nnz == 0


def debian_packages():
    """Rows enough for a re-ranker: all, some of them, and the others."""
    data = load("debtags-mini")
    names = [str(name) for name in data.label_names]
    return [
        Bundle(data.X[rows], data.Y[rows], data.feature_names, names)
        for rows in (slice(600), slice(450), slice(450, 600))
    ]


@pytest.mark.parametrize(
    ("kind", "method"), [("texts", "grople"), ("texts", "ridge"), ("rows", "grople")]
)
def test_growing_and_forgetting_are_exact(folder, tmp_path, kind, method):
    """With model files in between, the model is that of a fresh fit of the same rows."""
    if kind == "texts":
        parts = [read_examples(folder / f"{n}.jsonl")[0] for n in ("things", "fewer", "more")]
    else:
        parts = debian_packages()
    whole, fewer, more = parts
    settings = {"features": FeatureSettings(min_df=1)}
    tagger = fit_tagger(whole, method=method, random_state=1, **settings)[0]
    X = rows_of(tagger.features, Examples.of(whole))

    def stored(changed):
        changed.save(tmp_path / "m.grople")
        return load_tagger(tmp_path / "m.grople", with_rows=True)

    without, change = change_tagger(stored(tagger), remove=more)
    n_rows = Examples.of(fewer).Y.shape[0]
    n_removed = X.shape[0] - change.rows
    assert (change.removed, change.rows) == (n_removed, n_rows)
    assert change.forgotten["rows_left"] == n_rows
    fresh = fitted_afresh(tagger, fewer)
    assert change.forgotten["checksum_after"] == fresh.summary_.checksum()
    assert_same_predictions(without.model, fresh, X)
    again, change = change_tagger(stored(without), add=more)
    assert (change.added, change.new_labels, change.forgotten) == (n_removed, (), None)
    assert_same_predictions(again.model, tagger.model, X)


def test_new_labels_join_and_strangers_cannot_leave(tagger, folder, tmp_path):
    tagger.save(tmp_path / "m.grople")
    loaded = load_tagger(tmp_path / "m.grople", with_rows=True)
    table = TextTable(("a chess clock",) * 3, (("clock", "game"),) * 3, source="new.jsonl")
    grown, change = change_tagger(loaded, add=table)
    assert change.new_labels == ("clock",)
    assert change.before["example_f1"] <= 2 / 3  # a label it did not know is missed
    assert list(grown.model.classes_) == [*tagger.model.classes_, "clock"]
    with pytest.raises(DataError, match=r"strange\.jsonl"):
        change_tagger(
            grown, remove=TextTable(("never seen",), (("nothing",),), source="strange.jsonl")
        )


def test_texts_and_numbers_do_not_mix(tagger, numbers):
    with pytest.raises(DataError, match="holds numbers, but the model learnt from texts"):
        rows_of(tagger.features, Examples.of(numbers))


def test_unit_rows_can_be_forgotten_dense_or_sparse(numbers):
    dense = Bundle(
        np.asarray(sp.csr_array(numbers.X).toarray()), numbers.Y, label_names=numbers.label_names
    )
    sparse = Bundle(sp.csr_array(numbers.X), numbers.Y, label_names=numbers.label_names)
    fitted, _ = fit_tagger(dense, method="plst", features=FeatureSettings(normalize=True))
    changed, change = change_tagger(fitted, remove=part(sparse, np.arange(40)))
    assert change.rows == changed.model.summary_.n_rows == 200


def test_quality_is_cross_validated_on_the_same_folds(numbers):
    fitted, facts = fit_tagger(numbers, method="plst")
    assert (facts.rows, facts.labels, facts.texts) == (240, 8, False)
    quality = tagger_quality(fitted, numbers, n_folds=3, random_state=5)
    assert [m.method for m in quality.methods] == ["most frequent labels", "ridge", "PLST"]
    folds = list(MultilabelStratifiedKFold(3, random_state=5).split(numbers.Y, numbers.Y))
    own = quality.methods[-1]
    for f, (train, test) in enumerate(folds):
        model = PLST().fit(numbers.X[train], numbers.Y[train])
        predicted = model.predict(numbers.X[test])
        for measure in MEASURES:
            expected = getattr(metrics, measure)(numbers.Y[test], predicted, zero_division=0.0)
            assert own.values[measure][f] == pytest.approx(expected)
    scores = cross_validate(
        make_method("ridge"), numbers.X, numbers.Y.toarray(), cv=folds,
        scoring=lambda m, X, Y: metrics.micro_f1(Y, m.predict(X), zero_division=0.0),
    )  # fmt: skip
    assert quality.methods[1].mean("micro_f1") == pytest.approx(scores["test_score"].mean())


def test_the_features_of_a_fold_are_those_of_its_training_texts(folder):
    """A word that stands in one fold only is no feature of the others."""
    table, _ = read_examples(folder / "things.jsonl")
    widths = []

    class Spy(ConstantLabels):
        def fit(self, X, y):
            widths.append(X.shape[1])
            return super().fit(X, y)

    compare_on(table, {"spy": Spy()}, n_folds=2, features=FeatureSettings(min_df=5))
    everything, _ = fit_tagger(table, method="ridge", features=FeatureSettings(min_df=5))
    assert len(widths) == 2
    assert max(widths) < len(everything.features.names)


def test_search_keeps_what_it_chose(numbers):
    fitted, _ = fit_tagger(
        numbers, search=True, metric="micro_f1", n_components=3, n_groups=2, alpha=[0.0, 1.0]
    )
    assert fitted.model.scoring == fitted.model.decision == "micro_f1"
    assert fitted.choices["alpha"] == fitted.model.best_params_["alpha"]
    quality = tagger_quality(fitted, numbers, n_folds=2)
    assert quality.metric == "micro_f1"
    assert quality.methods[-1].mean("micro_f1") > quality.methods[0].mean("micro_f1")


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_made_and_compared(name, numbers):
    small = part(numbers, np.arange(90))
    slow = {
        "extratrees": {"estimator__n_estimators": 5},
        "grople": {"n_components": 3},
        "groplecv": {"n_components": 3, "cv": 2, "alpha": 0.1},
    }
    method = make_method(name, "micro_f1", **slow.get(name, {}))
    rows = lambda train, test: (small.X[train], small.X[test])  # noqa: E731
    compared = compare_methods({name: method}, small.Y, rows, metric="micro_f1", n_folds=2)
    assert 0 < compared.methods[0].mean("micro_f1") <= 1
    assert compared.methods[0].rank == 1
    if name in STORABLE:
        assert fit_tagger(small, method=name, **slow.get(name, {}))[0].model.classes_[0] == "l0"


@pytest.mark.parametrize("measure", MEASURES)
def test_the_constant_prediction_is_the_best_of_its_kind(numbers, measure):
    model = ConstantLabels(measure).fit(numbers.X, numbers.Y)
    value = getattr(metrics, measure)
    best = value(numbers.Y, model.predict(numbers.X), zero_division=0.0)
    order = np.argsort(-np.asarray(numbers.Y.sum(axis=0)), kind="stable")
    for k in range(1, 9):
        guess = np.zeros(numbers.Y.shape, dtype=int)
        guess[:, order[:k]] = 1
        assert value(numbers.Y, guess, zero_division=0.0) <= best + 1e-12


def test_names_of_methods_are_forgiving():
    assert method_names("GroPLE,Linear_SVC, extra-trees,grople") == [
        "grople", "linearsvc", "extratrees",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="did you mean 'logistic'"):
        method_names("logistc")
    with pytest.raises(ValueError, match="no method named"):
        method_names(" , ")


def test_too_few_rows_for_the_folds(numbers):
    with pytest.raises(ValueError, match="cannot be cut into 3 folds"):
        compare_on(part(numbers, [0, 1]), {"constant": make_method("constant")})


def test_texts_without_words_say_so():
    table = TextTable(("?", "…"), (("x",), ("y",)), source="empty.jsonl")
    with pytest.raises(DataError, match=r"empty\.jsonl: the texts hold no words"):
        fit_tagger(table)


def test_evaluation_counts_unknown_labels_as_missed(numbers):
    fitted, _ = fit_tagger(part(numbers, np.arange(150)), Reading(), method="ridge")
    test = part(numbers, np.arange(150, 240))
    plain = evaluate_tagger(fitted, test)
    predicted = fitted.model.predict(test.X)
    for name in MEASURES:
        expected = getattr(metrics, name)(test.Y, predicted, zero_division=0.0)
        assert plain.measures[name] == pytest.approx(expected)
    scores = fitted.model.decision_function(test.X)
    expected = metrics.evaluate(test.Y, None, scores)
    assert plain.measures["ranking_loss"] == pytest.approx(expected["ranking_loss"])
    # The same rows, columns in another order, and a label that the model does not know.
    extra = sp.hstack([test.Y[:, ::-1], sp.csr_array(np.ones((90, 1)))]).tocsr()
    names = [*reversed(test.label_names), "stranger"]
    harder = evaluate_tagger(fitted, Bundle(test.X, extra, test.feature_names, names))
    assert harder.unknown_labels == ("stranger",)
    assert harder.true_labels == pytest.approx(plain.true_labels + 1)
    wide = sp.hstack([test.Y, sp.csr_array(np.ones((90, 1), dtype=np.int64))]).tocsr()
    guess = sp.hstack([predicted, sp.csr_array((90, 1), dtype=np.int64)]).tocsr()
    assert harder.measures["micro_f1"] == pytest.approx(metrics.micro_f1(wide, guess))
    assert harder.measures["precision_at_1"] == pytest.approx(plain.measures["precision_at_1"])


# Pairs of features


@pytest.mark.parametrize("method", ["grople", "plst"])
def test_a_tagger_with_pairs_is_stored_grows_and_forgets(folder, tmp_path, method):
    settings = {"n_components": 3} | ({"n_groups": 2} if method == "grople" else {})
    whole, reading = read_examples(folder / "things.jsonl")
    more, _ = read_examples(folder / "more.jsonl")

    def fitted():
        return fit_tagger(
            whole,
            reading,
            method=method,
            features=FeatureSettings(pairs=True, min_df=1),
            **settings,
        )

    tagger, facts = fitted()
    assert facts.features == len(tagger.features.names) > len(without_interactions(tagger.features))
    assert "game & players" in tagger.features.names
    tagger.save(tmp_path / "m.grople")
    loaded = load_tagger(tmp_path / "m.grople", with_rows=True)
    without, change = change_tagger(loaded, remove=more)
    assert change.rows == 54
    again, _ = change_tagger(without, add=more)
    assert_same_predictions(again.model, tagger.model, tagger.features.transform(whole.texts))


def test_quality_with_pairs_finds_them_in_every_fold(numbers):
    tagger, _ = fit_tagger(
        numbers, method="ridge", features=FeatureSettings(pairs=True, normalize=True)
    )
    quality = tagger_quality(tagger, numbers, n_folds=3).methods[-1]
    values = []
    for train, test in MultilabelStratifiedKFold(3, random_state=0).split(numbers.Y, numbers.Y):
        before = make_pipeline(Normalizer(), InteractionFeatures())
        model = make_method("ridge").fit(before.fit_transform(numbers.X[train]), numbers.Y[train])
        predicted = model.predict(before.transform(numbers.X[test]))
        values.append(metrics.example_f1(numbers.Y[test], predicted, zero_division=0.0))
    assert quality.values["example_f1"] == pytest.approx(values, abs=1e-12)


def test_pairs_of_a_dense_table_stay_sparse(numbers):
    dense = Bundle(
        numbers.X.toarray(), numbers.Y, numbers.feature_names, numbers.label_names, name="dense"
    )
    taggers = [
        fit_tagger(b, method="ridge", features=FeatureSettings(pairs=True, normalize=True))[0]
        for b in (dense, numbers)
    ]
    X = rows_of(taggers[0].features, Examples.of(dense))
    assert sp.issparse(X)
    scores = (t.model.decision_function(X) for t in taggers)
    np.testing.assert_allclose(*scores, atol=1e-10)


def test_pairs_of_negative_numbers_are_refused(numbers):
    negative = Bundle(-numbers.X, numbers.Y, source="below.csv")
    with pytest.raises(DataError, match=r"below\.csv: .*negative"):
        fit_tagger(negative, method="ridge", features=FeatureSettings(pairs=True))
    tagger, _ = fit_tagger(numbers, method="ridge", features=FeatureSettings(pairs=True))
    with pytest.raises(DataError, match=r"below\.csv: .*negative"):
        rows_of(tagger.features, Examples.of(negative))
