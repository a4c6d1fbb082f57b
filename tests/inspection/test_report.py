"""What an inspection says of a model is true of the model and of the data."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from grople import GroPLE, GroPLECV
from grople.baselines import BSVM, LLSF, PLST, Ridge
from grople.datasets import load, make_grouped_multilabel
from grople.decision import HeldOut, HeldOutBlock, Rule, fit_decision
from grople.inspection import (
    Table,
    given_labels,
    inspect_model,
    label_quality,
    model_page,
    quality_words,
    rare_label_words,
    reliability,
    summary_parts,
)


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(500, 25, 15, n_groups=3, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    Y = pd.DataFrame(data.Y.toarray(), columns=list(data.label_names))
    return GroPLE(n_groups=3, random_state=0).fit(data.X, Y)


@pytest.fixture(scope="module")
def seen(model, data):
    return inspect_model(model, data.feature_names, n_top=5)


def effects(model, data):
    """Weight times standard deviation, label by label, from the rows themselves."""
    X = data.X.toarray() if sp.issparse(data.X) else np.asarray(data.X)
    return model.coef_ * X.std(axis=0)


def test_top_features_have_the_largest_effects(seen, model, data):
    expected = effects(model, data)
    assert seen.feature_names == tuple(data.feature_names)
    for i in range(seen.n_labels):
        best = np.sort(np.abs(expected[i]))[::-1][:5]
        np.testing.assert_allclose(np.abs(seen.top_features.values[i]), best, rtol=1e-8)
        np.testing.assert_allclose(
            seen.top_features.values[i], expected[i, seen.top_features.numbers[i]], rtol=1e-8
        )


def test_nearest_labels_have_the_largest_cosines(seen, model, data):
    vectors = effects(model, data)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -np.inf)
    for i in range(seen.n_labels):
        # Products of 25 numbers near one: rounding stays far below 1e-8.
        np.testing.assert_allclose(seen.nearest.values[i], np.sort(cosines[i])[::-1][:5], atol=1e-8)


def test_labels_seen_together_are_the_most_correlated(seen, data):
    B = data.Y.toarray()
    correlation = np.corrcoef(B.T)
    np.fill_diagonal(correlation, -np.inf)
    for i in range(seen.n_labels):
        np.testing.assert_allclose(
            np.sort(correlation[i, seen.together.numbers[i]]),
            np.sort(correlation[i])[-5:],
            atol=1e-12,
        )
        assert (np.diff(seen.together.values[i]) <= 0).all()
        share = B[B[:, i] == 1][:, seen.together.numbers[i]].mean(axis=0)
        np.testing.assert_allclose(seen.together.values[i], share)


def test_groups_hold_every_label_once_most_frequent_first(seen, model, data):
    counts = np.asarray(data.Y.sum(axis=0)).ravel()
    np.testing.assert_array_equal(np.sort(seen.order), np.arange(15))
    sizes = [len(group.labels) for group in seen.groups]
    assert sizes == sorted(sizes, reverse=True)
    for group in seen.groups:
        assert set(model.label_groups_[group.labels]) == {group.number}
        assert (np.diff(counts[group.labels]) <= 0).all()
        rows = np.linalg.norm(model.components_[:, group.labels], axis=1)
        assert group.n_dimensions == np.count_nonzero(rows)
        np.testing.assert_allclose(seen.row_lengths[:, group.number], rows)
        shares = [d.share for d in group.dimensions]
        assert shares == sorted(shares, reverse=True)
        assert shares[0] == pytest.approx(rows.max() ** 2 / (rows**2).sum())


def test_a_group_is_set_apart_by_what_speaks_for_its_labels_more_than_for_others(seen, model, data):
    unit = effects(model, data)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    for group in seen.groups:
        contrast = unit[group.labels].mean(axis=0) - unit.mean(axis=0)
        best = np.argsort(-contrast)[: len(group.features)]
        assert [name for name, _ in group.features] == [data.feature_names[j] for j in best]
        np.testing.assert_allclose([e for _, e in group.features], contrast[best], rtol=1e-7)


def test_the_features_of_a_dimension_point_towards_the_group(seen, model, data):
    X = np.asarray(data.X.toarray() if sp.issparse(data.X) else data.X)
    for group in seen.groups:
        first = group.dimensions[0]
        name, effect = first.features[0]
        j = data.feature_names.index(name)
        # More of the feature moves the mean score of the group the way its sign says.
        along = model.mapping_[j, first.number] * X[:, j].std()
        moved = along * model.components_[first.number, group.labels].sum()
        assert np.sign(moved) == np.sign(effect)
        assert abs(effect) == pytest.approx(np.abs(along))


def test_the_map_puts_labels_of_a_group_together(seen):
    places, groups = seen.label_map, seen.label_groups
    assert places.min() == 0
    assert places.max() == 1
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    same = groups[:, None] == groups[None]
    off = ~np.eye(15, dtype=bool)
    assert distances[same & off].mean() < distances[~same].mean()


# -- counts --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(0)
    truth = (rng.random((400, 9)) < np.linspace(0.02, 0.6, 9)).astype(int)
    truth[:, 0] = 0
    scores = np.round(truth + rng.normal(size=truth.shape), 1)  # ties too
    return scores, truth


def held_out(scores, truth):
    return HeldOut.from_blocks([HeldOutBlock(scores, sp.csr_array(truth))], truth.shape[1])


def test_quality_is_that_of_scikit_learn_on_binned_scores(scored):
    scores, truth = scored
    counts = held_out(scores, truth).counts
    quality = label_quality(counts)
    assert np.isnan(quality.average_precision[0])
    assert np.isnan(quality.auc[0])
    bins = np.arange(counts.by_label.shape[2])
    for label in range(1, 9):
        total, positive = counts.by_label[:, label]
        y = np.repeat([0, 1], len(bins))
        weights = np.concatenate([total - positive, positive])
        binned = np.tile(bins, 2)
        assert quality.average_precision[label] == pytest.approx(
            average_precision_score(y, binned, sample_weight=weights)
        )
        assert quality.auc[label] == pytest.approx(roc_auc_score(y, binned, sample_weight=weights))
        # 256 bins lose little: scores of one decimal rarely share one.
        assert quality.auc[label] == pytest.approx(
            roc_auc_score(truth[:, label], scores[:, label]), abs=0.01
        )


def test_reliability_compares_probabilities_with_what_happened(scored):
    scores, truth = scored
    evidence = held_out(scores, truth)
    curves = reliability(evidence.counts, fit_decision(evidence))
    assert list(curves) == ["all labels", "frequent labels", "middle labels", "rare labels"]
    expected = {name: float(curve.predicted @ curve.pairs) for name, curve in curves.items()}
    happened = {name: float(curve.observed @ curve.pairs) for name, curve in curves.items()}
    assert happened["all labels"] == pytest.approx(truth.sum())
    assert sum(happened.values()) == pytest.approx(2 * truth.sum())
    assert curves["all labels"].pairs.sum() == truth.size
    # The curve is fitted on these very pairs: an isotonic fit keeps the mean of every step, and
    # only its bounds of half a count in all the pairs are not the data's.
    assert expected["all labels"] == pytest.approx(truth.sum(), rel=1e-3)
    everything = curves["all labels"]
    np.testing.assert_allclose(everything.predicted, everything.observed, atol=1e-3)
    # One curve for all: it promises too few of the frequent labels and too many of the rare ones.
    assert expected["frequent labels"] < happened["frequent labels"]
    assert expected["rare labels"] > happened["rare labels"]


def test_labels_given_are_those_of_the_best_single_threshold(scored):
    scores, truth = scored
    given = given_labels(held_out(scores, truth).counts)
    best = max(
        2 * truth[scores > t].sum() / ((scores > t).sum() + truth.sum()) for t in scores.flat
    )
    assert 2 * given.right / (given.given + given.carried) == pytest.approx(best)
    assert given.carried == truth.sum()
    assert given.precision == given.right / given.given
    assert given.recall == given.right / given.carried


def test_it_says_when_a_re_ranker_corrects_probabilities(data):
    plain, reranked = (
        inspect_model(
            GroPLE(n_groups=3, decision=Rule(context=context), random_state=0).fit(data.X, data.Y)
        )
        for context in (False, True)
    )
    assert reranked.reranked
    assert not plain.reranked
    # The counts are of scores, whatever is made of them afterwards.
    np.testing.assert_array_equal(plain.quality.auc, reranked.quality.auc)


def test_no_positive_pair_no_curve():
    evidence = held_out(np.zeros((5, 2)), np.zeros((5, 2)))
    assert reliability(evidence.counts, fit_decision(evidence)) == {}


# -- any model -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [PLST(), LLSF(), Ridge(decision="sign"), BSVM(decision="sign"), GroPLECV(n_groups=3, cv=2)],
    ids=lambda e: type(e).__name__,
)
def test_every_linear_model_can_be_inspected(estimator, data):
    model = estimator.fit(data.X, data.Y)
    seen = inspect_model(model)
    assert seen.kind == type(estimator).__name__
    assert seen.label_names[:2] == ("label 0", "label 1")
    assert seen.top_features.numbers.shape == (15, 10)
    # Without a measure to maximise, what the moments imply is all there is, if there are moments.
    assert seen.held_out == (estimator.decision != "sign")
    assert (seen.quality is None) == (seen.kind == "BSVM")
    json.dumps(seen.to_dict(), allow_nan=False)


def other(model, **parts):
    """The same estimator with other parts in its fitted model."""
    changed = copy.copy(model)
    changed._model = replace(model.fitted_model_, **parts)
    return changed


@dataclass(frozen=True)
class Cubes:
    """Scores that are not linear in the features."""

    inner: object
    n_labels: int

    def __call__(self, X):
        return self.inner(X) ** 3


def test_a_model_that_is_not_linear_shows_all_but_its_weights(model):
    seen = inspect_model(other(model, scorer=Cubes(model.fitted_model_.scorer, 15)))
    assert seen.weights is seen.label_map is seen.top_features is seen.nearest is None
    assert seen.quality is not None
    assert len(seen.feature_names) == 25
    assert sum(len(group.labels) for group in seen.groups) == 15
    json.dumps(seen.to_dict(), allow_nan=False)
    page = model_page(seen)
    assert 'id="labels"' in page
    assert 'id="map"' not in page


def test_experts_are_shown_by_their_weight(data):
    model = GroPLE(n_groups=3, random_state=0).fit(data.X, data.Y)
    seen = inspect_model(model)
    assert [each["expert"] for each in seen.experts] == ["linear", "kernel", "forest"]
    (table,) = [p for p in summary_parts(seen) if isinstance(p, Table) and "weight" in p.columns]
    assert [row[1].value for row in table.cells] == [each["weight"] for each in model.selection_]
    assert "Importance by" in model_page(seen)
    # Weights are those of the linear expert, whatever else counts.
    assert seen.weights.n_labels == 15
    alone = inspect_model(GroPLE(n_groups=3, experts=["linear"]).fit(data.X, data.Y))
    assert alone.experts == ()
    assert "Importance by" not in model_page(alone)


def test_quality_comes_in_words(model, seen):
    words = quality_words(seen)
    assert re.match(r"Of ten labels it gives, \*\*\w+( ten)? (is|are) right\*\*", words)
    assert "held-out" in words
    measured = {"micro_precision": 0.72, "micro_recall": 0.11}
    comparison = {
        "methods": [{"method": "m", "mean": {"x": 1.0}}, {"method": "n", "mean": measured}]
    }
    told = quality_words(inspect_model(model, comparison=comparison))
    assert "**seven are right**; of ten labels that rows carry, **it finds one**" in told
    # What a file claims to have measured may be anything.
    strange = {"methods": [1, {}, {"mean": 3}, {"mean": {"x": "y", "z": float("nan")}}]}
    for odd in (None, 3, {}, {"methods": 3}, strange):
        assert quality_words(inspect_model(model, comparison=odd)) == words


def test_rare_labels_get_a_verdict(scored):
    _, truth = scored
    X = np.random.default_rng(1).normal(size=(len(truth), 8)) + truth[:, 1:] @ np.eye(8)
    seen = inspect_model(GroPLE(n_groups=2, random_state=0).fit(X, truth[:, 1:]))
    curve = seen.reliability["rare labels"]
    ratio = (curve.predicted @ curve.pairs) / (curve.observed @ curve.pairs)
    verdict = rare_label_words(seen)
    if abs(ratio - 1) <= 0.15:
        assert "as often as they occur**" in verdict
    else:
        assert f"{ratio:.1f} times" in verdict or f"{ratio:.0%} as often" in verdict


def test_groups_are_named_by_what_their_labels_share(data):
    names = [""] * 15
    model = GroPLE(n_groups=3, random_state=0).fit(data.X, data.Y)
    for group in inspect_model(model).groups:
        for place, i in enumerate(group.labels):
            names[i] = f"group {group.number}::{place}"
    Y = pd.DataFrame(data.Y.toarray(), columns=names)
    seen = inspect_model(GroPLE(n_groups=3, random_state=0).fit(data.X, Y))
    assert sorted(group.name.partition(":")[0] for group in seen.groups) == [
        "group 0", "group 1", "group 2",
    ]  # fmt: skip


def test_the_words_behind_real_tags_are_those_a_person_would_name():
    data = load("debtags-mini")
    Y = pd.DataFrame(data.Y.toarray(), columns=list(data.label_names))
    seen = inspect_model(Ridge(10.0, decision="sign").fit(data.X, Y), data.feature_names)
    for label, word, neighbour in [
        ("use::editing", "editor", "works-with::text"),
        ("use::gameplaying", "game", "game::arcade"),
        ("implemented-in::perl", "perl", "devel::lang:perl"),
    ]:
        i = seen.number_of(label)
        assert word in [seen.feature_names[j] for j in seen.top_features.numbers[i, :3]]
        assert neighbour in [seen.label_names[j] for j in seen.nearest.numbers[i]]


def test_a_foreign_estimator_is_refused_in_words(data):
    pipeline = make_pipeline(StandardScaler(with_mean=False), Ridge(1.0)).fit(data.X, data.Y)
    with pytest.raises(TypeError, match="pass the last step"):
        inspect_model(pipeline)
    assert inspect_model(pipeline[-1]).kind == "Ridge"


def test_classes_labels_without_rows_and_odd_shapes(data):
    X = np.asarray(data.X.toarray() if sp.issparse(data.X) else data.X)
    classes = np.array(["a", "b"])[(X[:, 0] > np.median(X[:, 0])).astype(int)]
    one = inspect_model(GroPLE().fit(X, classes))
    assert one.label_names == ("b",)
    assert 'id="labels"' in model_page(one)
    assert [part.rows[0][0] for part in summary_parts(one)[-1:]] == ["b"]
    assert one.nearest.numbers.shape == (1, 0)
    assert one.label_map.shape == (1, 2)
    never = data.Y.toarray()
    never[:, 4] = 0
    seen = inspect_model(GroPLE(n_groups=2, random_state=0).fit(X, never))
    assert seen.label_groups[4] == -1
    assert seen.order[-1] == 4
    assert np.isnan(seen.quality.auc[4])
    dead = pytest.warns(UserWarning, match="lambda_2")
    with dead:
        nothing = GroPLE(lambda_2=1e9, random_state=0).fit(X, data.Y)
    assert inspect_model(nothing).groups[0].n_dimensions == 0


def test_wrong_names_are_refused(model, seen):
    assert seen.number_of(seen.label_names[7]) == 7
    with pytest.raises(ValueError, match=r"no label 'labex3'; did you mean 'label3'"):
        seen.number_of("labex3")
    with pytest.raises(ValueError, match="3 feature names for a model of 25 features"):
        inspect_model(model, ["a", "b", "c"])
